"""The Transformer against torch's own layers, and what torch does not have by hand."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dragoman import decoders, encoders
from dragoman.contracts import Memory, Remembered
from dragoman.decoders.transformer import TransformerDecoder
from dragoman.encoders.transformer import TransformerEncoder
from dragoman.nn import dot_product
from dragoman.nn.positions import Rotary, RotaryPositions, Sinusoidal, SinusoidalPositions
from dragoman.nn.transformer import FeedForward, Stack, build_norm

WIDTH, HEADS, WIDE, LAYERS = 6, 2, 7, 2
SOURCES, TARGETS = torch.tensor([4, 1, 3]), torch.tensor([2, 5, 3])
KINDS = [
    {"norm_place": place, "activation": activation, "heads": HEADS, "layers": LAYERS, "feed_forward": WIDE}
    for place, activation in product(("before", "after"), ("relu", "gelu"))
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind['norm_place']} {kind['activation']}")


@pytest.fixture(autouse=True, params=["plain products", "torch's product"])
def product_of_all_three(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short sequences on a CPU go by plain products; all others by torch's."""
    if request.param == "torch's product":
        monkeypatch.setattr(dot_product, "SHORT", 0)


def torchs(layer: type[nn.Module], kind: dict[str, Any]) -> nn.Module:
    before = kind["norm_place"] == "before"
    return layer(WIDTH, HEADS, WIDE, 0.0, kind["activation"], batch_first=True, norm_first=before)


def copy(ours: nn.Module, theirs: nn.Module) -> None:
    theirs.weight.data.copy_(ours.weight)
    theirs.bias.data.copy_(ours.bias)


def copy_attention(ours: nn.Module, theirs: nn.MultiheadAttention) -> None:
    """Torch has the matrices of queries, keys and values one below the other, as we have."""
    parts = [ours.of_all] if hasattr(ours, "of_all") else [ours.of_query, ours.of_memory]
    theirs.in_proj_weight.data.copy_(torch.cat([part.weight for part in parts]))
    theirs.in_proj_bias.data.copy_(torch.cat([part.bias for part in parts]))
    copy(ours.output, theirs.out_proj)


def copy_layer(ours: nn.Module, theirs: nn.Module) -> None:
    copy_attention(ours.attention, theirs.self_attn)
    around = [ours.around_attention, ours.around_feed_forward]
    if hasattr(ours, "cross"):
        copy_attention(ours.cross, theirs.multihead_attn)
        around.insert(1, ours.around_cross)
    for number, part in enumerate(around, start=1):
        copy(part.norm, getattr(theirs, f"norm{number}"))
    copy(ours.feed_forward.wide, theirs.linear1)
    copy(ours.feed_forward.output, theirs.linear2)


def copy_stack(ours: nn.Module, theirs: nn.Module) -> None:
    for mine, other in zip(ours.layers, theirs.layers, strict=True):
        copy_layer(mine, other)
    if theirs.norm is not None:
        copy(ours.last_norm, theirs.norm)


def last_norm(kind: dict[str, Any]) -> nn.LayerNorm | None:
    return nn.LayerNorm(WIDTH) if kind["norm_place"] == "before" else None


def scrambled(modules: Iterable[nn.Module]) -> None:
    """Norms and biases that are not 1 and 0."""
    for module in modules:
        for value in module.parameters():
            nn.init.normal_(value, std=0.5)


def with_places(vectors: Tensor) -> Tensor:
    return SinusoidalPositions(Sinusoidal(), WIDTH)(vectors, 0)


def real(lengths: Tensor) -> Tensor:
    return torch.arange(int(lengths.max())) < lengths[:, None]


@every_kind
def test_an_encoder_is_torchs(kind: dict[str, Any]) -> None:
    """Layer by layer and all of them, with padding; torch's without the fast path that knows no padding."""
    ours = TransformerEncoder(encoders.Transformer(**kind), WIDTH).eval()
    scrambled([ours])
    theirs = nn.TransformerEncoder(torchs(nn.TransformerEncoderLayer, kind), LAYERS, last_norm(kind), False)
    copy_stack(ours, theirs)
    vectors, mask = torch.randn(3, 4, WIDTH), real(SOURCES)
    expected = theirs(with_places(vectors), src_key_padding_mask=~mask)
    found = ours(vectors, mask).sequences["source"].states
    torch.testing.assert_close(found[mask], expected[mask])
    watched = ours(vectors, mask, attention=True).sequences["source"].states
    torch.testing.assert_close(watched[mask], expected[mask])


