"""Clips of pictures with labels: how they are read, learned, asked and measured, and what is wrong with them."""

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from command_line import CommandLine
from dragoman.comparison.series import identify
from dragoman.data.frames import FrameEncoding, PictureFrames, build_frames
from dragoman.data.labelling import Labelling, What
from dragoman.data.movements import LABELS, clip, write_clips
from dragoman.data.readers.clips import (
    COMES_BACK,
    Clips,
    natural,
    pictures_in,
    pictures_of,
    read_clips,
    read_clips_split,
)
from dragoman.data.readers.frames import Longer
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.series import Series
from dragoman.errors import DataError
from dragoman.evaluation.labels import evaluate_labels
from dragoman.experiment import Experiment, train
from dragoman.pipeline import Pipeline
from dragoman.recipes import compose
from dragoman.training.events import Prepared, Stepped, Validated
from labels import SMALL
from tiny import bits, of_kind, run_all, run_until

WHITE, BLACK = (255, 255, 255), (0, 0, 0)


def picture(path: Path, colour: tuple[int, int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), colour).save(path)


def faded(folder: Path, splits: dict[str, int]) -> None:
    """Clips that grow lighter or darker: played backwards, the one is the other."""
    draw = np.random.default_rng(3)
    for split, size in splits.items():
        rows = ["clip\tlabel"]
        for number in range(size):
            shades = np.sort(draw.integers(0, 256, int(draw.integers(3, 6))))
            label = ("darker", "lighter")[number % 2]
            for frame, shade in enumerate(shades if label == "lighter" else shades[::-1]):
                picture(folder / f"{split}{number}" / f"{frame}.png", (int(shade),) * 3)
            rows.append(f"{split}{number}\t{label}")
        (folder / f"{split}.tsv").write_text("\n".join(rows) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("clips")
    faded(made, {"train": 64, "valid": 24})
    return made


def small(folder: Path, **settings: Any) -> Experiment:
    own = {name.replace("__", "."): value for name, value in settings.items()}
    given = {**SMALL, "training.batching.sentences": 8, **own}
    files = (str(folder / "train.tsv"),), (str(folder / "valid.tsv"),)
    return compose("classify-clips", "tiny", *files, settings=given).settings


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "clips"
    settings = {"training__steps": 100, "training__optimiser__rate": 0.02, "training__validate_every": 50}
    events = run_all(small(folder, **settings), out)
    assert of_kind(events, Validated)[-1].values["accuracy"] >= 90
    return out


def read(file: Path, what: What = "labels", problems: Problems | None = None, **settings: Any) -> list[Series]:
    return list(read_clips(Clips(**settings), [str(file)], what, problems or Problems()))


def raising(error: Exception) -> Callable[[object], None]:
    def judge(counts: object) -> None:
        raise error

    return judge


def names(one: Series) -> list[str]:
    assert isinstance(one.frames, tuple)
    return [Path(frame).name for frame in one.frames]


def test_a_folder_is_a_clip_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        picture(tmp_path / "a" / f"{number}.png", WHITE)
    (tmp_path / "a" / "notes.txt").write_text("no picture")
    (tmp_path / "clips.tsv").write_text("clip\tlabel\na\tup\n")
    [one] = read(tmp_path / "clips.tsv")
    assert (one.name, names(one), one.labels, one.line) == ("a", ["1.png", "2.png", "10.png"], ("up",), 2)


def test_lists_and_rows_of_pictures(tmp_path: Path) -> None:
    for name in ("x.png", "y.png", "z.png"):
        picture(tmp_path / name, WHITE)
    (tmp_path / "a.jsonl").write_text(json.dumps({"frames": ["y.png", "x.png"], "labels": ["up", "down"]}) + "\n")
    [one] = read(tmp_path / "a.jsonl", "tags")
    assert (names(one), one.labels) == (["y.png", "x.png"], ("up", "down"))
    (tmp_path / "a.csv").write_text("id,picture,label\n1,x.png,up\n1,y.png,down\n2,z.png,up\n")
    assert [(names(one), one.labels) for one in read(tmp_path / "a.csv", "tags")] == [
        (["x.png", "y.png"], ("up", "down")),
        (["z.png"], ("up",)),
    ]


def packed(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "all.zip", "w") as file:
        for path in sorted(folder.rglob("*.png")):
            file.write(path, path.relative_to(folder))
    return folder / "all.zip"


def test_clips_lie_in_a_zip(tmp_path: Path) -> None:
    """A folder in it, a list and rows are read as they are from disk, and learned so."""
    faded(tmp_path / "in", {"train": 12, "valid": 4})
    for name in ("a/2.png", "a/10.png", "a/b/1.png"):
        picture(tmp_path / "in" / name, WHITE)
    pictures = str(packed(tmp_path / "in"))
    (tmp_path / "a.tsv").write_text("clip\tlabel\na\tx\n")
    (tmp_path / "b.jsonl").write_text('{"frames": ["a/10.png", "a/2.png"], "label": "y"}\n')
    assert names(read(tmp_path / "a.tsv", pictures=pictures)[0]) == ["2.png", "10.png"]
    assert names(read(tmp_path / "b.jsonl", pictures=pictures)[0]) == ["10.png", "2.png"]
    plain = run_all(small(tmp_path / "in", training__steps=2), tmp_path / "plain")
    zipped = run_all(small(tmp_path / "in", training__steps=2, data__pictures=pictures), tmp_path / "zipped")
    assert of_kind(plain, Validated)[-1].values == of_kind(zipped, Validated)[-1].values


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("nothing\tup", "the folder of the clip is not there"),
        ("empty\tup", "a clip without pictures"),
        ("../a\tup", "the folder of the clip is not there"),
        ("broken\tup", "frame 1 (1.png) is no picture in PNG, JPEG, WEBP, GIF or BMP"),
    ],
)
def test_bad_clips_in_a_zip_are_told(tmp_path: Path, row: str, reason: str) -> None:
    file = tmp_path / "clips.tsv"
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as made:
        for name in ("a/1.png", "empty/notes.txt", "broken/1.png"):
            made.writestr(name, b"nothing")
    file.write_text(f"clip\tlabel\n{row}\na\tdown\na\tup\n")
    settings = {"data__train": [str(file)], "data__valid": [str(file)], "data__pictures": str(tmp_path / "all.zip")}
    with pytest.raises(DataError) as caught:
        list(train(small(tmp_path, **settings), tmp_path / "run"))
    assert f"{file}:2: {reason}" in str(caught.value)


