"""Models: the parts wired together."""

from typing import Annotated, overload

from pydantic import Field

from dragoman.frontends import TEXTUAL, Tokens
from dragoman.models.decoder_only import DecoderOnly, DecoderOnlyModel
from dragoman.models.encoder_decoder import EncoderDecoder, EncoderDecoderModel
from dragoman.models.encoder_only import EncoderOnly, EncoderOnlyModel
from dragoman.models.forecaster import Forecaster, ForecasterModel, Sizes

__all__ = [
    "DecoderOnly",
    "DecoderOnlyModel",
    "EncoderDecoder",
    "EncoderDecoderModel",
    "EncoderOnly",
    "EncoderOnlyModel",
    "Forecaster",
    "ForecasterModel",
    "Model",
    "ModelConfig",
    "Sizes",
    "WritingModel",
    "build_model",
    "text_sides",
]

AnyModelConfig = EncoderDecoder | DecoderOnly | EncoderOnly | Forecaster
ModelConfig = Annotated[AnyModelConfig, Field(discriminator="kind")]
WritingModel = EncoderDecoderModel | DecoderOnlyModel
Model = WritingModel | EncoderOnlyModel | ForecasterModel


@overload
def build_model(config: EncoderDecoder | DecoderOnly, source_size: int, target_size: int) -> WritingModel: ...
@overload
def build_model(config: AnyModelConfig, source_size: int, target_size: int, sizes: Sizes | None = None) -> Model: ...
def build_model(config: AnyModelConfig, source_size: int, target_size: int, sizes: Sizes | None = None) -> Model:
    """With vocabularies of so many symbols, padding counted, or so many labels in place of the target's; of tracks,
    with so many numbers a step. The weights follow from torch's seed alone."""
    if isinstance(config, Forecaster):
        assert sizes is not None  # noqa: S101 (whoever has tracks knows their features)
        return ForecasterModel(config, sizes)
    if isinstance(config, DecoderOnly):
        return DecoderOnlyModel(config, target_size)
    if isinstance(config, EncoderOnly):
        return EncoderOnlyModel(config, source_size, target_size)
    return EncoderDecoderModel(config, source_size, target_size)


def text_sides(config: AnyModelConfig) -> tuple[str, ...]:
    """The sides of a model that are texts, and so have a tokenizer. A model that only reads, or only writes, has one,
    which stands on both; numbers and pictures have none."""
    if isinstance(config, EncoderDecoder):
        return tuple(side for side in ("source", "target") if isinstance(getattr(config, side), Tokens))
    if isinstance(config, Forecaster):
        return ()
    frontend = config.target if isinstance(config, DecoderOnly) else config.source
    return ("source", "target") if isinstance(frontend, TEXTUAL) else ()
