"""Where every head of every layer looked while a text was read and its answer written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dragoman.drawing.alignment import Alignment, Weights
from dragoman.errors import ConfigError, choose

Kind = Literal["source", "target", "encoder"]
Layers = tuple[tuple[Weights, ...], ...]  # layer by layer, head by head
KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
TITLES: dict[Kind, str] = {
    "source": "the answer looks at the source",
    "target": "the answer looks at itself so far",
    "encoder": "the source looks at itself",
}
LARGEST = 2_000_000  # weights of a text in all its maps: a page of ten megabytes


@dataclass(frozen=True)
class Map:
    """Where one head looked, or several on average: a row looks, a column is looked at."""

    kind: Kind
    layer: int | None  # from 1; None: the mean of all layers
    head: int | None  # from 1; None: the mean of all heads
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    weights: Weights
    log_probabilities: tuple[float, ...] = ()  # of each row, where rows are output symbols
    finished: bool = True

    @property
    def name(self) -> str:
        """source, layer 2, head 3"""
        layer = "all layers" if self.layer is None else f"layer {self.layer}"
        head = "mean of the heads" if self.head is None else f"head {self.head}"
        return f"{self.kind}, {layer}, {head}"

    def alignment(self) -> Alignment:
        """The same as an alignment, which all pictures draw."""
        return Alignment(self.columns, self.rows, self.weights, self.log_probabilities, self.finished)


@dataclass(frozen=True)
class Heads:
    """A text, its answer, and all maps. A decoder's own maps have its inputs as columns, START first. What a model that
    only reads says is an answer without symbols; what a language model has read is an answer without a source."""

    source: str
    answer: str
    source_tokens: tuple[str, ...]  # END last
    symbols: tuple[str, ...]  # of the answer, END last if it was reached
    weights: Mapping[Kind, Layers]  # kinds that the model has
    score: float = 0.0
    log_probabilities: tuple[float, ...] = ()  # of the symbols
    finished: bool = True

    @property
    def log_probability(self) -> float:
        """Of the answer; one that is no text, a label, is scored by it."""
        return sum(self.log_probabilities) if self.log_probabilities else self.score

    @property
    def title(self) -> str:
        """source → answer, or the one that there is."""
        return " → ".join(part for part in (self.source, self.answer) if part)

    @property
    def note(self) -> str:
        """What the model thinks of the answer."""
        score = f"score {self.score:.4f}, " if self.source and self.log_probabilities else ""
        unfinished = "" if self.finished else ", unfinished"
        return f"{score}log-probability {self.log_probability:.4f}{unfinished}" if self.answer else ""

    def about(self, kind: Kind) -> str:
        """What looks at what; a text that is only read is no source, and one that was given no answer."""
        if kind == "target" and not self.source:
            return "the text looks at itself so far"
        return "the text looks at itself" if kind == "encoder" and not self.symbols else TITLES[kind]

    def rows(self, kind: Kind) -> tuple[str, ...]:
        return self.source_tokens if kind == "encoder" else self.symbols

    def columns(self, kind: Kind) -> tuple[str, ...]:
        return ("START", *self.symbols[:-1]) if kind == "target" else self.source_tokens

    def map(self, kind: str = "source", layer: int | None = None, head: int | None = None) -> Map:
        """One head; without `head` the mean of its layer, without `layer` that of all layers."""
        known = {one: tuple(map(len, layers)) for one, layers in self.weights.items()}
        chosen = checked(known, kind, layer, head)
        layers = self.weights[chosen] if layer is None else self.weights[chosen][layer - 1 : layer]
        found = [weights for of in layers for weights in (of if head is None else of[head - 1 : head])]
        logs, finished = ((), True) if chosen == "encoder" else (self.log_probabilities, self.finished)
        return Map(chosen, layer, head, self.rows(chosen), self.columns(chosen), average(found), logs, finished)

    def maps(self, kind: Kind) -> Iterator[Map]:
        """Every head of a kind, layer by layer."""
        for layer, heads in enumerate(self.weights[kind], start=1):
            for head in range(1, len(heads) + 1):
                yield self.map(kind, layer, head)

    def _repr_html_(self) -> str:
        """What a notebook shows: the page, in a frame of its own."""
        from dragoman.drawing.heads_page import frame

        return frame(self)


def average(found: Sequence[Weights]) -> Weights:
    if len(found) == 1:
        return found[0]
    count = len(found)
    return tuple(tuple(sum(values) / count for values in zip(*rows, strict=True)) for rows in zip(*found, strict=True))


def checked(known: Mapping[Kind, Sequence[int]], kind: str, layer: int | None, head: int | None) -> Kind:
    """The kind, if there is such a head; `known` is the number of heads of every layer. Else a sentence."""
    chosen = choose("kind of attention", kind, KINDS)
    if chosen not in known:
        raise ConfigError(
            f"This model has no heads of the kind {chosen} ({TITLES[chosen]}): that part of it is no Transformer. "
            f"There are: {listed(known)}."
        )
    layers = known[chosen]
    if head is not None and layer is None:
        raise ConfigError(f"Head {head} of which layer? Give a layer as well, 1 to {len(layers)} (--layer).")
    if layer is not None and not 1 <= layer <= len(layers):
        raise ConfigError(f"There is no layer {layer} of the kind {chosen}. There are: {listed(known)}.")
    if layer is not None and head is not None and not 1 <= head <= layers[layer - 1]:
        raise ConfigError(
            f"Layer {layer} of the kind {chosen} has no head {head}: its heads are 1 to {layers[layer - 1]}."
        )
    return chosen


def listed(known: Mapping[Kind, Sequence[int]]) -> str:
    """source (layers 1 to 2 with 4 heads), encoder (layer 1 with 1 head)"""
    return ", ".join(f"{kind} ({sizes(layers)})" for kind, layers in known.items())


def sizes(layers: Sequence[int]) -> str:
    which = "layer 1" if len(layers) == 1 else f"layers 1 to {len(layers)}"
    return f"{which} with {layers[0]} head{'s' * (layers[0] != 1)}"
