"""Products in int8: what rounding alone explains, for every row by itself, whatever happens to the weights."""

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from dragoman.contracts import Output
from dragoman.errors import ConfigError
from dragoman.heads import Tokens, build_head
from dragoman.nn import int8, quantized
from dragoman.nn.int8 import Int8
from dragoman.nn.linear import Linear, Prepared, Product, linear
from dragoman.nn.quantized import quantize

pytestmark = pytest.mark.skipif(not int8.int8_works(), reason="FBGEMM is for Intel's and AMD's processors")
SHAPES = [(1, 8, 6), (5, 33, 7), (3, 40, 300), (64, 256, 65), (7, 1, 1), (2, 1280, 96)]


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers of any size are int8."""
    monkeypatch.setattr(int8, "WORTH_ROUNDING", 1)


def whole(values: Tensor, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Each row in whole numbers, and its scale."""
    rows = values.detach().numpy().astype(np.float64)
    scales = np.maximum(np.abs(rows).max(1, keepdims=True), 1e-30) / largest
    return np.rint(rows / scales), scales


def by_hand(x: Tensor, weight: Tensor) -> Tensor:
    """The product in exact whole numbers."""
    (inputs, of_rows), (weights, of_outputs) = whole(x, 127), whole(weight, 63)
    return torch.from_numpy(inputs @ weights.T * of_rows * of_outputs.T).float()


def largest_error(x: Tensor, weight: Tensor) -> Tensor:
    """Half a step for each number: Σ |x| s_w/2 + |w| s_x/2 + s_x s_w/4."""
    of_rows, of_outputs = x.abs().amax(1, keepdim=True) / 127, weight.abs().amax(1, keepdim=True) / 63
    sums = x.abs().sum(1, keepdim=True) * of_outputs.t() / 2 + of_rows / 2 * weight.abs().sum(1)
    return sums + x.shape[1] * of_rows * of_outputs.t() / 4 + 1e-5


@pytest.mark.parametrize(("rows", "inputs", "outputs"), SHAPES)
@torch.no_grad()
def test_a_product_is_that_of_whole_numbers(rows: int, inputs: int, outputs: int) -> None:
    x, weight = torch.randn(rows, inputs), torch.randn(outputs, inputs)
    base, bias, product = torch.randn(rows, outputs), torch.randn(outputs), Int8([weight])
    wanted, exact = by_hand(x, weight), F.linear(x, weight)
    found = product(x, None)
    assert torch.all((found - exact).abs() <= largest_error(x, weight))
    assert (found - exact).square().mean() <= 4 * (wanted - exact).square().mean() + 1e-10
    assert torch.allclose(product(x, bias), found + bias, atol=1e-4)
    kept = base.clone()
    assert torch.allclose(product(x, base), found + base, atol=1e-4)
    assert torch.equal(base, kept)
    assert torch.equal(product.of_rows(x, bias, "relu"), product(x, bias).relu())
    assert torch.equal(product(x[None], bias), product(x, bias)[None])


@torch.no_grad()
def test_numbers_by_hand() -> None:
    """127 and 64 are whole as they are, and so are 63 and −2; halves of a step are rounded to even."""
    product = Int8([torch.tensor([[63.0, -2.0]]), torch.tensor([[1.0]])])
    assert product(torch.tensor([[127.0, 64.0, 1.0]]), None).item() == pytest.approx(127 * 63 - 128 + 1)
    assert product(torch.tensor([[127.0, 0.0, 0.3]]), None).item() == pytest.approx(127 * 63)


@pytest.mark.parametrize(("inputs", "outputs"), [(33, 7), (256, 40)])
@torch.no_grad()
def test_no_row_depends_on_its_neighbours(inputs: int, outputs: int) -> None:
    """Not by a bit, though one of them is a thousand times as large, and one is nothing."""
    product, bias = Int8([torch.randn(outputs, inputs)]), torch.randn(outputs)
    x = torch.randn(50, inputs) * torch.rand(50, 1)
    x[3], x[4] = x[3] * 1000, 0
    together = product(x, bias)
    assert torch.equal(together, torch.cat([product(row, bias) for row in x.split(1)]))
    assert torch.equal(together[10:17], product(x[10:17], bias))
    assert torch.allclose(together[4], bias)
    x[5, 0] = torch.nan
    spoilt = product(x, bias)
    assert bool(spoilt[5].isnan().all()), "what is no number is seen"
    assert torch.equal(spoilt[6:], together[6:])


@pytest.mark.usefixtures("everything")
@torch.no_grad()
def test_a_head_errs_by_twice_what_its_logits_may() -> None:
    """log softmax moves by at most twice the largest change of a logit."""
    head, output = build_head(Tokens(), 40, 60).eval(), Output(torch.randn(3, 2, 40), {}, {})
    exact = head.log_probabilities(output)
    quantize(head)
    found = head.log_probabilities(output)
    error = 2 * largest_error(output.hidden.view(6, 40), head.weight).amax(1).view(3, 2, 1)
    assert not torch.equal(found, exact)
    assert torch.all((found - exact).abs() <= error)


