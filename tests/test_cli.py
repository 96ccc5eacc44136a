"""The command line, verb by verb: what it prints, what it says, and how it ends."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import CommandLine, Done
from dragoman.cli.train import sort_out
from dragoman.errors import ConfigError
from dragoman.metrics import METRICS
from tiny import Corpus, words

VERBS = (
    "demo",
    "data",
    "train",
    "average",
    "recipes",
    "predict",
    "evaluate",
    "score",
    "look",
    "report",
    "runs",
    "doctor",
    "tokenizer",
)


@pytest.fixture(scope="module")
def trained(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory, dragoman: CommandLine) -> tuple[Path, Done]:
    """A run, made once, and what its training said."""
    out = tmp_path_factory.mktemp("runs") / "tiny"
    own = {
        "training__steps": 120,
        "training__validate_every": 60,
        "training__save_every": 60,
        "training__log_every": 40,
    }
    return out, dragoman(*words(corpus, out, **own), "--json")


@pytest.fixture(scope="module")
def run(trained: tuple[Path, Done]) -> Path:
    return trained[0]


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def parsed(text: str) -> list[dict]:
    """Lines of JSON that every reader accepts, not Python's alone."""
    return [json.loads(line, parse_constant=refuse_constant) for line in text.splitlines()]


def sentence(done: Done, code: int, *said: str) -> None:
    """A user's mistake: the right exit code, a sentence, no traceback, nothing on stdout."""
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    for words_ in said:
        assert words_ in done.err


def test_train_tells_its_events(trained: tuple[Path, Done]) -> None:
    out, done = trained
    assert done.code == 0, done.err
    events = parsed(done.out)
    assert events[0]["event"] == "prepared"
    assert events[0]["pairs"] == 600
    assert [event["step"] for event in events if event["event"] == "validated"] == [60, 120]
    assert events[-1] == {"event": "finished", "step": 120, "reason": "steps", "signal": None}
    assert "600 pairs" in done.err
    assert "step 80 · epoch 7 · loss" in done.err
    assert f"Finished at step 120 (steps). Best model: {out / 'model'}" in done.err


def test_train_leaves_a_run_folder(run: Path) -> None:
    names = {path.name for path in run.iterdir()} - {".lock"}
    files = {"given.toml", "config.toml", "environment.json", "data.json", "status.json", "metrics.jsonl"}
    assert names == files | {"tokenizers", "data", "checkpoints", "model"}
    assert {path.name for path in (run / "model").iterdir()} == {
        "config.toml",
        "model.safetensors",
        "source.json",
        "target.json",
    }
    assert json.loads((run / "status.json").read_text())["finished"] == "steps"


def test_predict_gives_a_line_for_a_line(run: Path, dragoman: CommandLine) -> None:
    lines = ["abc", "", "fedcba", "  ", "g", "", "unknown ÄÖÜ 😀"]
    done = dragoman("predict", run, stdin="\n".join(lines) + "\n")
    assert done.code == 0, done.err
    answers = done.out.split("\n")
    assert len(answers) == len(lines) + 1
    assert answers[1] == answers[5] == ""
    backwards = dragoman("predict", run, stdin="\n".join(lines[::-1]) + "\n")
    assert backwards.out.split("\n")[:-1] == answers[:-1][::-1]