def test_clips_of_a_comparison_are_known_by_their_pictures(tmp_path: Path) -> None:
    """In a ZIP as on disk, so that a comparison may go on when they were packed."""
    for number in (1, 2):
        picture(tmp_path / "a" / f"{number}.png", (number, 0, 0))
    (tmp_path / "a.tsv").write_text("clip\tlabel\na\tx\n")
    [plain], [zipped] = (read(tmp_path / "a.tsv", pictures=one) for one in ("", str(packed(tmp_path))))
    assert identify(zipped) == identify(plain)
    picture(tmp_path / "a" / "2.png", WHITE)
    assert identify(zipped) != identify(plain)


def test_a_folder_is_held_out_whatever_it_is_called(tmp_path: Path) -> None:
    for number in range(8):
        picture(tmp_path / str(number) / "1.png", WHITE)
    called = [name for number in range(8) for name in (f"{number}", f"./{number}", f"{number}/")]
    (tmp_path / "a.tsv").write_text("clip\tlabel\n" + "".join(f"{name}\tup\n" for name in called))
    data = Clips(train=(str(tmp_path / "a.tsv"),), hold_out=0.5)
    for side in ("train", "valid"):
        kept = [one.name for one in read_clips_split(data, side, "labels", Problems())]
        assert kept == [name for name in called if data.keeps(name.strip("./"), side)]
        assert 0 < len(kept) < len(called)


def test_what_is_no_zip(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("clip\tlabel\na\tup\n")
    (tmp_path / "a.zip").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"a\.zip is no ZIP that can be read\. Give a folder of pictures, or mend it"):
        read(tmp_path / "a.tsv", pictures=str(tmp_path / "a.zip"))
    with pytest.raises(DataError, match=r"There is no folder and no ZIP nowhere \(data\.pictures\)"):
        read(tmp_path / "a.tsv", pictures="nowhere")


