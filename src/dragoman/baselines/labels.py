"""Baselines of classification: the most frequent label, and a linear model over words and n-grams of letters."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from dragoman.baselines.predicted import Baselines, Predicted, sampled_by_size
from dragoman.baselines.solver import squared_hinge
from dragoman.baselines.sparse import Sparse
from dragoman.baselines.texts import BLOCK, LONGEST, MOST_COLUMNS, OneText, Texts, TwoTexts, shortened
from dragoman.data.permutation import permutation

MOST = 100_000  # examples that are learned from
MOST_LETTERS, MOST_IN_WORDS = 2**24, 2**26  # of all of them: where n-grams of letters are features, and words alone
MOST_LABELS = 500  # that a linear model chooses from
TRIED, TRIED_LETTERS = 8_000, 2**22  # examples that features are chosen on, and their letters
WEIGHTS = 2**23  # of a linear model: columns times labels
SCORES = 2**24  # examples times labels
STRENGTHS = (0.1, 0.3, 1.0)
PARTS = 5  # of examples, by which it is asked whether words tell
FEWEST = 20  # of which something can be told
FEW_LABELS = 8  # up to which strengths are tried

Features = OneText | TwoTexts


class LinearClassifier:
    """A linear support vector machine per label over tf-idf of words and n-grams of letters; two texts are compared by
    what they have in common. Features and strength are chosen on a tenth of the training data."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.features: Features = OneText(False)
        self.weights = torch.zeros(0, 0)
        self.examples = 0

    def fit(self, texts: Sequence[Texts], labels: Sequence[str]) -> "LinearClassifier":
        """Learn from texts, each a tuple of one or two, and their labels."""
        kept = [name for name, _ in Counter(labels).most_common(MOST_LABELS)]
        known, self.names = set(kept), sorted(kept)
        rows = [row for row, label in enumerate(labels) if label in known]
        texts, labels = [texts[row] for row in rows], [labels[row] for row in rows]
        few = len(self.names) <= FEW_LABELS
        self.features, strength = chosen(texts, labels, STRENGTHS if few else STRENGTHS[-1:])
        rows = drawn(self.features, texts, SCORES // len(self.names))
        texts, labels, self.examples = [texts[row] for row in rows], [labels[row] for row in rows], len(rows)
        self.weights = self.solved(self.features, texts, labels, strength)
        return self

    def solved(
        self, features: Features, texts: Sequence[Texts], labels: Sequence[str], strength: float
    ) -> torch.Tensor:
        features.learn(texts, min(MOST_COLUMNS, WEIGHTS // len(self.names)))
        return squared_hinge(features.rows(texts), signs_of(labels, self.names), strength)

    def predict(self, texts: Sequence[Texts]) -> list[str]:
        return [one for some in portions(texts) for one in named(self.features.rows(some), self.weights, self.names)]

    @property
    def title(self) -> str:
        return f"linear model over {self.features.title}"


def drawn(features: Features, texts: Sequence[Texts], most: int) -> list[int]:
    """Places of the examples that a linear model is trained on, so many that they fit into memory."""
    of_words = isinstance(features, OneText) and not features.letters
    return sampled_by_size(list(map(letters_in, texts)), min(MOST, most), MOST_IN_WORDS if of_words else MOST_LETTERS)


def letters_in(texts: Texts) -> int:
    return sum(map(len, texts))


def portions(texts: Sequence[Texts]) -> Iterator[list[Texts]]:
    """Examples in their order, shortened, so many at once that their features fit into memory."""
    some: list[Texts] = []
    size = 0
    for one in map(shortened, texts):
        some.append(one)
        size += letters_in(one)
        if size >= BLOCK or len(some) >= BLOCK // 64:
            yield some
            some, size = [], 0
    if some:
        yield some


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


def tried(
    features: Features,
    texts: Sequence[Texts],
    labels: Sequence[str],
    own: Sequence[int],
    held: Sequence[int],
    strengths: Sequence[float],
) -> Iterator[list[bool]]:
    """For each strength, which of the held-out examples are right after learning from the others."""
    names = sorted(set(labels))
    features.learn([texts[row] for row in own], min(MOST_COLUMNS, WEIGHTS // len(names)))
    known, asked = (features.rows([texts[row] for row in some]) for some in (own, held))
    signs = signs_of([labels[row] for row in own], names)
    for strength in strengths:
        said = named(asked, squared_hinge(known, signs, strength), names)
        yield [one == labels[row] for one, row in zip(said, held, strict=True)]


def chosen(texts: Sequence[Texts], labels: Sequence[str], strengths: Sequence[float]) -> tuple[Features, float]:
    """The features and the strength with the best accuracy on every tenth example."""
    rows = sampled_by_size(list(map(letters_in, texts)), TRIED, TRIED_LETTERS)
    own, held = [row for row in rows if row % 10], [row for row in rows if not row % 10]
    if len(own) < FEWEST or not held:
        return candidates(texts)[0], strengths[-1]
    found = [
        (sum(right), features, strength)
        for features in candidates(texts)
        for strength, right in zip(strengths, tried(features, texts, labels, own, held, strengths), strict=True)
    ]
    _, features, strength = max(found, key=lambda one: one[0])
    return features, strength


def words_tell(texts: Sequence[Texts], labels: Sequence[str]) -> bool:
    """Whether a linear model of pairs of texts is right more often when it knows their words and not only what they
    have in common: by more than a standard error, in cross-validation. True where that cannot be told."""
    rows = sampled_by_size(list(map(letters_in, texts)), TRIED, TRIED_LETTERS)
    if len(rows) < FEWEST or len(set(labels)) > FEW_LABELS:
        return True
    order, gains = [rows[place] for place in permutation(len(rows), "words")], list[int]()
    for part in range(PARTS):
        held = order[part::PARTS]
        own = [row for place, row in enumerate(order) if place % PARTS != part]
        alone, told = (next(tried(features, texts, labels, own, held, STRENGTHS[:1])) for features in candidates(texts))
        gains += [int(one) - int(other) for one, other in zip(told, alone, strict=True)]
    return bool(np.mean(gains) > np.std(gains) / len(gains) ** 0.5)


def label_baselines(train: Sequence[tuple[Texts, str]], test: Sequence[Texts]) -> Baselines:
    """The most frequent label, and a linear model."""
    counts = Counter(label for _, label in train)
    yield Predicted("majority", "most frequent label", [[counts.most_common(1)[0][0]]] * len(test))
    if len(counts) < 2:
        return
    texts = [shortened(texts) for texts, _ in train]
    model = LinearClassifier().fit(texts, [label for _, label in train])
    said: list[Any] = [[label] for label in model.predict(test)]
    yield Predicted("linear", f"{model.title}{beginnings(texts)}", said, model.examples)


def beginnings(texts: Sequence[Texts]) -> str:
    """What a title says where texts are longer than what is read of them."""
    long = any(len(text) >= LONGEST for one in texts for text in one)
    return f" of the first {LONGEST:,} characters" if long else ""
