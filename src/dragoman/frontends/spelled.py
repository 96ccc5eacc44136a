"""A word and its letters → a vector."""

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.data.tokenizers import UNKNOWN
from dragoman.data.tokenizers.letters import ALPHABET, NO_LETTER
from dragoman.frontends.letters import of_distinct
from dragoman.frontends.word_dropout import hidden_words
from dragoman.nn.dropout import Dropout
from dragoman.nn.linear import linear

LEAST = -1e4  # of a filter where there is no letter; half precision can hold it
Share = Annotated[float, Field(ge=0, lt=1)]
Size = Annotated[int, Field(ge=1, le=65_536)]


class Spelled(Config):
    """A learned vector for each word of a vocabulary, beside one that a convolution reads from its letters, which words
    outside of the vocabulary have too (Ma and Hovy 2016)."""

    kind: Literal["spelled"] = "spelled"
    width: Size = 100
    """of the vectors of words"""
    letter_width: Size = 30
    """of the vectors of letters"""
    filters: Size = 50
    """of the convolution: elements of the vector that is read from letters"""
    window: Annotated[int, Field(ge=1, le=15)] = 3
    """letters that a filter sees at once; an odd number"""
    letters: Annotated[int, Field(ge=3, le=256)] = 24
    """of a word that are read, its start and end counted; of a longer word its first and last ones"""
    dropout: Share = 0.3
    """share of the vectors' elements that training leaves out"""
    word_dropout: Share = 0.0
    """share of the words that training replaces by <unk>, so that their letters must do (Lample et al. 2016, 4.3)"""


class SpelledFrontend(nn.Module):
    """x_j = [E[word_j]; max_i tanh(W [c_{i−1}; c_i; c_{i+1}] + b)] with vectors c of the letters of word j (Ma and Hovy
    2016, 2.1; Chiu and Nichols 2016)."""

    cells = 1  # vectors a word

    def __init__(self, config: Spelled, size: int) -> None:
        super().__init__()
        self.width = config.width + config.filters
        self.words = nn.Embedding(size, config.width, padding_idx=0, _weight=table(size, config.width))
        shape = (ALPHABET, config.letter_width)
        self.letters = nn.Embedding(*shape, padding_idx=NO_LETTER, _weight=table(*shape))
        self.window, self.convolution = config.window, linear(config.window * config.letter_width, config.filters)
        self.dropout, self.word_dropout = Dropout(config.dropout), config.word_dropout

    def forward(self, values: Int[Tensor, "B S"], letters: Int[Tensor, "B S L"]) -> Float[Tensor, "B S D"]:
        words = self.words(self.thinned(values))
        vectors: Tensor = self.dropout(torch.cat([words, of_distinct(self.read, letters)], 2))
        return vectors

    def thinned(self, values: Int[Tensor, "B S"]) -> Int[Tensor, "B S"]:
        """Some words are <unk> in training."""
        if not (self.training and self.word_dropout):
            return values
        return values.masked_fill(hidden_words(values, self.word_dropout), UNKNOWN)

    def read(self, letters: Int[Tensor, "U L"]) -> Float[Tensor, "U D"]:
        """One vector from the letters of each word; what has no letters has zeros."""
        longest = int((letters != NO_LETTER).sum(1).max().clamp(min=1))
        letters = letters[:, :longest]
        around = self.window // 2
        vectors = F.pad(self.letters(letters), (0, 0, around, self.window - 1 - around))
        seen = vectors.unfold(1, self.window, 1).flatten(2)
        real = (letters != NO_LETTER)[:, :, None]
        largest = self.convolution(seen).masked_fill(~real, LEAST).amax(1)
        return torch.tanh(largest) * real.any(1)  # tanh of the largest is the largest tanh, and fewer of them


def table(size: int, width: int) -> Float[Tensor, "size width"]:
    """Vectors of variance 1 / width; number 0 has zeros."""
    bound = (3 / width) ** 0.5
    weights = nn.init.uniform_(torch.empty(size, width), -bound, bound)
    nn.init.zeros_(weights[0])
    return weights
