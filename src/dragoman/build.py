"""Config → parts; the only file that knows every family."""

from pydantic import PositiveFloat, PositiveInt

from dragoman.config import Config, practical
from dragoman.data.tokenizers import Bpe, TokenizerConfig
from dragoman.models.encoder_decoder import EncoderDecoder, EncoderDecoderModel
from dragoman.search import Beam, SearchConfig


class Limits(Config):
    """How long inputs and answers may be: an answer has at most ratio × source tokens + extra symbols."""

    source: PositiveInt = practical(1000)
    """Source tokens that are read; the rest of a longer line is cut off, with a warning."""
    ratio: PositiveFloat = practical(2.0)
    """Answer symbols a source token, at most."""
    extra: PositiveInt = practical(10)
    """Answer symbols beyond that."""
    answer: PositiveInt = practical(400)
    """Answer symbols in any case, END counted."""

    def answer_length(self, source_tokens: int) -> int:
        return min(self.answer, int(self.ratio * source_tokens) + self.extra)


class Evaluation(Config):
    """How a trained model is measured."""

    metrics: tuple[str, ...] = practical(("bleu", "chrf", "exact_match"))
    """Names of metrics; `dragoman evaluate --help` lists them."""
    resamples: PositiveInt = practical(1000)
    """Bootstrap samples behind each interval."""


class Served(Config):
    """What a model needs to answer: the config of RUN/model."""

    source: TokenizerConfig = Bpe()
    target: TokenizerConfig = Bpe()
    model: EncoderDecoder = EncoderDecoder()
    search: SearchConfig = practical(Beam())
    limits: Limits = Limits()
    evaluation: Evaluation = Evaluation()


def build_model(config: EncoderDecoder, source_size: int, target_size: int) -> EncoderDecoderModel:
    return EncoderDecoderModel(config, source_size, target_size)
