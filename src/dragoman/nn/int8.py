"""Products in whole numbers of one byte: a row of weights has a scale of its own, and so has each row of inputs.

A scale for each row of inputs, and not one for all of them as torch's own dynamic product takes it, so that no answer
depends on its neighbours. Whole numbers are added without rounding: one row and many give the same bits.

Weights have seven bits and inputs eight. Processors without VNNI add pairs of products in 16 bits: 2 · 63 · 255 fits,
2 · 127 · 255 would be cut off without a word.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

LARGEST_WEIGHT = 63  # seven bits, one of them a sign
LARGEST_INPUT = 127  # eight bits, one of them a sign
SHIFT = 128  # FBGEMM wants inputs without a sign
SMALLEST_SCALE = 1e-30  # of a row of zeros, which is divided by something too
# Weights from which it pays. A call of FBGEMM takes 20 µs before it computes anything, and what stands around it 10 to
# 15: a row with 256 × 256 weights takes 30 µs in place of 9, with 512 × 512 40 in place of 40, with 2,048 × 1,280 180
# in place of 440.
WORTH_ROUNDING = 400_000


class Int8:
    """x ↦ base + x [W₁ W₂ …]ᵀ with weights and inputs rounded to whole numbers, by FBGEMM.

    One thread, Intel with VNNI: five rows with 2,048 × 1,280 weights take 0.3 ms, in single precision 1.1; with 8,000 ×
    256 weights 0.25 in place of 0.6. oneDNN's products of whole numbers take longer for few rows, and crash on virtual
    machines that promise instructions (AMX) which they do not have.
    """

    def __init__(self, weights: Sequence[Float[Tensor, "V _"]]) -> None:
        weight = torch.cat([one.detach() for one in weights], 1)
        scales = weight.abs().amax(1).clamp_(min=SMALLEST_SCALE).div_(LARGEST_WEIGHT)
        self.inputs = weight.shape[1]
        self.packed = packed(weight, scales)
        self.smallest = torch.tensor(SMALLEST_SCALE, device="cpu")
        self.product = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default

    def __call__(self, inputs: Float[Tensor, "*rows K"], base: Tensor | None) -> Float[Tensor, "*rows V"]:
        """`base` is a bias, or what the product is added to, row by row."""
        if inputs.dim() == 2:
            return self.of_rows(inputs, base)
        return self.of_rows(inputs.reshape(-1, self.inputs), base).view(*inputs.shape[:-1], -1)

    def of_rows(
        self, rows: Float[Tensor, "R K"], base: Tensor | None, activation: str = "none"
    ) -> Float[Tensor, "R V"]:
        """`activation` is none or relu."""
        scales = torch.add(self.smallest, rows.abs().amax(1, keepdim=True), alpha=1 / LARGEST_INPUT)
        # Rounded here, as FBGEMM itself rounds some numbers otherwise when it is told the scale of a single row.
        product: Tensor = self.product((rows * scales.reciprocal()).round_(), 1.0, SHIFT, self.packed)
        product = product.mul_(scales) if base is None else torch.addcmul(base, product, scales)
        return product.relu_() if activation == "relu" else product


def packed(weight: Float[Tensor, "V K"], scales: Float[Tensor, " V"]) -> Any:
    """Whole numbers in the order in which FBGEMM reads them, whatever engine is chosen elsewhere."""
    zeros, chosen = torch.zeros_like(scales, dtype=torch.int64), torch.backends.quantized.engine
    torch.backends.quantized.engine = "fbgemm"
    try:
        with warnings.catch_warnings():  # torch means to drop this kind of tensor one day: `int8_works` will tell
            warnings.simplefilter("ignore", UserWarning)
            whole = torch.quantize_per_channel(weight, scales.double(), zeros, 0, torch.qint8)
        return torch.ops.quantized.linear_prepack(whole, None)
    finally:
        torch.backends.quantized.engine = chosen


def worth_rounding(weights: Sequence[Tensor]) -> bool:
    """Whether a product with these weights is faster in whole numbers, for one row as for many."""
    many = sum(weight.numel() for weight in weights) >= WORTH_ROUNDING
    return many and all(weight.dtype == torch.float32 and weight.device.type == "cpu" for weight in weights)


def int8_works() -> bool:
    """Whether torch has FBGEMM's products for this processor; their names are not public, so they are tried."""
    try:
        with torch.no_grad():
            found = Int8([torch.eye(2, device="cpu")])(torch.ones(1, 2, device="cpu"), None)
        return bool(torch.allclose(found, torch.ones(1, 2, device="cpu"), atol=1e-5))
    except (AttributeError, RuntimeError, TypeError):
        return False
