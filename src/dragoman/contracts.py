"""What the parts hand to one another.

Letters: B batch, S source steps, T target steps, L steps of one call, D width, H heads, K beam, V vocabulary,
N = B·K search rows, sentence-major (row n belongs to sentence n // K). Batch first everywhere; masks are boolean
and True means real. Nothing mixes rows of a batch, so a batch equals its rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.drawing.alignment import Alignment, Weights, Windows
from dragoman.errors import DataError


@dataclass(frozen=True)
class Turns:
    """Which of the R different turns of all conversations of a batch each symbol stands in, and where: turns are rows
    of another batch (R, W), each of them once, and of each conversation there are N at most."""

    first: Int[Tensor, " once"]  # flat positions b·S + s of the symbols of each turn where it stands first
    homes: Int[Tensor, " once"]  # where each of these stands among the turns: r·W + w
    symbols: Int[Tensor, " real"]  # flat positions of all real symbols
    places: Int[Tensor, " real"]  # where each stands among the turns
    words: Bool[Tensor, "R W"]
    slots: Int[Tensor, " turns"]  # flat position b·N + n of each turn of each conversation
    rows: Int[Tensor, " turns"]  # r: which of the turns it is
    turns: Bool[Tensor, "B N"]

    def to(self, device: torch.device) -> "Turns":
        return Turns(*(getattr(self, each.name).to(device) for each in fields(self)))

    def doubled(self, size: int) -> "Turns":
        """The same for a batch that has each conversation twice, `size` flat positions apart."""
        turns, conversations = self.words.numel(), self.turns.numel()
        apart = (size, turns, size, turns, conversations, len(self.words))  # of the numbers, in the order of the fields
        numbers = (self.first, self.homes, self.symbols, self.places, self.slots, self.rows)
        first, homes, symbols, places, slots, rows = map(again, numbers, apart)
        return Turns(first, homes, symbols, places, again(self.words), slots, rows, again(self.turns))


def again(values: Tensor, offset: int = 0) -> Tensor:
    """The values twice, the second time with an offset."""
    return torch.cat([values, values + offset if offset else values])


@dataclass(frozen=True)
class Padded:
    """Sequences of different lengths in one tensor: token ids (B, S), or vectors (B, S, ·)."""

    values: Tensor
    mask: Bool[Tensor, "B S"]
    turns: Turns | None = None  # of conversations; None: each row is one

    def to(self, device: torch.device) -> "Padded":
        return Padded(self.values.to(device), self.mask.to(device), self.turns and self.turns.to(device))

    def doubled(self) -> "Padded":
        turns = self.turns and self.turns.doubled(self.mask.numel())
        return Padded(again(self.values), again(self.mask), turns)

    def until(self, steps: int) -> "Padded":
        """So many steps of it at most; of a target, which has no turns."""
        return Padded(self.values[:, :steps], self.mask[:, :steps])


@dataclass(frozen=True)
class Target:
    """The target side as training needs it: fed to the decoder (START first), expected of it (END last)."""

    inputs: Padded
    outputs: Padded
    real: Int[Tensor, " R"]  # flat positions b·T + t of the real tokens, so that the loss sees no padding
    # Of tracks that are told as steps, of which some are missing: what the steps up to each sum up to, which is known
    # behind a gap too.
    path: Padded | None = None

    def until(self, steps: int) -> "Target":
        """So many steps of it at most."""
        if steps >= self.outputs.values.shape[1]:
            return self
        inputs, outputs = self.inputs.until(steps), self.outputs.until(steps)
        path = self.path and self.path.until(steps)
        return Target(inputs, outputs, outputs.mask.flatten().nonzero().squeeze(1), path)

    def doubled(self) -> "Target":
        real = again(self.real, self.outputs.mask.numel())
        return Target(self.inputs.doubled(), self.outputs.doubled(), real, self.path and self.path.doubled())

    def to(self, device: torch.device) -> "Target":
        path = self.path and self.path.to(device)
        return Target(self.inputs.to(device), self.outputs.to(device), self.real.to(device), path)


@dataclass(frozen=True)
class Streams:
    """Rows that go on where those of the batch before ended: which rows of the carried state are theirs."""

    first: int  # row of the carried state that belongs to the first row
    begins: bool  # nothing was carried yet


@dataclass(frozen=True)
class Batch:
    """Examples side by side. `sources` names every sequence the encoder reads; a plain task has one, "source", and a
    language model none."""

    examples: tuple[int, ...]  # the number of each example in its corpus
    sources: Mapping[str, Padded]
    target: Target | None = None
    padding: int = 0  # positions that hold no token, for the log
    streams: Streams | None = None
    follows: Bool[Tensor, " B"] | None = None  # whether the second of two texts follows the first

    @property
    def size(self) -> int:
        return len(self.examples)

    @property
    def target_tokens(self) -> int:
        return 0 if self.target is None else self.target.real.shape[0]

    def truth(self) -> Target:
        """The target, where there must be one."""
        if self.target is None:
            raise DataError("These examples have no target; training, scoring and replaying need one.")
        return self.target

    def doubled(self) -> "Batch":
        """Each example twice, the second ones behind all the first."""
        sources = {name: padded.doubled() for name, padded in self.sources.items()}
        follows = None if self.follows is None else again(self.follows)
        examples, target = self.examples * 2, self.target and self.target.doubled()
        return Batch(examples, sources, target, 2 * self.padding, self.streams, follows)

    def to(self, device: torch.device) -> "Batch":
        sources = {name: padded.to(device) for name, padded in self.sources.items()}
        follows = None if self.follows is None else self.follows.to(device)
        return replace(self, sources=sources, target=self.target and self.target.to(device), follows=follows)


@dataclass(frozen=True)
class Remembered:
    """One named sequence of a memory: attended to, or walked along in step with the target."""

    states: Float[Tensor, "B S D"]
    mask: Bool[Tensor, "B S"]
    role: Literal["attend", "walk"] = "attend"


@dataclass(frozen=True)
class Final:
    """The last recurrent states of an encoder, a layer a row, both directions side by side, for a bridge."""

    hidden: Float[Tensor, "B layers D"]
    cell: Float[Tensor, "B layers D"] | None = None


@dataclass(frozen=True)
class FinalShape:
    """How many tensors, layers and units an encoder's final state has, for a bridge to be built."""

    parts: int  # 1, or 2 where a cell stands beside the hidden state
    layers: int
    width: int