def test_a_label_for_each_frame_is_learned(tmp_path: Path) -> None:
    """Lighter than the frame before it or darker: a frame alone does not tell, and a guess is right for half of those
    behind the first."""
    draw = np.random.default_rng(4)
    for split, size in {"train": 80, "valid": 24}.items():
        rows = ["clip\tpicture\tlabel"]
        for number in range(size):
            steps = draw.choice([-1, 1], 4)
            shades = np.clip(128 + 60 * np.concatenate([[0], steps.cumsum()]), 0, 255)
            shades[0] = draw.integers(100, 156)
            labels = ["first", *("lighter" if step > 0 else "darker" for step in steps)]
            for frame, (shade, label) in enumerate(zip(shades, labels, strict=True)):
                name = f"{split}{number}/{frame}.png"
                picture(tmp_path / name, (int(shade),) * 3)
                rows.append(f"{number}\t{name}\t{label}")
        (tmp_path / f"{split}.tsv").write_text("\n".join([*rows, ""]))
    settings = {"model__head__kind": "tags", "training__steps": 100, "training__validate_every": 100}
    events = run_all(small(tmp_path, training__optimiser__rate=0.03, **settings), tmp_path / "run")
    assert of_kind(events, Validated)[-1].values["accuracy"] >= 90
    answer = Pipeline.load(tmp_path / "run").predict(str(tmp_path / "valid0"))
    assert (len(answer.tokens), answer.tokens[0]) == (5, "first")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("nothing\tup", "the folder of the clip is not there"),
        ("empty\tup", "a clip without pictures"),
        ("../a\tup", "outside of the folder of pictures"),
        ("a\t", "empty label"),
        ("a\tup\tmore", "3 columns, and the header has 2"),
    ],
)
def test_bad_clips_are_told(tmp_path: Path, row: str, reason: str) -> None:
    picture(tmp_path / "in" / "a" / "1.png", WHITE)
    (tmp_path / "in" / "empty").mkdir()
    file, problems = tmp_path / "in" / "clips.tsv", Problems()
    file.write_text(f"clip\tlabel\n{row}\na\tup\n")
    assert len(read(file, "labels", problems)) == 1
    assert [str(problem) for problem in problems.first] == [f"{file}:2: {reason}"]


@pytest.mark.parametrize(
    ("clip", "reason"),
    [("null", "a clip without pictures"), ('["a"]', "a name that is no text (\"['a']\")")],
)
def test_clips_without_a_name_are_told(tmp_path: Path, clip: str, reason: str) -> None:
    picture(tmp_path / "None" / "1.png", WHITE)
    file, problems = tmp_path / "clips.jsonl", Problems()
    file.write_text(f'{{"clip": {clip}, "label": "up"}}\n{{"clip": "None", "label": "up"}}\n')
    assert len(read(file, "labels", problems)) == 1
    assert [str(problem) for problem in problems.first] == [f"{file}:1: {reason}"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"1,y.png", "2 columns, and the header has 3"),
        (b"1,y.png,up,no", "4 columns, and the header has 3"),
        (b"1,\xff.png,up", "not valid UTF-8"),
        (b'1,"y.png,up', "broken quotes"),
    ],
)
def test_a_bad_row_costs_its_clip(tmp_path: Path, row: bytes, reason: str) -> None:
    """Of 1, a frame would be missing; the others are whole."""
    for name in ("x.png", "z.png"):
        picture(tmp_path / name, WHITE)
    file, problems = tmp_path / "a.csv", Problems()
    file.write_bytes(b"id,picture,label\n0,x.png,up\n1,x.png,up\n" + row + b"\n1,z.png,up\n2,z.png,up\n")
    assert [(one.name, names(one)) for one in read(file, "labels", problems)] == [("0", ["x.png"]), ("2", ["z.png"])]
    assert [str(problem) for problem in problems.first] == [f"{file}:4: {reason}: its clip is left out"]


