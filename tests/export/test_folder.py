"""A model handed on: the same bits, the same answers, a card that says what is known, and nothing where it fails."""

import json
import shutil
from pathlib import Path

import pytest

from command_line import CommandLine
from dragoman.errors import ConfigError, NumericalError, StorageError
from dragoman.export import Wanted, export, folder
from dragoman.export.agreement import less_probable
from dragoman.export.card import base_name, plain, verbatim
from dragoman.pipeline import MODEL_FILES, Pipeline
from dragoman.storage import hash_file, read_record
from tiny import Corpus, run_all, tiny

SOURCES = ["abc", "gfe", "", "dada"]


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("handed") / "spelling"
    run_all(tiny(corpus, training__steps=10, training__validate_every=5), out)
    return out


@pytest.fixture(scope="module")
def shipped(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(run, "folder", Wanted(out=tmp_path_factory.mktemp("shipped") / "model")).out


def answers(path: Path) -> list[tuple[str, float]]:
    return [(answer.text, answer.score) for answer in Pipeline.load(path, "cpu").predict(SOURCES)]


def test_it_holds_what_serving_needs_bit_by_bit(run: Path, shipped: Path) -> None:
    assert sorted(path.name for path in shipped.iterdir()) == sorted([*MODEL_FILES, "README.md", "export.json"])
    assert all((shipped / name).read_bytes() == (run / "model" / name).read_bytes() for name in MODEL_FILES)
    assert answers(shipped) == answers(run)


def test_its_record_says_what_was_proved(shipped: Path) -> None:
    record = read_record(shipped / "export.json")
    assert set(record["files"]) == {*MODEL_FILES, "README.md"}
    assert all(hash_file(shipped / name) == facts["sha256"] for name, facts in record["files"].items())
    checked = {"lines": 40, "of": ["validation data of the run"], "equal_texts": 40, "equal_scores": 40}
    assert record["checked"] == checked


def test_the_card_says_what_the_run_knows(run: Path, shipped: Path, corpus: Corpus) -> None:
    text = (shipped / "README.md").read_text()
    validated = [
        json.loads(line)["valid"] for line in (run / "metrics.jsonl").read_text().splitlines() if "valid" in line
    ]
    data = read_record(run / "data.json")
    sources = [line.split("\t")[0] for line in corpus.valid.read_text().splitlines()]
    assert text.startswith("# spelling\n")
    assert f"| loss | {validated[-1]['loss']:.4g} |" in text
    assert f"| train | train.tsv | 600 | {data['train']['sha256']} |" in text
    assert "## Licence\n\nNot stated." in text
    assert "| step of these weights | 10 |" in text
    assert "At most 1,000 source tokens are read at once; a longer text is split" in text
    assert sum(f"\n    {source}\n    → " in text for source in set(sources)) == 3
    for place in (corpus.train.parent, run.parent, shipped.parent):
        assert str(place) not in text + (shipped / "export.json").read_text()


def test_a_model_folder_gives_a_card_with_what_is_known(run: Path, tmp_path: Path) -> None:
    model, lines = tmp_path / "bare", tmp_path / "secret" / "lines.txt"
    shutil.copytree(run / "model", model)
    lines.parent.mkdir()
    lines.write_text("abc\ngf\n")
    with pytest.raises(ConfigError, match=r"bare has no validation data .* --on test.tsv"):
        export(model, "folder", Wanted(out=tmp_path / "out"))
    export(model, "folder", Wanted(out=tmp_path / "out", on=(str(lines),), licence="CC BY 4.0"))
    text = (tmp_path / "out" / "README.md").read_text()
    assert "What it was trained on is not known: the model came without its run." in text
    assert "## Licence\n\nCC BY 4.0\n" in text
    assert "to lines of lines.txt" in text
    assert "secret" not in text
    assert "\n    abc\n    → " in text
    assert answers(tmp_path / "out") == answers(run)


def test_an_export_is_exported_again(run: Path, shipped: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(shipped, copy)
    for _ in range(2):  # onto itself: the old one is replaced whole
        export(copy, "folder", Wanted(out=copy, on=(str(written(tmp_path)),)))
    assert answers(copy) == answers(run)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "lines.txt"]


def written(folder: Path) -> Path:
    (folder / "lines.txt").write_text("abc\n")
    return folder / "lines.txt"


def test_nothing_is_left_where_the_copy_answers_otherwise(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plainly = folder.answered
    monkeypatch.setattr(
        folder,
        "answered",
        lambda pipeline, lines, wanted, before: [
            (text, score + before) for text, score in plainly(pipeline, lines, wanted, before)
        ],
    )
    with pytest.raises(StorageError, match=r"The copy answers 40 of 40 lines otherwise than .*spelling; the first is"):
        export(run, "folder", Wanted(out=tmp_path / "made" / "out"))
    assert list((tmp_path / "made").iterdir()) == []


def test_what_is_there_is_not_written_over(run: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is there and is no export of dragoman"):
        export(run, "folder", Wanted(out=tmp_path))
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_answers_in_bytes_are_proved(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights stay as they are; what is proved is that answers in int8 are good enough."""
    monkeypatch.setattr("dragoman.nn.int8.WORTH_ROUNDING", 0)  # this model is small
    found = export(run, "folder", Wanted(out=tmp_path / "out", quantize="int8", equal=0.9))  # and has hardly learned
    assert (found.out / "model.safetensors").read_bytes() == (run / "model" / "model.safetensors").read_bytes()
    assert found.facts["int8"]["equal_texts"] >= 0.9 * found.facts["int8"]["lines"]
    assert 0 < found.facts["int8"]["largest_difference"] < 0.1
    assert any("greedy answers are those of torch" in sentence for sentence in found.sentences)
    large = Pipeline.load(found.out, "cpu")
    small = large.quantized()
    scores = [[one.log_probability for one in each.score([("abc", "c b a")])] for each in (small, large)]
    assert scores[0] != scores[1]
    assert scores[0] == pytest.approx(scores[1], abs=0.1)


def test_answers_in_bytes_that_are_too_different(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.export.agreement.LEAST_EQUAL", {"none": 1.0, "int8": 1.01})
    with pytest.raises(NumericalError, match="does not answer as the run does") as caught:
        export(run, "folder", Wanted(out=tmp_path / "out", quantize="int8"))
    assert "101% must be" in str(caught.value)
    assert "if these answers are as good, say --equal 1.00; else export without --quantize." in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_how_much_the_run_prefers_its_own_answers(run: Path) -> None:
    pipeline = Pipeline.load(run, "cpu")
    [own] = pipeline.score([("abc", "c b a")])
    [other] = pipeline.score([("abc", "a")])
    wanted = own.log_probability / 4 - other.log_probability / 2  # END counted
    assert less_probable(pipeline, [("abc", "c b a"), ("ab", "b a")], ["a", "b a"]) == pytest.approx(wanted)
    assert less_probable(pipeline, [("abc", "c b a")], ["c b a"]) == 0


def test_a_share_of_equal_answers_is_for_int8(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    done = dragoman("export", run, "--to", "folder", "--out", tmp_path / "out", "--equal", "0.9")
    assert done.code == 2
    assert "--equal is for answers that rounding may change" in done.err


def test_the_verb(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    out = tmp_path / "out"
    done = dragoman("export", run, "--to", "folder", "--out", out, "--licence", "CC0", "--json")
    assert done.code == 0, done.err
    facts = json.loads(done.out)
    assert (facts["to"], facts["out"], facts["licence"]) == ("folder", str(out), "CC0")
    assert facts["checked"]["equal_scores"] == 40
    done = dragoman("export", run, "--to", "folder", "--lines", 3, "--out", out)
    assert (done.code, done.out) == (0, f"{out}\n")
    assert "The copy answered 3 held-out lines as the original does" in done.err
    assert "no licence is stated; --licence states one" in done.err
    done = dragoman("export", run, "--to", "foldr")
    assert (done.code, done.out) == (2, "")
    assert "Did you mean 'folder'?" in done.err
    done = dragoman("export", run, "--to", "ctranslate2", "--licence", "CC0")
    assert done.code == 2
    assert "--licence is for the card that --to folder writes" in done.err
    assert dragoman("predict", out, stdin="abc\n").out == dragoman("predict", run, stdin="abc\n").out


def test_texts_mean_nothing_on_a_card() -> None:
    assert plain("<img src=x onerror=y> | [a](b) `c` *d*\n# e") == (
        "&lt;img src=x onerror=y&gt; \\| \\[a\\](b) \\`c\\` \\*d\\* \\# e"
    )
    assert verbatim("a\n\n    b\u202ec\0d" + "x" * 500) == f"a b c d{'x' * 193}…"
    assert base_name("/home/me/secret/train.tsv") == base_name("C:\\me\\train.tsv") == "train.tsv"
