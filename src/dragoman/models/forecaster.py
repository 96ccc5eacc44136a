"""A past → frontend → encoder → memory → decoder → points: numbers in and numbers out."""

from dataclasses import dataclass, replace
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from dragoman import decoders, encoders, frontends, heads
from dragoman.config import Config
from dragoman.contracts import Batch, Memory, Output, Remembered, State
from dragoman.decoders import DecoderConfig, build_decoder, walking
from dragoman.encoders import EncoderConfig, build_encoder
from dragoman.frontends import FramesFrontend, NeighboursFrontend
from dragoman.heads import PointsHeadConfig, build_points_head
from dragoman.heads.points import FED
from dragoman.models.compiling import compile_stacks


class Forecaster(Config):
    """A model that reads the past of a track and goes on with it, point by point (Sutskever et al. 2014; for tracks:
    Alahi et al. 2016; Becker et al. 2018)."""

    kind: Literal["forecaster"] = "forecaster"
    source: frontends.Frames = frontends.Frames()
    """how the steps of the past become vectors"""
    target: frontends.Frames = frontends.Frames()
    """how the points so far, and what goes along with them (data.context), become vectors, which are added"""
    neighbours: frontends.Neighbours = frontends.Neighbours()
    """how the tracks beside it (data.neighbours) become a vector, which is added to that of each step of the past"""
    encoder: EncoderConfig = encoders.Rnn(width=64, directions="one", dropout=0.0)
    """what reads the past"""
    decoder: DecoderConfig = decoders.Rnn(width=64, readout_width=64, dropout=0.0)
    """what goes on with it"""
    head: PointsHeadConfig = heads.Points()
    """what says where the next point is"""


@dataclass(frozen=True)
class Sizes:
    """Numbers a step: of the past, of what is predicted, of the context, and of each neighbour."""

    source: int
    points: int
    context: int = 0
    neighbour: int = 0


class ForecasterModel(nn.Module):
    """Wires the parts and does no arithmetic of its own."""

    def __init__(self, config: Forecaster, sizes: Sizes) -> None:
        super().__init__()
        self.source = FramesFrontend(config.source, sizes.source)
        self.target = FramesFrontend(config.target, sizes.points)
        self.neighbours, self.context = None, None
        if sizes.neighbour:
            self.neighbours = NeighboursFrontend(config.neighbours, sizes.neighbour, config.source.width)
        if sizes.context:
            self.context = FramesFrontend(config.target, sizes.context)
        self.encoder = build_encoder(config.encoder, self.source.width)
        self.decoder = build_decoder(config.decoder, self.target.width, self.encoder)
        self.head = build_points_head(config.head, self.decoder.width, sizes.points)

    def compile_layers(self) -> None:
        compile_stacks(self.encoder, self.decoder)

    def encode(self, batch: Batch, attention: bool = False) -> Memory:
        """The states of the past, and what goes along with the future."""
        source = batch.sources["source"]
        vectors = self.source(source.values)
        if self.neighbours is not None:
            vectors = vectors + self.neighbours(batch.sources["neighbours"].values)
        memory: Memory = self.encoder(vectors, source.mask, attention)
        if self.context is None:
            return memory
        context = batch.sources["context"]
        walk = Remembered(self.context(context.values), context.mask, "walk")
        return replace(memory, sequences={**memory.sequences, "context": walk})

    def start(self, memory: Memory) -> State:
        state = self.decoder.start(memory)
        return walking.begin(state, memory.sequences["context"]) if "context" in memory.sequences else state

    def decode(self, inputs: Float[Tensor, "N L F"], state: State, attention: bool = False) -> tuple[Output, State]:
        """Feed points to the decoder; any cut of them into calls gives the same result."""
        vectors = walking.beside(self.target(inputs), state)
        output, after = self.decoder.run(vectors, state, attention)
        output = replace(output, extras={**output.extras, FED: inputs})
        return output, walking.moved(state, after, inputs.shape[1])
