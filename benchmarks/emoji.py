"""Captions of emoji in nine languages from one model, by tag, beside the caption of the nearest picture by pixels.

    python benchmarks/emoji.py --data DIR [--minutes 10 --name emoji-captions-minutes]

Test pictures are skin tones of emoji whose base picture and whose tones are both in the training data; `novel` ones
have no relative there. The baseline answers with the caption of the training picture whose pixels, of the same size as
the model's, differ least. Run the same command again after an interruption: training goes on where it was.
"""

import argparse
import csv
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.cli.progress import preparing, show
from dragoman.data.pictures import pixels_of
from dragoman.data.readers.pairs import fingerprint
from dragoman.data.readers.picture_places import PictureZip
from dragoman.evaluation.captions import evaluate_captions
from dragoman.experiment import train
from dragoman.metrics import measure
from dragoman.pipeline import Pipeline
from dragoman.recipes import compose
from dragoman.runs import Run, status_of
from sets import WORK, machine, provenance, write_result

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "ru", "ja", "zh")
SPLITS = ("train", "dev", "test", "novel")
METRICS = ("exact_match", "token_f1")
SIZE = 64
COLUMNS = (
    "data.tags=columns",
    "data.picture_field=file",
    f"data.caption_field={json.dumps(LANGUAGES)}",
    "data.max_bad=0.05",
)
SETTINGS = (
    "training.threads=1",
    "training.device=cpu",
    *COLUMNS,
    "target.kind=unigram",
    "target.size=6000",
    "model.source.width=192",
    "model.source.channels=24",
    "model.target.width=128",
    "model.decoder.width=320",
    "model.decoder.readout_width=192",
    "objective.doubly_stochastic=0",
    "training.batching.sentences=64",
    "training.optimiser.rate=2e-3",
    "training.validate_every=500",
    "limits.answer=80",
    "evaluation.report=0",
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder that has emoji-captions/captions.tsv")
    parser.add_argument("--steps", type=int, default=7000)
    parser.add_argument("--minutes", type=float, help="train the recipe `caption` as it is, for so many minutes")
    parser.add_argument("--name", default="emoji-captions", help="of the result")
    parser.add_argument("settings", nargs="*", help="section.key=value")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    folder, pictures = WORK / given.name, given.data / "emoji-captions" / "png72.zip"
    tables = parted(given.data / "emoji-captions" / "captions.tsv", folder)
    recipe, settings = ("xu2015", SETTINGS) if given.minutes is None else ("caption", COLUMNS)
    overrides = [*settings, f"data.pictures={pictures}", *given.settings]
    run = Run(folder / "run")
    composed = compose(
        recipe,
        train=(str(tables["train"]),),
        valid=(str(tables["dev"]),),
        overrides=overrides,
        settings={"training.steps": given.steps} if given.minutes is None else {"training.minutes": given.minutes},
    )
    if not status_of(run).get("finished"):
        events = train(composed.settings, run.path, composed.given, preparing=preparing, undecided=composed.undecided)
        show(events, run.path, False)
    pipeline = Pipeline.load(run.path)
    place = {"pictures": str(pictures)}
    found = {split: evaluate_captions(pipeline, [str(tables[split])], METRICS, place) for split in ("test", "novel")}
    rows = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    facts: dict[str, Any] = {
        "kind": "captions",
        "recipe": recipe,
        "settings": [*settings, "data.pictures=DIR/emoji-captions/png72.zip", *given.settings],
        "steps": given.steps if given.minutes is None else None,
        "minutes": round(max(row.get("seconds", 0) for row in rows) / 60, 1),
        "parameters": sum(one.numel() for one in pipeline.read_weights().parameters()),
        "test_sha256": fingerprint((str(tables["test"]),)),
        "splits": {
            split: {
                "captions": result.whole.items,
                "metrics": {one.name: [one.value, one.low, one.high] for one in result.whole.metrics},
                "languages": {tag: {one.name: one.value for one in values} for tag, values in result.by_tag.items()},
                "nearest_picture": nearest(tables["train"], tables[split], pictures),
            }
            for split, result in found.items()
        },
        "machine": machine(),
        **provenance(),
        "date": time.strftime("%Y-%m-%d"),
    }
    write_result(given.name, facts)
    for split, told in facts["splits"].items():
        said, beside = told["metrics"]["exact_match"][0], told["nearest_picture"]["exact_match"]
        print(f"{split}: exact match {said:.2f} %, of the nearest picture {beside:.2f} %")


def parted(file: Path, folder: Path) -> dict[str, Path]:
    """A table a split."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = list(csv.DictReader(file.open(encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE))
    tables = {}
    for split in SPLITS:
        lines = ["\t".join(("file", *LANGUAGES))]
        lines += ["\t".join(row[name] for name in ("file", *LANGUAGES)) for row in rows if row["split"] == split]
        tables[split] = folder / f"{split}.tsv"
        tables[split].write_text("\n".join(lines) + "\n", "utf-8")
    return tables


def nearest(train: Path, test: Path, pictures: Path) -> dict[str, float]:
    """How good the captions of the nearest training pictures are."""
    place = PictureZip(pictures)

    def read(table: Path) -> tuple[np.ndarray, list[dict[str, str]]]:
        rows = list(csv.DictReader(table.open(encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE))
        pixels = [pixels_of(place.read(row["file"]), SIZE).astype(np.float32).ravel() for row in rows]
        return np.stack(pixels), rows

    known, rows = read(train)
    asked, true = read(test)
    squares = (known**2).sum(1)
    chosen = [rows[int((squares - 2 * known @ one).argmin())] for one in asked]
    said = [row[language] for row in chosen for language in LANGUAGES]
    references = [(row[language],) for row in true for language in LANGUAGES]
    return {one.name: one.value for one in measure(METRICS, said, references, resamples=1)}


if __name__ == "__main__":
    main()
