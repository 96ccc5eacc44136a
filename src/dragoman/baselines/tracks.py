"""Baselines of trajectories: the last velocity, and ridge regression on the history."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.baselines.solver import ridge
from dragoman.baselines.sparse import dense

Floats = NDArray[np.float64]
STRENGTH = 30.0


def onward(past: Floats, steps: int) -> Floats:
    """On at the velocity between the last two known values of each feature (n, steps, features): at rest where one is
    known, and NaN where none is."""
    known = np.where(np.isnan(past), -1, np.arange(past.shape[1])[:, None])  # the step of each, or −1
    last = known.max(1, keepdims=True)
    before = np.where(known == last, -1, known).max(1, keepdims=True)
    here, there = (np.take_along_axis(past, np.maximum(place, 0), 1) for place in (last, before))
    velocity = np.where(before >= 0, here - there, 0.0) / np.maximum(last - before, 1)
    ahead = past.shape[1] - 1 - last + np.arange(1, steps + 1)[:, None]
    gone: Floats = here + velocity * ahead
    return gone


class RidgeForecaster:
    """future − onward = W (past − last point), one linear map for all steps, fitted to windows without gaps."""

    def __init__(self) -> None:
        self.weights = torch.zeros(0, 0)
        self.scale, self.steps, self.windows = 1.0, 0, 0

    def fit(self, pasts: Floats, futures: Floats) -> "RidgeForecaster":
        """Of (n, S, features) and (n, T, features), n ≥ 1 and S ≥ 2."""
        self.windows, self.steps = futures.shape[:2]
        rows = relative(pasts)
        self.scale = float(np.sqrt((rows**2).mean())) or 1.0
        missed = (futures - onward(pasts, self.steps)).reshape(len(futures), -1) / self.scale
        self.weights = ridge(dense(rows / self.scale), torch.tensor(missed, dtype=torch.float32), STRENGTH)
        return self

    def predict(self, pasts: Floats, steps: int) -> Floats:
        """The last velocity alone where a history has gaps or another length, or more steps are wanted than were
        learned."""
        gone = onward(pasts, steps)
        rows = torch.tensor(np.nan_to_num(relative(pasts)) / self.scale, dtype=torch.float32)
        if steps > self.steps or rows.shape[1] != len(self.weights):
            return gone
        added = (rows @ self.weights).numpy().reshape(len(pasts), self.steps, -1)[:, :steps] * self.scale
        holes = np.isnan(pasts).any((1, 2), keepdims=True)
        return np.where(holes, gone, gone + added)


def without_gaps(pasts: Floats, futures: Floats) -> Any:
    """Which windows are known in every number."""
    return np.isfinite(np.concatenate([pasts, futures], axis=1)).all((1, 2))


def relative(pasts: Floats) -> Floats:
    """Steps and their last, seen from the last point, as one row."""
    return np.diff(pasts, axis=1).reshape(len(pasts), -1)
