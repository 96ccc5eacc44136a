"""Text ↔ the numbers of symbols: words, characters, bytes, or pieces of words."""

from dragoman.data.tokenizers.base import END, PADDING, SPECIALS, START, UNKNOWN, UNREADABLE, Sampler
from dragoman.data.tokenizers.bpe import Bpe
from dragoman.data.tokenizers.bytes import Bytes
from dragoman.data.tokenizers.characters import Characters
from dragoman.data.tokenizers.conversation import Conversation
from dragoman.data.tokenizers.features import Features
from dragoman.data.tokenizers.file import File
from dragoman.data.tokenizers.tokenizer import (
    Place,
    Placed,
    Shared,
    TargetConfig,
    Tokenizer,
    TokenizerConfig,
    train_tokenizer,
)
from dragoman.data.tokenizers.unigram import Unigram
from dragoman.data.tokenizers.wordpiece import WordPiece
from dragoman.data.tokenizers.wordpunct import Wordpunct
from dragoman.data.tokenizers.words import Words

__all__ = [
    "END",
    "PADDING",
    "SPECIALS",
    "START",
    "UNKNOWN",
    "UNREADABLE",
    "Bpe",
    "Bytes",
    "Characters",
    "Conversation",
    "Features",
    "File",
    "Place",
    "Placed",
    "Sampler",
    "Shared",
    "TargetConfig",
    "Tokenizer",
    "TokenizerConfig",
    "Unigram",
    "WordPiece",
    "Wordpunct",
    "Words",
    "train_tokenizer",
]
