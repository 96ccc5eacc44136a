"""What a trained model is made of and how it answers: the config of RUN/model."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from dragoman.complaints import READS_LETTERS
from dragoman.config import Config, practical
from dragoman.data.tokenizers import Bpe, Conversation, Shared, TargetConfig, TokenizerConfig
from dragoman.data.tokenizers.tokenizer import WHOLE_WORDS
from dragoman.encoders import Hierarchical
from dragoman.errors import ConfigError
from dragoman.frontends import TEXTUAL, ImageGrid, letters_read
from dragoman.heads import Pretraining, Spans
from dragoman.models import DecoderOnly, EncoderDecoder, EncoderOnly, Forecaster, ModelConfig
from dragoman.nn.positions import longest
from dragoman.nn.transformer import Stack
from dragoman.search import Beam, Rules, SearchConfig
from dragoman.search.rollout import Rollout

Tokenise = Literal["auto", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none"]
Work = Literal["pairs", "conversations", "captions", "texts", "labels", "spans", "frames", "gaps", "tracks"]
LONGEST = 1_000_000  # symbols; what is longer is no line, and a model that never ends would fill the memory


class Limits(Config):
    """How long inputs and answers may be: an answer has at most ratio × source tokens + extra symbols. What is said of
    a picture, or next in a conversation, does not grow with what is read: `answer` and `least` alone count there."""

    source: PositiveInt = practical(1000, le=LONGEST)
    """Source tokens that are read at once."""
    longer: Literal["cut", "split", "refuse"] = practical("split")
    """What becomes of a longer source: its rest is cut off; it is split at sentence ends, else at spaces, else
    anywhere, and the answers to its pieces are joined; or it is an error. The first two are told."""
    ratio: PositiveFloat = practical(2.0, le=LONGEST)
    """Answer symbols a source token, at most."""
    extra: PositiveInt = practical(10, le=LONGEST)
    """Answer symbols beyond that."""
    answer: PositiveInt = practical(400, le=LONGEST)
    """Answer symbols in any case, END counted."""
    least_ratio: NonNegativeFloat = practical(0.0, le=LONGEST)
    """Answer symbols a source token, at least."""
    least: PositiveInt = practical(1, le=LONGEST)
    """Answer symbols at least in any case, END counted."""

    def answer_length(self, source_tokens: int) -> int:
        return min(self.answer, int(self.ratio * source_tokens) + self.extra)

    def least_length(self, source_tokens: int) -> int:
        return max(self.least, int(self.least_ratio * source_tokens))


class Evaluation(Config):
    """How a trained model is measured."""

    metrics: tuple[str, ...] = practical(("bleu", "chrf", "exact_match"))
    """Names of metrics; the catalogue lists them."""
    resamples: PositiveInt = practical(1000, le=1_000_000)
    """Bootstrap samples behind each interval."""
    report: NonNegativeInt = practical(500)
    """Sources that are answered for RUN/report.html at the end of a training; 0: no report."""
    tokenise: Tokenise = practical("auto")
    """What BLEU counts as words, in the names of sacrebleu: auto follows the script of the references (Chinese zh,
    Japanese and Korean their mecab if it is installed, else char; Thai, Lao, Khmer and Burmese char; all else 13a)."""


class Extraction(Config):
    """How an answer is looked for in a document (Devlin et al. 2019, 4.2 and 4.3); for models with a head of spans."""

    stride: PositiveInt = Field(128, le=LONGEST)
    """symbols from the beginning of one window of a long document to that of the next, in training too"""
    question: PositiveInt = Field(64, le=LONGEST)
    """symbols of a question that are read, in training too; the rest is cut off"""
    longest: PositiveInt = practical(30, le=1_000)
    """symbols of an answer at most"""
    threshold: float = practical(0.0)
    """how much the score of no answer must be above that of the best span for there to be no answer; counts where the
    training data has questions without an answer"""


class Risk(Config):
    """Minimum Bayes risk: not the most probable answer, but the candidate that is most like all the others."""

    utility: Literal["none", "chrf", "bleu", "edit_distance", "exact_match"] = "none"
    """how alike two texts are; none: the search's own order stays"""
    candidates: Annotated[int, Field(ge=2, le=10_000)] = 32
    """samples a line, with search.kind=sampling; of a beam all its answers are candidates"""


