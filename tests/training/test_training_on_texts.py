"""Language models: the same bits after any interruption, the carried state too, and numbers that are right."""

import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from command_line import CommandLine
from dragoman.data.collate import collate_sources
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.texts import read_texts
from dragoman.data.tokenizers import Bytes, train_tokenizer
from dragoman.data.windows import BLOCK, Packing, build_windows, symbols_of
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.texts import evaluate_text
from dragoman.experiment import train
from dragoman.pipeline import Pipeline
from dragoman.recipes import compose
from dragoman.regimes import go_on
from dragoman.training.events import Finished, Prepared, Resumed, Saved, Skipped, Stepped, Validated, Warned
from dragoman.training.update import update
from dragoman.weights import read_tensors
from texts import Books, command, small, written
from tiny import bits, metrics, of_kind, run_all, run_until, state

RECIPES = ("gpt", "zaremba2014")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Books:
    return written(tmp_path_factory.mktemp("books"))


@pytest.fixture(scope="module", params=RECIPES)
def undisturbed(request: pytest.FixtureRequest, books: Books, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty steps without a break."""
    out = tmp_path_factory.mktemp(request.param) / request.param
    run_all(small(books, request.param), out)
    return out


@pytest.mark.parametrize("step", [1, 5, 9, 12, 20])
def test_a_crash_leaves_no_trace(books: Books, undisturbed: Path, out: Path, step: int) -> None:
    settings = small(books, undisturbed.name)
    run_until(settings, out, lambda event: isinstance(event, Stepped) and event.step == step)
    events = run_all(settings, out)
    assert of_kind(events, Resumed) == [Resumed((step - 1) // 5 * 5)]
    assert bits(out, 20) == bits(undisturbed, 20)
    assert state(out, 20) == state(undisturbed, 20)
    assert metrics(out) == metrics(undisturbed)
    assert (out / "model/model.safetensors").read_bytes() == (undisturbed / "model/model.safetensors").read_bytes()


def test_the_carried_state_is_part_of_the_checkpoint(books: Books, out: Path) -> None:
    """Two LSTM layers of width 8 in 4 streams; before the first update nothing is carried."""
    run_all(small(books, "zaremba2014", training__steps=5), out)
    shapes = {
        name: tuple(tensor.shape)
        for name, tensor in read_tensors(out / "checkpoints/step-5/optimiser.safetensors").items()
        if name.startswith("carry.")
    }
    assert shapes == {"carry.hidden": (4, 2, 8), "carry.cell": (4, 2, 8)}
    run_until(small(books, "zaremba2014"), out.with_name("new"), lambda event: event == Saved(0))
    assert not any("carry" in name for name in bits(out.with_name("new"), 0))


def test_without_its_state_a_run_goes_on_otherwise(books: Books, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests above would not notice if nothing were carried."""
    run_all(small(books, "zaremba2014"), out)
    forgetful = out.with_name("forgetful")
    monkeypatch.setattr("dragoman.training.learner.go_on", lambda model, batch, carry: go_on(model, batch, {}))
    run_all(small(books, "zaremba2014"), forgetful)
    assert bits(out, 20) != bits(forgetful, 20)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_random_moments(books: Books, tmp_path: Path, dragoman: CommandLine, recipe: str, kills: int) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    settings = {"training__steps": 150 * kills, "training__save_every": 20, "training__validate_every": 50}
    assert dragoman(*command(books, whole, recipe, **settings)).code == 0
    moments = random.Random(7)
    for number in range(kills):
        process = dragoman.start(*command(books, broken, recipe, **settings))
        deadline, before = time.monotonic() + 30, set(broken.glob("checkpoints/step-*"))
        while number % 2 and set(broken.glob("checkpoints/step-*")) <= before:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.3))
        os.kill(process, signal.SIGKILL)
        assert dragoman.wait().code == -signal.SIGKILL
    assert dragoman(*command(books, broken, recipe, **settings)).code == 0
    assert bits(broken, 150 * kills) == bits(whole, 150 * kills)
    assert metrics(broken) == metrics(whole)


