"""Models that read frames: the same bits after any interruption, bad data told, and toys that are learned."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.errors import ConfigError, DataError
from dragoman.experiment import train
from dragoman.recipes import compose
from dragoman.training.events import Finished, Prepared, Resumed, Saved, Stepped, Validated, Warned
from frames import KINDS, small, written
from tiny import Corpus, bits, metrics, of_kind, run_all, run_until, state


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Corpus]:
    return {kind: written(tmp_path_factory.mktemp(kind), kind) for kind in KINDS}


@pytest.fixture(scope="module", params=KINDS)
def undisturbed(
    request: pytest.FixtureRequest, corpora: dict[str, Corpus], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Twenty steps without a break."""
    out = tmp_path_factory.mktemp(request.param) / request.param
    run_all(small(corpora[request.param], request.param), out)
    return out


@pytest.mark.parametrize("step", [1, 12])
def test_a_crash_leaves_no_trace(corpora: dict[str, Corpus], undisturbed: Path, out: Path, step: int) -> None:
    settings = small(corpora[undisturbed.name], undisturbed.name)
    run_until(settings, out, lambda event: isinstance(event, Stepped) and event.step == step)
    events = run_all(settings, out)
    assert of_kind(events, Resumed) == [Resumed((step - 1) // 5 * 5)]
    assert bits(out, 20) == bits(undisturbed, 20)
    assert state(out, 20) == state(undisturbed, 20)
    assert metrics(out) == metrics(undisturbed)
    for name in ("model.safetensors", "labels.json", "scale.json"):
        assert (out / "model" / name).read_bytes() == (undisturbed / "model" / name).read_bytes()
    assert not (out / "model/source.json").exists()


def test_damaged_frames_are_made_again(corpora: dict[str, Corpus], undisturbed: Path, out: Path) -> None:
    settings = small(corpora[undisturbed.name], undisturbed.name)
    run_until(settings, out, lambda event: event == Saved(5))
    path = out / "data/train/source.bin"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    events = run_all(settings, out)
    assert any("damaged" in event.message for event in of_kind(events, Warned))
    assert bits(out, 20) == bits(undisturbed, 20)


@pytest.mark.parametrize("name", ["labels.json", "scale.json"])
def test_damaged_facts_are_told(corpora: dict[str, Corpus], out: Path, name: str) -> None:
    run_until(small(corpora["labels"], "labels"), out, lambda event: event == Saved(5))
    path = out / "tokenizers" / name
    path.write_text(path.read_text().replace("height", "weight"))
    with pytest.raises(Exception, match=rf"{name} is damaged.*Restore it"):
        run_all(small(corpora["labels"], "labels"), out)


def test_part_of_the_data_may_be_held_out(corpora: dict[str, Corpus], out: Path) -> None:
    events = run_all(small(corpora["labels"], "labels", valid=False, data__hold_out=0.2, training__steps=10), out)
    assert of_kind(events, Prepared)[0].pairs < 220
    assert 0 <= of_kind(events, Validated)[-1].values["accuracy"] <= 100


def test_a_run_may_start_from_another(corpora: dict[str, Corpus], undisturbed: Path, out: Path) -> None:
    """With its labels and its scale, to which the weights belong."""
    files = (str(corpora[undisturbed.name].valid),)
    composed = compose(train=files, valid=files, start=str(undisturbed), settings={"training.steps": 3})
    events = run_all(composed.settings, out)
    assert of_kind(events, Finished)[-1].step == 3
    for name in ("labels.json", "scale.json"):
        assert (out / "model" / name).read_bytes() == (undisturbed / "model" / name).read_bytes()


def test_what_is_read_of_a_frame_is_told(corpora: dict[str, Corpus], undisturbed: Path, out: Path) -> None:
    events = run_until(small(corpora["labels"], "labels"), out, lambda event: isinstance(event, Prepared))
    assert (events[-1].numbers, events[-1].labels, events[-1].source_vocabulary) == (2, 2, 0)  # type: ignore[union-attr]


HEADER, GOOD = "id,x,label\n", "".join(f"{n},{n},{'up' if n % 2 else 'down'}\n" for n in range(40))


@pytest.mark.parametrize(
    ("train_text", "valid_text", "settings", "sentence"),
    [
        (HEADER + GOOD, HEADER + "a,1,up\nb,2,left\n", {},
         r"1 bad lines among 3 (?s:.*)valid.csv:3: the label 'left' does not occur in the training data"),
        (HEADER + GOOD + "z,,up\n", HEADER + GOOD, {}, r"train.csv:42: 'x' is missing"),
        (HEADER + GOOD + "z,nan,up\n", HEADER + GOOD, {}, r"train.csv:42: 'x' is missing"),
        (HEADER + GOOD, "id,y,label\na,1,up\n", {}, r"valid.csv has no feature 'x'"),
        (HEADER.replace("x", "x [m]") + GOOD, "id,x [km],y [m],label\na,1,2,up\n", {},
         r"valid.csv has x \[km\] where the training data has x \[m\]. Bring it to the same unit."),
        (HEADER + GOOD.replace("up", "down"), HEADER + GOOD, {}, "All 40 training examples have the label 'down'"),
        (HEADER, HEADER + GOOD, {}, "No sequence is left: the files hold a header"),
        (HEADER + "a,1,up\na,2,up\n" * 1, HEADER + GOOD, {}, "All 1 training examples"),
        (HEADER + "a,,up\n", HEADER + GOOD, {}, "Not one of 2 lines is a part of a sequence"),
        ("id,label\n1,up\n2,down\n", HEADER + GOOD, {}, "train.csv has no features beside its labels"),
    ],
)  # fmt: skip
def test_bad_data_is_told(
    tmp_path: Path, train_text: str, valid_text: str, settings: dict[str, Any], sentence: str
) -> None:
    (tmp_path / "train.csv").write_text(train_text)
    (tmp_path / "valid.csv").write_text(valid_text)
    corpus = Corpus(tmp_path / "train.csv", tmp_path / "valid.csv")
    with pytest.raises(DataError, match=sentence):
        list(train(small(corpus, "labels", **settings), tmp_path / "run"))


def test_long_ones_may_be_dropped(tmp_path: Path, corpora: dict[str, Corpus]) -> None:
    with pytest.raises(DataError, match=r"are longer than data.max_length = 1 frames"):
        list(train(small(corpora["labels"], "labels", data__max_length=1, data__longer="drop"), tmp_path / "run"))


def test_bad_sequences_may_be_left_out(tmp_path: Path, out: Path) -> None:
    (tmp_path / "train.csv").write_text(HEADER + GOOD + "z,,up\n")
    (tmp_path / "valid.csv").write_text(HEADER + GOOD)
    corpus = Corpus(tmp_path / "train.csv", tmp_path / "valid.csv")
    events = run_all(small(corpus, "labels", data__max_bad=0.2, training__steps=2), out)
    assert (of_kind(events, Prepared)[0].bad_lines, of_kind(events, Prepared)[0].pairs) == (1, 40)


def test_missing_numbers_are_learned_around(tmp_path: Path, out: Path) -> None:
    """NaN in the store is what is missing; no loss is one."""
    rows = "".join(f"{n},{n},up\n{n},,up\n" if n % 2 else f"{n},{n},down\n" for n in range(40))
    for name in ("train", "valid"):
        (tmp_path / f"{name}.csv").write_text(HEADER + rows)
    corpus = Corpus(tmp_path / "train.csv", tmp_path / "valid.csv")
    events = run_all(small(corpus, "labels", data__missing="allow", training__steps=5), out)
    assert np.isnan(np.fromfile(out / "data/train/source.bin", np.float32)).sum() == 20
    assert all(np.isfinite(event.mean_loss) for event in of_kind(events, Stepped) if event.mean_loss is not None)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"source.kind": "words"}, "reads frames and no texts .* so that source.kind = 'words' is for nothing"),
        ({"model.sentences": "two"}, "reads frames, and sentences = 'two' is for texts"),
        ({"model.head.kind": "spans"}, "reads frames, and head.kind = 'spans' is for texts: set head.kind = 'labels'"),
        ({"model.source.kind": "tokens"}, "learns from texts with a label each: set data.kind = 'labelled', not 'fra"),
        ({"data.kind": "labelled"}, "model.source.kind = 'frames' .* learns from numbers frame by frame, with labels"),
        ({"training.monitor": "bleu"}, "training.monitor = 'bleu' is nothing that model.head.kind = 'labels'"),
        ({"data.max_lenght": 3}, "Did you mean 'max_length'"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit(corpora: dict[str, Corpus], settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        compose("classify-frames", "tiny", (str(corpora["labels"].train),), settings=settings)


def test_the_kind_of_the_data_says_what_reads_it(corpora: dict[str, Corpus]) -> None:
    settings = compose(train=(str(corpora["labels"].train),), settings={"data.kind": "frames"}).settings
    assert (settings.model.kind, settings.model.source.kind) == ("encoder_only", "frames")  # type: ignore[union-attr]