class Served(Config):
    """All that a model needs to answer."""

    source: TokenizerConfig = Bpe()
    """How source texts become symbols."""
    target: TargetConfig = Bpe()
    """How target texts become symbols."""
    model: ModelConfig = EncoderDecoder()
    """What is trained."""
    search: SearchConfig = practical(Beam())
    """How answers are found."""
    rules: Rules = practical(Rules())
    """What no answer may do."""
    risk: Risk = practical(Risk())
    """Whether answers are chosen by their likeness."""
    limits: Limits = Limits()
    """How long inputs and answers may be."""
    extraction: Extraction = Extraction()
    """How answers are looked for in documents."""
    conversation: Conversation = Conversation()
    """How much of a conversation is read."""
    rollout: Rollout = practical(Rollout())
    """How tracks are gone on with."""
    evaluation: Evaluation = Evaluation()
    """How answers are measured."""

    @property
    def work(self) -> Work:
        """What the model does, by which it is asked, answers, and is measured: it answers texts (pairs), conversations
        or pictures (captions), goes on with texts or tracks, says what texts are (labels) or frames, finds answers in
        documents (spans), or fills gaps."""
        if isinstance(self.model, DecoderOnly):
            return "texts"
        if isinstance(self.model, Forecaster):
            return "tracks"
        if isinstance(self.model, EncoderOnly):
            if not isinstance(self.model.source, TEXTUAL):
                return "frames"
            heads: dict[type, Work] = {Pretraining: "gaps", Spans: "spans"}
            return heads.get(type(self.model.head), "labels")
        if isinstance(self.model.source, ImageGrid):
            return "captions"
        return "conversations" if self.conversation.turns else "pairs"

    def answer_lengths(self, source_tokens: int) -> tuple[int, int]:
        """Symbols of an answer at least and at most, END counted."""
        if self.work in ("captions", "conversations"):
            return self.limits.least, self.limits.answer
        return self.limits.least_length(source_tokens), self.limits.answer_length(source_tokens)

    @model_validator(mode="after")
    def _limits_within_positions(self) -> "Served":
        if isinstance(self.model, DecoderOnly) and self.source != Bpe():
            raise ValueError(
                f"a language model reads no source, so that source.kind = '{self.source.kind}' is for nothing: leave "
                f"it out. How its texts become symbols is set by target.kind, which is '{self.target.kind}'."
            )
        if isinstance(self.model, DecoderOnly) and isinstance(self.target, Shared):
            raise ValueError("target.kind = 'shared' is one vocabulary for two sides, and a language model has one.")
        if isinstance(self.model, Forecaster):
            for side in ("source", "target"):
                if getattr(self, side) != Bpe():
                    raise ValueError(
                        f"a model of tracks reads numbers and no texts, so that {side}.kind = "
                        f"'{getattr(self, side).kind}' is for nothing: leave it out."
                    )
            return self
        if isinstance(self.model, EncoderOnly):
            if self.source != Bpe() and not isinstance(self.model.source, TEXTUAL):
                raise ValueError(
                    f"this model reads frames and no texts (model.source.kind = '{self.model.source.kind}'), so that "
                    f"source.kind = '{self.source.kind}' is for nothing: leave it out."
                )
            if self.model.letters and self.source.kind not in (*WHOLE_WORDS, "file"):
                reads, instead = (
                    (f"model.source.kind = '{self.model.source.kind}'", "model.source.kind = 'tokens'")
                    if letters_read(self.model.source)
                    else ("model.wide", "leave model.wide out")
                    if letters_read(self.model.wide)
                    else ("model.bag", "leave model.bag out")
                )
                raise ValueError(
                    f"{reads} {READS_LETTERS}, and source.kind = '{self.source.kind}' has none: set "
                    f"source.kind = 'words' or 'wordpunct', or {instead}."
                )
            if self.target != Bpe():
                raise ValueError(
                    f"this model writes nothing, so that target.kind = '{self.target.kind}' is for nothing: leave it "
                    f"out. How its texts become symbols is set by source.kind, which is '{self.source.kind}'."
                )
            refuse_beyond_positions(self.model, "encoder", "limits.source", self.limits.source, self.model.beside)
            if isinstance(self.model.head, Spans):
                refuse_without_room("limits.source", self.limits.source, self.extraction.question)
            return self
        if isinstance(self.model, EncoderDecoder) and isinstance(self.model.source, ImageGrid):
            refuse_source_of_pictures(self)
            refuse_beyond_positions(self.model, "encoder", "cells of model.source.grid", self.model.source.cells, 0)
        else:
            refuse_beyond_positions(self.model, "encoder", "limits.source", self.limits.source, 1)
        refuse_beyond_positions(self.model, "decoder", "limits.answer", self.limits.answer, 0)
        return self

    @model_validator(mode="after")
    def _conversations_within_limits(self) -> "Served":
        read = self.conversation
        if not read.turns:
            return self
        if not isinstance(self.model, EncoderDecoder):
            raise ValueError(
                f"conversation.turns = {read.turns} is for a model that reads a conversation and writes the next turn, "
                f"and model.kind is '{self.model.kind}'. Set model.kind = 'encoder_decoder', or leave conversation out."
            )
        if read.length > self.limits.source:
            raise ValueError(
                f"conversation.length = {read.length} is more than limits.source = {self.limits.source} symbols are "
                f"read. Set limits.source = {read.length} or more."
            )
        encoder = self.model.encoder
        words = encoder.words if isinstance(encoder, Hierarchical) else encoder
        setting, tokens = ("turn_length", read.turn_length) if words is not encoder else ("length", read.length)
        end = longest(words.positions) if isinstance(words, Stack) else None
        if end is not None and tokens + 1 > end:
            raise ValueError(
                f"conversation.{setting} = {tokens} symbols and END need {tokens + 1} positions, and the encoder has "
                f"{end}. Set conversation.{setting} = {end - 1} at most, or positions without an end."
            )
        return self


