"""Models beside their baselines on the same items, one function per kind of data."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.baselines.clock import timed
from dragoman.baselines.frames import (
    MOST_NUMBERS,
    frame_label_baselines,
    frame_number_baselines,
    frame_tag_baselines,
    summary_of,
)
from dragoman.baselines.images import caption_baselines
from dragoman.baselines.labels import label_baselines, letters_in
from dragoman.baselines.ngrams import MOST_TOKENS, fitted
from dragoman.baselines.numbers import number_baselines
from dragoman.baselines.pairs import copied, pair_baselines
from dragoman.baselines.predicted import Baselines, Found, Predicted, Skipped
from dragoman.baselines.spans import span_baselines
from dragoman.baselines.standing import Standing, stand
from dragoman.baselines.tags import tag_baselines
from dragoman.baselines.texts import shortened
from dragoman.baselines.tracks import RidgeForecaster, onward, without_gaps
from dragoman.baselines.training_data import Beside, Known
from dragoman.data.labelling import number_in
from dragoman.data.readers.captions import Captions, read_captions_split
from dragoman.data.readers.clips import Clips, read_clips_split
from dragoman.data.readers.frames import Frames, read_frames_split
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.labelled import Labelled, read_labelled_split
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import Pairs, read_split
from dragoman.data.readers.questions import Question, Questions, read_questions_split
from dragoman.data.readers.series import Series, SeriesStream
from dragoman.data.readers.tagged import Tagged, read_tagged_split
from dragoman.data.readers.texts import Texts, read_texts
from dragoman.data.tokenizers import END
from dragoman.data.track_store import Cutting
from dragoman.data.tracking import Tracking, Windows
from dragoman.data.windows import Packing
from dragoman.errors import DataError
from dragoman.metrics import METRICS, count
from dragoman.metrics.displacement import average_of, by_track, distances, final_of
from dragoman.metrics.labels import LABEL_METRICS, count_together
from dragoman.metrics.measured import Counts, in_conversations
from dragoman.metrics.perplexity import count_symbols
from dragoman.models import DecoderOnly
from dragoman.pipeline import Pipeline
from dragoman.pipeline.pictures import Picture, sized_pixels
from dragoman.served import Evaluation

PERPLEXITY = "perplexity"
RIDGE = "ridge regression on the history"
SIDE = 24  # pixels along a side of images that are compared
MOST_IMAGES = 5_000  # that captions are taken from
MOST_SEQUENCES = 20_000  # of frames that are learned from
MOST_CLIPS = 2_000
MOST_TEST_NUMBERS = 2**27  # of the frames of test data, which are all in memory
MOST_WINDOWS = 50_000  # of tracks that are learned from


def decisive(names: Sequence[str]) -> str:
    """What labels, tags and numbers are told apart by."""
    return "span_f1" if "span_f1" in names else names[0]


def labels_beside(
    beside: Beside, pipeline: Pipeline, texts: Sequence[tuple[str, ...]], found: Any, true: Any, names: Sequence[str]
) -> Standing:
    """Labels, tags or numbers of texts."""
    return by_metrics(labels_predicted(beside, pipeline, texts), found, true, names, pipeline)


def labels_predicted(beside: Beside, pipeline: Pipeline, texts: Sequence[tuple[str, ...]]) -> Found:
    def compute(known: Known | None) -> Baselines:
        if known is None:
            return
        data, what = known.data, pipeline.known_labels.what
        if isinstance(data, Tagged):
            tagged = ((one.texts, one.labels) for one in read_tagged_split(data, "train", Problems()))
            sentences = known.bounded(tagged, lambda one: letters_in(one[0]) + letters_in(one[1]))
            yield from sentences.trained(tag_baselines(sentences.items, texts))
            return
        assert isinstance(data, Labelled)  # noqa: S101
        read = read_labelled_split(data, "train", pipeline.reader.two, Problems())
        some = known.bounded(((shortened(one.texts), one.labels[0]) for one in read), lambda one: letters_in(one[0]))
        if what == "labels":
            yield from some.trained(label_baselines(some.items, texts))
        else:
            numbers = [(text, number_in(label)) for text, label in some.items]
            good = [(text, number) for text, number in numbers if number is not None]
            yield from some.trained(number_baselines(good, texts))

    return beside.found(list(map(list, texts)), compute)


def by_metrics(found: Found, model: Any, true: Any, names: Sequence[str], pipeline: Pipeline) -> Standing:
    """Whatever is measured as labels are."""
    rows = [model, *(one.predictions for one in found.predicted)]
    counts = {name: count_together(name, rows, true) for name in names}
    counted = [{name: counts[name][place] for name in names} for place in range(len(rows))]
    name = decisive(names)
    return stand(found, counted, name, LABEL_METRICS[name].higher_is_better, pipeline.settings.evaluation.resamples)


def spans_beside(
    beside: Beside, pipeline: Pipeline, questions: Sequence[Question], found: Sequence[str], names: Sequence[str]
) -> Standing:
    """Answers in documents; F1 tells them apart."""
    asked = [(one.question, one.document) for one in questions]

    def compute(known: Known | None) -> Baselines:
        if known is None:
            return
        assert isinstance(known.data, Questions)  # noqa: S101
        read = read_questions_split(known.data, "train", Problems())
        some = known.bounded(((one.question, one.document, one.references[0]) for one in read), letters_in)
        yield from some.trained(span_baselines(some.items, asked))

    true = [one.references for one in questions]
    ordered = sorted(names, key=lambda name: name != "f1")
    return by_metrics(beside.found(asked, compute), list(found), true, ordered, pipeline)


def frames_beside(
    beside: Beside, pipeline: Pipeline, told: Sequence[Any], found: Any, true: Any, names: Sequence[str]
) -> Standing:
    """Sequences of frames; `told` has the features of each (features_of), or none where they are too many."""
    large = f"Skipped the baselines: the test data has more than {MOST_TEST_NUMBERS:,} numbers."
    predicted = frames_predicted(beside, pipeline, told) if told else Found((), large)
    return by_metrics(predicted, found, true, names, pipeline)


def frames_predicted(beside: Beside, pipeline: Pipeline, told: Sequence[Any]) -> Found:
    what = pipeline.known_labels.what

    def compute(known: Known | None) -> Baselines:
        if known is None:
            return
        data, most = known.data, MOST_CLIPS if isinstance(known.data, Clips) else MOST_SEQUENCES
        read = ((features_of(one, what), one.labels) for one in training_series(pipeline, data))
        largest = MOST_NUMBERS * (4 if what == "tags" else 1)  # of many frames some are drawn
        rows = known.bounded(read, lambda one: int(one[0].size), most, largest)
        if what == "tags":
            yield from rows.trained(frame_tag_baselines(rows.items, told))
        elif what == "numbers":
            numbers = [(row, number_in(labels[0])) for row, labels in rows.items]
            good = [(row, one) for row, one in numbers if one is not None]
            yield from rows.trained(frame_number_baselines(good, told))
        else:
            yield from rows.trained(frame_label_baselines([(row, one[0]) for row, one in rows.items], told))

    digest = hashlib.sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in told)).hexdigest()
    return beside.found([digest, what], compute)


def features_of(one: Series, what: str) -> Any:
    """The frames of a sequence as baselines read them."""
    frames = small(np.asarray(one.frames))
    if what != "tags":
        return summary_of(frames)
    return np.nan_to_num(frames.reshape(len(frames), -1).astype(np.float32))


def small(frames: Any) -> Any:
    """Pictures (steps, height, width, colors) with one number for each of eight by eight parts."""
    if frames.ndim != 4:
        return frames
    steps, height, width, _ = frames.shape
    rows, columns = (max(1, size // 8) for size in (height, width))
    cut = frames[:, : rows * 8 if height >= 8 else height, : columns * 8 if width >= 8 else width].astype(np.float32)
    if height >= 8 and width >= 8:
        cut = cut.reshape(steps, 8, rows, 8, columns, cut.shape[-1]).mean((2, 4, 5))
    return cut.reshape(steps, -1) / 255


def training_series(pipeline: Pipeline, data: object) -> SeriesStream:
    what, reader = pipeline.known_labels.what, pipeline.frame_reader
    if isinstance(data, Clips):
        return reader.seen(read_clips_split(data, "train", what, Problems()), Problems())
    assert isinstance(data, Frames)  # noqa: S101
    named = data.changed(features=tuple(pipeline.known_labels.reading.get("features", ())))
    return read_frames_split(named, "train", what, Problems())


@dataclass(frozen=True)
class Scores:
    """Log-probabilities of all references, their tokens, and the conversations that sources belong to."""

    logs: Sequence[float]
    tokens: Sequence[int]
    conversations: Sequence[str] = ()


def pairs_beside(
    beside: Beside,
    pipeline: Pipeline,
    evaluation: Evaluation,
    items: Sequence[tuple[str, tuple[str, ...]]],
    texts: Sequence[str],
    scores: Scores,
) -> Standing:
    """Predicted texts; of replies in dialogues perplexity, since many are good."""
    references = [known for _, known in items]
    found = pairs_predicted(beside, pipeline, [source for source, _ in items], references)

    def likely(logs: Sequence[float]) -> Counts:
        of_each = [one for one, known in zip(scores.conversations, references, strict=False) for _ in known]
        return in_conversations(count_symbols(logs, scores.tokens), of_each)

    def counted(one: Predicted) -> dict[str, Counts]:
        if one.name == "ngram":
            return {PERPLEXITY: likely(one.predictions)}
        return texts_counted(evaluation, one.predictions, references, scores.conversations)

    model = texts_counted(evaluation, texts, references, scores.conversations) | {PERPLEXITY: likely(scores.logs)}
    name = PERPLEXITY if pipeline.talks or not evaluation.metrics else evaluation.metrics[0]
    higher = name in METRICS and METRICS[name].higher_is_better
    return stand(found, [model, *map(counted, found.predicted)], name, higher, evaluation.resamples)


def pairs_predicted(
    beside: Beside, pipeline: Pipeline, sources: Sequence[str], references: Sequence[tuple[str, ...]]
) -> Found:
    """Of dialogues the log-probabilities of `references` under n-grams as well."""

    def compute(known: Known | None) -> Baselines:
        if known is None:
            yield from () if pipeline.talks else (copied(sources),)
            return
        assert isinstance(known.data, Pairs)  # noqa: S101
        read = ((one.source, one.target) for one in read_split(known.data, "train", Problems()))
        pairs = known.bounded(read, letters_in)
        yield from pairs.trained(pair_baselines(pairs.items, sources, pipeline.talks))
        if pipeline.talks:
            ngrams = ngrams_of_targets(pipeline, [target for _, target in pairs.items], references)
            yield from pairs.trained([ngrams])

    talk = [list(map(list, references)), pipeline.target.hash] if pipeline.talks else []
    return beside.found([list(sources), *talk], compute)


def texts_counted(
    evaluation: Evaluation, texts: Sequence[str], references: Sequence[tuple[str, ...]], conversations: Sequence[str]
) -> dict[str, Counts]:
    return {
        name: in_conversations(count(name, list(texts), references, evaluation.tokenise), conversations)
        for name in evaluation.metrics
    }


def ngrams_of_targets(pipeline: Pipeline, targets: Sequence[str], references: Sequence[tuple[str, ...]]) -> Predicted:
    """The log-probability of every reference, its end counted, under n-grams of the model's own tokens."""
    model = fitted(token_rows(pipeline, targets), pipeline.target.size)
    rows = token_rows(pipeline, [text for known in references for text in known])
    ends = np.cumsum([len(row) for row in rows])[:-1]
    logs = [float(one.sum()) for one in np.split(model.log_probabilities(rows), ends)]
    return Predicted("ngram", f"interpolated {model.order}-gram of tokens", logs)


