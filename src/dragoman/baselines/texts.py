"""Features of texts: words, n-grams of letters, and what two texts have in common."""

import itertools
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from dragoman.baselines.clock import check_time, timed
from dragoman.baselines.sparse import Codes, Floats, Sparse, below, beside, dense, summed

WORD = re.compile(r"\w+")
LETTERS = (2, 3, 4, 5)
MOST_COLUMNS = 2**18  # of one kind of features: the most frequent are kept
LONGEST = 20_000  # letters of a text that are read
BLOCK = 2**20  # letters whose features are counted at once
PRIME = np.uint64(1_000_003)
SPACE = ord(" ")


def words_of(text: str) -> list[str]:
    return WORD.findall(text.lower())


@dataclass
class Words:
    """Hashed words and pairs of neighboring words (Joulin et al. 2017)."""

    longest: int = 2
    numbers: dict[str, int] = field(default_factory=dict)

    def codes(self, texts: Sequence[str], learn: bool) -> tuple[Codes, Codes]:
        """(row, code) of every n-gram; words that training has not seen have none."""
        return word_codes([words_of(text) for text in texts], self.numbers, self.longest, learn)


def word_codes(
    texts: Sequence[Sequence[str]], numbers: dict[str, int], longest: int, learn: bool
) -> tuple[Codes, Codes]:
    if learn:
        for words in texts:
            for word in words:
                numbers.setdefault(word, len(numbers) + 1)
    known = np.fromiter((numbers.get(word, 0) for words in texts for word in words), np.int64)
    rows = np.repeat(np.arange(len(texts)), [len(words) for words in texts])
    code, good, found = known.astype(np.uint64), known > 0, [(rows[known > 0], known[known > 0])]
    for size in range(2, longest + 1):
        code = code[:-1] * PRIME + known[size - 1 :].astype(np.uint64)
        good = good[:-1] & (known[size - 1 :] > 0) & (rows[: len(code)] == rows[size - 1 :])
        found.append((rows[: len(code)][good], (code[good] * PRIME + np.uint64(size)).astype(np.int64)))
    return np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])


