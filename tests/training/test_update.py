"""One update: micro-batches, one division, a finite gradient or none at all."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dragoman.contracts import Batch, Loss
from dragoman.data.chunk import Chunk, offsets
from dragoman.errors import NumericalError, OutOfMemoryError
from dragoman.experiment import train
from dragoman.models import build_model
from dragoman.objectives import CrossEntropy, build_objective
from dragoman.recipes import compose
from dragoman.regimes import Teacher, build_regime
from dragoman.training import fit
from dragoman.training.events import Event, Finished, Skipped, Stepped, Validated, Warned
from dragoman.training.learner import Learner
from dragoman.training.update import Draw, Updated, clipped, update
from tiny import Corpus, bits, of_kind, run_all, state, tiny

CPU = torch.device("cpu")


def learner() -> Learner:
    torch.manual_seed(5)
    model = build_model(compose("g2p", "tiny").settings.model, 7, 8)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return Learner(model, build_regime(Teacher()), build_objective(CrossEntropy())).double()


def chunk(lengths: list[int]) -> Chunk:
    """Sources of these lengths, targets one longer, on lines 11, 12, …"""
    sources, targets = np.array(lengths), np.array(lengths) + 1
    source, target = (np.arange(total.sum()) % 3 + 4 for total in (sources, targets))
    return Chunk(source, offsets(sources), target, offsets(targets), np.arange(len(lengths)) + 11)


def draw(lengths: list[int], *indices: int) -> Draw:
    return Draw(chunk(lengths), np.array(indices or range(len(lengths))))


def step(module: Learner, draws: list[Draw], clip: float = 0.0, parts: int = 1, rate: float = 1.0) -> Updated:
    """Plain descent at rate 1: the weights move by minus the gradient."""
    optimiser = torch.optim.SGD(module.parameters(), rate)
    return update(module, optimiser, draws, seed=1, step=1, clip=clip, parts=parts, device=CPU)


def weights(module: nn.Module) -> Tensor:
    return nn.utils.parameters_to_vector(module.parameters()).detach().clone()


LENGTHS = [1, 5, 2, 4, 3, 3, 1]


@pytest.fixture
def whole() -> tuple[Tensor, Updated]:
    """The weights after one update with all seven examples side by side."""
    module = learner()
    result = step(module, [draw(LENGTHS)])
    return weights(module), result


def test_the_loss_is_the_mean_over_tokens(whole: tuple[Tensor, Updated]) -> None:
    result = whole[1]
    assert result.target_tokens == sum(LENGTHS) + 2 * len(LENGTHS)  # each target is one longer and ends with END
    assert result.examples == tuple(range(11, 18))
    assert result.loss == pytest.approx(math.log(8), rel=0.1)  # eight symbols, nothing learned


@pytest.mark.parametrize("cut", [1, 3, 6])
def test_unequal_micro_batches_are_one_batch(whole: tuple[Tensor, Updated], cut: int) -> None:
    module = learner()
    numbers = list(range(7))
    result = step(module, [draw(LENGTHS, *numbers[:cut]), draw(LENGTHS, *numbers[cut:])])
    torch.testing.assert_close(weights(module), whole[0], rtol=0, atol=1e-12)
    assert result.loss == pytest.approx(whole[1].loss, abs=1e-12)
    assert result.target_tokens == whole[1].target_tokens


@pytest.mark.parametrize("clip", [0.01, 0.5])
def test_the_gradient_is_clipped(clip: float) -> None:
    module = learner()
    before = weights(module)
    result = step(module, [draw(LENGTHS)], clip)
    assert result.gradient_norm > clip  # what is reported is the norm before
    assert float((weights(module) - before).norm()) == pytest.approx(clip, rel=1e-4)


@pytest.mark.parametrize("clip", [0.0, 1.0, 4.999, 5.0, 5.001, 100.0])
def test_clipping_is_that_of_torch_to_the_bit(clip: float) -> None:
    ours, theirs = ([nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))] for _ in range(2))
    for one in (ours, theirs):
        one[0].grad, one[1].grad = torch.tensor([3.0, 0.0]), torch.tensor([4.0])  # of length 5
    unread = nn.Parameter(torch.zeros(3))  # has no gradient
    norm = nn.utils.clip_grad_norm_(theirs, clip or math.inf)
    assert clipped([*ours, unread], clip) == float(norm) == 5.0
    assert [one.grad.tolist() for one in ours] == [one.grad.tolist() for one in theirs]  # type: ignore[union-attr]


def test_a_small_gradient_is_left_alone(whole: tuple[Tensor, Updated]) -> None:
    module = learner()
    step(module, [draw(LENGTHS)], clip=1e6)
    torch.testing.assert_close(weights(module), whole[0], rtol=0, atol=1e-12)


class Cramped(nn.Module):
    """A part that runs out of memory where a batch has more than so many rows, forwards or backwards."""

    def __init__(self, inner: nn.Module, rows: int, error: BaseException, where: str) -> None:
        super().__init__()
        self.inner, self.rows, self.error, self.where = inner, rows, error, where
        self.width, self.cells = inner.width, inner.cells

    def forward(self, values: Tensor) -> Tensor:
        vectors = self.inner(values)
        if len(values) > self.rows and self.where == "forward":
            raise self.error
        if len(values) > self.rows and vectors.requires_grad:
            vectors.register_hook(self.fail)
        return vectors

    def fail(self, gradient: Tensor) -> None:
        raise self.error


def cramped(rows: int, error: BaseException | None = None, where: str = "forward") -> Learner:
    module = learner()
    module.model.source = Cramped(module.model.source, rows, error or torch.OutOfMemoryError("too much"), where)
    return module


@pytest.mark.parametrize("where", ["forward", "backward"])
@pytest.mark.parametrize(
    "error",
    [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("DefaultCPUAllocator: can't allocate memory")],
    ids=["cuda", "cpu"],
)
def test_out_of_memory_halves_and_repeats(whole: tuple[Tensor, Updated], where: str, error: BaseException) -> None:
    module = cramped(2, error, where)
    result = step(module, [draw(LENGTHS)])
    assert result.parts == 4  # pieces of 2, 2, 2 and 1
    assert sorted(result.examples) == list(range(11, 18))  # nothing was lost
    torch.testing.assert_close(weights(module), whole[0], rtol=0, atol=1e-6)


def test_another_error_is_not_taken_for_it() -> None:
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        step(cramped(2, RuntimeError("shapes do not fit")), [draw(LENGTHS)])


def test_a_single_example_too_large_is_named() -> None:
    with pytest.raises(OutOfMemoryError, match="line 12 of the training data, with 11 tokens") as raised:
        step(cramped(0), [draw(LENGTHS)])
    assert raised.value.exit_code == 5
    assert "Lower data.max_source_length" in str(raised.value)


def test_a_shrunk_run_stays_shrunk(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pieces are in the checkpoint, so that a resumed run cuts as the first one did."""
    build = build_model

    def small_memory(*arguments):
        model = build(*arguments)
        model.source.register_forward_hook(lambda module, values, _: refuse(len(values[0])))
        return model

    def refuse(rows: int) -> None:
        if rows > 25 and torch.is_grad_enabled():
            raise torch.OutOfMemoryError("too much")

    monkeypatch.setattr("dragoman.experiment.training.build_model", small_memory)
    settings = tiny(corpus, training__steps=6, training__save_every=3)
    events = run_all(settings, tmp_path / "whole")
    assert "cut into 2 parts" in of_kind(events, Warned)[0].message
    assert state(tmp_path / "whole", 6)["parts"] == 2
    assert state(tmp_path / "whole", 6)["examples"] == 6 * 50
    training = train(settings, tmp_path / "broken")
    next(event for event in training if isinstance(event, Stepped) and event.step == 4)
    training.close()
    assert of_kind(run_all(settings, tmp_path / "broken"), Warned) == []
    assert bits(tmp_path / "broken", 6) == bits(tmp_path / "whole", 6)


