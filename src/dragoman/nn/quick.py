"""The blocks of a Transformer where no gradient is wanted: the same arithmetic over prepared weights, without modules.

With one sentence a step has little to compute, and what Python does around it costs as much: a greedy step of three
layers of width 256 took 1.9 ms by this path and 3.1 ms through the modules (two cores, 8,000 symbols).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.nn.dot_product import attended
from dragoman.nn.linear import Linear, Product, versions_of
from dragoman.nn.positions import Positions, RotaryPositions
from dragoman.nn.transformer import Around, CrossAttention, FeedForward, SelfAttention

Map = Callable[[Tensor], Tensor]  # rows (R, D) → rows (R, E)


class Quick(nn.Module):
    """Layers that are prepared once as long as a module is in evaluation mode and its weights stay as they are.

    Whether they did is looked up before each source, not at each step. What writes past torch in evaluation mode is not
    noticed, as with any prepared weight.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__()
        self.make = make
        self.layers: Any = None
        self.tables: list[dict[str, Any]] = []  # of weights: to find these takes longer than to look into them
        self.versions: list[int] = []

    def prepare(self, module: nn.Module) -> None:
        """If a search is about to begin: in evaluation mode, without gradients, on a CPU."""
        if module.training or torch.is_grad_enabled():
            self.layers = None
        elif self.layers is None or self.versions != self.seen():
            self.tables = [part._parameters for part in module.modules() if part._parameters]
            if any(weight.is_inference() for weight in module.parameters()):  # they tell of no change
                self.layers = None
            else:
                self.layers, self.versions = self.make(), self.seen()

    def seen(self) -> list[int]:
        return versions_of(weight for table in self.tables for weight in table.values() if weight is not None)

    def ready(self, module: nn.Module) -> bool:
        return self.layers is not None and not module.training and not torch.is_grad_enabled()

    def train(self, mode: bool = True) -> "Quick":
        self.layers = None
        super().train(mode)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """A copy prepares its own."""
        return {**self.__dict__, "layers": None, "tables": []}


def affine(layer: Linear, activation: str = "none") -> Map:
    """W x + b, and an activation if torch can do both at once."""
    product, bias = layer.prepared.make([layer.weight]), layer.bias
    if not (isinstance(product, Product) and product.transposes and product.packable) or product.large:
        return partial(product.of_rows, base=bias, activation=activation)
    addmm, turned = torch.addmm, product.transposed()  # nothing depends on the number of rows
    if activation == "relu":
        return lambda rows: addmm(bias, rows, turned).relu_()
    return lambda rows: addmm(bias, rows, turned)


def norm_of(around: Around) -> Map:
    norm, shape = around.norm, list(around.norm.normalized_shape)
    if isinstance(norm, nn.LayerNorm):
        return partial(torch.layer_norm, normalized_shape=shape, weight=norm.weight, bias=norm.bias, eps=norm.eps)
    return partial(torch.rms_norm, normalized_shape=shape, weight=norm.weight, eps=norm.eps)


