"""Baselines of classification: the most frequent label, and a linear model over words and n-grams of letters."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from dragoman.baselines.predicted import Predicted, sampled
from dragoman.baselines.solver import squared_hinge
from dragoman.baselines.sparse import Sparse
from dragoman.baselines.texts import MOST_COLUMNS, OneText, Texts, TwoTexts

MOST = 100_000  # examples that are learned from
MOST_LABELS = 500  # that a linear model chooses from
TRIED = 8_000  # examples that features are chosen on
WEIGHTS = 2**23  # of a linear model: columns times labels
SCORES = 2**24  # examples times labels
STRENGTHS = (0.1, 0.3, 1.0)
FEW_LABELS = 8  # up to which strengths are tried

Features = OneText | TwoTexts


class LinearClassifier:
    """A linear support vector machine per label over tf-idf of words and n-grams of letters; two texts are compared by
    what they have in common. Features and strength are chosen on a tenth of the training data."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.features: Features = OneText(False)
        self.weights = torch.zeros(0, 0)

    def fit(self, texts: Sequence[Texts], labels: Sequence[str]) -> "LinearClassifier":
        """Learn from texts, each a tuple of one or two, and their labels."""
        kept = [name for name, _ in Counter(labels).most_common(MOST_LABELS)]
        known, self.names = set(kept), sorted(kept)
        rows = [row for row, label in enumerate(labels) if label in known]
        texts, labels = [texts[row] for row in rows], [labels[row] for row in rows]
        few = len(self.names) <= FEW_LABELS
        self.features, strength = chosen(texts, labels, self.names, STRENGTHS if few else STRENGTHS[-1:])
        self.weights = self.solved(self.features, texts, labels, strength)
        return self

    def solved(
        self, features: Features, texts: Sequence[Texts], labels: Sequence[str], strength: float
    ) -> torch.Tensor:
        features.learn(texts, min(MOST_COLUMNS, WEIGHTS // len(self.names)))
        return squared_hinge(features.rows(texts), signs_of(labels, self.names), strength)

    def predict(self, texts: Sequence[Texts]) -> list[str]:
        return named(self.features.rows(texts), self.weights, self.names)

    @property
    def title(self) -> str:
        return f"linear model over {self.features.title}"


def signs_of(labels: Sequence[str], names: Sequence[str]) -> torch.Tensor:
    """+1 for the label and −1 for all others; two labels are one column."""
    numbers = {name: number for number, name in enumerate(names)}
    columns = 1 if len(names) == 2 else len(names)
    signs = -torch.ones(len(labels), columns)
    places = torch.tensor([numbers[label] for label in labels])
    if columns == 1 and len(names) == 2:
        return (2.0 * places - 1)[:, None]
    signs[torch.arange(len(labels)), places] = 1
    return signs


def named(rows: Sparse, weights: torch.Tensor, names: Sequence[str]) -> list[str]:
    scores = rows.matrix @ weights
    best = (scores[:, 0] > 0).long() if weights.shape[1] == 1 and len(names) == 2 else scores.argmax(1)
    return [names[number] for number in best.tolist()]


def candidates(texts: Sequence[Texts]) -> list[Features]:
    if texts and len(texts[0]) == 2:
        return [TwoTexts(False), TwoTexts(True)]
    return [OneText(False), OneText(True)]


def chosen(
    texts: Sequence[Texts], labels: Sequence[str], names: Sequence[str], strengths: Sequence[float]
) -> tuple[Features, float]:
    """The features and the strength with the best accuracy on every tenth example."""
    rows = sampled(len(texts), TRIED)
    own, held = [row for row in rows if row % 10], [row for row in rows if not row % 10]
    if len(own) < 20 or not held:
        return candidates(texts)[0], strengths[-1]
    true, found = [labels[row] for row in held], []
    for features in candidates(texts):
        features.learn([texts[row] for row in own], min(MOST_COLUMNS, WEIGHTS // len(names)))
        known, asked = (features.rows([texts[row] for row in some]) for some in (own, held))
        signs = signs_of([labels[row] for row in own], names)
        for strength in strengths:
            said = named(asked, squared_hinge(known, signs, strength), names)
            right = sum(one == other for one, other in zip(said, true, strict=True))
            found.append((right, features, strength))
    _, features, strength = max(found, key=lambda one: one[0])
    return features, strength


def label_baselines(train: Sequence[tuple[Texts, str]], test: Sequence[Texts]) -> list[Predicted]:
    """The most frequent label, and a linear model."""
    most = Counter(label for _, label in train).most_common(1)[0][0]
    found = [Predicted("majority", "most frequent label", [[most]] * len(test))]
    if len({label for _, label in train}) < 2:
        return found
    labels = min(MOST_LABELS, len({label for _, label in train}))
    some = [train[row] for row in sampled(len(train), min(MOST, SCORES // labels))]
    model = LinearClassifier().fit([texts for texts, _ in some], [label for _, label in some])
    said: list[Any] = [[label] for label in model.predict(test)]
    return [*found, Predicted("linear", model.title, said)]
