"""What each search is worth on a data set: quality and seconds a thousand lines, all rows on the same lines.

    python benchmarks/searches.py SET RUN [RUN …] --data DIR --lines 1000

The first run answers alone, all of them together as an ensemble. Lines are taken evenly from the test set. The exact
search, with its own budget, answers `--exact-lines` of them, and a beam without normalisation the same ones beside it.
Rows that were measured are not measured again: the same command goes on.
"""

import argparse
import hashlib
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from dragoman.data.readers.pairs import fingerprint
from dragoman.evaluation.pairs import Evaluated, evaluate, read_items
from dragoman.pipeline import Pipeline
from dragoman.pipeline.ensemble import Ensemble
from sets import HERE, find_set, machine, provenance, write_result

ALONE = {
    "greedy": ["search.kind=greedy"],
    "beam 5": ["search.kind=beam", "search.width=5"],
    "beam 5, likely end": ["search.kind=beam", "search.width=5", "search.stop=likely"],
    "least risk of 32 samples": ["search.kind=sampling", "risk.candidates=32"],
    "least risk of a beam of 16": ["search.kind=beam", "search.width=16"],
}
PLAIN = {
    "beam 5, not normalised": ["search.kind=beam", "search.width=5", "search.normalisation=none"],
    "exact": ["search.kind=exact"],
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--utility", default="chrf", help="of the answers of least risk")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--exact-lines", type=int, default=200)
    parser.add_argument("--budget", type=int, default=20_000, help="of the exact search, a line")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path)
    return parser.parse_args()


def some(files: tuple[str, ...], number: int, folder: Path) -> tuple[str, ...]:
    """Sources and all their references, taken evenly from the whole."""
    items, _ = read_items(files)
    number = min(number, len(items))
    chosen = [items[place * len(items) // number] for place in range(number)]
    pairs = [(source, target) for source, targets in chosen for target in targets]
    path = folder / f"test-{number}.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return (str(path),)


def hash_of(run: Path) -> str:
    return hashlib.sha256((run / "model" / "model.safetensors").read_bytes()).hexdigest()


def row_of(name: str, found: Evaluated) -> dict[str, Any]:
    return {
        "commit": provenance()["commit"],
        "search": name,
        "lines": found.items,
        "metrics": {value.name: asdict(value) for value in found.metrics},
        "seconds_per_thousand": found.seconds / found.items * 1000,
        "unfinished": found.unfinished,
    }


def exactness(pipeline: Pipeline, sources: Sequence[str]) -> dict[str, Any]:
    """How often an exact search proved its answer, how often a beam of 5 had found it, and how often it is empty."""
    exact = list(pipeline.stream(sources))
    beam = list(pipeline.changed(PLAIN["beam 5, not normalised"]).stream(sources))
    proved = [one.best.bound is not None and one.best.bound <= one.best.score for one in exact]
    pairs = zip(exact, beam, proved, strict=True)
    return {
        "proved": sum(proved),
        "of_them_found_by_the_beam": sum(good and one.text == other.text for one, other, good in pairs),
        "of_them_empty": sum(good and not one.tokens for one, good in zip(exact, proved, strict=True)),
    }


def main() -> None:
    given = arguments()
    torch.set_num_threads(given.threads)
    data, label = find_set(given.set, given.data), f"searches-{given.set}"
    path = HERE / "results" / f"{label}.json"
    head = {
        "kind": "searches",
        "set": given.set,
        "runs": [{"name": run.name, "sha256": hash_of(run)} for run in given.runs],
        "utility": given.utility,
        "budget": given.budget,
        "test_sha256": fingerprint(data.test),
        "asked": [given.lines, given.exact_lines],
    }
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    same = all(before.get(name) == value for name, value in head.items())
    rows: dict[str, dict[str, Any]] = {row["search"]: row for row in before["rows"]} if same else {}
    alone, together = Pipeline.load(given.runs[0]), f"beam 5, ensemble of {len(given.runs)}"

    def keep(row: dict[str, Any]) -> None:
        rows[row["search"]] = row
        result = head | {"rows": list(rows.values()), "machine": machine(), **provenance()}
        write_result(label, result | {"date": time.strftime("%Y-%m-%d")})
        value = next(iter(row["metrics"].values()))
        print(f"{row['search']}: {value['value']:.2f}, {row['seconds_per_thousand']:.1f} s a thousand", flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        files = some(data.test, given.lines, Path(temporary))
        for name, settings in ALONE.items():
            risk = [f"risk.utility={given.utility}"] if "risk" in name else []
            if name not in rows:
                keep(row_of(name, evaluate(alone.changed([*settings, *risk]), files)))
        if len(given.runs) > 1 and together not in rows:
            keep(row_of(together, evaluate(Ensemble.load_all(given.runs).changed(ALONE["beam 5"]), files)))
        files = some(data.test, given.exact_lines, Path(temporary))
        for name, settings in PLAIN.items():
            if name not in rows:
                budget = [f"search.budget={given.budget}"] if name == "exact" else []
                pipeline = alone.changed([*settings, *budget])
                row = row_of(name, evaluate(pipeline, files))
                if name == "exact":
                    row |= exactness(pipeline, [source for source, _ in read_items(files)[0]])
                keep(row)


if __name__ == "__main__":
    main()
