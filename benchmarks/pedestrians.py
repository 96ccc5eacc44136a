"""Where pedestrians go: ETH/UCY, five folds that leave a scene out each, several seeds, without and with neighbours.

    python benchmarks/pedestrians.py --data DIR

DIR/eth-ucy/eth-ucy.tar.xz has the folds of Social GAN (Gupta et al. 2018). 8 steps (3.2 s) are read and 12 (4.8 s)
predicted, once each; all windows of 20 frames in a row count, whoever walks in them. Beside the models stands going on
at the last velocity, which proves the protocol. All folds have the same settings, and the weights are those of the
least ADE on its own validation part. The settings were chosen while looking at errors on three of the test scenes (eth,
hotel, zara1), so the figures flatter the model; `plain` is the recipe without turns and noise. Run the same command
again after an interruption: what is measured stays, and an unfinished training goes on.
"""

import argparse
import json
import shutil
import statistics
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.cli.progress import preparing, show
from dragoman.data.readers.pairs import fingerprint
from dragoman.experiment import train
from dragoman.pipeline import Pipeline
from dragoman.recipes import compose
from dragoman.runs import Run, status_of
from dragoman.storage import read_record, write_record
from dragoman.track_evaluation import EvaluatedTracks, evaluate_tracks
from sets import WORK, machine, provenance, write_result

FOLDER = WORK / "eth-ucy"
FOLDS = ("eth", "hotel", "univ", "zara1", "zara2")
PAST, FUTURE, NEIGHBOURS = 8, 12, 8
SETTINGS = (
    'data.predicts=["x","y"]',
    "data.turns=right",
    "data.noise=0.03",
    "training.batching.sentences=256",
    "training.batching.tokens=100000",
    "training.threads=1",
    "training.device=cpu",
    "training.estimate=false",
    "training.keep=1",
    "training.validate_every=100",
    "evaluation.report=0",
)
VARIANTS = {
    "without": (),
    "with": (f"data.neighbours={NEIGHBOURS}",),
    "plain": ("data.turns=none", "data.noise=0"),  # without the two that are made up in training
}

Floats = NDArray[np.float64]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--folds", nargs="*", default=list(FOLDS))
    parser.add_argument("--variants", nargs="*", default=["without", "with"], choices=list(VARIANTS))
    parser.add_argument("--name", default="eth-ucy", help="of the result")
    parser.add_argument("settings", nargs="*", help="section.key=value, for all of them")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    unpack(given.data / "eth-ucy" / "eth-ucy.tar.xz")
    found: dict[str, dict[str, list[dict[str, Any]]]] = {name: {fold: [] for fold in FOLDS} for name in given.variants}
    for seed in range(1, given.seeds + 1):
        for fold in given.folds:
            for variant in given.variants:
                if variant != "plain" or seed == 1:
                    found[variant][fold].append(scored(fold, variant, seed, given))
    facts = {
        "kind": "tracks",
        "set": "ETH/UCY, leave one scene out, folds of Social GAN",
        "unit": "m",
        "steps": [PAST, FUTURE],
        "seeds": given.seeds,
        "epochs": given.epochs,
        "settings": [*SETTINGS, *given.settings],
        "last_velocity": of_folds({fold: [found[given.variants[0]][fold][0]["still"]] for fold in given.folds}),
        "variants": {name: of_folds({f: some for f, some in each.items() if some}) for name, each in found.items()},
        "minutes": round(sum(o["seconds"] for each in found.values() for some in each.values() for o in some) / 60, 1),
        "machine": machine(),
        **provenance(),
        "date": time.strftime("%Y-%m-%d"),
    }
    write_result(given.name, facts)
    for name in ("last_velocity", *given.variants):
        told = facts["last_velocity"] if name == "last_velocity" else facts["variants"][name]
        print(name, " · ".join(f"{fold} {one['ade']:.3f}/{one['fde']:.3f}" for fold, one in told["folds"].items()))
        print(f"  mean ADE {told['ade']:.3f}, FDE {told['fde']:.3f}")


def unpack(archive: Path) -> None:
    """The folds as JSON lines, a window a line, with its neighbours and without; made once."""
    if (FOLDER / "done").exists():
        return
    shutil.rmtree(FOLDER / "raw", ignore_errors=True)
    with tarfile.open(archive) as files:
        tables = [member for member in files if member.isfile() and member.name.endswith(".txt")]
        files.extractall(FOLDER / "raw", tables, filter="data")
    for fold in FOLDS:
        for split in ("train", "val", "test"):
            write_split(fold, split)
    (FOLDER / "done").touch()


