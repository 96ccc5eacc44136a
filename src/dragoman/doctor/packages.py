"""What is installed: versions that are needed, versions that are known to be bad, and extras."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata

from dragoman.doctor.findings import Finding

Versions = Callable[[str], str | None]  # the installed version of a package, or None

OLDEST_PYTHON = (3, 11)
# The first version in which a known hole or fault is mended, also of packages that dragoman does not ask for itself.
MENDED = {
    "torch": "2.10",
    "safetensors": "0.4.3",
    "sentencepiece": "0.2.1",
    "starlette": "1.0.1",
    "ctranslate2": "4.8.1",
}


@dataclass(frozen=True)
class Requirement:
    """A line of the package's own metadata: torch>=2.10, or matplotlib>=3.8 ; extra == 'plot'."""

    name: str
    least: str
    extra: str

    @property
    def written(self) -> str:
        return f"{self.name}>={self.least}" if self.least else self.name


def installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def declared() -> list[str]:
    """What dragoman asks for, as it was installed; nothing where its source is used without installing it."""
    try:
        return metadata.requires("dragoman") or []
    except metadata.PackageNotFoundError:
        return []


def requirement_of(line: str) -> Requirement:
    wanted, _, marker = line.partition(";")
    name = re.match(r"[\w.-]*\w", wanted.strip())
    least, extra = re.search(r">=\s*([\w.]+)", wanted), re.search(r"extra\s*==\s*['\"]([\w.-]+)", marker)
    return Requirement(name[0] if name else wanted, least[1] if least else "", extra[1] if extra else "")


def older(version: str, least: str) -> bool:
    """Numbers are compared; what follows them (rc1, +cpu) is not."""
    have, need = numbers(version), numbers(least)
    size = max(len(have), len(need))
    return have + (0,) * (size - len(have)) < need + (0,) * (size - len(need))


def numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def python_finding(version: tuple[int, int, int] = sys.version_info[:3]) -> Finding:
    found = ".".join(map(str, version))
    if version < OLDEST_PYTHON:
        return Finding("python", "problem", found, "dragoman needs Python 3.11 or newer; install one.")
    return Finding("python", "ok", found)


def package_findings(versions: Versions = installed, lines: Sequence[str] | None = None) -> Iterator[Finding]:
    """dragoman, what it needs, what is known to be bad, and its extras."""
    requirements = [requirement_of(line) for line in (declared() if lines is None else lines)]
    own = versions("dragoman")
    if own is None:
        advice = "Nothing says which versions are needed; install it: pip install -e ."
        yield Finding("dragoman", "warning", "not installed as a package", advice)
    else:
        yield Finding("dragoman", "ok", own)
    needed = [requirement for requirement in requirements if not requirement.extra]
    yield from (needed_finding(requirement, versions(requirement.name)) for requirement in needed)
    yield from bad_findings({requirement.name for requirement in needed}, versions)
    for extra in dict.fromkeys(requirement.extra for requirement in requirements if requirement.extra):
        yield extra_finding(extra, [one for one in requirements if one.extra == extra], versions)


def needed_finding(requirement: Requirement, version: str | None) -> Finding:
    name = requirement.name
    least = max(requirement.least, MENDED.get(name, ""), key=numbers)
    install = f"pip install -U '{name}>={least}'" if least else f"pip install {name}"
    if version is None:
        return Finding(name, "problem", "missing", f"dragoman needs it: {install}")
    if least and older(version, least):
        return Finding(name, "problem", version, f"dragoman needs {least} or newer: {install}")
    return Finding(name, "ok", version)


def bad_findings(needed: set[str], versions: Versions) -> Iterator[Finding]:
    """Packages that stand beside dragoman in versions with known holes."""
    for name, mended in MENDED.items():
        version = versions(name)
        if name not in needed and version is not None and older(version, mended):
            advice = f"It has a known fault that {mended} mended: pip install -U '{name}>={mended}'"
            yield Finding(name, "warning", version, advice)


def extra_finding(extra: str, requirements: Sequence[Requirement], versions: Versions) -> Finding:
    name, install = f"extra '{extra}'", f"pip install 'dragoman[{extra}]'"
    found = {requirement: versions(requirement.name) for requirement in requirements}
    missing = [requirement.name for requirement, version in found.items() if version is None]
    old = [one.written for one, version in found.items() if version and one.least and older(version, one.least)]
    if old:
        return Finding(name, "warning", f"too old: needs {', '.join(old)}", f"Bring it up to date: {install} -U")
    if missing:
        return Finding(name, "ok", f"not installed ({', '.join(missing)})", f"If you want it: {install}")
    return Finding(name, "ok", ", ".join(f"{one.name} {version}" for one, version in found.items()))
