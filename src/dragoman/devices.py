"""Where the arithmetic happens: the only file that names a device, a number of threads or an allocator."""

import ctypes
import os
import resource
import sys
import threading
from functools import cache
from pathlib import Path
from types import TracebackType

import torch

from dragoman.errors import ConfigError, unknown

KNOWN = ("auto", "cpu", "cuda", "mps")


def device_of(name: str) -> torch.device:
    """'auto' is the fastest that is there; a named device that is not there is an error, never a silent fallback."""
    kind, _, number = name.partition(":")
    if kind not in KNOWN or (number and not number.isdigit()):
        raise unknown("device", name, KNOWN)
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if kind == "auto":
        return torch.device(next(there for there in ("cuda", "mps", "cpu") if available[there]))
    if not available[kind]:
        raise ConfigError(
            f"This machine has no '{kind}' device that torch can use. Choose cpu (--device cpu, or "
            "training.device=cpu), or leave it to auto."
        )
    return torch.device(name)


def in_double(values: torch.Tensor) -> torch.Tensor:
    """The same numbers in double precision, on the CPU where the device has none, as Apple GPUs do."""
    return values.cpu().double() if values.device.type == "mps" else values.double()


def has_sparse_gradients(device: torch.device) -> bool:
    """Whether gradients of a few rows of a large matrix may be those rows alone; Apple GPUs need whole ones."""
    return device.type != "mps"


def use_threads(threads: int | None) -> int:
    """Fix the number of CPU threads (None: what torch chose) and say how many there are."""
    if threads is not None:
        torch.set_num_threads(threads)
    return torch.get_num_threads()


def use_fast_products() -> bool:
    """Have oneDNN do matrix products where MKL, on processors that Intel has not made, leaves AVX-512 unused: 200
    instead of 110 billion operations per second on one core. Torch offers this as a lower precision, which other
    processors would make of it; so it stays only where it rounds as before."""
    if not leaves_vectors_unused():
        return False
    torch.set_float32_matmul_precision("medium")
    one, other = torch.linspace(-1, 1, 64 * 256).view(64, 256), torch.linspace(1, 2, 256 * 64).view(256, 64)
    exact = (one.double() @ other.double()).float()
    if torch.allclose(one @ other, exact, rtol=1e-5, atol=1e-4):
        return True
    torch.set_float32_matmul_precision("highest")
    return False


@cache
def leaves_vectors_unused() -> bool:
    """Whether torch has AVX-512 and MKL does not use it."""
    try:
        made_by = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return "AuthenticAMD" in made_by and torch.backends.cpu.get_cpu_capability() == "AVX512"


def seed_draws(seed: int, device: torch.device) -> None:
    """What is drawn at random from now on. torch's own way tells every kind of device, there or not, with a record of
    who called, which takes 0.4 ms: more than 1 % of an update of the recipe gpt."""
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def keep_freed_memory() -> bool:
    """Let glibc keep freed blocks instead of returning them to the kernel.

    The large temporaries of a training step otherwise fault in fresh zeroed pages at every step: some 10 % more tokens
    a second in batches of 4,096 tokens on two cores, and no difference in batches of 1,024.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL("libc.so.6")
        mmap_max, trim_threshold, top_pad = -4, -1, -2
        settings = ((mmap_max, 0), (trim_threshold, 2**31 - 1), (top_pad, 64 << 20))
        return all(libc.mallopt(name, value) == 1 for name, value in settings)
    except (OSError, AttributeError):
        return False  # another C library: nothing to tune


def end_waiting_threads() -> bool:
    """End the threads that torch's last call left waiting; its next call starts them again.

    Libraries of one process share libgomp. Where its threads are more than the cores, none of them waits awake, and
    every small product sends them to sleep: beside waiting threads of torch CTranslate2 answered 16 sentences a second
    on two cores, and 73 without them.
    """
    try:
        return bool(this_process().omp_pause_resource_all(2) == 0)
    except (OSError, AttributeError, TypeError):
        return False  # another OpenMP, or none: nothing is known of it


@cache
def this_process() -> ctypes.CDLL:
    """All that its libraries have loaded for everybody."""
    return ctypes.CDLL(None)


def is_out_of_memory(error: BaseException) -> bool:
    """CUDA has a class of its own for it; the CPU allocator only a sentence."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )


def free_cached_memory(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.empty_cache()


class PeakMemory:
    """Bytes in use before and at the most within: of the device's own memory, or else of the whole process."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.done = threading.Event()
        self.watch = threading.Thread(target=self.look, daemon=True)

    def __enter__(self) -> "PeakMemory":
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
            self.before = self.peak = torch.cuda.memory_allocated(self.device)
        else:
            self.before = self.peak = resident_memory()
            self.watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.device.type == "cuda":
            self.peak = torch.cuda.max_memory_allocated(self.device)
        else:
            self.done.set()
            self.watch.join()
            self.peak = max(self.peak, resident_memory())

    def look(self) -> None:
        while not self.done.wait(0.01):
            self.peak = max(self.peak, resident_memory())


def resident_memory() -> int:
    """Bytes of this process in memory; where the system does not tell, the most that they ever were."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return largest if sys.platform == "darwin" else largest * 1024


def describe(device: torch.device) -> dict[str, str | int]:
    """What the numbers of a run depend on, for its environment record."""
    return {
        "device": str(device),
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "cpu_count": os.cpu_count() or 1,
        "products": torch.get_float32_matmul_precision(),
        "torch": torch.__version__,
    }
