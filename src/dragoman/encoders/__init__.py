"""Encoders: vectors → what the decoder may look at."""

from typing import Annotated, overload

from pydantic import Field

from dragoman.encoders.cnn import Cnn, CnnEncoder
from dragoman.encoders.hierarchical import Hierarchical, HierarchicalEncoder
from dragoman.encoders.identity import Identity, IdentityEncoder
from dragoman.encoders.rnn import Rnn, RnnEncoder
from dragoman.encoders.transformer import Transformer, TransformerEncoder

__all__ = [
    "AnyEncoder",
    "Cnn",
    "CnnEncoder",
    "EncoderConfig",
    "Hierarchical",
    "HierarchicalEncoder",
    "Identity",
    "IdentityEncoder",
    "Rnn",
    "RnnEncoder",
    "SourceEncoderConfig",
    "Transformer",
    "TransformerEncoder",
    "build_encoder",
]

EncoderConfig = Annotated[Rnn | Transformer | Cnn | Identity, Field(discriminator="kind")]  # of a text
SourceEncoderConfig = Annotated[
    Rnn | Transformer | Cnn | Identity | Hierarchical, Field(discriminator="kind")
]  # for a decoder
OneEncoder = RnnEncoder | TransformerEncoder | CnnEncoder | IdentityEncoder
AnyEncoder = OneEncoder | HierarchicalEncoder


@overload
def build_encoder(config: Rnn | Transformer | Cnn | Identity, input_width: int) -> OneEncoder: ...
@overload
def build_encoder(config: Rnn | Transformer | Cnn | Identity | Hierarchical, input_width: int) -> AnyEncoder: ...
def build_encoder(config: Rnn | Transformer | Cnn | Identity | Hierarchical, input_width: int) -> AnyEncoder:
    match config:
        case Rnn():
            return RnnEncoder(config, input_width)
        case Transformer():
            return TransformerEncoder(config, input_width)
        case Cnn():
            return CnnEncoder(config, input_width)
        case Identity():
            return IdentityEncoder(config, input_width)
        case Hierarchical():
            return HierarchicalEncoder(config, input_width)
