"""dragoman data, and trainings from all kinds of files: what is said, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import CommandLine
from dragoman.data.readers.pairs import Pairs
from dragoman.data.tokenizers import SPECIALS, Words
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import train
from dragoman.preparation import corpora
from dragoman.preparation.pairs import learn_tokenizer
from dragoman.recipes import compose
from dragoman.runs import Run
from dragoman.training.events import Event, Surveyed
from tiny import TINY, bits, of_kind, run_all, run_until

SHORT = TINY | {"training.steps": 4, "training.save_every": 2, "training.validate_every": 4}


def rows(count: int, separator: str = "\t") -> str:
    return "".join(f"{chr(97 + n % 7)}{n}{separator}{n} {n % 5}\n" for n in range(count))


def test_data_says_what_it_finds(dragoman: CommandLine, tmp_path: Path) -> None:
    train_file, valid = tmp_path / "train.csv", tmp_path / "valid.tsv"
    train_file.write_text("source,target\n" + rows(50, ",") + "a0,0 0\n")
    valid.write_text("a0\t0 0\nnew\t1\n")
    done = dragoman("data", train_file, "--valid", valid)
    assert done.code == 0, done.err
    assert f"{train_file}: CSV with header, source = 'source', target = 'target'" in done.err
    assert "train: 51 pairs on 52 lines" in done.out
    assert "duplicate pairs" in done.out
    assert "pairs also in training" in done.out
    assert "longest 3" in done.out
    summary = json.loads(dragoman("data", train_file, "--valid", valid, "--json").out)
    assert summary["train"]["findings"][0]["count"] == 1
    assert summary["train"]["findings"][0]["places"] == [f"{train_file}:52"]


def test_data_from_standard_input(dragoman: CommandLine) -> None:
    done = dragoman("data", "-", "data.source_field=b", "data.target_field=a", stdin='{"a": "1", "b": "2"}\n{}\n')
    assert done.code == 0
    assert "source = 'b', target = 'a'" in done.err
    assert "Training would refuse: 1 bad lines among 2" in done.err
    done = dragoman("data", "-", "--valid", "-", stdin="a\tb\n")
    assert (done.code, "Standard input (-) can be given once only" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "There is nothing to look at"),
        (("nowhere.tsv",), 3, "There is no file nowhere.tsv."),
        (("*.nothing",), 3, "No file matches *.nothing."),
        (("a.tsv", "training.steps=3"), 2, "Only settings of data are used here, e.g. data.format=csv, not training."),
        (("a.tsv", "data.fromat=csv"), 2, "No setting is called 'fromat' (command line). Did you mean 'format'?"),
        (("a.tsv", "--source", "b"), 2, "give one --target for every --source (there are 1 and 0)"),
        (("a.tsv", "--run", "nowhere"), 2, "Cannot read nowhere/config.toml"),
        (("a.tsv", "data=5"), 2, "data is a table of settings, not 5. Write one of them, e.g. data.format=csv."),
        (("a" * 300,), 3, "File name too long"),
        (("data.format=" + "a" * 300,), 2, "format must be 'auto'"),
    ],
)
def test_data_says_what_is_wrong(dragoman: CommandLine, words: tuple[str, ...], code: int, said: str) -> None:
    done = dragoman("data", *words)
    assert done.code == code
    assert said in done.err
    assert "Traceback" not in done.err


def test_data_has_the_limits_of_a_training(dragoman: CommandLine, tmp_path: Path) -> None:
    """Names of files are shown as they are; and 300 symbols are not long where all texts are."""
    file = tmp_path / "[bold]a:smile:b.tsv"
    file.write_text("".join(f"{'ab' * 140}{n}\t{'x ' * 250}{n % 5}\n" for n in range(60)))
    done = dragoman("data", file)
    assert done.code == 0, done.err
    assert "nothing odd" in done.out
    done = dragoman("data", file, "data.max_source_length=100")
    assert "longer than the limits" in done.out
    assert f"60 100.00%  longer than the limits in tokens: {file}:1, 2, 3" in done.out


def test_another_test_file_is_looked_at_anew(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(rows(60))
    test = tmp_path / "test.tsv"
    found = []
    for content in (rows(5), "new\tpair\n", rows(3)):
        test.write_text(content)
        _, events = events_of(tmp_path, str(tmp_path / "a.tsv"), data__test=str(test), training__steps=2 + len(found))
        found.append([line for line in of_kind(events, Surveyed)[0].lines if line.startswith("test: ")])
    assert ["5 × pairs also in training" in found[0][0], found[1]] == [True, []]
    assert "3 × pairs also in training" in found[2][0]


def test_a_shared_vocabulary_is_learned_from_both_sides_of_a_sample(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"s{n}\tt{n}\n" for n in range(8)))
    data = Pairs(train=(str(tmp_path / "a.tsv"),))
    found = learn_tokenizer(data, corpora.SIDES, Words(sample=8), corpora.silent)
    assert sorted(found.learned.vocabulary[len(SPECIALS) :]) == ["s1", "s3", "s5", "s7", "t1", "t3", "t5", "t7"]


def test_files_are_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.tsv").write_text(rows(60))
    hashed: list[object] = []
    monkeypatch.setattr(corpora, "fingerprint", lambda files: hashed.append(files) or "0")
    data = Pairs(train=(str(tmp_path / "a.tsv"),), hold_out=0.2)
    record = corpora.data_record(Run(tmp_path / "run"), data)
    assert record["train"] == record["valid"]
    assert len(hashed) == 1


def test_data_does_not_import_torch(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\n")
    code = (
        f"import sys; sys.argv = ['dragoman', 'data', '{tmp_path / 'a.tsv'}']\n"
        "from dragoman.cli.main import app\napp(standalone_mode=False)\nsys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_training_from_standard_input_resumes(dragoman: CommandLine, tmp_path: Path) -> None:
    settings = [f"{name}={value}" for name, value in SHORT.items()]
    words = ("train", "g2p", "-", "--scale", "tiny", *settings)
    first, second = tmp_path / "first", tmp_path / "second"
    assert dragoman(*words, "--out", first, stdin=rows(120)).code == 0
    assert dragoman(*words, "--out", second, "training.steps=2", stdin=rows(120)).code == 0
    assert (second / "stdin.txt").read_text() == rows(120)
    done = dragoman(*words, "--out", second, stdin="")
    assert done.code == 0, done.err
    assert "Going on from step 2" in done.err
    assert bits(first, 4) == bits(second, 4)
    looked = dragoman("data", first / "stdin.txt", "--run", first)
    assert looked.code == 0, looked.err
    assert "100.00% of the tokens in the vocabulary" in looked.out
    assert dragoman(*words, "--out", tmp_path / "held", "data.hold_out=0.3", stdin=rows(120)).code == 0
    looked = dragoman("data", first / "stdin.txt", "--run", tmp_path / "held")
    assert "train: 120 pairs on 120 lines" in looked.out
    assert "valid" not in looked.out


def events_of(tmp_path: Path, *train_files: str, **own: object) -> tuple[Path, list[Event]]:
    out = tmp_path / "run"
    named = {name.replace("__", "."): value for name, value in own.items()}
    settings = compose("g2p", "tiny", train_files, settings=SHORT | named).settings
    return out, run_all(settings, out)


def test_weights_filters_and_hold_out_train_and_resume(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(rows(60) + "a0\t0 0\n")
    (tmp_path / "b.jsonl").write_text("".join(f'{{"input": "b{n}", "output": "{n} x"}}\n' for n in range(30)))
    files = (str(tmp_path / "a.tsv"), str(tmp_path / "b.jsonl"))
    own = {"data.weights": [1, 2.5], "data.hold_out": 0.2, "data.filters.duplicates": "drop"}
    settings = compose("g2p", "tiny", files, settings=SHORT | {"training.batching.sentences": 9} | own).settings
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    surveyed: list[Surveyed] = of_kind(run_all(settings, whole), Surveyed)
    assert any("1 left out by data.filters (duplicate)" in line for line in surveyed[0].lines)
    assert "b.jsonl: JSON lines, source = 'input', target = 'output'" in surveyed[0].lines[0]
    run_until(settings, broken, lambda event: getattr(event, "step", 0) == 3)
    assert of_kind(run_all(settings, broken), Surveyed)[0].lines == surveyed[0].lines
    assert bits(whole, 4) == bits(broken, 4)
    record = json.loads((whole / "data.json").read_text())
    assert record["train"]["counts"]["pairs"] + record["valid"]["counts"]["pairs"] == 90
    assert list(record["summary"]) == ["train", "valid"]
    assert record["summary"]["train"]["filtered"]["duplicate"] == 1


def test_a_single_pair_can_be_learned(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("abc\tc b a\n")
    out, events = events_of(tmp_path, str(tmp_path / "a.tsv"), training__steps=2)
    assert events[-1].reason == "steps"  # type: ignore[union-attr]
    assert of_kind(events, Surveyed)[0].lines == (f"{tmp_path / 'a.tsv'}: TSV without header. Nothing odd in it.",)
    assert (out / "model" / "model.safetensors").exists()


def test_what_does_not_fit_is_said_before_training(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("abc\tc b a\n")

    def started(**own: object) -> None:
        named = {name.replace("__", "."): value for name, value in own.items()}
        next(train(compose("g2p", "tiny", (str(file),), settings=SHORT | named).settings, tmp_path / "run"))

    with pytest.raises(ConfigError, match=r"data\.weights has 2 numbers for 1 corpora\. Give one for each element"):
        started(data__weights=[1, 2])
    with pytest.raises(DataError, match=r"data\.hold_out = 0\.001 of 1 lines leaves no pair on one side\. Change it"):
        started(data__hold_out=0.001)
    (tmp_path / "empty.tsv").write_text("")
    with pytest.raises(DataError, match=r"empty\.tsv is empty"):
        started(data__valid=str(tmp_path / "empty.tsv"))
