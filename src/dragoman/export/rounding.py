"""Weights in whole numbers of one byte, chosen so that layers give what they gave, for the inputs that they meet."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.models import EncoderDecoderModel
from dragoman.pipeline import Pipeline
from dragoman.pipeline.answering import find
from dragoman.pipeline.rows import Asked, Row
from dragoman.regimes import teacher
from dragoman.search import Greedy

SEVEN_BITS = 63  # the largest whole number of a weight: two products with 255 still fit into 16 bits
EIGHT_BITS = 127
BLOCK = 128  # columns whose errors are handed on at once to those behind them
DAMPING = 0.01  # of the mean second moment, so that what was hardly met can be inverted

Moments = dict[nn.Module, Float[Tensor, "K K"]]  # Σ x xᵀ of the inputs of each affine layer


def in_bytes(
    weight: Float[np.ndarray, "V K"], largest: int, moments: Float[Tensor, "K K"] | None = None
) -> tuple[Any, Any]:
    """Whole numbers, and what each row was multiplied by; to the nearest, or by the moments of the inputs."""
    reach = np.abs(weight).max(1)
    scale = np.where(reach > 0, largest / np.maximum(reach, 1e-30), 1.0).astype(np.float32)
    if moments is None:
        return np.rint(weight * scale[:, None]).astype(np.int8), scale
    scaled = torch.from_numpy(weight * scale[:, None]).double()
    return compensated(scaled, moments.double(), largest).to(torch.int8).numpy(), scale


def compensated(weight: Float[Tensor, "V K"], moments: Float[Tensor, "K K"], largest: int) -> Float[Tensor, "V K"]:
    """Column by column to the nearest whole number; what is lost is made good by the columns that follow, as far as
    their inputs go together (GPTQ: Frantar et al. 2023, algorithm 1). Columns that weigh most come first."""
    order = moments.diagonal().argsort(descending=True)
    damped = moments[order][:, order] + DAMPING * moments.diagonal().mean().clamp(min=1e-12) * torch.eye(len(moments))
    inverse = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(damped)), upper=True)
    left, found = weight[:, order].clone(), torch.empty_like(weight)
    for first in range(0, weight.shape[1], BLOCK):
        last = min(first + BLOCK, weight.shape[1])
        lost = torch.empty(weight.shape[0], last - first, dtype=weight.dtype)
        for column in range(first, last):
            whole = left[:, column].round().clamp(-largest, largest)
            found[:, order[column]] = whole
            lost[:, column - first] = (left[:, column] - whole) / inverse[column, column]
            left[:, column:last] -= lost[:, column - first, None] * inverse[column, column:last]
        left[:, last:] -= lost @ inverse[first:last, last:]
    return found


def moments_of(pipeline: Pipeline, texts: Sequence[str], watch: Callable[[float], None]) -> Moments:
    """What every affine layer reads while the model answers these texts, one by one, so that nothing is padding."""
    model, found = pipeline.model, Moments()
    assert isinstance(model, EncoderDecoderModel)  # noqa: S101 (an ensemble is no run)

    def see(layer: nn.Module, inputs: Tensor) -> None:
        rows = inputs.detach().reshape(-1, inputs.shape[-1])
        found[layer] = found.get(layer, 0) + rows.t() @ rows

    layers = [part for part in model.modules() if isinstance(part, nn.Linear)]
    handles = [layer.register_forward_pre_hook(lambda layer, inputs: see(layer, inputs[0])) for layer in layers]
    try:
        for number, (text, source) in enumerate(zip(texts, pipeline.source.encode(list(texts)), strict=True)):
            row = Row(source[: pipeline.settings.limits.source], text, number)
            answer = find(pipeline, [row], Asked(Greedy(), 1, alignments=False))[0][0]
            batch = pipeline.batch_of([row], [list(answer.tokens[: pipeline.settings.limits.answer - 1])])
            with torch.enable_grad():  # through the modules
                see(model.head.output, teacher(model, batch).hidden)
            watch(number / len(texts))
    finally:
        for handle in handles:
            handle.remove()
    return found
