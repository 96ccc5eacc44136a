"""Pictures as a model reads them: from files, from memory, or as a file of captions names them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from dragoman.contracts import Answer, Hypothesis, Prediction
from dragoman.data.pictures import BadPictureError, Fit, Pixels, Size, pixels_of_object, read_picture
from dragoman.data.readers.captions import Captioned
from dragoman.data.readers.picture_places import Place
from dragoman.drawing.overlay import Overlay, shown_size
from dragoman.errors import ConfigError, DataError, choose
from dragoman.frontends import ImageGrid
from dragoman.models import EncoderDecoder, ModelConfig
from dragoman.pipeline.answering import prediction_of
from dragoman.pipeline.constraints import NO_CONSTRAINTS, Constraints
from dragoman.pipeline.rows import Row, Source

if TYPE_CHECKING:
    from dragoman.pipeline.pipeline import Pipeline

HELD = 64_000_000  # bytes of pixels that are read ahead


@dataclass(frozen=True)
class Picture:
    """A picture as a file of captions names it, and the tag that its answer is to have."""

    name: str
    place: Place | None = None  # None: a path
    tag: str = ""
    pixels: Pixels | None = field(default=None, compare=False)  # where it has been read before


def grid_of(model: ModelConfig) -> ImageGrid | None:
    """How a model reads pictures, if it does."""
    found = isinstance(model, EncoderDecoder) and isinstance(model.source, ImageGrid)
    return model.source if found else None  # type: ignore[union-attr, return-value]


def name_of(given: Any) -> str:
    if isinstance(given, Picture):
        return given.name
    return str(given) if isinstance(given, str | Path) else str(getattr(given, "filename", "") or "picture")


def read_pixels(given: Any, grid: ImageGrid) -> Pixels:
    """A path, a picture of pillow, an array, or what a file of captions names."""
    if isinstance(given, Picture) and given.pixels is not None:
        return given.pixels
    return sized_pixels(given, grid.size, grid.fit)


def sized_pixels(given: Any, size: Size, fit: Fit) -> Pixels:
    """The same in any size: what is drawn may be larger than what is read."""
    try:
        if isinstance(given, Picture) and given.place is not None:
            return given.place.pixels(given.name, size, fit)
        if isinstance(given, Picture | str | Path):
            return read_picture(name_of(given), size, fit)
        return pixels_of_object(given, size, fit)
    except BadPictureError as error:
        raise DataError(f"{name_of(given)} is {error}.") from error


def read_pictures(inputs: Sequence[Any], grid: ImageGrid) -> list[Source]:
    """A row of cells for each picture."""
    cells = list(range(grid.cells))
    return [Source([cells], [name_of(given)], pictures=(read_pixels(given, grid),)) for given in inputs]


def tagged(pipeline: "Pipeline", inputs: Sequence[Any], wanted: Sequence[Constraints], tag: str) -> list[Constraints]:
    """What every answer begins with: the tag of its picture, the one that is asked for, or the first that was taught;
    behind it what else it was to begin with."""
    known = {} if pipeline.captions is None else {name: name for name in pipeline.captions.tags}
    found = []
    for given, one in zip(inputs, wanted, strict=True):
        own = (given.tag if isinstance(given, Picture) else "") or tag
        if own and not known:
            raise ConfigError(f"This model was taught no tags, so that none can be asked for ('{own}'). Leave it out.")
        name = choose("tag", own, known) if own else next(iter(known), "")
        prefix = " ".join(part for part in (f"<{name}>" if name else "", one.prefix) if part)
        found.append(one if prefix == one.prefix else replace(one, prefix=prefix))
    return found


def given_by_tags(pipeline: "Pipeline", symbols: Int[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
    """Where the tags of captions stand, which are given and not said."""
    given = torch.zeros_like(symbols, dtype=torch.bool)
    tags = () if pipeline.captions is None else pipeline.captions.tags
    for tag in pipeline.target.encode([f"<{name}>" for name in tags]) if tags else ():
        begun = symbols[:, : len(tag)]
        if begun.shape[1] == len(tag):
            given[:, : len(tag)] |= (begun == begun.new_tensor(tag)).all(1, keepdim=True)
    return given


def without_tag(pipeline: "Pipeline", answer: Answer, wanted: Constraints) -> Answer:
    """The answer as the user sees it: its tag was asked for, and is no part of it."""
    if not wanted.prefix.startswith("<") or pipeline.captions is None or not pipeline.captions.tags:
        return answer
    tag = wanted.prefix.partition(" ")[0]
    symbols = len(pipeline.written.prefix(replace(NO_CONSTRAINTS, prefix=tag)))
    return replace(answer, predictions=tuple(cut(pipeline, one, symbols, tag) for one in answer.predictions))


def cut(pipeline: "Pipeline", prediction: Prediction, symbols: int, tag: str) -> Prediction:
    return replace(
        prediction,
        text=prediction.text.removeprefix(tag).strip(),
        tokens=prediction.tokens[symbols:],
        alignment=None if prediction.alignment is None else prediction.alignment[symbols:],
        token_log_probabilities=prediction.token_log_probabilities[symbols:],
        windows=None if prediction.windows is None else prediction.windows[symbols:],
    )


def align_pictures(pipeline: "Pipeline", inputs: Sequence[Any], targets: Sequence[str], tag: str) -> list[Answer]:
    """Given captions as if the model had said them: where each of their words looked, and how probable it was."""
    assert pipeline.grid is not None  # noqa: S101
    wanted = tagged(pipeline, inputs, [NO_CONSTRAINTS] * len(inputs), tag)
    read = read_pictures(inputs, pipeline.grid)
    found = []
    for given, source, limits, target in zip(inputs, read, wanted, targets, strict=True):
        if not target.strip():
            raise DataError(f"The caption of {name_of(given)} is empty: there is nothing to look at.")
        [tokens] = pipeline.target.encode([f"{limits.prefix} {target}".strip()])
        row = Row(source.rows[0], source.texts[0], 0, picture=source.pictures[0])
        forced = Hypothesis(tuple(tokens), 0.0, 0.0, finished=True)
        with torch.inference_mode():
            [[replayed]] = pipeline.replay([row], [[forced]])
        skipped = len(pipeline.written.prefix(limits)) if limits.prefix else 0
        total = replayed.log_probabilities[skipped:].sum().item()
        score = pipeline.rank(total, len(tokens) + 1 - skipped)
        best = prediction_of(pipeline, row.tokens, replace(forced, total=total, score=score), replayed)
        found.append(without_tag(pipeline, Answer(name_of(given), (best,)), limits))
    return found


def pictures_of(examples: Sequence[Captioned]) -> list[tuple[Picture, tuple[str, ...]]]:
    """Each picture once a tag, in order of first appearance, with all its captions."""
    found: dict[tuple[str, str], tuple[Picture, list[str]]] = {}
    for one in examples:
        for tag, text in one.captions:
            key = (one.place.key(one.picture), tag)
            found.setdefault(key, (Picture(one.picture, one.place, tag), []))[1].append(text)
    return [(picture, tuple(texts)) for picture, texts in found.values()]


def overlay_of(pipeline: "Pipeline", given: Any, answer: Answer) -> Overlay:
    """Where each word of an answer looked, upon its picture."""
    best, grid = answer.best, pipeline.grid
    assert grid is not None and best.alignment is not None  # noqa: S101, PT018
    words = (*best.tokens, "END")[: len(best.alignment)]
    pixels = sized_pixels(given, shown_size(grid.shape), grid.fit)
    logs = best.token_log_probabilities
    return Overlay(pixels, words, best.alignment, grid.cells_of_sides, answer.text, answer.source, logs)
