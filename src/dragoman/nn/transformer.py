"""The blocks of a Transformer: attention with several heads, feed-forward layers, and what stands around each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Choices, Config
from dragoman.errors import ConfigError
from dragoman.nn.dot_product import attended
from dragoman.nn.dropout import Dropout
from dragoman.nn.linear import linear
from dragoman.nn.masks import as_scores
from dragoman.nn.masks import causal as before_or_at
from dragoman.nn.positions import Positions, PositionsConfig, RotaryPositions, Sinusoidal

Share = Annotated[float, Field(ge=0, lt=1)]
Activation = Literal["relu", "gelu", "swiglu"]
NormKind = Literal["layer", "rms"]

ACTIVATIONS: Mapping[Activation, str] = {
    "relu": "FFN(x) = W₂ max(0, W₁x + b₁) + b₂ (Vaswani et al. 2017, 3.3)",
    "gelu": "FFN(x) = W₂ GELU(W₁x + b₁) + b₂ (Hendrycks and Gimpel 2016)",
    "swiglu": "FFN(x) = W₂ (SiLU(W₁x + b₁) ∘ (W₃x + b₃)) + b₂ (Shazeer 2020)",
}
NORMS: Mapping[NormKind, str] = {
    "layer": "y = g ∘ (x − mean(x)) / √(var(x) + ε) + b (Ba et al. 2016)",
    "rms": "y = g ∘ x / √(mean(x²) + ε) (Zhang and Sennrich 2019)",
}
NORM_PLACES: Mapping[str, str] = {
    "before": "y = x + f(norm(x)), and one more norm behind the last layer (Xiong et al. 2020)",
    "after": "y = norm(x + f(x)) (Vaswani et al. 2017, 3.1)",
}


class Stack(Config):
    """What the layers of an encoder and of a decoder have in common; they are as wide as the vectors they read."""

    layers: Annotated[int, Field(ge=1, le=1000)] = 6
    """one upon the other"""
    heads: Annotated[int, Field(ge=1, le=1024)] = 8
    """of each attention; they share the width between them"""
    feed_forward: Annotated[int, Field(ge=1, le=1_048_576)] = 2048
    """width inside the feed-forward layers"""
    activation: Annotated[Activation, Choices(ACTIVATIONS)] = "relu"
    """between the two feed-forward layers: relu, gelu, swiglu"""
    norm: Annotated[NormKind, Choices(NORMS)] = "layer"
    """layer: of mean and variance; rms: of the root mean square alone"""
    norm_place: Annotated[Literal["before", "after"], Choices(NORM_PLACES)] = "before"
    """before: what each part reads, which learns more easily; after: what it leaves, as in the paper"""
    positions: PositionsConfig = Sinusoidal()
    """how a symbol's place is known"""
    dropout: Share = 0.1
    """of vectors with their positions, and of what each part leaves before it is added (Vaswani et al. 2017, 5.4)"""
    attention_dropout: Share = 0.0
    """of attention weights; the paper has none, its code has"""
    feed_forward_dropout: Share = 0.0
    """inside the feed-forward layers; the paper has none, its code has"""


@dataclass
class Seen:
    """Where each layer looked, if anybody asks: (B, H, Q, S) a layer."""

    wanted: bool = False
    layers: dict[str, list[Tensor]] = field(default_factory=dict)

    def add(self, name: str, weights: Tensor) -> None:
        self.layers.setdefault(name, []).append(weights)

    def named(self, mask: Bool[Tensor, "B S"]) -> dict[str, Float[Tensor, "B H _ S"]]:
        """Each layer by its name and number, from 1; nothing on padding."""
        real = mask[:, None, None]
        return {
            f"{name}.{n}": weights * real for name, each in self.layers.items() for n, weights in enumerate(each, 1)
        }


class Heads(nn.Module):
    """Attention(Q, K, V) = softmax(QKᵀ/√d) V, of several heads side by side (Vaswani et al. 2017, eq. 1 and 3.2.2)."""

    def __init__(self, config: Stack, width: int) -> None:
        super().__init__()
        if width % config.heads:
            raise ConfigError(
                f"{config.heads} heads cannot share a width of {width} equally. The width is that of the vectors: set "
                "model.source.width, model.target.width or heads."
            )
        self.heads, self.width, self.dropout = config.heads, width // config.heads, config.attention_dropout
        self.output = linear(width, width)

    def apart(self, vectors: Float[Tensor, "B Q _"], parts: int) -> Float[Tensor, "B Q parts H d"]:
        return vectors.view(*vectors.shape[:2], parts, self.heads, self.width)

    def attend(
        self,
        queries: Float[Tensor, "B H Q d"],
        keys: Float[Tensor, "B H S d"],
        values: Float[Tensor, "B H S d"],
        mask: Float[Tensor, "B 1 _ S"] | None,
        seen: Seen,
        name: str,
        causal: bool = False,
    ) -> Float[Tensor, "B Q D"]:
        """Where the weights are asked for, step by step."""
        dropout = self.dropout if self.training else 0.0
        if seen.wanted:
            weights = weights_of(queries, keys, mask, causal)
            seen.add(name, weights)
            found = F.dropout(weights, dropout, self.training) @ values
        else:
            found = attended(queries, keys, values, mask, dropout, causal)
        answer: Tensor = self.output(found.transpose(1, 2).flatten(2))
        return answer


