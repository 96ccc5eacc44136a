"""The affine layer as every part starts it, and products with weights that stay as they are."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.nn.int8 import Int8, worth_rounding

# Rows up to which packed weights are used; with more, torch's own product is as fast.
FEW_ROWS = 512
# Weights up to which packing costs more than it gains for few rows: a call of oneDNN takes some 25 µs by itself.
SMALL, SEVERAL = 1 << 17, 8
# With AVX-512: rows and weights from which packing pays there too.
LARGE, MANY = 1 << 20, 4
# Outputs from which packing pays; the product with fewer is no work.
WORTH_PACKING = 32


class Product:
    """x ↦ base + x [W₁ W₂ …]ᵀ: weights side by side, for inputs side by side.

    Without gradients and for few rows, the weights lie in the order in which they are read soonest. With AVX-512 they
    are transposed: all products of a Transformer's step (3 layers of 256, 8,000 symbols; one core, Intel) take 0.7 ms
    for one row, 1.0 for five and 4.1 for 64, by torch's own product 0.7, 1.3 and 5.4, packed for oneDNN 1.3, 1.15 and
    4.8. Large ones are packed there as well for more than a few rows: with 8,000 × 512 weights and five rows, two
    cores, 1.04 ms in place of 1.37, and with 2,048 × 1,280 0.68 in place of 0.91. With AVX2 (AMD) so they are for one
    row alone (1.4 ms, packed 2.0) and packed for more: 5 rows with 8,000 × 512 weights take 0.5 ms, by torch's own
    product 2.5 to 4. Two exceptions there, each 0.97 of the time of a step: one row with no more outputs than inputs is
    read as it lies (256 × 1,024 weights: 40 µs in place of 58), and few rows with few weights are transposed too.
    """

    def __init__(self, weights: Sequence[Float[Tensor, "V _"]], kept: bool = False) -> None:
        """`kept` is one that is used more than once, so that preparing pays."""
        self.weight = weights[0] if len(weights) == 1 else torch.cat(list(weights), 1)
        self.kept, self.transposes = kept, TRANSPOSES
        self.packed: Tensor | None = None
        self.turned: Tensor | None = None
        self.few = FEW_ROWS * self.weight.shape[1] if self.weight.shape[0] >= WORTH_PACKING else 0
        self.turns = SEVERAL if self.weight.numel() <= SMALL else 1
        self.large = self.weight.numel() >= LARGE
        self.tall = self.weight.shape[0] <= self.weight.shape[1]
        self.packable = PACKS and self.weight.dtype == torch.float32 and self.weight.device.type == "cpu"

    def __call__(self, inputs: Float[Tensor, "*rows K"], base: Tensor | None) -> Float[Tensor, "*rows V"]:
        """`base` is a bias, or what the product is added to, row by row."""
        if not self.packs(inputs):
            if base is None or base.dim() == 1:
                return F.linear(inputs, self.weight, base)
            return torch.addmm(base, inputs, self.weight.t())
        if inputs.dim() > 2:
            return self.of_rows(inputs.reshape(-1, self.weight.shape[1]), base).view(*inputs.shape[:-1], -1)
        return self.of_rows(inputs, base)

    def of_rows(
        self, rows: Float[Tensor, "R K"], base: Tensor | None, activation: str = "none"
    ) -> Float[Tensor, "R V"]:
        """By prepared weights, whatever the mode; `activation` is none or relu."""
        if not self.packable or rows.numel() > self.few:
            product = F.linear(rows, self.weight, base)
        elif rows.shape[0] == 1 and self.tall and not self.transposes:
            product = self.of_one(rows, base)
        elif rows.shape[0] <= self.turns or (self.transposes and not (self.large and rows.shape[0] >= MANY)):
            turned = self.transposed()
            product = torch.mm(rows, turned) if base is None else torch.addmm(base, rows, turned)
        else:
            return self.by_packed(rows, base, activation)
        return product.relu_() if activation == "relu" else product

    def of_one(self, row: Float[Tensor, "1 K"], base: Tensor | None) -> Float[Tensor, "1 V"]:
        """One number of the output after the other."""
        found = torch.mv(self.weight, row[0]) if base is None else torch.addmv(base.view(-1), self.weight, row[0])
        return found[None]

    def by_packed(self, rows: Float[Tensor, "R K"], base: Tensor | None, activation: str) -> Float[Tensor, "R V"]:
        if self.packed is None:
            self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight.detach())
        added = base if base is not None and base.dim() > 1 else None
        bias = base if added is None else None
        product: Tensor = torch.ops.mkldnn._linear_pointwise.default(rows, self.packed, bias, activation, [], "")
        return product if added is None else product.add_(added)

    def transposed(self) -> Float[Tensor, "K V"]:
        if self.turned is None:
            self.turned = self.weight.detach().t().contiguous()
        return self.turned

    def packs(self, inputs: Tensor) -> bool:
        """Whether prepared weights can be used, and are worth it."""
        if not self.kept or not self.packable or inputs.numel() > self.few or inputs.dtype != torch.float32:
            return False
        return not torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")


class Prepared(nn.Module):
    """A product that is made once as long as the module is in evaluation mode and no gradient is wanted.

    It is made again when its weights have changed, and after every change of mode: a fused optimiser changes weights
    and leaves no trace that could be seen here. What writes past torch in evaluation mode (a view by numpy, a fused
    optimiser) is not noticed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.made: tuple[list[int], Product | Int8, tuple[Tensor, ...]] | None = None
        self.int8 = False  # whether to round where that pays: see quantized.py

    def of(self, weights: Sequence[Float[Tensor, "V _"]]) -> Product | Int8:
        if self.training or torch.is_grad_enabled() or any(weight.is_inference() for weight in weights):
            return Product(weights)
        versions = versions_of(weights)
        made = self.made
        if made is None or made[0] != versions:
            held = tuple(weight.detach() for weight in weights)  # so that no others can come to lie where they lie
            self.made = made = (versions, self.make(weights), held)
        return made[1]

    def make(self, weights: Sequence[Float[Tensor, "V _"]]) -> Product | Int8:
        """A product that is used more than once, whatever the mode."""
        return Int8(weights) if self.rounds(weights) else Product(weights, kept=True)

    def rounds(self, weights: Sequence[Float[Tensor, "V _"]]) -> bool:
        return self.int8 and worth_rounding(weights)

    def train(self, mode: bool = True) -> "Prepared":
        self.made = None
        super().train(mode)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """A copy prepares its own."""
        return {**self.__dict__, "made": None}


