import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dragoman.data.readers.lines import Problems
from dragoman.data.readers.tracks import Feature, Track, Wanted, known_features, read_tracks
from dragoman.errors import DataError

NAN = float("nan")
X, Y = Feature("x", "m"), Feature("y", "m")


def written(folder: Path, name: str, content: str) -> str:
    (folder / name).write_text(content)
    return str(folder / name)


def saved(folder: Path, **arrays: object) -> str:
    np.savez_compressed(folder / "a.npz", **arrays)  # type: ignore[arg-type]
    return str(folder / "a.npz")


def read(file: str, problems: Problems | None = None, **wanted: object) -> list[Track]:
    return list(read_tracks([file], Wanted(**wanted), problems or Problems()))  # type: ignore[arg-type]


def reasons(file: str, **wanted: object) -> list[str]:
    problems = Problems()
    read(file, problems, **wanted)
    return [str(problem).removeprefix(f"{file}:") for problem in problems.first]


TABLE = "id,x [m],y [m]\na,1,2\na,3,4\nb,5,6\n"


def test_a_table_has_a_step_a_row_and_units_in_its_header(tmp_path: Path) -> None:
    one, two = read(written(tmp_path, "a.csv", TABLE))
    assert (one.name, two.name) == ("a", "b")
    assert one.features == (X, Y)
    assert one.values.tolist() == [[1, 2], [3, 4]]
    assert (one.line, two.line) == (2, 4)


def test_features_are_chosen_by_name_and_come_in_that_order(tmp_path: Path) -> None:
    [track, _] = read(written(tmp_path, "a.csv", TABLE), features=("y", "x"))
    assert track.features == (Y, X)
    assert track.values.tolist() == [[2, 1], [4, 3]]


def test_labels_beside_the_numbers_stay_as_they_are(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "id;x;what\n1;0,5;walk\n".replace("0,5", "0.5") + "1;2;run\n")
    [track] = read(file, texts=("what",))
    assert track.texts == {"what": ("walk", "run")}
    assert track.features == (Feature("x"),)


def test_a_table_without_ids_is_one_track(tmp_path: Path) -> None:
    [track] = read(written(tmp_path, "a.csv", "x,y\n1,2\n3,4\n"))
    assert track.name == "1"
    assert len(track) == 2


def test_missing_values_are_nan_where_they_are_allowed(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "id,x,y\na,1,\na,NaN,4\n")
    [track] = read(file, missing="allow")
    np.testing.assert_array_equal(track.values, [[1, NAN], [NAN, 4]])
    assert read(file) == []
    assert reasons(file) == ["2: 'y' is missing (data.missing=allow lets it be): its track is left out"]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("a,1,2,3", "2: 4 columns, and the header has 3: its track is left out"),
        ("a,1", "2: 2 columns, and the header has 3: its track is left out"),
        ("a,one,2", "2: 'one' is no number (feature 'x'): its track is left out"),
        ("a,inf,2", "2: 'inf' is too large a number (feature 'x'): its track is left out"),
        ("a,1,2\nb,1,2\na,1,2", "4: the rows of track 'a' do not stand together: sort them by track"),
    ],
)
def test_bad_rows_cost_their_track_and_are_located(tmp_path: Path, rows: str, sentence: str) -> None:
    file = written(tmp_path, "a.csv", f"id,x,y\n{rows}\nlast,7,8\n")
    problems = Problems()
    assert read(file, problems)[-1].name == "last"
    assert [str(problem).removeprefix(f"{file}:") for problem in problems.first] == [sentence]


@pytest.mark.parametrize(
    ("row", "reason"), [(b"1,\xff,a", "not valid UTF-8"), (b"1,2", "2 columns, and the header has 3")]
)
def test_a_row_that_nobody_can_read_leaves_no_track_with_a_gap(tmp_path: Path, row: bytes, reason: str) -> None:
    """The id stands last, so that it cannot be seen whose row it was."""
    (tmp_path / "a.csv").write_bytes(b"x,y,id\n" + row + b"\n1,1,a\n" + row + b"\n3,3,a\n4,4,b\n5,5,b\n")
    problems = Problems()
    [track] = read(str(tmp_path / "a.csv"), problems)
    assert (track.name, len(track)) == ("b", 2)
    first, second = (str(problem).removeprefix(f"{tmp_path / 'a.csv'}:") for problem in problems.first)
    assert first.startswith(f"2: {reason}")
    assert not first.endswith("left out")
    assert second == f"4{first[1:]}: its track is left out"


