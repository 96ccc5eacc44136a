"""The recurrent decoder: any cell, any attention or none, its context anywhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, cast

import torch
from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor, nn

from dragoman.config import Choices, Config
from dragoman.contracts import Encoder, FinalShape, Memory, Output, Remembered, State
from dragoman.decoders.bridge import BRIDGES, Bridge, BridgeKind
from dragoman.decoders.placement import PLACES, Place, Placement, Query, QueryLayer, place
from dragoman.decoders.readout import READOUTS, Readout, ReadoutKind
from dragoman.errors import ConfigError
from dragoman.nn.attention import (
    Additive,
    Attended,
    Attention,
    AttentionConfig,
    Attentions,
    Fixed,
    FixedContext,
    Hard,
    Look,
    NoAttention,
    Softmax,
    looks_at,
    quick_look,
    remembered,
)
from dragoman.nn.dropout import Dropout, mask_of
from dragoman.nn.linear import linear
from dragoman.nn.quick import Quick
from dragoman.nn.recurrent import CELLS, Cell, Joined, Kept, Recurrent, Rows, beside, build_cell, cells_of, run_layer

LookedAt = Literal["words", "turns", "both"]
SEEN: Mapping[LookedAt, str] = {
    "words": "c_i = Σ_j α_ij h_j over every symbol of the source (Bahdanau et al. 2015, eq. 5)",
    "turns": "c_i = Σ_n α_in h_n over the turns of a conversation, each of them one vector (compare Yang et al. 2016)",
    "both": "c_i = [c_i of words; c_i of turns]: two looks by one state (compare Xing et al. 2018, one upon the other)",
}
SEQUENCES: Mapping[LookedAt, tuple[str, ...]] = {
    "words": ("source",),
    "turns": ("turns",),
    "both": ("source", "turns"),
}  # of a memory, by looks_at
NEEDED = {"next_layer": {"layers": 2}, "none": {"context": ["input"]}}  # by a place of the context; by a readout


class Rnn(Config):
    """Recurrent layers that may look at the source before every word (Bahdanau et al. 2015; Luong et al. 2015)."""

    kind: Literal["rnn"] = "rnn"
    cell: Annotated[Cell, Choices(CELLS)] = "gru"
    """of each layer: tanh, sigmoid, gru or lstm"""
    layers: Annotated[int, Field(ge=1, le=1000)] = 1
    """one upon the other"""
    width: Annotated[int, Field(ge=1, le=65_536)] = 256
    """of the state of each layer"""
    residual: bool = False
    """whether each layer above the first adds what it read to what it gives (He et al. 2016; Wu et al. 2016)"""
    attention: AttentionConfig = Additive()
    """how the source is looked at; none: not at all; fixed: one context for all steps"""
    looks_at: Annotated[LookedAt, Choices(SEEN)] = "words"
    """what attention looks at: words, turns of a conversation, which a hierarchical encoder leaves, or both"""
    context: Annotated[tuple[Place, ...], Choices(PLACES, Placement.__module__, NEEDED)] = ("input", "readout")
    """where the context goes, if there is one: input (of the first layer), readout, next_layer, every_layer"""
    query: Query = "previous"
    """the state that asks: previous: s_(i−1), of the step before (Bahdanau et al. 2015); current: s_i, of this step,
    too late for its own input (Luong et al. 2015)"""
    query_layer: QueryLayer = "top"
    """the layer that asks"""
    input_feeding: bool = False
    """whether what the head sees enters the next step beside its word (Luong et al. 2015, 3.3)"""
    readout: Annotated[ReadoutKind, Choices(READOUTS, Readout.__module__, NEEDED)] = "tanh"
    """of state, last word and context, for the head: tanh, maxout, linear; none: the top layer's output itself"""
    readout_width: Annotated[int, Field(ge=1, le=65_536)] = 256
    """of what the head sees; Bahdanau et al. used 500"""
    readout_state: Literal["current", "previous"] = "current"
    """the state that the readout reads: of this step (Luong et al.), or of the step before (Bahdanau et al.)"""
    readout_word: bool = True
    """whether the readout reads the last word"""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """between the layers and on what the head sees; if variational, of the recurrent states as well"""
    variational: bool = False
    """whether dropout leaves out the same elements at every step (Gal and Ghahramani 2016); words and contexts aside"""
    bridge: Annotated[BridgeKind, Choices(BRIDGES, Bridge.__module__)] = "linear"
    """the first state: copy of the encoder's final one, linear or mlp of it (of the mean of all states where none is
    the last, as in a grid or a Transformer), or zeros"""

    @model_validator(mode="after")
    def possible(self) -> "Rnn":
        found = self.placement()
        if self.readout_state == "previous" and (self.readout == "none" or not self.readout_word):
            raise ValueError(
                "readout_state = 'previous' without the last word would choose every word before the one before it is "
                "known; set readout_word = true and a readout, or readout_state = 'current'"
            )
        if self.readout_state == "previous" and self.residual and self.layers > 1:
            raise ValueError(
                "readout_state = 'previous' reads a state, which nothing is added to; set residual = false"
            )
        if self.looks_at != "words" and not isinstance(getattr(self.attention, "weights", None), Softmax):
            raise ValueError(
                f"looks_at = '{self.looks_at}' needs an attention with soft weights; set attention.kind = 'additive' "
                "and attention.weights.kind = 'softmax', or looks_at = 'words'"
            )
        if isinstance(self.attention, NoAttention):
            if self.bridge == "zeros":
                raise ValueError(
                    "without attention, bridge = 'zeros' hides the source; set bridge = 'copy' or 'linear'"
                )
            return self
        if self.readout == "none" and "readout" in self.context:
            raise ValueError("readout = 'none' has no place for a context; take readout out of context, or set tanh")
        if self.draws() and not found.readout and (found.carried or self.readout_state == "previous"):
            raise ValueError(
                "a drawn position is rewarded by the word that follows it, which this context does not reach; add "
                "readout to context, or set weights.choice = 'closest'"
            )
        return self

    def draws(self) -> bool:
        """Whether positions of the source are drawn in training."""
        weights = getattr(self.attention, "weights", None)
        return isinstance(weights, Hard) and weights.choice == "sampled"

    def placement(self) -> Placement:
        if isinstance(self.attention, NoAttention):
            return Placement((), False, 0, False)
        if isinstance(self.attention, Fixed):  # known before the first step
            return place(self.context, self.layers, "previous", "top")
        return place(self.context, self.layers, self.query, self.query_layer)


