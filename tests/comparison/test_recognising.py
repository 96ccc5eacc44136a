"""What kind of data a file holds, which ladder belongs to it, and what of it is held out."""

import json
from pathlib import Path

import numpy as np
import pytest

from command_line import CommandLine
from dragoman.comparison.kinds import named_kind
from dragoman.comparison.ladder import ladder, rung_names
from dragoman.data.readers.captions import Captions, read_captions_split
from dragoman.data.readers.files import FilesWithAnswers
from dragoman.data.readers.labelled import Labelled, read_labelled_split
from dragoman.data.readers.pairs import Problems
from dragoman.data.readers.recognising import looks_like
from dragoman.errors import ConfigError
from dragoman.recipes import compose, read_rungs, recipe_names


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.tsv", "grow\tG R OW\n", "pairs"),
        ("a.csv", "source,target\n1,2\n", "pairs"),  # no id: numbers may be texts
        ("a.csv", "id,text\n1,hello\n", "pairs"),
        ("a.jsonl", json.dumps({"source": "a", "target": "b"}), "pairs"),
        ("a.jsonl", json.dumps({"turns": ["Hi!", "Hello."]}), "conversations"),
        ("a.jsonl", json.dumps({"turns": "Hi!"}), "pairs"),
        ("a.tsv", "picture\tcaption\na/1.png\ta disc\n", "captions"),
        ("a.tsv", "file\ttext\nreadme\ta disc\n", "pairs"),  # no picture is called so
        ("a.jsonl", json.dumps({"image": "1.JPG", "captions": ["a disc"]}), "captions"),
        ("a.csv", "id,x [m],y [m]\n1,0.5,\n", "tracks"),
        ("a.jsonl", json.dumps({"past": [[0, 1]], "future": [[1, 2]]}), "tracks"),
        ("a.npz", "", "tracks"),
        ("a.csv", "id,x,label\n1,0.5,up\n", "frames"),
        ("a.jsonl", json.dumps({"frames": [[0, 1]], "labels": ["up"]}), "frames"),
        ("a.tsv", "clip\tlabel\ntrain/1\tup\n", "clips"),
        ("a.csv", "clip,frame,label\n1,1/01.png,up\n", "clips"),
        ("a.csv", "id,x\n", "pairs"),  # nothing below the header
        ("a.tsv", "sentence\tlabel\ngood\tpos\n", "labelled"),
        ("a.csv", "idx,premise,hypothesis,label\n1,a,b,yes\n", "labelled"),
        ("a.jsonl", json.dumps({"text": "good", "label": 1}), "labelled"),
        ("a.jsonl", json.dumps({"question": "a", "answer": "b", "category": "c"}), "pairs"),  # an answer may be wanted
        ("a.tsv", "good\tpos\n", "pairs"),  # no names
        ("a.jsonl", json.dumps({"words": ["a"], "tags": ["DET"]}), "tagged"),
        ("a.conll", "a\tDET\ndog\tNOUN\n\nit\tPRON\n\na\tDET\n", "tagged"),
        ("a.tsv", "a\tDET\n\ndog\tNOUN\n", "pairs"),  # a blank line may be a mistake
        ("a.tsv", "a\tdas Haus\n\nb\tc\n\nd\te\n", "pairs"),
    ],
)
def test_files_are_recognised(tmp_path: Path, name: str, content: str, kind: str) -> None:
    (tmp_path / name).write_text(content)
    assert looks_like(str(tmp_path / name)) == kind


def test_arrays_are_recognised_by_their_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", values=np.zeros((2, 3)))
    np.savez(tmp_path / "b.npz", values=np.zeros((2, 3)), label=np.array(["up", "down"]))
    assert looks_like(str(tmp_path / "a.npz")) == "tracks"
    assert looks_like(str(tmp_path / "b.npz")) == "frames"
    np.savez(tmp_path / "c.npz", images=np.zeros((1, 2, 2), np.uint8), captions=np.array(["a"]))
    assert looks_like(str(tmp_path / "c.npz")) == "captions"


def test_what_was_said_counts_more_than_how_a_file_looks(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"turns": ["a", "b"]}')
    assert named_kind({}, [str(tmp_path / "a.jsonl")]) == "conversations"
    assert named_kind({"data": {"kind": "pairs"}}, [str(tmp_path / "a.jsonl")]) == "pairs"
    assert named_kind({}, [("a.de", "a.en")]) == named_kind({}, ["absent.tsv"]) == named_kind({}, []) == "pairs"


