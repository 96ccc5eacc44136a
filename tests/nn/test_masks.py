"""Which positions are seen, with tables done by hand; and what the Transformer makes of them."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor

from dragoman import decoders, encoders, frontends
from dragoman.contracts import Batch, Padded, Target
from dragoman.models import EncoderDecoder, EncoderDecoderModel, build_model
from dragoman.nn.masks import along_paths, as_scores, last_real, real_keys
from dragoman.nn.transformer import weights_of
from dragoman.regimes import teacher

STACKS = {
    "paper": {"norm_place": "after"},
    "before": {"activation": "gelu", "positions": {"kind": "learned", "length": 12}},
    "rotary": {"norm": "rms", "activation": "swiglu", "positions": {"kind": "rotary"}},
    "one-hot": {"positions": {"kind": "one_hot", "length": 12}},
}
every_stack = pytest.mark.parametrize("stack", STACKS)


def test_the_last_real_step() -> None:
    mask = torch.tensor([[True, True, True, False], [True, False, False, False], [False] * 4])
    values = torch.arange(12.0).view(3, 4, 1)
    assert last_real(values, mask).flatten().tolist() == [2.0, 4.0, 0.0]


def test_a_row_sees_what_is_real() -> None:
    """One without anything real sees its first position; where all is real, nothing needs a mask."""
    mask = torch.tensor([[True, True, False], [False, False, False]])
    assert real_keys(mask).tolist() == [[[[True, True, False]]], [[[True, False, False]]]]
    assert real_keys(torch.ones(2, 3, dtype=torch.bool)) is None


LIKE = torch.zeros(1)


def seen(scores: Tensor) -> list[list[bool]]:
    """What a mask leaves to be seen: it adds nothing there, and the lowest number elsewhere."""
    assert set(scores.unique().tolist()) <= {0.0, torch.finfo(scores.dtype).min}
    return (scores == 0).tolist()


def rows_of(text: str) -> list[list[bool]]:
    """ "x.x ..x" → what is seen, row by row."""
    return [[letter == "x" for letter in row] for row in text.split()]


def test_paths_through_a_tree() -> None:
    """Slots of one sentence with two rows: START of both (0, 1); a and b behind the first (2, 3); then c behind a, d
    behind b (4, 5). The path of the second row leads from START of the first row on."""
    one, other = [0, 2, 4], [0, 3, 5]
    path = torch.tensor([one, other])
    assert seen(along_paths(path, 1, 1, 6, LIKE)[0, 0]) == rows_of("x.x.x. x..x.x")
    assert seen(along_paths(path[:, :2], 1, 1, 4, LIKE)[0, 0]) == rows_of("x.x. x..x")


def test_paths_of_several_symbols_and_sentences() -> None:
    """Two sentences of two rows, each with two new symbols: a row's own are seen up to the one that asks."""
    path = torch.tensor([[0, 2, 3], [0, 4, 5], [1, 2, 3], [0, 4, 5]])
    found = along_paths(path, 2, 2, 6, LIKE)
    assert found.shape == (2, 1, 4, 6)
    assert seen(found[0, 0]) == rows_of("x.x... x.xx.. x...x. x...xx")
    assert seen(found[1, 0]) == rows_of(".xx... .xxx.. x...x. x...xx")


def test_whole_paths_are_the_causal_mask() -> None:
    path = torch.arange(4).expand(3, 4)
    assert seen(along_paths(path, 4, 3, 4, LIKE)[1, 0]) == rows_of("x... xx.. xxx. xxxx")


def test_the_masked_scores_of_the_lecture() -> None:
    """A row sees what stands before it, and itself. The table's last column is the softmax of its scores divided by
    four, as here: keys are the 16 unit vectors, so that the queries are the scores, and √16 is 4."""
    scores = torch.tensor(
        [[0.11, 0.00, 0.81, 0.79], [0.19, 0.50, 0.30, 0.48], [0.53, 0.98, 0.95, 0.14], [0.81, 0.86, 0.38, 0.90]]
    )
    expected = [[1, 0, 0, 0], [0.48, 0.52, 0, 0], [0.31, 0.35, 0.34, 0], [0.25, 0.26, 0.23, 0.26]]
    queries = torch.nn.functional.pad(scores, (0, 12)).view(1, 1, 4, 16)
    keys = torch.eye(16)[:4].view(1, 1, 4, 16)
    mask = as_scores(torch.ones(4, 4).tril().bool().view(1, 1, 4, 4), scores)
    for found in (weights_of(queries, keys, mask), weights_of(queries, keys, None, causal=True)):
        torch.testing.assert_close(found[0, 0], torch.tensor(expected), rtol=0, atol=0.005)
        assert not found[0, 0].triu(1).any()


