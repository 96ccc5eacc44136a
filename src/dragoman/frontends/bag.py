"""The words, letter n-grams and word n-grams of a text → scores of its labels, as a linear model has them."""

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.data.tokenizers import PADDING, UNKNOWN
from dragoman.devices import has_sparse_gradients
from dragoman.frontends.letters import of_distinct
from dragoman.frontends.ngrams import Share, bucket, letter_ngrams, small_letters, word_ngrams
from dragoman.frontends.word_dropout import hidden_words

SCALE = 10.0  # of the scores: at the rates of an encoder, a linear model would learn too slowly


class Bag(Config):
    """A linear model over words, letter n-grams and word n-grams, which are hashed. It has a loss of its own, and its
    probabilities are multiplied with those of the encoder's part (Weinberger et al. 2009; Hinton 2002)."""

    kind: Literal["bag"] = "bag"
    letters: Annotated[int, Field(ge=0, le=256)] = 24
    """of a word that are read, its start and end counted; of a longer word its first and last ones; 0: no letter
    n-grams"""
    shortest: Annotated[int, Field(ge=1, le=15)] = 2
    """letter n-gram, in letters; the start and the end of a word count as letters"""
    longest: Annotated[int, Field(ge=1, le=15)] = 5
    """letter n-gram"""
    word_ngrams: Annotated[int, Field(ge=1, le=5)] = 2
    """words of the longest word n-gram; 1: single words"""
    buckets: Annotated[int, Field(ge=1, le=2**24)] = 2**16
    """weights of each label: what has the same hash shares one"""
    dropout: Share = 0.1
    """share of the words that training leaves out, with their letters"""


class BagOfNgrams(nn.Module):
    """s = 10 Σ_f W[h(f)] / √F + 10 Σ_g W[h(g)] / √G of the F words and word n-grams f and the G letter n-grams g of a
    text, h a hash. All weights are zero at first: what training has not seen counts for nothing (Weinberger et al.
    2009)."""

    def __init__(self, config: Bag, outputs: int) -> None:
        super().__init__()
        self.config = config
        self.weights = nn.Parameter(torch.zeros(config.buckets, outputs))

    def forward(self, values: Int[Tensor, "B S"], letters: Int[Tensor, "B S L"] | None = None) -> Float[Tensor, "B C"]:
        shown = values != PADDING
        if self.training:
            shown = shown & ~hidden_words(values, self.config.dropout)
        known = shown & (values != UNKNOWN)
        sparse = has_sparse_gradients(values.device)
        found = [(F.embedding(bucket(values, 1, self.config.buckets), self.weights, sparse=sparse), known)]
        for numbers, real in word_ngrams(values, self.config.word_ngrams, self.config.buckets):
            found.append((F.embedding(numbers, self.weights, sparse=sparse), real & shown))
        total = torch.stack([(vectors * real[:, :, None]).sum(1) for vectors, real in found]).sum(0)
        count = torch.stack([real.sum(1) for _, real in found]).sum(0)
        scores = scaled(total, count)
        if self.config.letters:
            assert letters is not None  # noqa: S101 (its tokenizer gives them)
            spelled = (of_distinct(self.spelled, letters) * shown[:, :, None]).sum(1)
            scores = scores + scaled(spelled[:, :-1], spelled[:, -1])
        return scores

    def spelled(self, letters: Int[Tensor, "U L"]) -> Float[Tensor, "U C1"]:
        """The sum of the weights of each word's letter n-grams, and how many they are."""
        numbers, real = letter_ngrams(small_letters().to(letters.device)[letters], self.config)
        counts = real.sum(1)
        starts, sparse = counts.cumsum(0) - counts, has_sparse_gradients(letters.device)
        found = F.embedding_bag(numbers[real], self.weights, starts, mode="sum", sparse=sparse)
        return torch.cat([found, counts[:, None].to(found.dtype)], 1)


def scaled(total: Float[Tensor, "B C"], count: Float[Tensor, " B"] | Int[Tensor, " B"]) -> Float[Tensor, "B C"]:
    """Of features that are all there or not, so that their vector has the same length in short and long texts."""
    return SCALE * total / count.clamp(min=1).sqrt()[:, None]
