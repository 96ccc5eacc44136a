"""Texts that training changes in every epoch: sub-words are sampled, and stems are replaced by made-up ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from random import Random

from dragoman.data.tokenizers import Sampler, Tokenizer
from dragoman.seeds import key

LONGEST = (2, 8)  # a spelling has at most 2 × the ordinary one + 8 symbols; instead of a longer one stands the ordinary
STEM = 3  # letters in a row that source and target must share to be taken for a stem


@dataclass(frozen=True)
class Stems:
    """Letters that source and target share, three or more in a row, become random ones, the same on both sides
    (Anastasopoulos and Neubig 2019, 3.1). The first and the last of them stay, since endings depend on them."""

    share: float  # of the examples of an epoch
    letters: Mapping[int, int]  # tokens of the source that are letters, and the same letters of the target
    drawn: Sequence[int]  # tokens of the source that may stand in a made-up stem

    @staticmethod
    def of(source: Tokenizer, target: Tokenizer, share: float) -> "Stems":
        numbers = {name: number for number, name in enumerate(target.learned.vocabulary)}
        known = enumerate(source.learned.vocabulary)
        single = [(number, name) for number, name in known if len(name) == 1 and name in numbers]
        drawn = [number for number, name in single if name.isalpha() and name == name.lower()]
        return Stems(share, {number: numbers[name] for number, name in single}, drawn)

    def replaced(self, source: list[int], target: list[int], draw: Random) -> tuple[list[int], list[int]]:
        """The pair with a made-up stem, or as it was."""
        if len(self.drawn) < 2 or draw.random() >= self.share:
            return source, target
        as_target = [self.letters.get(number, -1) for number in source]
        source, target = list(source), list(target)
        for block in SequenceMatcher(None, as_target, target, autojunk=False).get_matching_blocks():
            for place in range(1, block.size - 1) if block.size >= STEM else ():
                letter = draw.choice(self.drawn)
                source[block.a + place], target[block.b + place] = letter, self.letters[letter]
        return source, target


@dataclass(frozen=True)
class Sampling:
    """What becomes of an example depends on seed, epoch, line and side, never on its batch or on what came before."""

    samplers: Mapping[str, Sampler]  # of the sides that are sampled
    seed: int
    epoch: int = 0
    stems: Stems | None = None

    @staticmethod
    def of(
        tokenizers: Mapping[str, Tokenizer], strengths: Mapping[str, float], seed: int, hallucination: float = 0.0
    ) -> "Sampling | None":
        """None where no side is sampled and no stem made up."""
        samplers = {side: tokenizers[side].sampler(strength) for side, strength in strengths.items() if strength}
        stems = Stems.of(tokenizers["source"], tokenizers["target"], hallucination) if hallucination else None
        return Sampling(samplers, seed, stems=stems) if samplers or stems else None

    def in_epoch(self, epoch: int) -> "Sampling":
        return replace(self, epoch=epoch)

    def spelled(self, side: str, line: int, ids: Sequence[int]) -> Sequence[int]:
        """Another way to write the text of these symbols."""
        if side not in self.samplers:
            return ids
        found = self.samplers[side](ids, Random(key(self.seed, "pieces", self.epoch, line, side)).random)
        return found if len(found) <= LONGEST[0] * len(ids) + LONGEST[1] else ids

    def with_stem(self, line: int, source: list[int], target: list[int]) -> tuple[list[int], list[int]]:
        """The pair, perhaps with a made-up stem."""
        if self.stems is None:
            return source, target
        return self.stems.replaced(source, target, Random(key(self.seed, "stems", self.epoch, line)))
