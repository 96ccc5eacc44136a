"""Sub-word sampling: in training, the texts of an example are spelled anew in every epoch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from dragoman.data.tokenizers import Sampler, Tokenizer
from dragoman.seeds import key

LONGEST = (2, 8)  # a spelling has at most 2 × the ordinary one + 8 symbols; instead of a longer one stands the ordinary


@dataclass(frozen=True)
class Sampling:
    """The spelling of an example depends on seed, epoch, line and side, never on its batch or on what came before."""

    samplers: Mapping[str, Sampler]  # of the sides that are sampled
    seed: int
    epoch: int = 0

    @staticmethod
    def of(tokenizers: Mapping[str, Tokenizer], strengths: Mapping[str, float], seed: int) -> "Sampling | None":
        """None where no side is sampled."""
        samplers = {side: tokenizers[side].sampler(strength) for side, strength in strengths.items() if strength}
        return Sampling(samplers, seed) if samplers else None

    def in_epoch(self, epoch: int) -> "Sampling":
        return replace(self, epoch=epoch)

    def spelled(self, side: str, line: int, ids: Sequence[int]) -> Sequence[int]:
        """Another way to write the text of these symbols."""
        if side not in self.samplers:
            return ids
        found = self.samplers[side](ids, Random(key(self.seed, "pieces", self.epoch, line, side)).random)
        return found if len(found) <= LONGEST[0] * len(ids) + LONGEST[1] else ids
