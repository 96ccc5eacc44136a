"""A word, its letter n-grams and the word n-grams that end with it → a vector."""

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Literal, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn

from dragoman.config import Choices, Config
from dragoman.data.tokenizers import PADDING, UNKNOWN
from dragoman.data.tokenizers.letters import ALPHABET, NO_LETTER, OTHERS
from dragoman.devices import has_sparse_gradients
from dragoman.frontends.letters import FACTOR, of_distinct
from dragoman.frontends.word_dropout import hidden_words
from dragoman.nn.dropout import Dropout

Share = Annotated[float, Field(ge=0, lt=1)]
Weighting = Literal["by_word", "by_feature"]
WEIGHTINGS: dict[Weighting, str] = {
    "by_word": "x_j = E[w_j] + Σ_g G[g] / |g of w_j| + Σ_p P[p], p ending in w_j (Bojanowski et al. 2017)",
    "by_feature": "x_j = (S / F) (E[w_j] + Σ_g G[g] + Σ_p P[p]) with F features in all S words (Joulin et al. 2017)",
}


class Ngrams(Config):
    """A learned vector for each word of a vocabulary, together with those of its letter n-grams and of word n-grams,
    which are hashed. A word outside of the vocabulary has its letter n-grams alone (Joulin et al. 2017; Bojanowski et
    al. 2017)."""

    kind: Literal["ngrams"] = "ngrams"
    width: Annotated[int, Field(ge=1, le=65_536)] = 100
    """of the vectors"""
    letters: Annotated[int, Field(ge=0, le=256)] = 24
    """of a word that are read, its start and end counted; of a longer word its first and last ones; 0: no letter
    n-grams"""
    shortest: Annotated[int, Field(ge=1, le=15)] = 3
    """letter n-gram, in letters; the start and the end of a word count as letters"""
    longest: Annotated[int, Field(ge=1, le=15)] = 5
    """letter n-gram"""
    word_ngrams: Annotated[int, Field(ge=1, le=5)] = 1
    """words of the longest word n-gram; 1: none"""
    buckets: Annotated[int, Field(ge=1, le=2**24)] = 2**16
    """vectors of letter n-grams, and as many of word n-grams: n-grams with the same hash share one"""
    weighting: Annotated[Weighting, Choices(WEIGHTINGS)] = "by_word"
    """whether all words weigh the same in a mean over a text, or all words and n-grams"""
    dropout: Share = 0.1
    """share of the vectors' elements that training leaves out"""
    word_dropout: Share = 0.0
    """share of the words whose own vector training leaves out, so that their letters must do"""

    @model_validator(mode="after")
    def _possible(self) -> "Ngrams":
        if self.longest < self.shortest:
            raise ValueError(f"longest = {self.longest} is below shortest = {self.shortest}: raise it")
        if 0 < self.letters < 3:
            raise ValueError(f"letters = {self.letters} has no room for a letter between start and end: set 3 or more")
        if 0 < self.letters < self.shortest:
            raise ValueError(f"letters = {self.letters} is below shortest = {self.shortest}: no n-gram is that short")
        return self


@runtime_checkable
class LetterSizes(Protocol):
    """How long letter n-grams are, and how many have a number of their own."""

    @property
    def shortest(self) -> int: ...
    @property
    def longest(self) -> int: ...
    @property
    def buckets(self) -> int: ...