def refuse_source_of_pictures(served: Served) -> None:
    """Pictures are no texts."""
    if served.source != Bpe():
        raise ValueError(
            f"pictures have no symbols, so that source.kind = '{served.source.kind}' is for nothing: leave it out. How "
            f"captions become symbols is set by target.kind, which is '{served.target.kind}'."
        )
    if isinstance(served.target, Shared):
        raise ValueError("target.kind = 'shared' is one vocabulary for two sides, and a picture has none.")


def refuse_without_room(setting: str, tokens: int, question: int) -> None:
    """A window has the question, END and something of the document."""
    if tokens < question + 2:
        raise ValueError(
            f"{setting} = {tokens} leaves no room for a document behind a question of extraction.question = {question} "
            f"symbols and END. Set {setting} = {question + 2} or more, or a smaller extraction.question."
        )


def refuse_beyond_positions(
    model: ModelConfig, part: Literal["encoder", "decoder"], setting: str, tokens: int, more: int
) -> None:
    """A table of positions has one for every symbol that a setting lets through, and for START or END beside them. A
    language model goes on as far as its positions reach."""
    if isinstance(model, DecoderOnly):
        return
    config = getattr(model, part, None)
    length = longest(config.positions) if isinstance(config, Stack) else None
    if length is None or tokens + more <= length:
        return
    beside = {"encoder": " and END", "decoder": " and START"}[part] if more else ""
    if more > 1:
        beside = ", START and END" if more == 2 else ", START and two ENDs"
    raise ValueError(
        f"{setting} = {tokens} lets through more than model.{part}.positions.length = {length}: {tokens + more} "
        f"positions are needed, for {tokens} symbols{beside}. Set {setting} = {length - more} at most, or train with "
        f"model.{part}.positions.length = {tokens + more} or more, or with sinusoidal or rotary positions, which have "
        "no end."
    )


def require_source(kind: str, what: str) -> None:
    """A sentence where something makes no sense for a model of this kind, without a source or without answers."""
    if kind == "forecaster":
        raise ConfigError(
            f"{what} is for models that write an answer to a source, and this one goes on with tracks (model.kind = "
            "'forecaster'). Its futures come from `dragoman predict`, and how far they are from the true ones from "
            "`dragoman evaluate`."
        )
    if kind == "encoder_only":
        raise ConfigError(
            f"{what} is for models that write an answer to a source, and this one only reads (model.kind = "
            "'encoder_only'). What it says of texts comes from `dragoman predict`, and how often it is right from "
            "`dragoman evaluate`."
        )
    if kind == "decoder_only":
        raise ConfigError(
            f"{what} is for models that answer a source, and this is a language model (model.kind = 'decoder_only'). "
            "Its texts come from `dragoman predict`, and how well it knows a text from `dragoman evaluate`."
        )
