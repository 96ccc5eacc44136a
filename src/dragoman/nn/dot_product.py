"""Attention(Q, K, V) = softmax(QKᵀ/√d) V (Vaswani et al. 2017, eq. 1), of whole batches of heads."""

from functools import lru_cache

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from dragoman.nn.masks import as_scores
from dragoman.nn.masks import causal as before_or_at

# Queries and keys up to which plain products are taken on a CPU. Torch's own product of all three, made for long
# sequences, takes 27 ms forward and back for 300 sentences of 13 symbols (4 heads of 64, two cores), plain ones 14.
SHORT = 128


def attended(
    queries: Float[Tensor, "B H Q d"],
    keys: Float[Tensor, "B H S d"],
    values: Float[Tensor, "B H S d"],
    mask: Float[Tensor, "B 1 _ S"] | None,
    dropout: float = 0.0,
    causal: bool = False,
) -> Float[Tensor, "B H Q d"]:
    """By torch's own product of all three, which never holds the weights; by plain ones where that is sooner."""
    batch, heads, asking, width = queries.shape
    if batch == 1 or asking == 1 or not short(queries, keys):  # one query: torch's own is as fast
        return F.scaled_dot_product_attention(queries, keys, values, mask, dropout, is_causal=causal)
    flat = batch * heads
    towards = keys.reshape(flat, -1, width).transpose(1, 2)
    nothing = queries.new_zeros(1, 1, 1)  # not read, since β is 0
    scores = torch.baddbmm(nothing, queries.reshape(flat, asking, width), towards, beta=0, alpha=width**-0.5)
    if causal:
        make = looking_back if torch.compiler.is_compiling() else looking_back_once
        scores = scores.add_(make(asking, scores.dtype, scores.device))
    elif mask is not None:
        apart = scores.view(batch, heads, asking, -1)
        # What is added in place to a view is copied three times on the way back.
        scores = (apart + mask if scores.requires_grad else apart.add_(mask)).view(scores.shape)
    weights = torch.softmax(scores, -1)
    if dropout:
        weights = F.dropout(weights, dropout)
    return torch.bmm(weights, values.reshape(flat, -1, width)).view(queries.shape)


def looking_back(length: int, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "1 L L"]:
    """To be added to scores: each position sees itself and what stands before it."""
    return as_scores(before_or_at(length, device)[None, None], torch.empty(0, dtype=dtype, device=device))[0]


@lru_cache(maxsize=32)
def looking_back_once(length: int, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "1 L L"]:
    """The same for all layers and batches of a length, with gradients or without."""
    with torch.inference_mode(False):
        return looking_back(length, dtype, device)


def short(queries: Float[Tensor, "B H Q d"], keys: Float[Tensor, "B H S d"]) -> bool:
    if torch.compiler.is_exporting():  # a graph must do for every length
        return False
    plain = queries.device.type == "cpu" and queries.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
    return plain and queries.shape[2] <= SHORT and keys.shape[2] <= SHORT
