"""Attention with numbers done by hand."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dragoman.errors import ConfigError
from dragoman.nn import attention as attentions
from dragoman.nn.attention import SCORES, Additive, AdditiveAttention, Attention, attend
from dragoman.nn.attention.attend import Asked

QUERY, KEYS = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[3.0, 0.0], [0.0, 1.0], [1.0, 2.0]]])
REAL = torch.ones(1, 3, dtype=torch.bool)


def scores_of(config: attentions.Scored, weights: dict[str, list[list[float]]] | None = None) -> list[float]:
    """Of QUERY against KEYS, with these weights by name."""
    score = SCORES[type(config)](config, 2, 2)
    for name, value in (weights or {}).items():
        score.get_submodule(name).weight.data = torch.tensor(value)
    return score.scores(QUERY, score.keys(KEYS)).flatten().tolist()


@pytest.mark.parametrize(
    ("config", "weights", "expected"),
    [
        (attentions.Dot(), {}, [3.0, 2.0, 5.0]),
        (attentions.ScaledDot(), {}, [3 / math.sqrt(2), 2 / math.sqrt(2), 5 / math.sqrt(2)]),
        (attentions.ScaledDot(divisor="width"), {}, [1.5, 1.0, 2.5]),
        (attentions.ScaledDot(divisor="one"), {}, [3.0, 2.0, 5.0]),
        (attentions.General(), {"between": [[2.0, 0.0], [0.0, -1.0]]}, [6.0, -2.0, -2.0]),
        (attentions.Cosine(temperature=0.5), {}, [2 / math.sqrt(5), 4 / math.sqrt(5), 2.0]),
        (attentions.Rbf(gamma=0.5), {}, [-4.0, -1.0, 0.0]),
        (
            attentions.Concat(width=1),
            {"of_both": [[1.0, 0.0, 0.5, -1.0]], "energy": [[2.0]]},
            [2 * math.tanh(1 + 1.5), 2 * math.tanh(1 - 1.0), 2 * math.tanh(1 + 0.5 - 2)],
        ),
        (
            Additive(width=1, shared=True),
            {"of_query": [[1.0, -0.5]], "energy": [[3.0]]},
            [3 * math.tanh(4 - 1.0), 3 * math.tanh(1 - 1.5), 3 * math.tanh(2 - 2.0)],
        ),
        (
            Additive(width=1, layers=2),
            {"of_query": [[1.0, 0.0]], "of_memory": [[0.0, 1.0]], "deeper.0": [[2.0]], "energy": [[1.0]]},
            [math.tanh(2 * math.tanh(1.0)), math.tanh(2 * math.tanh(2.0)), math.tanh(2 * math.tanh(3.0))],
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, attentions.Scored) else "",
)
def test_scores_by_hand(config: attentions.Scored, weights: Any, expected: list[float]) -> None:
    assert scores_of(config, weights) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("gamma", [0.1, 0.5, 3.0])
def test_rbf_on_unit_vectors_is_cosine_at_temperature_one_over_two_gamma(gamma: float) -> None:
    """−γ‖q − k‖² = 2γ q·k − 2γ: the weights are the same, for softmax knows no constants."""
    queries, keys = (nn.functional.normalize(torch.randn(2, n, 5), dim=2) for n in (3, 4))
    found = []
    for config in (attentions.Rbf(gamma=gamma), attentions.Cosine(temperature=1 / (2 * gamma))):
        score = SCORES[type(config)](config, 5, 5)
        found.append(score.scores(queries, score.keys(keys)).softmax(2))
    torch.testing.assert_close(*found)


def test_concat_with_its_weights_split_is_additive() -> None:
    concat = attentions.ConcatAttention(attentions.Concat(width=4), 3, 5)
    additive = AdditiveAttention(Additive(width=4), 3, 5)
    additive.of_query.weight.data, additive.of_memory.weight.data = concat.of_both.weight.data.split([3, 5], 1)
    additive.energy.weight.data = concat.energy.weight.data
    queries, states = torch.randn(2, 3, 3), torch.randn(2, 6, 5)
    expected = additive.scores(queries, additive.keys(states))
    torch.testing.assert_close(concat.scores(queries, concat.keys(states)), expected)


def test_linear_keys_and_queries_with_dot_are_general() -> None:
    """(W_k h)·(W_q s) = h W_kᵀW_q s."""
    config = attentions.Dot(key="linear", query="linear", key_width=3)
    dot, general = Attention(config, 4, 5), Attention(attentions.General(), 4, 5)
    for layer in (dot.key.linear, dot.query.linear):
        layer.bias.data.zero_()
    general.score.between.weight.data = dot.query.linear.weight.data.t() @ dot.key.linear.weight.data
    states, source, mask = torch.randn(2, 3, 4), torch.randn(2, 6, 5), torch.ones(2, 6, dtype=torch.bool)
    found, expected = (some(states, *some.remember(source), mask) for some in (dot, general))
    torch.testing.assert_close(found.context, expected.context)


@pytest.mark.parametrize(("function", "expected"), [("linear", 2 * 3.0 + 1), ("sigmoid", 1 / (1 + math.exp(-7.0)))])
def test_values_of_a_function(function: str, expected: float) -> None:
    attention = Attention(attentions.Dot(value=function), 1, 1)
    attention.value.linear.weight.data.fill_(2.0)
    attention.value.linear.bias.data.fill_(1.0)
    keys, values = attention.remember(torch.tensor([[[3.0]]]))
    found = attention(torch.ones(1, 1, 1), keys, values, torch.ones(1, 1, dtype=torch.bool))
    assert found.context.item() == pytest.approx(expected)


@pytest.mark.parametrize("config", [attentions.Dot(), attentions.ScaledDot(), attentions.Cosine(), attentions.Rbf()])
def test_different_widths_are_refused_in_a_sentence(config: attentions.Scored) -> None:
    with pytest.raises(ConfigError, match="the query has 3 and the key 4"):
        Attention(config, 3, 4)
    Attention(config.changed(key="linear"), 3, 4)
    Attention(config.changed(query="sigmoid"), 3, 4)
    Attention(config.changed(query="linear", key="linear", key_width=2), 3, 4)


def test_a_shared_matrix_needs_one_width() -> None:
    with pytest.raises(ConfigError, match="Set shared = false"):
        Attention(Additive(shared=True), 3, 4)


def test_the_masked_scores_of_the_lecture() -> None:
    """A row sees what stands before it, and itself. The table's last column is the softmax of its scores divided by
    four, which is √d of keys of width 16; of the scores as they stand, the second row would be 0.42 and 0.58."""
    scores = torch.tensor(
        [[[0.11, 0.00, 0.81, 0.79], [0.19, 0.50, 0.30, 0.48], [0.53, 0.98, 0.95, 0.14], [0.81, 0.86, 0.38, 0.90]]]
    )
    mask = torch.ones(4, 4).tril().bool()
    weights = attentions.SoftmaxWeights()(scores.view(4, 1, 4) / 4, mask, asked(4)).weights[:, 0]
    expected = [[1, 0, 0, 0], [0.48, 0.52, 0, 0], [0.31, 0.35, 0.34, 0], [0.25, 0.26, 0.23, 0.26]]
    torch.testing.assert_close(weights, torch.tensor(expected), rtol=0, atol=0.005)


def asked(rows: int = 1, steps: list[int] | None = None, width: int = 1) -> Asked:
    count = len(steps) if steps else 1
    return Asked(torch.zeros(rows, count, width), None if steps is None else torch.tensor([steps] * rows))


def test_monotonic_windows_move_along_and_stay_at_the_end() -> None:
    weigh = attentions.LocalWeights(attentions.Local(position="monotonic", window=1), 1)
    mask = torch.tensor([[True, True, True, True, False]])
    found = weigh(torch.zeros(1, 4, 5), mask, asked(steps=[0, 1, 3, 9]))
    third, half = [1 / 3] * 3, [0.5] * 2
    expected = [[*half, 0, 0, 0], [*third, 0, 0], [0, 0, *half, 0], [0, 0, *half, 0]]
    torch.testing.assert_close(found.weights[0], torch.tensor(expected))
    assert found.facts["window"][0].tolist() == [[0, 0, 1], [0, 1, 2], [2, 3, 3], [2, 3, 3]]


def test_predictive_windows_have_a_bell_after_the_softmax() -> None:
    """p = S σ(v tanh(W q)), and exp(−(s − p)²/(2σ²)) with σ = D/2 on weights that are not summed to one again."""
    weigh = attentions.LocalWeights(attentions.Local(window=2), 1)
    weigh.of_query.weight.data.fill_(1.0)
    weigh.share.weight.data.fill_(1.0)
    query, length = 0.4, 6
    mask = torch.tensor([[True] * length + [False]])
    found = weigh(torch.zeros(1, 1, 7), mask, Asked(torch.tensor([[[query]]])))
    centre = length / (1 + math.exp(-math.tanh(query))) - 1  # counted from zero
    inside = [place for place in range(length) if abs(place - centre) <= 2]
    expected = [math.exp(-((place - centre) ** 2) / 2) / len(inside) if place in inside else 0.0 for place in range(7)]
    torch.testing.assert_close(found.weights, torch.tensor([[expected]]))
    assert found.facts["window"].flatten().tolist() == pytest.approx([inside[0], centre, inside[-1]])


def test_the_closest_key_has_all_the_weight_and_the_gradient_of_the_soft_one() -> None:
    weigh, mask = attentions.HardWeights(attentions.Hard(), 1).train(), torch.tensor([[True, True, True, False]])
    scores = torch.tensor([[[0.1, 2.0, 1.0, 9.0]]], requires_grad=True)
    factors = torch.tensor([1.0, -2.0, 3.0, 4.0])
    found = weigh(scores, mask, asked()).weights
    assert found.detach().flatten().tolist() == pytest.approx([0, 1, 0, 0], abs=1e-6)
    (gradient,) = torch.autograd.grad((found * factors).sum(), scores)
    soft = torch.softmax(scores.masked_fill(~mask[:, None], -torch.inf), 2)
    (expected,) = torch.autograd.grad((soft * factors).sum(), scores)
    torch.testing.assert_close(gradient, expected)
    assert weigh.eval()(scores, mask, asked()).weights.flatten().tolist() == [0, 1, 0, 0]


def test_sampled_positions_come_as_often_as_the_softmax_says() -> None:
    weigh = attentions.HardWeights(attentions.Hard(choice="sampled", expected=0.0), 1).train()
    mask, draws = torch.tensor([[True, True, True, False]]), 20_000
    scores = torch.tensor([0.0, 1.0, -1.0, 9.0]).expand(1, draws, 4)
    found = weigh(scores, mask, Asked(torch.zeros(1, draws, 1)))
    expected = torch.softmax(torch.tensor([0.0, 1.0, -1.0]), 0)
    assert found.weights.sum(2).eq(1).all()
    torch.testing.assert_close(found.weights.mean(1)[0, :3], expected, rtol=0, atol=0.02)
    chosen = found.weights.argmax(2)
    torch.testing.assert_close(found.facts["log_probability"], expected.log()[chosen])
    entropy = -(expected * expected.log()).sum().expand(1, draws)
    torch.testing.assert_close(found.facts["entropy"], entropy)
    weigh.eval()
    assert weigh(scores, mask, Asked(torch.zeros(1, draws, 1))).weights.argmax(2).eq(1).all()


def test_a_share_of_looks_takes_the_mean() -> None:
    weigh = attentions.HardWeights(attentions.Hard(choice="sampled", expected=0.3), 1).train()
    mask, looks = torch.tensor([[True, True, False]]), 10_000
    found = weigh(torch.zeros(1, looks, 3), mask, Asked(torch.zeros(1, looks, 1)))
    soft = (found.weights == torch.tensor([0.5, 0.5, 0.0])).all(2)
    assert soft.float().mean().item() == pytest.approx(0.3, abs=0.02)
    assert not found.facts["log_probability"][soft].any()  # nothing was drawn, and nothing is reinforced
    assert found.facts["log_probability"][~soft].exp().allclose(torch.tensor(0.5))


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
    found = attend(score, torch.zeros(4, 1, 1), score.keys(values), values, mask)
    assert found.context.flatten().tolist() == [2.0, 2.0, 2.0, 2.0]
    assert found.weights[:, 0].tolist() == [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


def test_a_gate_makes_the_context_smaller() -> None:
    """β = σ(w · s + b) with w = (1, 0), b = −1 and s = (1, 2): σ(0) = ½ of the context (Xu et al. 2015, 4.2.1)."""
    plain, gated = (Attention(attentions.Dot(gate=gate), 2, 2) for gate in ("none", "scalar"))
    gated.gate.weight.data, gated.gate.bias.data = torch.tensor([[1.0, 0.0]]), torch.tensor([-1.0])
    one, other = (attention(QUERY, *attention.remember(KEYS), REAL) for attention in (plain, gated))
    torch.testing.assert_close(other.context, one.context / 2)
    torch.testing.assert_close(other.weights, one.weights)


def test_rows_of_a_beam_ask_their_own_sentence() -> None:
    score = AdditiveAttention(Additive(width=5), query_width=3, memory_width=4)
    queries, values, mask = torch.randn(6, 2, 3), torch.randn(2, 7, 4), torch.ones(2, 7, dtype=torch.bool)
    found = attend(score, queries, score.keys(values), values, mask)
    copied = values.repeat_interleave(3, 0)
    expected = attend(score, queries, score.keys(copied), copied, mask.repeat_interleave(3, 0))
    torch.testing.assert_close((found.context, found.weights), (expected.context, expected.weights))


def everyone(width: int = 3) -> list[attentions.Scored]:
    return [config() for config in SCORES] + [
        Additive(layers=3, width=4),
        Additive(shared=True, width=4),
        attentions.Dot(query="sigmoid", key="sigmoid", value="sigmoid"),
        attentions.Dot(weights=attentions.Local(window=1)),
    ]


@pytest.mark.parametrize("config", everyone(), ids=str)
def test_gradients_are_those_of_differences(config: attentions.Scored) -> None:
    attention = Attention(config, 3, 3).double()
    states, source = (torch.randn(2, n, 3, dtype=torch.float64, requires_grad=True) for n in (1, 3))
    mask = torch.tensor([[True, True, True], [True, False, False]])

    def context(asked: Tensor, held: Tensor, *parameters: Tensor) -> Tensor:
        found: Tensor = attention(asked, *attention.remember(held), mask).context
        return found

    values = (states, source, *attention.parameters())
    assert torch.autograd.gradcheck(context, values, rtol=1e-5, atol=1e-7, fast_mode=True)