def test_an_unknown_feature_is_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(written(tmp_path, "a.csv", "id,speed [m/s],y\na,1,2\n"), features=("sped",))
    file = tmp_path / "a.csv"
    assert str(caught.value) == (f"{file} has no feature 'sped'. Did you mean 'speed'? It has 'id', 'speed', 'y'.")


def test_a_table_without_header_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.csv has no header: its first row is 1, 2\. Write the names"):
        read(written(tmp_path, "a.csv", "1,2\n3,4\n"))


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "a", "x [m]": [1, 3], "y [m]": [2, 4]}',
        '{"id": "a", "steps": [{"x [m]": 1, "y [m]": 2}, {"x [m]": 3, "y [m]": 4}]}',
        '{"id": "a", "past": {"x [m]": [1], "y [m]": [2]}, "future": {"x [m]": [3], "y [m]": [4]}}',
    ],
)
def test_json_lines_hold_columns_rows_or_a_past_and_a_future(tmp_path: Path, line: str) -> None:
    [track] = read(written(tmp_path, "a.jsonl", f"{line}\n"))
    assert track.name == "a"
    assert track.features == (X, Y)
    assert track.values.tolist() == [[1, 2], [3, 4]]
    assert track.past == (1 if "past" in line else None)


def test_rows_without_names_are_named_by_the_settings_or_numbered(tmp_path: Path) -> None:
    file = written(tmp_path, "a.jsonl", '{"rows": [[1, 2], [3, 4]]}\n')
    assert known_features(file, Wanted()) == (Feature("1"), Feature("2"))
    assert read(file, features=("x", "y"))[0].features == (Feature("x"), Feature("y"))


def test_tracks_beside_another(tmp_path: Path) -> None:
    line = '{"past": [[1, 2], [3, 4]], "future": [[5, 6]], "neighbours": [[[0, 0], [1, 1]], [[null, null], [2, 2]]]}'
    [track] = read(written(tmp_path, "a.jsonl", f"{line}\n"), features=("x", "y"))
    assert [one.shape for one in track.others] == [(2, 2), (2, 2)]
    assert np.isnan(track.others[1][0]).all()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            '{"past": {"x": [1, 2]}, "future": {"x": [3]}, "neighbours": [{"x": [7]}, {"x": [7, 8, 9]}]}',
            "a neighbour of 3 steps, and its track's past has 2: give it as many, or fewer, which are the last",
        ),
        (
            '{"x": [1, 2], "neighbours": [{"x": [7, 8, 9]}]}',
            "a neighbour of 3 steps, and its track has 2: give it as many, or fewer, which are the last",
        ),
    ],
)
def test_a_neighbour_that_is_longer_is_of_no_known_steps(tmp_path: Path, line: str, reason: str) -> None:
    """Its last steps would be those of a future, which nobody has seen yet."""
    file = written(tmp_path, "a.jsonl", f'{{"x": [1]}}\n{line}\n')
    assert reasons(file, features=("x",)) == [f"2: {reason}"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"x": [1, 2], "y": [1]}', "columns of different lengths (1, 2)"),
        ('{"x": [1, null], "y": [1, 2]}', "'x' is missing (data.missing=allow lets it be)"),
        ('{"x": [1, NaN], "y": [1, 2]}', "'x' is missing (data.missing=allow lets it be)"),
        ('{"x": [1, "b"], "y": [1, 2]}', "'b' is no number (feature 'x')"),
        ('{"x": [1, true], "y": [1, 2]}', "'True' is no number (feature 'x')"),
        ('{"x": [1, 1e99], "y": [1, 2]}', "'1e+99' is too large a number (feature 'x')"),
        ('{"x": [1, 2]}', "no feature 'y' (it has 'x')"),
        ('{"x": 3, "y": [1]}', "'x' is no list of numbers"),
        ("[1, 2]", "no JSON object"),
        ('{"steps": [[1, 2, 3]]}', "a step of 3 numbers, not of 2"),
    ],
)
def test_bad_lines_are_located_and_the_rest_goes_on(tmp_path: Path, line: str, reason: str) -> None:
    file = written(tmp_path, "a.jsonl", f'{{"x": [1], "y": [2]}}\n{line}\n{{"x": [3], "y": [4]}}\n')
    problems = Problems()
    assert len(read(file, problems)) == 2
    assert [str(problem) for problem in problems.first] == [f"{file}:2: {reason}"]