@dataclass(frozen=True)
class Memory:
    """What the encoder leaves for the decoder."""

    size: int  # B, also where there is nothing to look at
    sequences: Mapping[str, Remembered]
    final: Final | None = None
    attention: Mapping[str, Float[Tensor, "B H S S"]] = field(default_factory=dict)  # where layers looked, if asked


@dataclass(frozen=True)
class State:
    """A decoder between two calls.

    `moving` has N rows (recurrent states, paths); `fixed` has B sentences (memory, keys, values, computed once), and so
    has `grown` (what all rows of a sentence have left so far, to which paths lead). N is a multiple of B. A search
    selects rows and keeps sentences, and does nothing else to it.
    """

    moving: Mapping[str, Tensor]
    fixed: Mapping[str, Tensor] = field(default_factory=dict)
    grown: Mapping[str, Tensor] = field(default_factory=dict)

    def select(self, rows: Int[Tensor, " rows"]) -> "State":
        """Reorder, repeat or drop search rows; the sentences stay."""
        return replace(self, moving={name: value.index_select(0, rows) for name, value in self.moving.items()})

    def keep(self, sentences: Int[Tensor, " kept"], rows: Int[Tensor, " rows"]) -> "State":
        """Only these sentences go on, with these of their rows."""
        fixed, grown = (
            {name: value.index_select(0, sentences) for name, value in part.items()}
            for part in (self.fixed, self.grown)
        )
        return State(self.select(rows).moving, fixed, grown)

    def detach(self) -> "State":
        """The same numbers, through which no gradient runs back to earlier steps; what is fixed keeps its own."""
        moving, grown = ({name: value.detach() for name, value in part.items()} for part in (self.moving, self.grown))
        return State(moving, self.fixed, grown)


@dataclass(frozen=True)
class Output:
    """What a decoder or encoder gives to the heads; attention only when asked for, and none where there is none.

    "source" is where the decoder looked on the whole. Where layers have heads, "source.1", "target.1" and "encoder.1"
    are those of the first layer: to the source, to the target so far, and of the source to itself.
    Beside attention that is local stands extras["attention.window"], (N, L, 3): first position, centre, last position.
    """

    hidden: Float[Tensor, "N L D"]
    attention: Mapping[str, Float[Tensor, "N H L _"]] = field(default_factory=dict)
    extras: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Loss:
    """A sum over tokens (or sentences) and their number, which the batch alone decides; the loop divides once.

    An auxiliary loss moves the weights, but is no part of the loss that is told: it is there for its gradient.
    """

    total: Float[Tensor, ""]
    count: int
    auxiliary: bool = False
    by_name: bool = False  # it is told by its name too, as a mean over its own count
    of_numbers: bool = False  # it is told as a mean over its own count, since of a point some numbers may be missing


@dataclass(frozen=True)
class Step:
    """One step of a search: log-probabilities of every next symbol, a row a hypothesis."""

    log_probabilities: Float[Tensor, "N V"]
    state: State
    attention: Float[Tensor, "N S"] | None = None  # over the source, mean of the heads, where it was asked for


@dataclass(frozen=True)
class Request:
    """What is asked of a search, sentence by sentence."""

    start: Int[Tensor, " B"]  # the symbol that each output begins with; not part of the answer
    end: int
    max_length: Int[Tensor, " B"]  # symbols at most, END counted
    forbidden: tuple[int, ...] = ()  # symbols that no answer contains (padding, start)
    min_length: Int[Tensor, " B"] | None = None  # symbols at least, END counted
    prefix: Int[Tensor, "B P"] | None = (
        None  # what every answer begins with; the state has been through it but its last
    )
    prefix_total: Float[Tensor, " B"] | None = None  # its log-probability
    lines: Int[Tensor, " B"] | None = None  # the number of each line in the whole input, for what is drawn
    source_mask: Bool[Tensor, "B S"] | None = None  # which source positions are real, for what asks where was looked


