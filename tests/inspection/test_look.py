"""dragoman look, from a model to pictures, and alignments of given targets."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import torch

from command_line import CommandLine, Done
from dragoman import load
from dragoman.contracts import Answer, Batch, Output, Prediction
from dragoman.errors import DataError
from dragoman.inspection import alignment_svg, alignment_text
from dragoman.pipeline import Pipeline
from dragoman.served import Limits
from tiny import Corpus, run_all, tiny


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("look") / "run"
    run_all(tiny(corpus, training__steps=60, training__save_every=60, training__validate_every=60), out)
    return out


@pytest.fixture(scope="module")
def pipeline(run: Path) -> Pipeline:
    return load(run, device="cpu")


def sentence(done: Done, code: int, *said: str) -> None:
    assert done.code == code, done.err
    assert done.out == ""
    assert "Traceback" not in done.err
    for words in said:
        assert words in done.err


def test_the_own_answer_given_as_a_target_is_the_same_prediction(pipeline: Pipeline) -> None:
    for answer in pipeline.predict(["abc", "gfgfgf"], beam=1):
        assert answer.best.finished
        forced = pipeline.align(answer.source, answer.text)
        assert forced.tokens == answer.tokens
        assert forced.source_tokens == answer.best.source_tokens
        assert forced.score == pytest.approx(answer.score, abs=1e-5)
        assert forced.log_probability == pytest.approx(answer.best.log_probability, abs=1e-5)
        torch.testing.assert_close(torch.tensor(forced.alignment), torch.tensor(answer.alignment))


def test_a_forced_target_has_the_log_probabilities_of_its_score(pipeline: Pipeline) -> None:
    [scored] = pipeline.score([("abc", "a g a")])
    forced = pipeline.align("abc", "a g a")
    assert forced.text == "a g a"
    assert forced.token_log_probabilities == pytest.approx(scored.token_log_probabilities, abs=1e-6)
    assert forced.log_probability == pytest.approx(scored.log_probability, abs=1e-5)
    assert forced.alignment is not None
    assert len(forced.alignment) == len(forced.token_log_probabilities) == 4  # END last


def test_log_probabilities_of_an_answer_add_up(pipeline: Pipeline) -> None:
    for prediction in pipeline.predict("fedcba", n_best=3).predictions:
        assert len(prediction.token_log_probabilities) == len(prediction.tokens) + prediction.finished
        assert sum(prediction.token_log_probabilities) == pytest.approx(prediction.log_probability, abs=1e-4)
    assert pipeline.predict("abc", alignments=False).best.token_log_probabilities == ()


def test_an_empty_target_is_its_end_and_an_empty_source_is_refused(pipeline: Pipeline) -> None:
    assert len(pipeline.align("abc", "").token_log_probabilities) == 1
    with pytest.raises(DataError, match="The source text is empty"):
        pipeline.align("", "a")
    with pytest.raises(DataError, match="The source text is empty"):
        pipeline.align(" ", "a")


def test_a_model_without_attention(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(model: Any, batch: Batch, attention: bool = False) -> Output:
        return Output(teacher(model, batch).hidden)

    import dragoman.pipeline

    teacher = dragoman.pipeline.teacher
    monkeypatch.setattr(dragoman.pipeline, "teacher", blind)
    answer = pipeline.predict("abc")
    assert answer.alignment is None
    assert answer.best.token_log_probabilities != ()
    with pytest.raises(DataError, match="has no alignment: its model has no attention"):
        alignment_text(answer.best)
    with pytest.raises(DataError, match="has no alignment"):
        alignment_svg(answer.best)
    assert (answer._repr_html_(), answer._repr_svg_()) == (None, None)


def test_an_unfinished_answer_has_no_end(pipeline: Pipeline) -> None:
    limits = pipeline.settings.changed(limits=Limits(ratio=0.1, extra=2))
    short = Pipeline(pipeline.model, pipeline.source, pipeline.target, limits, pipeline.device)
    best = short.predict("fedcba", beam=1).best
    assert not best.finished
    assert "END" not in alignment_text(best)
    assert best.aligned().target == best.tokens


def test_answers_draw_themselves_in_a_notebook(pipeline: Pipeline) -> None:
    answer = pipeline.predict("abc")
    html = answer._repr_html_() or ""
    assert html.startswith("<figure><figcaption><bdi>abc</bdi> → <bdi>")
    assert html.count("<svg") == 1
    assert Xml.fromstring(answer._repr_svg_() or "").tag.endswith("svg")  # noqa: S314
    assert answer.best._repr_html_() == answer.best._repr_svg_() == answer._repr_svg_()
    nothing = Answer("", (Prediction("", 0.0, 0.0, ()),))
    assert nothing._repr_html_() is None
    assert replace(answer.best, alignment=None)._repr_html_() is None


def test_look_draws_in_the_terminal(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("look", run, "abc", "fed")
    assert done.code == 0, done.err
    assert "abc → " in done.out
    assert "fed → " in done.out
    assert "or more" in done.out
    assert "\x1b" not in done.out
    assert "\x1b[48;5;" in dragoman("look", run, "abc", "--colour", "256").out
    assert "\x1b[48;2;" in dragoman("look", run, "abc", "--colour", "true").out


def test_look_at_a_target(run: Path, pipeline: Pipeline, dragoman: CommandLine) -> None:
    done = dragoman("look", run, "abc", "--target", "g g")
    first = pipeline.align("abc", "g g").token_log_probabilities[0]
    assert done.out.startswith("abc → g g  (score ")
    assert f"  g {first:7.3f} " in done.out
    assert "\nEND " in done.out
    assert "-" not in "".join(dragoman("look", run, "abc").out.splitlines()[1:])
    assert " -" in "".join(dragoman("look", run, "abc", "--scores").out.splitlines()[1:])


def test_look_as_json(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("look", run, "abc", "fed", "--target", "c b a", "--target", "d", "--json")
    first, second = map(json.loads, done.out.splitlines())
    assert (first["source"], first["text"], second["text"]) == ("abc", "c b a", "d")
    assert first["source_tokens"] == ["a", "b", "c", "</s>"]
    assert first["tokens"] == ["c", "b", "a"]
    assert [len(row) for row in first["alignment"]] == [4, 4, 4, 4]
    assert len(first["token_log_probabilities"]) == 4
    assert all(source < 3 for source, target in first["links"])


def test_look_writes_pictures(run: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = ("--svg", tmp_path / "a.svg", "--png", tmp_path / "a.b.png", "--html", tmp_path / "a.html")
    done = dragoman("look", run, "abc", "fed", *names)
    assert (done.code, done.out) == (0, "")
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["a-1.svg", "a-2.svg", "a.b-1.png", "a.b-2.png", "a.html"]
    assert all(f"Wrote {tmp_path / name}." in done.err for name in written)
    assert (tmp_path / "a.html").read_text("utf-8").count("<svg") == 2
    assert "fed → " in (tmp_path / "a-2.svg").read_text("utf-8")
    assert dragoman("look", run, "abc", "--svg", tmp_path / "one.svg").err == f"Wrote {tmp_path / 'one.svg'}.\n"


def test_look_says_what_cannot_be(run: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    sentence(dragoman("look", run, "abc", ""), 3, "Text 2 is empty (''): there is nothing to look at.")
    sentence(dragoman("look", run, "", "--target", "a"), 3, "Text 1 is empty")
    sentence(dragoman("look", run, " "), 3, "Text 1 is empty (' '): there is nothing to look at.")
    sentence(dragoman("look", run, "abc", "--target", "a", "--beam", 2), 2, "With --target nothing is searched for")
    sentence(dragoman("look", run, "abc", "fed", "--target", "a"), 2, "There are 2 texts and 1 targets. Give --target")
    sentence(dragoman("look", run, "abc", "--colour", "ture"), 2, "Did you mean 'true'?", "256, auto, plain, true")
    sentence(dragoman("look", run, "abc", "--svg", tmp_path / "no" / "a.svg"), 6, "Cannot write", "No such file")
    sentence(dragoman("look", run, "abc", "--html", tmp_path), 6, f"Cannot write {tmp_path}: Is a directory.")


def test_look_warns_of_cuts(run: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    shutil.copytree(run / "model", tmp_path / "model")
    config = (tmp_path / "model/config.toml").read_text("utf-8")
    for setting, smaller in (
        ("source = 1000", "source = 3"),
        ("ratio = 2.0", "ratio = 0.1"),
        ("extra = 10", "extra = 1"),
    ):
        assert setting in config
        config = config.replace(setting, smaller)
    config = re.sub("# seal: .*\n", "", config)
    (tmp_path / "model/config.toml").write_text(config, "utf-8")
    done = dragoman("look", tmp_path / "model", "fedcba", "--beam", 1)
    assert "Warning: text 1 is longer than limits.source = 3 tokens; it was split." in done.err
    assert "Warning: the answer to text 1 was cut after 2 symbols, before it reached its end." in done.err
    assert "unfinished" in done.out.splitlines()[0]