@dataclass
class Letters:
    """Hashed n-grams of letters inside words, a space before and behind each word."""

    sizes: tuple[int, ...] = LETTERS

    def codes(self, texts: Sequence[str], learn: bool) -> tuple[Codes, Codes]:
        spaced = [f" {' '.join(text.lower().split())} " for text in texts]
        letters = np.frombuffer("".join(spaced).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
        rows = np.repeat(np.arange(len(texts)), [len(text) for text in spaced])
        found = [hashed(letters, size) for size in self.sizes]
        return (
            np.concatenate([rows[places] for places, _ in found]),
            np.concatenate([codes for _, codes in found]),
        )


def hashed(letters: np.ndarray[tuple[int], np.dtype[np.uint64]], size: int) -> tuple[Codes, Codes]:
    """(place, code) of every n-gram that has no space inside and is not all spaces."""
    count = max(0, len(letters) - size + 1)
    code, good = np.full(count, size, np.uint64), np.ones(count, bool)
    for place in range(size):
        one = letters[place : place + count]
        code = (code ^ one) * np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(29)
        if 0 < place < size - 1:
            good &= one != SPACE
    good &= (letters[:count] != SPACE) | (letters[size - 1 : size - 1 + count] != SPACE)
    places = np.flatnonzero(good)
    return places, code[places].astype(np.int64)


@dataclass
class Weighted:
    """tf-idf of coded features: (1 + ln tf)(1 + ln((1 + n) / (1 + df))), rows of length one (Salton and Buckley
    1988)."""

    kind: Words | Letters
    known: Codes = field(default_factory=lambda: np.empty(0, np.int64))  # codes in order
    rarity: Floats = field(default_factory=lambda: np.empty(0, np.float32))

    def learn(self, texts: Sequence[str], most: int = MOST_COLUMNS) -> "Weighted":
        parts = [counted(*self.kind.codes(some, True), len(some)) for some in blocks(texts)]
        found, inverse = np.unique(np.concatenate([codes for codes, _ in parts]), return_inverse=True)
        counts = np.bincount(inverse, np.concatenate([one for _, one in parts]), len(found)).astype(np.int64)
        kept = np.sort(np.argsort(-counts, kind="stable")[:most])
        self.known = found[kept]
        self.rarity = (np.log((1 + len(texts)) / (1 + counts[kept])) + 1).astype(np.float32)
        return self

    def rows(self, texts: Sequence[str]) -> Sparse:
        parts = ((self.kind.codes(some, False), len(some)) for some in blocks(texts))
        return below([weighted(rows, codes, self.known, self.rarity, count) for (rows, codes), count in parts])


def shortened(texts: "Texts") -> "Texts":
    return tuple(text[:LONGEST] for text in texts)


def blocks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in their order, so many at once that their features fit into memory; one block at least."""
    numbers = np.cumsum([len(text) for text in texts], dtype=np.int64) // BLOCK
    starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(texts)]
    for start, end in itertools.pairwise(starts):
        check_time()
        yield texts[start:end]


def counted(rows: Codes, codes: Codes, count: int) -> tuple[Codes, Codes]:
    """The codes of `count` texts, and in how many of them each occurs."""
    found, inverse = np.unique(codes, return_inverse=True)
    once = summed(rows, inverse, np.ones(len(rows), np.float32), (count, max(1, len(found))))
    return found, np.bincount(once.columns, minlength=len(found))


def weighted(rows: Codes, codes: Codes, known: Codes, rarity: Floats, count: int) -> Sparse:
    if not len(known):
        return Sparse(np.zeros(count + 1, np.int64), np.empty(0, np.int64), np.empty(0, np.float32), 1)
    columns = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    seen = known[columns] == codes
    ones = np.ones(int(seen.sum()), np.float32)
    found = summed(rows[seen], columns[seen], ones, (count, len(known)))
    values: Floats = ((1 + np.log(found.values)) * rarity[found.columns]).astype(np.float32)
    length: Floats = np.sqrt(np.bincount(found.rows, values**2, count)).astype(np.float32)
    scaled: Floats = (values / np.maximum(length, 1e-12)[found.rows]).astype(np.float32)
    return Sparse(found.starts, found.columns, scaled, found.width)


def constant(count: int) -> Sparse:
    return dense(np.ones((count, 1), np.float32))


Texts = tuple[str, ...]  # one, or two that belong together


@dataclass
class OneText:
    """Words of a text, and n-grams of its letters if `letters`."""

    letters: bool
    blocks: list[Weighted] = field(default_factory=list)

    @property
    def title(self) -> str:
        return "words and letter n-grams" if self.letters else "words"

    def learn(self, examples: Sequence[Texts], most: int = MOST_COLUMNS) -> "OneText":
        kinds = (Words(), Letters()) if self.letters else (Words(),)
        texts = [" ".join(one) for one in examples]
        self.blocks = [Weighted(kind).learn(texts, most) for kind in kinds]
        return self

    def rows(self, examples: Sequence[Texts]) -> Sparse:
        texts = [" ".join(one) for one in examples]
        return beside([*(block.rows(texts) for block in self.blocks), constant(len(texts))])


@dataclass
class TwoTexts:
    """What two texts have in common; with `crossed` also their words: shared, and of the second text alone."""

    crossed: bool
    rarity: Weighted = field(default_factory=lambda: Weighted(Words(longest=1)))
    blocks: list[Weighted] = field(default_factory=list)

    @property
    def title(self) -> str:
        return "word overlap and words" if self.crossed else "word overlap"

    def learn(self, examples: Sequence[Texts], most: int = MOST_COLUMNS) -> "TwoTexts":
        self.rarity.learn([text for one in examples for text in one], most)
        if self.crossed:
            self.blocks = [Weighted(Words()).learn(texts, most) for texts in parted(examples)]
        return self

    def rows(self, examples: Sequence[Texts]) -> Sparse:
        common = dense(bucketed(self.overlaps(examples)))
        texts = [block.rows(one) for block, one in zip(self.blocks, parted(examples), strict=False)]
        return beside([common, *texts, constant(len(examples))])

    def overlaps(self, examples: Sequence[Texts]) -> Floats:
        """One row per pair, numbers between 0 and 1."""
        first, second = ([one[side] for one in examples] for side in (0, -1))
        cosine = alike(self.rarity.rows(first), self.rarity.rows(second))
        rows = [shares(one, other) for one, other in timed(zip(first, second, strict=True))]
        return np.column_stack([cosine, np.array(rows, np.float32).reshape(len(rows), -1)]).astype(np.float32)


NEGATIONS = frozenset(
    ("no", "not", "never", "none", "nobody", "nothing", "without", "t", "nicht", "kein", "keine", "pas")
)


def shares(first: str, second: str) -> list[float]:
    """How much of each text is in the other: words, pairs of words, letters; and whether only one has a negation or a
    number."""
    words = [words_of(text) for text in (first, second)]
    sets = [set(one) for one in words]
    pairs = [set(itertools.pairwise(one)) for one in words]
    threes = [{text[at : at + 3] for at in range(len(text) - 2)} for text in map(str.lower, (first, second))]
    lengths = [max(1, len(one)) for one in words]
    negated = [bool(one & NEGATIONS) for one in sets]
    figures = [{word for word in one if word.isdigit()} for one in sets]
    return [
        share(sets[1], sets[0]),
        share(sets[0], sets[1]),
        share(pairs[1], pairs[0]),
        share(pairs[0], pairs[1]),
        share(threes[1], threes[0]),
        share(threes[0], threes[1]),
        min(lengths) / max(lengths),
        min(1.0, lengths[1] / lengths[0] / 2),
        float(negated[0] != negated[1]),
        float(bool(figures[1] - figures[0])),
        float(bool(figures[0] - figures[1])),
        float(bool(words[0]) and words[0][:1] == words[1][:1]),
        float(first.strip().lower() == second.strip().lower()),
    ]


def share(wanted: Set[object], known: Set[object]) -> float:
    return len(wanted & known) / max(1, len(wanted))


def alike(one: Sparse, other: Sparse) -> Floats:
    """The cosine of each row with the same row of the other."""
    both = np.concatenate([one.rows * one.width + one.columns, other.rows * other.width + other.columns])
    places, inverse, counts = np.unique(both, return_inverse=True, return_counts=True)
    values = np.ones(len(places))
    np.multiply.at(values, inverse, np.concatenate([one.values, other.values]))
    shared = counts == 2
    return np.bincount(places[shared] // one.width, values[shared], len(one)).astype(np.float32)


BUCKETS = 8


def bucketed(numbers: Floats) -> Floats:
    """The numbers themselves, and soft steps of each, so that a linear model may bend."""
    edges = np.arange(1, BUCKETS) / BUCKETS
    steps = [np.clip((numbers - edge) * BUCKETS + 0.5, 0, 1) for edge in edges]
    return np.concatenate([numbers, *(0.5 * one for one in steps)], axis=1).astype(np.float32)


def parted(examples: Sequence[Texts]) -> tuple[list[str], list[str]]:
    """Words that both texts have, and those of the second alone."""
    shared, alone = [], []
    for one in examples:
        known = set(words_of(one[0]))
        words = words_of(one[-1])
        shared.append(" ".join(word for word in words if word in known))
        alone.append(" ".join(word for word in words if word not in known))
    return shared, alone
