"""A text as one vector: the states that a model leaves of it, pooled (Conneau et al. 2017)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from dragoman import encoders
from dragoman.contracts import Remembered
from dragoman.data.collate import collate_sources
from dragoman.data.labelled import collate_texts, shortened, tokens_of, words_of
from dragoman.data.tokenizers import START, UNKNOWN
from dragoman.data.windows import symbols_of
from dragoman.errors import ConfigError, DataError, choose
from dragoman.heads import Tagging
from dragoman.heads.labels import POOLS, Pool, pooled
from dragoman.models import DecoderOnly, DecoderOnlyModel, EncoderDecoderModel, EncoderOnly, Model
from dragoman.pipeline.rows import batched
from dragoman.pipeline.together import Together

if TYPE_CHECKING:
    from dragoman.pipeline.pipeline import Pipeline

Vectors = NDArray[np.float32]
BATCH_TOKENS = 8192
POOL_NAMES: dict[str, Pool] = {**{name: name for name in POOLS}, "cls": "first"}  # BERT's START is called [CLS]


@dataclass(frozen=True)
class Vector:
    """A line and its vector; that of an empty line is zero."""

    source: str
    values: Vectors
    longer: str = ""  # "cut" where the text was longer than the model reads
    symbols: int = 0
    unknown: int = 0  # of the symbols

    @property
    def empty(self) -> bool:
        return not self.symbols


@dataclass(frozen=True)
class Embedder:
    """A model with all that it needs to make vectors."""

    pipeline: "Pipeline"
    model: Model
    pool: Pool
    normalise: bool  # to length 1

    @staticmethod
    def of(pipeline: "Pipeline", pool: str | None = None, normalise: bool = False) -> "Embedder":
        model = pipeline.read_weights()
        if isinstance(model, Together):
            raise ConfigError("Several models have no vectors in common. Embed with one run at a time.")
        chosen = own_pool(pipeline) if pool is None else choose("pooling", pool, POOL_NAMES)
        refuse_blind(pipeline, chosen)
        return Embedder(pipeline, model, chosen, normalise)

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return self.model.decoder.width if isinstance(self.model, DecoderOnlyModel) else self.model.encoder.width

    @property
    def limit(self) -> int:
        """Symbols that are read at once; a language model may have fewer positions, of which START takes one."""
        longest, room = self.pipeline.settings.limits.source, self.pipeline.positions
        return longest if room is None or not self.pipeline.alone else min(longest, room - 1)

    def stream(self, texts: Iterable[str], refuse: bool, window: int) -> Iterator[Vector]:
        """Vectors in the order of the texts; `window` of them are read ahead, so that a batch holds equals. What is
        too long is cut, or refused."""
        lines, before = iter(texts), 0
        while read := list(islice(lines, window)):
            rows = read_rows(self.pipeline, read, before)
            long = [len(row) > self.limit for row in rows]
            if refuse and any(long):
                first = long.index(True)
                raise DataError(
                    f"Line {before + first + 1:,} has {len(rows[first]):,} tokens; at most {self.limit:,} are read at "
                    "once (limits.source, or positions). Shorten it, or have it cut (--longer cut)."
                )
            rows = [shortened(row, self.limit) if text.strip() else [] for text, row in zip(read, rows, strict=True)]
            vectors = self.vectors(rows)
            for text, row, values, cut in zip(read, rows, vectors, long, strict=True):
                yield Vector(text, values, "cut" if cut and row else "", len(row), row.count(UNKNOWN))
            before += len(read)

    @torch.inference_mode()
    def vectors(self, rows: Sequence[list[int]]) -> Vectors:
        """One for each row; of an empty one, zeros."""
        found = np.zeros((len(rows), self.width), np.float32)
        lengths = [len(row) + 1 for row in rows]
        asked = [number for number, row in enumerate(rows) if row]
        for numbers in batched(sorted(asked, key=lengths.__getitem__), lengths, BATCH_TOKENS):
            made = pooled(self.states([rows[number] for number in numbers]), self.pool)
            found[numbers] = (normalised(made) if self.normalise else made).float().cpu().numpy()
        return found

    def states(self, rows: Sequence[list[int]]) -> Remembered:
        """Of every symbol, START and END counted where the model reads them."""
        device = self.pipeline.device
        if isinstance(self.model, DecoderOnlyModel):
            return states_of_text(self.model, rows, device)
        if isinstance(self.model, EncoderDecoderModel):
            return self.model.encode(collate_sources(rows).to(device)).sequences["source"]
        return self.model.encode(collate_texts(rows, self.pipeline.source.letters).to(device)).sequences["source"]


def read_rows(pipeline: "Pipeline", texts: Sequence[str], before: int = 0) -> list[list[int]]:
    """The symbols of each text, as the model was taught to read them; `before` texts stand before the first."""
    config = pipeline.settings.model
    if isinstance(config, DecoderOnly):
        return symbols_of(pipeline.target, texts)
    if not isinstance(config, EncoderOnly):
        return pipeline.source.encode(list(texts))
    if isinstance(config.head, Tagging):
        return words_of(pipeline.source, [text.split() for text in texts])[0]
    two = config.sentences == "two"
    return tokens_of(pipeline.source, [parts_of(text, n, two) for n, text in enumerate(texts, start=before + 1)])


def states_of_text(model: DecoderOnlyModel, rows: Sequence[list[int]], device: torch.device) -> Remembered:
    """Behind START and behind each symbol; each state has seen what stands before it, and never padding."""
    batch = collate_sources(rows).to(device)  # with END behind each, which a language model is never fed
    source = batch.sources["source"]
    fed = torch.cat([torch.full_like(source.values[:, :1], START), source.values[:, :-1]], 1)
    output, _ = model.decode(fed, model.begin(batch))
    return Remembered(output.hidden, source.mask)


def own_pool(pipeline: "Pipeline") -> Pool:
    """That of the model's head, where it has one: its states were trained to be pooled so; else the mean."""
    pool: Pool = getattr(getattr(pipeline.settings.model, "head", None), "pool", "mean")
    return pool


def refuse_blind(pipeline: "Pipeline", pool: Pool) -> None:
    """A sentence where the first state is no vector of the text."""
    config = pipeline.settings.model
    if pool != "first":
        return
    encoder = getattr(config, "encoder", encoders.Rnn())
    if isinstance(config, DecoderOnly):
        reason = "a language model's first state has seen nothing but START"
    elif not isinstance(config, EncoderOnly):
        reason = "this model reads its source without START, so that its first state is that of the first word"
    elif encoder.directions == "one" and not (isinstance(encoder, encoders.Rnn) and encoder.reverse):
        reason = "this encoder reads from first to last, and its first state has seen nothing but START"
    else:
        return
    raise ConfigError(f"The pooling 'first' (cls) makes no vector here: {reason}. Take mean, max or last.")


def parts_of(text: str, number: int, two: bool) -> list[str]:
    """One text; a model of two may be given either one, or both with a tab between them."""
    parts = [part for part in text.split("\t") if part.strip()] if two else [text]
    if len(parts) > 2:
        raise DataError(
            f"Line {number:,}: this model reads two texts with a tab between them at most, and the line has "
            f"{len(parts)}. Give one text, or first<TAB>second."
        )
    return parts or [""]


def normalised(vectors: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
    """z / |z|."""
    return torch.nn.functional.normalize(vectors)
