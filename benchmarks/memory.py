"""Peak memory of a training on corpora of different sizes: it must not grow with them."""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

from dragoman.experiment import train
from dragoman.recipes import compose
from dragoman.runs import Run
from dragoman.training.events import Finished, Prepared
from sets import WORK, machine, provenance, write_result

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprstvz" for b in "aeiou" for c in "bdfgklmnprstvz"]


def write_corpus(path: Path, pairs: int) -> None:
    """Random sentences of 3 to 12 words and their reversal."""
    generator = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(pairs):
            words = generator.choices(WORDS, k=generator.randint(3, 12))
            file.write(f"{' '.join(words)}\t{' '.join(reversed(words))}\n")


def one(pairs: int) -> dict[str, float]:
    """Prepare and train a few steps; a second start finds everything ready."""
    path = WORK / f"memory-{pairs}.tsv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_corpus(path, pairs)
    result: dict[str, float] = {"pairs": pairs, "megabytes": path.stat().st_size / 1e6}
    settings = {"source.kind": "words", "target.kind": "words", "training.steps": 5, "evaluation.report": 0}
    composed = compose(recipe="g2p", scale="tiny", train=(str(path),), settings=settings)
    out = WORK / f"memory-run-{pairs}"
    fresh = not out.exists()
    started_at = time.perf_counter()
    for event in train(composed.settings, out):
        if isinstance(event, Prepared):
            result["seconds_to_prepare"] = time.perf_counter() - started_at
        elif isinstance(event, Finished) and fresh:
            Run(out).status.unlink()  # so that the second start goes on to the same end
    result["first_start"] = fresh
    result["peak_megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--pairs", type=int, nargs="*", default=[100_000, 2_000_000])
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(arguments.one)))
        return
    rows = []
    for pairs in arguments.pairs:
        for _ in range(2):
            command = [sys.executable, __file__, "--one", str(pairs)]
            result = subprocess.run(command, capture_output=True, text=True, check=True)
            rows.append(json.loads(result.stdout.strip().split("\n")[-1]))
            print(rows[-1], flush=True)
    write_result("memory", {"kind": "memory", "rows": rows, "machine": machine(), **provenance()})


if __name__ == "__main__":
    main()
