"""Heads: hidden vectors → what is predicted."""

from dragoman.heads.tokens import Tokens, TokensHead

__all__ = ["HeadConfig", "Tokens", "TokensHead", "build_head"]

HeadConfig = Tokens


def build_head(config: HeadConfig, width: int, size: int) -> TokensHead:
    """`size` symbols in the vocabulary, padding counted."""
    return TokensHead(config, width, size)
