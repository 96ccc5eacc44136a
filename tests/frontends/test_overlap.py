"""Shares of words that two texts have in common, with numbers that can be checked by hand."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.config import validate
from dragoman.data.tokenizers.letters import letters_of
from dragoman.errors import ConfigError
from dragoman.frontends import Overlap, OverlapScores, marked
from dragoman.frontends.overlap import COMMON, FEATURES, SCALE, alike, trigrams
from dragoman.models import EncoderOnly

VALUES = torch.tensor([[2, 4, 5, 6, 3, 5, 6, 7, 8, 3]])  # <s> 4 5 6 </s> 5 6 7 8 </s>
SEGMENTS = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1, 1, 1]])


def spelled(*words: str) -> Tensor:
    rows = b"".join(letters_of(word, 8) for word in words)
    return torch.from_numpy(np.frombuffer(rows, np.uint16).reshape(-1, 8).astype(np.int64))


@torch.no_grad()
def test_shares_of_words_and_pairs() -> None:
    overlap = Overlap(9)
    overlap.steepness.zero_()
    found = overlap.features(VALUES, SEGMENTS, None)[0].tolist()
    first = [2 / 3, 2 / 3, 2 / 3, 2 / 3, 1 / 2, 0, math.log(4) / 4]  # 5 and 6 of three words, 5 6 of two pairs
    second = [2 / 4, 2 / 4, 2 / 4, 2 / 4, 1 / 3, 0, math.log(5) / 4]
    assert found == pytest.approx([*first, *second, math.sqrt(2 / 3 * 2 / 4), 4 / 5], abs=1e-5)  # of START and words


@torch.no_grad()
def test_numbers_that_one_text_has_alone() -> None:
    words = ["", "in", "1984", "3rd", "", "1984", "3rd", "a1", "9", ""]
    found = Overlap(9).features(VALUES, SEGMENTS, spelled(*words)[None])[0].tolist()
    assert (found[FEATURES - 2], found[2 * FEATURES - 2]) == (0, 1)  # 9
    words[1] = "7"
    found = Overlap(9).features(VALUES, SEGMENTS, spelled(*words)[None])[0].tolist()
    assert (found[FEATURES - 2], found[2 * FEATURES - 2]) == (1, 1)


@torch.no_grad()
def test_a_linear_model_over_overlap_has_steps() -> None:
    scores = OverlapScores(1)
    features = torch.zeros(2, 2 * FEATURES + COMMON)
    features[1, 0] = 3 / 16  # in the middle of the second step: the first has been taken
    assert not scores(features).any()
    scores.weights.fill_(1.0)
    assert (scores(features)[1] - scores(features)[0]).item() == pytest.approx(SCALE * (3 / 16 + (1 + 0.5 - 0) / 2))


def test_words_are_marked_by_their_text_and_by_whether_both_have_them() -> None:
    """Word 4 + n has the numbers 4 + 4n of the first text and 6 + 4n of the second, and one more where it is shared."""
    assert marked(VALUES, SEGMENTS).tolist() == [[2, 4, 9, 13, 3, 11, 15, 18, 22, 3]]


@torch.no_grad()
def test_rare_words_weigh_more() -> None:
    weights = Overlap(9).weights(torch.tensor([[4, 8, 1]]))[0].tolist()
    assert weights == pytest.approx([(math.log(2) / math.log(11)) ** 2, (math.log(6) / math.log(11)) ** 2, 1.0])


def test_words_are_alike_by_their_letters() -> None:
    units = trigrams(spelled("walk", "Walks", "tree"))
    likeness = (units @ units.T).tolist()
    assert likeness[0][1] == pytest.approx(3 / math.sqrt(4 * 5))  # <wa wal alk of four and five trigrams
    assert likeness[0][2] == 0
    across = torch.tensor([[[False, True, False], [True, False, True], [False, True, False]]])
    assert alike(spelled("walk", "Walks", "tree")[None], across)[0].tolist() == pytest.approx(
        [likeness[0][1], likeness[0][1], likeness[1][2]]
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"matches": "overlap"}, "matches = 'overlap' compares two texts"),
        ({"matches": "overlap", "sentences": "two", "head": {"kind": "spans"}}, "is for one answer per pair of texts"),
    ],
)
def test_what_has_no_overlap_is_refused(table: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validate(EncoderOnly, table)
