"""Where pedestrians go: ETH/UCY, five folds that leave a scene out each, several seeds, without and with neighbours.

    python benchmarks/pedestrians.py --data DIR

DIR/eth-ucy/eth-ucy.tar.xz has the folds of Social GAN (Gupta et al. 2018). 8 steps (3.2 s) are read and 12 (4.8 s)
predicted, once each; all windows of 20 frames in a row count, whoever walks in them. Beside the models stands going on
at the last velocity, which proves the protocol. The weights are those of the least ADE on a fold's own validation part.

How the past is made up in training (turned, noisy) is chosen for each fold by the other scenes alone: each candidate is
trained with two scenes left out, for every two, and measured on both; a fold takes the candidate with the least mean
ADE on the other four, none of which had seen its scene or theirs. Run the same command again after an interruption:
what is measured stays, and an unfinished training goes on.
"""

import argparse
import hashlib
import json
import shutil
import statistics
import tarfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.baselines.tracks import RidgeForecaster, onward
from dragoman.baselines.training_data import Beside
from dragoman.cli.progress import preparing, show
from dragoman.data.readers.pairs import fingerprint
from dragoman.evaluation.tracks import evaluate_tracks
from dragoman.experiment import train
from dragoman.metrics import Measured
from dragoman.pipeline import Pipeline
from dragoman.recipes import compose
from dragoman.runs import Run, status_of
from dragoman.storage import read_record, write_record
from sets import WORK, machine, provenance, write_result

FOLDER = WORK / "eth-ucy"
FOLDS = ("eth", "hotel", "univ", "zara1", "zara2")
PAST, FUTURE, NEIGHBOURS = 8, 12, 8
SETTINGS = (
    'data.predicts=["x","y"]',
    "training.batching.sentences=256",
    "training.batching.tokens=100000",
    "training.threads=1",
    "training.device=cpu",
    "training.estimate=false",
    "training.keep=1",
    "training.validate_every=100",
    "evaluation.report=0",
)
CANDIDATES = {
    "as it is": (),
    "right turns": ("data.turns=right",),
    "right turns, noise": ("data.turns=right", "data.noise=0.03"),
    "any turns, noise": ("data.turns=any", "data.noise=0.03"),
}
VARIANTS = {"without": (), "with": (f"data.neighbours={NEIGHBOURS}",)}

Floats = NDArray[np.float64]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=700, help="updates of each training: folds differ in size")
    parser.add_argument(
        "--choosing-steps", type=int, default=300, help="of each training by which a candidate is chosen"
    )
    parser.add_argument("--name", default="eth-ucy", help="of the result")
    parser.add_argument("--baselines", action="store_true", help="only what needs no network, in seconds")
    parser.add_argument("settings", nargs="*", help="section.key=value, for all of them")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    unpack(given.data / "eth-ucy" / "eth-ucy.tar.xz")
    if given.baselines:
        write_baselines(given)
        return
    judged = {name: left_out(name, given) for name in CANDIDATES}
    chosen = {fold: min(CANDIDATES, key=lambda name: judged[name][fold]) for fold in FOLDS}
    for fold, name in chosen.items():
        print(f"{fold}: {name}, by the other scenes", flush=True)
    found: dict[str, dict[str, list[dict[str, Any]]]] = {name: {fold: [] for fold in FOLDS} for name in VARIANTS}
    for seed in range(1, given.seeds + 1):
        for fold in FOLDS:
            for variant in VARIANTS:
                found[variant][fold].append(scored(fold, variant, chosen[fold], seed, given))
        write_down(given, found, judged, chosen)


