"""How good captions are: on validation data while a model is trained, on test data with intervals, tag by tag."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dragoman.baselines.training_data import Beside
from dragoman.config import Document, validate
from dragoman.data.pictures import BadPictureError
from dragoman.data.readers.captions import Captioned, Captions, read_captions, read_captions_split
from dragoman.data.readers.corpora import files_of
from dragoman.data.readers.example import leave_out
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.picture_places import advice
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.beside import captions_beside
from dragoman.evaluation.pairs import Evaluated, chosen_metrics, measure_all
from dragoman.metrics import Measured, measure
from dragoman.pipeline import Pipeline
from dragoman.pipeline.pictures import Picture, pictures_of
from dragoman.watching import Watch, unwatched, watched

Items = list[tuple[Picture, tuple[str, ...]]]


@dataclass(frozen=True)
class EvaluatedCaptions:
    """A model that describes pictures, measured on data."""

    whole: Evaluated
    pictures: tuple[Picture, ...]
    references: tuple[tuple[str, ...], ...]
    by_tag: Mapping[str, tuple[Measured, ...]]  # without perplexity; empty where there are no tags


def validated_pictures(data: Captions, most: int) -> Items:
    """Those that are described at a validation, without the pictures that data.max_bad lets pass."""
    problems = Problems()
    good = readable(read_captions_split(data, "valid", problems), problems)
    if not (items := pictures_of(list(islice(good, most)))[:most]):
        raise DataError(f"No picture to validate on can be read.\n{problems.summary()}")
    return items


def readable(captioned: Iterator[Captioned], problems: Problems) -> Iterator[Captioned]:
    """Without the pictures that cannot be read, which are told of."""
    for one in captioned:
        try:
            one.place.pixels(one.picture, 1)
        except BadPictureError as error:
            leave_out(problems, one.line, f"the picture is {error}")
        else:
            yield one


def read_items(pipeline: Pipeline, files: Sequence[str], reading: Mapping[str, Any]) -> tuple[Items, Problems]:
    """Pictures with all their captions; `reading` takes the place of how the run's own files were read."""
    if pipeline.captions is None:
        raise ConfigError("This model describes no pictures: model.source.kind is not 'image_grid'.")
    how, problems = {**pipeline.captions.reading, **reading}, Problems()
    data = validate(Captions, how, Document(how, "data"))
    plain = files_of(files)
    items = pictures_of(list(readable(read_captions(data, plain, problems), problems)))
    if not items:
        named = " and ".join(map(str, files))
        raise DataError(f"There is no picture with a caption in {named}.\n{problems.summary()}{advice(problems)}")
    return items, problems


def evaluate_captions(
    pipeline: Pipeline,
    files: Sequence[str],
    metrics: tuple[str, ...] = (),
    reading: Mapping[str, Any] | None = None,
    beam: int | None = None,
    tokenise: str | None = None,
    watch: Watch = unwatched,
    beside: Beside | None = None,
) -> EvaluatedCaptions:
    """Describe every picture once a tag and compare with all its captions; perplexity is over every caption."""
    chosen = chosen_metrics(pipeline.settings.evaluation, metrics, tokenise)
    items, problems = read_items(pipeline, files, reading or {})
    started_at = time.monotonic()
    pictures, references = [picture for picture, _ in items], [texts for _, texts in items]
    answers = list(watched(pipeline.stream(pictures, beam), "described", len(items), watch))
    seconds, texts = time.monotonic() - started_at, tuple(answer.text for answer in answers)
    pairs = ((picture, text) for picture, known in items for text in known)
    scores = list(watched(pipeline.score(pairs), "scored", sum(map(len, references)), watch))
    values = measure_all(chosen, texts, references, scores)
    unfinished = sum(not answer.best.finished for answer in answers)
    standing = None if beside is None else captions_beside(beside, pipeline, chosen, items, texts)
    whole = Evaluated(len(items), len(scores), problems, unfinished, (), seconds, values, texts, 0.0, standing)
    by_tag = {}
    for tag in dict.fromkeys(picture.tag for picture in pictures if picture.tag):
        own = [number for number, picture in enumerate(pictures) if picture.tag == tag]
        said, true = [texts[n] for n in own], [references[n] for n in own]
        measured = measure(chosen.metrics, said, true, resamples=chosen.resamples, tokenise=chosen.tokenise)
        by_tag[tag] = tuple(measured)
    return EvaluatedCaptions(whole, tuple(pictures), tuple(references), by_tag)
