"""Source → frontend → encoder → head: a model that reads and writes nothing."""

from dataclasses import replace
from typing import Literal

from jaxtyping import Float, Int
from pydantic import model_validator
from torch import Tensor, nn

from dragoman import encoders, frontends, heads
from dragoman.config import Config
from dragoman.contracts import Batch, Memory, Output, Remembered
from dragoman.data.tokenizers import END
from dragoman.encoders import EncoderConfig, build_encoder
from dragoman.frontends import (
    BagOfNgrams,
    FrontendConfig,
    MaskVector,
    Matches,
    Overlap,
    OverlapScores,
    Segments,
    build_frontend,
    marked,
    of_symbols,
    vectors_of,
)
from dragoman.heads import PretrainingHead, ReadingHeadConfig, build_reading_head
from dragoman.heads.labels import BAG, OVERLAP, WIDE
from dragoman.models.compiling import compile_stacks
from dragoman.nn.positions import longest


class EncoderOnly(Config):
    """A model that reads a text, or frames, and says what it is (Dai and Le 2015; Devlin et al. 2019; frames: Graves
    and Schmidhuber 2005; Donahue et al. 2015)."""

    kind: Literal["encoder_only"] = "encoder_only"
    source: FrontendConfig = frontends.Tokens()
    """how the text becomes vectors; or the numbers, or the picture, of each frame"""
    encoder: EncoderConfig = encoders.Rnn()
    """what reads the text, or the frames"""
    head: ReadingHeadConfig = heads.Labels()
    """what is said of it: a label or a number of the whole, a tag a word or frame, or a span of the second text; or
    what it is pretrained by"""
    wide: frontends.Ngrams | None = None
    """word and letter n-grams whose mean vector the head sees beside what the encoder has read, as a linear model would
    (Cheng et al. 2016)"""
    bag: frontends.Bag | None = None
    """a linear model over words and n-grams with a loss of its own, whose probabilities are multiplied with those of
    the head; of numbers, the mean is taken (Hinton 2002)"""
    sentences: Literal["one", "two"] = "one"
    """one text, START text END; or two, START first END second END, where a learnt vector for either of the two is
    added to those of its symbols (Devlin et al. 2019, 3)"""
    matches: Literal["none", "exact", "overlap"] = "none"
    """exact: a learnt vector is added to those of symbols of the second text that occur in the first (Chen et al. 2017,
    3.2); overlap: the head also sees how much of each text the other has (Bär et al. 2012)"""

    @model_validator(mode="after")
    def _possible(self) -> "EncoderOnly":
        if not isinstance(self.source, frontends.TEXTUAL):
            refuse_of_frames(self)
        if self.sentences == "two" and isinstance(self.head, heads.Tagging):
            raise ValueError("tags are for the words of one sentence: set sentences = 'one', or head.kind = 'labels'")
        if self.sentences == "one" and self.matches != "none":
            raise ValueError(
                f"matches = '{self.matches}' compares two texts: set sentences = 'two', or matches = 'none'"
            )
        if self.matches == "overlap" and not isinstance(self.head, heads.Labels | heads.Number):
            raise ValueError(
                f"matches = 'overlap' is for one answer per pair of texts, and head.kind = '{self.head.kind}': set "
                "matches = 'exact'"
            )
        if self.sentences == "one" and isinstance(self.head, heads.Spans):
            raise ValueError("an answer is looked for in a document, behind its question: set sentences = 'two'")
        if frontends.letters_read(self.source) and isinstance(self.head, heads.Spans | heads.Pretraining):
            raise ValueError(
                f"source.kind = '{self.source.kind}' reads the letters of words, and head.kind = '{self.head.kind}' is "
                "for symbols: set source.kind = 'tokens'"
            )
        if isinstance(self.head, heads.Pretraining):
            refuse_pretraining(self, self.head)
        for name, part in (("wide", self.wide), ("bag", self.bag)):
            if part is not None:
                refuse_beside(self, name, part)
        return self

    @property
    def letters(self) -> int:
        """Letters of each word that are read; 0: numbers of symbols alone."""
        return max(frontends.letters_read(part) for part in (self.source, self.wide, self.bag))

    @property
    def beside(self) -> int:
        """Symbols beside those of the texts: START, and END behind each; frames have nothing beside them."""
        if not isinstance(self.source, frontends.TEXTUAL):
            return 0
        return 2 if self.sentences == "one" else 3


def refuse_of_frames(model: EncoderOnly) -> None:
    read = f"source.kind = '{model.source.kind}' reads frames"
    if not isinstance(model.head, heads.Labels | heads.Number | heads.Tagging):
        raise ValueError(
            f"{read}, and head.kind = '{model.head.kind}' is for texts: set head.kind = 'labels', 'number', 'tags' or "
            "'crf'"
        )
    if model.sentences == "two":
        raise ValueError(f"{read}, and sentences = 'two' is for texts: set sentences = 'one'")
    if isinstance(model.head, heads.Tagging) and getattr(model.source, "summary", "") == "cells":
        raise ValueError(
            f"head.kind = '{model.head.kind}' reads one vector of each picture: set source.summary = 'joined'"
        )