Ask = Callable[[Tensor, int], Tensor]  # states (N, L, D) of the layer that asks, number of the first → contexts
AskOnce = Callable[[Tensor], Tensor]  # a step's states (N, D) of the layer that asks → contexts (N, C)


@dataclass
class Told:
    """What the steps of one run leave behind, each (N, L, ·)."""

    states: list[Tensor] = field(default_factory=list)  # of the top layer
    outputs: list[Tensor] = field(default_factory=list)  # the same, and what the layer read where it is residual
    contexts: list[Tensor] = field(default_factory=list)
    readouts: list[Tensor] = field(default_factory=list)  # where each is fed to the next step
    looks: list[dict[str, Attended]] = field(default_factory=list)  # by the name of what was looked at

    def last(self) -> "Told":
        return Told(self.states[-1:], self.outputs[-1:], self.contexts[-1:])


@dataclass(frozen=True)
class Wiring:
    """The layers as one run of steps uses them."""

    steps: list[Joined]
    words: bool  # whether the first layer reads them; else their part of its gates is known before
    constants: list[Tensor | None]  # biases, where they are not in that part
    between: list[Kept]  # what variational dropout leaves of what a layer reads from below
    recurrent: list[Kept]  # and of its own state


@dataclass(frozen=True)
class Prepared:
    """What a search needs, made once."""

    wiring: Wiring
    look: Look | None
    read: Callable[[list[Tensor]], Tensor]
    alone: bool  # whether a step needs no module: not where weights are other than soft