class NgramsFrontend(nn.Module):
    """x_j = E[w_j] + mean_g G[h(g)] + Σ_p P[h(p)], g the letter n-grams of word j, p the word n-grams that end with it,
    h a hash (Joulin et al. 2017; Bojanowski et al. 2017)."""

    cells = 1  # vectors a word

    def __init__(self, config: Ngrams, size: int) -> None:
        super().__init__()
        self.config, self.width = config, config.width
        self.words = uniform(size, config.width)
        self.letters = uniform(config.buckets, config.width) if config.letters else None
        # Word n-grams start at zero: those that training has not seen are many, and must not be noise.
        phrases = config.word_ngrams > 1
        self.phrases = nn.Parameter(torch.zeros(config.buckets, config.width)) if phrases else None
        self.dropout = Dropout(config.dropout)

    def forward(
        self, values: Int[Tensor, "B S"], letters: Int[Tensor, "B S L"] | None = None
    ) -> Float[Tensor, "B S D"]:
        known = (values != PADDING) & (values != UNKNOWN)
        shown = known & ~hidden_words(values, self.config.word_dropout) if self.training else known
        sparse = has_sparse_gradients(values.device)
        vectors = F.embedding(values, self.words, sparse=sparse) * shown[:, :, None]
        counts = known.sum(1)
        if self.letters is not None:
            assert letters is not None  # noqa: S101 (its tokenizer gives them)
            found = of_distinct(self.spelled, letters)
            vectors, counts = vectors + found[:, :, :-1], counts + found[:, :, -1].sum(1)
        if self.phrases is not None:
            for numbers, real in word_ngrams(values, self.config.word_ngrams, self.config.buckets):
                vectors = vectors + F.embedding(numbers, self.phrases, sparse=sparse) * real[:, :, None]
                counts = counts + real.sum(1)
        if self.config.weighting == "by_feature":
            steps = (values != PADDING).sum(1)
            vectors = vectors * (steps / counts.clamp(min=1))[:, None, None]
        dropped: Tensor = self.dropout(vectors)
        return dropped

    def spelled(self, letters: Int[Tensor, "U L"]) -> Float[Tensor, "U D1"]:
        """Mean, or sum, of the vectors of each word's letter n-grams, and how many they are."""
        assert self.letters is not None  # noqa: S101
        numbers, real = letter_ngrams(small_letters().to(letters.device)[letters], self.config)
        counts = real.sum(1)
        mode = "mean" if self.config.weighting == "by_word" else "sum"
        starts, sparse = counts.cumsum(0) - counts, has_sparse_gradients(letters.device)
        found = F.embedding_bag(numbers[real], self.letters, starts, mode=mode, sparse=sparse)
        return torch.cat([found, counts[:, None].to(found.dtype)], 1)


def letter_ngrams(letters: Int[Tensor, "U L"], config: LetterSizes) -> tuple[Int[Tensor, "U G"], Bool[Tensor, "U G"]]:
    """Buckets of all letter n-grams of each word, and which of them there are."""
    longest = int((letters != NO_LETTER).sum(1).max().clamp(min=config.shortest))
    letters = letters[:, :longest]
    sums, numbers, real = torch.zeros_like(letters), [], []
    for size in range(1, min(config.longest, longest) + 1):
        here = letters[:, size - 1 :]
        sums = sums[:, : here.shape[1]] * FACTOR + here
        if size >= config.shortest:
            numbers.append(bucket(sums, size, config.buckets))
            real.append(here != NO_LETTER)
    return torch.cat(numbers, 1), torch.cat(real, 1)


def word_ngrams(
    values: Int[Tensor, "B S"], most: int, buckets: int
) -> Iterator[tuple[Int[Tensor, "B S"], Bool[Tensor, "B S"]]]:
    """For n = 2 … most: the bucket of the n words that end at each place, and whether there are as many."""
    sums = values
    for size in range(2, most + 1):
        sums = F.pad(sums[:, :-1], (1, 0)) * FACTOR + values
        real = (values != PADDING) & (torch.arange(values.shape[1], device=values.device) >= size - 1)
        yield bucket(sums, size, buckets), real


def bucket(sums: Int[Tensor, "*rows"], size: int, buckets: int) -> Int[Tensor, "*rows"]:
    """Of n-grams of one size, from their sums modulo 2^64."""
    mixed = (sums + size) * FACTOR
    return (mixed ^ (mixed >> 32)).remainder(buckets)


def uniform(size: int, width: int) -> nn.Parameter:
    """Vectors of variance 1 / width; number 0 has zeros."""
    bound = (3 / width) ** 0.5
    weights = nn.init.uniform_(torch.empty(size, width), -bound, bound)
    nn.init.zeros_(weights[0])
    return nn.Parameter(weights)


@cache
def small_letters() -> Int[Tensor, " alphabet"]:
    """The number of the small letter for that of each letter."""
    numbers = torch.arange(ALPHABET)
    for point in range(OTHERS):
        small = chr(point).lower()
        if len(small) == 1:
            numbers[3 + point] = 3 + ord(small) % OTHERS
    return numbers