@dataclass(frozen=True)
class Hypothesis:
    """An answer in symbols: `total` sums log-probabilities, END counted; `score` is what answers are ranked by."""

    tokens: tuple[int, ...]  # without START and END
    total: float
    score: float
    finished: bool  # False: the search ended before END was reached
    bound: float | None = None  # no other sequence scores more, where that was proved; above `score`: not yet the best


@dataclass(frozen=True)
class Span:
    """Where an answer stands in a document: characters, and words between spaces, both from 0."""

    start: int  # first character
    end: int  # the character behind the last
    first_word: int
    last_word: int


@dataclass(frozen=True)
class Prediction:
    """An answer as the user sees it."""

    text: str
    score: float
    log_probability: float
    tokens: tuple[str, ...]
    finished: bool = True
    source_tokens: tuple[str, ...] = ()
    alignment: Weights | None = None  # a row an output symbol (END last), a column a source token (END last)
    token_log_probabilities: tuple[float, ...] = ()  # of each output symbol (END last), where an alignment is
    windows: Windows | None = None  # of each output symbol (END last): first position, centre, last, if looks are local
    bound: float | None = (
        None  # of an exact search: no other answer scores more; above `score` where that is not proved
    )
    utility: float | None = None  # expected likeness to the other candidates, where answers were chosen by it
    span: Span | None = None  # where it stands, if it was found in a document
    grid: tuple[int, int] | None = None  # of an image: rows and columns of cells, its source tokens, row by row

    def aligned(self) -> Alignment:
        """The alignment with its tokens, as pictures need it."""
        if self.alignment is None:
            raise DataError("This prediction has no alignment: its model has no attention, or none was asked for.")
        symbols = (*self.tokens, "END")[: len(self.alignment)]
        source = self.source_tokens if self.grid else (*self.source_tokens[:-1], "END")
        logs, windows = self.token_log_probabilities, self.windows or ()
        return Alignment(source, symbols, self.alignment, logs, self.finished, windows)

    def _repr_svg_(self) -> str | None:
        """What a notebook shows; nothing of its own without an alignment."""
        from dragoman.drawing.svg import svg

        return svg(self.aligned()) if self.alignment else None

    _repr_html_ = _repr_svg_  # the same inside the page, where the pointer shows each weight


@dataclass(frozen=True)
class Answer:
    """All predictions for one input, best first; the best one's fields are at hand."""

    source: str
    predictions: tuple[Prediction, ...]
    longer: Literal["", "cut", "split"] = ""  # what became of a source that was longer than the model reads

    @property
    def best(self) -> Prediction:
        return self.predictions[0]

    @property
    def text(self) -> str:
        return self.best.text

    @property
    def score(self) -> float:
        return self.best.score

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.best.tokens

    @property
    def alignment(self) -> Weights | None:
        return self.best.alignment

    def _repr_svg_(self) -> str | None:
        return self.best._repr_svg_()

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the best prediction's alignment."""
        from dragoman.drawing.page import figure

        return figure(self.best.aligned(), self.source, self.text) if self.alignment else None


@runtime_checkable
class Frontend(Protocol):
    """A raw sequence → vectors."""

    width: int

    def __call__(self, values: Tensor) -> Float[Tensor, "B S D"]: ...


@runtime_checkable
class Encoder(Protocol):
    """Vectors → what the decoder may look at."""

    width: int  # of the states it leaves

    @property
    def final(self) -> FinalShape | None:
        """The shape of the final state it leaves, if it does."""

    def __call__(
        self, vectors: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"], attention: bool = False
    ) -> Memory: ...


@runtime_checkable
class Decoder(Protocol):
    """Law: any cut of the inputs into calls gives the same result."""

    width: int  # of the hidden vectors it gives to the head

    def start(self, memory: Memory) -> State: ...

    def run(self, inputs: Float[Tensor, "N L E"], state: State, attention: bool = False) -> tuple[Output, State]: ...


@runtime_checkable
class Head(Protocol):
    """What a decoder gives (its hidden vectors; attention and extras, when copying) → log-probabilities of symbols."""

    def log_probabilities(self, output: Output) -> Float[Tensor, "N L V"]: ...


@runtime_checkable
class Objective(Protocol):
    """What training makes small: named losses, with counts that the batch alone decides."""

    def count(self, batch: Batch) -> dict[str, int]: ...

    def __call__(self, output: Output, head: Any, batch: Batch) -> dict[str, Loss]: ...


@runtime_checkable
class Regime(Protocol):
    """How the target is fed to a model in training, which the number of the update may decide."""

    def truth(self, update: int) -> float: ...

    def __call__(self, model: Any, batch: Batch, update: int) -> Output: ...


@runtime_checkable
class StepFunction(Protocol):
    """All that a search knows of a model."""

    def __call__(self, last: Int[Tensor, " N"], state: State) -> Step: ...