@torch.no_grad()
def test_only_what_is_large_is_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8, "WORTH_ROUNDING", 200)
    prepared = Prepared().eval()
    assert isinstance(prepared.of([torch.randn(40, 8)]), Product), "nobody asked for it"
    quantize(prepared)
    assert isinstance(prepared.of([torch.randn(40, 8)]), Int8)
    assert isinstance(prepared.of([torch.randn(40, 4), torch.randn(40, 1)]), Int8)
    assert isinstance(prepared.of([torch.randn(40, 4)]), Product)
    assert isinstance(prepared.of([torch.randn(40, 8, dtype=torch.float64)]), Product)
    prepared.train()
    assert isinstance(prepared.of([torch.randn(40, 8)]), Product)


@pytest.mark.usefixtures("everything")
def test_gradients_are_those_of_single_precision() -> None:
    layer, x = linear(8, 40).eval(), torch.randn(3, 8, requires_grad=True)
    other = quantized.quantized(layer)
    with torch.no_grad():
        assert not torch.equal(other(x), layer(x))
    assert torch.equal(other(x), layer(x))
    [wanted] = torch.autograd.grad(layer(x).square().sum(), x)
    [found] = torch.autograd.grad(other(x).square().sum(), x)
    assert torch.equal(found, wanted)
    other.train()
    with torch.no_grad():
        assert torch.equal(other(x), F.linear(x, layer.weight, layer.bias))


def halve(layer: Linear) -> None:
    with torch.no_grad():
        layer.weight.mul_(0.5)


def load(layer: Linear) -> None:
    layer.load_state_dict(linear(8, 40).state_dict())


def step(layer: Linear) -> None:
    """A fused optimiser raises no version of the weights that it moves."""
    layer.train()
    optimiser = torch.optim.Adam(layer.parameters(), 0.1, fused=True)
    with torch.enable_grad():
        layer(torch.randn(3, 8)).square().sum().backward()
    optimiser.step()
    layer.eval()


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize("change", [halve, load, step])
@torch.no_grad()
def test_weights_that_change_are_rounded_again(change: Callable[[Linear], None]) -> None:
    layer, x = linear(8, 40).eval(), torch.randn(3, 8)
    quantize(layer)
    before = layer(x)
    change(layer)
    assert torch.all((layer(x) - F.linear(x, layer.weight, layer.bias)).abs() <= largest_error(x, layer.weight))
    assert not torch.allclose(layer(x), before, atol=0.02)


@pytest.mark.usefixtures("everything")
@torch.inference_mode()
def test_copies_round_for_themselves_and_share_weights_where_told() -> None:
    with torch.inference_mode(False):
        layer = linear(8, 40).eval()
    x = torch.randn(3, 8)
    exact, other = layer(x), quantized.quantized(layer)
    rounded = other(x)
    assert torch.equal(layer(x), exact), "the original goes on as before"
    assert not torch.equal(rounded, exact)
    assert other.weight is layer.weight
    for again in (copy.deepcopy(other), pickle.loads(pickle.dumps(other))):  # noqa: S301 our own
        assert again.prepared.made is None
        with torch.inference_mode(False), torch.no_grad():
            again.weight = torch.nn.Parameter(layer.weight.detach().clone())
        assert torch.equal(again(x), rounded)


def test_what_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="int8 is for models on the CPU, and this one is on 'meta'"):
        quantize(linear(8, 40).to("meta"))
    monkeypatch.setattr(quantized, "int8_works", lambda: False)
    with pytest.raises(ConfigError, match="This torch has no int8 products for this processor"):
        quantize(linear(8, 40))


def test_a_torch_without_these_products_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing:
        pass

    monkeypatch.setattr(torch.ops, "quantized", Nothing())
    assert int8.int8_works() is False


def test_the_engine_that_was_chosen_stays() -> None:
    before = torch.backends.quantized.engine
    Int8([torch.randn(4, 3)])
    assert torch.backends.quantized.engine == before


OLD = """
import torch
from dragoman.nn import int8
weights, inputs = torch.ones(64, 512), torch.ones(3, 512)  # the largest sums there are
weights[1::2, 1::2], inputs[1] = 0.7, 0.9
for largest in (63, 127):
    int8.LARGEST_WEIGHT = largest
    found = int8.Int8([weights])(inputs, None)
    print((found / (inputs @ weights.T) - 1).abs().max().item())
"""


def test_processors_without_vnni_cut_nothing_off() -> None:
    """With eight bits they do, or else this test would see nothing."""
    names = ("FBGEMM_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA")
    surroundings = {**os.environ, **dict.fromkeys(names, "AVX2"), "ATEN_CPU_CAPABILITY": "avx2"}
    done = subprocess.run([sys.executable, "-c", OLD], env=surroundings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seven, eight = map(float, done.stdout.split())
    assert seven <= 0.5 / 63 + 0.5 / 127
    assert eight > 0.1


def test_old_processors_round_as_new_ones_do() -> None:
    """Whole numbers have one sum: even the totals of rows are the same."""
    script = (
        "import torch; from dragoman.nn.int8 import Int8; torch.manual_seed(1)\n"
        "x, w = torch.randn(5, 1280), torch.randn(96, 1280)\n"
        "print(Int8([w])(x, None).double().sum(1).tolist())"
    )
    found = []
    for more in ({}, {"FBGEMM_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"}):
        done = subprocess.run([sys.executable, "-c", script], env=os.environ | more, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.append(done.stdout)
    assert found[0] == found[1]
