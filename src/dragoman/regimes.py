"""How targets are fed in training: the true words, the model's own, or a mix that moves from the one to the other."""

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int, Shaped
from pydantic import Field, model_validator
from torch import Tensor

from dragoman.config import Config
from dragoman.contracts import Batch, Head, Memory, Output, Regime, State, Streams
from dragoman.data.tokenizers import PADDING

Share = Annotated[float, Field(ge=0, le=1)]
Updates = Annotated[int, Field(ge=1, le=10**9)]
# In pieces of 1, a readout of the state before would teach the recurrent layers nothing; pieces of 2 are enough unless
# a context comes a step late as well.
Steps = Annotated[int, Field(ge=2, le=10**9)]
Own = Literal["best", "sampled"]


class Linear(Config):
    """ε_i = max(ε_min, k − c·i): a straight line down (Bengio et al. 2015, §2.4), with c = (k − ε_min) / updates."""

    kind: Literal["linear"] = "linear"
    start: Share = 1.0
    """k: share of true words before the first update"""
    lowest: Share = 0.25
    """ε_min: share below which it does not fall"""
    updates: Updates = 10_000
    """until the lowest share is reached"""

    @model_validator(mode="after")
    def _falls(self) -> "Linear":
        if self.lowest > self.start:
            raise ValueError(f"the share of true words falls, so lowest ({self.lowest}) cannot be above start")
        return self


class Exponential(Config):
    """ε_i = kⁱ: fast at first (Bengio et al. 2015, §2.4), with k = 2^(−1/half)."""

    kind: Literal["exponential"] = "exponential"
    half: Updates = 5_000
    """updates until half of the words are the model's own; a quarter are true after twice as many"""


class InverseSigmoid(Config):
    """ε_i = k / (k + exp(i/k)): slow, fast, slow (Bengio et al. 2015, §2.4), with k·log k = half."""

    kind: Literal["inverse_sigmoid"] = "inverse_sigmoid"
    half: Updates = 5_000
    """updates until half of the words are the model's own"""


DecayConfig = Annotated[Linear | Exponential | InverseSigmoid, Field(discriminator="kind")]


class Teacher(Config):
    """The decoder always sees the true words so far (Williams and Zipser 1989)."""

    kind: Literal["teacher"] = "teacher"
    truncate: Steps | None = None
    """target steps after which the gradient is cut (Williams and Peng 1990); not set: it runs back to the first word"""


class Free(Config):
    """The decoder always sees its own words so far, right or wrong, as it will when it answers (Bengio et al. 2015,
    whose baseline it is)."""

    kind: Literal["free"] = "free"
    own: Own = "best"
    """best: the most probable word, w = argmax p(w) (Bengio et al. 2015, §2.4); sampled: one drawn from the model's
    distribution, w ~ p(w) (Bengio et al. 2015, §2.4)"""
    truncate: Steps | None = None
    """target steps after which the gradient is cut; not set: it runs back to the first word"""


class Mixed(Config):
    """What the ways of mixing true words with the model's own have in common."""

    decay: DecayConfig = InverseSigmoid()
    """how ε falls; a run that starts from another's weights counts its updates anew"""
    own: Own = "best"
    """best: the most probable word, w = argmax p(w) (Bengio et al. 2015, §2.4); sampled: one drawn from the model's
    distribution, w ~ p(w) (Bengio et al. 2015, §2.4)"""


class Scheduled(Mixed):
    """Each word that is fed is the true one with probability ε, else the model's own: w_t = y_t with probability ε_i,
    else ŷ_t (Bengio et al. 2015, §2.4).

    ε falls with i, the number of the update, so that training begins with the true words and ends near free running.
    """

    kind: Literal["scheduled"] = "scheduled"
    truncate: Steps | None = None
    """target steps after which the gradient is cut; not set: it runs back to the first word"""


class TwoPass(Mixed):
    """The same where all steps are run at once: w_t = y_t with probability ε_i, else ŷ_t of a first pass that was fed
    y_<t (Mihaylova and Martins 2019).

    It costs one more run of the decoder, without a gradient, however many words are the model's own; a loop of steps
    costs a run for each. The model's own word follows the true ones, not those that it is going to stand among. All
    steps are run at once, so there is no place to cut the gradient at, and no `truncate`.
    """

    kind: Literal["two_pass"] = "two_pass"


RegimeConfig = Annotated[Teacher | Free | Scheduled | TwoPass, Field(discriminator="kind")]


def build_regime(config: RegimeConfig) -> Regime:
    return Feeding(config)