def token_rows(pipeline: Pipeline, texts: Sequence[str]) -> list[Any]:
    return [np.array([*row, END]) for row in pipeline.target.encode(list(texts))]


def captions_beside(
    beside: Beside,
    pipeline: Pipeline,
    evaluation: Evaluation,
    items: Sequence[tuple[Picture, tuple[str, ...]]],
    texts: Sequence[str],
) -> Standing:
    """Captions, beside that of the nearest training image."""
    evaluation = evaluation.changed(metrics=evaluation.metrics or ("exact_match",))
    references, name = [known for _, known in items], evaluation.metrics[0]
    found = captions_predicted(beside, pipeline, [picture for picture, _ in items])
    rows = [texts, *(one.predictions for one in found.predicted)]
    counted = [texts_counted(evaluation, row, references, ()) for row in rows]
    return stand(found, counted, name, METRICS[name].higher_is_better, evaluation.resamples)


def captions_predicted(beside: Beside, pipeline: Pipeline, pictures: Sequence[Picture]) -> Found:
    assert pipeline.grid is not None  # noqa: S101
    fit, tags = pipeline.grid.fit, [picture.tag for picture in pictures]
    pixels = np.stack([np.asarray(sized_pixels(picture, SIDE, fit)) for picture in pictures])

    def compute(known: Known | None) -> Baselines:
        if known is None:
            return
        assert isinstance(known.data, Captions)  # noqa: S101
        read = read_captions_split(known.data, "train", Problems())
        train = known.bounded(read, lambda one: sum(map(letters_in, one.captions)), MOST_IMAGES)
        images, captions = [], []
        for one in timed(train.items):
            try:
                images.append(np.asarray(sized_pixels(Picture(one.picture, one.place, ""), SIDE, fit)))
            except DataError:
                continue  # training has told of it
            captions.append(dict(reversed(one.captions)))
        yield from train.trained(caption_baselines(images, captions, pixels, tags))

    return beside.found([hashlib.sha256(pixels.tobytes()).hexdigest(), tags], compute)


