"""Light falls where a word looked."""

import numpy as np
from PIL import Image

from dragoman.drawing.overlay import DARK, Overlay, figure, light, lit, looks, most_looked_at, png, shown_size

WHITE = np.full((8, 8, 3), 200, np.uint8)
CORNER = Overlay(WHITE, ("<b>", "END"), ((0.0, 1.0, 0.0, 0.0), (0.25,) * 4), (2, 2), "a <b>", "x.png", (-0.5, 0.0))


def test_light_is_whole_where_was_looked_most() -> None:
    found = light(CORNER.weights[0], (2, 2), (8, 8))
    assert found.shape == (8, 8)
    assert found[0, 7] == found.max() == 1
    assert abs(found[7, 0] - DARK) < 0.01
    assert (light((0.0,) * 4, (2, 2), (8, 8)) == DARK).all()
    assert np.allclose(light(CORNER.weights[1], (2, 2), (8, 8)), 1)


def test_a_wide_image_is_drawn_wide() -> None:
    assert shown_size((64, 64)) == (144, 144)
    assert shown_size((32, 128)) == (72, 288)
    found = light((0.0, 0.0, 0.0, 1.0), (1, 4), (2, 8))
    assert found.shape == (2, 8)
    assert found[0].argmax() == 7
    wide = Overlay(np.zeros((2, 8, 3), np.uint8), ("a",), ((0.0, 0.0, 0.0, 1.0),), (1, 4))
    assert most_looked_at(wide, 0) == (1, 4, 1.0)


def test_a_word_sees_the_picture_in_that_light() -> None:
    seen = lit(CORNER, 0)
    assert seen[0, 7].tolist() == [200, 200, 200]
    assert abs(int(seen[7, 0, 0]) - 50) < 3
    assert most_looked_at(CORNER, 0) == (1, 2, 1.0)


def test_a_figure_holds_its_pictures_and_escapes_its_words() -> None:
    drawn = figure(CORNER, "note")
    assert drawn.count("data:image/png;base64,") == 3
    assert "&lt;b&gt;" in drawn
    assert "<b>" not in drawn
    assert "61%" in looks(CORNER)  # e^−0.5


def test_a_png_of_all_words(tmp_path) -> None:
    content, missing = png(CORNER, "x.png → a")
    (tmp_path / "a.png").write_bytes(content)
    assert Image.open(tmp_path / "a.png").size[0] > 300
    assert missing == ""