def weights_of(
    queries: Float[Tensor, "B H Q d"],
    keys: Float[Tensor, "B H S d"],
    mask: Float[Tensor, "B 1 _ S"] | None,
    causal: bool = False,
) -> Float[Tensor, "B H Q S"]:
    """softmax(QKᵀ/√d) over what may be seen."""
    scores = queries @ keys.transpose(2, 3) / queries.shape[3] ** 0.5
    if causal:
        mask = as_scores(before_or_at(scores.shape[2], scores.device)[None, None], scores)
    return torch.softmax(scores if mask is None else scores + mask, -1)


class SelfAttention(Heads):
    """Queries, keys and values of the same vectors, by one matrix."""

    def __init__(self, config: Stack, width: int) -> None:
        super().__init__(config, width)
        self.of_all = linear(width, 3 * width)
        for part in self.of_all.weight.detach().chunk(3):
            nn.init.xavier_uniform_(part)

    def project(self, vectors: Float[Tensor, "N L D"], positions: Positions, first: int) -> Float[Tensor, "N L 3 H d"]:
        """Queries, keys and values; `first` is the position of the first vector of each row."""
        parts = self.apart(self.of_all(vectors), 3)
        if not isinstance(positions, RotaryPositions):
            return parts
        turning, values = parts.split_with_sizes([2, 1], 2)
        return torch.cat([positions.turned(turning, first), values], 2)


class CrossAttention(Heads):
    """Queries of the vectors; keys and values of a memory, made once."""

    def __init__(self, config: Stack, width: int, memory_width: int) -> None:
        super().__init__(config, width)
        self.of_query = linear(width, width)
        self.of_memory = linear(memory_width, 2 * width)
        for part in self.of_memory.weight.detach().chunk(2):
            nn.init.xavier_uniform_(part)

    def remember(self, states: Float[Tensor, "B S E"]) -> Float[Tensor, "B H S 2 d"]:
        """Keys and values, once a source."""
        return self.apart(self.of_memory(states), 2).permute(0, 3, 1, 2, 4).contiguous()

    def forward(
        self,
        vectors: Float[Tensor, "B Q D"],
        remembered: Float[Tensor, "B H S 2 d"],
        mask: Float[Tensor, "B 1 1 S"] | None,
        seen: Seen,
    ) -> Float[Tensor, "B Q D"]:
        queries = self.apart(self.of_query(vectors), 1)[:, :, 0].transpose(1, 2)
        keys, values = remembered.unbind(3)
        return self.attend(queries, keys, values, mask, seen, "source")


class FeedForward(nn.Module):
    """Two layers for each position by itself, with an activation between them."""

    def __init__(self, config: Stack, width: int) -> None:
        super().__init__()
        self.activation, self.dropout = config.activation, Dropout(config.feed_forward_dropout)
        gates = 2 if config.activation == "swiglu" else 1
        self.wide = linear(width, gates * config.feed_forward)
        self.output = linear(config.feed_forward, width)

    def forward(self, vectors: Float[Tensor, "B Q D"]) -> Float[Tensor, "B Q D"]:
        wide = self.wide(vectors)
        if self.activation == "swiglu":
            gate, value = wide.chunk(2, -1)
            wide = F.silu(gate) * value
        else:
            wide = F.relu(wide) if self.activation == "relu" else F.gelu(wide)
        answer: Tensor = self.output(self.dropout(wide))
        return answer


class Around(nn.Module):
    """x + f(norm(x)), or norm(x + f(x)): what stands around each part of a layer (Vaswani et al. 2017, 3.1)."""

    def __init__(self, config: Stack, width: int) -> None:
        super().__init__()
        self.norm = build_norm(config.norm, width)
        self.after = config.norm_place == "after"
        self.dropout = Dropout(config.dropout)

    def read(self, vectors: Float[Tensor, "B Q D"]) -> Float[Tensor, "B Q D"]:
        """What the part reads."""
        read: Tensor = vectors if self.after else self.norm(vectors)
        return read

    def add(self, vectors: Float[Tensor, "B Q D"], answer: Float[Tensor, "B Q D"]) -> Float[Tensor, "B Q D"]:
        """What stands behind it."""
        added = self.dropout.added(vectors, answer)
        return self.norm(added) if self.after else added


def build_norm(kind: NormKind, width: int) -> nn.LayerNorm | nn.RMSNorm:
    return nn.LayerNorm(width) if kind == "layer" else nn.RMSNorm(width, eps=1e-6)


def build_last_norm(config: Stack, width: int) -> nn.Module:
    """Behind the last layer: needed where norms stand before the parts, whose sum nobody has brought to size."""
    return nn.Identity() if config.norm_place == "after" else build_norm(config.norm, width)
