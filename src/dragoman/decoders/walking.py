"""A sequence that goes in step with the target: what a decoder is told at each step beside what it is fed."""

import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.contracts import Remembered, State

STEP, WALK = "walk.step", "walk.states"


def begin(state: State, walk: Remembered) -> State:
    """Before the first step."""
    step = torch.zeros(walk.states.shape[0], dtype=torch.int64, device=walk.states.device)
    return State({**state.moving, STEP: step}, {**state.fixed, WALK: walk.states}, state.grown)


def beside(inputs: Float[Tensor, "N L E"], state: State) -> Float[Tensor, "N L E"]:
    """x_t + c_t: each step with what goes along with it; rows of a search walk along that of their example."""
    if WALK not in state.fixed:
        return inputs
    walk, step = state.fixed[WALK], state.moving[STEP]
    rows = torch.arange(len(step), device=step.device) // (len(step) // len(walk))
    places = step[:, None] + torch.arange(inputs.shape[1], device=step.device)
    return inputs + walk[rows[:, None], places.clamp(max=walk.shape[1] - 1)]


def moved(before: State, after: State, steps: int) -> State:
    """So many steps further."""
    if WALK not in before.fixed:
        return after
    return State({**after.moving, STEP: before.moving[STEP] + steps}, after.fixed, after.grown)
