"""Captions, from the command line and from Python: learning, describing, tags, measuring, resuming, and bad input."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import dragoman as package
from command_line import CommandLine
from dragoman.config import merge, nest, validate
from dragoman.data.readers.captions import Captions
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.captions import evaluate_captions, validated_pictures
from dragoman.experiment import Experiment, train
from dragoman.pipeline import Pipeline
from dragoman.pipeline.pictures import Picture
from dragoman.pipeline.scoring import scores_of
from dragoman.training.averaging import average_run
from dragoman.training.events import Validated
from dragoman.weights import read_tensors
from tiny import of_kind

COLOURS = {"red": ("rot", (255, 0, 0)), "green": ("gruen", (0, 200, 0)), "blue": ("blau", (0, 0, 255))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of one colour and one that is broken, with captions in two languages."""
    folder = tmp_path_factory.mktemp("pictures")
    rows = ["picture\tcaption\tlanguage"]
    for number in range(24):
        name, (word, colour) = list(COLOURS.items())[number % 3]
        Image.new("RGB", (10 + number % 3, 10), colour).save(folder / f"{number:02}.png")
        rows += [f"{number:02}.png\tall {name}\ten", f"{number:02}.png\talles {word}\tde"]
    (folder / "all.tsv").write_text("\n".join(rows) + "\n")
    (folder / "plain.tsv").write_text("\n".join(row.rpartition("\t")[0] for row in [rows[0], *rows[1::2]]) + "\n")
    (folder / "broken.png").write_bytes(b"nothing")
    return folder


def settings(folder: Path, **more: Any) -> Experiment:
    table = nest(
        {
            ("data", "kind"): "captions",
            ("data", "train"): [str(folder / "all.tsv")],
            ("data", "valid"): [str(folder / "all.tsv")],
            ("data", "tag_field"): "language",
            ("model", "source"): {
                "kind": "image_grid",
                "size": 8,
                "grid": 2,
                "width": 12,
                "channels": 4,
                "dropout": 0.0,
            },
            ("model", "target", "width"): 8,
            ("model", "encoder", "kind"): "identity",
            ("model", "decoder"): {"kind": "rnn", "width": 16, "readout_width": 8, "dropout": 0.0},
            ("target", "kind"): "words",
            ("limits", "answer"): 8,
            ("training", "steps"): 100,
            ("training", "validate_every"): 50,
            ("training", "save_every"): 50,
            ("training", "batching", "sentences"): 8,
            ("training", "optimiser", "rate"): 0.02,
            ("training", "estimate"): False,
            ("training", "threads"): 1,
            ("evaluation", "report"): 0,
        }
    )
    own = nest({tuple(name.split("__")): value for name, value in more.items()})
    return validate(Experiment, merge(table, own))


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    list(train(settings(folder), out))
    return out


@pytest.fixture(scope="module")
def pipeline(run: Path) -> Pipeline:
    return Pipeline.load(run)


def test_pictures_are_described_in_the_language_that_is_asked_for(pipeline: Pipeline, folder: Path) -> None:
    first = str(folder / "00.png")
    assert pipeline.predict(first).text == "all red"  # the first tag of the data
    assert pipeline.predict(first, tag="de").text == "alles rot"
    assert [one.text for one in pipeline.predict([first, folder / "01.png"], tag="de")] == ["alles rot", "alles gruen"]
    blue = Image.new("RGB", (30, 30), (0, 0, 255))
    assert pipeline.predict(blue).text == pipeline.predict(np.asarray(blue)).text == "all blue"
    assert pipeline.spec() == {"source": "image", "target": "text"}
    assert pipeline.captions is not None
    assert pipeline.captions.tags == ("en", "de")


