"""Without a package that few need, one sentence says which to install, and nothing else happens."""

import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from PIL import Image

from dragoman.cli.demos import captions, chat, frames
from dragoman.cli.demos.playing import Given
from dragoman.data.pictures import read_picture
from dragoman.data.readers import chitchat
from dragoman.data.readers.captions import Captions
from dragoman.data.sequence_survey import survey_sequences
from dragoman.drawing.png import require_matplotlib
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import train
from dragoman.recipes import compose


def learn(recipe: str, folder: Path, table: str) -> None:
    file = (str(folder / table),)
    list(train(compose(recipe, "tiny", file, file).settings, folder / "run"))


def survey(folder: Path) -> None:
    survey_sequences(Captions(train=(str(folder / "captions.tsv"),)), "train", lambda done: None)


def demo(play: Callable[[Given, float], None], folder: Path) -> None:
    play(Given(folder / "demo", 0.01, fresh=False, as_json=False), 0.0)


DOINGS: dict[str, Callable[[Path], object]] = {
    "xu2015": lambda folder: learn("xu2015", folder, "captions.tsv"),
    "classify-clips": lambda folder: learn("classify-clips", folder, "clips.tsv"),
    "predict": lambda folder: read_picture(folder / "a.png", 8),
    "data": survey,
    "demo captions": lambda folder: demo(captions.play, folder),
    "demo frames": lambda folder: demo(frames.play, folder),
}


@pytest.mark.parametrize("doing", DOINGS)
def test_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, doing: str) -> None:
    (tmp_path / "clip").mkdir()
    for name in ("a.png", "clip/1.png"):
        Image.new("RGB", (8, 8)).save(tmp_path / name)
    (tmp_path / "captions.tsv").write_text("picture\tcaption\na.png\tblack\n")
    (tmp_path / "clips.tsv").write_text("clip\tlabel\nclip\tup\nclip\tdown\n")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ConfigError) as caught:
        DOINGS[doing](tmp_path)
    assert str(caught.value) == "Pictures are read by pillow, which is not installed: pip install 'dragoman[image]'."
    assert not (tmp_path / "run").exists()


def test_without_the_corpus_of_small_talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(chitchat, "files", missing)
    with pytest.raises(DataError, match=r"needs the chitchat-dataset package: pip install 'dragoman\[demo\]'\."):
        demo(chat.play, tmp_path)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"A PNG needs matplotlib, .*pip install 'dragoman\[plot\]'\. SVG and HTML"):
        require_matplotlib()