def broken_at(monkeypatch: pytest.MonkeyPatch, steps: set[int] | range, value: float = math.nan) -> None:
    """Make the loss of these updates not finite; the batches themselves are as they are."""
    now = 0
    real = fit.update

    def counted(learner: Learner, *arguments, **named) -> Updated:
        nonlocal now
        now = named["step"]
        return real(learner, *arguments, **named)

    forward = Learner.forward

    def poisoned(self: Learner, batch: Batch, step: int) -> dict[str, Loss]:
        losses = forward(self, batch, step)
        return {name: Loss(loss.total * (value if now in steps else 1.0), loss.count) for name, loss in losses.items()}

    monkeypatch.setattr(fit, "update", counted)
    monkeypatch.setattr(Learner, "forward", poisoned)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_leaves_no_trace(
    corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    broken_at(monkeypatch, {3}, value)
    events = run_all(tiny(corpus, training__steps=5, training__save_every=1, training__keep=9), out)
    assert bits(out, 3) == bits(out, 2)
    assert bits(out, 4) != bits(out, 3)
    skipped = of_kind(events, Skipped)[0]
    record = json.loads((out / "bad_batches.jsonl").read_text())
    assert (record["step"], record["lines"]) == (3, list(skipped.lines))
    assert len(set(record["lines"])) == 50
    assert record["places"] == [f"{corpus.train}:{line}" for line in record["lines"]]
    assert "loss" in record["reason"]
    assert "gradient norm" in record["reason"]


def test_three_in_a_row_go_back(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken_at(monkeypatch, {5, 6, 7})
    events = run_all(tiny(corpus, training__steps=8, training__save_every=4, training__validate_every=99), out)
    assert [event.step for event in of_kind(events, Skipped)] == [5, 6, 7]
    assert of_kind(events, Warned) == [Warned("Step 7: back to the weights of step 4; the data goes on.")]
    assert state(out, 8)["position"]["batch"] == 8
    assert of_kind(events, Finished) == [Finished(8, "steps")]


def test_never_finite_is_given_up_with_a_culprit(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken_at(monkeypatch, range(99))
    with pytest.raises(NumericalError, match=r"going back 3 times .step 12; first seen in the loss") as raised:
        run_all(tiny(corpus), out)
    assert raised.value.exit_code == 4
    assert "Lower training.optimiser.rate" in str(raised.value)


def test_the_first_bad_module_is_named(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = build_model

    def with_a_bad_part(*arguments):
        model = build(*arguments)
        model.target.register_forward_hook(lambda module, inputs, vectors: vectors * math.nan)
        return model

    monkeypatch.setattr("dragoman.experiment.training.build_model", with_a_bad_part)
    with pytest.raises(NumericalError, match=r"first seen in model\.target"):
        run_all(tiny(corpus), out)


def judged(monkeypatch: pytest.MonkeyPatch, values: list[float]) -> None:
    """Validations that give these losses, one after another."""
    given = iter(values)
    monkeypatch.setattr(
        "dragoman.experiment.training.validation_loss", lambda *_: {"loss": next(given), "perplexity": 1.0}
    )


def test_patience_ends_the_training(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(monkeypatch, [3.0, 2.0, 2.5, 2.0, 9.0])
    events = run_all(tiny(corpus, training__patience=2, training__validate_every=2), out)
    assert [event.best for event in of_kind(events, Validated)] == [True, True, False, False]
    assert of_kind(events, Finished) == [Finished(8, "patience")]
    assert b'"step":"4"' in (out / "model/model.safetensors").read_bytes()


def test_a_plateau_cuts_the_rate(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(monkeypatch, [2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    own = {"kind": "plateau", "patience": 1, "factor": 0.5}
    settings = tiny(corpus, training__validate_every=1, training__steps=7, training__schedule=own)
    events = run_all(settings, out)
    rates = [event.rate / 0.008 for event in of_kind(events, Stepped)]
    assert rates == pytest.approx([1, 1, 1, 0.5, 0.5, 0.5, 0.25])


def test_a_validation_that_is_not_finite_is_never_best(
    corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged(monkeypatch, [math.nan, 5.0, math.nan])
    events = run_all(tiny(corpus, training__validate_every=2, training__steps=6), out)
    assert [event.best for event in of_kind(events, Validated)] == [False, True, False]


def test_without_any_finite_validation_there_is_no_model(
    corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged(monkeypatch, [math.nan, math.inf, math.nan, math.nan])
    with pytest.raises(NumericalError, match="no validation gave a finite loss"):
        run_all(tiny(corpus, training__validate_every=2, training__steps=6), out)
    assert not (out / "model/model.safetensors").exists()


def test_a_metric_may_be_monitored(corpus: Corpus, out: Path) -> None:
    """Higher is better for exact match; its values come beside the loss."""
    events: list[Event] = run_all(tiny(corpus, training__monitor="exact_match", training__steps=10), out)
    values = of_kind(events, Validated)[0].values
    assert {"loss", "perplexity", "exact_match"} <= set(values)
    assert b'"monitor":"exact_match"' in (out / "model/model.safetensors").read_bytes()