def texts_beside(
    beside: Beside, pipeline: Pipeline, rows: Sequence[Any], model: Sequence[float], resamples: int
) -> Standing:
    """A language model beside n-grams over its own tokens; `rows` are windows, each behind the token before it, and
    `model` the log-probability of each."""
    tokens = [len(row) - 1 for row in rows]

    def compute(known: Known | None) -> Baselines:
        if known is None:
            return
        train, cut = training_tokens(pipeline, known)
        ngrams = fitted([train], pipeline.target.size)
        logs, ends = ngrams.log_probabilities(rows), np.cumsum([len(row) for row in rows])
        totals = [float(one[1:].sum()) for one in np.split(logs, ends[:-1])]
        part = f", trained on the first {len(train):,} tokens" if cut else ""
        yield Predicted("ngram", f"interpolated {ngrams.order}-gram of tokens{part}", totals)

    digest = hashlib.sha256(b"".join(np.asarray(row, np.int64).tobytes() for row in rows)).hexdigest()
    found = beside.found([digest, pipeline.target.hash], compute)
    counted = [
        {PERPLEXITY: count_symbols(logs, tokens)} for logs in (model, *(one.predictions for one in found.predicted))
    ]
    return stand(found, counted, PERPLEXITY, False, resamples)


def training_tokens(pipeline: Pipeline, known: Known) -> tuple[Any, bool]:
    """The first tokens of the training text, in order, and whether there are more."""
    model, found, size = pipeline.settings.model, [], 0
    assert isinstance(known.data, Texts) and isinstance(model, DecoderOnly)  # noqa: S101, PT018
    pieces = read_texts(known.data.files("train"), model.documents, Problems())
    for chunk in timed(Packing(pipeline.target, 1).blocks(pieces)):
        found.append(np.asarray(chunk.target, np.int64))
        size += len(found[-1])
        if size > MOST_TOKENS:
            break
    if not found:
        raise DataError("no token of the training data can be read.")
    return np.concatenate(found)[:MOST_TOKENS], size > MOST_TOKENS


