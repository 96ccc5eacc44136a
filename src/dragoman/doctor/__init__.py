"""Is this machine fit for dragoman, and if not, what to do."""

from collections.abc import Sequence

from dragoman.doctor.findings import Finding
from dragoman.doctor.machine import arithmetic_findings, machine_findings
from dragoman.doctor.packages import Versions, installed, package_findings, python_finding
from dragoman.doctor.trial import trial_finding

__all__ = ["Finding", "examine"]


def examine(versions: Versions = installed, requirements: Sequence[str] | None = None) -> list[Finding]:
    """Everything in order of importance; torch is only used where it can be imported."""
    findings = [python_finding(), *package_findings(versions, requirements), *machine_findings()]
    if versions("torch") is None:
        return findings
    try:
        return [*findings, *arithmetic_findings(), trial_finding()]
    except (ImportError, OSError) as error:
        found = f"cannot be imported: {error}".splitlines()[0]
        return [*findings, Finding("torch", "problem", found, "Reinstall it: pip install --force-reinstall torch")]
