"""Attention whose weights sum to one over the steps as well."""

from jaxtyping import Float
from torch import Tensor

from dragoman.contracts import Batch

WEIGHTS = "attention.weights"


def unevenness(weights: Float[Tensor, "B T S"], batch: Batch) -> Float[Tensor, ""]:
    """Σ_j (1 − Σ_i α_ij)² over real words i and real positions j, summed over the batch (Xu et al. 2015, eq. 14)."""
    target, source = batch.truth().outputs.mask, batch.sources["source"].mask
    real = source.repeat_interleave(weights.shape[2] // source.shape[1], 1)  # a picture has several positions
    seen = (weights * target[:, :, None]).sum(1)
    return ((1 - seen).square() * real).sum()
