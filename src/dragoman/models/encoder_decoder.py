"""Source → frontend → encoder → memory → decoder → head."""

from typing import Literal

from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman import decoders, encoders, frontends, heads
from dragoman.config import Config
from dragoman.contracts import Batch, Memory, Output, State, Step
from dragoman.decoders import DecoderConfig, build_decoder
from dragoman.encoders import EncoderConfig, build_encoder
from dragoman.errors import ConfigError
from dragoman.frontends import FrontendConfig, build_frontend
from dragoman.heads import HeadConfig, build_head
from dragoman.nn.recurrent import Recurrent, cells_of


class EncoderDecoder(Config):
    """A model that reads a source and writes a target (Sutskever et al. 2014; Cho et al. 2014)."""

    kind: Literal["encoder_decoder"] = "encoder_decoder"
    source: FrontendConfig = frontends.Tokens()
    """how the source becomes vectors"""
    target: FrontendConfig = frontends.Tokens()
    """how the words written so far become vectors"""
    encoder: EncoderConfig = encoders.Rnn()
    """what reads the source"""
    decoder: DecoderConfig = decoders.Rnn()
    """what writes the target"""
    head: HeadConfig = heads.Tokens()
    """what chooses the next symbol"""
    share: Literal["none", "cells"] = "none"
    """cells: encoder and decoder have the same recurrent layers (Sutskever et al. 2014, 2, name it; theirs differ)"""


class EncoderDecoderModel(nn.Module):
    """Wires the parts and does no arithmetic of its own."""

    def __init__(self, config: EncoderDecoder, source_size: int, target_size: int) -> None:
        super().__init__()
        self.source = build_frontend(config.source, source_size)
        self.target = build_frontend(config.target, target_size)
        self.encoder = build_encoder(config.encoder, self.source.width)
        cells = shared_cells(config, self.source.width, self.target.width, self.encoder)
        self.decoder = build_decoder(config.decoder, self.target.width, self.encoder, cells)
        self.head = build_head(config.head, self.decoder.width, target_size)

    def encode(self, batch: Batch) -> Memory:
        source = batch.sources["source"]
        memory: Memory = self.encoder(self.source(source.values), source.mask)
        return memory

    def start(self, memory: Memory) -> State:
        return self.decoder.start(memory)

    def begin(self, batch: Batch) -> State:
        """Before the first step: the source has been read."""
        return self.start(self.encode(batch))

    def decode(self, inputs: Int[Tensor, "N L"], state: State, attention: bool = False) -> tuple[Output, State]:
        """Feed symbols to the decoder; any cut of them into calls gives the same result."""
        return self.decoder.run(self.target(inputs), state, attention)

    def step(self, last: Int[Tensor, " N"], state: State, attention: bool = False) -> Step:
        """One step of a search."""
        output, state = self.decode(last[:, None], state, attention)
        looked = output.attention["source"][:, :, -1].mean(1) if "source" in output.attention else None
        return Step(self.head.log_probabilities(output)[:, -1], state, looked)

    def logs(self, inputs: Int[Tensor, "N L"], state: State) -> tuple[Float[Tensor, "N L V"], State]:
        """Log-probabilities of all that may follow each input."""
        output, state = self.decode(inputs, state)
        return self.head.log_probabilities(output), state


def shared_cells(
    config: EncoderDecoder, source_width: int, target_width: int, encoder: encoders.RnnEncoder
) -> list[Recurrent] | None:
    """The encoder's cells for the decoder, where they are shared."""
    if config.share == "none":
        return None
    one, other = config.encoder, config.decoder
    facts = {
        "encoder.directions": (one.directions, "one"),
        "decoder.cell": (other.cell, one.cell),
        "decoder.layers": (other.layers, one.layers),
        "decoder.width": (other.width, one.width),
        "target.width": (target_width, source_width),
    }
    for name, (found, wanted) in facts.items():
        if found != wanted:
            raise ConfigError(
                f"model.share = 'cells' gives encoder and decoder the same layers: model.{name} must be {wanted!r}, "
                f"not {found!r}. Set it so, or model.share = 'none'."
            )
    return [cells_of(layer)[0] for layer in encoder.layers]
