"""A CRF over tags that mark spans: what the training data keeps to, every prediction keeps to."""

from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor

from dragoman.contracts import Output, Padded, Target
from dragoman.data.labelling import Labelling, learn_labelling, may_follow
from dragoman.data.readers.example import Example
from dragoman.heads import Crf, CrfHead, Tags, TagsHead

NAMES = ("B-a", "B-b", "I-a", "I-b", "O")


def labelling(*sentences: str) -> Labelling:
    rows = [tuple(sentence.split()) for sentence in sentences]
    return learn_labelling("tags", [Example(row, row, 1) for row in rows], {})


@pytest.mark.parametrize(
    ("sentences", "scheme"),
    [
        (("B-a I-a O", "O B-a B-a"), "iob2"),
        (("B-a I-a O", "I-a O"), ""),  # I- at the start
        (("B-a I-b", "B-b"), ""),  # I- of another kind
        (("B-a I-a E-a O",), ""),
        (("DET NOUN",), ""),
    ],
)
def test_the_scheme_is_what_all_sentences_keep_to(sentences: tuple[str, ...], scheme: str, tmp_path: Path) -> None:
    found = labelling(*sentences)
    assert found.scheme == scheme
    assert (found.follows is None) == (scheme == "")
    found.write(tmp_path / "labels.json")
    assert Labelling.load(tmp_path / "labels.json") == found


def head_and_states(head: CrfHead | TagsHead) -> tuple[Output, Tensor]:
    """States of eight sentences of ten places, whose first three, five … are words."""
    torch.manual_seed(2)
    torch.nn.init.normal_(head.output.weight, std=3)
    places = torch.arange(10) < torch.tensor([3, 5, 10, 1, 2, 9, 4, 7])[:, None]
    return Output(torch.randn(8, 10, 4)), places


@torch.no_grad()
def test_no_inside_stands_behind_an_outside() -> None:
    """Of a model that knows nothing: without the scheme its best tags break it, with the scheme they never do."""
    torch.manual_seed(1)
    head = CrfHead(Crf(), 4, len(NAMES)).eval()
    follows = Labelling("tags", NAMES, scheme="iob2").follows
    assert follows is not None
    output, places = head_and_states(head)
    free, kept = (head.decide(output, places, one) for one in (None, torch.from_numpy(follows)))

    def broken(tags: Tensor) -> int:
        rows = [[NAMES[tag] for tag in row[here].tolist()] for row, here in zip(tags, places, strict=True)]
        return sum(not may_follow(*two) for row in rows for two in pairwise(("", *row)))

    assert broken(free.tags) > 0
    assert broken(kept.tags) == 0
    assert bool((kept.log_probabilities[places] <= 1e-6).all())
    assert bool((kept.totals <= kept.log_probabilities.masked_fill(~places, 0).amin(1) + 1e-5).all())


@pytest.mark.parametrize("head", [CrfHead(Crf(), 4, 5), TagsHead(Tags(), 4, 5)], ids=["crf", "tags"])
@torch.no_grad()
def test_the_likelihood_of_decided_tags_is_their_probability(head: CrfHead | TagsHead) -> None:
    output, places = head_and_states(head.eval())
    decided = head.decide(output, places)
    tags = decided.tags.masked_fill(~places, 0)
    real = places.flatten().nonzero().squeeze(1)
    target = Target(Padded(tags, places), Padded(tags, places), real)
    torch.testing.assert_close(-head.negative_log_likelihoods(output, target), decided.totals, atol=1e-4, rtol=1e-5)


@torch.no_grad()
def test_words_may_stand_anywhere() -> None:
    """Places between words, such as the further pieces of a word, are passed over."""
    head = CrfHead(Crf(), 4, 5).eval()
    torch.nn.init.normal_(head.transitions)
    output, _ = head_and_states(head)
    places = torch.zeros(8, 10, dtype=torch.bool)
    places[:, [1, 4, 5, 8]] = True
    spread = head.decide(output, places)
    close = head.decide(Output(output.hidden[:, [1, 4, 5, 8]]), torch.ones(8, 4, dtype=torch.bool))
    assert torch.equal(spread.tags[:, [1, 4, 5, 8]], close.tags)
    torch.testing.assert_close(spread.totals, close.totals)
