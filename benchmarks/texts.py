"""Train a language model on a text, measure it over every window, and write down what it takes to repeat it.

The text is cut once: the first nine tenths of its characters are learned, the rest is measured. Run the same command
again after an interruption: training goes on where it was.
"""

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path

from dragoman.cli.progress import preparing, show
from dragoman.data.readers.pairs import fingerprint
from dragoman.experiment import train
from dragoman.pipeline import Pipeline
from dragoman.recipes import compose
from dragoman.runs import Run, status_of
from dragoman.text_evaluation import evaluate_text
from sets import WORK, machine, provenance, write_result

TEXTS = {"tinyshakespeare": "tinyshakespeare/input.txt"}
LEARNED = 0.9  # share of the characters


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe")
    parser.add_argument("set", choices=TEXTS)
    parser.add_argument("settings", nargs="*", help="section.key=value")
    parser.add_argument("--name", default="", help="distinguishes results of one recipe with other settings")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--data", type=Path, required=True)
    return parser.parse_args()


def parted(name: str, data: Path) -> tuple[str, str]:
    """Two files: what is learned, and what is measured."""
    text = (data / TEXTS[name]).read_text("utf-8")
    folder, cut = WORK / name, int(len(text) * LEARNED)
    folder.mkdir(parents=True, exist_ok=True)
    for part, content in (("train", text[:cut]), ("valid", text[cut:])):
        if not (folder / f"{part}.txt").exists():
            (folder / f"{part}.txt").write_text(content, "utf-8")
    return str(folder / "train.txt"), str(folder / "valid.txt")


def main() -> None:
    given = arguments()
    learned, measured = parted(given.set, given.data)
    label = "-".join(filter(None, [given.recipe, given.set, given.name]))
    run = Run(WORK / label)
    settings = {} if given.steps is None else {"training.steps": given.steps}
    composed = compose(given.recipe, None, (learned,), (measured,), given.settings, settings)
    if not status_of(run).get("finished"):
        finished = show(train(composed.settings, run.path, composed.given, preparing=preparing), run.path)
        if finished is None or finished.signal is not None:
            raise SystemExit("Interrupted; the same command goes on.")
    result = evaluate_text(Pipeline.load(run.path), [measured])
    rows = [json.loads(line) for line in run.metrics.read_text("utf-8").splitlines()]
    write_result(
        label,
        {
            "kind": "text",
            "recipe": given.recipe,
            "name": given.name,
            "set": given.set,
            "settings": given.settings,
            "test_sha256": fingerprint((measured,)),
            "symbols": result.symbols,
            "characters": result.characters,
            "windows": result.windows,
            "metrics": {value.name: asdict(value) for value in result.metrics},
            "training_minutes": round(max(row.get("seconds", 0.0) for row in rows) / 60, 2),
            "curve": [row["valid"] | {"step": row["step"]} for row in rows if "valid" in row],
            "steps": status_of(run)["step"],
            "machine": machine(),
            **provenance(),
            "date": time.strftime("%Y-%m-%d"),
        },
    )
    for value in result.metrics:
        print(f"{label}: {value.name} {value.value:.4f} ({value.low:.4f} … {value.high:.4f})")


if __name__ == "__main__":
    main()