def versions_of(weights: Iterable[Tensor]) -> list[int]:
    """Where weights lie and how often they were changed, as far as torch tells."""
    return [part for weight in weights for part in (weight.data_ptr(), weight._version)]


class Linear(nn.Linear):
    """W x + b, ready for products without gradients."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__(inputs, outputs, bias)
        self.prepared = Prepared()

    def forward(self, inputs: Float[Tensor, "*rows K"]) -> Float[Tensor, "*rows V"]:
        if self.training or torch.is_grad_enabled():
            return F.linear(inputs, self.weight, self.bias)
        return self.prepared.of((self.weight,))(inputs, self.bias)


def linear(inputs: int, outputs: int, bias: bool = True) -> Linear:
    """W x + b with W uniform (Glorot and Bengio 2010, eq. 16) and b zero."""
    layer = Linear(inputs, outputs, bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def packing_works() -> bool:
    """Whether this torch has oneDNN's products; their names are not public, so they are tried."""
    try:
        with torch.no_grad():
            packed = torch.ops.mkldnn._reorder_linear_weight(torch.ones(2, 2, device="cpu"))
            found = torch.ops.mkldnn._linear_pointwise(torch.ones(1, 2, device="cpu"), packed, None, "none", [], "")
        return bool(found.tolist() == [[2.0, 2.0]])
    except (AttributeError, RuntimeError, TypeError):
        return False


PACKS = packing_works()
TRANSPOSES = torch.backends.cpu.get_cpu_capability() == "AVX512"
