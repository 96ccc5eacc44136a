"""The decoder of the Transformer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.contracts import Encoder, Memory, Output, Remembered, State
from dragoman.nn.dropout import Dropout
from dragoman.nn.masks import along_paths, as_scores, real_keys
from dragoman.nn.positions import Positions, build_positions
from dragoman.nn.quick import (
    Quick,
    around_of,
    brought_near,
    can_come_near,
    cross_attention_of,
    feed_forward_of,
    near_attention_of,
    self_attention_of,
)
from dragoman.nn.transformer import Around, CrossAttention, FeedForward, Seen, SelfAttention, Stack, build_last_norm

# Slots for each symbol of a row from which on those that no row needs any more are thrown away: with beams up to this
# width never, as attending to a few slots too many costs less.
CROWDED = 8


class Transformer(Stack):
    """Layers in which every symbol looks at those before it, and at the source if there is one
    (Vaswani et al. 2017)."""

    kind: Literal["transformer"] = "transformer"


@dataclass
class Running:
    """One run of all layers: what each of them needs, and what it leaves."""

    positions: Positions
    first: int  # the position of the first symbol
    sentences: int
    past: list[Float[Tensor, "B H _ 2 d"]]  # keys and values of the symbols before, layer by layer
    source: list[Float[Tensor, "B H S 2 d"]]
    source_keys: Float[Tensor, "B 1 1 S"] | None
    mask: Float[Tensor, "B 1 Q slots"] | None  # what each symbol may see of its sentence's slots
    causal: bool  # the same for whole targets, which torch knows without a mask
    seen: Seen
    near: list[list[Tensor]]  # the source behind the layers that look at it, if there is one source alone
    slots: list[Float[Tensor, "B H slots 2 d"]] = field(default_factory=list)

    def together(self, rows: Float[Tensor, "N L *rest"]) -> Float[Tensor, "B Q *rest"]:
        """All rows of a sentence side by side, so that its source is not copied for a beam."""
        return rows.reshape(self.sentences, -1, *rows.shape[2:])


class TransformerDecoderLayer(nn.Module):
    """Self-attention, attention to the source if there is one, then a feed-forward layer."""

    def __init__(self, config: Transformer, width: int, memory_width: int | None) -> None:
        super().__init__()
        self.attention, self.around_attention = SelfAttention(config, width), Around(config, width)
        self.cross: CrossAttention | None = None
        if memory_width is not None:
            self.cross, self.around_cross = CrossAttention(config, width, memory_width), Around(config, width)
        self.feed_forward, self.around_feed_forward = FeedForward(config, width), Around(config, width)

    def forward(self, vectors: Float[Tensor, "N L D"], run: Running, number: int) -> Float[Tensor, "N L D"]:
        looked = self.look_back(self.around_attention.read(vectors), run, number)
        vectors = self.around_attention.add(vectors, looked)
        if self.cross is not None:
            asking = run.together(self.around_cross.read(vectors))
            looked = self.cross(asking, run.source[number], run.source_keys, run.seen)
            vectors = self.around_cross.add(vectors, looked.view(vectors.shape))
        thought = self.feed_forward(self.around_feed_forward.read(vectors))
        return self.around_feed_forward.add(vectors, thought)

    def look_back(self, read: Float[Tensor, "N L D"], run: Running, number: int) -> Float[Tensor, "N L D"]:
        """At the symbols before, and at itself."""
        parts = run.together(self.attention.project(read, run.positions, run.first)).transpose(1, 3)
        asking, keys, values = parts.unbind(2)  # not by indices, whose gradients are filled with zeros first
        slots = parts[:, :, 1:].transpose(2, 3)
        if run.first:
            slots = torch.cat([run.past[number], slots], 2)
            keys, values = slots.unbind(3)
        run.slots.append(slots)
        looked = self.attention.attend(asking, keys, values, run.mask, run.seen, "target", run.causal)
        return looked.view(read.shape)


class TransformerDecoder(nn.Module):
    """x ← x + MultiHead(x, x_≤, x_≤); x ← x + MultiHead(x, memory, memory); x ← x + FFN(x) (Vaswani et al. 2017, 3.1).

    Keys and values of all rows of a sentence stand in its slots, in the order in which they were made. A row knows its
    own by its path: the slots of its symbols. A search that reorders rows moves paths, a few numbers each, and never
    keys and values. Without an encoder it looks at nothing but the symbols before (Radford et al. 2018).
    """

    def __init__(
        self, config: Transformer, input_width: int, encoder: Encoder | None, reach: int | None = None
    ) -> None:
        """`reach` is how many symbols each sees, itself counted; none: all before it."""
        super().__init__()
        self.reach = reach
        self.width, self.heads = input_width, config.heads
        self.positions = build_positions(config.positions, input_width, config.heads)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(
            TransformerDecoderLayer(config, input_width, None if encoder is None else encoder.width)
            for _ in range(config.layers)
        )
        self.last_norm = build_last_norm(config, input_width)
        self.quick = Quick(self.quickly)

    def quickly(self) -> list[tuple[Callable[..., Tensor] | None, ...]]:
        """Each layer's parts, ready for steps without gradients."""
        return [
            (
                around_of(layer.around_attention, self_attention_of(layer.attention, self.positions)),
                None if layer.cross is None else around_of(layer.around_cross, cross_attention_of(layer.cross)),
                None if layer.cross is None else around_of(layer.around_cross, near_attention_of(layer.cross)),
                around_of(layer.around_feed_forward, feed_forward_of(layer.feed_forward)),
            )
            for layer in cast(list[TransformerDecoderLayer], list(self.layers))
        ]

    def start(self, memory: Memory) -> State:
        self.quick.prepare(self)
        source = memory.sequences["source"]
        fixed = self.remembered(source, memory.size)
        nothing = source.states.new_empty(memory.size, self.heads, 0, 2, self.width // self.heads)
        path = torch.empty(memory.size, 0, dtype=torch.int64, device=source.mask.device)
        return State({"path": path}, fixed, {str(n): nothing for n in range(len(self.layers))})

    def remembered(self, source: Remembered, size: int) -> dict[str, Tensor]:
        """What each layer keeps of the source; nothing where none looks at one."""
        layers = cast(list[TransformerDecoderLayer], list(self.layers))
        looking = [layer.cross for layer in layers if layer.cross is not None]
        if not looking:
            return {}
        fixed = {f"source.{n}": cross.remember(source.states) for n, cross in enumerate(looking)}
        fixed["source.mask"] = source.mask
        keys = real_keys(source.mask)
        if keys is not None:
            fixed["source.keys"] = as_scores(keys, source.states)
        elif size == 1 and self.quick.layers is not None and can_come_near(looking[0], len(source.mask[0])):
            for number, cross in enumerate(looking):
                near = brought_near(cross, fixed[f"source.{number}"])
                fixed |= {f"near.{number}.{place}": part for place, part in enumerate(near)}
        return fixed

    def run(self, inputs: Float[Tensor, "N L E"], state: State, attention: bool = False) -> tuple[Output, State]:
        path, past = state.moving["path"], [state.grown[str(n)] for n in range(len(self.layers))]
        if past[0].shape[2] > CROWDED * path.shape[1] > 0:
            path, past = thinned(path, past)
        run, path = self.running(inputs, path, past, state, attention)
        vectors = self.positions(inputs, run.first)
        if attention or not self.quick.ready(self):
            vectors = self.dropout(vectors)
            for number, layer in enumerate(self.layers):
                vectors = layer(vectors, run, number)
        else:
            vectors = self.run_quickly(vectors, run)
        grown = {str(number): slots for number, slots in enumerate(run.slots)}
        output = Output(self.last_norm(vectors), self.looks(run, path, state) if attention else {})
        return output, State({"path": path}, state.fixed, grown)

    def run_quickly(self, vectors: Float[Tensor, "N L D"], run: Running) -> Float[Tensor, "N L D"]:
        """All layers by prepared weights."""
        rows, length, width = vectors.shape
        size, flat = (run.sentences, rows // run.sentences, length), vectors.reshape(-1, width)
        for number, (look_back, cross, cross_near, feed_forward) in enumerate(self.quick.layers):
            past = run.past[number] if run.first else None
            flat = look_back(flat, size, run.first, past, run.mask, run.causal, run.slots)
            if run.near:
                flat = cross_near(flat, *run.near[number])
            elif run.source:
                flat = cross(flat, run.sentences, run.source[number], run.source_keys)
            flat = feed_forward(flat)
        return flat.view(vectors.shape)

    def running(
        self, inputs: Tensor, path: Int[Tensor, "N t"], past: list[Tensor], state: State, attention: bool
    ) -> tuple[Running, Int[Tensor, "N _"]]:
        """What one run needs, and the paths behind it."""
        (rows, length), first = inputs.shape[:2], path.shape[1]
        sentences, taken = past[0].shape[0], past[0].shape[2]
        each = rows // sentences * length
        reach = self.reach if self.reach is not None and first + length > self.reach else None
        if taken + each == first + length:  # one row a sentence, whose path is all there is
            path = torch.arange(first + length, device=path.device).expand(rows, -1)
            whole = reach is None and (first == 0 or length == 1)
            mask = None if whole else along_paths(path, length, sentences, taken + each, inputs, reach)
            causal = (
                length > 1 and first == 0 and reach is None
            )  # in this order a bool where the first position is a symbol of an export
        else:
            new = torch.arange(taken, taken + each, device=path.device).view(-1, length)
            path = torch.cat([path, new.repeat(sentences, 1)], 1)
            mask, causal = along_paths(path, length, sentences, taken + each, inputs, reach), False
        looking = range(len(self.layers)) if "source.0" in state.fixed else ()
        source = [state.fixed[f"source.{number}"] for number in looking]
        keys, near = state.fixed.get("source.keys"), []
        if "near.0.0" in state.fixed:
            near = [[state.fixed[f"near.{number}.{part}"] for part in range(3)] for number in range(len(self.layers))]
        return Running(self.positions, first, sentences, past, source, keys, mask, causal, Seen(attention), near), path

    def looks(self, run: Running, path: Int[Tensor, "N T"], state: State) -> dict[str, Tensor]:
        """Where each layer looked: at the source, at the target so far, and at the source on average."""
        rows = path.shape[0]

        def apart(weights: Float[Tensor, "B H Q _"]) -> Float[Tensor, "N H L _"]:
            sentences, heads, _, size = weights.shape
            split = weights.view(sentences, heads, rows // sentences, -1, size)
            return split.transpose(1, 2).reshape(rows, heads, -1, size)

        target = [apart(weights) for weights in run.seen.layers["target"]]
        places = path[:, None, None].expand(-1, self.heads, target[0].shape[2], -1)
        found = {f"target.{number}": weights.gather(3, places) for number, weights in enumerate(target, start=1)}
        if not run.source:
            return found
        real = state.fixed["source.mask"].repeat_interleave(rows // run.sentences, 0)[:, None, None]
        source = [apart(weights) * real for weights in run.seen.layers["source"]]
        found |= {f"source.{number}": weights for number, weights in enumerate(source, start=1)}
        return found | {"source": torch.stack(source).mean((0, 2))[:, None]}


def thinned(
    path: Int[Tensor, "N t"], past: list[Float[Tensor, "B H slots 2 d"]]
) -> tuple[Int[Tensor, "N t"], list[Float[Tensor, "B H fewer 2 d"]]]:
    """Only slots that stand on the path of some row, in the order they had."""
    sentences, heads, slots, *rest = past[0].shape
    every = path.view(sentences, -1)
    used = torch.zeros(sentences, slots, dtype=torch.bool, device=path.device).scatter_(1, every, True)
    most = int(used.sum(1).max())
    kept = (~used).sort(dim=1, stable=True).indices[:, :most]
    places = kept[:, None, :, None, None].expand(-1, heads, -1, *rest)
    return (used.cumsum(1) - 1).gather(1, every).view(path.shape), [layer.gather(2, places) for layer in past]