def write_down(
    given: argparse.Namespace,
    found: dict[str, dict[str, list[dict[str, Any]]]],
    judged: dict[str, dict[str, float]],
    chosen: dict[str, str],
) -> None:
    """The table, as far as all folds have a seed."""
    all_of_them = [one for each in found.values() for some in each.values() for one in some]
    facts = {
        "kind": "tracks",
        "set": "ETH/UCY, leave one scene out, folds of Social GAN",
        "unit": "m",
        "steps": [PAST, FUTURE],
        "seeds": len(found["without"][FOLDS[0]]),
        "updates": given.steps,
        "settings": [*SETTINGS, *given.settings],
        "candidates": {name: list(words) for name, words in CANDIDATES.items()},
        "ade_on_other_scenes": {
            name: {fold: round(value, 4) for fold, value in each.items()} for name, each in judged.items()
        },
        "chosen": chosen,
        "last_velocity": of_folds({fold: [found["without"][fold][0]["still"]] for fold in FOLDS}),
        "variants": {name: of_folds(each) for name, each in found.items()},
        "training_minutes": round(sum(one["seconds"] for one in all_of_them) / 60, 1),
        "test_sha256": {fold: found["without"][fold][0]["test_sha256"] for fold in FOLDS},
        "machine": machine(),
        **provenance(),
        "date": time.strftime("%Y-%m-%d"),
    }
    write_result(given.name, facts)
    for name, told in (("last velocity", facts["last_velocity"]), *facts["variants"].items()):
        print(name, " · ".join(f"{fold} {one['ade']:.3f}/{one['fde']:.3f}" for fold, one in told["folds"].items()))
        print(f"  mean ADE {told['ade']:.3f}, FDE {told['fde']:.3f}", flush=True)


def write_baselines(given: argparse.Namespace) -> None:
    """Errors of the last velocity and of ridge regression, fold by fold."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {"last velocity": {}, "ridge": {}}
    for fold in FOLDS:
        (past, future), (past_tested, future_tested) = arrays(files_of(fold, "train")), arrays(files_of(fold, "test"))
        answers = {
            "last velocity": onward(past_tested, FUTURE),
            "ridge": RidgeForecaster().fit(past, future).predict(past_tested, FUTURE),
        }
        for name, answer in answers.items():
            apart = np.sqrt(np.square(answer - future_tested).sum(-1))
            error = {"ade": round(float(apart.mean()), 4), "fde": round(float(apart[:, -1].mean()), 4)}
            found[name][fold] = [error]
    result = {"kind": "tracks-baselines", "set": "ETH/UCY, leave one scene out, folds of Social GAN", "unit": "m"}
    told = {name: of_folds(each) for name, each in found.items()}
    when = {"machine": machine(), **provenance(), "date": time.strftime("%Y-%m-%d")}
    write_result(f"{given.name}-baselines", {**result, "baselines": told, **when})
    for name, one in told.items():
        print(f"{name}: mean ADE {one['ade']:.3f}, FDE {one['fde']:.3f}", flush=True)


def arrays(files: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Pasts (n, 8, 2) and futures (n, 12, 2)."""
    records = [json.loads(line) for file in files for line in Path(file).read_text("utf-8").splitlines()]
    past, future = (np.array([[*one[part].values()] for one in records]).swapaxes(1, 2) for part in ("past", "future"))
    return past, future


def left_out(candidate: str, given: argparse.Namespace) -> dict[str, float]:
    """For each fold, the mean ADE of a candidate on the other scenes, when neither they nor its own were learned."""
    errors_on: dict[str, list[float]] = {fold: [] for fold in FOLDS}
    for number, one in enumerate(FOLDS):
        for other in FOLDS[number + 1 :]:
            score = inner(candidate, one, other, given)
            errors_on[one].append(score[other])
            errors_on[other].append(score[one])
    return {fold: statistics.fmean(each) for fold, each in errors_on.items()}


def inner(candidate: str, one: str, other: str, given: argparse.Namespace) -> dict[str, float]:
    """The ADE on two scenes of a model that has seen neither."""
    about = [candidate.replace(", ", "-").replace(" ", "-"), one, other]
    name = "-".join([given.name, "left-out", *about, digest(given.choosing_steps, CANDIDATES[candidate], given)])
    kept, run = FOLDER / f"{name}.json", Run(FOLDER / name)
    if kept.exists():
        return read_record(kept)
    train_files, valid_files = (
        tuple(file for file in files_of(one, split) if file in files_of(other, split)) for split in ("train", "val")
    )
    learn(run, train_files, valid_files, CANDIDATES[candidate], 1, given.choosing_steps, given)
    pipeline = Pipeline.load(run.path)
    score = {fold: errors(evaluate_tracks(pipeline, files_of(fold, "test")).metrics)["ade"] for fold in (one, other)}
    write_record(kept, score)
    shutil.rmtree(run.path)
    print(f"{name}: " + ", ".join(f"{fold} {value:.3f}" for fold, value in score.items()), flush=True)
    return score


