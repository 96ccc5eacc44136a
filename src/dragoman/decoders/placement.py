"""Where the context comes from and where it goes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Place = Literal["input", "readout", "next_layer", "every_layer"]
Query = Literal["previous", "current"]
QueryLayer = Literal["top", "bottom"]

PLACES: Mapping[Place, str] = {
    "input": "s_i = f(s_{i−1}, [Ey_{i−1}; c]): beside the word, into the first layer (Bahdanau et al. 2015, A.2.2)",
    "readout": "t_i = g(s_i, c_i): beside the state, into what the head sees (Luong et al. 2015, eq. 5)",
    "next_layer": "s²_i = f(s²_{i−1}, [s¹_i; c_i]): beside the first layer's output, into the second (Wu et al. 2016)",
    "every_layer": "into every layer, beside what it reads (Wu et al. 2016, 3.1)",
}


@dataclass(frozen=True)
class Placement:
    """Which layers read the context, counted from zero, which one asks, and when.

    A query of the state before asks before the step, so its context enters this very step. One of the current state
    asks in the middle of the step: its context enters the layers above in this step, and those up to it in the next.
    """

    layers: tuple[int, ...]  # that read the context
    readout: bool
    asks: int  # the layer whose state is the query
    current: bool

    @property
    def carried(self) -> bool:
        """Whether a context is read by the step after the one that made it."""
        return self.current and any(layer <= self.asks for layer in self.layers)

    @property
    def whole(self) -> bool:
        """Whether no step's query depends on a context, so that all steps of a layer run at once."""
        return all(layer > self.asks for layer in self.layers)


def place(places: tuple[Place, ...], layers: int, query: Query, query_layer: QueryLayer) -> Placement:
    """Raises ValueError, in a sentence, where the settings contradict one another."""
    into = {0} if "input" in places else set()
    into |= {1} if "next_layer" in places else set()
    into |= set(range(layers)) if "every_layer" in places else set()
    asks = layers - 1 if query_layer == "top" else 0
    if not places:
        raise ValueError("the context goes nowhere; name a place: input, readout, next_layer or every_layer")
    if 1 in into and layers < 2:
        raise ValueError("next_layer needs a second layer: raise layers, or name another place")
    if query == "current" and asks and any(0 < layer <= asks for layer in into):
        raise ValueError(
            "query = 'current' of the top layer comes too late for next_layer and every_layer; set query_layer = "
            "'bottom' or query = 'previous'"
        )
    return Placement(tuple(sorted(into)), "readout" in places, asks, query == "current")