@pytest.mark.parametrize(
    ("what", "label", "reason"),
    [
        ("labels", None, "empty label"),
        ("labels", {"a": 1}, "a label that is an object: a label is a text, a number, true or false"),
        ("labels", [["up"]], "a label that is a list: a label is a text, a number, true or false"),
        ("tags", ["up", None], "empty label"),
        ("tags", ["up", {"a": 1}], "a label that is an object: a label is a text, a number, true or false"),
    ],
)
def test_labels_that_are_none(tmp_path: Path, what: What, label: Any, reason: str) -> None:
    picture(tmp_path / "x.png", WHITE)
    file, problems = tmp_path / "a.jsonl", Problems()
    lines = [{"frames": ["x.png", "x.png"], "label": one} for one in (label, [1, 1], [True, True])]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = [one.labels[0] for one in read(file, what, problems)]
    assert found == ["1", "True"]
    assert [str(problem) for problem in problems.first] == [f"{file}:1: {reason}"]


def test_a_clip_that_comes_back_is_told(tmp_path: Path) -> None:
    picture(tmp_path / "x.png", WHITE)
    file, problems = tmp_path / "a.csv", Problems()
    file.write_text("id,picture,label\n1,x.png,up\n2,x.png,up\n1,x.png,down\n1,x.png,down\n3,x.png,up\n")
    assert [(one.name, one.line) for one in read(file, "labels", problems)] == [("1", 2), ("2", 3), ("3", 6)]
    assert [str(problem) for problem in problems.first] == [f"{file}:{line}: {COMES_BACK}" for line in (4, 5)]


@pytest.mark.parametrize(
    "record",
    [
        {"clip": "a\ud800", "label": "up"},
        {"clip": "a\0", "label": "up"},
        {"clip": "a", "label": "\ud800"},
        {"clip": "a", "label": ["up", "\x07"]},
        {"frames": ["a/1.png", "\ud800"], "label": "up"},
    ],
)
def test_names_and_labels_that_cannot_be_written(tmp_path: Path, record: dict[str, Any]) -> None:
    picture(tmp_path / "a" / "1.png", WHITE)
    file, problems = tmp_path / "clips.jsonl", Problems()
    good = {"clip": "a", "frames": ["a/1.png"], "label": "up"}
    file.write_text(f"{json.dumps(good)}\n{json.dumps(record)}\n")
    assert len(read(file, "labels", problems)) == 1
    assert [str(problem) for problem in problems.first] == [f"{file}:2: holds a control character"]


def test_a_link_inside_of_a_clip_does_not_lead_out(tmp_path: Path) -> None:
    """Of a table; who names a folder himself may link what he likes."""
    picture(tmp_path / "elsewhere.png", WHITE)
    for name in ("a", "b"):
        picture(tmp_path / "in" / name / "1.png", WHITE)
    (tmp_path / "in" / "a" / "2.png").symlink_to(tmp_path / "elsewhere.png")
    (tmp_path / "in" / "a" / "2.txt").symlink_to(tmp_path / "elsewhere.png")
    (tmp_path / "in" / "b" / "3.png").symlink_to("1.png")
    (tmp_path / "in" / "b" / "3.txt").symlink_to(tmp_path / "elsewhere.png")
    file, problems = tmp_path / "in" / "clips.tsv", Problems()
    file.write_text("clip\tlabel\na\tup\nb\tup\n")
    assert [names(one) for one in read(file, "labels", problems)] == [["1.png", "3.png"]]
    assert [str(problem) for problem in problems.first] == [f"{file}:2: outside of the folder of pictures"]
    assert len(pictures_in(tmp_path / "in" / "a")) == 2


def test_a_clip_is_held_out_whatever_it_is_called(tmp_path: Path) -> None:
    """Itself, through a link, by its whole path, or from a table of another folder; plain names stay where they
    were."""
    rows = []
    for number in range(12):
        picture(tmp_path / "in" / f"c{number}" / "1.png", WHITE)
        (tmp_path / f"link{number}").symlink_to(tmp_path / "in" / f"c{number}")
        rows += [f"in/c{number}", f"link{number}", str(tmp_path / "in" / f"c{number}")]
    (tmp_path / "outer.tsv").write_text("clip\tlabel\n" + "".join(f"{row}\tup\n" for row in rows))
    inner = tmp_path / "in" / "inner.tsv"
    inner.write_text("clip\tlabel\n" + "".join(f"c{number}\tup\n" for number in range(12)))
    several = Clips(train=(str(tmp_path / "outer.tsv"), str(inner)), hold_out=0.4)
    learned, validated = sides_of(several, "train"), sides_of(several, "valid")
    assert not learned & validated
    assert (len(learned | validated), len(validated) > 1) == (12, True)
    alone = Clips(train=(str(inner),), hold_out=0.4)
    kept = [f"c{number}" for number in range(12) if alone.keeps(f"c{number}", "valid")]
    assert [one.name for one in read_clips_split(alone, "valid", "labels", Problems())] == kept


