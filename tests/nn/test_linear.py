"""Products with weights that are prepared once are the products of torch, whatever happens to the weights."""

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.nn import linear as products
from dragoman.nn.linear import FEW_ROWS, Linear, Prepared, Product, linear
from dragoman.training.optimisers import Adadelta, Adam, AdamW, Sgd, build_optimiser

SHAPES = [
    (1, 40, 33),
    (1, 33, 40),
    (5, 512, 800),
    (5, 48, 40),
    (64, 30, 64),
    (FEW_ROWS, 16, 40),
    (FEW_ROWS + 1, 16, 40),
    (3, 16, 1),
]


def same(found: Tensor, wanted: Tensor) -> bool:
    return torch.allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("order", ["packed", "transposed", "torch's own"])
@pytest.mark.parametrize(("rows", "inputs", "outputs"), SHAPES)
def test_a_product_is_that_of_torch(
    rows: int, inputs: int, outputs: int, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "PACKS", order != "torch's own" and products.PACKS)
    monkeypatch.setattr(products, "TRANSPOSES", order == "transposed")
    x, weights = torch.randn(rows, inputs) / inputs**0.5, [torch.randn(outputs, inputs - 7), torch.randn(outputs, 7)]
    base, bias, whole = torch.randn(rows, outputs), torch.randn(outputs), torch.cat(weights, 1)
    with torch.no_grad():
        product = Product(weights, kept=True)
        assert same(product(x, None), F.linear(x, whole))
        assert same(product(x, bias), F.linear(x, whole, bias))
        assert same(product(x, base), base + F.linear(x, whole))
        kept = base.clone()
        product(x, base)
        assert torch.equal(base, kept)
        folded = x.view(1, rows, inputs)
        assert same(product(folded, bias), F.linear(folded, whole, bias))


def test_few_rows_are_packed_and_many_are_not() -> None:
    product = Product([torch.randn(64, 8)], kept=True)
    with torch.no_grad():
        assert product.packs(torch.randn(FEW_ROWS, 8)) == products.PACKS
        assert not product.packs(torch.randn(FEW_ROWS + 1, 8))
        assert not product.packs(torch.randn(2, 8, dtype=torch.float64))
        assert not Product([torch.randn(1, 8)], kept=True).packs(torch.randn(2, 8))
        assert not Product([torch.randn(64, 8)]).packs(torch.randn(2, 8)), "it is used once"
    assert not product.packs(torch.randn(2, 8)), "a gradient is wanted"


def halve(layer: Linear) -> None:
    with torch.no_grad():
        layer.weight.mul_(0.5)


def exchange(layer: Linear) -> None:
    layer.weight.data = torch.randn(40, 8)


def replace(layer: Linear) -> None:
    layer.weight = nn.Parameter(torch.randn(40, 8))


def load(layer: Linear) -> None:
    layer.load_state_dict(linear(8, 40).state_dict())


@pytest.mark.parametrize("change", [halve, exchange, replace, load])
def test_weights_that_change_are_prepared_again(change: Callable[[Linear], None]) -> None:
    layer, x = linear(8, 40).eval(), torch.randn(3, 8)
    with torch.no_grad():
        before = layer(x)
        assert same(layer(x), before)
        first = layer.prepared.of([layer.weight])
        assert layer.prepared.of([layer.weight]) is first, "the same weights are prepared once"
        change(layer)
        after = layer(x)
        assert same(after, F.linear(x, layer.weight, layer.bias))
        assert not same(after, before)


@pytest.mark.parametrize("kind", [Adam, AdamW, Sgd, Adadelta])
def test_an_optimiser_that_leaves_no_trace_is_noticed(kind: type[Adam | AdamW | Sgd | Adadelta]) -> None:
    layer, x = linear(8, 40), torch.randn(3, 8)
    optimiser = build_optimiser(kind(rate=0.1), layer.parameters())
    for _ in range(3):
        layer.train()
        with torch.no_grad():
            assert same(layer(x), F.linear(x, layer.weight, layer.bias))
            assert layer.prepared.made is None, "nothing is prepared in training"
        layer(x).square().sum().backward()
        optimiser.step()
        layer.eval()
        with torch.no_grad():
            assert same(layer(x), F.linear(x, layer.weight, layer.bias))


def test_gradients_go_through_as_ever() -> None:
    layer, x = linear(8, 40).eval(), torch.randn(3, 8, requires_grad=True)
    with torch.no_grad():
        layer(x)
    layer(x).sum().backward()
    assert layer.weight.grad is not None
    assert x.grad is not None
    weights = [torch.randn(40, 4, requires_grad=True) for _ in range(2)]
    Prepared().of(weights)(x, None).sum().backward()
    assert all(weight.grad is not None for weight in weights)


def test_copies_and_weights_made_in_inference_mode() -> None:
    layer, x = linear(8, 40).eval(), torch.randn(3, 8)
    with torch.inference_mode():
        wanted = layer(x)
        for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):  # noqa: S301 our own
            assert other.prepared.made is None
            assert same(other(x), wanted)
        strange = torch.randn(40, 8)  # has no version that would tell of a change
        assert same(Prepared().eval().of([strange])(x, None), F.linear(x, strange))


def test_a_torch_without_these_products_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing:
        pass

    monkeypatch.setattr(torch.ops, "mkldnn", Nothing())
    assert products.packing_works() is False
