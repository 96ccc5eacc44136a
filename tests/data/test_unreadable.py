"""Files that are no text, in the place of tables: one sentence, whatever they were to hold."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.data.readers.captions import Captions, columns_of
from dragoman.data.readers.clips import Clips, layout_of
from dragoman.data.readers.frames import Frames, titles_of
from dragoman.data.readers.track import Wanted
from dragoman.data.readers.tracks import known_features
from dragoman.errors import DataError
from dragoman.preparation.tracks import prepare_tracks
from dragoman.recipes import compose
from dragoman.runs import Run

DOORS: dict[str, Callable[[str], object]] = {
    "captions": lambda file: columns_of(file, Captions()),
    "clips": lambda file: layout_of(file, Clips()),
    "frames": lambda file: titles_of(file, Frames()),
    "tracks": lambda file: known_features(file, Wanted()),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_binary_file(tmp_path: Path, door: str) -> None:
    (tmp_path / "a.csv").write_bytes(b"\x89PNG\x00\x01\xff\xfe" * 20)
    with pytest.raises(DataError, match=r"a\.csv:1: .*, and none of the lines behind it can be read either\."):
        DOORS[door](str(tmp_path / "a.csv"))


def test_tables_have_no_neighbours(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,x\n" + "".join(f"a,{n}\n" for n in range(30)))
    file = (str(tmp_path / "a.csv"),)
    data = compose("trajectories", "tiny", file, file, overrides=["data.neighbours=2"]).settings.data
    with pytest.raises(DataError) as caught:
        prepare_tracks(Run(tmp_path / "run"), data)  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"data.neighbours = 2 reads tracks beside each, and {file[0]} (CSV) has none. Give JSON lines, such as "
        '{"past": {"x": [1, 2]}, "future": {"x": [3]}, "neighbours": [{"x": [4, 5]}]}, or set data.neighbours = 0.'
    )
