"""Heads: hidden vectors → what is predicted."""

from typing import Annotated

from pydantic import Field

from dragoman.heads.crf import Crf, CrfHead
from dragoman.heads.labels import Labels, LabelsHead, Number, NumberHead
from dragoman.heads.points import Mixture, MixtureHead, Points, PointsHead
from dragoman.heads.pretraining import Pretraining, PretrainingHead
from dragoman.heads.spans import Spans, SpansHead
from dragoman.heads.tags import Decided, Tagging, Tags, TagsHead
from dragoman.heads.tokens import Tokens, TokensHead

__all__ = [
    "Crf",
    "CrfHead",
    "Decided",
    "HeadConfig",
    "Labels",
    "LabelsHead",
    "Mixture",
    "MixtureHead",
    "Number",
    "NumberHead",
    "Points",
    "PointsHead",
    "PointsHeadConfig",
    "Pretraining",
    "PretrainingHead",
    "ReadingHead",
    "ReadingHeadConfig",
    "Spans",
    "SpansHead",
    "Tagging",
    "Tags",
    "TagsHead",
    "Tokens",
    "TokensHead",
    "build_head",
    "build_points_head",
    "build_reading_head",
]

HeadConfig = Tokens
AnyReadingHead = Labels | Number | Tags | Crf | Spans | Pretraining
ReadingHeadConfig = Annotated[AnyReadingHead, Field(discriminator="kind")]
PointsHeadConfig = Annotated[Points | Mixture, Field(discriminator="kind")]
ReadingHead = LabelsHead | NumberHead | TagsHead | CrfHead | SpansHead | PretrainingHead


def build_head(config: HeadConfig, width: int, size: int) -> TokensHead:
    """`size` symbols in the vocabulary, padding counted."""
    return TokensHead(config, width, size)


def build_reading_head(config: AnyReadingHead, width: int, size: int, vectors: int = 0) -> ReadingHead:
    """Of a model that writes nothing: `size` labels, or tags; or symbols, of which each has a vector so wide."""
    match config:
        case Labels():
            return LabelsHead(config, width, size)
        case Number():
            return NumberHead(config, width)
        case Tags():
            return TagsHead(config, width, size)
        case Crf():
            return CrfHead(config, width, size)
        case Spans():
            return SpansHead(config, width)
        case Pretraining():
            return PretrainingHead(config, width, vectors, size)


def build_points_head(config: Points | Mixture, width: int, size: int) -> PointsHead | MixtureHead:
    """Of a model that goes on with a track: `size` features are predicted."""
    return MixtureHead(config, width, size) if isinstance(config, Mixture) else PointsHead(config, width, size)
