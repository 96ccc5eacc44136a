"""Any score with any placement, cell and weights: it trains, it may be cut, and it decodes."""

from itertools import product

import pytest
import torch
from model_parts import (
    ATTENTIONS,
    CELLS,
    PLACEMENTS,
    SAMPLE,
    SCORES,
    WEIGHTS,
    close,
    decoder,
    encoder_for,
    example,
    label,
    model_of,
    possible,
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
    """Fifteen updates make the loss of a batch an eighth smaller."""
    objective, optimiser = build_objective(CrossEntropy(smoothing=0.0)), torch.optim.Adam(model.parameters(), 0.05)
    seen = []
    for _ in range(15):
        losses = objective(teacher(model.train(), batch), model.head, batch)
        optimiser.zero_grad()
        torch.stack([loss.total / loss.count for loss in losses.values()]).sum().backward()
        optimiser.step()
        seen.append(float(losses["cross_entropy"].total.detach()))
    assert sum(seen[-3:]) / 3 < seen[0] * 0.88


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


@pytest.mark.parametrize("config", ATTENTIONS[::2], ids=label)
def test_the_parts_fit_together(config: decoders.Rnn) -> None:
    holds(config)


def test_nearly_every_pair_of_parts_stands_in_the_grid() -> None:
    """Score, placement, cell and weights: two of them at a time, nearly all of their values have met (`slow`: all)."""
    facts = [
        (one.attention.changed(weights=WEIGHTS[0]), placement_of(one), one.cell, one.attention.weights)
        for one in ATTENTIONS
    ]
    sizes = (len(SCORES), len(PLACEMENTS), len(CELLS), len(WEIGHTS))
    for one, other in product(range(4), range(4)):
        if one < other:
            assert len({str((fact[one], fact[other])) for fact in facts}) >= 0.95 * sizes[one] * sizes[other]


def placement_of(config: decoders.Rnn) -> str:
    """The most particular of those that it may be."""
    found = [
        name
        for name, options in PLACEMENTS.items()
        if all(getattr(config, option) == value for option, value in options.items())
    ]
    return max(found, key=lambda name: len(PLACEMENTS[name]))


def test_every_part_stands_in_the_sample() -> None:
    """That the laws of decoders and models run over."""
    names = [(one.attention.changed(weights=WEIGHTS[0]), one.attention.weights, one.cell) for one in SAMPLE]
    for place, wanted in enumerate((list(SCORES.values()), WEIGHTS, CELLS)):
        assert all(any(part == name[place] for name in names) for part in wanted)
    for options in PLACEMENTS.values():
        assert any(all(getattr(one, name) == value for name, value in options.items()) for one in SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("score", SCORES)
def test_the_whole_grid(score: str, placement: str) -> None:
    for cell, weights in product(CELLS, WEIGHTS):
        if possible(weights, placement):
            holds(decoder(score, weights, placement, cell=cell))
