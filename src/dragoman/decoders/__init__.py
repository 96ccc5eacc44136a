"""Decoders: memory and the words so far → a hidden vector for each next word."""

from dragoman.contracts import Encoder
from dragoman.decoders.rnn import Rnn, RnnDecoder
from dragoman.nn.recurrent import Recurrent

__all__ = ["DecoderConfig", "Rnn", "RnnDecoder", "build_decoder"]

DecoderConfig = Rnn


def build_decoder(
    config: DecoderConfig, input_width: int, encoder: Encoder, cells: list[Recurrent] | None = None
) -> RnnDecoder:
    """`cells` are those of an encoder to share with."""
    return RnnDecoder(config, input_width, encoder, cells)
