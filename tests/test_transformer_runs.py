"""The Transformer from the command line: trained, asked, averaged; what cannot be is said before it begins."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from command_line import CommandLine
from dragoman import load
from dragoman.config import parse_overrides, validate
from dragoman.contracts import Hypothesis
from dragoman.errors import ConfigError
from dragoman.experiment import Experiment
from dragoman.models import build_model
from dragoman.pipeline.rows import Row
from dragoman.recipes import compose
from dragoman.runs import Run
from dragoman.weights import read_tensors
from tiny import TRANSFORMER, Corpus, run_all, tiny, words

LEARNED = {
    "model__encoder__positions__kind": "learned",
    "model__encoder__positions__length": 20,
    "model__decoder__positions__kind": "one_hot",
    "model__decoder__positions__length": 15,
    "limits__source": 19,
    "limits__answer": 15,
    "data__max_source_length": 19,
    "data__max_target_length": 14,
}
SHARED = {"target__kind": "shared", "model__tie": "all", "training__steps": 8}


@pytest.fixture(scope="module")
def trained(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory, dragoman: CommandLine) -> Path:
    """One vocabulary, one table, positions that end; averaged."""
    out = tmp_path_factory.mktemp("transformer") / "run"
    done = dragoman(*words(corpus, out, **TRANSFORMER | LEARNED | SHARED | {"training__average": 0.9}))
    assert done.code == 0, done.err
    return out


def test_nothing_to_compile_is_said_before_training(corpus: Corpus, tmp_path: Path, dragoman: CommandLine) -> None:
    done = dragoman(*words(corpus, tmp_path / "run", training__compile=True))
    assert done.code == 2
    assert "training.compile is for the layers of a Transformer" in done.err


def test_no_compiler_is_said_before_training(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ConfigError, match="'no-such-compiler' is not there"):
        run_all(tiny(corpus, **TRANSFORMER | {"training__compile": True}), tmp_path / "run")


def test_layers_of_a_transformer_are_compiled_and_no_others() -> None:
    one = build_model(compose("vaswani2017", "tiny").settings.model, 9, 9)
    other = build_model(compose("g2p", "tiny").settings.model, 9, 9)
    for model in (one, other):
        model.compile_layers()
    compiled = [part for part in one.modules() if part._compiled_call_impl is not None]
    assert compiled == [*one.encoder.layers, *one.decoder.layers]
    assert all(part._compiled_call_impl is None for part in other.modules())


@pytest.mark.slow
def test_compiled_layers_learn_the_same(corpus: Corpus, tmp_path: Path, dragoman: CommandLine) -> None:
    """Without dropout, whose dice are thrown otherwise; in a process where no shapes are checked, as checks cannot be
    compiled."""
    losses = []
    for compiled in (False, True):
        own = TRANSFORMER | {name: 0.0 for name in TRANSFORMER if name.endswith("dropout")}
        own |= {"training__steps": 4, "training__log_every": 1, "training__compile": compiled}
        done = dragoman(*words(corpus, tmp_path / str(compiled), **own))
        assert done.code == 0, done.err
        lines = map(json.loads, Run(tmp_path / str(compiled)).metrics.read_text("utf-8").splitlines())
        losses.append([line["loss"] for line in lines if "loss" in line])
    assert len(losses[0]) == 4
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


def test_trained_and_asked(trained: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", trained, "--beam", 3, "--n-best", 2, "--alignments", stdin="abc\n\ngfgf\n")
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 3
    pipeline = load(trained, device="cpu")
    assert pipeline.model.head.output.weight is pipeline.model.source.embedding.weight
    for answer in pipeline.predict(["abc", "gfgf"], beam=3, n_best=3):
        assert len({prediction.tokens for prediction in answer.predictions}) == 3
        assert all(sum(row) == pytest.approx(1, abs=1e-5) for row in answer.alignment)


def test_what_is_tied_is_written_once(trained: Path) -> None:
    for file in (trained / "model/model.safetensors", trained / "checkpoints/step-8/model.safetensors"):
        names = set(read_tensors(file))
        assert "source.embedding.weight" in names
        assert names.isdisjoint({"target.embedding.weight", "head.output.weight"})


def test_averaged_afterwards(trained: Path, dragoman: CommandLine) -> None:
    done = dragoman("average", trained)
    assert done.code == 0, done.err
    assert dragoman("predict", trained / "averaged", stdin="abc\n").code == 0
    steps = [read_tensors(trained / f"checkpoints/step-{step}/model.safetensors") for step in (5, 8)]
    for name, mean in read_tensors(trained / "averaged/model.safetensors").items():
        torch.testing.assert_close(mean, (steps[0][name] + steps[1][name]) / 2)


def test_a_line_of_any_length_is_answered(trained: Path) -> None:
    """The last position is used, and no further one is asked for: 19 symbols and END, 15 of an answer."""
    pipeline = load(trained, device="cpu").changed(["limits.ratio=100", "limits.least=15"])
    for policy in ("cut", "split"):
        for answer in pipeline.predict(["abcdefg" * 9, "a" * 19, "b"], longer=policy):
            assert answer.text


def test_an_answer_that_did_not_end_is_looked_into_up_to_the_last_position(trained: Path) -> None:
    pipeline = load(trained, device="cpu")
    symbols = tuple(4 + number % 3 for number in range(15))
    open_end, ended = Hypothesis(symbols, 0.0, 0.0, finished=False), Hypothesis(symbols[:14], 0.0, 0.0, finished=True)
    with torch.inference_mode():
        [[alone]] = pipeline.replay([Row([5], "a", 0)], [[open_end]])
        [[one, other]] = pipeline.replay([Row([5], "a", 0)], [[open_end, ended]])
    assert alone.log_probabilities.shape == (15,)
    torch.testing.assert_close(one.log_probabilities, alone.log_probabilities)
    torch.testing.assert_close(other.log_probabilities[:14], alone.log_probabilities[:14])
    assert alone.weights is not None
    assert alone.weights.shape == (15, 2)


def test_more_than_there_are_positions_is_refused_when_asking(trained: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", trained, "limits.answer=5000", stdin="abc\n")
    assert done.code == 2
    assert done.out == ""
    assert (
        "limits.answer = 5000 lets through more than model.decoder.positions.length = 15: 5000 positions are needed, "
        "for 5000 symbols. Set limits.answer = 15 at most, or train with model.decoder.positions.length = 5000 or "
        "more, or with sinusoidal or rotary positions, which have no end."
    ) in " ".join(done.err.split())
    assert "Traceback" not in done.err
    with pytest.raises(
        ConfigError, match=r"limits.source = 20 lets .* 21 positions are needed, for 20 symbols and END"
    ):
        load(trained, device="cpu").changed(["limits.source=20"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"limits.source": 20}, "limits.source = 20 lets through more than model.encoder.positions.length = 20: 21"),
        ({"limits.answer": 16}, "limits.answer = 16 lets through more than model.decoder.positions.length = 15: 16"),
        (
            {"data.max_source_length": 20},
            "data.max_source_length = 20 lets through more than model.encoder.positions.length = 20: 21 positions are "
            "needed, for 20 symbols and END. Set data.max_source_length = 19 at most, or train with "
            "model.encoder.positions.length = 21 or more, or with sinusoidal or rotary positions, which have no end.",
        ),
        (
            {"data.max_target_length": 15},
            "data.max_target_length = 15 lets through more than model.decoder.positions.length = 15: 16 positions are "
            "needed, for 15 symbols and START. Set data.max_target_length = 14 at most",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_positions_are_enough_for_all_that_is_let_through(change: dict[str, int], said: str) -> None:
    """One more than there are is refused, and as many as there are is not."""
    dotted = {name.replace("__", "."): value for name, value in (TRANSFORMER | LEARNED).items()}

    def settings(**some: Any) -> Experiment:
        document = parse_overrides([f"{name}={value}" for name, value in (dotted | some).items()])
        return validate(Experiment, document.table, document)

    with pytest.raises(ConfigError) as raised:
        settings(**change)
    assert str(raised.value).startswith(said)
    assert settings().limits.answer == 15
    waves = {f"model.{part}.positions": "{kind = 'sinusoidal'}" for part in ("encoder", "decoder")}
    plain = {name: value for name, value in dotted.items() if "positions" not in name}
    document = parse_overrides([f"{name}={value}" for name, value in (plain | waves | change).items()])
    assert validate(Experiment, document.table, document)


def test_training_is_refused_before_it_begins(corpus: Corpus, out: Path, dragoman: CommandLine) -> None:
    done = dragoman(*words(corpus, out, **TRANSFORMER | LEARNED | {"data__max_target_length": 100}))
    assert done.code == 2
    assert "data.max_target_length = 100 lets through more than" in " ".join(done.err.split())
    assert not out.exists()


def test_a_model_that_cannot_be_does_not_bind_the_run(corpus: Corpus, out: Path, dragoman: CommandLine) -> None:
    """The advice of the message, followed in the same folder, helps."""
    done = dragoman(*words(corpus, out, **TRANSFORMER | {"model__tie": "all", "training__steps": 2}))
    assert done.code == 2
    assert "Set target.kind = 'shared' for one vocabulary, or model.tie = 'target'" in " ".join(done.err.split())
    assert not Run(out).has_begun
    assert dragoman(*words(corpus, out, **TRANSFORMER | {"training__steps": 2})).code == 0


def test_the_search_settings_decide_nothing_about_training(corpus: Corpus, out: Path) -> None:
    """Validated by a metric, whose searches grow tables of waves while nothing is learnt."""
    rotary = {f"model__{part}__positions": {"kind": "rotary"} for part in ("encoder", "decoder")}
    own = {"training__monitor": "exact_match", "training__validate_every": 2, "training__steps": 4}
    run_all(tiny(corpus, **TRANSFORMER | rotary | own), out)
    assert load(out, device="cpu").predict("abc").source == "abc"
