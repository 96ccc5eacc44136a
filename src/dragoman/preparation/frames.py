"""Frames with labels made ready for training: hashed, labels and scale learned, encoded once, found again."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.data.encoding import Counts
from dragoman.data.frames import FrameEncoding, Lay, NumberFrames, PictureFrames, build_frames
from dragoman.data.labelling import Labelling, What, learn_labelling, usable
from dragoman.data.readers.clips import Clips, read_clips_split
from dragoman.data.readers.clips import layout_of as layout_of_clips
from dragoman.data.readers.frames import Frames, label_field_of, read_frames_split, refuse_other_units, wanted_of
from dragoman.data.readers.frames import layout_of as layout_of_frames
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.picture_places import advice
from dragoman.data.readers.series import Series, SeriesStream
from dragoman.data.readers.tracks import known_features
from dragoman.data.scales import Moments, Scale
from dragoman.data.store import Store
from dragoman.data.survey import Summary
from dragoman.data.tokenizers import Tokenizer
from dragoman.errors import DataError
from dragoman.frontends import ImageGrid
from dragoman.models import EncoderOnly
from dragoman.preparation.captions import same_pictures
from dragoman.preparation.corpora import (
    TRAINED,
    Corpora,
    Judge,
    Preparing,
    data_record,
    finish,
    judge_examples,
    known_data,
    known_fact,
    prepare_split,
    silent,
)
from dragoman.preparation.labels import WHAT, told
from dragoman.runs import Run
from dragoman.storage import make_folder

READING = ("kind", "format", "id_field", "features", "clip_field", "picture_field", "label_field", "missing")


def prepare_frames(
    run: Run,
    data: Frames | Clips,
    model: EncoderOnly,
    preparing: Preparing = silent,
    report: Callable[[str], None] = lambda message: None,
    labels: Labelling | None = None,
    scale: Scale | None = None,
    check: Callable[[Mapping[str, Tokenizer]], object] = lambda tokenizers: None,
) -> Corpora:
    """The labels, the scale of numbers (learned, or given) and the encoded sequences of a run; data that changed since
    it was begun is refused, damage is mended."""
    known, before = data_record(run, data), known_data(run)
    make_folder(run.tokenizers)
    labelling, scale = prepare_facts(run, data, model, before, labels, scale, preparing)
    check({})
    if isinstance(data, Frames) and scale is not None:
        data = data.changed(features=scale.names)  # in this order, whatever else there is
    stores, summary = {}, dict(before.get("summary", {}))
    for name in TRAINED:
        if data.has(name):
            encoding = FrameEncoding(lay_of(model, scale), labelling, data.max_length, data.longer)
            digest = known[name]["sha256"]
            stores[name] = prepare_series(run, data, name, encoding, digest, preparing, summary, report)
            if stores[name].gallery is not None:
                known[name]["pictures"] = same_pictures(stores[name], before.get(name, {}).get("pictures"))
    known |= {"tokenizers": {}, "labels": labelling.hash, "summary": summary}
    known |= {} if scale is None else {"scale": scale.hash}
    known["formats"] = [f"{file}: {layout_of(file, data)}" for name in TRAINED for file in data.files(name)]
    finish(run, known, stores)
    formats = tuple(dict.fromkeys(known["formats"]))
    return Corpora(stores["train"], stores.get("valid"), {}, summary, formats, labels=labelling, scale=scale)


def lay_of(model: EncoderOnly, scale: Scale | None) -> Lay:
    if scale is not None:
        return NumberFrames(scale)
    assert isinstance(model.source, ImageGrid)  # noqa: S101 (numbers have a scale)
    return PictureFrames(model.source.size, model.source.fit)


def layout_of(file: str, data: Frames | Clips) -> str:
    return layout_of_clips(file, data) if isinstance(data, Clips) else layout_of_frames(file, data)


def read_split(data: Frames | Clips, name: SplitName, what: What, problems: Problems) -> SeriesStream:
    if isinstance(data, Clips):
        return read_clips_split(data, name, what, problems)
    return read_frames_split(data, name, what, problems)


def prepare_facts(
    run: Run,
    data: Frames | Clips,
    model: EncoderOnly,
    before: Mapping[str, Any],
    labels: Labelling | None,
    scale: Scale | None,
    preparing: Preparing,
) -> tuple[Labelling, Scale | None]:
    """What the files have taught, found, given by the model that is started from, or learned in one reading."""
    paths = run.tokenizers / "labels.json", run.tokenizers / "scale.json"
    if "labels" in before:
        found = known_fact(paths[0], before["labels"], Labelling.load)
        return found, known_fact(paths[1], before["scale"], Scale.load) if "scale" in before else None
    reading = {name: value for name, value in data.model_dump(mode="json").items() if name in READING}
    made: tuple[Labelling, Scale | None]
    if labels is not None:
        features = {} if scale is None else {"features": list(scale.names)}
        made = replace(labels, reading=reading | features), scale
    elif isinstance(data, Clips):
        what = WHAT[model.head.kind]
        series = told(read_clips_split(data, "train", what, Problems()), "labels: clips read", preparing)
        made = learn_labelling(what, series, reading), None
    else:
        made = learned_from(data, model, reading, preparing)
    made[0].write(paths[0])
    if made[1] is not None:
        made[1].write(paths[1])
    return made


def learned_from(
    data: Frames, model: EncoderOnly, reading: Mapping[str, Any], preparing: Preparing
) -> tuple[Labelling, Scale]:
    what, first = WHAT[model.head.kind], data.files("train")[0]
    features = known_features(first, wanted_of(data, label_field_of(first, data)))
    if not features:
        raise DataError(f"{first} has no features beside its labels. Name columns of numbers: data.features=[…].")
    moments = Moments.of(len(features))

    def seen() -> Iterator[Series]:
        series = read_frames_split(data, "train", what, Problems())
        for one in told(series, "labels: sequences read", preparing):
            assert not isinstance(one.frames, tuple)  # noqa: S101 (these are no pictures)
            moments.add(one.frames)
            yield one

    names = [feature.name for feature in features]
    labelling = learn_labelling(what, seen(), {**reading, "features": names})
    return labelling, moments.scale(features)


def prepare_series(
    run: Run,
    data: Frames | Clips,
    name: SplitName,
    encoding: FrameEncoding,
    digest: str,
    preparing: Preparing,
    summary: dict[str, Summary],
    report: Callable[[str], None],
) -> Store:
    """The encoded sequences of a split, found or made."""
    settings = (*READING, "hold_out", "pictures")
    reading = [value for setting, value in data.model_dump().items() if setting in settings]
    reading += [data.hold_out_test] if data.holds_out_test else []
    depends_on = [digest, encoding.labelling.hash, encoding.lay.hash, encoding.longest, encoding.longer, *reading]

    def build(folder: Path, signature: str, problems: Problems, judge: Judge) -> Store:
        if isinstance(data, Frames) and isinstance(encoding.lay, NumberFrames):
            refuse_other_units(data.files(name), data, encoding.lay.scale.features)
        series = read_split(data, name, encoding.labelling.what, problems)
        known = usable(series, encoding.labelling, problems)
        return build_frames(
            folder, known, encoding, signature, problems, judge, partial(preparing, f"{name} sequences")
        )

    def judge(counts: Counts, problems: Problems) -> None:
        judge_examples(counts, problems, data.max_bad, partial(nothing_left, data=data))

    return prepare_split(run, name, depends_on, summary, report, build, judge)


def nothing_left(counts: Counts, problems: Problems, data: Frames | Clips) -> DataError:
    if counts.dropped_long:
        return DataError(
            f"No sequence is left: {counts.dropped_long:,} are longer than data.max_length = {data.max_length} frames. "
            "Raise it, or set data.longer=truncate."
        )
    if data.holds_out and not problems.count:
        return DataError(
            f"data.hold_out = {data.hold_out:g} leaves no sequence on one side. Change it, or give validation data of "
            "its own with --valid."
        )
    if not problems.count:
        return DataError("No sequence is left: the files hold a header, or blank lines, and no frames below.")
    return DataError(
        f"Not one of {problems.lines:,} lines is a part of a sequence; nothing was done.\n{problems.summary()}"
        f"{advice(problems)}"
    )
