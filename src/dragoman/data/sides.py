"""What the texts of a corpus look like: a sample that is spread over it, and each side of that."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np

from dragoman.data.readers.pairs import Pair
from dragoman.data.tokenizers.features import features_of

SAMPLE = 8_000  # pairs that are looked at closely; of more, every second is let go
SAMPLE_CHARACTERS = 4_000_000  # of all these pairs together
CLOSED = 0.005  # share of words never met before up to which the words are a closed set of symbols
SPELLED = 2.0  # characters of a word, up to which spaces stand between single symbols such as phonemes
LABELS = 0.02  # share of new labels up to which columns behind the first hold features
MOST_FEATURES = 20  # of a text, on average
SHORT = 60  # characters of texts that can be spelled out
FRESH = 0.4  # share of new words from which on a word is better spelled; sentences have 0.1 to 0.35


@dataclass
class Sample:
    """Pairs spread evenly over a corpus of unknown length, in bounded memory."""

    pairs: list[Pair] = field(default_factory=list)
    size: int = 0  # of the corpus
    stride: int = 1
    characters: int = 0  # of the pairs that are kept

    def add(self, pair: Pair) -> None:
        if self.size % self.stride == 0:
            self.pairs.append(pair)
            self.characters += characters_of(pair)
            while len(self.pairs) > SAMPLE or (self.characters > SAMPLE_CHARACTERS and len(self.pairs) > 1):
                self.pairs, self.stride = self.pairs[::2], self.stride * 2
                self.characters = sum(map(characters_of, self.pairs))
        self.size += 1


def characters_of(pair: Pair) -> int:
    return len(pair.source) + len(pair.target)


def sample_of(pairs: Iterable[Pair]) -> Sample:
    sample = Sample()
    for pair in pairs:
        sample.add(pair)
    return sample


@dataclass(frozen=True)
class Side:
    """What the texts of one side look like."""

    texts: Sequence[str]

    @cached_property
    def first(self) -> "Side":
        """The first of several columns, as its own side."""
        return Side([text.partition("\t")[0] for text in self.texts])

    @cached_property
    def features(self) -> list[list[str]]:
        """What stands in the columns behind the first, cut at separators."""
        return [features_of(text) for text in self.texts]

    @cached_property
    def has_features(self) -> bool:
        """Whether there are further columns, and they are labels that come again and again."""
        known, others = set(chain.from_iterable(self.features[::2])), list(chain.from_iterable(self.features[1::2]))
        fresh = sum(label not in known for label in others)
        return all(self.features) and fresh <= LABELS * len(others) and self.features_a_text <= MOST_FEATURES

    @cached_property
    def features_a_text(self) -> float:
        return float(np.mean([len(row) for row in self.features]))

    @cached_property
    def words(self) -> list[list[str]]:
        return [text.split() for text in self.texts]

    @cached_property
    def vocabulary(self) -> set[str]:
        return set(chain.from_iterable(self.words))

    @cached_property
    def alphabet(self) -> int:
        """Different characters."""
        return len(set(chain.from_iterable(self.texts)))

    @cached_property
    def fresh(self) -> float:
        """The share of the words in one half of the texts that the other half does not have."""
        known, others = set(chain.from_iterable(self.words[::2])), list(chain.from_iterable(self.words[1::2]))
        return sum(word not in known for word in others) / len(others) if others else 1.0

    @cached_property
    def characters_a_text(self) -> float:
        return float(np.mean([len(text) for text in self.texts]))

    @cached_property
    def words_a_text(self) -> float:
        return float(np.mean([len(row) for row in self.words]))

    @property
    def closed(self) -> bool:
        """Few symbols between spaces, all of them known: phonemes, commands, labels."""
        if self.words_a_text < 2 or len(self.vocabulary) > 2_000:
            return self.spaced
        return self.fresh <= CLOSED or self.spaced

    @property
    def spaced(self) -> bool:
        """Spaces between single symbols, such as phonemes or characters, a few of which may be new."""
        few = self.words_a_text >= 1.5 and len(self.vocabulary) <= 5_000 and self.fresh <= 0.1
        return few and float(np.mean(self.word_lengths)) <= SPELLED

    @cached_property
    def word_lengths(self) -> list[int]:
        """Characters of each word, those that combine with the one before not counted."""
        lengths = {word: sum(not is_mark(character) for character in word) for word in self.vocabulary}
        return [lengths[word] for word in chain.from_iterable(self.words)]

    @property
    def spelt(self) -> bool:
        """Single words, short texts of mostly new words, or a script that puts no spaces between words, of an alphabet
        that can be learned."""
        single = self.words_a_text < 1.5 or self.characters_a_text / self.words_a_text > 15
        fresh = self.words_a_text < 4 and self.characters_a_text <= SHORT and self.fresh >= FRESH
        return (single or fresh) and self.alphabet <= 3_000

    @property
    def may_be_spelt(self) -> bool:
        """Short texts with new words, for which characters and sub-words are both an option."""
        return (
            self.fresh >= 0.1 and self.words_a_text < 8 and self.characters_a_text <= SHORT and self.alphabet <= 3_000
        )

    @property
    def has_columns(self) -> bool:
        return any("\t" in text for text in self.texts)


def sides_of(sample: Sample) -> tuple[Side, Side]:
    return Side([pair.source for pair in sample.pairs]), Side([pair.target for pair in sample.pairs])


def is_mark(character: str) -> bool:
    """A sign that belongs to the character before it, such as an accent, a length mark or a tie bar."""
    return unicodedata.category(character) in ("Mn", "Mc", "Me", "Lm", "Sk")


def likeness(source: Side, target: Side) -> float:
    """The share of the targets' runs of three characters that stand in their sources too, the first columns of these:
    0.5 and more where a target is its source with some letters changed, 0.3 and less in translations."""
    return float(np.mean(list(map(shared_runs, source.first.texts, target.texts))))


def shared_runs(source: str, target: str) -> float:
    known, runs = Counter(runs_of(source)), Counter(runs_of(target))
    return (known & runs).total() / max(1, runs.total())


def runs_of(text: str) -> Iterator[str]:
    return (text[place : place + 3] for place in range(len(text) - 2))


def words_in_common(source: Side, target: Side) -> float:
    words = list(chain.from_iterable(target.words))
    return sum(word in source.vocabulary for word in words) / max(1, len(words))
