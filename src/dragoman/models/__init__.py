"""Models: the parts wired together."""

from typing import Annotated, overload

from pydantic import Field

from dragoman.models.decoder_only import DecoderOnly, DecoderOnlyModel
from dragoman.models.encoder_decoder import EncoderDecoder, EncoderDecoderModel
from dragoman.models.encoder_only import EncoderOnly, EncoderOnlyModel

__all__ = [
    "DecoderOnly",
    "DecoderOnlyModel",
    "EncoderDecoder",
    "EncoderDecoderModel",
    "EncoderOnly",
    "EncoderOnlyModel",
    "Model",
    "ModelConfig",
    "WritingModel",
    "build_model",
]

ModelConfig = Annotated[EncoderDecoder | DecoderOnly | EncoderOnly, Field(discriminator="kind")]
WritingModel = EncoderDecoderModel | DecoderOnlyModel
Model = WritingModel | EncoderOnlyModel


@overload
def build_model(config: EncoderDecoder | DecoderOnly, source_size: int, target_size: int) -> WritingModel: ...
@overload
def build_model(config: EncoderDecoder | DecoderOnly | EncoderOnly, source_size: int, target_size: int) -> Model: ...
def build_model(config: EncoderDecoder | DecoderOnly | EncoderOnly, source_size: int, target_size: int) -> Model:
    """With vocabularies of so many symbols, padding counted, or so many labels in place of the target's; the weights
    follow from torch's seed alone."""
    if isinstance(config, DecoderOnly):
        return DecoderOnlyModel(config, target_size)
    if isinstance(config, EncoderOnly):
        return EncoderOnlyModel(config, source_size, target_size)
    return EncoderDecoderModel(config, source_size, target_size)
