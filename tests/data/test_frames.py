"""Sequences of numbers with labels: how files are read, what is wrong with them, and what lies on disk."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.data.chunk import Chunk, offsets
from dragoman.data.frames import FrameEncoding, NumberFrames, build_frames
from dragoman.data.labelled import collate_labelled
from dragoman.data.labelling import Labelling
from dragoman.data.readers.frames import Frames, read_frames, read_frames_split
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.series import Series
from dragoman.data.readers.track import Feature
from dragoman.data.scales import Scale
from dragoman.errors import DataError

TABLE = "id,x [m],y,label\na,1,2,up\na,3,4,up\nb,5,6,down\n"
EACH = "id,x [m],y,tag\na,1,2,up\na,3,4,down\nb,5,6,down\n"
LINES = '{"id": "a", "x": [1, 3], "y": [2, 4], "labels": ["up", "down"]}\n{"x": [5], "y": [6], "labels": ["down"]}\n'


def written(folder: Path, name: str, content: str) -> str:
    (folder / name).write_text(content)
    return str(folder / name)


def read(file: str, what: str = "labels", problems: Problems | None = None, **settings: Any) -> list[Series]:
    return list(read_frames(Frames(**settings), [file], what, problems or Problems()))  # type: ignore[arg-type]


def values(one: Series) -> Any:
    assert not isinstance(one.frames, tuple)
    return one.frames.tolist()


def test_a_label_that_stands_on_every_row_is_one(tmp_path: Path) -> None:
    one, two = read(written(tmp_path, "a.csv", TABLE))
    assert (one.name, values(one), one.labels, one.line) == ("a", [[1, 2], [3, 4]], ("up",), 2)
    assert (two.name, values(two), two.labels, two.line) == ("b", [[5, 6]], ("down",), 4)


@pytest.mark.parametrize(("name", "content"), [("a.csv", EACH), ("a.jsonl", LINES)])
def test_each_frame_may_have_its_own(tmp_path: Path, name: str, content: str) -> None:
    one, two = read(written(tmp_path, name, content), "tags")
    assert (values(one), one.labels) == ([[1, 2], [3, 4]], ("up", "down"))
    assert (values(two), two.labels) == ([[5, 6]], ("down",))


def test_arrays_have_labels_of_sequences_or_of_frames(tmp_path: Path) -> None:
    flat, lengths = np.arange(10.0).reshape(5, 2), np.array([2, 3])
    path = tmp_path / "a.npz"
    np.savez(path, values=flat, lengths=lengths, label=np.array(["up", "down"]))
    assert [(len(one), one.labels) for one in read(str(path))] == [(2, ("up",)), (3, ("down",))]
    np.savez(path, values=flat, lengths=lengths, label=np.array([*"aabab"]))
    assert [one.labels for one in read(str(path), "tags")] == [("a", "a"), ("b", "a", "b")]
    np.savez(path, values=np.zeros((2, 3, 4)), lengths=np.array([1, 3]), label=np.array([[1, 0, 0], [2, 2, 1]]))
    assert [(len(one), one.labels) for one in read(str(path), "tags")] == [(1, ("1",)), (3, ("2", "2", "1"))]


def test_features_may_be_chosen(tmp_path: Path) -> None:
    [one, _] = read(written(tmp_path, "a.csv", TABLE), features=("y", "x"))
    assert values(one) == [[2, 1], [4, 3]]


@pytest.mark.parametrize(
    ("content", "what", "settings", "reason"),
    [
        (TABLE.replace("3,4,up", "3,4,down"), "labels", {}, "2: several labels in one sequence (model.head.kind=tags"),
        (TABLE.replace("1,2,up", "1,2,"), "labels", {}, "2: empty label"),
        (TABLE.replace("3,4", "3,"), "labels", {}, "3: 'y' is missing (data.missing=allow lets it be): its track is"),
        (TABLE.replace("3,4", "3,inf"), "labels", {}, "3: 'inf' is too large a number"),
        (TABLE.replace("3,4", "3,four"), "labels", {}, "3: 'four' is no number (feature 'y')"),
        (TABLE.replace("5,6,down", "5,6,7,down"), "labels", {}, "4: 5 columns, and the header has 4"),
    ],
)
def test_bad_rows_cost_their_sequence(
    tmp_path: Path, content: str, what: str, settings: dict[str, Any], reason: str
) -> None:
    problems, file = Problems(), written(tmp_path, "a.csv", content)
    assert len(read(file, what, problems, **settings)) == 1
    assert str(problems.first[0]).startswith(f"{file}:{reason}")


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"x": [1, 2], "labels": ["a"]}, "one label for all frames (model.head.kind=labels learns it)"),
        ({"x": [1, 2, 3], "labels": ["a", "b"]}, "fewer labels than frames"),
        ({"x": [1, 2], "labels": ["a", "b", "a"]}, "more labels than frames"),
        ({"x": [], "labels": []}, "no frames"),
        ({"x": [1, 2]}, "no field 'labels'"),
        ({"x": [1, None], "labels": ["a", "b"]}, "'x' is missing (data.missing=allow lets it be)"),
        ({"y": [1, 2], "labels": ["a", "b"]}, "no feature 'x' (it has 'y', 'labels')"),
    ],
)
def test_bad_lines_are_told(tmp_path: Path, record: dict[str, Any], reason: str) -> None:
    good, problems = {"x": [1, 2], "labels": ["a", "b"]}, Problems()
    file = written(tmp_path, "a.jsonl", json.dumps(good) + "\n" + json.dumps(record) + "\n")
    assert len(read(file, "tags", problems)) == 1
    assert [str(problem) for problem in problems.first] == [f"{file}:2: {reason}"]


def test_missing_numbers_may_be_allowed(tmp_path: Path) -> None:
    [one, _] = read(written(tmp_path, "a.csv", TABLE.replace("3,4", "3,")), missing="allow")
    assert np.isnan(one.frames[1][1])  # type: ignore[index]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "It is not clear which column of .*a.csv holds the labels; it has 'id', 'x', 'what'. Name it: "),
        ({"label_field": "waht"}, "has no field 'waht'. Did you mean 'what'"),
        ({"label_field": "what", "features": ("z",)}, "has no feature 'z'. It has 'id', 'x', 'what'"),
    ],
)
def test_columns_that_are_not_there(tmp_path: Path, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        read(written(tmp_path, "a.csv", "id,x,what\na,1,up\n"), **settings)


def test_what_is_held_out_depends_on_the_frames_alone(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n % 50},up\n" for n in range(100))
    data = Frames(train=(written(tmp_path, "a.csv", "id,x,label\n" + rows),), hold_out=0.3)
    parts = {name: [one.frames[0][0] for one in read_frames_split(data, name, "labels", Problems())]  # type: ignore[index, arg-type]
             for name in ("train", "valid")}  # fmt: skip
    assert sorted(parts["train"] + parts["valid"]) == sorted(n % 50 for n in range(100))
    assert not {*parts["train"]} & {*parts["valid"]}


SCALE = Scale((Feature("x"), Feature("y")), (1.0, 0.0), (2.0, 1.0))


def sequence(name: str, *labels: str) -> Series:
    return Series(name, np.arange(2.0 * len(labels)).reshape(-1, 2), labels, ord(name))


def test_frames_lie_on_disk_scaled(tmp_path: Path) -> None:
    """z = (x − 1) / 2 and y as it is; tags from 1; what is longer than three frames is two sequences."""
    encoding = FrameEncoding(NumberFrames(SCALE), Labelling("tags", ("a", "b")), 3, "split")
    made = [sequence("p", "a", "b"), sequence("q", "b", "b", "a", "a")]
    store = build_frames(tmp_path / "s", iter(made), encoding, "sign", Problems(lines=2), lambda counts: None)
    assert (store.counts.pairs, store.counts.source_tokens, store.counts.truncated) == (3, 6, 1)
    chunk = store.chunk(0)
    rows = {(int(chunk.lines[n]), tuple(chunk.target[slice(*chunk.target_offsets[n : n + 2])])): n for n in range(3)}
    assert set(rows) == {(ord("p"), (1, 2)), (ord("q"), (2, 2, 1)), (ord("q"), (1,))}
    where = rows[ord("q"), (1,)]
    assert chunk.source[chunk.source_offsets[where]].tolist() == [2.5, 7.0]  # frame 3 of q is (6, 7)


@pytest.mark.parametrize(("longer", "pairs", "frames"), [("drop", 1, 2), ("truncate", 2, 5), ("split", 3, 6)])
def test_long_sequences(tmp_path: Path, longer: str, pairs: int, frames: int) -> None:
    encoding = FrameEncoding(NumberFrames(SCALE), Labelling("tags", ("a", "b")), 3, longer)  # type: ignore[arg-type]
    list(encoding.blocks(iter([sequence("p", "a", "b"), sequence("q", "b", "b", "a", "a")])))
    counts = encoding.counts(Problems())
    assert (counts.pairs, counts.source_tokens) == (pairs, frames)


def test_batches_have_no_symbols_beside_frames() -> None:
    """Frames (1, 2), (3, 4) and (5, 6); the second row is padded, and nothing is expected there."""
    source = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    chunk = Chunk(source, offsets(np.array([2, 1])), np.array([1, 2, 2]), offsets(np.array([2, 1])), np.array([7, 8]))
    batch = collate_labelled(chunk, np.array([0, 1]), "tags")
    assert batch.sources["source"].values.tolist() == [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]
    assert batch.sources["source"].mask.tolist() == [[True, True], [True, False]]
    assert batch.truth().outputs.values.tolist() == [[0, 1], [1, 0]]
    assert (batch.truth().real.tolist(), batch.padding) == ([0, 1, 2], 1)