def test_an_average_knows_its_tags(run: Path, pipeline: Pipeline, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    averaged = Pipeline.load(average_run(tmp_path / "run", last=2).out)
    assert averaged.captions == pipeline.captions


def test_an_answer_shows_where_each_word_looked(pipeline: Pipeline, folder: Path) -> None:
    """The tag is no word of it, and what it looked at is left out too."""
    best = pipeline.predict(str(folder / "02.png"), tag="de").best
    assert (best.tokens, best.grid) == (("alles", "blau"), (2, 2))
    assert best.source_tokens == ("1,1", "1,2", "2,1", "2,2")
    assert best.alignment is not None
    assert [len(row) for row in best.alignment] == [4, 4, 4]  # END last
    assert all(sum(row) == pytest.approx(1) for row in best.alignment)
    assert best.aligned().source == best.source_tokens


def test_neighbours_change_nothing(pipeline: Pipeline, folder: Path) -> None:
    paths = [str(folder / f"{number:02}.png") for number in range(5)]
    together = pipeline.predict(paths, beam=2)
    for path, answer in zip(paths, together, strict=True):
        alone = pipeline.predict(path, beam=2)
        assert (alone.text, alone.score) == (answer.text, pytest.approx(answer.score, abs=1e-5))


def test_files_folders_and_lines(run: Path, folder: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    for name in ("00.png", "01.png"):
        shutil.copy(folder / name, tmp_path / name)
    done = dragoman("predict", run, folder / "02.png", tmp_path, "--tag", "de")
    assert done.out.splitlines() == [
        f"{folder / '02.png'}\talles blau",
        f"{tmp_path / '00.png'}\talles rot",
        f"{tmp_path / '01.png'}\talles gruen",
    ]
    done = dragoman("predict", run, "--json", stdin=f"{folder / '01.png'}\n")
    found = json.loads(done.out)
    assert found["picture"] == str(folder / "01.png")
    assert found["predictions"][0]["text"] == "all green"
    assert len(found["predictions"][0]["alignment"]) == 3
    assert dragoman("predict", run, folder / "00.png", "--prefix", "all").out.endswith("\tall red\n")


def test_a_picture_that_cannot_be_read(run: Path, folder: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    broken = folder / "broken.png"
    done = dragoman("predict", run, broken, folder / "00.png")
    assert (done.code, done.out) == (3, "")
    sentence = f"{broken} is no picture in PNG, JPEG, WEBP, GIF or BMP."
    assert done.err == f"dragoman: {sentence} Mend it, or give --skip-bad to have such pictures left out.\n"
    done = dragoman("predict", run, broken, folder / "00.png", "--skip-bad")
    assert (done.code, done.out.splitlines()) == (0, [f"{broken}\t", f"{folder / '00.png'}\tall red"])
    assert "It has no caption." in done.err
    assert "1 picture could not be read." in done.err
    done = dragoman("predict", run, broken, "--skip-bad", "--json")
    assert json.loads(done.out) == {
        "picture": str(broken),
        "error": f"{broken} is no picture in PNG, JPEG, WEBP, GIF or BMP.",
    }
    done = dragoman("predict", run, tmp_path)
    assert (done.code, f"There is no picture in {tmp_path}: no file ends in .png" in done.err) == (3, True)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--tag", "dee"], "No tag is called 'dee'. Did you mean 'de'? Known: de, en."),
        (["--alignments"], "--alignments is about source texts, and this model describes pictures"),
        (["--longer", "cut"], "--longer is about source texts, and this model describes pictures"),
        (["--with", "RUN"], "--with is for models that write an answer to a text, or go on with one"),
        (["--engine", "ctranslate2"], "--engine ctranslate2 is for models that write an answer to a text"),
        (["rollout.temperature=2"], "rollout is for models that go on with tracks by a mixture"),
    ],
)
def test_what_makes_no_sense_for_pictures(
    run: Path, folder: Path, dragoman: CommandLine, words: list[str], sentence: str
) -> None:
    done = dragoman("predict", run, folder / "00.png", *words)
    assert (done.code, sentence in done.err) == (2, True), done.err


def test_pictures_are_named_from_another_folder(run: Path, folder: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    known = dragoman("predict", run, folder / "00.png").out
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as file:
        file.write(folder / "00.png", "in/00.png")
    for name, place in (("00.png", folder), ("in/00.png", tmp_path / "all.zip")):
        assert dragoman("predict", run, name, f"data.pictures={place}").out == known.replace(
            str(folder / "00.png"), name
        )
    done = dragoman("predict", run, "00.png", "data.tag_field=language")
    assert (done.code, "What may be given: data.pictures, the folder or ZIP that their names" in done.err) == (2, True)
    shutil.copy(folder / "all.tsv", tmp_path / "all.tsv")
    done = dragoman("evaluate", run, tmp_path / "all.tsv")
    assert (done.code, "name their folder, or their ZIP (data.pictures=…)." in done.err) == (3, True), done.err
    assert dragoman("evaluate", run, tmp_path / "all.tsv", f"data.pictures={folder}").code == 0


def test_what_other_verbs_say(run: Path, folder: Path, dragoman: CommandLine) -> None:
    for words in (["embed", run], ["export", run, "--to", "onnx", "--out", folder / "x"]):
        done = dragoman(*words, stdin="a text\n")
        assert done.code == 2, done.err
        assert "pictures" in done.err or "reads no texts" in done.err, done.err
    for to in ("onnx", "ctranslate2", "folder"):
        assert (
            "This model describes pictures, which no other form holds yet." in dragoman("export", run, "--to", to).err
        )
    assert "One talks in texts, and this model reads pictures." in dragoman("chat", run).err


@pytest.mark.parametrize("tokenizer", ["words", "characters"])
def test_validation_counts_what_a_score_counts(folder: Path, tmp_path: Path, tokenizer: str) -> None:
    """A tag is given, be it one symbol or several."""
    brief = settings(folder, target__kind=tokenizer, training__steps=1, training__validate_every=1, limits__answer=20)
    [validated] = of_kind(list(train(brief, tmp_path / "run")), Validated)
    measured = evaluate_captions(Pipeline.load(tmp_path / "run"), [str(folder / "all.tsv")], ("exact_match",), beam=1)
    found = {one.name: one.value for one in measured.whole.metrics}
    assert validated.values["perplexity"] == pytest.approx(found["perplexity"], rel=1e-5)


def test_measured_over_all_captions_and_tag_by_tag(run: Path, folder: Path, dragoman: CommandLine) -> None:
    (folder / "test.tsv").write_text(
        "picture\tcaption\tlanguage\n00.png\tall red\ten\n00.png\tred\ten\n00.png\trot\tde\nbroken.png\tx\ten\n"
    )
    done = dragoman("evaluate", run, folder / "test.tsv", "--json", "--metric", "exact_match", "--metric", "token_f1")
    found = json.loads(done.out)
    assert (found["items"], found["references"], found["bad_lines"]) == (2, 3, 1)
    assert "the picture is no picture in PNG" in done.err
    assert found["metrics"]["exact_match"]["value"] == 50
    assert found["baselines"]["rows"]["nearest"]["metrics"]["exact_match"]["value"] >= 50  # it was trained on
    assert found["tags"]["en"]["exact_match"]["value"] == 100
    assert found["tags"]["de"]["exact_match"]["value"] == 0
    assert found["tags"]["de"]["token_f1"]["value"] == pytest.approx(100 * 2 / 3)
    table = dragoman("evaluate", run, folder / "test.tsv", "--metric", "exact_match").out
    assert "2 pictures, 3 references" in table
    assert "de          0.00" in table


def test_one_language_from_a_file_without_tags(run: Path, folder: Path, pipeline: Pipeline) -> None:
    result = evaluate_captions(pipeline, [str(folder / "plain.tsv")], ("exact_match",), {"tag_field": ""})
    assert result.whole.metrics[0].value == 100
    assert not result.by_tag


def test_each_words_look_lies_over_the_picture(run: Path, folder: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    """A page that loads nothing, a PNG, and in the terminal the cell that each word looked at most."""
    done = dragoman("look", run, folder / "00.png", "--html", tmp_path / "a.html", "--png", tmp_path / "a.png")
    assert done.code == 0, done.err
    page = (tmp_path / "a.html").read_text()
    assert page.count('src="data:image/png;base64,') == 4  # the picture, two words, END
    assert "img-src data:" in page
    assert "http" not in page.replace("http-equiv", "")
    assert Image.open(tmp_path / "a.png").width > 400
    told = dragoman("look", run, folder / "00.png", "--tag", "de").out.splitlines()
    assert [line.split("\t")[0].strip() for line in told[1:]] == ["alles", "rot", "END"]
    assert all("of 2 × 2: " in line for line in told[1:])
    found = json.loads(dragoman("look", run, folder / "00.png", "--json").out)
    assert len(found["predictions"][0]["alignment"][0]) == 4
    for words, sentence in (
        (["--target", "x", "--target", "y"], "There are 1 pictures and 2 targets. Give --target once for each picture"),
        (["--target", "x", "--width", "2"], "With --target nothing is searched for, so --width means nothing"),
        (["--svg", tmp_path / "a.svg"], "--svg is for maps of texts; looks at a picture are pictures: use --png or"),
        (["--beam"], "This model reads no texts"),
    ):
        done = dragoman("look", run, folder / "00.png", *words)
        assert (done.code, sentence in done.err) == (2, True), done.err


def test_a_given_caption_is_looked_at(run: Path, folder: Path, pipeline: Pipeline, dragoman: CommandLine) -> None:
    """As if the model had said it: its own caption has its own looks, and another is less probable."""
    picture = str(folder / "00.png")
    own = pipeline.predict(picture, tag="de").best
    told = dragoman("look", run, picture, "--tag", "de", "--target", "alles rot", "--json")
    best = json.loads(told.out)["predictions"][0]
    assert (best["text"], best["tokens"]) == ("alles rot", ["alles", "rot"])
    assert np.allclose(best["alignment"], own.alignment or 0, atol=1e-5)
    assert best["log_probability"] == pytest.approx(sum(own.token_log_probabilities), abs=1e-4)
    other = dragoman("look", run, picture, "--target", "all blue")
    assert [line.split("\t")[0].strip() for line in other.out.splitlines()[1:]] == ["all", "blue", "END"]
    empty = dragoman("look", run, picture, "--target", " ")
    assert (empty.code, f"The caption of {picture} is empty: there is nothing to look at." in empty.err) == (3, True)


def test_a_tag_is_given_and_not_scored(pipeline: Pipeline, folder: Path) -> None:
    """It stands before every caption, so that it says nothing of how well a picture is described."""
    picture = Picture(str(folder / "00.png"), tag="de")
    [scored] = scores_of(pipeline, [(picture, "alles rot")])
    assert scored.tokens[:2] == ("alles", "rot")
    own = pipeline.predict(str(folder / "00.png"), tag="de").best
    assert scored.token_log_probabilities == pytest.approx(own.token_log_probabilities, abs=1e-5)
    assert scored.log_probability == pytest.approx(sum(own.token_log_probabilities), abs=1e-4)


def test_the_report_shows_pictures_captions_and_looks(run: Path, folder: Path, dragoman: CommandLine) -> None:
    done = dragoman("report", run, "--lines", "20")
    assert done.code == 0, done.err
    page = (run / "report.html").read_text()
    assert "described as a person did" in page
    assert all(title in page for title in ("Pictures and captions", "Where each word looked", "The worst errors"))
    assert page.count("<img") > 20
    assert "http" not in page.replace("http-equiv", "")
    found = json.loads(dragoman("report", run, "--lines", "20", "--json").out)
    assert set(found["measured"]["tags"]) == {"en", "de"}
    assert found["measured"]["metrics"]["exact_match"]["value"] == 5 * found["measured"]["right"]


def test_a_killed_run_goes_on_with_the_same_bits(folder: Path, run: Path, tmp_path: Path) -> None:
    half = tmp_path / "half"
    list(train(settings(folder, training__steps=50), half))
    list(train(settings(folder), half))
    weights = [read_tensors(one / "checkpoints" / "step-100" / "model.safetensors") for one in (run, half)]
    assert weights[0].keys() == weights[1].keys()
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[0])


def test_bad_pictures_are_counted_and_located(folder: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    lines = [(folder / "all.tsv").read_text(), "broken.png\tx\ten\n", "gone.png\tx\ten\n"]
    (folder / "bad.tsv").write_text("".join(lines))
    with pytest.raises(DataError) as caught:
        list(train(settings(folder, data__train=[str(folder / "bad.tsv")]), tmp_path / "refused"))
    assert "2 bad lines" in str(caught.value)
    assert f"{folder / 'bad.tsv'}:50: the picture is no picture in PNG, JPEG, WEBP, GIF or BMP" in str(caught.value)
    out = tmp_path / "run"
    list(train(settings(folder, data__train=[str(folder / "bad.tsv")], data__max_bad=0.1, training__steps=1), out))
    bad = [json.loads(line) for line in (out / "bad_lines.jsonl").read_text().splitlines()]
    assert [(one["line"], one["reason"]) for one in bad] == [
        (50, "the picture is no picture in PNG, JPEG, WEBP, GIF or BMP"),
        (51, "the picture is not there"),
    ]


def test_a_validation_picture_that_cannot_be_read(folder: Path, tmp_path: Path) -> None:
    """A metric is measured on the others, whatever else stands among them."""
    (folder / "spoilt.tsv").write_text("picture\tcaption\tlanguage\nbroken.png\tx\ten\n00.png\tall red\ten\n")
    more = {"data__max_bad": 0.5, "training__monitor": "exact_match", "training__steps": 1}
    chosen = settings(folder, data__valid=[str(folder / "spoilt.tsv")], training__validate_every=1, **more)
    [validated] = of_kind(list(train(chosen, tmp_path / "run")), Validated)
    assert "exact_match" in validated.values
    (folder / "hopeless.tsv").write_text("broken.png\tx\n")
    with pytest.raises(
        DataError, match=r"No picture to validate on can be read\.\n  1 × the picture is no picture in PNG"
    ):
        validated_pictures(Captions(valid=(str(folder / "hopeless.tsv"),)), 5)


def test_damaged_pictures_are_read_again_and_changed_ones_refused(folder: Path, tmp_path: Path) -> None:
    own, out = tmp_path / "pictures", tmp_path / "run"
    shutil.copytree(folder, own)
    list(train(settings(own, training__steps=2), out))
    pixels = out / "data" / "train" / "pictures" / "pixels.bin"
    pixels.write_bytes(b"\1" * len(pixels.read_bytes()))
    messages = [str(event) for event in train(settings(own, training__steps=4), out)]
    assert any("is damaged: picture" in message and "That is done now" in message for message in messages)
    pixels.write_bytes(b"\1" * len(pixels.read_bytes()))
    Image.new("RGB", (8, 8), (9, 9, 9)).save(own / "00.png")
    with pytest.raises(DataError, match="Pictures changed since the run was begun"):
        list(train(settings(own, training__steps=6), out))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"source__kind": "words"}, "pictures have no symbols, so that source.kind = 'words' is for nothing"),
        (
            {"target": {"kind": "shared"}},
            "target.kind = 'shared' is one vocabulary for two sides, and a picture has none",
        ),
        ({"data": {"kind": "pairs"}}, "model.source.kind = 'image_grid' reads pictures, and data.kind is 'pairs'"),
        ({"model__source": {"kind": "tokens"}}, "data.kind = 'captions' is for a model that describes pictures"),
        ({"model__tie": "all"}, "model.tie = 'all' is for symbols"),
        ({"target": {"kind": "bpe", "sampling": 0.1}}, "target.sampling spells a text anew in every epoch"),
        (
            {"model__encoder": {"kind": "transformer", "positions": {"kind": "learned", "length": 3}, "heads": 2}},
            "cells of model.source.grid = 4 lets through more than model.encoder.positions.length = 3",
        ),
    ],
)
def test_settings_that_do_not_fit(folder: Path, tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        list(train(settings(folder, **changes), tmp_path / "run"))
    assert sentence in str(caught.value)


@pytest.mark.parametrize("encoder", [{"kind": "rnn", "width": 6}, {"kind": "transformer", "heads": 2, "layers": 1}])
@pytest.mark.parametrize("decoder", [{"kind": "rnn", "width": 6}, {"kind": "transformer", "heads": 2, "layers": 1}])
def test_any_encoder_and_decoder(folder: Path, tmp_path: Path, encoder: Any, decoder: Any) -> None:
    made = settings(folder, model__encoder=encoder, model__decoder=decoder, training__steps=2)
    list(train(made, tmp_path / "run"))
    assert isinstance(package.load(tmp_path / "run").predict(str(folder / "00.png")).text, str)


@pytest.mark.slow
def test_arrays_are_learned_described_and_measured(tmp_path: Path, dragoman: CommandLine) -> None:
    """Gray strips, twice as wide as high: which half is dark."""
    names = ["left", "right"] * 8
    strips = np.full((16, 4, 8), 200, np.uint8)
    for number, name in enumerate(names):
        strips[number, :, slice(0, 4) if name == "left" else slice(4, 8)] = 10 * number // 4
    np.savez_compressed(tmp_path / "strips.npz", images=strips, captions=np.array(names))
    file, run = tmp_path / "strips.npz", tmp_path / "run"
    wide = {"model__source__size": (4, 8), "model__source__grid": 2, "model__source__summary": "columns"}
    own = {"data__train": [str(file)], "data__valid": [str(file)], "data__tag_field": "", "training__steps": 60}
    list(train(settings(tmp_path, **wide, **own), run))
    assert dragoman("predict", run, file).out.splitlines()[:2] == ["strips.npz[0]\tleft", "strips.npz[1]\tright"]
    done = dragoman("evaluate", run, file, "--metric", "exact_match", "--json")
    assert json.loads(done.out)["metrics"]["exact_match"]["value"] == 100
    assert dragoman("look", run, file, "--html", tmp_path / "looks.html").code == 0
    np.savez(tmp_path / "bare.npz", strips[:1])
    assert dragoman("predict", run, tmp_path / "bare.npz").out == "bare.npz[0]\tleft\n"
    np.savez(tmp_path / "two.npz", strips[:1], strips[:1])
    assert "It is not clear which arrays" in dragoman("predict", run, tmp_path / "two.npz").err
    named = dragoman("predict", run, tmp_path / "two.npz", "data.picture_field=arr_1")
    assert named.out == "two.npz[0]\tleft\n"


def test_the_demo_tells_a_story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from dragoman.cli.demos import captions, playing

    monkeypatch.setattr(captions, "SCALE", "tiny")
    monkeypatch.setattr(captions, "TRAINED", 12)
    monkeypatch.setattr(captions, "VALIDATED", 4)
    monkeypatch.setattr(captions, "TESTED", 4)
    captions.play(playing.Given(tmp_path / "demo", 0.02, False, False), 0.0)
    out, _ = capsys.readouterr()
    assert "with a pair of colour and shape never seen" in out
    assert out.count(" of 4)") == 3
    assert (tmp_path / "demo" / "run" / "report.html").exists()
    assert (tmp_path / "demo" / "run" / "looks.html").read_text().count("<figure>") == 9
    captions.play(playing.Given(tmp_path / "demo", 0.02, False, True), 0.0)
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(result["tests"]) == {"test", "unseen", "more"}