def tracks_beside(
    beside: Beside, pipeline: Pipeline, windows: Sequence[Windows], apart: Sequence[Any], resamples: int
) -> Standing:
    """Forecasts beside the last velocity and ridge regression; ADE tells them apart."""
    tracking = pipeline.forecasting.tracking
    size, unit = len(tracking.predicts), f" [{tracking.unit}]" if tracking.unit else ""
    names = [name for some in windows for name in some.names]
    truths = [row for some in windows for row in some.future[..., :size]]
    found = tracks_predicted(beside, pipeline, windows)

    def counted(far: Sequence[Any]) -> dict[str, Counts]:
        return {f"ade{unit}": by_track(average_of(far), names), f"fde{unit}": by_track(final_of(far), names)}

    rows = [
        [distances(points_of(said) - true) for said, true in zip(one.predictions, truths, strict=True)]
        for one in found.predicted
    ]
    return stand(found, [counted(apart), *map(counted, rows)], f"ade{unit}", False, resamples)


def tracks_predicted(beside: Beside, pipeline: Pipeline, windows: Sequence[Windows]) -> Found:
    tracking = pipeline.forecasting.tracking
    size = len(tracking.predicts)

    def compute(known: Known | None) -> Baselines:
        pasts = [(some.past[..., :size], some.future.shape[1]) for some in windows]
        going = [way for past, steps in pasts for way in onward(past, steps).tolist()]
        yield Predicted("velocity", "last velocity", cleaned(going))
        if known is None:
            return
        ridge = fitted_ridge(pipeline, known)
        if isinstance(ridge, Skipped):
            yield ridge
            return
        ridged = [way for past, steps in pasts for way in ridge.predict(past, steps).tolist()]
        part = f", trained on the first {ridge.windows:,} windows" if ridge.windows >= most_windows(tracking) else ""
        yield Predicted("ridge", f"{RIDGE}{part}", cleaned(ridged))

    digest = hashlib.sha256(b"".join(np.ascontiguousarray(some.past).tobytes() for some in windows)).hexdigest()
    return beside.found([digest, [some.future.shape[1] for some in windows]], compute)


