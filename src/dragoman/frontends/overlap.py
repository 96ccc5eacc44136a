"""How much of each of two texts the other has."""

import math
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.data.tokenizers import SPECIALS, UNKNOWN
from dragoman.data.tokenizers.letters import ALPHABET, NO_LETTER, OTHERS
from dragoman.frontends.letters import FACTOR, of_distinct
from dragoman.frontends.ngrams import bucket, small_letters
from dragoman.nn.linear import linear

WIDTH = 32  # of the vector that the head sees
FEATURES = 7  # of each text
COMMON = 2  # of both: their weighted cosine, and by how much one is longer
EDGES = 8  # steps of each feature, so that a linear model may bend
SCALE = 5.0  # of a linear model's scores, which would learn too slowly at the rates of an encoder
SAME = 0.999  # a cosine from which on two words are spelled alike
BUCKETS = 256  # of letter trigrams, by which words are compared
STEEP = 2.0  # β at the start: by Zipf's law log rank grows as the inverse document frequency, whose square a cosine has


class Overlap(nn.Module):
    """o = tanh(W f + b): f has the shares of each text's words, similar words and word pairs that the other text has
    too, plain and weighted by (log(2 + rank) / log(2 + V))^β, rank that of a word in the vocabulary, and whether each
    text has a number that the other lacks (string similarity features: Bär et al. 2012)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.width = size, WIDTH
        self.steepness = nn.Parameter(torch.tensor([STEEP]))
        self.hidden = linear(2 * FEATURES + COMMON, WIDTH)

    def forward(
        self, values: Int[Tensor, "B S"], segments: Int[Tensor, "B S"], letters: Int[Tensor, "B S L"] | None
    ) -> Float[Tensor, "B 1 D"]:
        return torch.tanh(self.hidden(self.features(values, segments, letters)))[:, None]

    def features(
        self, values: Int[Tensor, "B S"], segments: Int[Tensor, "B S"], letters: Int[Tensor, "B S L"] | None
    ) -> Float[Tensor, "B F"]:
        """f, numbers between 0 and about 1."""
        words = (values >= len(SPECIALS)) | (values == UNKNOWN)
        across = words[:, :, None] & words[:, None] & (segments[:, :, None] != segments[:, None])
        exact = matched(values, values >= len(SPECIALS), across)
        similar = exact if letters is None else torch.maximum(exact, alike(letters, across))
        behind = words & F.pad(words[:, :-1], (1, 0))  # a word with another before it
        pairs = matched(F.pad(values[:, :-1], (1, 0)) * FACTOR + values, behind, across)
        lacking = torch.zeros_like(words) if letters is None else numerals(letters) & (similar < SAME)
        weights = self.weights(values)
        found = []
        for text in (segments == 0, segments == 1):
            plain = (words & text).to(weights.dtype)
            means = [mean_of(each, by) for each in (exact, similar) for by in (plain, plain * weights)]
            found += [*means, mean_of(pairs, (behind & text).to(weights.dtype))]
            found += [(lacking & words & text).any(1).to(weights.dtype), plain.sum(1).log1p() / 4]
        found.append((found[1] * found[1 + FEATURES]).clamp(min=1e-6).sqrt())
        found.append(torch.exp(-4 * (found[FEATURES - 1] - found[2 * FEATURES - 1]).abs()))
        return torch.stack(found, 1)

    def weights(self, values: Int[Tensor, "B S"]) -> Float[Tensor, "B S"]:
        """Vocabularies have the most frequent words first; a word that they lack is rarer than all of theirs."""
        ranks = torch.where(values == UNKNOWN, self.size, values - len(SPECIALS)).clamp(min=0)
        rarity = torch.log(2 + ranks.to(self.steepness.dtype)) / math.log(2 + self.size)
        return rarity**self.steepness


class OverlapScores(nn.Module):
    """s = 5 W φ(f): φ has the overlap features f of two texts and eight soft steps of each, as a linear model over
    string similarity reads them (Bär et al. 2012). W is zero at first."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros((2 * FEATURES + COMMON) * (1 + EDGES) + 1, outputs))

    def forward(self, features: Float[Tensor, "B F"]) -> Float[Tensor, "B C"]:
        edges = (torch.arange(EDGES, dtype=features.dtype, device=features.device) + 0.5) / EDGES
        steps = ((features[:, :, None] - edges) * EDGES + 0.5).clamp(0, 1).flatten(1)
        bent = torch.cat([features, steps / 2, torch.ones_like(features[:, :1])], 1)
        return SCALE * bent @ self.weights


def marked(values: Int[Tensor, "B S"], segments: Int[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    """Words numbered anew by the text they stand in and by whether the other has them too; others as they are."""
    known = values >= len(SPECIALS)
    across = known[:, :, None] & known[:, None] & (segments[:, :, None] != segments[:, None])
    shared = matched(values, known, across).long()
    return torch.where(known, len(SPECIALS) + 4 * (values - len(SPECIALS)) + 2 * segments + shared, values)


def mean_of(values: Float[Tensor, "B S"], weights: Float[Tensor, "B S"]) -> Float[Tensor, " B"]:
    return (values * weights).sum(1) / weights.sum(1).clamp(min=1e-6)


def matched(
    values: Int[Tensor, "B S"], known: Bool[Tensor, "B S"], across: Bool[Tensor, "B S S"]
) -> Float[Tensor, "B S"]:
    """1 where the other text has the same."""
    same = (values[:, :, None] == values[:, None]) & across & known[:, :, None] & known[:, None]
    return same.any(2).to(torch.get_default_dtype())


@cache
def digits() -> Bool[Tensor, " alphabet"]:
    """Which letters are digits."""
    found = torch.zeros(ALPHABET, dtype=torch.bool)
    found[[3 + point for point in range(OTHERS) if chr(point).isdigit()]] = True
    return found


def numerals(letters: Int[Tensor, "B S L"]) -> Bool[Tensor, "B S"]:
    """Which words begin with a digit."""
    return digits().to(letters.device)[letters[:, :, 1].long()]


def alike(letters: Int[Tensor, "B S L"], across: Bool[Tensor, "B S S"]) -> Float[Tensor, "B S"]:
    """The largest cosine of a word's letter trigrams with those of a word of the other text."""
    units = of_distinct(trigrams, letters)
    return (units @ units.transpose(1, 2)).masked_fill(~across, 0.0).amax(2)


def trigrams(letters: Int[Tensor, "U L"]) -> Float[Tensor, "U D"]:
    """Counts of the letter trigrams of each word, hashed, of length 1; what has no letters has zeros."""
    small = small_letters().to(letters.device)[letters]
    one, two, three = small[:, :-2], small[:, 1:-1], small[:, 2:]
    numbers = bucket((one * FACTOR + two) * FACTOR + three, 3, BUCKETS)
    real = (three != NO_LETTER).to(torch.get_default_dtype())
    counts = torch.zeros(len(letters), BUCKETS, dtype=real.dtype, device=letters.device)
    return F.normalize(counts.scatter_add_(1, numbers, real), dim=1)
