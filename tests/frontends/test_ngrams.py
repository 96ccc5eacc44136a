"""Vectors of words, letter n-grams and word n-grams, with sums that can be checked by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.config import validate
from dragoman.data.tokenizers.letters import letters_of
from dragoman.errors import ConfigError
from dragoman.frontends import Ngrams, NgramsFrontend
from dragoman.frontends.ngrams import letter_ngrams, word_ngrams
from dragoman.models import EncoderOnly

LETTERS = 8
SIZES = {"width": 3, "letters": LETTERS, "shortest": 2, "longest": 3, "buckets": 10_007, "dropout": 0.0}


def spelled(*words: str) -> Tensor:
    """One row of words; an empty one has no letters, as START and END."""
    none = bytes(2 * LETTERS)
    rows = [letters_of(word, LETTERS) if word else none for word in words]
    return torch.from_numpy(np.frombuffer(b"".join(rows), np.uint16).reshape(1, -1, LETTERS).astype(np.int64))


def test_letter_ngrams_of_a_word() -> None:
    numbers, real = letter_ngrams(spelled("ab", "abc", "")[0], Ngrams(**SIZES))
    found = [set(row[there].tolist()) for row, there in zip(numbers, real, strict=True)]
    assert real.sum(1).tolist() == [5, 7, 0]  # <a ab b> <ab ab>, and <a ab bc c> <ab abc bc>
    assert len(found[0] & found[1]) == 3  # <a, ab, <ab


def test_word_ngrams_end_at_their_place() -> None:
    values = torch.tensor([[2, 7, 8, 7, 8, 3, 0]])
    (pairs, two), (triples, three) = word_ngrams(values, 3, 10_007)
    assert two[0].tolist() == [False, True, True, True, True, True, False]
    assert three[0].tolist() == [False, False, True, True, True, True, False]
    assert pairs[0, 2] == pairs[0, 4] != pairs[0, 3]  # 7 8 twice
    assert triples[0, 4] != triples[0, 2]  # 8 7 8, and 2 7 8


@torch.no_grad()
def test_a_word_outside_of_the_vocabulary_has_its_letters_alone() -> None:
    frontend = NgramsFrontend(Ngrams(**SIZES), 6).eval()
    known, unknown = frontend(torch.tensor([[4, 1, 1]]), spelled("cab", "cab", "bac"))[0, :2]
    torch.testing.assert_close(known - unknown, frontend.words[4])
    assert unknown.any()


@torch.no_grad()
def test_all_features_weigh_the_same_in_a_mean_if_asked() -> None:
    frontend = NgramsFrontend(Ngrams(**{**SIZES, "word_ngrams": 2, "weighting": "by_feature"}), 6).eval()
    assert frontend.letters is not None
    assert frontend.phrases is not None
    for table, value in ((frontend.words, 1.0), (frontend.letters, 10.0), (frontend.phrases, 100.0)):
        table.fill_(value)
    vectors = frontend(torch.tensor([[4, 5, 0]]), spelled("a", "ab", ""))
    # 2 words, 3 + 5 letter n-grams, 1 pair of words: 11 features
    assert vectors[0, :2].mean(0).tolist() == pytest.approx([(2 * 1 + 8 * 10 + 100) / 11] * 3)
    assert not vectors[0, 2].any()


@torch.no_grad()
def test_capital_letters_spell_the_same_word() -> None:
    frontend = NgramsFrontend(Ngrams(**SIZES), 6).eval()
    one, other = frontend(torch.tensor([[4, 4]]), spelled("Straße", "sTRAßE"))[0]
    torch.testing.assert_close(one, other)


def test_word_dropout_leaves_letters() -> None:
    frontend = NgramsFrontend(Ngrams(**SIZES, word_dropout=0.5), 6).train()
    torch.manual_seed(1)
    vectors = frontend(torch.full((1, 64), 4), spelled(*["cab"] * 64))[0].detach()
    assert len(vectors.unique(dim=0)) == 2
    assert vectors.any(1).all()


def test_gradients_have_the_rows_of_the_batch_only() -> None:
    frontend = NgramsFrontend(Ngrams(**SIZES, word_ngrams=2), 6).train()
    frontend(torch.tensor([[4, 5]]), spelled("a", "ab")).sum().backward()
    gradients = {name: weight.grad for name, weight in frontend.named_parameters() if weight.grad is not None}
    assert {name: len(gradient.coalesce().values()) for name, gradient in gradients.items()} == {
        "words": 2,
        "letters": 7,  # <a is in both
        "phrases": 2,  # there is no pair that ends with the first word: its row gets zeros
    }


def test_whole_gradients_are_the_same_where_a_device_has_no_sparse_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for sparse in (True, False):
        monkeypatch.setattr("dragoman.frontends.ngrams.has_sparse_gradients", lambda device, sparse=sparse: sparse)
        torch.manual_seed(1)
        frontend = NgramsFrontend(Ngrams(**SIZES, word_ngrams=2), 6)
        frontend(torch.tensor([[4, 5]]), spelled("a", "ab")).square().sum().backward()
        found.append([weight.grad for weight in frontend.parameters() if weight.grad is not None])
    for one, other in zip(*found, strict=True):
        assert (one.is_sparse, other.is_sparse) == (True, False)
        torch.testing.assert_close(one.to_dense(), other)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"head": {"kind": "tags"}}, "wide is for one answer per text, and head.kind = 'tags'"),
        ({"source": {"kind": "frames"}}, "wide reads texts, and source.kind = 'frames' reads frames"),
        ({"source": {"kind": "ngrams", "letters": 9}}, "source.letters = 9 and wide.letters = 24: set the same"),
        ({"source": {"kind": "ngrams", "letters": 2}}, "letters = 2 has no room for a letter"),
        ({"source": {"kind": "ngrams", "longest": 2}}, "longest = 2 is below shortest = 3"),
        ({"source": {"kind": "ngrams", "letters": 3, "shortest": 4}}, "letters = 3 is below shortest = 4"),
    ],
)
def test_what_cannot_be_wide_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validate(EncoderOnly, {"wide": {"kind": "ngrams"}, **changes})
