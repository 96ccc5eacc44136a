"""Two passes over one batch with different dropout, whose distributions should agree (R-Drop; Wu et al. 2021)."""

import math

import pytest
import torch
from torch import Tensor

from dragoman import decoders, encoders, frontends
from dragoman.contracts import Batch, Output, Padded, Target
from dragoman.data.collate import collate_sources
from dragoman.data.tokenizers import END
from dragoman.errors import ConfigError
from dragoman.heads import Tokens, build_head
from dragoman.models import EncoderDecoder, EncoderDecoderModel, build_model
from dragoman.nn import softmax
from dragoman.objectives import CrossEntropy, CrossEntropyObjective, build_objective
from dragoman.recipes import compose
from dragoman.regimes import Teacher, build_regime
from dragoman.training.learner import Learner

ENCODERS = (
    encoders.Rnn(width=3),
    encoders.Hierarchical(words=encoders.Rnn(width=3), turns=encoders.Rnn(width=5, directions="one")),
    encoders.Transformer(layers=1, heads=2, feed_forward=8, dropout=0.0),
)


def model_of(encoder: encoders.EncoderConfig, dropout: float = 0.0) -> EncoderDecoderModel:
    torch.manual_seed(3)
    source, target = frontends.Tokens(width=4, dropout=dropout), frontends.Tokens(width=3, dropout=0.0)
    decoder = decoders.Rnn(width=6, dropout=0.0)
    model = build_model(EncoderDecoder(source=source, target=target, encoder=encoder, decoder=decoder), 9, 9)
    assert isinstance(model, EncoderDecoderModel)
    return model


def batch_of() -> Batch:
    sources = collate_sources([[5, 6, END, 7], [8], [5, 6, END, 4, 4]]).sources
    values, mask = torch.tensor([[4, 3, 0], [5, 6, 3], [7, 3, 0]]), torch.tensor([[1, 1, 0], [1, 1, 1], [1, 1, 0]]) > 0
    inputs = Padded(torch.tensor([[2, 4, 0], [2, 5, 6], [2, 7, 0]]), mask)
    return Batch((1, 2, 3), sources, Target(inputs, Padded(values, mask), mask.flatten().nonzero().squeeze(1)))


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda one: one.kind)
@torch.no_grad()
def test_a_doubled_batch_is_the_batch_twice(encoder: encoders.EncoderConfig) -> None:
    model, regime, batch = model_of(encoder).eval(), build_regime(Teacher()), batch_of()
    once, twice = (regime(model, one, 1).hidden for one in (batch, batch.doubled()))
    torch.testing.assert_close(twice, torch.cat([once, once]), rtol=0, atol=1e-6)
    objective = CrossEntropyObjective(CrossEntropy())
    one, both = (objective(Output(hidden), model.head, each)["cross_entropy"]
                 for hidden, each in ((once, batch), (twice, batch.doubled())))  # fmt: skip
    assert (both.total.item(), both.count) == (pytest.approx(2 * one.total.item(), rel=1e-6), 2 * one.count)


def gradients(consistency: float, dropout: float) -> dict[str, Tensor]:
    objective = build_objective(CrossEntropy(consistency=consistency))
    learner = Learner(model_of(ENCODERS[0], dropout).train(), build_regime(Teacher()), objective)
    torch.manual_seed(1)
    losses = learner(batch_of(), 1)
    assert {name: loss.count for name, loss in losses.items()} == dict.fromkeys(losses, batch_of().target_tokens)
    torch.stack([loss.total for loss in losses.values()]).sum().backward()
    return {name: weight.grad for name, weight in learner.named_parameters() if weight.grad is not None}


def test_passes_without_dropout_agree() -> None:
    once, twice = gradients(0.0, 0.0), gradients(3.0, 0.0)
    for name, gradient in once.items():
        torch.testing.assert_close(twice[name], gradient, rtol=1e-4, atol=1e-6)


def test_passes_with_dropout_differ() -> None:
    weak, strong = gradients(1e-6, 0.5), gradients(100.0, 0.5)
    assert any(not torch.allclose(weak[name], strong[name], rtol=0.1, atol=1e-3) for name in weak)


def test_chunks_of_logits_have_the_same_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, weight, bias = (torch.randn(*shape, requires_grad=True) for shape in ((5, 3), (5, 3), (7, 3), (7,)))
    found = []
    for largest in (2**23, 2 * 7 * 2):  # whole; two rows at a time
        monkeypatch.setattr(softmax, "LARGEST_CHUNK", largest)
        total = softmax.linear_divergence(first, second, weight, bias)
        found.append((total, *torch.autograd.grad(total, (first, second, weight, bias))))
    for whole, parts in zip(*found, strict=True):
        torch.testing.assert_close(parts, whole, rtol=1e-5, atol=1e-6)


def test_scheduled_sampling_has_no_second_pass() -> None:
    with pytest.raises(ConfigError, match="compares two forward passes over the same target"):
        compose("g2p", "tiny", overrides=["regime.kind=free", "objective.consistency=1"])


def test_the_difference_is_that_of_two_distributions() -> None:
    head = build_head(Tokens(bias=False), 2, 2)
    head.output.weight.data = torch.eye(2)
    outputs = Padded(torch.tensor([[1]]), torch.tensor([[True]]))
    batch = Batch((1,), {}, Target(outputs, outputs, torch.tensor([0]))).doubled()
    hidden = torch.tensor([[[0.5, 0.5]], [[0.75, 0.25]]]).log()
    losses = CrossEntropyObjective(CrossEntropy(smoothing=0.0, consistency=2.0)).consistent(Output(hidden), head, batch)
    # (1/2 − 3/4)(ln 1/2 − ln 3/4) + (1/2 − 1/4)(ln 1/2 − ln 1/4) = ln(3) / 4, times 2 / 4
    assert losses["consistency"].total.item() == pytest.approx(math.log(3) / 8)
    assert losses["consistency"].auxiliary
    assert losses["cross_entropy"].total.item() == pytest.approx((math.log(2) + math.log(4)) / 2)
    assert {loss.count for loss in losses.values()} == {1}
