"""Baselines of regression: the mean, and ridge regression over words, letters or what two texts have in common."""

from collections.abc import Sequence

import numpy as np
import torch

from dragoman.baselines.labels import (
    MOST,
    TRIED,
    TRIED_LETTERS,
    Features,
    beginnings,
    candidates,
    drawn,
    letters_in,
    portions,
)
from dragoman.baselines.predicted import Baselines, Predicted, sampled_by_size
from dragoman.baselines.solver import ridge
from dragoman.baselines.texts import Texts, shortened

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0)


class LinearRegressor:
    """Ridge regression over the features of LinearClassifier; features and strength are chosen on a tenth of the
    training data."""

    def __init__(self) -> None:
        self.features: Features = candidates([])[0]
        self.weights = torch.zeros(0, 1)
        self.mean, self.deviation, self.examples = 0.0, 1.0, 0

    def fit(self, texts: Sequence[Texts], numbers: Sequence[float]) -> "LinearRegressor":
        """Learn from texts, each a tuple of one or two, and a number each."""
        self.mean, self.deviation = float(np.mean(numbers)), float(np.std(numbers)) or 1.0
        scaled = torch.tensor(numbers, dtype=torch.float32)[:, None].sub(self.mean).div(self.deviation)
        self.features, strength = chosen(texts, scaled)
        rows = drawn(self.features, texts, MOST)
        texts, scaled, self.examples = [texts[row] for row in rows], scaled[rows], len(rows)
        self.features.learn(texts)
        self.weights = ridge(self.features.rows(texts), scaled, strength)
        return self

    def predict(self, texts: Sequence[Texts]) -> list[float]:
        scores = [(self.features.rows(some).matrix @ self.weights)[:, 0].tolist() for some in portions(texts)]
        return [self.mean + self.deviation * score for some in scores for score in some]

    @property
    def title(self) -> str:
        return f"ridge regression over {self.features.title}"


def chosen(texts: Sequence[Texts], numbers: torch.Tensor) -> tuple[Features, float]:
    """The features and the strength with the least squared error on every tenth example."""
    rows = sampled_by_size(list(map(letters_in, texts)), TRIED, TRIED_LETTERS)
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


def number_baselines(train: Sequence[tuple[Texts, float]], test: Sequence[Texts]) -> Baselines:
    """The mean, and ridge regression."""
    numbers = [number for _, number in train]
    yield Predicted("mean", "mean of the training data", [float(np.mean(numbers))] * len(test))
    texts = [shortened(texts) for texts, _ in train]
    model = LinearRegressor().fit(texts, numbers)
    yield Predicted("linear", f"{model.title}{beginnings(texts)}", model.predict(test), model.examples)
