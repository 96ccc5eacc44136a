"""What holds for every language model: a decoder alone, of any kind."""

import pytest
import torch
from model_parts import CELLS, STACKS, TRANSFORMER, close, tolerance_of, without_gradient
from torch import Tensor

from dragoman import decoders, frontends
from dragoman.contracts import Batch, Padded, Request, Streams, Target
from dragoman.models import DecoderOnly, DecoderOnlyModel, build_model
from dragoman.nn.attention import NoAttention
from dragoman.objectives import CrossEntropy, build_objective
from dragoman.regimes import Teacher, build_regime, go_on, teacher
from dragoman.search import Beam, Exact, Greedy, search
from dragoman.training.learner import Learner

SYMBOLS = 8
RECURRENT = [
    decoders.Rnn(attention=NoAttention(), bridge="copy", width=6, dropout=0.3, **options)
    for options in [
        *({"cell": cell, "layers": 2, "readout": "none"} for cell in CELLS),
        {"cell": "gru", "readout_width": 4, "variational": True},
        {"cell": "lstm", "layers": 2, "readout_width": 4, "residual": True, "input_feeding": True},
    ]
]
TRANSFORMERS = [decoders.Transformer(**(TRANSFORMER | options)) for options in STACKS.values()]
MODELS = [
    DecoderOnly(target=frontends.Tokens(width=4), decoder=decoder, context=5, tie="none" if number % 2 else "target")
    if isinstance(decoder, decoders.Transformer)
    else DecoderOnly(target=frontends.Tokens(width=4), decoder=decoder, context=5)
    for number, decoder in enumerate([*RECURRENT, *TRANSFORMERS])
]
NGRAMS = frontends.RecentNgrams(longest=4, width=3, buckets=13)
MODELS += [MODELS[number].changed(ngrams=NGRAMS) for number in (3, 4, len(RECURRENT))]
every_model = pytest.mark.parametrize("config", MODELS, ids=lambda config: config.decoder.kind)
recurrent = pytest.mark.parametrize(
    "config", [one for one in MODELS if one.decoder.kind == "rnn"], ids=lambda config: config.decoder.cell
)


def model_of(config: DecoderOnly) -> DecoderOnlyModel:
    model = build_model(config, SYMBOLS, SYMBOLS).eval()
    assert isinstance(model, DecoderOnlyModel)
    return model


def windows(outputs: Tensor, before: int = 2, streams: Streams | None = None) -> Batch:
    """Windows of equal length behind one symbol."""
    inputs = torch.cat([torch.full_like(outputs[:, :1], before), outputs[:, :-1]], 1)
    mask = torch.ones_like(outputs, dtype=torch.bool)
    target = Target(Padded(inputs, mask), Padded(outputs, mask), torch.arange(outputs.numel()))
    return Batch(tuple(range(len(outputs))), {}, target, streams=streams)


def some_windows(rows: int = 3, steps: int = 5) -> Tensor:
    return torch.randint(3, SYMBOLS, (rows, steps))


@every_model
@pytest.mark.parametrize("cut", [[1, 1, 1, 1, 1], [2, 3], [1, 4]], ids=str)
def test_any_cut_of_a_text_gives_the_same_result(config: DecoderOnly, cut: list[int]) -> None:
    model, batch = model_of(config), windows(some_windows())
    inputs = batch.truth().inputs.values
    whole, _ = model.logs(inputs, model.begin(batch))
    state, pieces = model.begin(batch), []
    for piece in inputs.split(cut, 1):
        logs, state = model.logs(piece, state)
        pieces.append(logs)
    close(torch.cat(pieces, 1), whole, tolerance_of(config))


@pytest.mark.parametrize("cut", [[1] * 9, [7, 2], [3, 3, 3]], ids=str)
@pytest.mark.parametrize("positions", ["rotary", "sinusoidal"])
def test_a_text_beyond_the_context_is_seen_up_to_it(positions: str, cut: list[int]) -> None:
    """One layer, which sees 4 symbols: any cut gives the same result, and what stands further back changes nothing."""
    decoder = decoders.Transformer(**(TRANSFORMER | {"layers": 1, "positions": {"kind": positions}}))
    model = model_of(DecoderOnly(target=frontends.Tokens(width=4), decoder=decoder, context=4))
    batch = windows(some_windows(3, 9))
    inputs = batch.truth().inputs.values
    whole, _ = model.logs(inputs, model.begin(batch))
    state, pieces = model.begin(batch), []
    for piece in inputs.split(cut, 1):
        logs, state = model.logs(piece, state)
        pieces.append(logs)
    close(torch.cat(pieces, 1), whole, 1e-5)
    with torch.inference_mode():
        close(model.logs(inputs, model.begin(batch))[0], whole, 1e-5)
    other = inputs.clone()
    other[:, 3] = (other[:, 3] - 2) % (SYMBOLS - 3) + 3
    changed, _ = model.logs(other, model.begin(batch))
    assert torch.equal(changed[:, :3], whole[:, :3])
    assert not torch.isclose(changed[:, 3:7], whole[:, 3:7]).all(2).any()
    close(changed[:, 7:], whole[:, 7:], 1e-6)
    if positions == "rotary":  # only distances are known, so that a window is the same wherever it stands
        alone, _ = model.logs(inputs[:, 5:9], model.begin(batch))
        close(alone[:, -1], whole[:, -1], 1e-5)


@every_model
def test_a_changed_future_changes_nothing_before_it(config: DecoderOnly) -> None:
    """To the last bit: nothing of it is computed with."""
    model, outputs = model_of(config), some_windows()
    other = outputs.clone()
    other[:, 2:] = (other[:, 2:] - 2) % (SYMBOLS - 3) + 3
    one, two = (teacher(model, windows(each)).hidden for each in (outputs, other))
    assert torch.equal(one[:, :3], two[:, :3])  # the third symbol is fed at the fourth step
    assert not torch.equal(one[:, 3:], two[:, 3:])


