"""Strips of symbols: gray images four times as wide as high that show a row of symbols, and captions that spell them.

    python benchmarks/strips.py [--minutes 10]

Each strip has three to six symbols of a 5 × 7 font at random places, in random gray on random gray, with noise; the
caption is the symbols with spaces between them. The recipe `caption` trains on them as it is; the baseline answers with
the caption of the training image whose pixels differ least. Run the same command again after an interruption: training
goes on where it was.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from dragoman.cli.progress import preparing, show
from dragoman.data.readers.pairs import fingerprint
from dragoman.evaluation.captions import evaluate_captions
from dragoman.experiment import train
from dragoman.metrics import measure
from dragoman.pipeline import Pipeline
from dragoman.recipes import compose
from dragoman.runs import Run, status_of
from dragoman.seeds import key
from sets import WORK, machine, provenance, write_result

HEIGHT, WIDTH, SCALE = 32, 128, 2
SPLITS = {"train": 6_000, "valid": 500, "test": 1_000}
METRICS = ("exact_match", "token_f1")
FONT = {  # seven rows of five dots each, the leftmost dot the highest bit
    "0": (14, 17, 19, 21, 25, 17, 14),
    "1": (4, 12, 4, 4, 4, 4, 14),
    "2": (14, 17, 1, 2, 4, 8, 31),
    "3": (31, 2, 4, 2, 1, 17, 14),
    "4": (2, 6, 10, 18, 31, 2, 2),
    "5": (31, 16, 30, 1, 1, 17, 14),
    "6": (6, 8, 16, 30, 17, 17, 14),
    "7": (31, 1, 2, 4, 8, 8, 8),
    "8": (14, 17, 17, 14, 17, 17, 14),
    "9": (14, 17, 17, 15, 1, 2, 12),
    "A": (14, 17, 17, 17, 31, 17, 17),
    "B": (30, 17, 17, 30, 17, 17, 30),
    "C": (14, 17, 16, 16, 16, 17, 14),
    "D": (28, 18, 17, 17, 17, 18, 28),
    "E": (31, 16, 16, 30, 16, 16, 31),
    "F": (31, 16, 16, 30, 16, 16, 16),
    "+": (0, 4, 4, 31, 4, 4, 0),
    "-": (0, 0, 0, 31, 0, 0, 0),
    "=": (0, 0, 31, 0, 31, 0, 0),
    "/": (0, 1, 2, 4, 8, 16, 0),
}

Pixels = NDArray[np.uint8]


def glyph(symbol: str) -> NDArray[np.float64]:
    """1 where a symbol is drawn."""
    dots = np.array([[row >> (4 - column) & 1 for column in range(5)] for row in FONT[symbol]], np.float64)
    return np.kron(dots, np.ones((SCALE, SCALE)))


def strip(seed: int, split: str, number: int) -> tuple[Pixels, str]:
    """An image of a split by its number, and its caption."""
    draw = np.random.default_rng(key(seed, "strip", split, number))
    symbols = [str(symbol) for symbol in draw.choice(list(FONT), int(draw.integers(3, 7)))]
    ink, ground = np.zeros((HEIGHT, WIDTH)), float(draw.uniform(140, 235))
    high, wide = 7 * SCALE, 5 * SCALE
    spare = WIDTH - 4 - len(symbols) * (wide + 2)
    cuts = np.sort(draw.integers(0, spare + 1, len(symbols)))
    for place, symbol in enumerate(symbols):
        left, top = 2 + int(cuts[place]) + place * (wide + 2), int(draw.integers(2, HEIGHT - high - 1))
        ink[top : top + high, left : left + wide] = glyph(symbol)
    drawn = ground - float(draw.uniform(70, 130)) * ink + draw.normal(0, 12, ink.shape)
    return np.clip(drawn.round(), 0, 255).astype(np.uint8), " ".join(symbols)


def write_strips(folder: Path, split: str, count: int, seed: int = 1) -> Path:
    """PNG files and the table that names them."""
    (folder / split).mkdir(parents=True, exist_ok=True)
    rows = ["picture\tcaption"]
    for number in range(count):
        pixels, caption = strip(seed, split, number)
        Image.fromarray(pixels).save(folder / split / f"{number:05}.png", compress_level=1)
        rows.append(f"{split}/{number:05}.png\t{caption}")
    table = folder / f"{split}.tsv"
    table.write_text("\n".join([*rows, ""]), "utf-8")
    return table


def nearest(seed: int = 1) -> dict[str, float]:
    """How good the captions of the nearest training images are."""
    known = [strip(seed, "train", number) for number in range(SPLITS["train"])]
    asked = [strip(seed, "test", number) for number in range(SPLITS["test"])]
    pixels = np.stack([one.ravel() for one, _ in known]).astype(np.float32)
    squares = (pixels**2).sum(1)
    chosen = [known[int((squares - 2 * pixels @ one.ravel().astype(np.float32)).argmin())][1] for one, _ in asked]
    found = measure(METRICS, chosen, [(caption,) for _, caption in asked], resamples=1)
    return {one.name: one.value for one in found}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--name", default="strips", help="of the result")
    parser.add_argument("settings", nargs="*", help="section.key=value")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    folder = WORK / given.name
    tables = {split: write_strips(folder, split, count) for split, count in SPLITS.items()}
    run = Run(folder / "run")
    composed = compose(
        "caption",
        train=(str(tables["train"]),),
        valid=(str(tables["valid"]),),
        overrides=given.settings,
        settings={"training.minutes": given.minutes},
    )
    if not status_of(run).get("finished"):
        events = train(composed.settings, run.path, composed.given, preparing=preparing, undecided=composed.undecided)
        show(events, run.path, False)
    pipeline = Pipeline.load(run.path)
    result = evaluate_captions(pipeline, [str(tables["test"])], METRICS, {})
    rows = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    facts: dict[str, Any] = {
        "kind": "strips",
        "recipe": "caption",
        "settings": given.settings,
        "minutes": given.minutes,
        "seconds": max(row.get("seconds", 0) for row in rows),
        "parameters": sum(one.numel() for one in pipeline.read_weights().parameters()),
        "test_sha256": fingerprint((str(tables["test"]),)),
        "captions": result.whole.items,
        "metrics": {one.name: [one.value, one.low, one.high] for one in result.whole.metrics},
        "nearest_image": nearest(),
        "machine": machine(),
        **provenance(),
        "date": time.strftime("%Y-%m-%d"),
    }
    write_result(given.name, facts)
    exact, beside = facts["metrics"]["exact_match"][0], facts["nearest_image"]["exact_match"]
    print(f"exact match {exact:.2f} %, nearest image {beside:.2f} %")


if __name__ == "__main__":
    main()