def share_of_truth(config: DecayConfig, update: int) -> float:
    """ε_i of update i."""
    match config:
        case Linear(start=start, lowest=lowest):
            return max(lowest, start - (start - lowest) / config.updates * update)
        case Exponential():
            return float(2.0 ** (-update / config.half))
        case InverseSigmoid():
            k = sigmoid_constant(config.half)
            weight = k * math.exp(-update / k)  # of k / (k + exp(i/k)), whose exponential would overflow
            return weight / (weight + 1)


def sigmoid_constant(half: int) -> float:
    """k with k·log k = half: after so many updates exp(i/k) = k. Newton's steps, from above, on a convex curve."""
    k = half + 1.0
    for _ in range(60):
        k -= (k * math.log(k) - half) / (math.log(k) + 1)
    return k


@runtime_checkable
class Decodes(Protocol):
    """All that a regime knows of a model."""

    training: bool

    @property
    def head(self) -> "Head | OwnPoints": ...

    def encode(self, batch: Batch, attention: bool = False) -> Memory: ...

    def start(self, memory: Memory) -> State: ...

    def decode(self, inputs: Tensor, state: State, attention: bool = False) -> tuple[Output, State]: ...


@runtime_checkable
class OwnPoints(Protocol):
    """A head that says points, of which one is fed in the place of the true one."""

    def own(self, output: Output, how: Own) -> Float[Tensor, "N L F"]: ...


class Feeding:
    """Feeds a target as a regime says; a model that is not in training sees the true words."""

    def __init__(self, config: RegimeConfig) -> None:
        self.config = config

    def truth(self, update: int) -> float:
        """The share of true words among those that are fed in this update, START not counted."""
        match self.config:
            case Teacher():
                return 1.0
            case Free():
                return 0.0
            case Scheduled(decay=decay) | TwoPass(decay=decay):
                return share_of_truth(decay, update)

    def __call__(self, model: Decodes, batch: Batch, update: int) -> Output:
        if not model.training:
            return teacher(model, batch)
        truth = self.truth(update)
        match self.config:
            case Teacher(truncate=truncate):
                return feed(model, batch, truth, truncate=truncate)
            case Free(own=own, truncate=truncate) | Scheduled(own=own, truncate=truncate):
                return feed(model, batch, truth, own, truncate)
            case TwoPass(own=own):
                return feed_twice(model, batch, truth, own)


def teacher(model: Decodes, batch: Batch, attention: bool = False) -> Output:
    """The whole target in one run."""
    memory = model.encode(batch, attention)
    output, _ = model.decode(batch.truth().inputs.values, model.start(memory), attention)
    return replace(output, attention={**output.attention, **memory.attention}) if attention else output


def go_on(model: Decodes, batch: Batch, carry: Mapping[str, Tensor]) -> tuple[Output, dict[str, Tensor]]:
    """Windows of streams, each begun in the state that the one before has left: h_0 of this window is h_C of that one,
    without its gradient (Williams and Peng 1990). What they leave stands in place of what is carried."""
    streams = batch.streams or Streams(0, begins=True)
    rows = slice(streams.first, streams.first + batch.size)
    state = model.start(model.encode(batch))
    if carry and not streams.begins and all(len(value) >= rows.stop for value in carry.values()):
        left = {name: value[rows].to(state.moving[name]) for name, value in carry.items()}
        state = State({**state.moving, **left}, state.fixed, state.grown)
    output, state = model.decode(batch.truth().inputs.values, state)
    found = {name: value.detach().clone() for name, value in state.moving.items() if not name.startswith("kept.")}
    if not carry:
        return output, found
    around = {
        name: (carry[name][: rows.start].to(new), carry[name][rows.stop :].to(new)) for name, new in found.items()
    }
    return output, {name: torch.cat([around[name][0], new, around[name][1]]) for name, new in found.items()}


def feed(model: Decodes, batch: Batch, truth: float, own: Own = "best", truncate: int | None = None) -> Output:
    """The target in pieces: one ends where a row is about to see its own word, or where the gradient is cut.

    START is never replaced, nor is padding: a target ends where the true one ends. A word that the model chose is fed
    whatever it is, END too, and what it should have chosen is still compared. No gradient runs through the choice of a
    word; through a point it does, up to where it is cut.
    """
    inputs = batch.truth().inputs
    chosen = own_places(inputs.mask, truth)
    steps, own_steps = inputs.values.shape[1], steps_with(chosen) if truth < 1 else set()
    cuts = set(range(truncate, steps, truncate)) if truncate else set()
    state = model.start(model.encode(batch))
    outputs: list[Output] = []
    for first, end in pairwise(sorted({0, steps} | own_steps | cuts)):
        piece = inputs.values[:, first:end]
        if first in own_steps:
            last = outputs[-1].hidden.shape[1] - 1
            words = own_next(model.head, one_step(outputs[-1], last), inputs.values[:, 0], own)
            words = words.detach() if first in cuts else words
            piece = torch.cat([fed(chosen[:, first], words, piece[:, 0])[:, None], piece[:, 1:]], 1)
        if first in cuts:
            state = state.detach()
        output, state = model.decode(piece, state)
        outputs.append(output)
    return joined(outputs)