@every_kind
def test_where_an_encoder_looks_is_where_torchs_does(kind: dict[str, Any]) -> None:
    ours = TransformerEncoder(encoders.Transformer(**(kind | {"layers": 1})), WIDTH).eval()
    scrambled([ours])
    theirs = torchs(nn.TransformerEncoderLayer, kind)
    copy_layer(ours.layers[0], theirs)
    vectors, mask = torch.randn(3, 4, WIDTH), real(SOURCES)
    read = with_places(vectors) if kind["norm_place"] == "after" else theirs.norm1(with_places(vectors))
    _, expected = theirs.self_attn(read, read, read, key_padding_mask=~mask, average_attn_weights=False)
    torch.testing.assert_close(ours(vectors, mask, attention=True).attention["encoder.1"], expected)


@every_kind
def test_a_decoder_is_torchs(kind: dict[str, Any]) -> None:
    """All steps at once and one by one, with padding of the source; that of the target stands behind everything."""
    encoder = TransformerEncoder(encoders.Transformer(**kind), WIDTH)
    ours = TransformerDecoder(decoders.Transformer(**kind), WIDTH, encoder).eval()
    scrambled([ours])
    theirs = nn.TransformerDecoder(torchs(nn.TransformerDecoderLayer, kind), LAYERS, last_norm(kind))
    copy_stack(ours, theirs)
    source, mask = torch.randn(3, 4, WIDTH), real(SOURCES)
    inputs, written = torch.randn(3, 5, WIDTH), real(TARGETS)
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    expected = theirs(with_places(inputs), source, future, tgt_key_padding_mask=~written, memory_key_padding_mask=~mask)
    state = first = ours.start(Memory(3, {"source": Remembered(source, mask)}))
    for attention in (False, True):
        found, _ = ours.run(inputs, first, attention)
        torch.testing.assert_close(found.hidden[written], expected[written])
    for step in range(5):
        output, state = ours.run(inputs[:, step : step + 1], state)
        torch.testing.assert_close(output.hidden[:, 0][written[:, step]], expected[:, step][written[:, step]])


def test_the_root_mean_square_norm_by_hand() -> None:
    """Of 3 and 4 it is √12.5; the gain is 1 and 2."""
    norm = build_norm("rms", 2)
    norm.weight.data = torch.tensor([1.0, 2.0])
    expected = torch.tensor([[3 / 12.5**0.5, 2 * 4 / 12.5**0.5]])
    torch.testing.assert_close(norm(torch.tensor([[3.0, 4.0]])), expected)
    vectors = torch.randn(5, 2)
    by_hand = vectors / (vectors.square().mean(1, keepdim=True) + 1e-6).sqrt() * norm.weight
    torch.testing.assert_close(norm(vectors), by_hand)


def test_swiglu_by_hand() -> None:
    """W₂ (SiLU(W₁x + b₁) ∘ (W₃x + b₃)) + b₂ with SiLU(z) = z / (1 + e^−z)."""
    layer = FeedForward(Stack(feed_forward=3, activation="swiglu"), 2)
    scrambled([layer])
    (first, third), (b_first, b_third) = layer.wide.weight.split(3), layer.wide.bias.split(3)
    vectors = torch.randn(1, 4, 2)
    gate = vectors @ first.t() + b_first
    wide = gate / (1 + torch.exp(-gate)) * (vectors @ third.t() + b_third)
    torch.testing.assert_close(layer(vectors), wide @ layer.output.weight.t() + layer.output.bias)


def test_turned_products_know_the_distance_alone() -> None:
    """q′_5 · k′_3 = q′_105 · k′_103, and = q · k at distance 0; no vector grows or shrinks."""
    turn = RotaryPositions(Rotary(), 6)
    query, key = torch.randn(2, 6, dtype=torch.float64)

    def at(vector: Tensor, place: int) -> Tensor:
        return turn.turned(vector.view(1, 1, 1, 6), place).flatten()

    for distance in (0, 2, 9):
        products = torch.stack([at(query, place + distance) @ at(key, place) for place in (0, 3, 103, 1000)])
        torch.testing.assert_close(products, products[:1].expand(4))
    torch.testing.assert_close(at(query, 7) @ at(key, 7), query @ key)
    assert abs(float(at(query, 5) @ at(key, 3) - at(query, 3) @ at(key, 5))) > 1e-3  # which way round is known as well
    torch.testing.assert_close(torch.stack([at(query, place).norm() for place in (0, 1, 50)]), query.norm().expand(3))


def test_rotation_by_hand() -> None:
    """Elements 0 and 1 by one radian a step, 2 and 3 by 10000^(−2/4) = 0.01."""
    turned = RotaryPositions(Rotary(), 4).turned(torch.tensor([1.0, 0.0, 0.0, 1.0]).view(1, 1, 1, 4), 2).flatten()
    one, other = torch.tensor([2.0, 0.02])
    torch.testing.assert_close(turned, torch.stack([one.cos(), one.sin(), -other.sin(), other.cos()]))
