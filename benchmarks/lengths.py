"""Quality against the length of the source, with and without attention: the curse of length, if there is one.

The set `reversal` is generated: sequences of 5 to 60 symbols to be written backwards; others are in sets.toml. All
models have one budget; `dragoman compare` trains and measures them, and its page lies in benchmarks/runs. Run the same
command again after an interruption: it goes on where it was.
"""

import argparse
import json
import random
import time
from pathlib import Path

import dragoman
from dragoman.comparison import Compared
from sets import WORK, DataSet, find_set, machine, provenance, write_result

MODELS = ("no-attention", "one-context", "additive", "luong-general")
SYMBOLS, SHORTEST, LONGEST = 12, 5, 60
KEPT = ("name", "title", "parameters", "steps", "minutes", "epochs", "tokens_per_second", "metrics")
SIZES = {"train": 24_000, "valid": 500, "test": 3_000}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set")
    parser.add_argument("settings", nargs="*", help="section.key=value")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--minutes", type=float, help="of each model; else --epochs")
    parser.add_argument("--epochs", type=int, default=5, help="of each model: does not depend on what else runs")
    parser.add_argument("--data", type=Path)
    return parser.parse_args()


def reversal() -> DataSet:
    """Equally many of every length; the three splits share no sequence, for chance would have to repeat itself."""
    folder = WORK / "reversal"
    folder.mkdir(parents=True, exist_ok=True)
    numbers = random.Random(17)
    for split, size in SIZES.items():
        lines = []
        for place in range(size):
            length = SHORTEST + place % (LONGEST - SHORTEST + 1)
            symbols = [chr(ord("a") + numbers.randrange(SYMBOLS)) for _ in range(length)]
            lines.append(f"{' '.join(symbols)}\t{' '.join(reversed(symbols))}\n")
        (folder / f"{split}.tsv").write_text("".join(lines), "utf-8")
    return DataSet("reversal", "", *((str(folder / f"{split}.tsv"),) for split in SIZES))


def main() -> None:
    given = arguments()
    data = reversal() if given.set == "reversal" else find_set(given.set, given.data)
    own = dict(setting.split("=", 1) for setting in given.settings)
    budget = {"epochs": given.epochs} if given.minutes is None else {"minutes": given.minutes}
    limits = {f"training.{name}": value for name, value in budget.items()}
    settings = limits | {name: value_of(text) for name, text in own.items()}
    events = dragoman.compare(
        *given.models.split(","),
        out=WORK / f"lengths-{given.set}",
        pairs=list(data.train) if len(data.train) == 1 else None,
        source=data.train[0] if len(data.train) == 2 else None,
        target=data.train[1] if len(data.train) == 2 else None,
        valid=list(data.valid) or None,  # held out of the training data if the set has none
        test=list(data.test),
        settings=settings,
    )
    for event in events:
        last = event
    if not isinstance(last, Compared):
        raise SystemExit("Interrupted; the same command goes on.")
    found = json.loads(last.json.read_text("utf-8"))
    write_result(
        f"lengths-{given.set}",
        {"kind": "lengths", "set": given.set, "budget": budget, "settings": given.settings}
        | {"models": [{name: model[name] for name in KEPT} for model in found["models"]]}
        | {name: found[name] for name in ("metrics", "lengths")}
        | {"machine": machine(), **provenance(), "date": time.strftime("%Y-%m-%d")},
    )


def value_of(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


if __name__ == "__main__":
    main()
