"""Text so far → frontend → decoder → head: a language model."""

from typing import Annotated, Any, Literal

from jaxtyping import Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn

from dragoman import decoders, frontends, heads
from dragoman.config import Config
from dragoman.contracts import Batch, Memory, Output, State, Step
from dragoman.decoders import DecoderConfig, NoSource, build_decoder
from dragoman.errors import ConfigError
from dragoman.frontends import TOKENS, build_frontend, build_recent
from dragoman.heads import HeadConfig, build_head
from dragoman.models.compiling import compile_stacks
from dragoman.nn.positions import longest


class DecoderOnly(Config):
    """A model that goes on with a text: p(x) = Π p(x_t | x_<t) (Bengio et al. 2003; Radford et al. 2018)."""

    kind: Literal["decoder_only"] = "decoder_only"
    target: frontends.Tokens = frontends.Tokens()
    """how the text so far becomes vectors"""
    ngrams: frontends.RecentNgrams = frontends.RecentNgrams()
    """of the last tokens, whose vectors are added to those of the tokens"""
    decoder: DecoderConfig = decoders.Transformer()
    """what writes the text; a recurrent one has attention.kind = "none" and bridge = "copy", if nothing is said"""
    head: HeadConfig = heads.Tokens()
    """what chooses the next symbol"""
    context: Annotated[int, Field(ge=1, le=1_000_000)] = 256
    """symbols of a window: texts are learned and measured in windows of so many, one behind the other; a Transformer
    looks back at no more, also where a text goes on beyond them"""
    documents: Literal["blank_lines", "files"] = "blank_lines"
    """what a text is, behind which END stands: what stands between blank lines, or a whole file with its blank lines"""
    carry: Literal["none", "state"] = "none"
    """whether recurrent layers go on in the state that the window before has left, without its gradient (Williams and
    Peng 1990; Mikolov et al. 2010); else nothing stands before a window but one symbol"""
    tie: Literal["none", "target"] = "none"
    """target: the vectors of symbols are also the rows of the output layer (Press and Wolf 2017)"""

    @model_validator(mode="before")
    @classmethod
    def _recurrent_without_a_source(cls, given: Any) -> Any:
        """`decoder.kind = "rnn"` is enough: a table of recurrent layers gets what fits where there is no source."""
        decoder = given.get("decoder") if isinstance(given, dict) else None
        if not isinstance(decoder, dict) or decoder.get("kind") != "rnn":
            return given
        return {**given, "decoder": {"attention": {"kind": "none"}, "bridge": "copy", **decoder}}

    @model_validator(mode="after")
    def _possible(self) -> "DecoderOnly":
        if isinstance(self.decoder, decoders.Rnn):
            if self.decoder.attention.kind != "none" or self.decoder.bridge != "copy":
                raise ValueError(
                    "a language model has no source to look at, and starts in the state that the text before it has "
                    "left; set decoder.attention.kind = 'none' and decoder.bridge = 'copy'"
                )
            return self
        if self.carry == "state":
            raise ValueError(
                "carry = 'state' is for recurrent layers, and this decoder is a Transformer, which has no state but "
                "what it looks back at; set carry = 'none', or decoder.kind = 'rnn'"
            )
        length = longest(self.decoder.positions)
        if length is not None and self.context > length:
            raise ValueError(
                f"context = {self.context} needs as many positions, and decoder.positions.length is {length}; raise "
                "it, lower context, or take sinusoidal or rotary positions, which have no end"
            )
        return self


class DecoderOnlyModel(nn.Module):
    """Wires the parts and does no arithmetic of its own."""

    def __init__(self, config: DecoderOnly, size: int) -> None:
        super().__init__()
        self.target = build_frontend(config.target, size)
        self.ngrams = build_recent(config.ngrams, self.target.width)
        self.decoder = build_decoder(config.decoder, self.target.width, None, reach=config.context)
        self.head = build_head(config.head, self.decoder.width, size)
        self.nothing = NoSource(config.decoder)
        if config.tie != "none":
            refuse_untied(self.decoder.width, self.target.width)
            self.head.output.weight = self.target.embedding.weight

    def compile_layers(self) -> None:
        compile_stacks(self.decoder)

    def encode(self, batch: Batch, attention: bool = False) -> Memory:
        """There is no source: nothing to look at, and a first state of zeros."""
        return self.nothing.memory(batch.size, self.target.embedding.weight)

    def start(self, memory: Memory) -> State:
        state = self.decoder.start(memory)
        return state if self.ngrams is None else self.ngrams.begun(state, memory.size)

    def begin(self, batch: Batch) -> State:
        """Before the first symbol."""
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
        output, state = self.decode(last[:, None], state)
        return Step(self.head.log_probabilities(output)[:, -1], state)

    def logs(self, inputs: Int[Tensor, "N L"], state: State) -> tuple[Float[Tensor, "N L V"], State]:
        """Log-probabilities of all that may follow each input."""
        output, state = self.decode(inputs, state)
        return self.head.log_probabilities(output), state


def refuse_untied(width: int, target_width: int) -> None:
    if width != target_width:
        raise ConfigError(
            f"model.tie has the vectors of symbols as rows of the output layer, which reads vectors of width {width} "
            f"from the decoder: set model.target.width = {width}, not {target_width} (of a recurrent decoder, "
            "readout_width is what it gives, or width with readout = 'none')."
        )