def test_a_ladder_is_one_of_the_kind_of_the_data() -> None:
    assert not {one.recipe for one in ladder()} & {"hred", "xu2015", "trajectories", "tag-frames", "classify-clips"}
    found = {
        kind: [one.name for one in ladder(None, kind)]
        for kind in ("conversations", "captions", "tracks", "clips", "labelled", "tagged")
    }
    assert found == {
        "conversations": ["last-turn", "turns-joined", "hierarchical"],
        "captions": ["xu2015-once", "xu2015-soft", "xu2015-hard"],
        "tracks": ["trajectories-rnn", "trajectories-transformer", "trajectories-mixture"],
        "clips": ["classify-clips-alone", "classify-clips-rnn", "classify-clips-transformer"],
        "labelled": ["fasttext", "classify"],
        "tagged": ["tag-words", "tag-letters", "tag-crf"],
    }
    with pytest.raises(
        ConfigError, match=r"several ways \(data\.kind = 'frames'\): classify-frames or tag-frames\. Name"
    ):
        ladder(None, "frames")
    with pytest.raises(
        ConfigError, match=r"No recipe of data\.kind = 'texts' has a place in the ladder\. Name the recipes"
    ):
        ladder(None, "texts")


def test_every_rung_can_be_named_alone_and_composed() -> None:
    """At the recipe's own scale, and at the smallest."""
    every = [(rung, name) for name in recipe_names() for rung in read_rungs(name)]
    assert {rung.name for rung, name in every if rung.name not in recipe_names()} == {*rung_names()}
    for rung, name in every:
        for scale in (rung.scale or None, "tiny"):
            files = {"train": ("a",), "valid": ("b",)}
            from_settings = {f"{part}": value for part, value in rung.settings.items()}
            assert compose(name, scale, settings=from_settings, **files).settings.model is not None


def test_a_test_part_is_neither_learned_from_nor_validated_on(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("text\tlabel\n" + "".join(f"text {n}\t{n % 2}\n" for n in range(200)))
    data = Labelled(train=(str(tmp_path / "a.tsv"),), hold_out=0.1, hold_out_test=0.2)
    parts = [{one.texts for one in read_labelled_split(data, name, False, Problems())} for name in ("train", "valid")]
    assert not parts[0] & parts[1]
    assert 20 < 200 - len(parts[0] | parts[1]) < 60
    own = data.changed(valid=(str(tmp_path / "a.tsv"),))  # files of their own are taken whole
    assert len(list(read_labelled_split(own, "valid", False, Problems()))) == 200
    assert len(list(read_labelled_split(own, "train", False, Problems()))) == 200 - (200 - len(parts[0] | parts[1]))


def test_all_captions_of_a_picture_stay_together(tmp_path: Path) -> None:
    lines = [f"{n % 50}.png\tcaption {n}\n" for n in range(150)]
    (tmp_path / "a.tsv").write_text("picture\tcaption\n" + "".join(lines))
    data = Captions(train=(str(tmp_path / "a.tsv"),), hold_out=0.2, hold_out_test=0.2)
    found = {name: {one.picture for one in read_captions_split(data, name, Problems())} for name in ("train", "valid")}
    held_out = {f"{n}.png" for n in range(50)} - found["train"] - found["valid"]
    assert len(held_out) > 3
    assert all(data.keeps(name, "test") for name in held_out)
    assert FilesWithAnswers().keeps("anything", "train")


def test_train_and_data_recognise_files_too(tmp_path: Path, dragoman: CommandLine) -> None:
    """Without a recipe pairs are learned, and nothing that is plainly something else."""
    (tmp_path / "a.tsv").write_text("picture\tcaption\na.png\ta dog\nb.png\ta cat\n")
    done = dragoman("train", tmp_path / "a.tsv", "--out", tmp_path / "run", "--steps", 1)
    assert done.code == 2
    assert (
        "a.tsv looks like captions, and without a recipe pairs are learned. Name one: dragoman train xu2015" in done.err
    )
    assert not (tmp_path / "run").exists()
    done = dragoman("data", tmp_path / "a.tsv")
    assert "a.tsv looks like captions (data.kind=captions; data.kind=pairs where it is not).\n" in done.err
    assert "looks like" not in dragoman("data", tmp_path / "a.tsv", "data.kind=pairs").err
