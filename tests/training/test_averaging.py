"""Means of weights: moving along with the training, and over checkpoints afterwards."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from command_line import CommandLine
from dragoman.errors import ConfigError, StorageError
from dragoman.pipeline import Pipeline
from dragoman.runs import read_metadata
from dragoman.training.averaging import MovingAverage, average_run, mean_weights
from dragoman.training.events import Stepped, Validated
from dragoman.weights import read_tensors, weight_bytes
from tiny import TRANSFORMER, Corpus, bits, metrics, of_kind, run_all, run_until, state, tiny


def test_the_moving_average_by_hand() -> None:
    """Decays 1/10 and 2/11 while it warms up, then the one that was set."""
    model = nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(1.0)
    average = MovingAverage(model, 0.5)
    expected = 1.0
    for number, (weight, decay) in enumerate([(2.0, 1 / 10), (4.0, 2 / 11), (3.0, 3 / 12)]):
        model.weight.data.fill_(weight)
        average.update(number)
        expected = decay * expected + (1 - decay) * weight
    model.weight.data.fill_(8.0)
    average.update(100)
    expected = (expected + 8) / 2
    assert average.means[0].item() == pytest.approx(expected)
    with average.in_place():
        assert model.weight.item() == pytest.approx(expected)
    assert model.weight.item() == 8.0


@pytest.mark.parametrize("model", [{}, TRANSFORMER], ids=["rnn", "tied transformer"])
def test_the_average_is_measured_and_handed_out_and_the_training_is_the_same(
    corpus: Corpus, tmp_path: Path, model: dict[str, Any]
) -> None:
    plain, averaged = tmp_path / "plain", tmp_path / "averaged"
    run_all(tiny(corpus, **model), plain)
    events = run_all(tiny(corpus, training__average=0.9, **model), averaged)
    with_average, without = bits(averaged, 20), bits(plain, 20)
    assert without.items() <= with_average.items()  # the weights move as ever; the average stands beside them
    extra = {name.removeprefix("optimiser.average.") for name in with_average.keys() - without.keys()}
    served = read_tensors(averaged / "model/model.safetensors")
    assert extra == set(served)
    kept = read_tensors(averaged / "checkpoints/step-20/optimiser.safetensors")
    assert all(torch.equal(tensor, kept[f"average.{name}"]) for name, tensor in served.items())
    assert of_kind(events, Validated)[-1].best
    assert state(averaged, 20)["averaged"] == 20


def test_the_average_is_resumed(corpus: Corpus, tmp_path: Path) -> None:
    settings = tiny(corpus, training__average=0.9)
    run_all(settings, tmp_path / "whole")
    run_until(settings, tmp_path / "broken", lambda event: isinstance(event, Stepped) and event.step == 13)
    run_all(settings, tmp_path / "broken")
    assert bits(tmp_path / "broken", 20) == bits(tmp_path / "whole", 20)
    assert metrics(tmp_path / "broken") == metrics(tmp_path / "whole")


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints of steps 5, 10, 15 and, the best, 20."""
    out = tmp_path_factory.mktemp("averaging") / "run"
    run_all(tiny(corpus), out)
    return out


def weights(run: Path, step: int) -> dict[str, torch.Tensor]:
    return read_tensors(run / f"checkpoints/step-{step}/model.safetensors")


def test_the_mean_of_checkpoints(run: Path, tmp_path: Path) -> None:
    result = average_run(run, steps=[20, 10], out=tmp_path / "mean")
    assert result.steps == (10, 20)
    one, other, mean = weights(run, 10), weights(run, 20), read_tensors(tmp_path / "mean/model.safetensors")
    for name, tensor in mean.items():
        torch.testing.assert_close(tensor, (one[name] + other[name]) / 2)
    recorded = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])["valid"]["loss"]
    assert result.best_loss == pytest.approx(recorded, abs=1e-5)
    assert result.loss != result.best_loss
    assert Pipeline.load(tmp_path / "mean").predict("abc", beam=1).source == "abc"
    assert average_run(run, last=2, out=tmp_path / "mean").steps == (15, 20)  # an earlier mean is overwritten
    assert average_run(run, last=1, out=tmp_path / "one").loss == pytest.approx(recorded, abs=1e-5)


def test_a_mean_knows_its_format_and_its_tokenizers(run: Path, tmp_path: Path) -> None:
    average_run(run, out=tmp_path / "mean")
    found, best = (read_metadata(folder / "model.safetensors") for folder in (tmp_path / "mean", run / "model"))
    names = ("format_version", "source.json", "target.json")
    assert [found[name] for name in names] == [best[name] for name in names]
    assert "value" not in found
    shutil.copy(tmp_path / "mean/target.json", tmp_path / "mean/source.json")
    with pytest.raises(StorageError, match=r"source\.json is damaged, or is not the tokenizer"):
        Pipeline.load(tmp_path / "mean")


def test_a_folder_with_an_odd_name_is_no_checkpoint(run: Path, tmp_path: Path) -> None:
    mine = tmp_path / "run"
    shutil.copytree(run, mine)
    (mine / "checkpoints/step-²").mkdir()
    assert average_run(mine).steps == (5, 10, 15, 20)


def test_the_command(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("average", run)
    assert done.code == 0
    assert f"Mean of steps 5, 10, 15, 20: {run / 'averaged'}" in done.out
    assert "validation loss" in done.out
    assert json.loads(dragoman("average", run, "--json").out)["steps"] == [5, 10, 15, 20]
    assert dragoman("predict", run / "averaged", stdin="abc\n").code == 0
    shown = dragoman("average", "--help").out
    assert shown.index("dragoman average runs/mine --last 5") < shown.index("Average the weights")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--last", "5"], "A mean of 5 checkpoints needs that many"),
        (["--last", "5"], "keeps 4 (steps 5, 10, 15, 20). Train with a larger training.keep"),
        (["--last", "0"], "--last must be at least 1, not 0"),
        (["--steps", "10,11"], "There is no checkpoint of step 11"),
        (["--steps", "ten"], "not 'ten'"),
        (["--steps", "10", "--last", "2"], "--last or --steps, not both"),
    ],
)
def test_mistakes_get_sentences(run: Path, dragoman: CommandLine, options: list[str], said: str) -> None:
    done = dragoman("average", run, *options)
    assert done.code == 2
    assert said in done.err


def test_what_is_no_mean_is_not_overwritten(run: Path, tmp_path: Path) -> None:
    before = (run / "model/model.safetensors").read_bytes()
    with pytest.raises(ConfigError, match="holds the best model of the run"):
        average_run(run, out=run / "model")
    assert (run / "model/model.safetensors").read_bytes() == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes").touch()
    with pytest.raises(ConfigError, match="which is not overwritten"):
        average_run(run, out=tmp_path / "mine")
    with pytest.raises(ConfigError, match="is no run with checkpoints"):
        average_run(tmp_path / "mine")


def test_damage_and_other_shapes_are_refused(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "run"
    shutil.copytree(run, mine)
    file = mine / "checkpoints/step-15/model.safetensors"
    file.write_bytes(weight_bytes({name: tensor[:1] for name, tensor in weights(run, 15).items()}))
    with pytest.raises(StorageError, match=r"step-15 cannot be averaged: model\.safetensors has changed"):
        average_run(mine)
    monkeypatch.setattr("dragoman.training.averaging.find_damage", lambda folder: None)
    with pytest.raises(StorageError, match=r"cannot be averaged with .*should have shape"):
        mean_weights([mine / "checkpoints/step-10", mine / "checkpoints/step-15"])
