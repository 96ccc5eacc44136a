"""Vectors of the n-grams that end with a token, with sums that can be checked by hand."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dragoman.contracts import State
from dragoman.errors import ConfigError
from dragoman.export import refuse_ngrams
from dragoman.frontends import TOKENS, RecentNgrams, RecentNgramsFrontend
from dragoman.frontends.ngrams import word_ngrams


def made(**settings: Any) -> RecentNgramsFrontend:
    """One number for each n-gram: its bucket."""
    found = RecentNgramsFrontend(RecentNgrams(longest=3, width=1, buckets=101, **settings), 1)
    found.table.data.copy_(torch.arange(101.0)[:, None])
    found.up.weight.data.fill_(1.0)
    return found


def bucket_of(*tokens: int) -> int:
    return int(list(word_ngrams(torch.tensor([tokens]), len(tokens), 101))[-1][0][0, -1])


def test_each_token_has_the_sum_of_the_ngrams_that_end_with_it() -> None:
    found = made()(torch.tensor([[5, 6]]), torch.tensor([[3, 4]]))
    assert found[0, :, 0].tolist() == [
        bucket_of(4, 5) + bucket_of(3, 4, 5),
        bucket_of(5, 6) + bucket_of(4, 5, 6),
    ]


def test_padding_has_none_and_the_next_call_finds_the_last_tokens() -> None:
    frontend = made()
    state = frontend.begun(State({"hidden": torch.zeros(1, 2)}), 1)
    assert state.moving[TOKENS].tolist() == [[0, 0]]
    assert frontend(torch.tensor([[5, 0]]), state.moving[TOKENS])[0, 1].tolist() == [0.0]
    after = frontend.after(torch.tensor([[5]]), torch.tensor([[3, 4]]), state)
    assert after.moving[TOKENS].tolist() == [[4, 5]]


def test_dropout_leaves_out_whole_ngrams() -> None:
    frontend = made(dropout=0.5).train()
    torch.manual_seed(1)
    before = torch.tensor([[3, 4]]).expand(50, -1)
    found = {round(value) for value in frontend(torch.full((50, 1), 5), before).flatten().tolist()}
    two, three = bucket_of(4, 5), bucket_of(3, 4, 5)
    assert found == {0, 2 * two, 2 * three, 2 * (two + three)}


def test_other_engines_refuse_ngrams() -> None:
    settings: Any = SimpleNamespace(model=SimpleNamespace(ngrams=RecentNgrams(longest=4)))
    with pytest.raises(
        ConfigError, match=r"CTranslate2 has no vectors of n-grams.* = 4\)\. Export it with --to folder"
    ):
        refuse_ngrams(settings, "CTranslate2")
