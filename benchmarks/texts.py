"""Train a language model, or one that learns to read, on a text, measure it, and write down what it takes to repeat it.

A text is cut once: the first nine tenths of its characters are learned, the rest is measured. Of several books, the dev
set and the three shortest ones are measured, some pages of each validate, and the others are learned. Run the same
command again after an interruption: training goes on where it was. `--run` measures a run that was trained elsewhere,
and `--from` names the runs that it was started from.
"""

import argparse
import gzip
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.cli.progress import preparing, show
from dragoman.data.readers.pairs import fingerprint
from dragoman.evaluation.pretraining import EvaluatedReading, evaluate_reading
from dragoman.evaluation.texts import EvaluatedText, evaluate_text
from dragoman.experiment import train
from dragoman.pipeline import Pipeline
from dragoman.recipes import compose
from dragoman.runs import Run, read_metadata, status_of
from sets import WORK, machine, provenance, write_result

TEXTS = {"tinyshakespeare": "tinyshakespeare/input.txt"}
BOOKS = {"gutenberg-books": ("gutenberg-books/train.txt.gz", "gutenberg-books/dev.txt.gz")}
LEARNED = 0.9  # share of the characters
HELD_OUT = 3  # the shortest of the books to learn from, beside the dev set
PAGES = 170  # lines from the middle of each held-out book that validate while it is trained
# Marks that differ from book to book with who typed them, and would tell books apart without reading.
MARKS = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "—": "--", "_": None})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe")
    parser.add_argument("set", choices=[*TEXTS, *BOOKS])
    parser.add_argument("settings", nargs="*", help="section.key=value")
    parser.add_argument("--name", default="", help="distinguishes results of one recipe with other settings")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--scale")
    parser.add_argument("--run", type=Path, default=None, help="a run that is finished, trained on the same parts")
    parser.add_argument(
        "--from", dest="origins", type=Path, nargs="*", default=[], help="runs that it was started from"
    )
    parser.add_argument("--data", type=Path, required=True)
    return parser.parse_args()


def parted(name: str, data: Path) -> dict[str, str]:
    """The files of each part: train, valid, and what else is measured."""
    if name in BOOKS:
        return booked(name, data)
    text = (data / TEXTS[name]).read_text("utf-8")
    folder, cut = WORK / name, int(len(text) * LEARNED)
    folder.mkdir(parents=True, exist_ok=True)
    for part, content in (("train", text[:cut]), ("valid", text[cut:])):
        if not (folder / f"{part}.txt").exists():
            (folder / f"{part}.txt").write_text(content, "utf-8")
    files = {part: str(folder / f"{part}.txt") for part in ("train", "valid")}
    return files | {"test": files["valid"]}


def booked(name: str, data: Path) -> dict[str, str]:
    """Whole books are learned, whole books are measured; these once more without the marks that give them away."""
    folder, (train, dev) = WORK / name, (read(data / file) for file in BOOKS[name])
    folder.mkdir(parents=True, exist_ok=True)
    shortest = sorted(train, key=len)[:HELD_OUT]
    test = [*dev, *shortest]
    pages = [book.split("\n") for book in test]
    parts = {
        "train": [book for book in train if book not in shortest],
        "valid": ["\n".join(lines[len(lines) // 2 :][:PAGES]) for lines in pages],
        "test": test,
        "plain": [book.translate(MARKS) for book in test],
    }
    for part, books in parts.items():
        (folder / f"{part}.txt").write_text("\n\n".join(books) + "\n", "utf-8")
    return {part: str(folder / f"{part}.txt") for part in parts}


def read(file: Path) -> list[str]:
    """The books of a file, with blank lines between them."""
    with gzip.open(file, "rt", encoding="utf-8") as text:
        return [book.strip("\n") for book in text.read().split("\n\n") if book.strip()]


def main() -> None:
    given = arguments()
    files = parted(given.set, given.data)
    label = "-".join(filter(None, [given.recipe, given.scale, given.set, given.name]))
    run = Run(WORK / label if given.run is None else given.run)
    settings = {} if given.steps is None else {"training.steps": given.steps}
    if given.run is None and not status_of(run).get("finished"):
        composed = compose(given.recipe, given.scale, (files["train"],), (files["valid"],), given.settings, settings)
        finished = show(train(composed.settings, run.path, composed.given, preparing=preparing), run.path)
        if finished is None or finished.signal is not None:
            raise SystemExit("Interrupted; the same command goes on.")
    pipeline = Pipeline.load(run.path)
    result = measured(pipeline, files["test"])
    others = {part: values_of(measured(pipeline, files[part])) for part in ("plain",) if part in files}
    trained = [Run(path) for path in given.origins] + [run]
    write_result(
        label,
        {
            "kind": "reading" if pipeline.fills else "text",
            "recipe": given.recipe,
            "scale": given.scale,
            "name": given.name,
            "set": given.set,
            "settings": given.settings or [str(one.given.read_text("utf-8")) for one in trained],
            "test_sha256": fingerprint((files["test"],)),
            **facts_of(result),
            "metrics": values_of(result),
            **others,
            "training_minutes": round(sum(minutes_of(one) for one in trained), 2),
            "curve": [
                row["valid"] | {"step": row["step"]} for one in trained for row in rows_of(one) if "valid" in row
            ],
            "steps": [steps_of(one) for one in trained] if given.origins else status_of(run)["step"],
            "machine": machine(),
            **provenance(),
            "date": time.strftime("%Y-%m-%d"),
        },
    )
    for value in result.metrics:
        print(f"{label}: {value.name} {value.value:.4f} ({value.low:.4f} … {value.high:.4f})")


def measured(pipeline: Pipeline, file: str) -> EvaluatedText | EvaluatedReading:
    return evaluate_reading(pipeline, [file]) if pipeline.fills else evaluate_text(pipeline, [file])


def facts_of(result: EvaluatedText | EvaluatedReading) -> dict[str, Any]:
    names = ("documents", "symbols", "characters", "windows", "examples", "words", "follows")
    return {name: getattr(result, name) for name in names if hasattr(result, name)}


def values_of(result: EvaluatedText | EvaluatedReading) -> dict[str, Any]:
    return {value.name: asdict(value) for value in result.metrics}


def rows_of(run: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.metrics.read_text("utf-8").splitlines()]


def minutes_of(run: Run) -> float:
    return max(row.get("seconds", 0.0) for row in rows_of(run)) / 60


def steps_of(run: Run) -> int:
    """Of the weights that were handed on: the step of the best."""
    return int(read_metadata(run.model / "model.safetensors")["step"])


if __name__ == "__main__":
    main()
