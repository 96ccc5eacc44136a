"""The encoder of conversations: one over the words of each turn, one over the turns."""

from typing import Annotated, Literal

from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.contracts import FinalShape, Memory, Remembered, Turns
from dragoman.encoders.rnn import Rnn, RnnEncoder
from dragoman.encoders.transformer import Transformer, TransformerEncoder


class Hierarchical(Config):
    """The words of each turn by themselves, and above them the turns in their order (Sordoni et al. 2015; Serban et al.
    2016)."""

    kind: Literal["hierarchical"] = "hierarchical"
    words: Annotated[Rnn | Transformer, Field(discriminator="kind")] = Rnn()
    """what reads the words of a turn and knows of no other; its final state is the turn's vector (of a Transformer: the
    mean of its states)"""
    turns: Rnn = Rnn()
    """what reads the vectors of the turns; Serban et al. read them in one direction"""

    @property
    def layers(self) -> int:
        return self.words.layers + self.turns.layers


def apart(vectors: Float[Tensor, "B S D"], turns: Turns) -> Float[Tensor, "R W D"]:
    """The symbols of each different turn as a row of their own."""
    rows, width = turns.words.shape, vectors.shape[2]
    found = vectors.new_zeros(rows[0] * rows[1], width)
    return found.index_copy(0, turns.homes, vectors.flatten(0, 1).index_select(0, turns.first)).view(*rows, width)


def together(states: Float[Tensor, "R W D"], turns: Turns, mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
    """The same symbols as they stand in their conversations."""
    found = states.new_zeros(mask.shape[0] * mask.shape[1], states.shape[2])
    found = found.index_copy(0, turns.symbols, states.flatten(0, 1).index_select(0, turns.places))
    return found.view(*mask.shape, states.shape[2])


def in_order(vectors: Float[Tensor, "R D"], turns: Turns) -> Float[Tensor, "B N D"]:
    """The vectors of each conversation's turns."""
    size = turns.turns.shape
    found = vectors.new_zeros(size[0] * size[1], vectors.shape[1])
    found = found.index_copy(0, turns.slots, vectors.index_select(0, turns.rows))
    return found.view(*size, vectors.shape[1])


class HierarchicalEncoder(nn.Module):
    """v_n = words(x_n), h_n = turns(v_n, h_{n−1}) (Serban et al. 2016, 3).

    The decoder starts from the last h_n. It may look at the states of all words ("source") and at the h_n ("turns").
    """

    def __init__(self, config: Hierarchical, input_width: int) -> None:
        super().__init__()
        self.words: RnnEncoder | TransformerEncoder = (
            RnnEncoder(config.words, input_width)
            if isinstance(config.words, Rnn)
            else TransformerEncoder(config.words, input_width)
        )
        self.width = self.words.width
        self.turns = RnnEncoder(config.turns, self.width)

    @property
    def final(self) -> FinalShape:
        return self.turns.final

    @property
    def turns_width(self) -> int:
        return self.turns.width

    def forward(
        self,
        vectors: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "B S"],
        attention: bool = False,
        turns: Turns | None = None,
    ) -> Memory:
        """Without `turns` each source is one. No attention is told."""
        if turns is None:
            read = self.words(vectors, mask)
            states, order = read.sequences["source"].states, self.vector_of(read, mask)[:, None]
        else:
            read = self.words(apart(vectors, turns), turns.words)
            states = together(read.sequences["source"].states, turns, mask)
            order = in_order(self.vector_of(read, turns.words), turns)
        above = self.turns(order, mask.any(1, keepdim=True) if turns is None else turns.turns)
        sequences = {"source": Remembered(states, mask), "turns": above.sequences["source"]}
        return Memory(mask.shape[0], sequences, above.final)

    def vector_of(self, read: Memory, mask: Bool[Tensor, "R W"]) -> Float[Tensor, "R D"]:
        """What stands for a turn."""
        if read.final is not None:
            return read.final.hidden[:, -1]
        return read.sequences["source"].states.sum(1) / mask.sum(1, keepdim=True)
