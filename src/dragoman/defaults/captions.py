"""Settings of models that describe images, chosen from a sample of the images and their captions."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dragoman.data.captions import with_tag
from dragoman.data.chunk import Numbers
from dragoman.data.pictures import BadPictureError
from dragoman.data.readers.captions import Captioned, Captions, read_captions_split
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import split_of
from dragoman.data.sides import SAMPLE, Side
from dragoman.data.tokenizers import Bpe, train_tokenizer
from dragoman.defaults.budget import Budget, validation_interval
from dragoman.defaults.choice import Choice
from dragoman.defaults.pairs import FEWEST
from dragoman.defaults.tokenizers import lengths_by, limit_of, tokenizer_of
from dragoman.preparation.corpora import REPORTED, Preparing

LOOKED_AT = 200  # images whose shape is looked at, spread over all
PIXELS = 64 * 64  # of an image that a model reads
LINE = 1.5  # times as wide as high, from which on an image of symbols is a line of them
LEAST_ROWS = 32  # of a line of symbols, so that long ones can be read
MOST_COLUMNS = 512
ALIKE = 1.15  # times as wide, or as high, up to which two shapes count as one
ROUNDS_PER_EPOCH = 3  # validations, which generate captions and take their time
SEEN = 400_000  # captions that a training sees by default, all epochs together


@dataclass
class CaptionSurvey:
    """Captions spread over the training data, and the shapes of some of their images."""

    captions: int = 0
    images: int = 0
    texts: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)  # by which images are held out, one per text
    places: list[Captioned] = field(default_factory=list)
    shapes: list[tuple[int, int]] = field(default_factory=list)  # rows and columns
    stride: int = 1

    def add(self, one: Captioned) -> None:
        if self.images % self.stride == 0:
            self.texts += [with_tag(tag, text) for tag, text in one.captions]
            self.keys.append(one.together)
            self.places.append(one)
            while len(self.places) > SAMPLE:
                self.places, self.keys, self.stride = self.places[::2], self.keys[::2], self.stride * 2
                self.texts = [with_tag(tag, text) for kept in self.places for tag, text in kept.captions]
        self.images += 1
        self.captions += len(one.captions)


def survey_captions(data: Captions, given: Mapping[str, Any], preparing: Preparing) -> CaptionSurvey | None:
    """What matters of the training data; nothing where no image can be read."""
    found = CaptionSurvey()
    for one in read_captions_split(data, "train", Problems()):
        found.add(one)
        if found.images % REPORTED == 0:
            preparing("captions looked at", found.captions)
    for one in found.places[:: max(1, len(found.places) // LOOKED_AT)]:
        try:
            found.shapes.append(one.place.shape(one.picture))
        except BadPictureError:
            continue  # which is told when images are prepared
    return found if found.shapes else None


def choose_for_captions(survey: CaptionSurvey, given: Mapping[str, Any], budget: Budget) -> list[Choice]:
    """Everything that follows from the images, the captions and the budget."""
    side = Side(survey.texts)
    kind, reason = tokenizer_of(side, survey.captions, 0.0)
    symbols = side.closed or side.spelt
    lengths = lengths_by(train_tokenizer(kind, lambda: iter(survey.texts)), survey.texts)
    held_out = None if given.get("data.valid") or "data.hold_out" in given else hold_out_of(survey)
    return [
        *([] if held_out is None else [held_out]),
        Choice("target.kind", kind.kind, reason),
        *([Choice("target.size", kind.size, f"{survey.captions:,} captions")] if isinstance(kind, Bpe) else []),
        *length_choices(lengths),
        *image_choices(survey, symbols, int(np.quantile(lengths, 0.99))),
        *width_choices(symbols, survey.captions),
        *training_choices(survey, symbols, float(lengths.mean() + 1), budget),
        metric_choice(symbols),
    ]


def length_choices(lengths: Numbers) -> Iterator[Choice]:
    longest = float(np.quantile(lengths, 0.999))
    limit = limit_of(longest, lengths, 20)
    reason = f"999 of 1,000 captions have at most {longest:.0f} tokens; the median is {np.median(lengths):.0f}"
    yield Choice("data.max_target_length", limit, reason)
    yield Choice("limits.answer", limit, reason)


def image_choices(survey: CaptionSurvey, symbols: bool, longest: int) -> Iterator[Choice]:
    """The shape of most images, with about as many pixels whatever their proportions."""
    rows, columns = (float(np.median(sides)) for sides in zip(*survey.shapes, strict=True))
    shape = shape_like(rows, columns, LEAST_ROWS if symbols and columns >= LINE * rows else 0)
    wide = shape[1] / shape[0]
    size = f"{shape[0]} × {shape[1]} pixels (rows × columns); the median image has {rows:.0f} × {columns:.0f}"
    yield Choice("model.source.size", shape[0] if shape[0] == shape[1] else list(shape), size)
    ratios = [across / down / wide for down, across in survey.shapes]
    alike = sum(1 / ALIKE <= ratio <= ALIKE for ratio in ratios) / len(ratios)
    fit = "stretch" if alike >= 0.9 else "pad"
    yield Choice("model.source.fit", fit, f"{alike:.0%} of the images have about these proportions")
    line = symbols and wide >= LINE
    halvings = halvings_for(shape, longest if line else 0)
    grid = [side >> halvings for side in shape]
    yield Choice("model.source.grid", grid[0] if grid[0] == grid[1] else grid, f"{halvings} times halved")
    why = "lines of symbols: one vector per column" if line else "one vector per cell"
    yield Choice("model.source.summary", "columns" if line else "cells", why)


def shape_like(rows: float, columns: float, least: int = 0) -> tuple[int, int]:
    """Rows and columns that can be halved three times, with the proportions of an image and no more pixels than it has,
    or than are affordable; `least` rows where it has them."""
    ratio = 1.0 if 1 / ALIKE <= columns / rows <= ALIKE else columns / rows
    down = min(max(math.sqrt(PIXELS / ratio), least), math.sqrt(rows * columns / ratio), MOST_COLUMNS / ratio)
    return max(8, 8 * round(down / 8)), max(8, 8 * round(down * ratio / 8))


def halvings_for(shape: tuple[int, int], symbols: int) -> int:
    """Three, as long as each symbol of a line still has two columns of its own, and each side four cells."""
    most = next(n for n in (3, 2, 1, 0) if min(shape) >> n >= 4 or n == 0)
    return next((n for n in range(most, 0, -1) if shape[1] >> n >= 2 * symbols), min(1, most))


def width_choices(symbols: bool, captions: int) -> Iterator[Choice]:
    small = symbols or captions < 10_000
    reason = f"{'rows of symbols' if symbols else 'sentences'}, {captions:,} captions"
    source, target, decoder = (128, 64, 192) if small else (192, 128, 320)
    yield Choice("model.source.width", source, reason)
    yield Choice("model.source.channels", source // 8, "an eighth of the width")
    yield Choice("model.target.width", target, reason)
    yield Choice("model.decoder.width", decoder, reason)
    yield Choice("model.decoder.attention.width", 128, reason)
    yield Choice("model.decoder.readout_width", source, "the width of the grid's vectors")


def training_choices(survey: CaptionSurvey, symbols: bool, tokens: float, budget: Budget) -> Iterator[Choice]:
    """One rate for all: it held for gray strips of symbols and for colored icons."""
    batch = 32 if survey.captions < 20_000 else 64
    updates = max(1, math.ceil(survey.captions / batch))
    epochs = min(60, max(2, round(SEEN / survey.captions)))
    limit = budget.epochs_of(survey.captions, updates, 6e6 * tokens)
    seen = float(epochs) if math.isinf(limit) else limit
    often = f"each caption is seen about {max(1, round(seen))} times"
    dropout = next(share for most, share in ((6, 0.0), (15, 0.1), (math.inf, 0.2)) if seen <= most)
    for name in ("source", "target", "decoder"):
        yield Choice(f"model.{name}.dropout", min(0.1, dropout) if name != "decoder" else dropout, often)
    yield Choice("training.batching.sentences", batch, f"about {updates:,} updates an epoch")
    yield lengths_choice(symbols)
    yield Choice("training.optimiser.rate", 2e-3, "holds for gray lines of symbols and for colored images")
    yield Choice("training.schedule.kind", "cosine", "the rate falls to nothing at the end of the training")
    warmup = round(min(0.1, 100 / max(1.0, updates * seen)), 4)
    yield Choice("training.schedule.warmup_share", warmup, "of the training, and 100 updates at most")
    yield Choice("training.schedule.final", 0.02, "of the highest rate")
    yield Choice("training.epochs", epochs, f"some {SEEN:,} captions are seen; 2 to 60 epochs")
    interval = validation_interval(updates, seen, max(20, updates // ROUNDS_PER_EPOCH))
    yield Choice("training.validate_every", interval, f"about 20 validations, {ROUNDS_PER_EPOCH} per epoch at most")
    yield Choice("training.patience", 10, "validations without improvement")


def lengths_choice(symbols: bool) -> Choice:
    """Strips of three to six symbols in batches of one length each: a perplexity of 15 after 1,000 updates, which is
    that of guessing by length; in mixed ones 1.02."""
    if symbols:
        return Choice("training.batching.lengths", "mixed", "a batch of one length teaches the length, and no symbols")
    return Choice("training.batching.lengths", "similar", "hardly any padding")


def metric_choice(symbols: bool) -> Choice:
    if symbols:
        return Choice("evaluation.metrics", ["exact_match", "token_f1"], "captions are rows of symbols")
    return Choice("evaluation.metrics", ["exact_match", "token_f1", "bleu", "chrf"], "captions are sentences")


def hold_out_of(survey: CaptionSurvey) -> Choice | None:
    """A share of the images to validate on, where no validation data is given."""
    if survey.images < FEWEST:
        return None
    share = float(f"{min(0.1, min(2_000, max(100, 0.05 * survey.images)) / survey.images):.2g}")
    if len({split_of(key, share, 0.0) for key in survey.keys}) < 2:
        return None
    return Choice("data.hold_out", share, f"no --valid: some {share * survey.images:,.0f} images are held out")
