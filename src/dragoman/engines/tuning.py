"""Which precision, threads and batch are fastest on this machine: measured in seconds, and kept beside the model."""

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dragoman.errors import StorageError
from dragoman.storage import read_record, write_record

FILE = "tuning.json"
SECONDS = 0.4  # of one measurement, about; there are a dozen or two
SIZES = (16, 64)  # sentences of a call
ALONE = 8  # sentences that are answered one by one in a measurement
LONGEST = 40  # symbols of an answer while measuring


@dataclass(frozen=True)
class Setting:
    """How the engine is asked."""

    compute: str  # float32, or int8
    threads: int
    size: int  # sentences of a call

    def __str__(self) -> str:
        many = f", {self.size} sentences at once" if self.size > 1 else ""
        return f"{self.compute} on {self.threads} thread{'s' * (self.threads > 1)}{many}"


@dataclass(frozen=True)
class Tuned:
    """The fastest settings, and what was measured."""

    machine: str
    alone: Setting
    many: Setting
    speeds: tuple[tuple[Setting, float], ...]  # sentences a second

    def facts(self) -> dict[str, Any]:
        speeds = [asdict(setting) | {"sentences_per_second": round(speed, 2)} for setting, speed in self.speeds]
        return {"machine": self.machine, "alone": asdict(self.alone), "many": asdict(self.many), "speeds": speeds}

    def sentences(self) -> Iterator[str]:
        """What was chosen, and over what."""
        for name, chosen, one in (("One sentence", self.alone, True), ("Many sentences", self.many, False)):
            tried = {setting: speed for setting, speed in self.speeds if (setting.size == 1) == one}
            others = [f"{setting}: {speed:.0f}" for setting, speed in tried.items() if setting != chosen]
            yield f"{name}: {chosen}, {tried[chosen]:.0f} sentences a second ({'; '.join(others)})."


def this_machine() -> str:
    """The processor and its cores, by which a measurement is known to hold."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").split("\n")
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    return f"{name}, {cores()} cores"


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def kept_or_measured(
    folder: Path, words: Sequence[Sequence[str]], longest: int | None, tell: Callable[[str], None]
) -> Tuned:
    """What was measured on this machine before; else it is measured now, with the sources at hand and answers of at
    most so many symbols, and told."""
    found = kept(folder)
    if found is not None and found.machine == this_machine():
        return found
    found = tune(folder, words or [[]], min(LONGEST, longest or LONGEST))
    for sentence in found.sentences():
        tell(sentence)
    with suppress(StorageError):  # a folder that only others may write is as good, and is measured by each process
        write_record(folder / FILE, found.facts())
    return found


def kept(folder: Path) -> Tuned | None:
    path = folder / FILE
    if path.is_symlink() or not path.is_file():
        return None
    try:
        facts = read_record(path)
        alone, many = (setting_in(facts[name]) for name in ("alone", "many"))
        speeds = tuple((setting_in(row), float(row["sentences_per_second"])) for row in facts["speeds"])
        if alone.compute != many.compute:
            return None  # an answer would depend on its neighbours
        return Tuned(str(facts["machine"]), alone, many, speeds)
    except (StorageError, KeyError, TypeError, ValueError):
        return None  # damaged: it is measured anew


def setting_in(row: dict[str, Any]) -> Setting:
    found = Setting(str(row["compute"]), int(row["threads"]), int(row["size"]))
    if found.compute not in ("float32", "int8_float32") or not (1 <= found.threads <= 1024 and 1 <= found.size <= 4096):
        raise ValueError(found)
    return found


def tune(folder: Path, words: Sequence[Sequence[str]], longest: int) -> Tuned:
    """Greedy answers to these sources by each setting, twice in turns; the better time counts.

    One sentence and many have one precision, the one that is faster on the whole, so that an answer does not depend on
    its neighbours.
    """
    from dragoman.engines.ctranslate2 import opened

    speeds: dict[Setting, float] = {}
    for _ in range(2):
        for compute in computes(folder):
            for threads in sorted({1, cores()}):
                translator = opened(folder, compute, threads)
                for size in (1, *SIZES):
                    setting = Setting(compute, threads, size)
                    speeds[setting] = max(speeds.get(setting, 0.0), speed_of(translator, size, words, longest))
    best = {compute: fastest(speeds, compute) for compute in computes(folder)}
    alone, many = max(best.values(), key=lambda pair: speeds[pair[0]] * speeds[pair[1]])
    return Tuned(this_machine(), alone, many, tuple(speeds.items()))


def fastest(speeds: Mapping[Setting, float], compute: str) -> tuple[Setting, Setting]:
    """For one sentence and for many, in one precision."""
    own = [setting for setting in speeds if setting.compute == compute]
    alone, many = (max((s for s in own if (s.size == 1) == one), key=speeds.__getitem__) for one in (True, False))
    return alone, many


def computes(folder: Path) -> tuple[str, ...]:
    """The precisions that a folder can be read in: small weights may be used as they are, or made large again."""
    return (
        ("int8_float32", "float32") if read_record(folder / "export.json").get("quantize") == "int8" else ("float32",)
    )


def speed_of(translator: Any, size: int, words: Sequence[Sequence[str]], longest: int) -> float:
    """Sentences a second."""
    calls = [[list(row)] for row in words[:ALONE]] if size == 1 else [[list(row) for row in repeated(words, size)]]
    done, began = 0, time.perf_counter()
    while done == 0 or time.perf_counter() - began < SECONDS:
        for call in calls:
            translator.translate_batch(call, beam_size=1, max_decoding_length=longest, max_batch_size=size)
            done += len(call)
            if time.perf_counter() - began > 2 * SECONDS:
                break
    return done / (time.perf_counter() - began)


def repeated(words: Sequence[Sequence[str]], number: int) -> list[Sequence[str]]:
    return [words[place % len(words)] for place in range(number)]
