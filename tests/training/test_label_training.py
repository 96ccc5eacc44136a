"""Models that only read: the same bits after any interruption, bad data told, and toys that are learned."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ConfigError, DataError
from dragoman.experiment import train
from dragoman.recipes import compose
from dragoman.training.events import Finished, Prepared, Resumed, Saved, Stepped, Surveyed, Validated, Warned
from labels import EVERY, small, written
from tiny import Corpus, bits, metrics, of_kind, run_all, run_until, state


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Corpus]:
    return {kind: written(tmp_path_factory.mktemp(kind), kind) for kind in EVERY}


@pytest.fixture(scope="module", params=EVERY)
def undisturbed(
    request: pytest.FixtureRequest, corpora: dict[str, Corpus], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Twenty steps without a break."""
    out = tmp_path_factory.mktemp(request.param) / request.param
    run_all(small(corpora[request.param], request.param), out)
    return out


@pytest.mark.parametrize("step", [1, 9, 12, 20])
def test_a_crash_leaves_no_trace(corpora: dict[str, Corpus], undisturbed: Path, out: Path, step: int) -> None:
    settings = small(corpora[undisturbed.name], undisturbed.name)
    run_until(settings, out, lambda event: isinstance(event, Stepped) and event.step == step)
    events = run_all(settings, out)
    assert of_kind(events, Resumed) == [Resumed((step - 1) // 5 * 5)]
    assert bits(out, 20) == bits(undisturbed, 20)
    assert state(out, 20) == state(undisturbed, 20)
    assert metrics(out) == metrics(undisturbed)
    for name in ("model.safetensors", "labels.json"):
        assert (out / "model" / name).read_bytes() == (undisturbed / "model" / name).read_bytes()


def test_damaged_examples_are_made_again(corpora: dict[str, Corpus], undisturbed: Path, out: Path) -> None:
    settings = small(corpora[undisturbed.name], undisturbed.name)
    run_until(settings, out, lambda event: event == Saved(5))
    path = out / "data/train/target.bin"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    events = run_all(settings, out)
    assert any("damaged" in event.message for event in of_kind(events, Warned))
    assert bits(out, 20) == bits(undisturbed, 20)


def test_damaged_labels_are_told(corpora: dict[str, Corpus], out: Path) -> None:
    run_until(small(corpora["labels"], "labels"), out, lambda event: event == Saved(5))
    path = out / "tokenizers/labels.json"
    path.write_text(path.read_text().replace("neg", "nag"))
    with pytest.raises(Exception, match=r"labels.json is damaged.*Restore it"):
        run_all(small(corpora["labels"], "labels"), out)


def test_part_of_the_data_may_be_held_out(corpora: dict[str, Corpus], out: Path) -> None:
    for kind, metric in {"labels": "accuracy", "tags": "accuracy", "spans": "f1"}.items():
        settings = small(corpora[kind], kind, valid=False, data__hold_out=0.2, training__steps=10)
        events = run_all(settings, out / kind)
        assert of_kind(events, Prepared)[0].pairs < (900 if kind == "spans" else 300)  # windows
        assert 0 <= of_kind(events, Validated)[-1].values[metric] <= 100


def test_a_run_may_start_from_another(corpora: dict[str, Corpus], undisturbed: Path, out: Path) -> None:
    """With its labels, to which the head belongs."""
    corpus = corpora[undisturbed.name]
    composed = compose(
        train=(str(corpus.valid),), valid=(str(corpus.valid),), start=str(undisturbed), settings={"training.steps": 3}
    )
    events = run_all(composed.settings, out)
    assert of_kind(events, Finished)[-1].step == 3
    assert (out / "model/labels.json").read_bytes() == (undisturbed / "model/labels.json").read_bytes()


def files(folder: Path, train: str, valid: str, ending: str = "tsv") -> Corpus:
    (folder / f"train.{ending}").write_text(train)
    (folder / f"valid.{ending}").write_text(valid)
    return Corpus(folder / f"train.{ending}", folder / f"valid.{ending}")


HEADER, GOOD = "sentence\tlabel\n", "a\tx\nb\ty\n" * 20


@pytest.mark.parametrize(
    ("kind", "train_text", "valid_text", "settings", "sentence"),
    [
        ("labels", HEADER + GOOD, HEADER + "a\tx\nb\tz\n", {},
         r"1 bad lines among 3 .*(?s:.*)valid.tsv:3: the label 'z' does not occur in the training data"),
        ("tags", "a\tX\nb\tY\n\n" * 9, "a\tX\n\nb\tZ\n\n", {}, r"valid.conll:3: the tag 'Z' does not occur"),
        ("tags", "a\tX\nb\n\n" + "a\tX\nb\tY\n\n" * 5, "a\tX\n", {}, r"train.conll:2: a word without a tag"),
        ("labels", HEADER + GOOD + "\tx\n", HEADER + GOOD, {}, r"train.tsv:42: empty sentence"),
        ("labels", HEADER + GOOD, HEADER + GOOD, {"data__label_field": "lable"}, r"Did you mean 'label'"),
        ("numbers", "text\tscore\n" + "a\t1\nb\t2\n" * 9 + "c\tmany\n", "text\tscore\na\t1\n", {},
         r"train.tsv:20: 'many' is no number"),
        ("labels", HEADER + "a\tx\n" * 5, HEADER + GOOD, {}, "All 5 training examples have the label 'x'"),
        ("labels", HEADER, HEADER + GOOD, {}, "No example is left: the files hold a header"),
        ("tags", "a\tX\nb\tY\n\n" * 5, "a\tX\n", {"data__max_length": 1}, "5 are longer than data.max_length = 1"),
        ("pairs", "sentence1\tsentence2\tlabel\n" + "a\t\tx\n" * 9, "a\tb\tx\n", {}, "Not one of 10 lines is a part"),
    ],
)  # fmt: skip
def test_bad_data_is_told(
    tmp_path: Path, kind: str, train_text: str, valid_text: str, settings: dict[str, Any], sentence: str
) -> None:
    corpus = files(tmp_path, train_text, valid_text, "conll" if kind == "tags" else "tsv")
    with pytest.raises(DataError, match=sentence):
        list(train(small(corpus, kind, **settings), tmp_path / "run"))


def test_bad_lines_may_be_left_out(tmp_path: Path, out: Path) -> None:
    corpus = files(tmp_path, HEADER + GOOD + "\tx\n", HEADER + GOOD + "a\tz\n")
    events = run_all(small(corpus, "labels", data__max_bad=0.2, training__steps=2), out)
    assert of_kind(events, Prepared)[0].bad_lines == 1
    [survey] = of_kind(events, Surveyed)
    assert any("the label 'z' does not occur in the training data" in line for line in survey.lines)
    assert '"line": 42' in (out / "bad_lines.valid.jsonl").read_text()


def test_changed_data_is_told(tmp_path: Path, out: Path) -> None:
    corpus = files(tmp_path, HEADER + GOOD, HEADER + GOOD)
    run_all(small(corpus, "labels", training__steps=5), out)
    corpus.train.write_text(HEADER + GOOD * 2)
    with pytest.raises(DataError, match="changed since"):
        list(train(small(corpus, "labels"), out))


def test_what_cannot_be_measured_is_told(corpora: dict[str, Corpus], out: Path) -> None:
    """No tag here begins with B- or I-."""
    with pytest.raises(ConfigError, match=r"monitor = 'span_f1' is nothing that the tags of this data are measured by"):
        run_all(small(corpora["tags"], "tags", training__monitor="span_f1"), out)
