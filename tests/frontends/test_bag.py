"""Scores of a bag of n-grams, with sums that can be checked by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman import encoders, frontends, heads
from dragoman.contracts import Output
from dragoman.data.labelled import collate_texts
from dragoman.data.tokenizers import PADDING, UNKNOWN
from dragoman.data.tokenizers.letters import letters_of
from dragoman.frontends import Bag, BagOfNgrams
from dragoman.frontends.bag import SCALE
from dragoman.frontends.ngrams import bucket
from dragoman.heads.labels import BAG
from dragoman.models import EncoderOnly, EncoderOnlyModel, build_model

LETTERS = 8


def spelled(*words: str) -> Tensor:
    rows = [letters_of(word, LETTERS) if word else bytes(2 * LETTERS) for word in words]
    return torch.from_numpy(np.frombuffer(b"".join(rows), np.uint16).reshape(1, -1, LETTERS).astype(np.int64))


def bag(**settings: float) -> BagOfNgrams:
    return BagOfNgrams(Bag(**{"letters": 0, "buckets": 10_007, "dropout": 0.0, **settings}), 2).eval()  # type: ignore[arg-type]


@torch.no_grad()
def test_words_and_pairs_are_summed_and_divided_by_the_root_of_their_number() -> None:
    model = bag()
    assert not model(torch.tensor([[4, 5]])).any()  # nothing is known yet
    model.weights[bucket(torch.tensor(4), 1, 10_007)] = torch.tensor([1.0, -2.0])
    found = model(torch.tensor([[4, 5, PADDING], [4, 4, UNKNOWN]]))
    # two words and a pair; two words and two pairs, of which the last ends with an unknown word
    expected = SCALE * torch.tensor([[1 / 3**0.5, -2 / 3**0.5], [2 / 4**0.5, -4 / 4**0.5]])
    torch.testing.assert_close(found, expected)


@torch.no_grad()
def test_letters_of_unknown_words_count() -> None:
    model = bag(letters=LETTERS, shortest=2, longest=2, word_ngrams=1)
    model.weights.fill_(1.0)
    found = model(torch.tensor([[4, UNKNOWN]]), spelled("ab", "abc"))
    torch.testing.assert_close(found[0], torch.full((2,), SCALE * (1 + 7**0.5)))  # 4; <a ab b>, and <a ab bc c>


def test_gradients_have_the_rows_of_the_batch_only() -> None:
    model = bag(letters=LETTERS, shortest=2, longest=2).train()
    model(torch.tensor([[4, 5]]), spelled("a", "ab")).sum().backward()  # type: ignore[no-untyped-call]
    assert model.weights.grad is not None
    assert len(model.weights.grad.coalesce().values()) == 7  # 4, 5, 4 5, <a, a>, ab, b>


def two_parts(head: heads.Labels | heads.Number) -> EncoderOnlyModel:
    source, encoder = frontends.Tokens(width=4), encoders.Rnn(width=3, directions="both")
    model = build_model(EncoderOnly(source=source, encoder=encoder, bag=Bag(letters=0), head=head), 9, 2)
    assert isinstance(model, EncoderOnlyModel)
    return model.eval()


@torch.no_grad()
def test_probabilities_of_both_parts_are_multiplied() -> None:
    model = two_parts(heads.Labels())
    hidden, scores = torch.ones(1, 1, 6), torch.tensor([[[0.3, 2.0]]])
    alone = model.head.log_probabilities(Output(hidden)).exp()  # type: ignore[union-attr]
    product = alone * scores.softmax(-1)
    found = model.head.log_probabilities(Output(hidden, extras={BAG: scores})).exp()  # type: ignore[union-attr]
    torch.testing.assert_close(found, product / product.sum())


@torch.no_grad()
def test_numbers_of_both_parts_have_their_mean() -> None:
    model = two_parts(heads.Number())
    assert model.bag is not None
    batch = collate_texts([[4, 5]])
    before = float(model.head.numbers(model.read(batch)))  # type: ignore[union-attr]
    model.bag.weights.fill_(1.0)
    features = 4 + 3  # START 4 5 END, and the pairs of these
    after = float(model.head.numbers(model.read(batch)))  # type: ignore[union-attr]
    assert after - before == pytest.approx(SCALE * features**0.5 / 2, rel=1e-5)
