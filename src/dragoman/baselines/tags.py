"""Baselines of tagging: the most frequent tag of each word, and a linear model over a window of words."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from dragoman.baselines.clock import check_time, timed
from dragoman.baselines.predicted import Baselines, Predicted, Skipped, sampled_by_size
from dragoman.baselines.solver import squared_hinge
from dragoman.baselines.sparse import Codes, Sparse

MOST_WORDS = 250_000  # that are learned from
MOST_TAGS = 200
MOST_WEIGHTS = 2**23  # of the linear model: columns times tags
SCORES = 2**24  # words times tags
LONGEST = 10_000  # words of a sentence that are learned from
BLOCK = 50_000  # words that are tagged at once
STRENGTH = 0.5
NEAR, FAR = 1, 2  # words on either side whose spelling, and which themselves, are features

Sentence = tuple[str, ...]


def frequent_tags(train: Sequence[tuple[Sentence, Sequence[str]]], test: Sequence[Sentence]) -> list[list[str]]:
    """The most frequent tag of each word, and of all words where a word is new."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for words, tags in timed(train):
        for word, tag in zip(words, tags, strict=True):
            counts[word][tag] += 1
    whole = Counter(tag for _, tags in train for tag in tags).most_common(1)[0][0]
    usual = {word: found.most_common(1)[0][0] for word, found in counts.items()}
    return [[usual.get(word, whole) for word in words] for words in test]


class WindowTagger:
    """A linear model over words up to two places away, beginnings, ends and shapes of the nearest, and the tag before,
    decoded from left to right."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.numbers: list[dict[str, int]] = [{} for _ in SPELLINGS]
        self.known: Codes = np.empty(0, np.int64)
        self.weights = torch.zeros(0, 0)
        self.of_tags = torch.zeros(0, 0)  # by the tag before; the last row is that of a beginning

    def fit(self, sentences: Sequence[Sentence], tags: Sequence[Sequence[str]]) -> "WindowTagger":
        """Learn from words and their tags."""
        counts = Counter(tag for row in tags for tag in row)
        self.names = sorted(name for name, _ in counts.most_common(MOST_TAGS))
        places = {name: number for number, name in enumerate(self.names)}
        codes, usual = self.codes(sentences, True), places[counts.most_common(1)[0][0]]
        numbers = [[places.get(tag, usual) for tag in row] for row in tags]
        flat = torch.tensor([number for row in numbers for number in row])
        before = np.array([one for row in numbers for one in (len(self.names), *row)[: len(row)]])
        self.known = frequent(codes, MOST_WEIGHTS // len(self.names))
        columns = np.concatenate([self.columns(codes), before[:, None] + len(self.known)], axis=1)
        signs = -torch.ones(len(flat), len(self.names))
        signs[torch.arange(len(flat)), flat] = 1
        weights = squared_hinge(ones(columns, len(self.known) + len(self.names) + 1), signs, STRENGTH)
        self.weights, self.of_tags = weights[: len(self.known)], weights[len(self.known) :]
        return self

    def predict(self, sentences: Sequence[Sentence]) -> list[list[str]]:
        return [tags for some in portions(sentences) for tags in self.decoded(some)]

    def decoded(self, sentences: Sequence[Sentence]) -> list[list[str]]:
        scores = (ones(self.columns(self.codes(sentences, False)), len(self.known)).matrix @ self.weights).numpy()
        starts = np.concatenate([[0], np.cumsum([len(words) for words in sentences])])
        found, last = np.empty(len(scores), np.int64), np.full(len(sentences), len(self.names))
        lengths, of_tags = np.diff(starts), self.of_tags.numpy()
        for place in range(int(lengths.max(initial=0))):
            check_time()
            live = np.flatnonzero(lengths > place)
            last[live] = (scores[starts[live] + place] + of_tags[last[live]]).argmax(1)
            found[starts[live] + place] = last[live]
        return [[self.names[n] for n in found[a:b].tolist()] for a, b in itertools.pairwise(starts)]

    def codes(self, sentences: Sequence[Sentence], learn: bool) -> Codes:
        """One row of features per word, −1 where a spelling is new."""
        words = [word for sentence in sentences for word in sentence]
        lengths = np.array([len(sentence) for sentence in sentences])
        rows = np.repeat(np.arange(len(sentences)), lengths)
        found: list[Codes] = []
        for kind, (spell, known) in enumerate(zip(SPELLINGS, self.numbers, strict=True)):
            if learn:
                for word in words:
                    known.setdefault(spell(word), len(known))
            numbers = np.fromiter((known.get(spell(word), -1) for word in words), np.int64, len(words))
            reach = FAR if kind == 0 else NEAR
            for step in range(-reach, reach + 1):
                found.append(shifted(numbers, rows, step) * 64 + len(found))
        return np.stack(found, axis=1)

    def columns(self, codes: Codes) -> Codes:
        places = np.minimum(np.searchsorted(self.known, codes), len(self.known) - 1)
        return np.where(self.known[places] == codes, places, -1)


def shape(word: str) -> str:
    return "".join("X" if c.isupper() else "x" if c.islower() else "9" if c.isdigit() else c for c in word[:6])


def beginning(word: str) -> str:
    return word[:3].lower()


def ending(word: str) -> str:
    return word[-3:].lower()


SPELLINGS: tuple[Callable[[str], str], ...] = (str.lower, beginning, ending, shape)


def shifted(numbers: Codes, rows: Codes, step: int) -> Codes:
    """The number of the word so many places on, and −2 beyond the sentence; new ones have a code that nobody knows."""
    places = np.arange(len(numbers)) + step
    inside = (places >= 0) & (places < len(numbers))
    there = np.where(inside, places, 0)
    same = inside & (rows[there] == rows)
    return np.where(same, np.where(numbers[there] < 0, 2**40, numbers[there]), -2)


def frequent(codes: Codes, most: int) -> Codes:
    found, counts = np.unique(codes, return_counts=True)
    return found[np.sort(np.argsort(-counts, kind="stable")[:most])]


def ones(columns: Codes, width: int) -> Sparse:
    """A row of ones, none where a column is −1."""
    good = columns >= 0
    starts = np.concatenate([[0], np.cumsum(good.sum(1))])
    return Sparse(starts, columns[good], np.ones(int(starts[-1]), np.float32), max(1, width))


def portions(sentences: Sequence[Sentence]) -> Iterator[Sequence[Sentence]]:
    """The sentences in their order, so many at once that their features fit into memory."""
    numbers = np.cumsum([len(words) for words in sentences], dtype=np.int64) // BLOCK
    starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(sentences)]
    return (sentences[start:end] for start, end in itertools.pairwise(starts))


def tag_baselines(train: Sequence[tuple[Sentence, Sequence[str]]], test: Sequence[Sentence]) -> Baselines:
    """The most frequent tag of each word, and a linear model over a window."""
    tags = len({tag for _, row in train for tag in row})
    if not tags:
        yield Skipped("most frequent tag of each word", "the training data has no word")
        return
    yield Predicted("majority", "most frequent tag of each word", frequent_tags(train, test))
    if tags < 2:
        return
    cut = [(words[:LONGEST], row[:LONGEST]) for words, row in train]
    most = min(MOST_WORDS, SCORES // min(tags, MOST_TAGS))
    some = [cut[row] for row in sampled_by_size([len(words) for words, _ in cut], len(cut), most)]
    model = WindowTagger().fit([sentence for sentence, _ in some], [row for _, row in some])
    yield Predicted("linear", "linear model over a window of words", model.predict(test), len(some))