def test_predict_reads_a_file(run: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("abc\ngfe")
    from_file = dragoman("predict", run, tmp_path / "lines.txt")
    assert from_file.out == dragoman("predict", run, stdin="abc\ngfe").out
    assert from_file.out.count("\n") == 2


def test_predict_without_input(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", run)
    assert (done.code, done.out) == (0, "")


def test_predict_in_columns(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", run, "--n-best", 3, "--scores", "--alignments", stdin="abc\nfed\n")
    for line in done.out.splitlines():
        columns = line.split("\t")
        assert len(columns) == 9
        scores = [float(column) for column in columns[1::3]]
        assert scores == sorted(scores, reverse=True)
        for text, links in zip(columns[::3], columns[2::3], strict=True):
            pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
            assert [target for _, target in pairs] == sorted({target for _, target in pairs})
            assert all(source < 3 and target < len(text.split()) for source, target in pairs)
    alone = dragoman("predict", run, stdin="abc\nfed\n")
    assert [line.split("\t")[0] for line in done.out.splitlines()] == alone.out.splitlines()


def test_an_empty_line_has_as_many_columns(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", run, "--n-best", 3, "--scores", "--alignments", stdin="abc\n\n")
    assert [line.count("\t") for line in done.out.splitlines()] == [8, 8]
    assert done.out.splitlines()[1] == "\t".join(["", "0.000000", ""] * 3)


def test_predict_as_json(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", run, "--json", "--n-best", 2, stdin="abc\n\n")
    first, second = parsed(done.out)
    assert first["source"] == "abc"
    assert len(first["predictions"]) == 2
    assert {"text", "score", "log_probability", "tokens", "finished"} <= set(first["predictions"][0])
    assert second["predictions"][0]["text"] == ""


def test_translate_is_another_name(run: Path, dragoman: CommandLine) -> None:
    assert dragoman("translate", run, stdin="abc\n").out == dragoman("predict", run, stdin="abc\n").out


def test_evaluate(run: Path, corpus: Corpus, dragoman: CommandLine) -> None:
    done = dragoman("evaluate", run, "--on", corpus.valid)
    assert done.code == 0, done.err
    for word in ("sequence_error_rate", "phoneme_error_rate", "perplexity", "95 % interval", "40 references"):
        assert word in done.out


def test_evaluate_as_json_with_every_metric(run: Path, corpus: Corpus, dragoman: CommandLine) -> None:
    asked = [word for name in METRICS for word in ("--metric", name)]
    done = dragoman("evaluate", run, "--on", corpus.valid, "--json", "--beam", 1, *asked)
    result = json.loads(done.out, parse_constant=refuse_constant)
    assert set(result["metrics"]) == {*METRICS, "perplexity"}
    assert result["references"] == 40
    assert list(result["baselines"]["rows"]) == ["copy", "nearest"]
    assert set(result["baselines"]["rows"]["copy"]["metrics"]) == set(METRICS)
    for value in result["metrics"].values():
        assert value["low"] <= value["value"] <= value["high"]
    total = result["metrics"]["exact_match"]["value"] + result["metrics"]["sequence_error_rate"]["value"]
    assert total == pytest.approx(100)


def test_score(run: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("abc\tc b a\nabc\ta b c\n")
    plain = dragoman("score", run, tmp_path / "pairs.tsv")
    first, second = (float(line.split("\t")[0]) for line in plain.out.splitlines())
    assert second < first < 0
    assert len(plain.out.splitlines()[0].split("\t")[1].split()) == 4
    as_json = parsed(dragoman("score", run, tmp_path / "pairs.tsv", "--json").out)
    assert [round(line["log_probability"], 5) for line in as_json] == pytest.approx([first, second], abs=1e-4)


def test_look(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("look", run, "abc", "fed")
    assert done.code == 0, done.err
    assert "abc → " in done.out
    assert "fed → " in done.out


def test_runs(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("runs", run.parent)
    assert "tiny" in done.out
    assert "finished (steps)" in done.out
    facts = parsed(dragoman("runs", run.parent, "--json").out)
    assert [(fact["run"], fact["step"], fact["monitor"]) for fact in facts] == [("tiny", 120, "loss")]
    assert facts[0]["best_step"] in (60, 120)


def test_runs_of_an_empty_folder(dragoman: CommandLine, tmp_path: Path) -> None:
    done = dragoman("runs", tmp_path)
    assert (done.code, done.out) == (0, "")
    assert f"No runs in {tmp_path}." in done.err
    sentence(dragoman("runs", tmp_path / "missing"), 2, "missing is not there. Name the folder that holds your runs")
    (tmp_path / "file").write_text("")
    sentence(dragoman("runs", tmp_path / "file"), 2, "file is a file, not a folder.")


def test_a_broken_run_is_listed_as_broken(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    for name in ("bad_json", "bad_shape", "bad_weights", "good"):
        shutil.copytree(run, tmp_path / name)
    (tmp_path / "bad_json/status.json").write_text("{")
    (tmp_path / "bad_shape/status.json").write_text("[1]")
    (tmp_path / "bad_weights/model/model.safetensors").write_bytes(b"x")
    facts = {fact["run"]: fact for fact in parsed(dragoman("runs", tmp_path, "--json").out)}
    assert facts["good"]["state"] == "finished (steps)"
    for name in ("bad_json", "bad_shape", "bad_weights"):
        assert facts[name]["state"].startswith("broken: ")
    assert "not valid JSON" in facts["bad_json"]["state"]
    table = dragoman("runs", tmp_path)
    assert table.code == 0
    assert table.out.count("broken") == 3


def test_a_run_lists_itself(run: Path, dragoman: CommandLine) -> None:
    assert [fact["run"] for fact in parsed(dragoman("runs", run, "--json").out)] == ["tiny"]


def test_recipes(dragoman: CommandLine) -> None:
    assert "g2p" in dragoman("recipes").out
    assert "[model.encoder]" in dragoman("recipes", "g2p").out
    named = {fact["name"]: fact for fact in parsed(dragoman("recipes", "--json").out)}
    assert set(named["g2p"]) == {"name", "title", "scales", "text"}
    assert named["g2p"]["scales"] == ["tiny"]
    assert parsed(dragoman("recipes", "translate", "--json").out) == [named["translate"]]
    sentence(dragoman("recipes", "missing.toml"), 2, "Cannot read missing.toml: No such file")
    sentence(dragoman("recipes", "g2q"), 2, "No recipe is called 'g2q'. Did you mean 'g2p'?")


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help(dragoman: CommandLine, verb: str) -> None:
    done = dragoman(*filter(None, [verb]), "--help")
    assert done.code == 0
    assert "Usage" in done.out
    assert "Traceback" not in done.err
    if not verb:
        assert all(name in done.out for name in VERBS)
        assert "Exit codes" in done.out


def test_a_reader_that_leaves_is_no_error(run: Path, tmp_path: Path) -> None:
    """dragoman predict … | head -1, in a process of its own with a real pipe."""
    (tmp_path / "lines.txt").write_text("abc\n" * 6000)
    command = [sys.executable, "-m", "dragoman", "predict", str(run), str(tmp_path / "lines.txt"), "--beam", "1"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}) as p:
        assert p.stdout is not None
        assert p.stderr is not None
        assert p.stdout.readline()
        p.stdout.close()
        assert p.stderr.read() == ""
    assert p.returncode == 0


def test_a_full_disk_under_the_output(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", run, stdin="abc\n" * 10, stdout="/dev/full")
    assert done.code == 6
    assert "No space left on device" in done.err
    assert "Traceback" not in done.err


def test_a_wrong_file(run: Path, corpus: Corpus, out: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    missing = tmp_path / "missing.tsv"
    sentence(dragoman("train", missing, "--out", out), 3, f"There is no file {missing}")
    sentence(dragoman("predict", run, missing), 3, "There is no file")
    sentence(dragoman("evaluate", run, "--on", missing), 3, "There is no file")
    sentence(dragoman("score", run, missing), 3, "There is no file")
    sentence(dragoman("train", tmp_path, "--out", out), 3, "is a folder, not a file")


def test_an_empty_file(out: Path, run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    (tmp_path / "empty.tsv").write_text("")
    sentence(dragoman("train", tmp_path / "empty.tsv", "--out", out), 3, "empty")
    done = dragoman("evaluate", run, "--on", tmp_path / "empty.tsv")
    assert done.code == 3, done.err
    assert "Traceback" not in done.err


def test_bad_lines_are_counted_and_placed(out: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    (tmp_path / "pairs.tsv").write_text("a\tb\nno tab here\n" * 5)
    done = dragoman("train", tmp_path / "pairs.tsv", "--out", out)
    sentence(done, 3, "5 bad lines among 10", "pairs.tsv:2: no tab", "raise data.max_bad")


def test_a_misspelt_setting(corpus: Corpus, out: Path, dragoman: CommandLine) -> None:
    done = dragoman("train", corpus.train, "--out", out, "training.stepps=5")
    sentence(done, 2, "No setting is called 'training.stepps' (command line). Did you mean 'steps'?")
    assert not out.exists()


def test_words_that_fit_nowhere(corpus: Corpus, out: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    sentence(dragoman("train", "--out", out), 2, "There is nothing to train on")
    sentence(dragoman("train", "nosuchthing", "--out", out), 2, "'nosuchthing' is neither a file nor a recipe")
    sentence(dragoman("train", "g2p", "translate", "--out", out), 2, "One training has one recipe")
    sentence(dragoman("train", "--source", corpus.train, "--out", out), 2, "belong together")
    (tmp_path / "file").write_text("")
    sentence(dragoman("train", corpus.train, "--out", tmp_path / "file"), 2, "is a file, not a folder")
    assert dragoman("train", "--stepps", 5).code == 2
    assert dragoman("nosuchverb").code == 2


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("training.monitor=blue", "No value to monitor is called 'blue'. Did you mean 'bleu'?"),
        ('evaluation.metrics=["blue"]', "No metric is called 'blue'."),
        ("training.device=gpu", "No device is called 'gpu'."),
    ],
)
def test_settings_that_cannot_be(corpus: Corpus, out: Path, dragoman: CommandLine, setting: str, said: str) -> None:
    sentence(dragoman("train", corpus.train, "--out", out, setting), 2, said)


def test_a_recipe_that_monitors_a_metric_needs_validation_data(
    corpus: Corpus, out: Path, dragoman: CommandLine
) -> None:
    done = dragoman("train", "bahdanau2015", corpus.train, "--out", out, "training.monitor=bleu")
    sentence(done, 2, "training.monitor needs validation data: give --valid, or set data.hold_out.")


def test_a_missing_run(dragoman: CommandLine, tmp_path: Path) -> None:
    sentence(dragoman("predict", tmp_path / "missing", stdin="a\n"), 2, "is no run of dragoman")
    sentence(dragoman("evaluate", tmp_path / "missing", "--on", "x.tsv"), 2, "is no run of dragoman")
    sentence(dragoman("look", tmp_path / "missing", "abc"), 2, "is no run of dragoman")


def test_searches_that_cannot_be(run: Path, dragoman: CommandLine) -> None:
    sentence(dragoman("predict", run, "--beam", 0, stdin="a\n"), 2, "A beam has a width of at least 1")
    sentence(dragoman("predict", run, "--n-best", 99, stdin="a\n"), 2, "n_best must be between 1 and")
    sentence(dragoman("predict", run, "--device", "gpu", stdin="a\n"), 2, "No device is called 'gpu'")


class Canary:
    """Pickled, it would write a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["model.safetensors", "config.toml", "source.json"])
def test_a_pickle_is_never_loaded(run: Path, tmp_path: Path, dragoman: CommandLine, name: str) -> None:
    folder, canary = tmp_path / "model", tmp_path / "canary"
    shutil.copytree(run / "model", folder)
    (folder / name).write_bytes(pickle.dumps(Canary(canary)))
    done = dragoman("predict", folder, stdin="abc\n")
    sentence(done, 6 if name == "model.safetensors" else 2, name)
    assert not canary.exists()


def test_weights_of_another_model(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    shutil.copytree(run / "model", tmp_path / "model")
    config = (tmp_path / "model/config.toml").read_text().replace("readout_width = 32", "readout_width = 33")
    (tmp_path / "model/config.toml").write_text(config)
    sentence(
        dragoman("predict", tmp_path / "model", stdin="a\n"), 6, "config.toml has changed", "delete the line '# seal"
    )
    (tmp_path / "model/config.toml").write_text(config.split("\n\n", 1)[1])
    sentence(dragoman("predict", tmp_path / "model", stdin="a\n"), 6, "does not fit its config", "should have shape")


def test_a_cut_model(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    shutil.copytree(run / "model", tmp_path / "model")
    weights = tmp_path / "model/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    sentence(dragoman("predict", tmp_path / "model", stdin="a\n"), 6, "is no safetensors file, or is damaged")


def test_a_word_too_long_for_a_file_is_a_setting_or_a_mistake() -> None:
    long = "a" * 300
    assert sort_out([f"data.format={long}", f"{long}.tsv"], ["g2p"]) == (None, [f"{long}.tsv"], [f"data.format={long}"])
    with pytest.raises(ConfigError, match=r"a' is neither a file nor a recipe\. Recipes: g2p\."):
        sort_out([long], ["g2p"])