def write_split(fold: str, split: str) -> None:
    with (
        (FOLDER / f"{fold}-{split}.jsonl").open("w") as plain,
        (FOLDER / f"{fold}-{split}-with.jsonl").open("w") as beside,
    ):
        for file in sorted((FOLDER / "raw" / fold / split).glob("*.txt")):
            for record in windows(np.loadtxt(file), file.stem):
                beside.write(json.dumps(record) + "\n")
                del record["neighbours"]
                plain.write(json.dumps(record) + "\n")


def windows(rows: Floats, scene: str) -> Iterator[dict[str, Any]]:
    """All who are there in 20 frames in a row, each with those who are there at the last frame of the past."""
    frames, numbers = np.unique(rows[:, 0], return_inverse=True)
    people, who = np.unique(rows[:, 1], return_inverse=True)
    places = np.full((len(frames), len(people), 2), np.nan)
    places[numbers, who] = np.round(rows[:, 2:4], 4)
    for first in range(len(frames) - PAST - FUTURE + 1):
        seen = places[first : first + PAST + FUTURE]
        for person in np.flatnonzero(~np.isnan(seen[..., 0]).any(0)):
            others = seen[:PAST, ~np.isnan(seen[PAST - 1, :, 0]) & (np.arange(len(people)) != person)]
            near = np.argsort(np.square(others[-1] - seen[PAST - 1, person]).sum(-1), kind="stable")[:NEIGHBOURS]
            yield {
                "id": f"{scene}/{people[person]:.0f}@{frames[first]:.0f}",
                "past": columns(seen[:PAST, person]),
                "future": columns(seen[PAST:, person]),
                "neighbours": [columns(others[:, one]) for one in near],
            }


def columns(points: Floats) -> dict[str, list[float | None]]:
    known = [[None if np.isnan(value) else float(value) for value in column] for column in points.T]
    return {"x [m]": known[0], "y [m]": known[1]}


def scored(fold: str, variant: str, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """Train and measure, unless that was done; the score is kept, and the run is not."""
    name = "-".join([given.name, fold, variant, str(seed)])
    kept, run = FOLDER / f"{name}.json", Run(FOLDER / name)
    if kept.exists():
        return read_record(kept)
    end = "-with.jsonl" if variant == "with" else ".jsonl"
    files = {split: str(FOLDER / f"{fold}-{split}{end}") for split in ("train", "val", "test")}
    composed = compose(
        "trajectories",
        train=(files["train"],),
        valid=(files["val"],),
        overrides=[*SETTINGS, *VARIANTS[variant], *given.settings],
        settings={"training.seed": seed, "training.epochs": given.epochs},
    )
    if not status_of(run).get("finished"):
        finished = show(train(composed.settings, run.path, composed.given, preparing=preparing), run.path)
        if finished is None or finished.signal is not None:
            raise SystemExit("Interrupted; the same command goes on.")
    result = evaluate_tracks(Pipeline.load(run.path), [files["test"]])
    score = {
        **errors(result, "metrics"),
        "still": errors(result, "still"),
        "test_windows": result.items,
        "test_sha256": fingerprint((files["test"],)),
        "train_windows": read_record(run.data_record)["train"]["counts"]["pairs"],
        "steps": status_of(run)["step"],
        "seconds": round(seconds_of(run), 1),
    }
    write_record(kept, score)
    shutil.rmtree(run.path)
    print(f"{name}: ADE {score['ade']:.3f}, FDE {score['fde']:.3f}", flush=True)
    return score


def errors(result: EvaluatedTracks, of: str) -> dict[str, float]:
    values = {one.name.partition(" ")[0]: one.value for one in getattr(result, of)}
    return {name: round(values[name], 4) for name in ("ade", "fde")}


def seconds_of(run: Run) -> float:
    """Of training, by the log."""
    rows = [json.loads(line) for line in run.metrics.read_text("utf-8").splitlines()]
    return max((float(row["seconds"]) for row in rows if "seconds" in row), default=0.0)


def of_folds(found: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Means over seeds of each fold, and the mean over folds; its deviation is over seeds."""
    folds = {
        fold: {name: round(statistics.fmean(one[name] for one in some), 4) for name in ("ade", "fde")}
        | {"each": [[one["ade"], one["fde"]] for one in some]}
        for fold, some in found.items()
    }
    seeds = min(map(len, found.values()))
    means = [statistics.fmean(some[seed]["ade"] for some in found.values()) for seed in range(seeds)]
    return {
        "folds": folds,
        "ade": round(statistics.fmean(one["ade"] for one in folds.values()), 4),
        "fde": round(statistics.fmean(one["fde"] for one in folds.values()), 4),
        "ade_by_seed": [round(one, 4) for one in means],
        "deviation": round(statistics.stdev(means), 4) if len(means) > 1 else 0.0,
    }


if __name__ == "__main__":
    main()
