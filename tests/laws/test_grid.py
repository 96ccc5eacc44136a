"""Any score with any placement, cell and weights: it trains, it may be cut, and it decodes."""

from itertools import product

import pytest
import torch
from model_parts import (
    ATTENTIONS,
    CELLS,
    PLACEMENTS,
    SCORES,
    WEIGHTS,
    close,
    decoder,
    encoder_for,
    example,
    label,
    model_of,
)

from dragoman import decoders, frontends
from dragoman.contracts import Batch, Request
from dragoman.models import EncoderDecoder, EncoderDecoderModel
from dragoman.objectives import CrossEntropy, build_objective
from dragoman.regimes import teacher
from dragoman.search import Beam, Greedy, search


def model_with(config: decoders.Rnn) -> EncoderDecoderModel:
    tokens = frontends.Tokens(width=4, dropout=0.0)
    return model_of(EncoderDecoder(source=tokens, target=tokens, encoder=encoder_for(config), decoder=config))


def trains(model: EncoderDecoderModel, batch: Batch) -> None:
    """Fifteen updates make the loss of a batch a fifth smaller."""
    objective, optimiser = build_objective(CrossEntropy(smoothing=0.0)), torch.optim.Adam(model.parameters(), 0.05)
    seen = []
    for _ in range(15):
        losses = objective(teacher(model.train(), batch), model.head, batch)
        optimiser.zero_grad()
        torch.stack([loss.total / loss.count for loss in losses.values()]).sum().backward()
        optimiser.step()
        seen.append(float(losses["cross_entropy"].total.detach()))
    assert sum(seen[-3:]) / 3 < seen[0] * 0.8


def cuts(model: EncoderDecoderModel, batch: Batch) -> None:
    whole = model.eval().head.log_probabilities(teacher(model, batch))
    state = model.start(model.encode(batch))
    for step, last in enumerate(batch.target.inputs.values.unbind(1)):
        found = model.step(last, state)
        state = found.state
        close(found.log_probabilities, whole[:, step], 1e-5)


def decodes(model: EncoderDecoderModel, batch: Batch) -> None:
    """A beam of one is greedy search, and every answer ends or is as long as it may be."""
    size = batch.size
    request = Request(torch.ones(size, dtype=torch.int64), 2, torch.full((size,), 7), forbidden=(0, 1))
    with torch.no_grad():
        state = model.eval().start(model.encode(batch))
        greedy = search(Greedy(), model.step, state, request, 1)
        narrow = search(Beam(width=1), model.step, state, request, 1)
    assert [found[0].tokens for found in greedy] == [found[0].tokens for found in narrow]
    assert all(found[0].finished or len(found[0].tokens) == 7 for found in greedy)


def holds(config: decoders.Rnn) -> None:
    torch.manual_seed(1)
    model, batch = model_with(config), example()
    trains(model, batch)
    cuts(model, batch)
    decodes(model, batch)


@pytest.mark.parametrize("config", ATTENTIONS, ids=label)
def test_the_parts_fit_together(config: decoders.Rnn) -> None:
    holds(config)


def test_every_pair_of_parts_stands_in_the_grid() -> None:
    """Score, placement, cell and weights: two of them at a time, all of their values have met."""
    facts = [
        (score, placement, CELLS[(s + p) % len(CELLS)], (s + 2 * p) % len(WEIGHTS))
        for (s, score), (p, placement) in product(enumerate(SCORES), enumerate(PLACEMENTS))
    ]
    sizes = (len(SCORES), len(PLACEMENTS), len(CELLS), len(WEIGHTS))
    for one, other in product(range(4), range(4)):
        if one < other:
            assert len({(fact[one], fact[other]) for fact in facts}) == sizes[one] * sizes[other]


@pytest.mark.slow
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("score", SCORES)
def test_the_whole_grid(score: str, placement: str) -> None:
    for cell, weights in product(CELLS, WEIGHTS):
        holds(decoder(score, weights, placement, cell=cell))