class RnnDecoder(nn.Module):
    """s_i = f(s_{i−1}, [Ey_{i−1}; c_i]) with c_i attended to by s_{i−1} (Bahdanau et al. 2015, eq. 4 to 6, A.1.2).

    Or s_i = f(s_{i−1}, Ey_{i−1}) with c_i attended to by s_i, and read with it by the head (Luong et al. 2015): then no
    step waits for a context, and all steps of a layer run in one call.
    """

    def __init__(self, config: Rnn, input_width: int, encoder: Encoder, cells: list[Recurrent] | None = None) -> None:
        """`cells` are those of an encoder to share with."""
        super().__init__()
        self.placement, self.residual = config.placement(), config.residual
        self.sequences = SEQUENCES[config.looks_at]
        self.feeding, self.variational = config.input_feeding, config.variational
        inputs = [input_width] + [config.width] * (config.layers - 1)
        self.cells = nn.ModuleList(cells or [build_cell(config.cell, width, config.width) for width in inputs])
        bottom = cells_of(self.cells)[0]
        self.names = bottom.names
        self.attention = build_attention(config, encoder)
        context_width = 0 if self.attention is None else self.attention.width
        self.of_context = nn.ModuleDict(
            {str(layer): linear(context_width, bottom.gates, bias=False) for layer in self.placement.layers}
        )
        self.reads_word, self.reads_previous = config.readout_word, config.readout_state == "previous"
        read = config.width + input_width * self.reads_word + context_width * self.placement.readout
        self.readout = Readout(config.readout, config.width if config.readout == "none" else read, config.readout_width)
        self.width = self.readout.width
        self.of_fed = linear(self.width, bottom.gates, bias=False) if self.feeding else None
        self.dropout = Dropout(config.dropout)
        shape = FinalShape(len(self.names), config.layers, config.width)
        bridged = context_width if isinstance(self.attention, FixedContext) else final_width(encoder)
        self.bridge = Bridge(config.bridge, encoder.final, bridged, shape)
        self.quick = Quick(self.quickly)
        self.whole = not self.feeding and (
            not isinstance(self.attention, Attention | Attentions) or self.placement.whole
        )

    def start(self, memory: Memory) -> State:
        self.quick.prepare(self)
        final, source = memory.final, memory.sequences["source"]
        fixed: dict[str, Tensor] = {}
        read = mean_of(source) if final is None else final.hidden[:, -1]
        if isinstance(self.attention, FixedContext):
            read = self.attention(read)
            fixed["context"] = read
        elif self.attention is not None:
            fixed = remembered(self.attention, {name: memory.sequences[name] for name in self.sequences})
        moving = dict(zip(self.names, self.bridge(final, read).unbind(1), strict=True))
        return State({**moving, **self.carried(moving["hidden"])}, fixed)

    def carried(self, hidden: Float[Tensor, "B layers D"]) -> dict[str, Tensor]:
        """What goes from step to step beside the states of the layers."""
        carried: dict[str, Tensor] = {}
        if isinstance(self.attention, Attention | Attentions):
            if self.placement.carried:
                carried["context"] = hidden.new_zeros(hidden.shape[0], self.attention.width)
            if self.attention.needs_steps:
                carried["steps"] = torch.zeros(hidden.shape[0], dtype=torch.int64, device=hidden.device)
        if self.feeding:
            carried["fed"] = hidden.new_zeros(hidden.shape[0], self.width)
        if self.variational and self.training and self.dropout.p:
            carried["kept.hidden"] = mask_of(hidden.detach(), self.dropout.p)
            carried["kept.between"] = mask_of(hidden.detach(), self.dropout.p)
            carried["kept.readout"] = mask_of(hidden.new_ones(hidden.shape[0], 1, self.width), self.dropout.p)
        return carried

    def run(self, inputs: Float[Tensor, "N L E"], state: State, attention: bool = False) -> tuple[Output, State]:
        if inputs.shape[1] == 1 and not attention and self.quick.ready(self) and self.quick.layers.alone:
            return self.step(inputs.squeeze(1), state)
        layers: list[Rows] = list(zip(*(state.moving[name].unbind(1) for name in self.names), strict=True))
        before, told = layers[-1][0], Told()
        carried = {name: value for name, value in state.moving.items() if name not in self.names}
        go = self.run_whole if self.whole and not self.rounds() else self.run_by_steps
        layers = go(inputs, layers, carried, self.asking(carried, state, told), self.given(inputs, state), told)
        hidden = joined(told.readouts) if self.feeding else self.read(inputs, before, told, carried)
        if "steps" in carried:
            carried["steps"] = carried["steps"] + inputs.shape[1]
        moving = {name: stacked(part) for name, part in zip(self.names, zip(*layers, strict=True), strict=True)}
        return self.output(hidden, told, attention), State({**moving, **carried}, state.fixed)

    def step(self, word: Float[Tensor, "N E"], state: State) -> tuple[Output, State]:
        """One step of a search, by what was prepared."""
        prepared: Prepared = self.quick.layers
        moving, fixed = state.moving, state.fixed
        layers: list[Rows] = list(zip(*(moving[name].unbind(1) for name in self.names), strict=True))
        before, look = layers[-1][0], prepared.look
        ask = None if look is None else lambda states: look(states, fixed)
        context = self.given(word, state)
        if ask is not None and not self.placement.current:
            context = ask(layers[self.placement.asks][0])
        layers, output, context = self.climb(prepared.wiring, word, layers, moving.get("fed"), ask, context)
        read = [before if self.reads_previous else output]
        if self.reads_word:
            read.append(word)
        if self.placement.readout and context is not None:
            read.append(context)
        hidden = prepared.read(read)
        after = {name: stacked(part) for name, part in zip(self.names, zip(*layers, strict=True), strict=True)}
        if self.placement.carried and context is not None:
            after["context"] = context
        if self.feeding:
            after["fed"] = hidden
        return Output(hidden[:, None]), State(after, fixed)

    def rounds(self) -> bool:
        """Whether a layer is int8, which torch's call for all steps is not. Then every cut goes step by step; with an
        LSTM of 512 and the head in int8 as well, 1.8 times as many sentences a second, one by one."""
        cells = cells_of(self.cells)
        if self.training or torch.is_grad_enabled() or not cells[0].prepared.int8:
            return False
        weights = [self.weights_into(number) for number in range(len(cells))]
        weights[0] = [cells[0].of_input.weight, *weights[0]]
        return any(cell.rounds(into) for cell, into in zip(cells, weights, strict=True))

    def output(self, hidden: Float[Tensor, "N L R"], told: Told, attention: bool) -> Output:
        looks = {name: [look[name] for look in told.looks] for name in self.sequences if told.looks}
        named = {name: joined([look.weights for look in each])[:, None] for name, each in looks.items() if attention}
        first = looks.get(self.sequences[0], [])
        facts = [name for name in first[0].facts if attention or name != "window"] if first else []
        extras = {f"attention.{name}": joined([look.facts[name] for look in first]) for name in facts}
        return Output(hidden, named, extras)

    def asking(self, carried: dict[str, Tensor], state: State, told: Told) -> Ask | None:
        """How a layer's states look at the source; None where nobody looks."""
        if not isinstance(self.attention, Attention | Attentions):
            return None
        attention, steps = self.attention, carried.get("steps")

        def ask(states: Tensor, first: int) -> Tensor:
            counted = None
            if steps is not None:
                counted = steps[:, None] + torch.arange(first, first + states.shape[1], device=states.device)
            told.looks.append(looks_at(attention, self.sequences, state.fixed, states, counted))
            return beside([one.context for one in told.looks[-1].values()], 2)

        return ask

    def given(self, words: Float[Tensor, "N *L E"], state: State) -> Float[Tensor, "N C"] | None:
        """The context that is known before the first step: a fixed one, or the one that the step before left."""
        if "context" in state.fixed:
            fixed = state.fixed["context"]
            return fixed.repeat_interleave(words.shape[0] // fixed.shape[0], 0)
        return state.moving.get("context")

    def read(
        self, words: Float[Tensor, "N L E"], before: Float[Tensor, "N D"], told: Told, carried: dict[str, Tensor]
    ) -> Float[Tensor, "N L R"]:
        """What the head sees at the steps that were told of; `before` is the top state that the first of them found."""
        read = [shifted(before, joined(told.states)) if self.reads_previous else joined(told.outputs)]
        if self.reads_word:
            read.append(words)
        if self.placement.readout:
            read.append(joined(told.contexts).expand(-1, words.shape[1], -1))
        hidden: Tensor = self.readout(read)
        return self.thinned(hidden, carried.get("kept.readout"))

    def thinned(self, values: Tensor, kept: Kept) -> Tensor:
        thinned: Tensor = self.dropout(values) if kept is None else values * kept
        return thinned

    def weights_into(self, layer: int) -> list[Tensor]:
        """Of all that a layer reads beside its own state and, in the first layer, the words."""
        below = [] if layer == 0 else [cells_of(self.cells)[layer].of_input.weight]
        context = [cast(nn.Linear, self.of_context[str(layer)]).weight] if layer in self.placement.layers else []
        return [*below, *context, *([self.of_fed.weight] if layer == 0 and self.of_fed is not None else [])]

    def run_by_steps(
        self,
        words: Float[Tensor, "N L E"],
        layers: list[Rows],
        carried: dict[str, Tensor],
        ask: Ask | None,
        context: Float[Tensor, "N C"] | None,
        told: Told,
    ) -> list[Rows]:
        """Only what depends on the step before stays in the loop: words enter the gates before it, the readout comes
        after it, unless it is fed to the next step. Without gradients words enter in the loop: one product less."""
        wiring = self.quick.layers.wiring if self.quick.ready(self) else self.wired(carried)
        of_words = words if wiring.words else cells_of(self.cells)[0].of_words(words)
        for number, of_word in enumerate(of_words.unbind(1)):
            before, once = layers[-1][0], None if ask is None else asking_once(ask, number)
            if once is not None and not self.placement.current:
                context = once(layers[self.placement.asks][0])
            layers, output, context = self.climb(wiring, of_word, layers, carried.get("fed"), once, context)
            told.states.append(layers[-1][0][:, None])
            told.outputs.append(output[:, None])
            if context is not None:
                told.contexts.append(context[:, None])
            if self.feeding:
                told.readouts.append(self.read(words[:, number : number + 1], before, told.last(), carried))
                carried["fed"] = told.readouts[-1].squeeze(1)
        if self.placement.carried and context is not None:
            carried["context"] = context
        return layers

    def quickly(self) -> Prepared:
        looks = isinstance(self.attention, Attention | Attentions)
        look = (
            quick_look(self.attention, self.sequences) if isinstance(self.attention, Attention | Attentions) else None
        )
        return Prepared(self.wired({}), look, self.readout.quickly(), alone=not looks or look is not None)

    def wired(self, carried: dict[str, Tensor]) -> Wiring:
        cells, words = cells_of(self.cells), not torch.is_grad_enabled()
        weights = [self.weights_into(number) for number in range(len(cells))]
        if words:
            weights[0] = [cells[0].of_input.weight, *weights[0]]
        steps = [cell.joined(into) for cell, into in zip(cells, weights, strict=True)]
        constants = [cell.constant() if number or words else None for number, cell in enumerate(cells)]
        return Wiring(steps, words, constants, self.kept("between", carried), self.kept("hidden", carried))

    def kept(self, name: str, carried: dict[str, Tensor]) -> list[Kept]:
        """What variational dropout leaves, layer by layer."""
        kept = carried.get(f"kept.{name}")
        return [None] * len(self.cells) if kept is None else list(kept.unbind(1))

    def climb(
        self,
        wiring: Wiring,
        of_word: Float[Tensor, "N gates"],
        layers: list[Rows],
        fed: Float[Tensor, "N R"] | None,
        ask: AskOnce | None,
        context: Float[Tensor, "N C"] | None,
    ) -> tuple[list[Rows], Float[Tensor, "N D"], Float[Tensor, "N C"] | None]:
        """One step of all layers: their states, the top one's output, and the context that is known by then."""
        after: list[Rows] = []
        output = of_word
        for layer, step in enumerate(wiring.steps):
            vectors = [self.thinned(output, wiring.between[layer])] if layer else [of_word] * wiring.words
            if context is not None and layer in self.placement.layers:
                vectors.append(context)
            if fed is not None and layer == 0:
                vectors.append(fed)
            constant = wiring.constants[layer]
            base = of_word if constant is None else constant
            after.append(step(base, vectors, layers[layer], wiring.recurrent[layer]))
            output = after[-1][0] + output if self.residual and layer else after[-1][0]
            if ask is not None and self.placement.current and layer == self.placement.asks:
                context = ask(after[-1][0])
        return after, output, context

    def run_whole(
        self,
        words: Float[Tensor, "N L E"],
        layers: list[Rows],
        carried: dict[str, Tensor],
        ask: Ask | None,
        given: Float[Tensor, "N C"] | None,
        told: Told,
    ) -> list[Rows]:
        """Layer by layer, all steps of each in one call of torch."""
        after, outputs, context = [], words, None if given is None else given[:, None]
        between, recurrent = self.kept("between", carried), self.kept("hidden", carried)
        for layer, cell in enumerate(cells_of(self.cells)):
            kept = between[layer]
            inputs = [self.thinned(outputs, None if kept is None else kept[:, None]) if layer else words]
            if context is not None and layer in self.placement.layers:
                inputs.append(context.expand(-1, words.shape[1], -1))
            weights = [cell.of_input.weight] * (layer == 0) + self.weights_into(layer)
            states, last = run_layer(cell, inputs, weights, layers[layer], recurrent[layer])
            outputs = states + outputs if self.residual and layer else states
            after.append(last)
            if ask is not None and layer == self.placement.asks:
                context = ask(states if self.placement.current else shifted(layers[layer][0], states), 0)
        told.states, told.outputs = [states], [outputs]
        told.contexts = [] if context is None else [context]
        return after


def final_width(encoder: Encoder) -> int:
    """Of the state that a bridge reads, which may be another than that of what is looked at."""
    return encoder.width if encoder.final is None else encoder.final.width


def build_attention(config: Rnn, encoder: Encoder) -> Attention | Attentions | FixedContext | None:
    if isinstance(config.attention, NoAttention):
        return None
    if isinstance(config.attention, Fixed):
        if encoder.final is None:
            raise ConfigError("attention = 'fixed' is made of the encoder's final state, and this encoder leaves none.")
        return FixedContext(config.attention, final_width(encoder), config.width)
    if config.looks_at == "words":
        return Attention(config.attention, config.width, encoder.width)
    turns: int | None = getattr(encoder, "turns_width", None)
    if turns is None:
        raise ConfigError(
            f"model.decoder.looks_at = '{config.looks_at}' looks at the turns of a conversation, and this encoder "
            "leaves none. Set model.encoder.kind = 'hierarchical', or model.decoder.looks_at = 'words'."
        )
    if config.looks_at == "turns":
        return Attention(config.attention, config.width, turns)
    return Attentions(config.attention, config.width, {"source": encoder.width, "turns": turns})


def mean_of(source: Remembered) -> Float[Tensor, "B D"]:
    """Of all states, where none is the last (Xu et al. 2015, 3.1.2)."""
    return source.states.sum(1) / source.mask.sum(1, keepdim=True).clamp(min=1)


def asking_once(ask: Ask, number: int) -> AskOnce:
    return lambda states: ask(states[:, None], number).squeeze(1)


def shifted(before: Float[Tensor, "N D"], states: Float[Tensor, "N L D"]) -> Float[Tensor, "N L D"]:
    """The state that each step found, from those that the steps left."""
    return torch.cat([before[:, None], states[:, :-1]], 1)


def stacked(layers: tuple[Tensor, ...]) -> Float[Tensor, "N layers D"]:
    """States of all layers side by side; a single one is not copied."""
    return layers[0][:, None] if len(layers) == 1 else torch.stack(layers, 1)


def joined(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, 1)
