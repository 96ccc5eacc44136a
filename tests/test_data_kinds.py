"""dragoman data on tracks, frames, clips, captions and conversations: what is said of them, and of what is none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from command_line import CommandLine

TRACKS = "id,x [m],speed\n" + "".join(f"a,{n},{n / 2}\n" for n in range(6)) + "b,1,\nb,7,2\n"
FRAMES = "id,x,label\n1,1,up\n1,2,up\n2,3,down\n3,5,\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Image.new("RGB", (9, 9)).save(tmp_path / "a.png")
    (tmp_path / "clip").mkdir()
    Image.new("RGB", (9, 9)).save(tmp_path / "clip" / "1.png")
    (tmp_path / "b.png").write_bytes(b"nothing")
    (tmp_path / "tracks.csv").write_text(TRACKS)
    (tmp_path / "frames.csv").write_text(FRAMES)
    (tmp_path / "clips.tsv").write_text("clip\tlabel\nclip\tup\nnowhere\tdown\n")
    (tmp_path / "captions.tsv").write_text("picture\tcaption\na.png\ta red thing\na.png\tred\nb.png\tx\na.png\t\n")
    talks = [["a", "b", "c"], ["d", "e"], ["f"], ["g", "h"]]
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps({"turns": one}) + "\n" for one in talks))
    return tmp_path


def summary(dragoman: CommandLine, file: Path, *words: str) -> dict[str, object]:
    done = dragoman("data", file, "--json", *words)
    assert done.code == 0, done.err
    found = json.loads(done.out)["train"]
    assert isinstance(found, dict)
    return found


def test_tracks_have_features_with_units_and_ranges(dragoman: CommandLine, folder: Path) -> None:
    words = ("data.kind=tracks", "data.past=2", "data.future=2", "data.missing=allow")
    found = summary(dragoman, folder / "tracks.csv", *words)
    assert (found["examples"], found["windows"], found["too_short"], found["findings"]) == (2, 3, 1, [])
    assert found["features"] == [
        {"name": "x", "unit": "m", "least": 0.0, "most": 7.0, "mean": 23 / 8, "missing": 0},
        {"name": "speed", "unit": "", "least": 0.0, "most": 2.5, "mean": 9.5 / 7, "missing": 1},
    ]
    told = dragoman("data", folder / "tracks.csv", *words)
    assert f"{folder / 'tracks.csv'}: CSV, tracks by 'id', features x [m], speed" in told.err
    assert "train: 2 tracks on 9 lines" in told.out
    assert "3 windows; 1 tracks are too short for one" in told.out
    assert "speed  0 … 2.5, mean 1.35714, 1 missing" in told.out
    refused = dragoman("data", folder / "tracks.csv", "data.kind=tracks")
    assert "'speed' is missing (data.missing=allow lets it be)" in refused.out
    assert "Training would refuse: 1 bad lines among 9" in refused.err


def test_frames_have_labels(dragoman: CommandLine, folder: Path) -> None:
    found = summary(dragoman, folder / "frames.csv", "data.kind=frames")
    assert (found["examples"], found["labels_of"], found["labels"]) == (2, "sequences", {"up": 1, "down": 1})
    assert "2 labels of sequences: up 1, down 1" in dragoman("data", folder / "frames.csv", "data.kind=frames").out
    assert "empty label" in dragoman("data", folder / "frames.csv", "data.kind=frames").out
    (folder / "each.csv").write_text("id,x,label\n1,1,up\n1,2,down\n1,2,down\n")
    found = summary(dragoman, folder / "each.csv", "data.kind=frames")
    assert (found["labels_of"], found["labels"]) == ("frames", {"down": 2, "up": 1})


def test_pictures_that_cannot_be_read_are_found(dragoman: CommandLine, folder: Path) -> None:
    found = summary(dragoman, folder / "captions.tsv", "data.kind=captions")
    assert (found["examples"], found["pictures"]) == (2, 1)
    told = dragoman("data", folder / "captions.tsv", "data.kind=captions").out
    assert "train: 2 captions of 1 pictures on 5 lines" in told
    assert f"the picture is no picture in PNG, JPEG, WEBP, GIF or BMP: {folder / 'captions.tsv'}:4" in told
    assert f"empty caption: {folder / 'captions.tsv'}:5" in told
    assert "longest 3" in told
    told = dragoman("data", folder / "clips.tsv", "data.kind=clips").out
    assert "train: 1 clips on 3 lines" in told
    assert f"the folder of the clip is not there: {folder / 'clips.tsv'}:3" in told


def test_conversations_have_turns(dragoman: CommandLine, folder: Path) -> None:
    found = summary(dragoman, folder / "talks.jsonl", "data.kind=conversations")
    assert found["conversations"] == 3
    assert isinstance(found["turns"], dict)
    assert (found["turns"]["edges"], found["turns"]["counts"]) == ([2, 3, 4], [2, 1])
    assert "  3 conversations\n" in dragoman("data", folder / "talks.jsonl", "data.kind=conversations").out


@pytest.mark.parametrize(
    ("code", "words", "sentence"),
    [
        (2, ["tracks.csv", "data.kind=trakcs"], "Did you mean 'tracks'? Known: pairs, conversations, tracks, frames,"),
        (2, ["data.kind=clips"], "There is nothing to look at: name a file of clips."),
        (2, ["tracks.csv", "data.kind=tracks", "--test", "x"], "--test is for pairs, and data.kind is 'tracks'."),
        (3, ["tracks.csv", "data.kind=frames"], "tracks.csv holds the labels; it has 'id'"),
        (3, ["tracks.csv", "data.kind=tracks", "data.predicts=xx"], "has no feature 'xx'. Did you mean 'x'?"),
        (3, ["a.png", "data.kind=tracks"], "Set data.format to csv, jsonl or npz."),
        (3, ["clip", "data.kind=captions"], "clip is a folder, not a file."),
        (3, ["nowhere.csv", "data.kind=frames"], "There is no file nowhere.csv."),
    ],
)
def test_what_is_none(dragoman: CommandLine, folder: Path, code: int, words: list[str], sentence: str) -> None:
    done = dragoman("data", *(folder / word if (folder / word).exists() else word for word in words))
    assert (done.code, sentence in done.err) == (code, True), done.err


def test_no_torch_is_needed(folder: Path) -> None:
    program = (
        "import sys\nsys.modules['torch'] = None\nfrom dragoman.cli.main import run\n"
        f"sys.argv = ['dragoman', 'data', {str(folder / 'tracks.csv')!r}, 'data.kind=tracks']\nrun()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
