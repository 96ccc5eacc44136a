"""Encoders: vectors → what the decoder may look at."""

from dragoman.encoders.rnn import Rnn, RnnEncoder

__all__ = ["EncoderConfig", "Rnn", "RnnEncoder", "build_encoder"]

EncoderConfig = Rnn


def build_encoder(config: EncoderConfig, input_width: int) -> RnnEncoder:
    return RnnEncoder(config, input_width)
