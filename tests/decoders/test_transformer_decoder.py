"""Paths through slots: whatever a search does to its rows, it is as if every row had been computed by itself."""

import random
from functools import partial

import pytest
import torch
from torch import Tensor

from dragoman import decoders, encoders, frontends
from dragoman.contracts import Batch, Hypothesis, Padded, Request, State, Step
from dragoman.decoders import transformer
from dragoman.decoders.transformer import thinned
from dragoman.models import EncoderDecoder, EncoderDecoderModel, build_model
from dragoman.search import AnySearch, Beam, Exact, Greedy, Sampling, search

START, END, SYMBOLS = 1, 2, 9
SOURCES = [[3, 4, 5, 6, 2], [5, 2], [6, 3, 2], [4, 4, 4, 2]]
NEVER, ALWAYS = 10**9, 1
POSITIONS = ["sinusoidal", "rotary", "learned"]


def model_of(positions: str) -> EncoderDecoderModel:
    """In double precision, with opinions."""
    place = {"kind": positions} | ({"length": 20} if positions == "learned" else {})
    settings = {"heads": 2, "layers": 2, "feed_forward": 7, "positions": place}
    config = EncoderDecoder(
        source=frontends.Tokens(width=4),
        target=frontends.Tokens(width=8),
        encoder=encoders.Transformer(**settings),
        decoder=decoders.Transformer(**settings),
    )
    model = build_model(config, 7, SYMBOLS).double().eval()
    model.head.output.weight.data.mul_(3)
    return model


def sources_of(lines: list[int]) -> Batch:
    longest = max(len(SOURCES[line]) for line in lines)
    values = torch.tensor([SOURCES[line] + [0] * (longest - len(SOURCES[line])) for line in lines])
    return Batch(tuple(lines), {"source": Padded(values, values != 0)})


class Recomputed:
    """The same model without a cache: the state holds symbols, and each step feeds all of them from the start."""

    def __init__(self, model: EncoderDecoderModel) -> None:
        self.model = model

    def begin(self, batch: Batch) -> State:
        source = batch.sources["source"]
        nothing = source.values.new_zeros(len(source.values), 0)
        return State({"symbols": nothing}, {"source": source.values, "mask": source.mask})

    def step(self, last: Tensor, state: State) -> Step:
        symbols = torch.cat([state.moving["symbols"], last[:, None]], 1)
        each = len(symbols) // len(state.fixed["source"])
        values, mask = (state.fixed[name].repeat_interleave(each, 0) for name in ("source", "mask"))
        first = self.model.begin(Batch(tuple(range(len(values))), {"source": Padded(values, mask)}))
        logs, _ = self.model.logs(symbols, first)
        return Step(logs[:, -1], State({"symbols": symbols}, state.fixed))


def answers(
    model: EncoderDecoderModel | Recomputed, config: AnySearch, n_best: int, prefix: list[list[int]] | None = None
) -> list[list[Hypothesis]]:
    lines = list(range(len(SOURCES)))
    state = model.begin(sources_of(lines))
    begun: dict[str, Tensor] = {}
    if prefix is not None:
        begun = {"prefix": torch.tensor(prefix), "prefix_total": torch.zeros(len(lines), dtype=torch.float64)}
        fed = torch.tensor([[START, *row[:-1]] for row in prefix])
        if isinstance(model, Recomputed):
            state = State({"symbols": fed}, state.fixed)
        else:
            _, state = model.logs(fed, state)  # in one run, as a pipeline does
    limits = torch.tensor([12, 9, 11, 12])
    request = Request(torch.full((4,), START), END, limits, forbidden=(0, START), lines=torch.tensor(lines), **begun)
    with torch.no_grad():
        return search(config, model.step, state, request, n_best)


def same(one: list[list[Hypothesis]], other: list[list[Hypothesis]]) -> bool:
    pairs = [(a, b) for mine, yours in zip(one, other, strict=True) for a, b in zip(mine, yours, strict=True)]
    return all((a.tokens, a.finished) == (b.tokens, b.finished) and abs(a.total - b.total) < 1e-9 for a, b in pairs)


SEARCHES: dict[str, tuple[AnySearch, int]] = {
    "greedy": (Greedy(), 1),
    "beam": (Beam(width=3), 3),
    "wide beam": (Beam(width=40), 20),
    "groups": (Beam(width=6, groups=3), 4),
    "sampling": (Sampling(seed=3, temperature=0.9), 7),
    "exact": (Exact(budget=10), 2),
}