@pytest.mark.parametrize("past", ['"text"', "3", "null"])
def test_a_first_line_without_a_past_is_one_bad_line(tmp_path: Path, past: str) -> None:
    file = written(tmp_path, "a.jsonl", f'{{"past": {past}}}\n{{"past": {{"x": [1]}}, "future": {{"x": [2]}}}}\n')
    problems = Problems()
    [track] = read(file, problems)
    assert track.features == (Feature("x"),)
    assert [str(problem) for problem in problems.first] == [f"{file}:1: neither columns nor rows of numbers"]
    with pytest.raises(DataError) as caught:
        read(written(tmp_path, "a.jsonl", f'{{"past": {past}}}\n'))
    assert str(caught.value) == (
        f"{file} holds no tracks: 'past' is neither columns nor rows, such as {{\"x\": [1, 2]}}."
    )


@pytest.mark.parametrize(
    ("label", "texts"),
    [('"up"', ("up",)), ("3", ("3",)), ("true", ("True",)), ("null", ("",)), ('["a", 1, null]', ("a", "1", ""))],
)
def test_labels_are_texts_and_numbers(tmp_path: Path, label: str, texts: tuple[str, ...]) -> None:
    [track] = read(written(tmp_path, "a.jsonl", f'{{"x": [1], "what": {label}}}\n'), texts=("what",))
    assert track.texts == {"what": texts}


@pytest.mark.parametrize(
    ("label", "shown"), [('{"a": 1}', "{'a': 1}"), ('["a", {"b": 1}]', "{'b': 1}"), ('[["a"]]', "['a']")]
)
def test_what_is_no_label_costs_its_line(tmp_path: Path, label: str, shown: str) -> None:
    file = written(tmp_path, "a.jsonl", f'{{"x": [1], "what": {label}}}\n')
    assert reasons(file, texts=("what",)) == [f"1: {shown!r} is no label (field 'what')"]


def test_arrays_of_tracks_with_names(tmp_path: Path) -> None:
    values = np.arange(12.0).reshape(2, 3, 2)
    file = saved(tmp_path, values=values, features=np.array(["x [m]", "y [m]"]), id=np.array(["a", "b"]))
    one, two = read(file)
    assert (one.name, one.features) == ("a", (X, Y))
    np.testing.assert_array_equal(two.values, values[1])


def test_arrays_padded_to_one_length(tmp_path: Path) -> None:
    values = np.full((2, 3, 1), NAN)
    values[0, :2], values[1] = 1, 2
    assert [len(track) for track in read(saved(tmp_path, values=values, lengths=np.array([2, 3])))] == [2, 3]


def test_one_long_array_with_lengths(tmp_path: Path) -> None:
    file = saved(tmp_path, values=np.arange(10.0).reshape(5, 2), lengths=np.array([2, 3]), label=np.array(["u", "v"]))
    one, two = read(file, texts=("label",))
    assert one.values.tolist() == [[0, 1], [2, 3]]
    assert (len(two), two.texts) == (3, {"label": ("v",)})


def test_an_array_a_feature(tmp_path: Path) -> None:
    ids = np.array([7, 7, 9])
    one, two = read(saved(tmp_path, id=ids, x=np.array([1.0, 2, 3]), y=np.array([4.0, 5, 6])))
    assert (one.name, one.values.tolist(), two.values.tolist()) == ("7", [[1, 4], [2, 5]], [[3, 6]])
    [first, _] = read(saved(tmp_path, a=np.array([[1.0, 2], [3, 4]]), b=np.array([[5.0, 6], [7, 8]])))
    assert first.values.tolist() == [[1, 5], [2, 6]]


def test_arrays_of_past_and_future(tmp_path: Path) -> None:
    [track] = read(saved(tmp_path, past=np.zeros((1, 3, 2)), future=np.ones((1, 4, 2))))
    assert (track.past, len(track)) == (3, 7)


