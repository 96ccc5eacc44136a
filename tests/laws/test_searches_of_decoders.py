"""Every search over every decoder: a line's answer is its own, whatever stands beside it."""

from functools import partial

import pytest
import torch
from model_parts import MODELS, label, model_of, padded

from dragoman.contracts import Batch, Hypothesis, Request
from dragoman.models import EncoderDecoderModel
from dragoman.search import AnySearch, Beam, Exact, Greedy, Parts, Rules, Sampling, search
from dragoman.search.processors import BarredPhrases

START, END, LIMIT = 1, 2, 5
SOURCES = [[3, 4, 5, 6, 2], [5, 2], [6, 3, 2], [4, 4, 4, 2]]
EVERY = list({label(config.decoder): config for config in MODELS}.values())  # each decoder once
SEARCHES: list[AnySearch] = [
    Greedy(),
    Beam(width=3),
    Beam(width=3, normalisation="gnmt", alpha=0.6),
    Beam(width=4, groups=2),
    Sampling(seed=3, temperature=0.8, top_p=0.9),
    Exact(budget=60),
]
RULES = Rules(no_repeat_ngram=2, repetition_penalty=1.3)


def answers(model: EncoderDecoderModel, lines: list[int], config: AnySearch, rules: bool) -> list[list[Hypothesis]]:
    batch = Batch(tuple(lines), {"source": padded(*(SOURCES[line] for line in lines))})
    attends = isinstance(config, Beam) and config.coverage > 0
    request = Request(
        torch.full((len(lines),), START),
        END,
        torch.full((len(lines),), LIMIT),
        forbidden=(0, START),
        lines=torch.tensor(lines),
        min_length=torch.full((len(lines),), 2) if rules else None,
        source_mask=batch.sources["source"].mask if attends else None,
    )
    parts = Parts(RULES, (BarredPhrases([[(3, 4)]] * len(lines)),)) if rules else None
    step = partial(model.step, attention=True) if attends else model.step
    with torch.no_grad():
        return search(config, step, model.begin(batch), request, 2 if not isinstance(config, Greedy) else 1, parts)


def same_answers(one: list[Hypothesis], other: list[Hypothesis]) -> bool:
    return [(a.tokens, a.finished) for a in one] == [(b.tokens, b.finished) for b in other] and all(
        abs(a.score - b.score) < 1e-9 and abs(a.total - b.total) < 1e-9 for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("number", range(len(EVERY)), ids=[label(config) for config in EVERY])
def test_a_line_alone_in_a_batch_and_in_any_order(number: int) -> None:
    """Every decoder, each with two of the searches, in turn; in double precision, since opinions magnify rounding: sums
    around −16 of a Transformer, whose norms magnify it once more, differ by 2e-5 in single precision."""
    config = EVERY[number]
    model = model_of(config).double().eval()
    with torch.no_grad():
        model.head.output.weight.mul_(8)  # opinions, so that the paths of the lines differ
    attention = getattr(config.decoder, "attention", None)
    looks = attention and attention.kind not in ("none", "fixed") and getattr(config.decoder, "looks_at", "") != "turns"
    covering = [Beam(width=3, coverage=0.5)] if looks else []
    searches = [*SEARCHES, *covering]
    for wanted in (searches[number % len(searches)], searches[(number * 3 + 1) % len(searches)]):
        rules = not isinstance(wanted, Exact) and number % 2 == 0
        together = answers(model, [0, 1, 2, 3], wanted, rules)
        other = answers(model, [3, 1, 0, 2], wanted, rules)
        for line in range(4):
            [alone] = answers(model, [line], wanted, rules)
            assert same_answers(alone, together[line])
            assert same_answers(alone, other[[3, 1, 0, 2].index(line)])