def sides_of(data: Clips, side: SplitName) -> set[str]:
    """The folders that the clips of a split are, without links."""
    return {os.path.realpath(Path(one.frames[0]).parent) for one in read_clips_split(data, side, "labels", Problems())}


def test_many_pictures_of_a_clip_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.data.readers.clips.MOST", 3)
    (tmp_path / "a.csv").write_text("id,picture,label\n" + "1,x.png,up\n" * 5 + "2,x.png,up\n")
    assert [len(one) for one in read(tmp_path / "a.csv", "tags")] == [3, 1]


def test_names_of_any_length_have_an_order(tmp_path: Path) -> None:
    """Python reads no number of 5,000 digits."""
    assert sorted(["9" * 5_000, "10", "2", "x", "007", "1" + "0" * 5_000], key=natural) == [
        *("x", "2", "007", "10"),
        *("9" * 5_000, "1" + "0" * 5_000),
    ]
    many = [str(tmp_path / name) for name in ("2.png", "02.png", "1.png")]
    assert [Path(one).name for one in pictures_of(many)] == ["1.png", "02.png", "2.png"]


def test_pictures_of_no_clip(tmp_path: Path) -> None:
    picture(tmp_path / "a" / "1.png", WHITE)
    (tmp_path / "a.tsv").write_text("path\tlabel\na\tup\n")
    with pytest.raises(DataError) as caught:
        read(tmp_path / "a.tsv")
    assert str(caught.value) == (
        f"It is not clear which column of {tmp_path / 'a.tsv'} says the clip that the picture in 'path' belongs to; it "
        "has 'path', 'label'. Name it: data.clip_field=… (data.clip_field=path where each row is the folder of a clip)."
    )
    [one] = read(tmp_path / "a.tsv", clip_field="path")
    assert (one.name, names(one)) == ("a", ["1.png"])


def test_bad_clips_are_counted_by_what_is_wrong(tmp_path: Path) -> None:
    """Names of files are told, and no reasons of their own."""
    problems = Problems()
    lines = [{"frames": [f"{number}.png"], "label": "up"} for number in range(30)]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    encoding = FrameEncoding(PictureFrames(4, "pad"), Labelling("labels", ("up",)), 5, "truncate")
    with pytest.raises(DataError, match="nothing is left"):
        build_frames(
            *(tmp_path / "store", iter(read(tmp_path / "a.jsonl", "labels", problems)), encoding, "signed", problems),
            judge=raising(DataError("nothing is left")),
        )
    assert dict(problems.reasons) == {"a frame is not there": 30}
    assert problems.summary().splitlines()[:3] == [
        "  30 × a frame is not there",
        "The first:",
        f"  {tmp_path / 'a.jsonl'}:1: frame 1 (0.png) is not there",
    ]


