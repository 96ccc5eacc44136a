"""Models: the parts wired together."""

from dragoman.models.encoder_decoder import EncoderDecoder, EncoderDecoderModel

__all__ = ["EncoderDecoder", "EncoderDecoderModel", "ModelConfig", "build_model"]

ModelConfig = EncoderDecoder


def build_model(config: ModelConfig, source_size: int, target_size: int) -> EncoderDecoderModel:
    """With vocabularies of so many symbols, padding counted; the weights follow from torch's seed alone."""
    return EncoderDecoderModel(config, source_size, target_size)
