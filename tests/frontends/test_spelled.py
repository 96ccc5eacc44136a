"""Vectors of words from their letters."""

import numpy as np
import torch
from torch import Tensor

from dragoman.data.tokenizers import UNKNOWN
from dragoman.data.tokenizers.letters import letters_of
from dragoman.frontends import Spelled, SpelledFrontend
from dragoman.frontends.letters import hashes, of_distinct

CONFIG = Spelled(width=2, letter_width=3, filters=4, letters=7, dropout=0.0)


def letters(*words: str) -> Tensor:
    rows = [np.frombuffer(letters_of(word, 7) if word else bytes(14), np.uint16) for word in words]
    return torch.from_numpy(np.stack(rows).astype(np.int64))[None]


def test_each_distinct_word_is_read_once() -> None:
    seen: list[int] = []

    def read(rows: Tensor) -> Tensor:
        seen.append(len(rows))
        return rows.float().cumsum(1)[:, -2:]

    words = letters("ab", "ba", "", "ab", "", "b")
    assert torch.equal(of_distinct(read, words), words.float().cumsum(2)[:, :, -2:])
    assert seen == [4]


def test_words_are_told_apart() -> None:
    """Words of up to three letters, some of them in other orders, have as many hashes."""
    spelled = [a + b + c for a in ("", *"abcxyz") for b in "abcxyz" for c in "abcxyz"]
    assert len(set(hashes(letters(*spelled)[0]).tolist())) == len(set(spelled))


def test_the_convolution_by_its_definition() -> None:
    """The largest of tanh(W [c before, c, c behind] + b) over the letters of a word and its two marks."""
    torch.manual_seed(1)
    frontend = SpelledFrontend(CONFIG, 9).eval()
    rows = letters("ab", "", "xyzuv")
    found = frontend(torch.tensor([[4, 0, UNKNOWN]]), rows)
    zeros = torch.zeros(3)
    for place, length in ((0, 4), (2, 7)):
        vectors = [zeros, *frontend.letters(rows[0, place, :length]), zeros]
        windows = [torch.stack(vectors[start : start + 3], 1).flatten() for start in range(length)]
        wanted = torch.stack([torch.tanh(frontend.convolution(window)) for window in windows]).amax(0)
        torch.testing.assert_close(found[0, place, 2:], wanted)
    assert found[0, 1].tolist() == [0.0] * 6  # padding has neither a vector nor letters
    assert torch.equal(found[0, 0, :2], frontend.words.weight[4])


def test_word_dropout_leaves_letters_and_special_tokens() -> None:
    torch.manual_seed(1)
    frontend = SpelledFrontend(CONFIG.changed(word_dropout=0.5), 9)
    values = torch.tensor([[2, 4, 5, 6, 7, 8, 1, 3, 0]] * 200)
    thinned = frontend.thinned(values)
    assert torch.equal(thinned[:, [0, 6, 7, 8]], values[:, [0, 6, 7, 8]])
    hidden = thinned[:, 1:6] == UNKNOWN
    assert 0.45 < float(hidden.float().mean()) < 0.55
    assert torch.equal(thinned[:, 1:6][~hidden], values[:, 1:6][~hidden])
    assert torch.equal(frontend.eval().thinned(values), values)