def points_of(said: Any) -> Any:
    """Points (steps, features) of a prediction, 0 where nothing of a feature was known."""
    return np.nan_to_num(np.array(said, np.float64))


def cleaned(points: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(points, list):
        return [cleaned(one) for one in points]
    return None if points != points else points


def fitted_ridge(pipeline: Pipeline, known: Known) -> RidgeForecaster | Skipped:
    """Fitted to histories and futures as long as the settings say."""
    data, tracking = known.data, pipeline.forecasting.tracking
    assert isinstance(data, Futures)  # noqa: S101
    size, lengths = len(tracking.predicts), (tracking.past, tracking.future)
    if tracking.past < 2:
        return Skipped(RIDGE, "a history of one step has no velocity")
    if size * tracking.past * size * tracking.future > MOST_NUMBERS:
        return Skipped(RIDGE, "history and future have too many numbers")
    pasts, futures, left = [], [], most_windows(tracking)
    for some in timed(Cutting(data, tracking).stream("train")):
        if left <= 0:
            break
        if (some.past.shape[1], some.future.shape[1]) == lengths:
            past, future = some.past[..., :size], some.future[..., :size]
            whole = np.flatnonzero(without_gaps(past, future))[:left]
            pasts.append(past[whole])
            futures.append(future[whole])
            left -= len(whole)
    if not sum(map(len, pasts)):
        return Skipped(RIDGE, f"no training window has {lengths[0]} + {lengths[1]} steps without gaps")
    return RidgeForecaster().fit(np.concatenate(pasts), np.concatenate(futures))


def most_windows(tracking: Tracking) -> int:
    """That ridge regression is trained on."""
    steps = tracking.past + tracking.future
    return max(1, min(MOST_WINDOWS, MOST_NUMBERS // (len(tracking.predicts) * steps)))
