"""Plain products of queries, keys and values beside torch's own product of all three."""

import pytest
import torch
import torch.nn.functional as F

from dragoman.nn import dot_product
from dragoman.nn.dot_product import attended, looking_back_once
from dragoman.nn.masks import as_scores, real_keys


def parts(batch: int, asking: int, keys: int) -> list[torch.Tensor]:
    torch.manual_seed(3)
    shapes = [(batch, 2, asking, 4), (batch, 2, keys, 4), (batch, 2, keys, 4)]
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


def masks(batch: int, keys: int) -> dict[str, torch.Tensor | None]:
    real = torch.arange(keys)[None] < torch.tensor([keys, *range(1, batch)])[:, None]
    found = real_keys(real)
    assert found is not None
    return {"none": None, "padding": as_scores(found, torch.zeros(1))}


@pytest.mark.parametrize(("asking", "causal", "mask"), [(3, False, "none"), (3, False, "padding"), (5, True, "none")])
def test_same_answer_and_gradients_as_torch(asking, causal, mask):
    chosen = masks(4, 5)[mask]
    found, gradients = {}, {}
    for name, product in (("ours", attended), ("torch", F.scaled_dot_product_attention)):
        given = parts(4, asking, 5)
        found[name] = product(*given, chosen, 0.0, causal)
        found[name].square().sum().backward()
        gradients[name] = [part.grad for part in given]
    torch.testing.assert_close(found["ours"], found["torch"])
    for ours, theirs in zip(gradients["ours"], gradients["torch"], strict=True):
        torch.testing.assert_close(ours, theirs)


def test_what_a_beam_may_see():
    """Queries of one sentence see different slots, and keys and values lie side by side."""
    queries, keys, values = parts(2, 3, 5)
    together = torch.stack([keys, values], 3)
    seen = torch.rand(2, 1, 3, 5) > 0.4
    seen[..., 0] = True
    mask = as_scores(seen, queries)
    found = attended(queries, together[:, :, :, 0], together[:, :, :, 1], mask)
    torch.testing.assert_close(found, F.scaled_dot_product_attention(queries, keys, values, seen))


@pytest.mark.parametrize(("batch", "asking"), [(1, 3), (4, 1)])
def test_one_sentence_and_one_query_are_the_same(batch, asking):
    given = parts(batch, asking, 5)
    torch.testing.assert_close(attended(*given, None), F.scaled_dot_product_attention(*given))


def test_half_precision_is_left_to_torch():
    given = [part.detach().bfloat16() for part in parts(2, 3, 5)]
    assert torch.equal(attended(*given, None), F.scaled_dot_product_attention(*given))


def test_only_short_ones_go_by_plain_products(monkeypatch):
    calls = []
    own = F.scaled_dot_product_attention
    monkeypatch.setattr(
        F, "scaled_dot_product_attention", lambda *given, **named: calls.append(1) or own(*given, **named)
    )
    attended(*parts(2, 3, 5), None)
    assert not calls
    monkeypatch.setattr(dot_product, "SHORT", 4)
    attended(*parts(2, 3, 5), None)
    attended(*(part.double() for part in parts(2, 3, 4)), None)
    assert len(calls) == 2


def test_dropout_leaves_out_weights_and_scales_the_others():
    """With values of 1 an answer is the sum of the weights that stay: 1 on average."""
    queries, keys, values = parts(2000, 2, 3)
    found = attended(queries, keys, torch.ones_like(values), None, dropout=0.25)
    assert found.std() > 0.1
    assert found.mean().item() == pytest.approx(1, abs=0.02)


def test_a_mask_that_a_search_made_serves_training() -> None:
    """What is made in inference mode could not be part of a gradient."""
    looking_back_once.cache_clear()
    queries, keys, values = (torch.randn(2, 3, 5, 4) for _ in range(3))
    with torch.inference_mode():
        found = attended(queries, keys, values, None, causal=True)
    assert looking_back_once.cache_info().currsize == 1
    asking = queries.clone().requires_grad_()
    again = attended(asking, keys, values, None, causal=True)
    again.sum().backward()
    assert looking_back_once.cache_info().hits == 1
    assert again.tolist() == found.tolist()
    assert asking.grad is not None
    assert asking.grad.abs().sum() > 0
