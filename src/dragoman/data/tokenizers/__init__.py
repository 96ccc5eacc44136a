"""Text ↔ the numbers of symbols: words, characters, or byte-pair encoding."""

from dragoman.data.tokenizers.base import END, PADDING, SPECIALS, START, UNKNOWN, UNREADABLE
from dragoman.data.tokenizers.bpe import Bpe
from dragoman.data.tokenizers.characters import Characters
from dragoman.data.tokenizers.tokenizer import Tokenizer, TokenizerConfig, train_tokenizer
from dragoman.data.tokenizers.words import Words

__all__ = [
    "END",
    "PADDING",
    "SPECIALS",
    "START",
    "UNKNOWN",
    "UNREADABLE",
    "Bpe",
    "Characters",
    "Tokenizer",
    "TokenizerConfig",
    "Words",
    "train_tokenizer",
]