def digest(steps: int, words: tuple[str, ...], given: argparse.Namespace) -> str:
    """What is kept is that of these settings, and of no others."""
    return hashlib.sha256(json.dumps([steps, SETTINGS, words, given.settings]).encode()).hexdigest()[:8]


def learn(
    run: Run,
    train_files: tuple[str, ...],
    valid_files: tuple[str, ...],
    words: tuple[str, ...],
    seed: int,
    steps: int,
    given: argparse.Namespace,
) -> None:
    composed = compose(
        "trajectories",
        train=train_files,
        valid=valid_files,
        overrides=[*SETTINGS, *words, *given.settings],
        settings={"training.seed": seed, "training.steps": steps},
    )
    if not status_of(run).get("finished"):
        finished = show(train(composed.settings, run.path, composed.given, preparing=preparing), run.path)
        if finished is None or finished.signal is not None:
            raise SystemExit("Interrupted; the same command goes on.")


def unpack(archive: Path) -> None:
    """Each file of tracks as JSON lines, a window a line, with its neighbours and without; made once."""
    if (FOLDER / "done").exists():
        return
    shutil.rmtree(FOLDER / "raw", ignore_errors=True)
    with tarfile.open(archive) as files:
        tables = [member for member in files if member.isfile() and member.name.endswith(".txt")]
        files.extractall(FOLDER / "raw", tables, filter="data")
    for file in sorted((FOLDER / "raw").glob("*/*/*.txt")):
        write_windows(file)
    (FOLDER / "done").touch()


def write_windows(file: Path) -> None:
    """Folds share their files, which are written once."""
    plain, beside = (FOLDER / f"{file.stem}{end}.jsonl" for end in ("", "-with"))
    if beside.exists():
        return
    drafts = [path.with_suffix(".draft") for path in (plain, beside)]
    with drafts[0].open("w") as alone, drafts[1].open("w") as among:
        for record in windows(np.loadtxt(file), file.stem):
            among.write(json.dumps(record) + "\n")
            del record["neighbours"]
            alone.write(json.dumps(record) + "\n")
    for draft, path in zip(drafts, (plain, beside), strict=True):  # the second says that both are whole
        draft.replace(path)


def files_of(fold: str, split: str, variant: str = "without") -> tuple[str, ...]:
    end = "-with.jsonl" if variant == "with" else ".jsonl"
    stems = sorted(file.stem for file in (FOLDER / "raw" / fold / split).glob("*.txt"))
    return tuple(str(FOLDER / f"{stem}{end}") for stem in stems)


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


def scored(fold: str, variant: str, candidate: str, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """Train and measure, unless that was done; the score is kept, and the run is not."""
    how = digest(given.steps, (*CANDIDATES[candidate], *VARIANTS[variant]), given)
    name = "-".join([given.name, fold, variant, str(seed), how])
    kept, run = FOLDER / f"{name}.json", Run(FOLDER / name)
    if kept.exists():
        return read_record(kept)
    train_files, valid_files, test = (files_of(fold, split, variant) for split in ("train", "val", "test"))
    words = (*CANDIDATES[candidate], *VARIANTS[variant])
    learn(run, train_files, valid_files, words, seed, given.steps, given)
    result = evaluate_tracks(Pipeline.load(run.path), test, beside=Beside(None))
    assert result.standing is not None
    (still,) = result.standing.rows  # without training data, the last velocity alone
    score = {
        **errors(result.metrics),
        "still": errors(still.metrics.values()),
        "test_windows": result.items,
        "test_sha256": fingerprint(test),
        "train_windows": read_record(run.data_record)["train"]["counts"]["pairs"],
        "steps": status_of(run)["step"],
        "seconds": round(seconds_of(run), 1),
    }
    write_record(kept, score)
    shutil.rmtree(run.path)
    print(f"{name}: ADE {score['ade']:.3f}, FDE {score['fde']:.3f}", flush=True)
    return score


def errors(measured: Iterable[Measured]) -> dict[str, float]:
    values = {one.name.partition(" ")[0]: one.value for one in measured}
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
