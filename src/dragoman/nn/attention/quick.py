"""A look at the source without modules and gradients, for the steps of a search."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.nn.attention.additive import AdditiveAttention
from dragoman.nn.attention.attention import Attention
from dragoman.nn.attention.soft import SoftmaxWeights
from dragoman.nn.masks import all_real
from dragoman.nn.softmax import masked_softmax

Look = Callable[[Tensor, Mapping[str, Tensor]], Tensor]  # states (N, D), what is fixed → contexts (N, C)


def look_of(attention: Attention, name: str = "source") -> Look | None:
    """Contexts alone, from what the state remembers of this sequence; None where weights are not soft."""
    if not isinstance(attention.weigh, SoftmaxWeights):
        return None
    score = attention.score
    scores = scores_of(attention)
    if isinstance(score, AdditiveAttention) and not score.deeper and attention.query.linear is None:
        scores = additive_scores(score)

    def look(states: Float[Tensor, "N D"], fixed: Mapping[str, Tensor]) -> Float[Tensor, "N C"]:
        found, mask = scores(states, fixed[f"{name}.keys"]), fixed[f"{name}.mask"]
        weights = torch.softmax(found, 2) if all_real(mask) else masked_softmax(found, mask)
        context = torch.bmm(weights, fixed[f"{name}.values"]).view(states.shape[0], -1)
        return context if attention.gate is None else context.mul_(torch.sigmoid(attention.gate(states)))

    return look


def scores_of(attention: Attention) -> Callable[[Tensor, Tensor], Tensor]:
    def scores(states: Float[Tensor, "N D"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B K S"]:
        queries = attention.query(states)
        return attention.score.scores(queries.view(keys.shape[0], -1, queries.shape[1]), keys)

    return scores


def additive_scores(score: AdditiveAttention) -> Callable[[Tensor, Tensor], Tensor]:
    """2v · σ(2 query + 2 key_j), which is v · tanh(query + key_j) but for what all positions have in common."""
    of_query = score.of_query
    product, bias = of_query.prepared.make([2 * of_query.weight]), 2 * of_query.bias
    weight = 2 * score.energy.weight[0]

    def scores(states: Float[Tensor, "N D"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B K S"]:
        sentences, positions, width = keys.shape
        asked = product.of_rows(states, bias).view(sentences, -1, 1, width)
        compared = torch.add(asked, keys[:, None], alpha=2).sigmoid_()
        return torch.mv(compared.view(-1, width), weight).view(sentences, -1, positions)

    return scores