WIDE, LONG = np.zeros((2, 3, 1)), np.zeros((5, 1))


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"values": LONG, "lengths": [2, -1]}, "'lengths' gives -1 for track 2, and 'values' (5, 1) has 5 steps."),
        ({"values": LONG, "lengths": [2, 9]}, "'lengths' gives 9 for track 2, and 'values' (5, 1) has 5 steps."),
        ({"values": LONG, "lengths": [2, 4]}, "'lengths' adds up to 6 steps, and 'values' has 5."),
        ({"values": LONG, "lengths": [2, 1]}, "'lengths' adds up to 3 steps, and 'values' has 5."),
        ({"values": WIDE, "lengths": [3, 4]}, "'lengths' gives 4 for track 2, and 'values' (2, 3, 1) has 3 steps."),
        ({"values": WIDE, "lengths": [-1, 3]}, "'lengths' gives -1 for track 1, and 'values' (2, 3, 1) has 3 steps."),
        ({"values": WIDE, "lengths": [NAN, 3]}, "'lengths' gives nan for track 1, and 'values' (2, 3, 1) has 3 steps."),
        ({"values": WIDE, "lengths": [1.5, 3]}, "'lengths' gives 1.5 for track 1, and 'values' (2, 3, 1) has 3 steps."),
        (
            {"values": WIDE, "lengths": [3]},
            "'lengths' (1,) of int64 does not give one whole number for each track, of which there are 2.",
        ),
        (
            {"values": LONG, "lengths": ["2", "3"]},
            "'lengths' (2,) of <U1 does not give one whole number for each track.",
        ),
        ({"values": LONG, "lengths": 5}, "'lengths' () of int64 does not give one whole number for each track."),
        (
            {"past": np.full((2, 3, 1), "a")},
            "'past' (2, 3, 1) of <U1 holds no numbers. Save numbers, or name other features.",
        ),
        (
            {"past": WIDE * 1j},
            "'past' (2, 3, 1) of complex128 holds no numbers. Save numbers, or name other features.",
        ),
        ({"past": WIDE, "future": np.zeros((2, 4, 1, 1))}, "'past' has the shape (2, 3, 1) and 'future' (2, 4, 1, 1)."),
        (
            {"values": WIDE, "id": [["a"], ["b"]]},
            "'id' (2, 1) of <U1 does not give the names that tell tracks apart: 2 are needed.",
        ),
        (
            {"x": np.zeros(3), "id": [["a"]] * 3},
            "'id' (3, 1) of <U1 does not give the names that tell tracks apart: 3 are needed.",
        ),
        (
            {"values": np.zeros((2, 1)), "features": ["x"], "id": [1, 2]},
            "'id' (2,) of int64 does not give the names that tell tracks apart: 1 are needed.",
        ),
    ],
)
def test_arrays_that_do_not_fit_together_are_said(tmp_path: Path, arrays: dict[str, object], sentence: str) -> None:
    file = saved(tmp_path, **arrays)
    with pytest.raises(DataError) as caught:
        read(file)
    assert str(caught.value) == f"{file}: {sentence}"


def test_arrays_that_are_no_numbers_are_left_alone_until_they_are_asked_for(tmp_path: Path) -> None:
    times = np.array(["2020-01-01", "2020-01-02"], "datetime64[D]")
    file = saved(tmp_path, x=np.array([1.0, 2]), what=np.array(["walk", "run"]), when=times, z=np.array([1j, 2j]))
    [track] = read(file)
    assert (track.features, track.values.tolist()) == ((Feature("x"),), [[1], [2]])
    with pytest.raises(DataError, match=r"'when' \(2,\) of datetime64\[D\] holds no numbers\. Save numbers, or name"):
        read(file, features=("x", "when"))
    file = saved(tmp_path, what=np.array(["walk", "run"]))
    with pytest.raises(DataError, match=r"a\.npz holds no arrays of numbers that could be tracks: 'what' \(2,\)\."):
        read(file)
    with pytest.raises(DataError, match=r"'label' \(\) of <U1 does not give one text for each track, or one for each"):
        read(saved(tmp_path, x=np.zeros(2), label=np.array("a")), texts=("label",))


def test_a_length_of_nothing_and_lengths_as_floats(tmp_path: Path) -> None:
    file = saved(tmp_path, values=np.zeros((3, 1)), lengths=np.array([0.0, 3.0]))
    assert [len(track) for track in read(file)] == [0, 3]


def test_a_shape_below_nothing_is_damage(tmp_path: Path) -> None:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (-1, 3, 1)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("values.npy", head.getvalue() + bytes(24))
    with pytest.raises(DataError, match=r"a\.npz is damaged: 'values' has the shape \(-1, 3, 1\) of float64\. Save"):
        read(str(tmp_path / "a.npz"))


@pytest.mark.parametrize("packed", [True, False])
def test_a_damaged_array_is_told(tmp_path: Path, packed: bool) -> None:
    values = np.random.default_rng(0).normal(size=(400, 2))
    (np.savez_compressed if packed else np.savez)(tmp_path / "a.npz", values=values, lengths=np.full(40, 10))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    start = zipfile.ZipFile(tmp_path / "a.npz").getinfo("values.npy").header_offset
    content[start + 300 : start + 340] = bytes(255 - byte for byte in content[start + 300 : start + 340])
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.npz is (damaged: 'values' cannot be read\. Save it again|no \.npz file)"):
        read(str(tmp_path / "a.npz"))


