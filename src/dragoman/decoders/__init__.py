"""Decoders: memory and the words so far → a hidden vector for each next word."""

from dragoman.decoders.rnn import Rnn, RnnDecoder

__all__ = ["DecoderConfig", "Rnn", "RnnDecoder", "build_decoder"]

DecoderConfig = Rnn


def build_decoder(config: DecoderConfig, input_width: int, memory_width: int) -> RnnDecoder:
    return RnnDecoder(config, input_width, memory_width)
