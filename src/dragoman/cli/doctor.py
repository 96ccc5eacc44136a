"""dragoman doctor: is this machine fit for it?"""

import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.doctor import Finding


def doctor(
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Check versions, processor, memory, disk, terminal and extras, and let a tiny model learn for a moment.

    \b
    dragoman doctor
    dragoman doctor --json > machine.json

    Exit code 0 where all is well or there are only warnings, 2 where something that is needed is missing or broken.
    """
    from dragoman.doctor import examine

    findings = examine()
    if json:
        print_json(findings)
    else:
        print_lines(findings)
    if any(finding.state == "problem" for finding in findings):
        raise typer.Exit(ConfigError.exit_code)


def print_json(findings: "list[Finding]") -> None:
    from dataclasses import asdict
    from json import dumps

    fit = all(finding.state != "problem" for finding in findings)
    print(dumps({"fit": fit, "findings": [asdict(finding) for finding in findings]}, indent=2))


def print_lines(findings: "list[Finding]") -> None:
    from rich.text import Text

    from dragoman.cli.progress import plain_console

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show all letters is told of it below
    console = plain_console(soft_wrap=True)
    styles = {"ok": "green", "warning": "yellow", "problem": "bold red"}
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        advice = f" · {finding.advice}" if finding.advice else ""
        state = (f"{finding.state:<8}", styles[finding.state])
        console.print(Text.assemble(state, f" {finding.name:<{width}}  {finding.found}{advice}"))
    problems, warnings = (sum(finding.state == state for finding in findings) for state in ("problem", "warning"))
    counts = [f"{problems} {'problem' if problems == 1 else 'problems'}"] if problems else []
    counts += [f"{warnings} {'warning' if warnings == 1 else 'warnings'}"] if warnings else []
    console.print(f"\n{' and '.join(counts)}." if counts else "\nAll is well.")
