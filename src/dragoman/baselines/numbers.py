"""Baselines of regression: the mean, and ridge regression over words, letters or what two texts have in common."""

from collections.abc import Sequence

import numpy as np
import torch

from dragoman.baselines.labels import MOST, TRIED, Features, candidates
from dragoman.baselines.predicted import Predicted, sampled
from dragoman.baselines.solver import ridge
from dragoman.baselines.texts import Texts

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0)


class LinearRegressor:
    """Ridge regression over the features of LinearClassifier; features and strength are chosen on a tenth of the
    training data."""

    def __init__(self) -> None:
        self.features: Features = candidates([])[0]
        self.weights = torch.zeros(0, 1)
        self.mean, self.deviation = 0.0, 1.0

    def fit(self, texts: Sequence[Texts], numbers: Sequence[float]) -> "LinearRegressor":
        """Learn from texts, each a tuple of one or two, and a number each."""
        self.mean, self.deviation = float(np.mean(numbers)), float(np.std(numbers)) or 1.0
        scaled = torch.tensor(numbers, dtype=torch.float32)[:, None].sub(self.mean).div(self.deviation)
        self.features, strength = chosen(texts, scaled)
        self.features.learn(texts)
        self.weights = ridge(self.features.rows(texts), scaled, strength)
        return self

    def predict(self, texts: Sequence[Texts]) -> list[float]:
        scores = (self.features.rows(texts).matrix @ self.weights)[:, 0]
        return [self.mean + self.deviation * score for score in scores.tolist()]

    @property
    def title(self) -> str:
        return f"ridge regression over {self.features.title}"


def chosen(texts: Sequence[Texts], numbers: torch.Tensor) -> tuple[Features, float]:
    """The features and the strength with the least squared error on every tenth example."""
    rows = sampled(len(texts), TRIED)
    own, held = [row for row in rows if row % 10], [row for row in rows if not row % 10]
    if len(own) < 20 or not held:
        return candidates(texts)[0], 0.3
    found = []
    for features in candidates(texts):
        features.learn([texts[row] for row in own])
        known, asked = (features.rows([texts[row] for row in some]) for some in (own, held))
        for strength in STRENGTHS:
            missed = asked.matrix @ ridge(known, numbers[own], strength) - numbers[held]
            found.append((float(missed.square().mean()), features, strength))
    _, features, strength = min(found, key=lambda one: one[0])
    return features, strength


def number_baselines(train: Sequence[tuple[Texts, float]], test: Sequence[Texts]) -> list[Predicted]:
    """The mean, and ridge regression."""
    mean = float(np.mean([number for _, number in train]))
    found = [Predicted("mean", "mean of the training data", [mean] * len(test))]
    some = [train[row] for row in sampled(len(train), MOST)]
    model = LinearRegressor().fit([texts for texts, _ in some], [number for _, number in some])
    return [*found, Predicted("linear", model.title, model.predict(test))]
