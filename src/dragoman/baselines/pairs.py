"""Baselines of pairs of texts: copying the source, its first words, the target of the nearest training source, and
rewriting rules for inflected words."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median

import torch

from dragoman.baselines.clock import check_time, timed
from dragoman.baselines.predicted import Baselines, Predicted, sampled_by_size
from dragoman.baselines.texts import LONGEST as LONGEST_TEXT
from dragoman.baselines.texts import Letters, Weighted, Words

MOST = 100_000  # pairs that are learned from
MOST_LETTERS = 2**25  # of their sources
BLOCK = 128  # test sources that are compared at once
LONGEST = 8  # letters of a suffix or a prefix that a rule looks at
LONGEST_WORD = 100  # letters of a word that is compared with its form
PARTS = 2  # a source of so many parts may be a word with features
SHARED = 3  # forms per bundle of features, on average, where words are inflected
NEAREST = "target of the nearest source"

Pairs = Sequence[tuple[str, str]]


class Nearest:
    """The training text with the largest cosine of tf-idf, over words, or over n-grams of letters where most texts are
    one word."""

    def __init__(self, texts: Sequence[str]) -> None:
        texts = [text[:LONGEST_TEXT] for text in texts]
        single = median(len(text.split()) for text in texts) <= 1
        self.features = Weighted(Letters((1, 2, 3, 4)) if single else Words()).learn(texts)
        self.rows = self.features.rows(texts)

    def find(self, texts: Sequence[str]) -> list[int]:
        """The place of the nearest training text of each text; of equals the first."""
        found: list[int] = []
        for start in range(0, len(texts), BLOCK):
            check_time()
            rows = self.features.rows([text[:LONGEST_TEXT] for text in texts[start : start + BLOCK]])
            asked = torch.zeros(len(rows), rows.width)
            asked[torch.from_numpy(rows.rows), torch.from_numpy(rows.columns)] = torch.from_numpy(rows.values)
            found += (self.rows.matrix @ asked.T.contiguous()).argmax(0).tolist()
        return found


class SuffixRules:
    """Rewriting rules of inflected words: in each bundle of features the most frequent change behind the longest
    suffix, and the most frequent change before the longest prefix (Cotterell et al. 2018)."""

    def __init__(self) -> None:
        self.behind: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.before: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def fit(self, examples: Sequence[tuple[str, str, str]]) -> "SuffixRules":
        """Of (word, features, form)."""
        for word, features, form in timed(examples):
            if max(len(word), len(form)) > LONGEST_WORD:
                continue
            start, other, size = longest_common(word, form)
            for cut in range(max(0, start + size - LONGEST), start + size + 1):
                if cut >= start and len(word) - cut <= LONGEST:
                    self.behind[features, word[cut:]][form[other + cut - start :]] += 1
            for cut in range(start, min(start + size, LONGEST) + 1):
                self.before[features, word[:cut]][form[: other + cut - start]] += 1
        return self

    def inflected(self, word: str, features: str) -> str:
        for size in range(min(len(word), LONGEST), -1, -1):
            if found := self.behind.get((features, word[len(word) - size :])):
                word = word[: len(word) - size] + found.most_common(1)[0][0]
                break
        for size in range(min(len(word), LONGEST), -1, -1):
            if found := self.before.get((features, word[:size])):
                return found.most_common(1)[0][0] + word[size:]
        return word


def longest_common(one: str, other: str) -> tuple[int, int, int]:
    """(start in one, start in the other, letters) of their longest common part, the first of equals."""
    best, row = (0, 0, 0), [0] * (len(other) + 1)
    for i, letter in enumerate(one):
        last = 0
        for j, letter_of_other in enumerate(other):
            last, row[j + 1] = row[j + 1], last + 1 if letter == letter_of_other else 0
            if row[j + 1] > best[2]:
                best = (i - row[j + 1] + 1, j - row[j + 1] + 1, row[j + 1])
    return best


def word_and_features(source: str, last: bool) -> tuple[str, str]:
    """A source of several parts as a word and a bundle of features, which come last or first."""
    parts = source.split("\t") if "\t" in source else source.split(" ")
    return (parts[0], " ".join(parts[1:])) if last else (parts[-1], " ".join(parts[:-1]))


def features_last(pairs: Pairs) -> bool | None:
    """Whether sources are words with features behind them, or before them; None where they are neither."""
    if median(len(source.split()) for source, _ in pairs) < PARTS or median(len(t.split()) for _, t in pairs) > 1:
        return None
    for last in (True, False):
        found = [word_and_features(source, last) for source, _ in pairs]
        bundles = Counter(features for _, features in found)
        near = sum(
            max(len(word), len(form)) <= LONGEST_WORD and longest_common(word, form)[2] >= max(1, len(word) // 2)
            for (word, _), (_, form) in timed(zip(found, pairs, strict=True))
        )
        if len(bundles) * min(SHARED, len(pairs) / 4) <= len(pairs) and near >= len(pairs) / 2:
            return last
    return None


def copied(test: Sequence[str]) -> Predicted:
    return Predicted("copy", "copy of the source", list(test))


def pair_baselines(train: Pairs, test: Sequence[str], replies: bool = False) -> Baselines:
    """Of pairs and the sources of a test. Nobody copies a dialogue history: `replies` have the nearest one alone."""
    sizes = [min(len(source), LONGEST_TEXT) for source, _ in train]
    some = [train[row] for row in sampled_by_size(sizes, MOST, MOST_LETTERS)]
    if not replies:
        yield copied(test)
        yield from first_words(some, test)
    near = [some[place][1] for place in Nearest([source for source, _ in some]).find(test)]
    yield Predicted("nearest", "reply to the nearest history" if replies else NEAREST, near, len(some))
    if not replies:
        yield from inflected(some, test)


def first_words(pairs: Pairs, test: Sequence[str]) -> Baselines:
    """As many as half of the targets have at most, where sources are longer."""
    length = round(median(len(target.split()) for _, target in pairs))
    if 1 < length < median(len(source.split()) for source, _ in pairs):
        lead = [" ".join(text.split()[:length]) for text in test]
        yield Predicted("lead", f"first {length} words of the source", lead, len(pairs))


def inflected(pairs: Pairs, test: Sequence[str]) -> Baselines:
    last = features_last(pairs[:5_000])
    if last is not None:
        rules = SuffixRules().fit([(*word_and_features(source, last), target) for source, target in pairs])
        forms = [rules.inflected(*word_and_features(text, last)) for text in timed(test)]
        yield Predicted("rules", "suffix and prefix rules per features", forms, len(pairs))