@every_model
def test_a_batch_equals_its_rows(config: DecoderOnly) -> None:
    model, outputs = model_of(config), some_windows()
    together = teacher(model, windows(outputs)).hidden
    for row in range(len(outputs)):
        close(together[row : row + 1], teacher(model, windows(outputs[row : row + 1])).hidden, tolerance_of(config))


@every_model
def test_every_parameter_gets_a_gradient(config: DecoderOnly) -> None:
    learner = Learner(model_of(config).train(), build_regime(Teacher()), build_objective(CrossEntropy()))
    learner(windows(some_windows()), 1)["cross_entropy"].total.backward()
    assert without_gradient(learner) == []


@every_model
def test_quick_steps_are_those_of_modules(config: DecoderOnly) -> None:
    model, batch = model_of(config), windows(some_windows())
    inputs = batch.truth().inputs.values
    modules, _ = model.decode(inputs, model.begin(batch), attention=True)
    with torch.inference_mode():
        quick, _ = model.decode(inputs, model.begin(batch))
    close(modules.hidden.detach(), quick.hidden, tolerance_of(config))
    assert set(modules.attention) == (
        {f"target.{layer}" for layer in range(1, config.decoder.layers + 1)}
        if config.decoder.kind == "transformer"
        else set()
    )


@every_model
@torch.inference_mode()
def test_searches_agree(config: DecoderOnly) -> None:
    """A beam of one is greedy search, and a beam that holds everything is exact."""
    model, batch = model_of(config), windows(some_windows(2))
    request = Request(torch.tensor([2, 2]), 3, torch.tensor([3, 3]), forbidden=(0, 1, 2))

    def found(kind: object) -> list[tuple[int, ...]]:
        return [one[0].tokens for one in search(kind, model.step, model.begin(batch), request, 1)]

    assert found(Beam(width=1, normalisation="none")) == found(Greedy())
    assert found(Beam(width=200, normalisation="none")) == found(Exact(normalisation="none"))


@recurrent
def test_windows_with_a_carried_state_are_one_long_text(config: DecoderOnly) -> None:
    """Three windows one behind the other, and the same symbols in one run."""
    model, outputs = model_of(config), some_windows(3, 12)
    whole = teacher(model, windows(outputs)).hidden
    inputs, carry, hidden = windows(outputs).truth().inputs.values, {}, []
    for number, (fed, expected) in enumerate(zip(inputs.split(4, 1), outputs.split(4, 1), strict=True)):
        batch = windows(expected, streams=Streams(0, begins=number == 0))
        batch.truth().inputs.values.copy_(fed)
        output, carry = go_on(model, batch, carry)
        hidden.append(output.hidden)
    close(torch.cat(hidden, 1), whole)


@recurrent
def test_streams_may_be_run_in_parts(config: DecoderOnly) -> None:
    """As where memory runs out: rows 0 and 1, then row 2, each in its own state."""
    model, first, second = model_of(config), some_windows(3, 4), some_windows(3, 4)
    _, carry = go_on(model, windows(first, streams=Streams(0, begins=True)), {})
    whole, after = go_on(model, windows(second, streams=Streams(0, begins=False)), carry)
    parts = []
    for start, end in ((0, 2), (2, 3)):
        output, carry = go_on(model, windows(second[start:end], streams=Streams(start, begins=False)), carry)
        parts.append(output.hidden)
    close(torch.cat(parts), whole.hidden)
    for name, value in after.items():
        close(carry[name], value)


@recurrent
def test_a_stream_that_begins_forgets_what_was_carried(config: DecoderOnly) -> None:
    model, outputs = model_of(config), some_windows(2, 4)
    fresh, carry = go_on(model, windows(outputs, streams=Streams(0, begins=True)), {})
    again, _ = go_on(model, windows(outputs, streams=Streams(0, begins=True)), carry)
    on, _ = go_on(model, windows(outputs, streams=Streams(0, begins=False)), carry)
    assert torch.equal(fresh.hidden, again.hidden)
    assert not torch.equal(fresh.hidden, on.hidden)


@recurrent
def test_no_gradient_runs_into_the_window_before(config: DecoderOnly) -> None:
    model = model_of(config).train()
    _, carry = go_on(model, windows(some_windows(), streams=Streams(0, begins=True)), {})
    assert carry
    assert not any(value.requires_grad or name.startswith("kept") for name, value in carry.items())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"decoder": {"kind": "rnn", "attention": {"kind": "dot"}}}, "has no source to look at"),
        ({"decoder": {"kind": "rnn", "bridge": "linear"}}, "set decoder.attention.kind = 'none' and"),
        ({"carry": "state"}, "carry = 'state' is for recurrent layers"),
        (
            {"context": 65, "decoder": {"kind": "transformer", "positions": {"kind": "learned", "length": 64}}},
            "context = 65 needs as many positions, and decoder.positions.length is 64",
        ),
    ],
)
def test_settings_that_contradict_one_another(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        DecoderOnly(**options)


def test_recurrent_layers_need_no_more_than_their_name() -> None:
    decoder = DecoderOnly(decoder={"kind": "rnn", "cell": "lstm"}, carry="state").decoder
    assert (decoder.attention.kind, decoder.bridge) == ("none", "copy")


def test_vectors_that_cannot_be_tied_are_told() -> None:
    config = DecoderOnly(target=frontends.Tokens(width=4), decoder=RECURRENT[0], tie="target")
    with pytest.raises(Exception, match=r"set model.target.width = 6, not 4"):
        model_of(config)
