"""The encoder of the Transformer."""

from collections.abc import Callable
from typing import Literal, cast

from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.contracts import FinalShape, Memory, Remembered
from dragoman.nn.dropout import Dropout
from dragoman.nn.masks import as_scores, real_keys
from dragoman.nn.positions import Positions, build_positions
from dragoman.nn.quick import Quick, around_of, feed_forward_of, self_attention_of
from dragoman.nn.transformer import Around, FeedForward, Seen, SelfAttention, Stack, build_last_norm, build_norm


class Transformer(Stack):
    """Layers in which every symbol of the source looks at every other (Vaswani et al. 2017)."""

    kind: Literal["transformer"] = "transformer"
    first_norm: bool = False
    """whether vectors with their positions are normed before the first layer (Devlin et al. 2019)"""
    directions: Literal["one", "both"] = "both"
    """one: a symbol looks at itself and those before it, so that the last alone knows the whole source (Radford et al.
    2018); both: at all (Vaswani et al. 2017)"""


class TransformerEncoderLayer(nn.Module):
    """Self-attention, then a feed-forward layer."""

    def __init__(self, config: Transformer, width: int) -> None:
        super().__init__()
        self.attention, self.around_attention = SelfAttention(config, width), Around(config, width)
        self.feed_forward, self.around_feed_forward = FeedForward(config, width), Around(config, width)

    def forward(
        self,
        vectors: Float[Tensor, "B S D"],
        mask: Float[Tensor, "B 1 1 S"] | None,
        positions: Positions,
        seen: Seen,
        causal: bool,
    ) -> Float[Tensor, "B S D"]:
        parts = self.attention.project(self.around_attention.read(vectors), positions, 0)
        queries, keys, values = parts.transpose(1, 3).unbind(2)
        looked = self.attention.attend(queries, keys, values, mask, seen, "encoder", causal)
        vectors = self.around_attention.add(vectors, looked)
        thought = self.feed_forward(self.around_feed_forward.read(vectors))
        return self.around_feed_forward.add(vectors, thought)


class TransformerEncoder(nn.Module):
    """x ← x + MultiHead(x, x, x); x ← x + FFN(x), layer by layer (Vaswani et al. 2017, 3.1)."""

    def __init__(self, config: Transformer, input_width: int) -> None:
        super().__init__()
        self.width, self.causal = input_width, config.directions == "one"
        self.positions = build_positions(config.positions, input_width, config.heads)
        self.first_norm = build_norm(config.norm, input_width) if config.first_norm else nn.Identity()
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(TransformerEncoderLayer(config, input_width) for _ in range(config.layers))
        self.last_norm = build_last_norm(config, input_width)
        self.quick = Quick(self.quickly)

    def quickly(self) -> list[tuple[Callable[..., Tensor], ...]]:
        """Each layer's parts, ready to be used without gradients."""
        return [
            (
                around_of(layer.around_attention, self_attention_of(layer.attention, self.positions)),
                around_of(layer.around_feed_forward, feed_forward_of(layer.feed_forward)),
            )
            for layer in cast(list[TransformerEncoderLayer], list(self.layers))
        ]

    @property
    def final(self) -> FinalShape | None:
        """None: every position knows the whole source, and none of them is the last."""
        return None

    def forward(self, vectors: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"], attention: bool = False) -> Memory:
        seen, real = Seen(attention), real_keys(mask)
        keys = None if real is None else as_scores(real, vectors)
        looked = None if self.causal else keys  # padding stands on the right, where nobody looks who looks back
        states = self.dropout(self.first_norm(self.positions(vectors, 0)))
        self.quick.prepare(self)
        if attention or not self.quick.ready(self):
            for layer in self.layers:
                states = layer(states, looked, self.positions, seen, self.causal)
        else:
            states = self.run_quickly(states, looked)
        states = self.last_norm(states)
        source = Remembered(states if keys is None else states * mask[:, :, None], mask)
        return Memory(mask.shape[0], {"source": source}, attention=seen.named(mask))

    def run_quickly(
        self, vectors: Float[Tensor, "B S D"], keys: Float[Tensor, "B 1 1 S"] | None
    ) -> Float[Tensor, "B S D"]:
        """All layers by prepared weights."""
        sentences, length, width = vectors.shape
        flat = vectors.reshape(-1, width)
        for look, feed_forward in self.quick.layers:
            flat = feed_forward(look(flat, (sentences, 1, length), 0, None, keys, self.causal, []))
        return flat.view(vectors.shape)
