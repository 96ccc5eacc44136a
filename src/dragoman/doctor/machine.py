"""What the machine offers: cores, memory, disk, a terminal that can write any language."""

import locale
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dragoman.doctor.findings import Finding

GIGABYTE = 10**9
SCARCE = GIGABYTE  # of memory or disk
TELLING = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8", "neon", "asimd", "sve")
CGROUP, PROC = Path("/sys/fs/cgroup"), Path("/proc")


def machine_findings() -> Iterator[Finding]:
    yield memory_finding(free_memory())
    yield disk_finding(shutil.disk_usage(".").free, os.access(".", os.W_OK))
    yield temporary_finding()
    yield encoding_finding(locale.getencoding(), sys.getfilesystemencoding())


def arithmetic_findings() -> Iterator[Finding]:
    """Device, threads and instruction sets, as torch sees them."""
    from dragoman.devices import describe, device_of

    facts = describe(device_of("auto"))
    capability, flags = str(facts["cpu_capability"]), instruction_sets()
    yield Finding("device", "ok", str(facts["device"]))
    if capability == "DEFAULT":
        yield Finding("processor", "warning", capability, "torch finds no AVX2 or better here; expect it to be slow.")
    else:
        yield Finding("processor", "ok", f"{capability} ({', '.join(flags)})" if flags else capability)
    yield threads_finding(int(facts["threads"]), allowed_cores(), os.environ.get("OMP_NUM_THREADS"))


def instruction_sets(cpuinfo: Path = PROC / "cpuinfo") -> list[str]:
    lines = read(cpuinfo).splitlines()
    flags = next((line for line in lines if line.lower().startswith(("flags", "features"))), "").split()
    return [flag for flag in TELLING if flag in flags]


def threads_finding(threads: int, cores: int, wanted: str | None) -> Finding:
    said = f"{threads} on {cores} {'core' if cores == 1 else 'cores'}" + (
        f", OMP_NUM_THREADS={wanted}" if wanted else ""
    )
    if threads <= cores:
        return Finding("threads", "ok", said)
    advice = f"They wait for one another: set OMP_NUM_THREADS={cores}, or training.threads={cores}."
    return Finding("threads", "warning", said, advice)


def allowed_cores(cgroup: Path = CGROUP) -> int:
    """Those that this process may run on: of the machine, its affinity, and the quota of its container."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, period = [*read(cgroup / "cpu.max").split(), "", ""][:2]
    if not quota:
        quota, period = (read(cgroup / "cpu" / f"cpu.cfs_{part}_us").strip() for part in ("quota", "period"))
    if quota.isdecimal() and period.isdecimal() and int(period):
        return max(1, min(affinity, math.ceil(int(quota) / int(period))))
    return affinity


def free_memory(proc: Path = PROC, cgroup: Path = CGROUP) -> int | None:
    """Bytes that this process may still take, or None where nothing tells."""
    entries = (line.split() for line in read(proc / "meminfo").splitlines())
    free = [int(words[1]) * 1024 for words in entries if len(words) > 1 and words[0] == "MemAvailable:"]
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        most, taken = read(cgroup / limit).strip(), read(cgroup / used).strip()
        if most.isdecimal() and taken.isdecimal():
            free.append(max(0, int(most) - int(taken)))
    return min(free, default=None)


def memory_finding(free: int | None) -> Finding:
    if free is None:
        return Finding("memory", "ok", "unknown on this system")
    said = f"{free / GIGABYTE:.1f} GB free"
    if free < SCARCE:
        return Finding("memory", "warning", said, "Training takes some 0.4 GB and more for wide models; free some.")
    return Finding("memory", "ok", said)


def disk_finding(free: int, writable: bool) -> Finding:
    said = f"{free / GIGABYTE:.1f} GB free in {Path.cwd()}"
    if not writable:
        return Finding("disk", "warning", f"{Path.cwd()} cannot be written", "Give --out a folder that can.")
    if free < SCARCE:
        return Finding(
            "disk", "warning", said, "A run keeps several checkpoints; free some, or give --out another disk."
        )
    return Finding("disk", "ok", said)


def temporary_finding() -> Finding:
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"dragoman")
            return Finding("temporary files", "ok", tempfile.gettempdir())
    except OSError as error:
        advice = "Set TMPDIR to a folder that can be written."
        return Finding("temporary files", "problem", error.strerror or str(error), advice)


def encoding_finding(terminal: str, files: str) -> Finding:
    said = terminal if same(terminal, files) else f"{terminal} for the terminal, {files} for names of files"
    if same(terminal, "utf-8") and same(files, "utf-8"):
        return Finding("encoding", "ok", said)
    return Finding("encoding", "warning", said, "Not all letters can be shown or read: set LANG=C.UTF-8.")


def same(one: str, other: str) -> bool:
    return one.lower().replace("-", "") == other.lower().replace("-", "")


def read(path: Path) -> str:
    """A file of the kernel; nothing where there is none, or none for us."""
    try:
        return path.read_text("ascii", errors="replace")
    except OSError:
        return ""