def model_of(stack: str, **options: object) -> EncoderDecoderModel:
    settings = {"heads": 2, "layers": 2, "feed_forward": 7, "dropout": 0.0, **STACKS[stack]}
    config = EncoderDecoder(
        source=frontends.Tokens(width=4, dropout=0.0),
        target=frontends.Tokens(width=8, dropout=0.0),
        encoder=encoders.Transformer(**settings),
        decoder=decoders.Transformer(**settings),
        **options,
    )
    return build_model(config, 7, 9)


def padded(*rows: list[int]) -> Padded:
    values = torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])
    return Padded(values, values != 0)


def batch_of(sources: list[list[int]], inputs: list[list[int]]) -> Batch:
    fed = padded(*inputs)
    target = Target(fed, fed, fed.mask.flatten().nonzero().squeeze(1))
    return Batch(tuple(range(len(sources))), {"source": padded(*sources)}, target)


def hidden_of(model: EncoderDecoderModel, batch: Batch, attention: bool = False) -> Tensor:
    return teacher(model, batch, attention).hidden


@every_stack
@pytest.mark.parametrize("attention", [False, True], ids=["fast", "watched"])
def test_a_later_symbol_changes_nothing_before_it(stack: str, attention: bool) -> None:
    """Exactly, at every place, also beside a longer row."""
    model = model_of(stack).eval()
    rows = [[1, 3, 4, 5, 6], [1, 7, 3]]
    before = hidden_of(model, batch_of([[3, 4, 5], [6, 5]], rows), attention)
    for place in range(1, 5):
        changed = [[*rows[0][:place], 8, *rows[0][place + 1 :]], rows[1]]
        after = hidden_of(model, batch_of([[3, 4, 5], [6, 5]], changed), attention)
        assert torch.equal(after[0, :place], before[0, :place])
        assert not torch.equal(after[0, place], before[0, place])
        assert torch.equal(after[1], before[1])


@every_stack
@pytest.mark.parametrize("attention", [False, True], ids=["fast", "watched"])
def test_what_stands_on_padding_changes_nothing(stack: str, attention: bool) -> None:
    """Exactly: other symbols under the mask, on both sides."""
    model = model_of(stack).eval()
    batch = batch_of([[3, 4, 5, 6], [6, 5]], [[1, 3, 4, 5], [1, 7]])
    source, fed = batch.sources["source"], batch.target.inputs
    before = hidden_of(model, batch, attention)
    for symbol in (1, 6):
        sources = {"source": replace(source, values=source.values.masked_fill(~source.mask, symbol))}
        inputs = replace(fed, values=fed.values.masked_fill(~fed.mask, symbol))
        other = replace(batch, sources=sources, target=replace(batch.target, inputs=inputs))
        after = hidden_of(model, other, attention)
        assert torch.equal(after[fed.mask], before[fed.mask])


@every_stack
@pytest.mark.parametrize("attention", [False, True], ids=["fast", "watched"])
def test_a_source_of_padding_alone_gives_numbers(stack: str, attention: bool) -> None:
    """Forward and back, and what it is beside does not change."""
    model = model_of(stack).eval()
    output = teacher(model, batch_of([[3, 4, 5], []], [[1, 3, 4], [1, 7]]), attention)
    hidden = output.hidden
    model.head.log_probabilities(output).square().sum().backward()
    assert hidden.isfinite().all()
    assert all(value.grad.isfinite().all() for value in model.parameters())
    alone = hidden_of(model, batch_of([[3, 4, 5]], [[1, 3, 4]]), attention)
    torch.testing.assert_close(hidden[:1], alone)


@pytest.mark.parametrize(("stack", "training"), list(product(("paper", "rotary"), (False, True))))
def test_watching_changes_nothing(stack: str, training: bool) -> None:
    """What a layer leaves is the same whether weights are asked for or not; rows of weights are distributions."""
    model = model_of(stack).train(training)
    batch = batch_of([[3, 4, 5, 6], [6, 5]], [[1, 3, 4, 5], [1, 7]])
    output = teacher(model, batch, attention=True)
    torch.testing.assert_close(output.hidden, hidden_of(model, batch))
    names = {f"{kind}.{layer}" for kind in ("encoder", "source", "target") for layer in (1, 2)}
    assert set(output.attention) == {"source", *names}
    for name, weights in output.attention.items():
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:3]))
        if "target" in name:
            assert not weights.triu(1).any()
        else:
            assert not weights[1, :, :, 2:].any()
    each = torch.stack([output.attention[f"source.{layer}"] for layer in (1, 2)]).mean((0, 2))
    torch.testing.assert_close(output.attention["source"][:, 0], each)
