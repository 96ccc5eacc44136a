"""Three tags and up to four words: every sequence is written out."""

import re
from itertools import pairwise, product
from pathlib import Path

import pytest
import torch
from torch import Tensor

from dragoman.nn import chain
from dragoman.nn.chain import Chain, best_path, log_partition, marginals, path_scores

TAGS, LENGTHS = 3, (4, 1, 3)


def some_chain() -> Chain:
    torch.manual_seed(1)
    return Chain(torch.randn(TAGS, TAGS).requires_grad_(), *(torch.randn(TAGS).requires_grad_() for _ in range(2)))


def some_words() -> tuple[Tensor, Tensor]:
    """Scores of tags at words, and which words are real; behind them stands what must not count."""
    torch.manual_seed(2)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    return torch.randn(len(LENGTHS), max(LENGTHS), TAGS).requires_grad_(), mask


def written_out(emissions: Tensor, length: int, chain: Chain) -> dict[tuple[int, ...], Tensor]:
    """The score of every sequence of tags of one sentence."""
    found = {}
    for tags in product(range(TAGS), repeat=length):
        score = chain.start[tags[0]] + chain.end[tags[-1]]
        score = score + sum(emissions[word, tag] for word, tag in enumerate(tags))
        found[tags] = score + sum(chain.transitions[pair] for pair in pairwise(tags))
    return found


def test_the_sum_over_all_sequences_and_its_gradients() -> None:
    chain, (emissions, mask) = some_chain(), some_words()
    leaves = (emissions, chain.transitions, chain.start, chain.end)
    scores = [list(written_out(emissions[n], length, chain).values()) for n, length in enumerate(LENGTHS)]
    wanted = torch.stack([torch.logsumexp(torch.stack(each), 0) for each in scores])
    found = log_partition(emissions, mask, chain)
    torch.testing.assert_close(found, wanted)
    weights = torch.tensor([1.0, -2.0, 0.5])  # rows count differently
    of_found, of_wanted = (torch.autograd.grad((each * weights).sum(), leaves) for each in (found, wanted))
    for one, other in zip(of_found, of_wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_the_score_of_a_sequence() -> None:
    chain, (emissions, mask) = some_chain(), some_words()
    tags = torch.tensor([[2, 0, 1, 1], [1, 0, 0, 0], [0, 2, 2, 1]])
    found = path_scores(emissions, tags, mask, chain)
    for number, length in enumerate(LENGTHS):
        wanted = written_out(emissions[number], length, chain)[tuple(tags[number, :length].tolist())]
        torch.testing.assert_close(found[number], wanted)


@pytest.mark.parametrize("barred", [False, True])
@torch.no_grad()
def test_the_best_sequence_and_how_probable_each_tag_is(barred: bool) -> None:
    """Where tag 2 stands behind nothing but tag 1, and never at the start."""
    follows = torch.tensor([[True, True, False], [True, True, True], [True, True, False], [True, True, False]])
    chain, (emissions, mask) = some_chain().barred(follows if barred else None), some_words()
    path, each = best_path(emissions, mask, chain), marginals(emissions, mask, chain)
    for number, length in enumerate(LENGTHS):
        scores = written_out(emissions[number], length, chain)
        best = max(scores, key=lambda tags: float(scores[tags]))
        assert tuple(path[number, :length].tolist()) == best
        probabilities = dict(zip(scores, torch.softmax(torch.stack(list(scores.values())), 0), strict=True))
        for word, tag in product(range(length), range(TAGS)):
            wanted = sum(float(p) for tags, p in probabilities.items() if tags[word] == tag)
            assert float(each[number, word, tag]) == pytest.approx(wanted, abs=1e-6)
    if barred:
        assert not each[:, 0, 2].any()


def test_confident_scores_stay_finite() -> None:
    """Scores that differ by hundreds: the sum is that of the one sequence that counts."""
    chain = Chain(torch.tensor([[0.0, -300.0], [-300.0, 0.0]]), torch.zeros(2), torch.zeros(2))
    emissions = torch.tensor([[[200.0, -200.0], [200.0, -200.0], [-200.0, 200.0]]]).requires_grad_()
    found = log_partition(emissions, torch.ones(1, 3, dtype=torch.bool), chain)
    torch.testing.assert_close(found, torch.tensor([300.0]))
    found.sum().backward()
    torch.testing.assert_close(emissions.grad[0, :, 0], torch.tensor([1.0, 1.0, 0.0]))


def test_a_long_sentence_agrees_with_logarithms_of_sums() -> None:
    """The gradient of a long sentence agrees with autograd through logarithms of sums."""
    torch.manual_seed(3)
    emissions, chain = torch.randn(2, 30, 5).requires_grad_(), Chain(torch.randn(5, 5), torch.randn(5), torch.randn(5))
    alpha = chain.start + emissions[:, 0]
    for word in range(1, 30):
        alpha = torch.logsumexp(alpha[:, :, None] + chain.transitions, 1) + emissions[:, word]
    wanted = torch.logsumexp(alpha + chain.end, 1)
    found = log_partition(emissions, torch.ones(2, 30, dtype=torch.bool), chain)
    torch.testing.assert_close(found, wanted)
    pair = (torch.autograd.grad(each.sum(), emissions)[0] for each in (found, wanted))
    torch.testing.assert_close(*pair)


DEVICE_CODE = ("nn/chain.py", "heads", "frontends", "objectives", "models", "evaluation", "search/sampling.py")
ON_DEVICE = re.compile(r"dtype=torch\.float64|(?<!\.cpu\(\))\.double\(\)")


@pytest.mark.parametrize("folder", DEVICE_CODE)
def test_double_precision_is_asked_of_devices_that_have_it(folder: str) -> None:
    """Apple GPUs have none: in_double, or the CPU, does it for them."""
    sources = Path(chain.__file__).parents[1] / folder
    files = [sources] if sources.is_file() else sorted(sources.glob("*.py"))
    assert files
    assert [file.name for file in files if ON_DEVICE.search(file.read_text())] == []
