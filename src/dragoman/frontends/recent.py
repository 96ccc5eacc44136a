"""The n-grams that end with each token written so far → vectors, beside those of the tokens."""

from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.contracts import State
from dragoman.data.tokenizers import PADDING
from dragoman.frontends.ngrams import word_ngrams
from dragoman.nn.dropout import Dropout
from dragoman.nn.linear import linear

TOKENS = "ngrams.tokens"  # of a state: the last tokens before the next call
SMALL = 1e-3  # of the first vectors: n-grams that training has not seen are many, and must not be noise


class RecentNgrams(Config):
    """Vectors of the n-grams that end with the last token, hashed, so that a small network knows at once what an n-gram
    model counts: x_t = E[w_t] + U Σ_n P[h(w_(t−n+1) … w_t)] (compare Mikolov et al. 2011, whose n-grams choose the next
    word directly)."""

    longest: Annotated[int, Field(ge=1, le=8)] = 1
    """tokens of the longest n-gram that has a vector; the shortest has two; 1: none has"""
    width: Annotated[int, Field(ge=1, le=65_536)] = 64
    """of the vectors of n-grams"""
    buckets: Annotated[int, Field(ge=1, le=2**24)] = 2**17
    """vectors of n-grams of all lengths: n-grams with the same hash share one"""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """share of the n-grams that training leaves out, each by itself"""


class RecentNgramsFrontend(nn.Module):
    """U Σ_n P[h(w_(t−n+1) … w_t)], n = 2 … longest, h a hash; before the first token stands padding."""

    def __init__(self, config: RecentNgrams, width: int) -> None:
        super().__init__()
        self.longest, self.buckets = config.longest, config.buckets
        self.table = nn.Parameter(torch.empty(config.buckets, config.width).uniform_(-SMALL, SMALL))
        self.up = linear(config.width, width, bias=False)
        self.dropout = Dropout(config.dropout)

    def begun(self, state: State, rows: int) -> State:
        """Before the first token."""
        like = self.table
        tokens = torch.full((rows, self.longest - 1), PADDING, dtype=torch.int64, device=like.device)
        return State({**state.moving, TOKENS: tokens}, state.fixed, state.grown)

    def forward(self, tokens: Int[Tensor, "N L"], before: Int[Tensor, "N M"]) -> Float[Tensor, "N L D"]:
        """For each token, with those before the first; none for padding."""
        found = word_ngrams(torch.cat([before, tokens], 1), self.longest, self.buckets)
        numbers = torch.stack([each[:, before.shape[1] :] for each, _ in found], 2)
        weights = (tokens != PADDING)[:, :, None].expand(numbers.shape).to(self.table.dtype)
        bags, shares = (each.flatten(0, 1) for each in (numbers, self.dropout(weights)))
        summed = F.embedding_bag(bags, self.table, mode="sum", sparse=True, per_sample_weights=shares)
        vectors: Tensor = self.up(summed)
        return vectors.view(*tokens.shape, -1)

    def after(self, tokens: Int[Tensor, "N L"], before: Int[Tensor, "N M"], state: State) -> State:
        """What the next call finds."""
        last = torch.cat([before, tokens], 1)[:, tokens.shape[1] :]
        return State({**state.moving, TOKENS: last}, state.fixed, state.grown)


def build_recent(config: RecentNgrams, width: int) -> RecentNgramsFrontend | None:
    return None if config.longest == 1 else RecentNgramsFrontend(config, width)