@pytest.mark.parametrize("crowded", [ALWAYS, transformer.CROWDED, NEVER], ids=["always", "as it is", "never"])
@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("positions", POSITIONS)
def test_a_search_finds_what_it_would_without_a_cache(
    monkeypatch: pytest.MonkeyPatch, positions: str, name: str, crowded: int
) -> None:
    """However soon slots are thrown away that no row needs."""
    monkeypatch.setattr(transformer, "CROWDED", crowded)
    model = model_of(positions)
    assert same(answers(model, *SEARCHES[name]), answers(Recomputed(model), *SEARCHES[name]))


@pytest.mark.parametrize("crowded", [ALWAYS, NEVER], ids=["always", "never"])
@pytest.mark.parametrize("name", ["greedy", "beam", "wide beam", "sampling"])
@pytest.mark.parametrize("positions", POSITIONS)
def test_a_forced_prefix(monkeypatch: pytest.MonkeyPatch, positions: str, name: str, crowded: int) -> None:
    monkeypatch.setattr(transformer, "CROWDED", crowded)
    model, prefix = model_of(positions), [[3, 4, 5], [7, 7, 8], [4, 3, 3], [8, 5, 6]]
    found = answers(model, *SEARCHES[name], prefix)
    assert same(found, answers(Recomputed(model), *SEARCHES[name], prefix))
    assert all(list(one.tokens[:3]) == begun for each, begun in zip(found, prefix, strict=True) for one in each)


def test_wide_beams_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the tests above would show nothing."""
    slots: dict[int, list[int]] = {}
    for crowded in (ALWAYS, NEVER):
        monkeypatch.setattr(transformer, "CROWDED", crowded)
        model, sizes = model_of("sinusoidal"), slots.setdefault(crowded, [])

        def watched(last: Tensor, state: State, model: EncoderDecoderModel, sizes: list[int]) -> Step:
            taken = EncoderDecoderModel.step(model, last, state)
            sizes.append(taken.state.grown["0"].shape[2])
            return taken

        model.step = partial(watched, model=model, sizes=sizes)
        answers(model, Beam(width=20), 20)
    assert all(few <= many for few, many in zip(slots[ALWAYS], slots[NEVER], strict=True))
    assert slots[ALWAYS][-1] < slots[NEVER][-1]


@pytest.mark.parametrize("crowded", [ALWAYS, 2, NEVER], ids=["always", "sometimes", "never"])
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("seed", range(5))
def test_rows_and_sentences_in_any_order(
    monkeypatch: pytest.MonkeyPatch, positions: str, seed: int, crowded: int
) -> None:
    """Select, keep and pieces of several symbols, drawn at random; each row is then run by itself, all at once."""
    monkeypatch.setattr(transformer, "CROWDED", crowded)
    model, draw = model_of(positions), random.Random(seed)
    sentences, rows = [0, 1, 2, 3], [(line, []) for line in range(4)]
    state = model.begin(sources_of(sentences))
    for _ in range(6):
        length = draw.choice([1, 1, 2, 3])
        new = [[draw.randrange(3, SYMBOLS) for _ in range(length)] for _ in rows]
        rows = [(line, [*symbols, *more]) for (line, symbols), more in zip(rows, new, strict=True)]
        logs, state = model.logs(torch.tensor(new), state)
        for (line, symbols), found in zip(rows, logs, strict=True):
            expected, _ = model.logs(torch.tensor([symbols]), model.begin(sources_of([line])))
            torch.testing.assert_close(found, expected[0, -length:])
        kept = sorted(draw.sample(range(len(sentences)), max(1, len(sentences) - draw.choice([0, 0, 1]))))
        each, width = len(rows) // len(sentences), draw.randint(1, 4)
        order = [place * each + draw.randrange(each) for place in kept for _ in range(width)]
        if len(kept) < len(sentences) or draw.random() < 0.5:
            state = state.keep(torch.tensor(kept), torch.tensor(order))
        else:
            state = state.select(torch.tensor(order))
        sentences, rows = [sentences[place] for place in kept], [rows[row] for row in order]


def test_slots_that_stay_by_hand() -> None:
    """Of six slots the first sentence's rows need 0, 3 and 4, the second's 1, 2, 4 and 5: four stay, in their order."""
    path = torch.tensor([[0, 3], [0, 4], [1, 4], [2, 5]])
    past = torch.arange(6.0).view(1, 1, 6, 1, 1).expand(2, 3, 6, 2, 5).clone()
    fewer, [kept] = thinned(path, [past])
    assert fewer.tolist() == [[0, 1], [0, 2], [0, 2], [1, 3]]
    assert kept.shape == (2, 3, 4, 2, 5)
    assert kept[0, 0, :3, 0, 0].tolist() == [0, 3, 4]  # the fourth is on nobody's path
    assert kept[1, 2, :, 1, 4].tolist() == [1, 2, 4, 5]