def refuse_beside(model: EncoderOnly, name: str, part: frontends.Ngrams | frontends.Bag) -> None:
    if not isinstance(model.source, frontends.TEXTUAL):
        raise ValueError(f"{name} reads texts, and source.kind = '{model.source.kind}' reads frames: leave it out")
    if not isinstance(model.head, heads.Labels | heads.Number):
        raise ValueError(f"{name} is for one answer per text, and head.kind = '{model.head.kind}': leave it out")
    for other in ("source", "wide"):
        letters = frontends.letters_read(getattr(model, other))
        if 0 not in (letters, part.letters) and letters != part.letters:
            raise ValueError(
                f"{other}.letters = {letters} and {name}.letters = {part.letters}: set the same number for both"
            )


def refuse_pretraining(model: EncoderOnly, head: heads.Pretraining) -> None:
    if model.sentences == "one" and head.learns != "masked_words":
        raise ValueError(
            f"head.learns = '{head.learns}' asks whether a text follows another, and sentences = 'one'; set sentences "
            "= 'two', or head.learns = 'masked_words'"
        )
    length = longest(model.encoder.positions) if isinstance(model.encoder, encoders.Transformer) else None
    if length is not None and head.length > length:
        raise ValueError(
            f"head.length = {head.length} needs as many positions, and encoder.positions.length is {length}; raise it, "
            "lower head.length, or take sinusoidal or rotary positions, which have no end"
        )


class EncoderOnlyModel(nn.Module):
    """Wires the parts and does no arithmetic of its own."""

    def __init__(self, config: EncoderOnly, source_size: int, labels: int) -> None:
        super().__init__()
        self.source = build_frontend(config.source, source_size)
        self.segments = Segments(self.source.width) if config.sentences == "two" else None
        self.matches = Matches(self.source.width) if config.matches != "none" else None
        self.encoder = build_encoder(config.encoder, self.source.width)
        outputs = 1 if isinstance(config.head, heads.Number) else labels
        self.wide = None if config.wide is None else build_frontend(config.wide, source_size)
        self.bag = None if config.bag is None else BagOfNgrams(config.bag, outputs)
        self.overlap = Overlap(source_size) if config.matches == "overlap" else None
        self.bag_overlap = None if None in (self.bag, self.overlap) else OverlapScores(outputs)
        width = self.encoder.width + sum(part.width for part in (self.wide, self.overlap) if part is not None)
        self.head = build_reading_head(config.head, width, labels, self.source.width)
        self.mask: MaskVector | None = None
        if isinstance(self.head, PretrainingHead):
            self.mask = MaskVector(self.source.width) if self.head.words is not None else None
            self.head.tie(of_symbols(self.source, "Pretraining").embedding)

    def compile_layers(self) -> None:
        compile_stacks(self.encoder)

    def encode(self, batch: Batch, attention: bool = False) -> Memory:
        """The states of all symbols."""
        vectors, mask = vectors_of(self.source, batch.sources["source"], batch.sources.get("letters"))
        if self.mask is not None and "masked" in batch.sources:
            vectors = self.mask(vectors, batch.sources["masked"].values)
        if self.segments is not None:
            vectors = self.segments(vectors, batch.sources["segments"].values)
        if self.matches is not None:
            vectors = self.matches(vectors, shown(batch), batch.sources["segments"].values)
        memory: Memory = self.encoder(vectors, mask, attention)
        return replace(memory, sequences={**memory.sequences, **self.beside(batch)})

    def beside(self, batch: Batch) -> dict[str, Remembered]:
        """What the head sees beside the states of the encoder."""
        source, letters = batch.sources["source"], batch.sources.get("letters")
        found: dict[str, Remembered] = {}
        if self.wide is not None:
            found[WIDE] = Remembered(*vectors_of(self.wide, source, letters))
        if self.bag is not None:
            found[BAG] = Remembered(self.scores(self.bag, batch)[:, None], source.mask[:, :1])
        if self.overlap is not None:
            segments = batch.sources["segments"].values
            vector = self.overlap(source.values, segments, None if letters is None else letters.values)
            found[OVERLAP] = Remembered(vector, source.mask[:, :1])
        return found

    def scores(self, bag: BagOfNgrams, batch: Batch) -> Float[Tensor, "B V"]:
        """Of the linear model: over n-grams; where texts are compared, over the words that both have, and those that
        one has alone, and how many they are."""
        values, letters = batch.sources["source"].values, batch.sources.get("letters")
        spelled = None if letters is None else letters.values
        if self.overlap is None or self.bag_overlap is None:
            alone: Tensor = bag(values, spelled)
            return alone
        segments = batch.sources["segments"].values
        words: Tensor = bag(marked(values, segments), spelled)
        compared: Tensor = self.bag_overlap(self.overlap.features(values, segments, spelled))
        return words + compared

    def read(self, batch: Batch) -> Output:
        """What the head sees: a vector a text, or a vector a symbol or frame."""
        output: Output = self.head.gather(self.encode(batch))
        return output


def shown(batch: Batch) -> Int[Tensor, "B S"]:
    """The symbols that a model may compare; those that are hidden are END, which is compared with nothing."""
    values = batch.sources["source"].values
    return values.masked_fill(batch.sources["masked"].values > 0, END) if "masked" in batch.sources else values
