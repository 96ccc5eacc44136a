"""The BYU chit-chat corpus (Myers, Etchart and Fulda 2020), from the data file of the `chitchat-dataset` package."""

import hashlib
import json
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from dragoman.data.readers.pair import UNREADABLE
from dragoman.errors import DataError
from dragoman.storage import read_json

SPLITS = {"train": range(95), "valid": range(95, 97), "test": range(97, 100)}  # percent of the conversations
MOST = {"valid": 60, "test": 40}  # conversations, so that a demo does not measure for longer than it learns
FEWEST = 4  # turns of a conversation that is taken
LARGEST = 200_000_000  # bytes


def corpus_path() -> Path:
    """The data file, found through the package's metadata; the package itself is never imported."""
    try:
        listed = files("chitchat-dataset") or []
    except PackageNotFoundError as error:
        raise DataError("This demo needs the chitchat-dataset package: pip install 'dragoman[demo]'.") from error
    for file in listed:
        if file.name == "dataset.json":
            return Path(str(file.locate()))
    raise DataError(
        "The installed chitchat-dataset package has no dataset.json. Reinstall it: pip install -U chitchat-dataset."
    )


def conversations(path: Path) -> Iterator[tuple[str, list[str]]]:
    """(id, turns): what one says without a break is one turn; what is no conversation is left out."""
    records = read_json(path, LARGEST)
    if not isinstance(records, dict):
        raise DataError(f"{path} is not the chit-chat corpus: it is no JSON object. Reinstall chitchat-dataset.")
    for name, record in records.items():
        messages = record.get("messages") if isinstance(record, dict) else None
        turns = [said(turn) for turn in messages] if isinstance(messages, list) else []
        turns = [turn for turn in turns if turn]
        if len(turns) >= FEWEST:
            yield name, turns


def said(messages: Any) -> str:
    """What somebody said, in one line."""
    listed = messages if isinstance(messages, list) else []
    texts = [one["text"] for one in listed if isinstance(one, dict) and isinstance(one.get("text"), str)]
    return " ".join(UNREADABLE.sub(" ", " ".join(texts)).split())


def split_of(name: str) -> str:
    """The same on every machine."""
    percent = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % 100
    return next(split for split, share in SPLITS.items() if percent in share)


def write_splits(folder: Path) -> dict[str, int]:
    """Write train.jsonl, valid.jsonl and test.jsonl, and say how many conversations each has."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = {name: [] for name in SPLITS}
    for name, turns in conversations(corpus_path()):
        split = split_of(name)
        if len(lines[split]) < MOST.get(split, len(lines[split]) + 1):
            lines[split].append(json.dumps({"id": name, "turns": turns}, ensure_ascii=False) + "\n")
    for split, found in lines.items():
        path, content = folder / f"{split}.jsonl", "".join(found)
        if not path.exists() or path.read_text("utf-8") != content:
            path.write_text(content, "utf-8", newline="\n")
    return {split: len(found) for split, found in lines.items()}
