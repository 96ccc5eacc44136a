"""A model folder to hand on: what serving needs and nothing else, with a card that says what it is."""

import shutil
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dragoman.data.draft import draft_of
from dragoman.data.tokenizers import File
from dragoman.errors import StorageError
from dragoman.export import Exported, Wanted, place_for, size_of
from dragoman.export.agreement import Agreement, compared
from dragoman.export.card import Card, card
from dragoman.export.held_out import held_out
from dragoman.pipeline import MODEL_FILES, Pipeline, model_folder
from dragoman.runs import FORMAT_VERSION
from dragoman.served import require_source
from dragoman.storage import hash_file, make_folder, write_atomically, write_record

Answers = list[tuple[str, float]]
TOLD = 20  # lines between two tellings
SHOWN = 3  # examples on the card


def export(run: Path, wanted: Wanted) -> Exported:
    """Copy the model bit by bit, prove that the copy answers as the original does, and write its card."""
    folder, out = model_folder(run), place_for(run, wanted, "folder")
    pipeline = Pipeline.load(run, "cpu")
    require_source(pipeline.settings.model.kind, "An export")
    lines = held_out(run, wanted, pipeline)
    answers, small = answered(pipeline, lines, wanted, 0), in_bytes(pipeline, lines, wanted)
    make_folder(out.parent)
    with draft_of(out) as draft:
        for name in MODEL_FILES:
            copied(folder / name, draft / name)
        compare(lines, answers, answered(Pipeline.load(draft, "cpu"), lines, wanted, 1), run)
        shown = tuple((line, text) for line, (text, _) in zip(lines, answers, strict=True))[:SHOWN]
        text = card(Card(run, pipeline, shown, wanted.on, wanted.licence))
        write_atomically(draft / "README.md", text)
        facts = facts_of(draft, lines, wanted) | ({} if small is None else {"int8": small.facts()})
        write_record(draft / "export.json", facts)
    told = [*sentences(pipeline, len(lines), wanted), *([] if small is None else small.sentences("int8"))]
    return Exported("folder", out, size_of(out), facts, told)


def in_bytes(pipeline: Pipeline, lines: Sequence[str], wanted: Wanted) -> Agreement | None:
    """How answers in int8 agree with those of the weights as they are; too little is an error."""
    if wanted.quantize == "none":
        return None
    return compared(pipeline, pipeline.quantized(), lines, wanted, lambda share: wanted.watch("int8", share))


def answered(pipeline: Pipeline, lines: Sequence[str], wanted: Wanted, before: int) -> Answers:
    """Texts and scores; `before` of two rounds are done."""
    found: Answers = []
    for answer in pipeline.stream(lines, window=TOLD):
        found.append((answer.text, answer.score))
        done = before * len(lines) + len(found)
        wanted.watch(f"{done:,} of {2 * len(lines):,} answered", done / (2 * len(lines)))
    return found


def copied(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    if hash_file(source) != hash_file(target):
        raise StorageError(f"{source} changed while it was copied. Wait until nothing is trained there, and try again.")


def compare(lines: Sequence[str], original: Answers, copy: Answers, run: Path) -> None:
    """Not one text or score may differ: they are the same numbers, computed in the same way."""
    differing = [number for number, (one, two) in enumerate(zip(original, copy, strict=True)) if one != two]
    if differing:
        line = lines[differing[0]][:80]
        raise StorageError(
            f"The copy answers {len(differing):,} of {len(lines):,} lines otherwise than {run}; the first is "
            f"'{line}'. Nothing was left. If {run} is being trained, its model was replaced meanwhile: try again."
        )


def facts_of(folder: Path, lines: Sequence[str], wanted: Wanted) -> dict[str, Any]:
    """For programs: each file by its hash, and what was proved."""
    files = {path.name: {"sha256": hash_file(path), "bytes": path.stat().st_size} for path in sorted(folder.iterdir())}
    where = [Path(name).name for name in wanted.on] or ["validation data of the run"]
    checked = {"lines": len(lines), "of": where, "equal_texts": len(lines), "equal_scores": len(lines)}
    return {
        "format_version": FORMAT_VERSION,
        "to": "folder",
        "quantize": wanted.quantize,
        "dragoman": version("dragoman"),
        "licence": wanted.licence or None,
        "files": files,
        "checked": checked,
    }


def sentences(pipeline: Pipeline, lines: int, wanted: Wanted) -> list[str]:
    told = [f"The copy answered {lines:,} held-out lines as the original does, text by text and score by score."]
    if not wanted.licence:
        told.append("Its card says that no licence is stated; --licence states one.")
    settings = (pipeline.settings.source, pipeline.settings.target)
    if paths := [one.path for one in settings if isinstance(one, File) and Path(one.path).is_absolute()]:
        told.append(f"Its config.toml names where a tokenizer once lay: {paths[0]}. Nothing is read there.")
    return told
