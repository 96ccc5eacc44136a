"""Scenes say what they show, and what they say is read back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dragoman.data.scenes import (
    COLOURS,
    SIZE,
    SPLITS,
    UNSEEN,
    Said,
    Thing,
    caption_of,
    parsed,
    pixels_of_scene,
    scene_of,
    scenes,
    write_scenes,
)

RED, STAR = Thing("small", "red", "circle"), Thing("large", "blue", "star")


@pytest.mark.parametrize(
    ("caption", "said"),
    [
        ("a small red circle", Said(RED)),
        ("a little red disc to the left of a big blue star", Said(RED, "left", STAR)),
        (
            "a big blue star under a small red disc and a large black box",
            Said(STAR, "below", RED, (Thing("large", "black", "square"),)),
        ),
        ("a small red circle near a big blue star", None),
        ("a small pink circle", None),
        ("small red circle", None),
        ("", None),
    ],
)
def test_captions_are_read_back(caption: str, said: Said | None) -> None:
    assert parsed(caption) == said


@pytest.mark.parametrize("split", SPLITS)
def test_every_caption_tells_its_scene(split: str) -> None:
    least, most, unseen = SPLITS[split]
    for number, scene in enumerate(scenes(3, split, 40)):
        assert scene.is_told_by(parsed(caption_of(scene, 3, split, number)))
        assert least <= len(scene.placed) <= most
        assert any((one.thing.colour, one.thing.shape) in UNSEEN for one in scene.placed) == unseen
        others = replace(scene.said, first=Thing("small", "nothing", "star"))
        assert not scene.is_told_by(others)
        twice = replace(scene.said, others=(*scene.said.others, scene.said.first))
        assert not scene.is_told_by(twice)


def test_a_relation_holds_between_any_two() -> None:
    """What is left of something has it on its right, and either may be said."""
    scene = next(one for one in scenes(1, "train", 100) if len(one.placed) == 2 and one.relation == "left")
    first, second = (one.thing for one in scene.placed)
    assert scene.is_told_by(Said(second, "right", first))
    assert not scene.is_told_by(Said(first, "right", second))
    assert not scene.is_told_by(Said(first, "left", first))
    assert not scene.is_told_by(None)


def test_objects_have_their_colours_and_scenes_their_seed() -> None:
    for number in range(20):
        scene = scene_of(1, "train", number)
        pixels = pixels_of_scene(scene, 1, "train", number).astype(int)
        assert pixels.shape == (SIZE, SIZE, 3)
        for one in scene.placed:
            place = int(one.y) + (2 if one.thing.shape == "triangle" else 0)
            middle = pixels[place - 1 : place + 2, int(one.x) - 1 : int(one.x) + 2].mean((0, 1))
            assert np.abs(middle - COLOURS[one.thing.colour]).max() < 15
        assert scene == scene_of(1, "train", number)
    assert scene_of(1, "train", 0) != scene_of(2, "train", 0) != scene_of(2, "test", 0)


def test_scenes_are_written_as_a_users_own(tmp_path: Path) -> None:
    table = write_scenes(tmp_path, "test", 2, references=2)
    lines = table.read_text().splitlines()
    assert lines[0] == "picture\tcaption"
    assert [line.split("\t")[0] for line in lines[1:]] == ["test/00000.png"] * 2 + ["test/00001.png"] * 2
    assert Image.open(tmp_path / "test" / "00001.png").size == (64, 64)
