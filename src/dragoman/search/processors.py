"""What changes or bars the next symbol. Each is a function of the log-probabilities and of what was written so far."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.search.beams import Beams


class AtLeast:
    """No END before so many symbols, END counted."""

    bars = True

    def __init__(self, lengths: Int[Tensor, " all"], end: int) -> None:
        self.lengths, self.end = lengths, end
        self.shortest, self.longest = int(lengths.min()), int(lengths.max())

    def __call__(self, scores: Float[Tensor, "N V"], beams: Beams) -> Float[Tensor, "N V"]:
        if beams.length >= self.longest:
            return scores
        scores = scores.clone()
        if beams.length < self.shortest:
            scores[:, self.end] = -torch.inf
        else:
            short = self.lengths[beams.sentences] > beams.length
            scores[short.repeat_interleave(beams.totals.shape[1]), self.end] = -torch.inf
        return scores


class NoRepeatedNgram:
    """No n symbols in a row that the answer already has (Paulus et al. 2018, §2.5, with n = 3)."""

    bars = True

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, scores: Float[Tensor, "N V"], beams: Beams) -> Float[Tensor, "N V"]:
        written = beams.tokens.flatten(0, 1)[:, 1:]
        if written.shape[1] < self.size:
            return scores
        grams = written.unfold(1, self.size, 1)  # (N, grams, size)
        last = written[:, written.shape[1] - self.size + 1 :]
        again = (grams[:, :, :-1] == last[:, None]).all(2)
        rows, places = again.nonzero(as_tuple=True)
        scores = scores.clone()
        scores[rows, grams[rows, places, -1]] = -torch.inf
        return scores


class BarredPhrases:
    """Sequences of symbols that no answer contains, sentence by sentence."""

    bars = True

    def __init__(self, phrases: Sequence[Sequence[tuple[int, ...]]]) -> None:
        self.phrases = phrases

    def __call__(self, scores: Float[Tensor, "N V"], beams: Beams) -> Float[Tensor, "N V"]:
        places, scores = beams.totals.shape[1], scores.clone()
        for row, tokens in enumerate(beams.tokens.flatten(0, 1).tolist()):
            for *begun, last in self.phrases[int(beams.sentences[row // places])]:
                if tokens[max(1, len(tokens) - len(begun)) :] == begun or not begun:
                    scores[row, last] = -torch.inf
        return scores


class BarredSymbols:
    """Symbols that a function of the sentence and of what was written bars; None bars nothing."""

    bars = True

    def __init__(self, barred: Callable[[int, Sequence[int]], Bool[Tensor, " V"] | None]) -> None:
        self.barred = barred

    def __call__(self, scores: Float[Tensor, "N V"], beams: Beams) -> Float[Tensor, "N V"]:
        places, scores = beams.totals.shape[1], scores.clone()
        for row, tokens in enumerate(beams.tokens.flatten(0, 1).tolist()):
            mask = self.barred(int(beams.sentences[row // places]), tokens[1:])
            if mask is not None:
                scores[row, mask.to(scores.device)] = -torch.inf
        return scores


class RepetitionPenalty:
    """Symbols that were written before get log-probabilities times θ (Keskar et al. 2019, §4.1, on logarithms)."""

    bars = False

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty

    def __call__(self, scores: Float[Tensor, "N V"], beams: Beams) -> Float[Tensor, "N V"]:
        written = beams.tokens.flatten(0, 1)[:, 1:]
        return scores.scatter(1, written, self.penalty * scores.gather(1, written))
