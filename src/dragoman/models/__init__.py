"""Models: the parts wired together."""

from typing import Annotated

from pydantic import Field

from dragoman.models.decoder_only import DecoderOnly, DecoderOnlyModel
from dragoman.models.encoder_decoder import EncoderDecoder, EncoderDecoderModel

__all__ = [
    "DecoderOnly",
    "DecoderOnlyModel",
    "EncoderDecoder",
    "EncoderDecoderModel",
    "Model",
    "ModelConfig",
    "build_model",
]

ModelConfig = Annotated[EncoderDecoder | DecoderOnly, Field(discriminator="kind")]
Model = EncoderDecoderModel | DecoderOnlyModel


def build_model(config: EncoderDecoder | DecoderOnly, source_size: int, target_size: int) -> Model:
    """With vocabularies of so many symbols, padding counted; the weights follow from torch's seed alone."""
    if isinstance(config, DecoderOnly):
        return DecoderOnlyModel(config, target_size)
    return EncoderDecoderModel(config, source_size, target_size)