@pytest.mark.parametrize(("longer", "kept", "hung"), [("truncate", 2, 4), ("drop", 1, 1), ("split", 2, 4)])
def test_clips_are_cut_before_their_pictures_are_read(tmp_path: Path, longer: Longer, kept: int, hung: int) -> None:
    """The last picture of the long one is broken, and nobody looks at it."""
    for number in range(9):
        picture(tmp_path / "long" / f"{number}.png", WHITE)
    (tmp_path / "long" / "8.png").write_bytes(b"broken")
    picture(tmp_path / "short" / "0.png", WHITE)
    (tmp_path / "a.tsv").write_text("clip\tlabel\nlong\tup\nshort\tup\n")
    problems, packing = Problems(), packed(tmp_path) if longer == "truncate" else ""
    encoding = FrameEncoding(PictureFrames(4, "pad"), Labelling("labels", ("up",)), 3, longer)
    clips = iter(read(tmp_path / "a.tsv", "labels", problems, pictures=str(packing)))
    store = build_frames(tmp_path / "store", clips, encoding, "signed", problems, judge=lambda counts: None)
    assert store.gallery is not None
    assert (store.counts.pairs, store.gallery.count, problems.count) == (kept, hung, 0)
    assert (store.counts.truncated, store.counts.dropped_long) == (kept - 1, 2 - kept)


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("clip\twhat\na\tup\n")
    with pytest.raises(DataError, match=r"not clear which column of .*a.tsv holds the labels; it has 'clip', 'what'"):
        read(tmp_path / "a.tsv")
    with pytest.raises(DataError, match=r"has no field 'waht'. Did you mean 'what'"):
        read(tmp_path / "a.tsv", label_field="waht")


