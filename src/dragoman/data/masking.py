"""Words that are hidden from a model that learns to read, and batches of such examples."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator

from dragoman.config import Choices, Config
from dragoman.contracts import Batch, Padded
from dragoman.data.chunk import Chunk, Ids, Numbers
from dragoman.data.collate import Mask, rows_of, tensors
from dragoman.data.encoding import flattened
from dragoman.data.labelled import expected, framed
from dragoman.data.tokenizers import END, SPECIALS, Tokenizer
from dragoman.errors import ConfigError
from dragoman.seeds import key

Unit = Literal["piece", "word"]
UNITS: dict[Unit, str] = {
    "piece": "each symbol is chosen by itself (Devlin et al. 2019, 3.1)",
    "word": "all pieces of a word are chosen together (Cui et al. 2021, after the code of Devlin et al.)",
}
Share = Annotated[float, Field(ge=0, le=1)]


class Masks(Config):
    """Which symbols are to be guessed, and what stands in their places (Devlin et al. 2019, 3.1)."""

    share: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """of the symbols of an example that are to be guessed, one at least"""
    hidden: Share = 0.8
    """share of these that are replaced by [MASK]"""
    random: Share = 0.1
    """share of these that are replaced by a random symbol; the others stay as they are"""
    unit: Annotated[Unit, Choices(UNITS)] = "piece"
    """piece: each symbol by itself; word: all pieces of a word together, for a tokenizer that marks them"""

    @model_validator(mode="after")
    def _shares(self) -> "Masks":
        if self.hidden + self.random > 1 + 1e-9:
            raise ValueError(f"hidden = {self.hidden} and random = {self.random} are shares of one whole: 1 at most")
        return self


@dataclass(frozen=True)
class Masking:
    """What is hidden depends on seed, epoch and the number of the example, never on its batch or what came before."""

    masks: Masks
    size: int  # of the vocabulary
    continues: NDArray[np.bool_] | None  # symbols that go on with a word, where words are hidden as a whole
    seed: int
    epoch: int = 0

    @staticmethod
    def of(masks: Masks, tokenizer: Tokenizer, seed: int) -> "Masking":
        return Masking(masks, tokenizer.size, continuing(tokenizer) if masks.unit == "word" else None, seed)

    def in_epoch(self, epoch: int) -> "Masking":
        return replace(self, epoch=epoch)

    def chosen(self, number: int, row: Ids) -> tuple[Numbers, Mask, Ids]:
        """Positions of a row to be guessed, which of them are hidden, and the symbols that stand there otherwise."""
        raw = np.random.Philox(key=key(self.seed, "masks", self.epoch, number)).random_raw(3 * len(row))
        draws = ((raw >> np.uint64(11)) / 2.0**53).reshape(3, -1)
        places = np.flatnonzero(row != END)
        count = max(1, round(self.masks.share * len(places)))
        order = places[np.argsort(draws[0][places], kind="stable")]
        found = np.sort(order[:count] if self.continues is None else whole(order, row, self.continues, count))
        fates, others = draws[1][found], draws[2][found]
        least = len(SPECIALS)
        strange = (least + others * (self.size - least)).astype(np.int64)
        replaced = (fates >= self.masks.hidden) & (fates < self.masks.hidden + self.masks.random)
        return found, fates < self.masks.hidden, np.where(replaced, strange, row[found])


def continuing(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Which symbols are no beginning of a word."""
    if tokenizer.kind == "words":
        return np.zeros(tokenizer.size, np.bool_)
    if tokenizer.kind != "wordpiece":
        raise ConfigError(
            f"model.head.masks.unit = 'word' hides all pieces of a word, and a tokenizer of the kind {tokenizer.kind} "
            "does not say which pieces go on with one. Set source.kind = 'wordpiece', or model.head.masks.unit = "
            "'piece'."
        )
    return np.array([symbol.startswith("##") and symbol != "##" for symbol in tokenizer.learned.vocabulary])


def whole(order: Numbers, row: Ids, continues: NDArray[np.bool_], count: int) -> Numbers:
    """Words in this order of their first pieces as long as they fit, one at least."""
    starts = ~continues[row] | (row == END)
    starts[0] = True
    ends = np.append(np.flatnonzero(starts)[1:], len(row))
    ending = dict(zip(np.flatnonzero(starts).tolist(), ends.tolist(), strict=True))
    found: list[int] = []
    for place in order.tolist():
        if place in ending and (not found or len(found) + ending[place] - place <= count):
            found += range(place, ending[place])
        if len(found) >= count:
            break
    return np.array(found, np.int64)


def collate_passages(chunk: Chunk, indices: Numbers, masking: Masking | None) -> Batch:
    """The batch of these examples: START before each and END behind it, some symbols hidden, replaced or kept, which
    are to be guessed; or none."""
    flat, lengths = rows_of(chunk.source, chunk.source_offsets, indices)
    firsts = chunk.target_offsets[indices]
    follows = torch.from_numpy(chunk.target[firsts].astype(np.bool_))
    sources, inside = framed(flat, lengths)
    lines = tuple(chunk.lines[indices].tolist())
    source = sources["source"]
    missing = int(np.count_nonzero(~source.mask.numpy()))
    if masking is None:
        told = expected(follows.numpy()[:, None].astype(np.int64), np.ones((len(lines), 1), np.bool_))
        return Batch(lines, sources, told, missing, follows=follows)
    values, outputs = source.values.numpy(), np.zeros(inside.shape, np.int64)
    asked, hidden = np.zeros_like(inside), np.zeros_like(inside)
    numbers = chunk.target[firsts + 1].tolist()
    for example, (number, length) in enumerate(zip(numbers, lengths.tolist(), strict=True)):
        row = values[example, 1 : length + 1]
        places, masked, others = masking.chosen(number, row)
        outputs[example, places + 1] = row[places]
        asked[example, places + 1] = True
        hidden[example, places + 1] = masked
        row[places] = others
    sources["masked"] = tensors(hidden.astype(np.int64), source.mask.numpy())
    return Batch(lines, sources, expected(outputs, asked), missing, follows=follows)


def collate_gaps(rows: Sequence[Sequence[int]], gaps: Sequence[Sequence[int]]) -> Batch:
    """Rows whose symbols at some places are hidden, to be filled in."""
    sources, _ = framed(*flattened(rows))
    hidden = np.zeros(sources["source"].mask.shape, np.int64)
    for row, places in enumerate(gaps):
        hidden[row, [place + 1 for place in places]] = 1
    mask: Padded = sources["source"]
    sources["masked"] = Padded(torch.from_numpy(hidden), mask.mask)
    return Batch(tuple(range(len(rows))), sources)
