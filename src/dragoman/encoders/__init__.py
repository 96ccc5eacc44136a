"""Encoders: vectors → what the decoder may look at."""

from typing import Annotated

from pydantic import Field

from dragoman.encoders.rnn import Rnn, RnnEncoder
from dragoman.encoders.transformer import Transformer, TransformerEncoder

__all__ = ["EncoderConfig", "Rnn", "RnnEncoder", "Transformer", "TransformerEncoder", "build_encoder"]

EncoderConfig = Annotated[Rnn | Transformer, Field(discriminator="kind")]


def build_encoder(config: Rnn | Transformer, input_width: int) -> RnnEncoder | TransformerEncoder:
    return RnnEncoder(config, input_width) if isinstance(config, Rnn) else TransformerEncoder(config, input_width)
