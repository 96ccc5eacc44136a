"""The page on soft dictionaries: its code runs, its claims hold, its pictures are those that the code draws."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "soft-dictionary.md"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
TOLERANCE = 2.0  # dots; another processor may round otherwise


def test_the_page_runs_and_draws_its_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("run_page", DOCS / "run_page.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pictures").mkdir()
    script.run(PAGE)
    drawn = sorted(path.name for path in tmp_path.glob("pictures/*"))
    shown = sorted(re.findall(r"!\[.*?\]\(pictures/(.*?)\)", PAGE.read_text("utf-8")))
    assert drawn == shown != []
    for name in drawn:
        new, kept = ((folder / "pictures" / name).read_text("utf-8") for folder in (tmp_path, DOCS))
        assert same_picture(new, kept), f"{name} has changed: run python docs/run_page.py docs/soft-dictionary.md"


def same_picture(one: str, other: str) -> bool:
    """Equal but for the last digits of places on the curves; the description tells values, and is left out."""
    bare = [re.sub(r"<desc>.*?</desc>", "", picture, flags=re.DOTALL) for picture in (one, other)]
    first, second = ([float(number) for number in NUMBER.findall(picture)] for picture in bare)
    return NUMBER.sub("", bare[0]) == NUMBER.sub("", bare[1]) and all(
        abs(a - b) <= TOLERANCE for a, b in zip(first, second, strict=True)
    )


def test_pictures_are_compared() -> None:
    assert same_picture('<path d="M1.0 2.0"/>', '<path d="M1.1 2.0"/>')
    assert not same_picture('<path d="M1.0 2.0"/>', '<path d="M1.0 9.0"/>')
    assert not same_picture('<path d="M1.0 2.0"/>', '<text d="M1.0 2.0"/>')
