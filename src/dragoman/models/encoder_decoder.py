"""Source → frontend → encoder → memory → decoder → head."""

from typing import Annotated, Literal

from jaxtyping import Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn

from dragoman import decoders, encoders, frontends, heads
from dragoman.config import Config
from dragoman.contracts import Batch, Memory, Output, State, Step
from dragoman.decoders import DecoderConfig, build_decoder
from dragoman.encoders import HierarchicalEncoder, SourceEncoderConfig, build_encoder
from dragoman.errors import ConfigError
from dragoman.frontends import TOKENS, build_frontend, build_recent, of_symbols, vectors_of
from dragoman.heads import HeadConfig, build_head
from dragoman.models.compiling import compile_stacks
from dragoman.nn.recurrent import Recurrent, cells_of


class EncoderDecoder(Config):
    """A model that reads a source and writes a target (Sutskever et al. 2014; Cho et al. 2014)."""

    kind: Literal["encoder_decoder"] = "encoder_decoder"
    source: Annotated[frontends.Tokens | frontends.ImageGrid, Field(discriminator="kind")] = frontends.Tokens()
    """how the source becomes vectors"""
    target: frontends.Tokens = frontends.Tokens()
    """how the words written so far become vectors"""
    ngrams: frontends.RecentNgrams = frontends.RecentNgrams()
    """of the last tokens, whose vectors are added to those of the tokens"""
    encoder: SourceEncoderConfig = encoders.Rnn()
    """what reads the source"""
    decoder: DecoderConfig = decoders.Rnn()
    """what writes the target"""
    head: HeadConfig = heads.Tokens()
    """what chooses the next symbol"""
    share: Literal["none", "cells"] = "none"
    """cells: encoder and decoder have the same recurrent layers (Sutskever et al. 2014, 2, name it; theirs differ)"""
    tie: Literal["none", "target", "all"] = "none"
    """target: the vectors of target words are also the rows of the output layer (Press and Wolf 2017);
    all: and those of source words too, with one vocabulary (Vaswani et al. 2017, 3.4)"""

    @model_validator(mode="after")
    def _turns_are_read(self) -> "EncoderDecoder":
        if isinstance(self.encoder, encoders.Hierarchical):
            refuse_unread_turns(self.decoder)
        return self


class EncoderDecoderModel(nn.Module):
    """Wires the parts and does no arithmetic of its own."""

    def __init__(self, config: EncoderDecoder, source_size: int, target_size: int) -> None:
        super().__init__()
        self.source = build_frontend(config.source, source_size)
        self.target = build_frontend(config.target, target_size)
        self.ngrams = build_recent(config.ngrams, self.target.width)
        if config.tie == "all":
            source = of_symbols(self.source, "model.tie = 'all'")
            refuse_apart(source_size, target_size, source.width, self.target.width)
            self.target.embedding = source.embedding
        self.encoder = build_encoder(config.encoder, self.source.width)
        cells = shared_cells(config, self.source.width, self.target.width, self.encoder)
        self.decoder = build_decoder(config.decoder, self.target.width, self.encoder, cells)
        self.head = build_head(config.head, self.decoder.width, target_size)
        if config.tie != "none":
            refuse_untied(self.decoder.width, self.target.width)
            self.head.output.weight = self.target.embedding.weight

    def compile_layers(self) -> None:
        compile_stacks(self.encoder, self.decoder)

    def encode(self, batch: Batch, attention: bool = False) -> Memory:
        source = batch.sources["source"]
        read = (*vectors_of(self.source, source), attention)
        if isinstance(self.encoder, HierarchicalEncoder):
            return self.encoder.forward(*read, turns=source.turns)
        memory: Memory = self.encoder(*read)
        return memory

    def start(self, memory: Memory) -> State:
        state = self.decoder.start(memory)
        return state if self.ngrams is None else self.ngrams.begun(state, memory.size)

    def begin(self, batch: Batch) -> State:
        """Before the first step: the source has been read."""
        return self.start(self.encode(batch))

    def decode(self, inputs: Int[Tensor, "N L"], state: State, attention: bool = False) -> tuple[Output, State]:
        """Feed symbols to the decoder; any cut of them into calls gives the same result."""
        if self.ngrams is None:
            return self.decoder.run(self.target(inputs), state, attention)
        before = state.moving[TOKENS]
        vectors = self.target(inputs) + self.ngrams(inputs, before)
        output, after = self.decoder.run(vectors, state, attention)
        return output, self.ngrams.after(inputs, before, after)

    def step(self, last: Int[Tensor, " N"], state: State, attention: bool = False) -> Step:
        """One step of a search."""
        output, state = self.decode(last[:, None], state, attention)
        looked = output.attention["source"][:, :, -1].mean(1) if "source" in output.attention else None
        return Step(self.head.log_probabilities(output)[:, -1], state, looked)

    def logs(self, inputs: Int[Tensor, "N L"], state: State) -> tuple[Float[Tensor, "N L V"], State]:
        """Log-probabilities of all that may follow each input."""
        output, state = self.decode(inputs, state)
        return self.head.log_probabilities(output), state


def refuse_unread_turns(decoder: decoders.Rnn | decoders.Transformer) -> None:
    """What reads the turns must reach the decoder, or nothing is ever learned by it."""
    if isinstance(decoder, decoders.Transformer):
        raise ValueError(
            "a hierarchical encoder hands the decoder a state of the whole conversation, which a Transformer has no "
            "place for; set model.decoder.kind = 'rnn', or model.encoder.kind = 'transformer', which reads the turns "
            "joined"
        )
    if decoder.bridge == "zeros" and decoder.looks_at == "words" and decoder.attention.kind != "fixed":
        raise ValueError(
            "with bridge = 'zeros' and looks_at = 'words' the decoder sees nothing of what reads the turns; set "
            "model.decoder.bridge = 'linear', or model.decoder.looks_at = 'both'"
        )


def refuse_apart(source_size: int, target_size: int, source_width: int, target_width: int) -> None:
    """One table for both sides needs one vocabulary and one width."""
    if source_size != target_size:
        raise ConfigError(
            f"model.tie = 'all' has one vector for a word of either side, and the vocabularies have {source_size:,} "
            f"and {target_size:,} symbols. Set target.kind = 'shared' for one vocabulary, or model.tie = 'target'."
        )
    if source_width != target_width:
        raise ConfigError(
            f"model.tie = 'all' has one table of vectors: model.target.width must be {source_width}, not "
            f"{target_width}."
        )


def refuse_untied(width: int, target_width: int) -> None:
    if width != target_width:
        raise ConfigError(
            f"model.tie has word vectors as rows of the output layer, which reads vectors of width {width} from the "
            f"decoder: set model.target.width = {width}, not {target_width} (of a recurrent decoder, readout_width is "
            "what it gives)."
        )


def shared_cells(
    config: EncoderDecoder,
    source_width: int,
    target_width: int,
    encoder: encoders.AnyEncoder,
) -> list[Recurrent] | None:
    """The encoder's cells for the decoder, where they are shared."""
    if config.share == "none":
        return None
    one, other = config.encoder, config.decoder
    if not (isinstance(one, encoders.Rnn) and isinstance(other, decoders.Rnn)):
        raise ConfigError("model.share = 'cells' is for recurrent layers on both sides. Set model.share = 'none'.")
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
    assert isinstance(encoder, encoders.RnnEncoder)  # noqa: S101 (its config is one)
    return [cells_of(layer)[0] for layer in encoder.layers]