def feed_twice(model: Decodes, batch: Batch, truth: float, own: Own = "best") -> Output:
    """The whole target in two runs, with the rules of `feed`: words that the first one writes are fed to the second.

    The first one drops as the second does, by draws of its own: what is written is written by the network that learns,
    as in a loop of steps. Where all words are true there is no first one, and this is teacher forcing to the bit.
    """
    inputs = batch.truth().inputs
    chosen = own_places(inputs.mask, truth)
    state = model.start(model.encode(batch))
    given = inputs.values
    if truth < 1 and (own_steps := steps_with(chosen)):
        given = fed(chosen, first_words(model, given, state, own_steps, own), given)
    return model.decode(given, state)[0]


@torch.no_grad()
def first_words(
    model: Decodes, inputs: Shaped[Tensor, "B T *F"], state: State, steps: set[int], own: Own
) -> Shaped[Tensor, "B T *F"]:
    """The model's own words at these steps, each behind the true ones; the head sees one step at a time, so that there
    are never more log-probabilities than one for each row and symbol."""
    output, _ = model.decode(inputs, state)
    words = inputs.clone()
    for step in sorted(steps):
        words[:, step] = own_next(model.head, one_step(output, step - 1), inputs[:, 0], own)
    return words


def steps_with(chosen: Bool[Tensor, "B T"]) -> set[int]:
    """Steps at which any row is fed its own word."""
    return {step for step, any_row in enumerate(chosen.any(0).tolist()) if any_row}


def own_places(mask: Bool[Tensor, "B T"], truth: float) -> Bool[Tensor, "B T"]:
    """Where the model's own word is fed: real words behind START, each by its own throw of the dice.

    Where all or none are true, nothing is thrown, so that dropout is that of plain teacher forcing.
    """
    thrown = torch.rand(mask.shape, device=mask.device) >= truth if 0 < truth < 1 else mask.new_full((), truth <= 0)
    places = mask & thrown
    places[:, 0] = False
    return places


def fed(own: Bool[Tensor, "*B"], words: Tensor, true: Tensor) -> Tensor:
    """The model's own words, or points, where it is fed them, else the true ones."""
    return torch.where(own.view(*own.shape, *(1,) * (true.dim() - own.dim())), words, true)


def own_next(head: Head | OwnPoints, output: Output, start: Shaped[Tensor, "N *F"], own: Own) -> Shaped[Tensor, "N *F"]:
    """What the model itself would feed to its next step, after this one."""
    return head.own(output, own)[:, -1] if isinstance(head, OwnPoints) else choose_words(head, output, start, own)


@torch.no_grad()
def choose_words(head: Head, output: Output, start: Int[Tensor, " N"], own: Own) -> Int[Tensor, " N"]:
    """What the model itself would write after this one step; never padding or START, as in a search."""
    logs = head.log_probabilities(output)[:, -1].float()
    barred = torch.stack([torch.full_like(start, PADDING), start], 1)
    logs = logs.scatter(1, barred, -math.inf)
    if own == "sampled":
        # The greatest of log p + Gumbel noise is a draw from p; unlike multinomial it bears what is not finite.
        logs = logs - torch.empty_like(logs).exponential_().clamp_min(1e-30).log()
    return logs.argmax(-1)


def one_step(output: Output, step: int) -> Output:
    only = slice(step, step + 1)
    attention = {name: weights[:, :, only] for name, weights in output.attention.items()}
    return Output(output.hidden[:, only], attention, {name: extra[:, only] for name, extra in output.extras.items()})


def joined(outputs: list[Output]) -> Output:
    """Pieces of one target as if it had been run at once."""
    if len(outputs) == 1:
        return outputs[0]
    hidden = torch.cat([output.hidden for output in outputs], 1)
    names, extras = outputs[0].attention, outputs[0].extras
    attention = {name: torch.cat([output.attention[name] for output in outputs], 2) for name in names}
    return Output(
        hidden, attention, {name: torch.cat([output.extras[name] for output in outputs], 1) for name in extras}
    )
