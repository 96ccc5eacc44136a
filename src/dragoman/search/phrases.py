"""Phrases that an answer must contain: a beam whose places are shared out by how much of them is written already."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.search.beams import Beams
from dragoman.search.loop import Candidates, Selected
from dragoman.search.proposals import MostProbable, Proposals
from dragoman.search.selections import Ranked, ending_of


class Phrase(NamedTuple):
    """A phrase in symbols: behind other words, and as the first words of an answer, where the spelling may differ."""

    inner: tuple[int, ...]
    first: tuple[int, ...]


class Phrases:
    """What each sentence must contain, and how far a hypothesis is.

    A phrase counts as written where its symbols stand in a row and the next one does not continue its last word.
    """

    def __init__(self, phrases: Sequence[Sequence[Phrase]], continues: Callable[[int], bool]) -> None:
        self.phrases, self.continues = [tuple(dict.fromkeys(each)) for each in phrases], continues

    def missing(self, sentence: int, tokens: Sequence[int]) -> list[Phrase]:
        return [phrase for phrase in self.phrases[sentence] if not self.stands(phrase, tokens)]

    def stands(self, phrase: Phrase, tokens: Sequence[int]) -> bool:
        return self.stands_at(phrase.first, 0, tokens) or any(
            self.stands_at(phrase.inner, start, tokens) for start in range(len(tokens) - len(phrase.inner) + 1)
        )

    def stands_at(self, symbols: tuple[int, ...], start: int, tokens: Sequence[int]) -> bool:
        end = start + len(symbols)
        if end > len(tokens) or tuple(tokens[start:end]) != symbols:
            return False
        return end == len(tokens) or not self.continues(tokens[end])

    def needed(self, sentence: int, tokens: Sequence[int]) -> int:
        """Symbols that are still to be written at least, where no phrase helps another."""
        missing = self.missing(sentence, tokens)
        saved = (len(phrase.inner) - len(rest) for phrase in missing if (rest := rest_of(phrase, tokens)))
        return sum(len(phrase.inner) for phrase in missing) - max(saved, default=0)

    def next(self, sentence: int, tokens: Sequence[int]) -> list[int]:
        """Symbols that bring it on: behind what is begun, else the first of each."""
        missing = self.missing(sentence, tokens)
        rests = [rest for phrase in missing if (rest := rest_of(phrase, tokens))]
        if rests:
            return sorted({rest[0] for rest in rests})
        return sorted({(phrase.inner if tokens else phrase.first)[0] for phrase in missing})

    def reserve(self, sentence: int, tokens: Sequence[int]) -> int:
        """Symbols that must be left after a step that brings nothing on, and may undo what was just written."""
        undone = [
            len(phrase.inner)
            for phrase in self.phrases[sentence]
            if any(tuple(tokens[max(0, len(tokens) - len(form)) :]) == form for form in phrase)
        ]
        return sum(len(phrase.inner) for phrase in self.missing(sentence, tokens)) + max(undone, default=0)


def rest_of(phrase: Phrase, tokens: Sequence[int]) -> tuple[int, ...]:
    """What is left of a phrase that stands at the end of a hypothesis in part; nothing where none of it does."""
    size = len(tokens)
    if 0 < size < len(phrase.first) and tuple(tokens) == phrase.first[:size]:
        return phrase.first[size:]
    for begun in range(min(len(phrase.inner) - 1, size), 0, -1):
        if tuple(tokens[-begun:]) == phrase.inner[:begun]:
            return phrase.inner[begun:]
    return ()


class Contained:
    """Bars END while a phrase is missing, and everything that leaves no room for what is missing."""

    bars = True

    def __init__(self, phrases: Phrases, satisfied: Callable[[int, Sequence[int]], bool], end: int) -> None:
        self.phrases, self.satisfied, self.end = phrases, satisfied, end

    def __call__(self, scores: Float[Tensor, "N V"], beams: Beams) -> Float[Tensor, "N V"]:
        places, scores = beams.totals.shape[1], scores.clone()
        for row, tokens in enumerate(beams.tokens.flatten(0, 1).tolist()):
            sentence, limit = int(beams.sentences[row // places]), int(beams.limits[row // places])
            if not self.phrases.phrases[sentence] or beams.ranks[row // places, row % places] == -torch.inf:
                continue
            written = tokens[1:]
            over = not self.phrases.missing(sentence, written) and self.satisfied(sentence, written)
            left = limit - len(written) - 1  # behind the next symbol; END needs one of them
            if over and left >= self.phrases.reserve(sentence, written) + 1:
                continue
            end = scores[row, self.end].clone()
            if left < self.phrases.reserve(sentence, written) + 1:
                onward = self.phrases.next(sentence, written)
                values = scores[row, onward].clone()
                scores[row] = -torch.inf
                scores[row, onward] = values
            scores[row, self.end] = end if over else -torch.inf
        return scores


class WithNext:
    """The best symbols of every row, and those that bring a phrase on."""

    def __init__(self, number: int, forbidden: tuple[int, ...], phrases: Phrases) -> None:
        self.best, self.phrases = MostProbable(number, forbidden), phrases

    def __call__(self, scores: Float[Tensor, "N V"], beams: Beams) -> Proposals:
        values, symbols = self.best(scores, beams)
        places = beams.totals.shape[1]
        rows = [
            self.phrases.next(int(beams.sentences[row // places]), tokens[1:])
            for row, tokens in enumerate(beams.tokens.flatten(0, 1).tolist())
        ]
        most = max(map(len, rows))
        if not most:
            return values, symbols
        more = symbols.new_zeros(len(rows), most)
        good = torch.zeros_like(more, dtype=torch.bool)
        for row, onward in enumerate(rows):
            more[row, : len(onward)] = torch.tensor(onward, dtype=torch.long)
            good[row, : len(onward)] = True
        good &= ~(more[:, :, None] == symbols[:, None]).any(2)
        further = scores.gather(1, more).masked_fill(~good, -torch.inf)
        return torch.cat([values, further], 1), torch.cat([symbols, more], 1)


class Banks(Ranked):
    """The places of a beam go in turn to hypotheses with all, fewer and no symbols of the phrases, to the best of each
    (Post and Vilar 2018: dynamic beam allocation)."""

    def __init__(self, width: int, phrases: Phrases) -> None:
        self.width, self.phrases = width, phrases

    def __call__(self, beams: Beams, candidates: Candidates, ends: Bool[Tensor, "B K P"] | None) -> Selected:
        proposed = candidates.ranks.shape[2]
        others = (candidates.ranks if ends is None else candidates.ranks.masked_fill(ends, -torch.inf)).flatten(1)
        ranks, order = others.sort(dim=1, descending=True, stable=True)
        symbols = candidates.symbols.flatten(1).tolist()
        written = beams.tokens.tolist()
        places: list[list[int]] = []
        for row, (values, flat) in enumerate(zip(ranks.tolist(), order.tolist(), strict=True)):
            sentence = int(beams.sentences[row])
            banks: dict[int, list[int]] = {}
            for value, place in zip(values, flat, strict=True):
                if value > -torch.inf:
                    tokens = [*written[row][place // proposed][1:], symbols[row][place]]
                    banks.setdefault(self.phrases.needed(sentence, tokens), []).append(place)
            chosen: list[int] = []
            while len(chosen) < self.width and any(banks.values()):
                for needed in sorted(banks):
                    if banks[needed] and len(chosen) < self.width:
                        chosen.append(banks[needed].pop(0))
            places.append(sorted(chosen, key=flat.index))
        width = min(self.width, others.shape[1])
        filled = torch.tensor([[*row, *[0] * (width - len(row))] for row in places], device=others.device)
        good = torch.tensor([[n < len(row) for n in range(width)] for row in places], device=others.device)
        kept: Int[Tensor, "B width"] = filled.view(len(places), width)
        return Selected(kept, others.gather(1, kept).masked_fill(~good, -torch.inf), ending_of(candidates, ends))
