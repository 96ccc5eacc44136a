"""What the texts of a corpus look like: a sample that is spread over it, and each side of that."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np

from dragoman.data.readers.pairs import Pair

SAMPLE = 8_000  # pairs that are looked at closely; of more, every second is let go
SAMPLE_CHARACTERS = 4_000_000  # of all these pairs together
CLOSED = 0.005  # share of words never met before up to which the words are a closed set of symbols


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
        return self.words_a_text >= 2 and self.fresh <= CLOSED and len(self.vocabulary) <= 2_000

    @property
    def spelt(self) -> bool:
        """Single words, or a script that puts no spaces between them, of an alphabet that can be learned."""
        spaceless = self.words_a_text < 1.5 or self.characters_a_text / self.words_a_text > 15
        return spaceless and self.alphabet <= 3_000


def sides_of(sample: Sample) -> tuple[Side, Side]:
    return Side([pair.source for pair in sample.pairs]), Side([pair.target for pair in sample.pairs])


def words_in_common(source: Side, target: Side) -> float:
    words = list(chain.from_iterable(target.words))
    return sum(word in source.vocabulary for word in words) / max(1, len(words))