def around_of(around: Around, part: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """x + f(norm(x)), or norm(x + f(x)); f may want to know more."""
    norm = norm_of(around)
    if around.after:
        return lambda rows, *more: norm(part(rows, *more).add_(rows))
    return lambda rows, *more: part(norm(rows), *more).add_(rows)


def feed_forward_of(part: FeedForward) -> Map:
    wide = affine(part.wide, "relu" if part.activation == "relu" else "none")
    narrow = affine(part.output)
    if part.activation == "relu":
        return lambda rows: narrow(wide(rows))
    if part.activation == "gelu":
        return lambda rows: narrow(F.gelu(wide(rows)))

    def gated(rows: Float[Tensor, "R D"]) -> Float[Tensor, "R D"]:
        gate, value = wide(rows).chunk(2, 1)
        return narrow(F.silu(gate).mul_(value))

    return gated


def self_attention_of(part: SelfAttention, positions: Positions) -> Callable[..., Tensor]:
    of_all, output, heads, width = affine(part.of_all), affine(part.output), part.heads, part.width
    turned = positions.turned if isinstance(positions, RotaryPositions) else None

    def look(
        rows: Float[Tensor, "R D"],
        size: tuple[int, int, int],
        first: int,
        past: Tensor | None,
        mask: Tensor | None,
        causal: bool,
        slots: list[Tensor],
    ) -> Float[Tensor, "R D"]:
        """`size` is sentences, rows of each, symbols of a row; keys and values, old and new, are left in `slots`."""
        sentences, each, length = size
        parts = of_all(rows).view(sentences, each * length, 3, heads, width)
        if turned is not None:
            parts = parts.clone()
            by_row = parts.view(sentences * each, length, 3, heads, width)
            by_row[:, :, :2] = turned(by_row[:, :, :2], first)
        parts = parts.permute(0, 3, 1, 2, 4)
        found = parts.narrow(3, 1, 2)  # a third of the time of an index
        if past is not None:
            found = torch.cat((past, found), 2)
        slots.append(found)
        keys, values = found.unbind(3)
        looked = attended(parts.select(3, 0), keys, values, mask, causal=causal)
        return output(looked.transpose(1, 2).reshape(rows.shape))

    return look


def cross_attention_of(part: CrossAttention) -> Callable[..., Tensor]:
    of_query, output, heads, width = affine(part.of_query), affine(part.output), part.heads, part.width

    def look(
        rows: Float[Tensor, "R D"], sentences: int, remembered: Float[Tensor, "B H S 2 d"], mask: Tensor | None
    ) -> Float[Tensor, "R D"]:
        queries = of_query(rows).view(sentences, -1, heads, width).transpose(1, 2)
        keys, values = remembered.unbind(3)
        looked = attended(queries, keys, values, mask)
        return output(looked.transpose(1, 2).reshape(rows.shape))

    return look


def brought_near(
    part: CrossAttention, remembered: Float[Tensor, "1 H S 2 d"]
) -> tuple[Float[Tensor, "1 HS D"], Float[Tensor, "1 HS"], Float[Tensor, "1 HS D"]]:
    """Keys behind the query's layer and values behind the output's, made once a source: (Wq x + b)·k = x·(Wqᵀk) + b·k,
    and Wo Σ w v = Σ w (Wo v). A step then reads a few rows for each word of the source in place of two matrices."""
    heads, width = part.heads, part.width
    keys, values = remembered[0].unbind(2)
    keys = keys * width**-0.5
    towards = torch.bmm(keys, part.of_query.weight.view(heads, width, -1)).flatten(0, 1)
    base = torch.bmm(keys, part.of_query.bias.view(heads, width, 1)).flatten()
    away = torch.bmm(values, part.output.weight.t().view(heads, width, -1)).flatten(0, 1)
    return towards[None], base[None], away[None]


def near_attention_of(part: CrossAttention) -> Callable[..., Tensor]:
    """Attention to the only source, which was brought near: sentences of some 14 words take 0.93 of the time, with
    beams of 5 0.95 (three layers of width 256, two cores)."""
    heads, bias, addmm, softmax = part.heads, part.output.bias, torch.addmm, torch.softmax

    def look(
        rows: Float[Tensor, "R D"], towards: Float[Tensor, "1 HS D"], base: Float[Tensor, "1 HS"], away: Tensor
    ) -> Float[Tensor, "R D"]:
        scores = addmm(base, rows, towards[0].t())
        weights = softmax(scores.view(rows.shape[0], heads, -1), 2)
        return addmm(bias, weights.view(scores.shape), away[0])

    return look


def can_come_near(part: CrossAttention, words: int) -> bool:
    """Whether fewer numbers are read so, and none of them is rounded otherwise."""
    fewer = words * (part.heads - 1) < part.heads * part.width
    return fewer and not any(one.prepared.rounds([one.weight]) for one in (part.of_query, part.output))
