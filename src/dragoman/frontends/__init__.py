"""Frontends: a raw sequence → vectors; they serve the source and the target side."""

from typing import Annotated, overload

from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor

from dragoman.contracts import Padded
from dragoman.errors import ConfigError
from dragoman.frontends.bag import Bag, BagOfNgrams
from dragoman.frontends.frames import Frames, FramesFrontend
from dragoman.frontends.image_grid import ImageGrid, ImageGridFrontend
from dragoman.frontends.masks import MaskVector
from dragoman.frontends.matches import Matches
from dragoman.frontends.neighbours import Neighbours, NeighboursFrontend
from dragoman.frontends.ngrams import Ngrams, NgramsFrontend
from dragoman.frontends.overlap import Overlap, OverlapScores, marked
from dragoman.frontends.recent import TOKENS, RecentNgrams, RecentNgramsFrontend, build_recent
from dragoman.frontends.segments import Segments
from dragoman.frontends.spelled import Spelled, SpelledFrontend
from dragoman.frontends.tokens import Tokens, TokensFrontend

__all__ = [
    "TEXTUAL",
    "TOKENS",
    "AnyFrontend",
    "Bag",
    "BagOfNgrams",
    "Frames",
    "FramesFrontend",
    "FrontendConfig",
    "ImageGrid",
    "ImageGridFrontend",
    "MaskVector",
    "Matches",
    "Neighbours",
    "NeighboursFrontend",
    "Ngrams",
    "NgramsFrontend",
    "Overlap",
    "OverlapScores",
    "RecentNgrams",
    "RecentNgramsFrontend",
    "Segments",
    "Spelled",
    "SpelledFrontend",
    "Tokens",
    "TokensFrontend",
    "build_frontend",
    "build_recent",
    "letters_read",
    "marked",
    "of_symbols",
    "symbols_in",
    "vectors_of",
]

AnyConfig = Tokens | Spelled | Ngrams | Frames | ImageGrid
FrontendConfig = Annotated[AnyConfig, Field(discriminator="kind")]
AnyFrontend = TokensFrontend | SpelledFrontend | NgramsFrontend | FramesFrontend | ImageGridFrontend
TEXTUAL = (Tokens, Spelled, Ngrams)  # what reads texts, by way of a tokenizer


@overload
def build_frontend(config: Tokens, size: int) -> TokensFrontend: ...
@overload
def build_frontend(config: Ngrams, size: int) -> NgramsFrontend: ...
@overload
def build_frontend(config: Frames, size: int) -> FramesFrontend: ...
@overload
def build_frontend(config: AnyConfig, size: int) -> AnyFrontend: ...
def build_frontend(config: AnyConfig, size: int) -> AnyFrontend:
    """`size` symbols in the vocabulary, padding counted; or so many numbers a step; of pictures it says nothing."""
    match config:
        case Tokens():
            return TokensFrontend(config, size)
        case Spelled():
            return SpelledFrontend(config, size)
        case Ngrams():
            return NgramsFrontend(config, size)
        case Frames():
            return FramesFrontend(config, size)
        case ImageGrid():
            return ImageGridFrontend(config)


def letters_read(config: object) -> int:
    """How many letters of each word a frontend reads; 0: it reads numbers of symbols alone."""
    return config.letters if isinstance(config, Spelled | Ngrams | Bag) else 0


def vectors_of(
    frontend: AnyFrontend, source: Padded, letters: Padded | None = None
) -> tuple[Float[Tensor, "B S D"], Bool[Tensor, "B S"]]:
    """What an encoder reads, and which of it is real: a symbol is a vector, a picture may be several."""
    if isinstance(frontend, NgramsFrontend):
        return frontend(source.values, None if letters is None else letters.values), source.mask
    if isinstance(frontend, SpelledFrontend):
        assert letters is not None  # noqa: S101 (its tokenizer gives them)
        return frontend(source.values, letters.values), source.mask
    mask = source.mask if frontend.cells == 1 else source.mask.repeat_interleave(frontend.cells, 1)
    return frontend(source.values), mask


def symbols_in(frontend: AnyFrontend, what: str) -> int:
    """How many symbols have a vector of their own."""
    if isinstance(frontend, NgramsFrontend):
        return len(frontend.words)
    table = frontend.words if isinstance(frontend, SpelledFrontend) else of_symbols(frontend, what).embedding
    return len(table.weight)


def of_symbols(frontend: AnyFrontend, what: str) -> TokensFrontend:
    """One that has a vector for each symbol, where there must be one."""
    if not isinstance(frontend, TokensFrontend):
        reads = (
            "the letters of words" if isinstance(frontend, SpelledFrontend | NgramsFrontend) else "pictures or numbers"
        )
        raise ConfigError(f"{what} is for symbols, and this model reads {reads} (model.source.kind).")
    return frontend
