"""Decoders: memory and the words so far → a hidden vector for each next word."""

from typing import Annotated

from pydantic import Field

from dragoman.contracts import Encoder
from dragoman.decoders import walking
from dragoman.decoders.alone import NoSource
from dragoman.decoders.rnn import Rnn, RnnDecoder
from dragoman.decoders.transformer import Transformer, TransformerDecoder
from dragoman.nn.recurrent import Recurrent

__all__ = [
    "DecoderConfig",
    "NoSource",
    "Rnn",
    "RnnDecoder",
    "Transformer",
    "TransformerDecoder",
    "build_decoder",
    "walking",
]

DecoderConfig = Annotated[Rnn | Transformer, Field(discriminator="kind")]


def build_decoder(
    config: Rnn | Transformer,
    input_width: int,
    encoder: Encoder | None,
    cells: list[Recurrent] | None = None,
    reach: int | None = None,
) -> RnnDecoder | TransformerDecoder:
    """Without an encoder there is no source; `cells` are those of an encoder to share with; `reach` is how many symbols
    of the target a Transformer sees at once, if not all of them."""
    if isinstance(config, Rnn):
        return RnnDecoder(config, input_width, encoder or NoSource(config), cells)
    return TransformerDecoder(config, input_width, encoder, reach)
