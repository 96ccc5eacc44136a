"""Attention with numbers done by hand."""

import math

import torch

from dragoman.nn.attention import Additive, AdditiveAttention, attend


def by_hand() -> AdditiveAttention:
    """energy = 1 · tanh(query + memory) − 2 · tanh(memory), on vectors of one number."""
    score = AdditiveAttention(Additive(width=2), query_width=1, memory_width=1)
    score.of_query.weight.data = torch.tensor([[1.0], [0.0]])
    score.of_memory.weight.data = torch.tensor([[1.0], [1.0]])
    score.energy.weight.data = torch.tensor([[1.0, -2.0]])
    return score


def test_additive_energy() -> None:
    score = by_hand()
    keys = score.keys(torch.tensor([[[0.0], [0.5], [1.0]]]))
    energies = score.scores(torch.tensor([[[0.5], [-1.0]]]), keys)
    expected = [
        [math.tanh(0.5), math.tanh(1.0) - 2 * math.tanh(0.5), math.tanh(1.5) - 2 * math.tanh(1.0)],
        [math.tanh(-1.0), math.tanh(-0.5) - 2 * math.tanh(0.5), -2 * math.tanh(1.0)],
    ]
    torch.testing.assert_close(energies, torch.tensor([expected]))


def test_the_context_is_the_weighted_sum_of_real_values() -> None:
    score = by_hand()
    score.energy.weight.data.zero_()  # equal energies: the mean of what is real
    values = torch.tensor([[[1.0], [3.0], [8.0]], [[2.0], [5.0], [5.0]]])
    mask = torch.tensor([[True, True, False], [True, False, False]])
    context, weights = attend(score, torch.zeros(4, 1, 1), score.keys(values), values, mask)
    assert context.flatten().tolist() == [2.0, 2.0, 2.0, 2.0]
    assert weights[:, 0].tolist() == [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


def test_rows_of_a_beam_ask_their_own_sentence() -> None:
    score = AdditiveAttention(Additive(width=5), query_width=3, memory_width=4)
    queries, values, mask = torch.randn(6, 2, 3), torch.randn(2, 7, 4), torch.ones(2, 7, dtype=torch.bool)
    context, weights = attend(score, queries, score.keys(values), values, mask)
    copied = values.repeat_interleave(3, 0)
    expected = attend(score, queries, score.keys(copied), copied, mask.repeat_interleave(3, 0))
    torch.testing.assert_close((context, weights), expected)


def test_gradients_are_those_of_differences() -> None:
    score = AdditiveAttention(Additive(width=5), query_width=3, memory_width=4).double()
    queries, values = (torch.randn(2, n, d, dtype=torch.float64, requires_grad=True) for n, d in ((1, 3), (3, 4)))
    mask = torch.tensor([[True, True, True], [True, False, False]])

    def context(asked: torch.Tensor, held: torch.Tensor, *parameters: torch.Tensor) -> torch.Tensor:
        return attend(score, asked, score.keys(held), held, mask)[0]

    assert torch.autograd.gradcheck(context, (queries, values, *score.parameters()), rtol=1e-6, atol=1e-8)
