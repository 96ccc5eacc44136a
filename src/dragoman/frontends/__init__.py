"""Frontends: a raw sequence → vectors; they serve the source and the target side."""

from dragoman.frontends.masks import MaskVector
from dragoman.frontends.matches import Matches
from dragoman.frontends.segments import Segments
from dragoman.frontends.tokens import Tokens, TokensFrontend

__all__ = ["FrontendConfig", "MaskVector", "Matches", "Segments", "Tokens", "TokensFrontend", "build_frontend"]

FrontendConfig = Tokens


def build_frontend(config: FrontendConfig, size: int) -> TokensFrontend:
    """`size` symbols in the vocabulary, padding counted."""
    return TokensFrontend(config, size)
