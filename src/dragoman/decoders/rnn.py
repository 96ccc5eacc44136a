"""The recurrent decoder with attention."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Choices, Config
from dragoman.contracts import Memory, Output, State
from dragoman.decoders.readout import READOUTS, Readout, ReadoutKind
from dragoman.errors import ConfigError
from dragoman.nn.attention import Additive, AttentionConfig, attend, build_attention
from dragoman.nn.linear import linear
from dragoman.nn.recurrent import CELLS, Cell, Recurrent, Rows, build_cell, cells_of

Bridge = Literal["linear", "zeros"]
BRIDGES = Choices(
    {
        "linear": "s_0 = tanh(W h + b), h the encoder's final state (Bahdanau et al. 2015, A.2.2)",
        "zeros": "s_0 = 0, whatever the encoder read (Graves, Supervised Sequence Labelling, 2012, §3.2.1)",
    },
    __name__,
)


class Rnn(Config):
    """Recurrent layers that look at the source before every word (Bahdanau et al. 2015)."""

    kind: Literal["rnn"] = "rnn"
    cell: Annotated[Cell, CELLS] = "gru"
    """of each layer: gru or lstm"""
    layers: Annotated[int, Field(ge=1, le=1000)] = 1
    """one upon the other; the top one asks the attention"""
    width: Annotated[int, Field(ge=1, le=65_536)] = 256
    """of the state of each layer"""
    attention: AttentionConfig = Additive()
    """how the source is looked at"""
    readout: Annotated[ReadoutKind, READOUTS] = "tanh"
    """tanh: of the new state; maxout: of the state before, as in the paper"""
    readout_width: Annotated[int, Field(ge=1, le=65_536)] = 256
    """of what the head sees; the paper used 500"""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """between the layers and on what the head sees"""
    bridge: Annotated[Bridge, BRIDGES] = "linear"
    """the first state: linear: tanh(W s) of the encoder's final state; zeros: nothing"""


class RnnDecoder(nn.Module):
    """s_i = f(s_{i−1}, [Ey_{i−1}; c_i]) with c_i attended to by s_{i−1} (Bahdanau et al. 2015, eq. 4 to 6, A.1.2).

    The context enters the first layer beside the word, and the readout. The bridge reads the encoder's top layer, both
    directions (the paper: the backward one alone), and gives the first state of every layer, an LSTM's cells included.
    """

    def __init__(self, config: Rnn, input_width: int, memory_width: int) -> None:
        super().__init__()
        self.width = config.readout_width
        self.attention = build_attention(config.attention, config.width, memory_width)
        inputs = [input_width] + [config.width] * (config.layers - 1)
        self.cells = nn.ModuleList(build_cell(config.cell, width, config.width) for width in inputs)
        bottom = cells_of(self.cells)[0]
        self.names = bottom.names
        self.of_context = linear(memory_width, bottom.gates, bias=False)
        self.readout = Readout(config.readout, config.width + input_width + memory_width, config.readout_width)
        self.dropout = nn.Dropout(config.dropout)
        self.shape = (len(self.names), config.layers, config.width)
        size = len(self.names) * config.layers * config.width
        self.bridge = linear(memory_width, size) if config.bridge == "linear" else None

    def start(self, memory: Memory) -> State:
        source = memory.sequences["source"]
        first = self.first_state(memory).unbind(1)
        keys = self.attention.keys(source.states)
        fixed = {"source.states": source.states, "source.mask": source.mask, "source.keys": keys}
        return State(dict(zip(self.names, first, strict=True)), fixed)

    def first_state(self, memory: Memory) -> Float[Tensor, "B parts layers D"]:
        states = memory.sequences["source"].states
        if self.bridge is None:
            return states.new_zeros(states.shape[0], *self.shape)
        if memory.final is None:
            raise ConfigError("This encoder leaves no final state for bridge = 'linear'. Set bridge = 'zeros'.")
        return torch.tanh(self.bridge(memory.final.hidden[:, -1])).view(-1, *self.shape)

    def run(self, inputs: Float[Tensor, "N L E"], state: State, attention: bool = False) -> tuple[Output, State]:
        fixed = (state.fixed["source.keys"], state.fixed["source.states"], state.fixed["source.mask"])
        layers: list[Rows] = list(zip(*(state.moving[name].unbind(1) for name in self.names), strict=True))
        before, tops, contexts, weights = layers[-1][0], [], [], []
        # Only what depends on the step before stays in the loop: words enter the gates before, the readout comes after.
        first, *upper = cells_of(self.cells)
        advance = first.steps_with(self.of_context)
        for of_word in first.of_words(inputs).unbind(1):
            context, weight = attend(self.attention, layers[-1][0][:, None], *fixed)
            layers = self.climb(upper, advance(of_word, context.squeeze(1), layers[0]), layers)
            tops.append(layers[-1][0])
            contexts.append(context)
            weights.append(weight)
        hidden = self.dropout(self.readout(before, torch.stack(tops, 1), inputs, torch.cat(contexts, 1)))
        named = {"source": torch.cat(weights, 1)[:, None]} if attention else {}
        moving = {name: torch.stack(part, 1) for name, part in zip(self.names, zip(*layers, strict=True), strict=True)}
        return Output(hidden, named), State(moving, state.fixed)

    def climb(self, upper: list[Recurrent], lowest: Rows, layers: list[Rows]) -> list[Rows]:
        """One step of the layers above the first, given its new state."""
        after = [lowest]
        for cell, state in zip(upper, layers[1:], strict=True):
            after.append(cell.step(cell.of_input(self.dropout(after[-1][0])), state))
        return after
