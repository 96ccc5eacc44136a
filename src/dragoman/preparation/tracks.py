"""Tracks made ready for training: hashed, cut into pasts and futures, their scale learned, encoded once."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.data.encoding import Counts
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.track import Feature, Wanted
from dragoman.data.readers.tracks import described, differing, kind_of, known_features, refuse_units_other_than
from dragoman.data.store import Store
from dragoman.data.survey import Summary, finding
from dragoman.data.track_store import Cutting, build_tracks
from dragoman.data.tracking import Tracking, Windows, learn_tracking, tracking_of
from dragoman.errors import DataError
from dragoman.pipeline.loading import TRACKS
from dragoman.preparation.corpora import (
    TRAINED,
    Corpora,
    Judge,
    Preparing,
    begin,
    data_record,
    finish,
    judge_examples,
    known_data,
    known_fact,
    prepare_split,
    silent,
)
from dragoman.runs import Run


def prepare_tracks(
    run: Run,
    data: Futures,
    preparing: Preparing = silent,
    report: Callable[[str], None] = lambda message: None,
    check: Callable[[Tracking], object] = lambda tracking: None,
    given: Tracking | None = None,
) -> Corpora:
    """The scale (learned, or that of the model that is started from) and the encoded examples of a run; data that
    changed since it was begun is refused, damage is mended."""
    refuse_without_neighbours(data)
    known, before = data_record(run, data), known_data(run)
    begin(run)
    tracking = prepare_tracking(run, data, before.get("tracks"), given, preparing, check)
    stores, summary = {}, dict(before.get("summary", {}))
    for name in TRAINED:
        if data.has(name):
            digest = known[name]["sha256"]
            stores[name] = prepare_windows(run, data, name, tracking, digest, preparing, summary, report)
    known |= {"tracks": tracking.hash, "summary": summary}
    files = dict.fromkeys(file for name in TRAINED for file in data.files(name))
    known["formats"] = [f"{file}: {described(file, tracking.wanted())}" for file in files]
    finish(run, known, stores)
    return Corpora(stores["train"], stores.get("valid"), {}, summary, tuple(known["formats"]), tracking=tracking)


def refuse_without_neighbours(data: Futures) -> None:
    """A table is read track by track, so that nobody knows what else was there at the same time."""
    splits: tuple[SplitName, ...] = ("train", "valid")
    files = [file for name in splits for file in data.files(name)] if data.neighbours else []
    for file in files:
        if (kind := kind_of(file, data.format)) != "jsonl":
            raise DataError(
                f"data.neighbours = {data.neighbours} reads tracks beside each, and {file} ({kind.upper()}) has none. "
                "Give JSON lines, such as "
                '{"past": {"x": [1, 2]}, "future": {"x": [3]}, "neighbours": [{"x": [4, 5]}]}, '
                "or set data.neighbours = 0."
            )


def features_of(data: Futures) -> tuple[Feature, ...]:
    """As the first file names them; those that settings name must be there."""
    file = data.files("train")[0]
    named = (*data.predicts, *data.reads, *data.context)
    wanted = Wanted(data.format, data.id_field, named if data.predicts else (), (), data.missing)
    features = known_features(file, wanted)
    if named and not data.predicts:  # what is left is predicted, but what is named must be there as well
        known_features(file, Wanted(data.format, data.id_field, named, (), data.missing))
    if not features or not {one.name for one in features} - {*data.reads, *data.context}:
        raise DataError(f'{file} has no feature that could be predicted. Name one: data.predicts=["x"].')
    return features


def prepare_tracking(
    run: Run,
    data: Futures,
    digest: str | None,
    given: Tracking | None,
    preparing: Preparing,
    check: Callable[[Tracking], object],
) -> Tracking:
    """What is told of tracks: found, given, or learned."""
    path = run.tokenizers / TRACKS
    if digest is not None:
        found = known_fact(path, digest, Tracking.load)
        check(found)
        return found
    plain = tracking_of(data, features_of(data))
    check(plain)
    for name in TRAINED:
        if data.has(name):  # before anything is learned, which may take long
            refuse_units_other_than(plain.known, data.files(name), plain.wanted())
    if given is None:
        learned = learn_tracking(plain, told(Cutting(data, plain).stream("train"), preparing), data.turns != "none")
    else:
        refuse_other(given, plain)
        learned = replace(plain, scale=given.scale)  # which the weights belong to; how files are read is said anew
    learned.write(path)
    return learned


def how_read(tracking: Tracking) -> tuple[object, ...]:
    return tracking.neighbours, tracking.frame, tracking.position


def and_position(tracking: Tracking) -> str:
    return ", data.position = true" if tracking.position else ""


def refuse_other(given: Tracking, now: Tracking) -> None:
    """A model that is started from knows its own features, and no others."""
    if given.names != now.names or how_read(given) != how_read(now):
        raise DataError(
            f"The model that is started from knows the features {', '.join(given.names)} (data.frame = "
            f"'{given.frame}', data.neighbours = {given.neighbours}{and_position(given)}), and the data has "
            f"{', '.join(now.names)} ('{now.frame}', {now.neighbours}{and_position(now)}). Give data of the same, or "
            "train without --from."
        )
    if other := differing(given.known, now.known):
        raise DataError(
            f"The model that is started from knows {other[0]}, and the data has {other[1]}. Bring it to the same unit, "
            "or train without --from."
        )


def told(windows: Iterator[Windows], preparing: Preparing) -> Iterator[Windows]:
    seen = 0
    for some in windows:
        seen += len(some)
        preparing("scale: examples read", seen)
        yield some


def prepare_windows(
    run: Run,
    data: Futures,
    name: SplitName,
    tracking: Tracking,
    digest: str,
    preparing: Preparing,
    summary: dict[str, Summary],
    report: Callable[[str], None],
) -> Store:
    """The encoded pasts and futures of a split, found or made; tracks that gave none are told."""
    depends_on: list[Any] = [digest, tracking.hash, data.stride, data.hold_out if data.holds_out else 0]
    depends_on += [data.hold_out_test] if data.holds_out_test else []
    depends_on += ["path"] if tracking.has_gaps else []
    cutting = Cutting(data, tracking)

    def build(folder: Path, signature: str, problems: Problems, judge: Judge) -> Store:
        cutting.problems = problems
        progress = partial(preparing, f"{name} examples")
        return build_tracks(folder, cutting.stream(name), tracking, signature, problems, judge, progress=progress)

    def judge(counts: Counts, problems: Problems) -> None:
        judge_examples(counts, problems, data.max_bad, lambda counts, problems: nothing_left(cutting, data))

    store = prepare_split(run, name, depends_on, summary, report, build, judge)
    if cutting.tracks:
        summary[name]["findings"] += [
            finding(reason, count, cutting.tracks, cutting.places[reason]) for reason, count in cutting.left_out.items()
        ]
        summary[name]["tracks"] = cutting.tracks
    return store


def nothing_left(cutting: Cutting, data: Futures) -> DataError:
    if cutting.left_out:
        reasons = " and ".join(f"{count:,} × {reason}" for reason, count in cutting.left_out.items())
        return DataError(
            f"No example is left of {cutting.tracks:,} tracks: {reasons}. Lower data.past or data.future, or give "
            "longer tracks."
        )
    if data.holds_out and not cutting.problems.count:
        return DataError(
            f"data.hold_out = {data.hold_out:g} leaves no track on one side. Change it, or give validation data of its "
            "own with --valid."
        )
    return DataError(
        f"Not one of {cutting.problems.lines:,} lines is a part of a track; nothing was done.\n"
        f"{cutting.problems.summary()}"
    )