def test_a_broken_picture_costs_its_clip(tmp_path: Path, folder: Path) -> None:
    faded(tmp_path, {"train": 12, "valid": 4})
    (tmp_path / "train3" / "1.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    with pytest.raises(DataError, match=r"train.tsv:5: frame 2 \(1.png\) is (no picture|a broken picture)"):
        list(train(small(tmp_path), tmp_path / "run"))
    events = run_all(small(tmp_path, data__max_bad=0.2, training__steps=1), tmp_path / "again")
    assert (of_kind(events, Prepared)[0].pairs, of_kind(events, Prepared)[0].bad_lines) == (11, 1)


def test_a_crash_leaves_no_trace(folder: Path, tmp_path: Path) -> None:
    run_all(small(folder, training__steps=8), tmp_path / "whole")
    run_until(small(folder, training__steps=8), tmp_path / "broken", lambda e: isinstance(e, Stepped) and e.step == 7)
    run_all(small(folder, training__steps=8), tmp_path / "broken")
    assert bits(tmp_path / "broken", 8) == bits(tmp_path / "whole", 8)


def test_clips_are_asked_by_folder(run: Path, folder: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    pipeline = Pipeline.load(run)
    answer = pipeline.predict(str(folder / "valid0"))
    pixels = np.stack([np.asarray(Image.open(path)) for path in sorted((folder / "valid0").iterdir())])
    assert pipeline.predict(pixels).score == pytest.approx(answer.score, abs=1e-5)
    several = pipeline.predict([folder / "valid0", sorted(map(str, (folder / "valid1").iterdir()))])
    assert several[0].score == pytest.approx(answer.score, abs=1e-5)
    assert dragoman("predict", run, folder / "valid0").out == f"valid0\t{answer.text}\n"
    assert len(dragoman("predict", run, folder).out.splitlines()) == 88
    (folder / "ask.tsv").write_text("clip\nvalid1\n")
    assert dragoman("predict", run, folder / "ask.tsv").out == f"valid1\t{several[1].text}\n"


def test_files_of_pictures_are_one_clip(run: Path, folder: Path) -> None:
    pipeline = Pipeline.load(run)
    files = sorted((folder / "valid0").iterdir())
    whole = pipeline.predict(str(folder / "valid0"))
    for given in (files, tuple(map(str, files))):
        assert pipeline.predict(given).score == pytest.approx(whole.score, abs=1e-6)
    assert [one.text for one in pipeline.predict([files])] == [whole.text]
    assert pipeline.embed(files).shape == pipeline.embed([files]).shape[1:]


def test_pictures_beyond_the_limit_are_not_read(run: Path, folder: Path, tmp_path: Path) -> None:
    for number in range(4):
        picture(tmp_path / "a" / f"{number}.png", BLACK)
    first = Pipeline.load(run).predict(str(tmp_path / "a"))
    for number in range(4, 9):
        (tmp_path / "a" / f"{number}.png").write_bytes(b"broken")
    (tmp_path / "a.tsv").write_text("clip\tlabel\na\tdarker\n")
    pipeline = Pipeline.load(run).changed(["limits.source=4"])
    answer = pipeline.predict(str(tmp_path / "a"), longer="cut")
    assert (answer.score, answer.longer) == (pytest.approx(first.score, abs=1e-6), "cut")
    result = evaluate_labels(pipeline, [str(tmp_path / "a.tsv")], longer="cut")
    assert (result.items, result.problems.count) == (1, 0)
    with pytest.raises(DataError, match=r"'a' has 9 frames; at most 4 are read at once \(limits\.source\)"):
        pipeline.predict(str(tmp_path / "a"), longer="refuse")


def test_clips_of_a_table_lie_elsewhere(run: Path, folder: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    (tmp_path / "ask.tsv").write_text("clip\tlabel\nvalid1\tlighter\n")
    nowhere = (
        "data.pictures says, else beside the file that names them: name their folder, or their ZIP (data.pictures=…)."
    )
    for verb in ("predict", "evaluate"):
        done = dragoman(verb, run, tmp_path / "ask.tsv")
        assert (done.code, nowhere in done.err) == (3, True), done.err
    known = dragoman("predict", run, folder / "valid1").out
    assert dragoman("predict", run, tmp_path / "ask.tsv", f"data.pictures={folder}").out == known
    measured = dragoman("evaluate", run, tmp_path / "ask.tsv", f"data.pictures={folder}").out
    assert "accuracy" in measured
    assert "the best baseline (linear model over mean and deviation in time): accuracy" in measured
    done = dragoman("predict", run, folder / "valid1", f"data.pictures={folder}")
    sentence = (
        f"data.pictures is about files that name pictures, and {folder / 'valid1'} is a folder of them. Leave it out."
    )
    assert (done.code, done.err.strip()) == (2, f"dragoman: {sentence}")


def test_clips_are_measured(run: Path, folder: Path) -> None:
    result = evaluate_labels(Pipeline.load(run), [str(folder / "valid.tsv")])
    assert (result.items, result.metrics[0].name) == (24, "accuracy")
    assert result.metrics[0].value >= 90


def test_bad_clips_may_be_left_out_of_answers(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    for name in ("a", "b"):
        picture(tmp_path / name / "0.png", BLACK)
        picture(tmp_path / name / "1.png", WHITE)
    (tmp_path / "a" / "0.png").write_bytes(b"")
    done = dragoman("predict", run, tmp_path)
    assert (done.code, "frame 1 (0.png) is an empty file" in done.err) == (3, True), done.err
    done = dragoman("predict", run, tmp_path, "--skip-bad")
    assert (done.code, done.out.split("\t")[0]) == (0, "b")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("nowhere", "the folder of the clip is not there"),
        ([np.zeros((3, 2))], r"Clip 1 has no frames .*shape \(3, 2\)"),
        ([[[[1, 2], [3]]]], "1: frame 1 is a list of rows that are not equally long"),
        ([7], "Clip 1 has no frames that can be read"),
    ],
)
def test_clips_that_are_none(run: Path, tmp_path: Path, given: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        Pipeline.load(run).predict([tmp_path / given] if isinstance(given, str) else given)


def test_pictures_of_a_clip_may_have_other_sizes(run: Path) -> None:
    frames = [Image.new("RGB", (8 + number, 9), (number * 50,) * 3) for number in range(5)]
    same = [Image.new("RGB", (16, 16), (number * 50,) * 3) for number in range(5)]
    assert Pipeline.load(run).predict([frames])[0].text == Pipeline.load(run).predict([same])[0].text


def test_generated_clips_are_what_they_are_called(tmp_path: Path) -> None:
    """The middle of what differs from the corner moves as the label says."""
    assert write_clips(tmp_path, {"train": 3}) == {"train": 3}
    assert len(list((tmp_path / "train").iterdir())) == 3
    seen = set()
    for number in range(60):
        frames, label = clip("test", number)
        seen.add(label)
        if label not in ("left", "right"):
            continue
        apart = np.abs(frames.astype(float) - frames[:, :2, :2].mean((1, 2), keepdims=True)).sum(-1)
        middles = [(one * np.arange(32)).sum() / one.sum() for one in np.where(apart > 120, apart, 0.0)]
        assert (middles[-1] > middles[0]) == (label == "right")
    assert seen == set(LABELS)