@pytest.mark.parametrize(
    ("kind", "shape", "sentence"),
    [
        ("<U60000000", (2,), r"'id' \(2,\) of <U60000000 has texts that are too long: at most 4,000 bytes each and"),
        ("<U1", (2,), r"a\.npz is damaged: 'id' holds what is no text\. Save it again\."),
    ],
)
def test_texts_of_an_array_are_bounded(tmp_path: Path, kind: str, shape: tuple[int, ...], sentence: str) -> None:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": kind, "fortran_order": False, "shape": shape})
    file = saved(tmp_path, values=np.zeros((2, 3, 1)))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("id.npy", head.getvalue() + b"\xff" * 8)
    with pytest.raises(DataError, match=sentence):
        read(file)


def test_ids_labels_and_features_that_cannot_be_written(tmp_path: Path) -> None:
    """Halves of characters and control characters, which JSON and arrays may hold."""
    rows = [{"id": "a\ud800", "label": "up"}, {"id": "b", "label": "\0"}, {"id": "c", "label": "up"}]
    lines = "".join(json.dumps({**row, "x": [1, 2]}) + "\n" for row in rows)
    problems, file = Problems(), written(tmp_path, "a.jsonl", lines)
    assert [track.name for track in read(file, problems, texts=("label",), features=("x",))] == ["c"]
    assert dict(problems.reasons) == {"holds a control character": 2}
    problems = Problems()
    file = saved(
        tmp_path, values=np.zeros((3, 2, 1)), id=np.array(["a\ud800", "b", "c"]), label=np.array(["x", "\x07", "x"])
    )
    assert [track.name for track in read(file, problems, texts=("label",))] == ["c"]
    assert dict(problems.reasons) == {"holds a control character": 2}
    with pytest.raises(
        DataError, match=r"a\.jsonl has a feature 'x\\ud800', which holds a control character\. Rename it"
    ):
        read(written(tmp_path, "a.jsonl", json.dumps({"x\ud800": [1]}) + "\n"))
    with pytest.raises(
        DataError, match=r"a\.npz has a feature 'x\\ud800', which holds a control character\. Rename it"
    ):
        read(saved(tmp_path, values=np.zeros((3, 2, 1)), features=np.array(["x\ud800"])))


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    file = saved(tmp_path, values=np.array([[1, 2], [3]], dtype=object))
    with pytest.raises(DataError) as caught:
        read(file)
    assert str(caught.value) == (
        f"{file}: 'values' holds Python objects, which are pickled and never loaded: they may run code. Save plain "
        "arrays of numbers or texts; sequences of different lengths as one long array with an array of lengths."
    )


def test_an_array_that_says_it_is_enormous_is_refused(tmp_path: Path) -> None:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (1, 10**6, 10**9)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("values.npy", head.getvalue())
    with pytest.raises(DataError, match=r"'values' has tracks of more than 10,000,000 numbers\. Cut them\."):
        read(str(tmp_path / "a.npz"))


def test_an_array_that_ends_too_early_and_a_file_that_is_none(tmp_path: Path) -> None:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (2, 3, 1)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("values.npy", head.getvalue() + bytes(24))
    with pytest.raises(DataError, match=r"'values' ends too early"):
        read(str(tmp_path / "a.npz"))
    with pytest.raises(DataError, match=r"b\.npz is no \.npz file that can be read"):
        read(written(tmp_path, "b.npz", "nothing"))


def test_nan_and_infinity_in_arrays_are_located_by_track(tmp_path: Path) -> None:
    values = np.zeros((4, 2, 1))
    values[1, 0], values[2, 1] = NAN, np.inf
    file = saved(tmp_path, values=values)
    assert reasons(file) == [
        "2: '1' is missing (data.missing=allow lets it be)",
        "3: holds infinite or too large numbers",
    ]


def test_arrays_without_names_of_another_width(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has 3 features without names, and 2 are asked for \('x', 'y'\)"):
        read(saved(tmp_path, values=np.zeros((1, 2, 3))), features=("x", "y"))


def test_files_of_other_features_or_units_do_not_go_together(tmp_path: Path) -> None:
    files = [written(tmp_path, "a.csv", "id,x [m]\n1,2\n"), written(tmp_path, "b.csv", "id,x [ft]\n1,2\n")]
    with pytest.raises(DataError, match=r"b\.csv has x \[ft\] where .*a\.csv has x \[m\]\. Bring them to one unit\."):
        list(read_tracks(files, Wanted(), Problems()))
    files[1] = written(tmp_path, "b.csv", "id,z\n1,2\n")
    with pytest.raises(DataError, match=r"b\.csv has the features z, and .*a\.csv has x \[m\]\. Name those"):
        list(read_tracks(files, Wanted(), Problems()))


def test_a_name_that_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"what .*a\.dat holds\. Set data\.format to csv, jsonl or npz\."):
        read(written(tmp_path, "a.dat", "x\n1\n"))
