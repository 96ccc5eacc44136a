"""dragoman look, from a model to pictures, and alignments of given targets."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import torch
from torch.nn.functional import one_hot

import dragoman.pipeline.teaching as teaching
import dragoman.regimes as regimes
from command_line import CommandLine, Done
from dragoman import load
from dragoman.cli.look import draw, look
from dragoman.cli.predict import as_json, predict
from dragoman.contracts import Answer, Batch, Output, Prediction
from dragoman.drawing.summary import summarise
from dragoman.errors import ConfigError, DataError
from dragoman.inspection import alignment_svg, alignment_text
from dragoman.nn.attention.fixed import Fixed
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


def fed(monkeypatch: pytest.MonkeyPatch, change: Callable[[Output], Output]) -> None:
    """Every decoder gives another output than its own when it is asked for attention."""
    teacher = regimes.teacher

    def asked(model: Any, batch: Batch, attention: bool = False) -> Output:
        return change(teacher(model, batch, attention))

    monkeypatch.setattr(teaching, "teacher", asked)


def blind(output: Output) -> Output:
    return Output(output.hidden)


def local(output: Output) -> Output:
    """Windows of three around the position of each symbol, as a decoder gives them: not yet cut to the sentence."""
    rows, steps = output.hidden.shape[:2]
    centre = torch.arange(steps, dtype=torch.float32).expand(rows, steps)
    window = torch.stack([centre - 1, centre + 0.25, centre + 1], -1)
    return replace(output, extras={"attention.window": window})


def hard(output: Output) -> Output:
    weights = output.attention["source"]
    return replace(output, attention={"source": one_hot(weights.argmax(-1), weights.shape[-1]).float()})


def test_local_windows_travel_to_the_prediction(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    fed(monkeypatch, local)
    forced = pipeline.align("ab", "a b a b")
    assert forced.windows == ((0, 0.25, 1), (0, 1.25, 2), (1, 2.25, 2), (2, 3.25, 2), (3, 4.25, 2))
    assert forced.aligned().windows == forced.windows
    text = alignment_text(forced)
    assert "[] window  + its centre" in text
    assert 'class="halo"' in alignment_svg(forced)
    short, longer = pipeline.predict(["ab", "fedcba"], beam=1)
    for answer in (short, longer):
        windows = answer.best.windows
        assert windows is not None
        assert len(windows) == len(answer.alignment or ())
        assert max(last for _, _, last in windows) <= len(answer.best.source_tokens) - 1
    assert pipeline.predict("ab", alignments=False).best.windows is None
    assert json.loads(as_json(short))["predictions"][0]["windows"][0] == [0, 0.25, 1]


def test_hard_choices_are_named(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    fed(monkeypatch, hard)
    forced = pipeline.align("abc", "c b a")
    aligned = forced.aligned()
    assert aligned.hard
    names = [aligned.source[place] for place in aligned.chosen()]
    rows = [line for line in alignment_text(forced).splitlines() if "██" in line]
    assert [row.partition("← ")[2] for row in rows] == names


def test_nothing_to_look_at_is_a_sentence(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fed(monkeypatch, blind)
    (tmp_path / "lines").write_text("abc\n", "utf-8")
    for command in (
        lambda: look(run, ["abc"], device="cpu"),
        lambda: look(run, ["abc"], target=["c"], json=True, device="cpu"),
        lambda: predict(run, [str(tmp_path / "lines")], alignments=True, device="cpu"),
    ):
        with pytest.raises(ConfigError, match=r"This model has no attention .* nothing to look at") as caught:
            command()
        assert caught.value.exit_code == 2


def test_one_fixed_context_looks_at_nothing_in_particular(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    fed(monkeypatch, blind)
    decoder = pipeline.settings.model.decoder.changed(attention=Fixed())
    settings = pipeline.settings.changed(model=pipeline.settings.model.changed(decoder=decoder))
    other = Pipeline(pipeline.model, pipeline.source, pipeline.target, settings, pipeline.device)
    with pytest.raises(ConfigError, match="one fixed context for all steps: it looks at nothing in particular"):
        other.require_attention()


def test_a_model_without_attention_still_answers(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fed(monkeypatch, blind)
    (tmp_path / "lines").write_text("abc\n", "utf-8")
    predict(run, [str(tmp_path / "lines")], json=True, device="cpu")
    [prediction] = json.loads(capsys.readouterr().out)["predictions"]
    assert (prediction["alignment"], prediction["windows"]) == (None, None)
    assert prediction["token_log_probabilities"]


def test_attention_is_asked_for_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(run, device="cpu").attends
    fed(monkeypatch, blind)
    assert not load(run, device="cpu").attends


def test_a_model_without_attention(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    fed(monkeypatch, blind)
    answer = pipeline.predict("abc")
    assert pipeline.align("abc", "c").alignment is None
    assert pipeline.align("abc", "c").log_probability < 0
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
    assert "-" not in map_of(dragoman("look", run, "abc"))
    assert " -" in map_of(dragoman("look", run, "abc", "--scores"))


def map_of(done: Done) -> str:
    """Without the line above, and without the legend and the numbers below."""
    return done.out.partition("\n")[2].partition("\n\n")[0]


def test_numbers_stand_below_the_map_and_beside_its_rows(run: Path, pipeline: Pipeline, dragoman: CommandLine) -> None:
    found = summarise(pipeline.align("abc", "c b").aligned())
    done = dragoman("look", run, "abc", "--target", "c b", "--entropy")
    assert done.out.splitlines()[-1].startswith(f"entropy {found.mean_entropy:.2f} nats (")
    assert f" {found.entropy[0]:7.3f} " in map_of(done)


def test_numbers_are_folded_to_the_terminal(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    draw([pipeline.predict("abc")], "plain", values=False, entropies=False)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[1:])) <= 50
    assert lines[-2].startswith("entropy ")


def test_look_as_json(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("look", run, "abc", "fed", "--target", "c b a", "--target", "d", "--json")
    first, second = map(json.loads, done.out.splitlines())
    assert (first["source"], first["text"], second["text"]) == ("abc", "c b a", "d")
    assert first["source_tokens"] == ["a", "b", "c", "</s>"]
    assert first["tokens"] == ["c", "b", "a"]
    assert [len(row) for row in first["alignment"]] == [4, 4, 4, 4]
    assert len(first["token_log_probabilities"]) == 4
    assert all(source < 3 for source, target in first["links"])
    assert (first["windows"], first["hard"]) == (None, False)
    assert len(first["entropy"]) == len(first["entropy_share"]) == 4
    assert first["mean_entropy"] == pytest.approx(sum(first["entropy"]) / 4)
    assert first["coverage"] == pytest.approx([sum(column) for column in zip(*first["alignment"], strict=True)])
    assert {"mean_entropy_share", "monotonicity", "kendall_tau", "neglected", "overused"} <= set(first)


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
    sentence(dragoman("look", run, "abc", "--target", "a", "--width", 2), 2, "With --target nothing is searched for")
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
    done = dragoman("look", tmp_path / "model", "fedcba", "--width", 1)
    assert "Warning: text 1 is longer than limits.source = 3 tokens; it was split." in done.err
    assert "Warning: the answer to text 1 was cut after 2 symbols, before it reached its end." in done.err
    assert "unfinished" in done.out.splitlines()[0]