@pytest.mark.parametrize("recipe", RECIPES)
def test_batches_in_parts_give_the_same_training(books: Books, tmp_path: Path, recipe: str) -> None:
    """As where memory runs out; rounding differs, so the last bits may."""
    settings = small(books, recipe, model__decoder__dropout=0.0, training__steps=6)
    run_all(settings, tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dragoman.training.fit.update", lambda *given, parts, **named: update(*given, parts=2, **named))
        run_all(settings, tmp_path / "parts")
    one, two = (read_tensors(tmp_path / name / "checkpoints/step-6/model.safetensors") for name in ("whole", "parts"))
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=1e-4, atol=1e-5)
    carried = [
        read_tensors(tmp_path / name / "checkpoints/step-6/optimiser.safetensors") for name in ("whole", "parts")
    ]
    for name in carried[0]:
        if name.startswith("carry."):
            torch.testing.assert_close(carried[1][name], carried[0][name], rtol=1e-4, atol=1e-5)


def test_an_update_that_is_not_finite_is_not_carried(books: Books, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of a broken update would break all that follow."""
    carries = []

    def broken(learner, *arguments, step: int, **named):
        if step == 3:
            learner.carry = {name: torch.full_like(value, float("nan")) for name, value in learner.carry.items()}
        found = update(learner, *arguments, step=step, **named)
        carries.append(dict(learner.carry))
        return found

    monkeypatch.setattr("dragoman.training.fit.update", broken)
    events = run_all(small(books, "zaremba2014", training__steps=6), out)
    assert [event.step for event in of_kind(events, Skipped)] == [3]
    assert carries[2] == {}
    assert all(value.isfinite().all() for carry in carries[3:] for value in carry.values())


def test_the_loss_is_over_every_window(books: Books, undisturbed: Path) -> None:
    """Symbol by symbol: a Transformer sees its own window alone, and a state goes on to the end of its stream."""
    pipeline = Pipeline.load(undisturbed)
    model, settings = pipeline.model, pipeline.settings.model
    documents = books.valid.read_text().strip("\n").split("\n\n")
    outputs = [symbol for row in symbols_of(pipeline.target, documents) for symbol in [*row, 3]]
    inputs = [2, *(2 if symbol == 3 else symbol for symbol in outputs[:-1])]
    size = settings.context
    starts = list(range(0, len(outputs), size))
    if settings.carry == "state":  # 16 streams of windows
        parts = np.array_split(np.array(starts), 16)
        starts = [int(part[0]) for part in parts]
    total = 0.0
    for start, end in zip(starts, [*starts[1:], len(outputs)], strict=True):
        fed, expected = torch.tensor([inputs[start:end]]), torch.tensor([outputs[start:end]])
        with torch.inference_mode():
            logs, _ = model.logs(fed, model.begin(collate_sources([[]])))
        total += logs.gather(2, expected[:, :, None]).sum().item()
    found = {value.name: value for value in evaluate_text(pipeline, [str(books.valid)]).metrics}
    assert found["loss"].value == pytest.approx(-total / len(outputs), rel=1e-5)
    assert found["perplexity"].value == pytest.approx(np.exp(-total / len(outputs)), rel=1e-5)
    characters = sum(map(len, documents))
    assert found["bits_per_character"].value == pytest.approx(-total / np.log(2) / characters, rel=1e-5)
    assert found["loss"].low < found["loss"].value < found["loss"].high
    told = [record["valid"] for record in metrics(undisturbed) if record.get("best")][-1]
    assert told["loss"] == pytest.approx(found["loss"].value, rel=1e-5)


def test_it_learns(books: Books, out: Path) -> None:
    """Four lines again and again: nearly everything but the next line can be known."""
    settings = {"training__steps": 300, "training__validate_every": 300, "model__decoder__dropout": 0.0}
    events = run_all(small(books, training__optimiser__rate=0.01, **settings), out)
    assert of_kind(events, Validated)[-1].values["loss"] < 0.8


def test_windows_do_not_change_when_a_run_goes_on(books: Books, undisturbed: Path, out: Path) -> None:
    run_until(small(books, undisturbed.name), out, lambda event: event == Saved(10))
    before = {path: path.stat().st_mtime_ns for path in (out / "data").rglob("*") if path.is_file()}
    events = run_all(small(books, undisturbed.name), out)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert of_kind(events, Warned) == []
    assert of_kind(events, Finished)[-1].step == 20
    assert bits(out, 20) == bits(undisturbed, 20)


def test_damaged_windows_are_made_again(books: Books, undisturbed: Path, out: Path) -> None:
    settings = small(books, undisturbed.name)
    run_until(settings, out, lambda event: event == Saved(5))
    path = out / "data/train/target.bin"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    events = run_all(settings, out)
    assert any("damaged" in event.message for event in of_kind(events, Warned))
    assert bits(out, 20) == bits(undisturbed, 20)


def test_a_run_may_start_from_another(books: Books, undisturbed: Path, out: Path) -> None:
    settings = compose(train=(str(books.valid),), start=str(undisturbed), settings={"training.steps": 3}).settings
    events = run_all(settings, out)
    assert of_kind(events, Finished)[-1].step == 3
    assert of_kind(events, Prepared)[0].symbols > 0


def test_a_text_shorter_than_a_window_is_told(tmp_path: Path, books: Books, out: Path) -> None:
    (tmp_path / "short.txt").write_text("to be\n")
    short = Books(tmp_path / "short.txt", books.valid)
    with pytest.raises(
        DataError, match="6 symbols, END of each document counted, which is less than one window of mod"
    ):
        list(train(small(short), out))
    (tmp_path / "short.txt").write_text("to be or not to be\n")
    assert of_kind(run_all(small(short, training__steps=2), out), Finished)[-1].step == 2


def test_a_changed_text_is_told(tmp_path: Path, out: Path) -> None:
    books = written(tmp_path)
    run_all(small(books, training__steps=5), out)
    books.train.write_text("something else\n" * 50)
    with pytest.raises(DataError, match="changed since"):
        list(train(small(books), out))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"data__kind": "pairs"}, "learns from whole texts, and data.kind is 'pairs'"),
        ({"regime__kind": "free"}, "is fed the true text"),
        ({"regime__truncate": 5}, "is fed the true text"),
        (
            {"objective__consistency": 1, "model__carry": "state", "model__decoder__kind": "rnn"},
            "needs two forward passes per window",
        ),
        ({"training__monitor": "bleu"}, "needs answers to sources"),
        ({"source__kind": "characters"}, "reads no source, so that source.kind = 'characters' is for nothing"),
        ({"target__kind": "shared"}, "one vocabulary for two sides"),
        ({"model__contxt": 5}, "context"),
        ({"data__test": "a.txt"}, "data.test"),
        ({"data__train": [["a", "b"]]}, r'must be files, e\.g\. \["one\.txt", "more-\*\.gz"\], not'),
    ],
)
def test_settings_that_do_not_fit(books: Books, settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        small(books, **settings)


def test_sampled_spellings_are_refused(books: Books, out: Path) -> None:
    with pytest.raises(ConfigError, match="windows of a language model are cut once"):
        list(train(small(books, target__kind="bpe", target__size=300, target__sampling=0.1), out))


def test_texts_are_for_language_models(books: Books) -> None:
    with pytest.raises(ConfigError, match=r"data.kind = 'texts' is for a language model"):
        compose(train=(str(books.train),), settings={"data.kind": "texts", "model.kind": "encoder_decoder"})
    assert compose(train=(str(books.train),), settings={"data.kind": "texts"}).settings.model.kind == "decoder_only"
    assert compose(train=(str(books.train),), settings={"model.kind": "decoder_only"}).settings.data.kind == "texts"


def test_memory_does_not_grow_with_the_text(tmp_path: Path) -> None:
    """What waits for a window is never more than a block of lines."""
    (tmp_path / "long.txt").write_text("a line of text\n" * 3 * BLOCK)
    packing = Packing(train_tokenizer(Bytes(), lambda: iter(())), 7)
    waiting = []
    for _ in packing.blocks(read_texts([str(tmp_path / "long.txt")], "files", Problems())):
        waiting.append(len(packing.symbols))
    assert max(waiting) < 7
    store = build_windows(
        tmp_path / "store",
        read_texts([str(tmp_path / "long.txt")], "files", Problems()),
        packing.tokenizer,
        7,
        "",
        Problems(),
        chunk=7_000,
    )
    assert store.counts.target_tokens == 15 * 3 * BLOCK
    assert store.chunks == 13
