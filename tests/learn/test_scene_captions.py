"""Captions of generated scenes that must be learned within a minute on one thread."""

from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import dragoman
from dragoman.data.scenes import Scene, pixels_of_scene, scene_of
from dragoman.storage import make_folder
from dragoman.training.events import Finished

SETTINGS: dict[str, Any] = {
    "training.threads": 1,
    "training.estimate": False,
    "training.schedule.warmup": 20,
    "training.optimiser.rate": 0.01,
    "training.clip": 5.0,
    "training.save_every": 5000,
    "training.validate_every": 5000,
    "evaluation.report": 0,
    "objective.doubly_stochastic": 0.01,  # short captions look at few of the cells
    "model.source.width": 32,
    "model.source.groups": 2,
    "model.source.dropout": 0.0,
    "model.target.dropout": 0.0,
    "model.decoder.dropout": 0.0,
    "search.kind": "greedy",
}


COLOURS, SHAPES = ("red", "green", "blue", "black"), ("circle", "square", "triangle")
HARD = {"model.decoder.attention.weights": {"kind": "hard", "choice": "sampled"}, "objective.doubly_stochastic": 0.0}


def drawn(split: str) -> Iterator[tuple[int, Scene]]:
    """Scenes of one large object, ten in all that differ in colour and shape, anywhere in the picture."""
    for number in count():
        scene = scene_of(1, split, number, 1, 1)
        thing = scene.placed[0].thing
        if thing.size == "large" and thing.colour in COLOURS and thing.shape in SHAPES:
            yield number, scene


def written(folder: Path, split: str, scenes: int) -> list[tuple[str, str]]:
    """Pictures with captions of two words, and a table of both."""
    make_folder(folder / split)
    found, rows = [], ["picture\tcaption"]
    for number, scene in islice(drawn(split), scenes):
        path, thing = folder / split / f"{number}.png", scene.placed[0].thing
        Image.fromarray(pixels_of_scene(scene, 1, split, number)).save(path, compress_level=1)
        found.append((str(path), f"{thing.colour} {thing.shape}"))
        rows.append("\t".join(found[-1]))
    (folder / f"{split}.tsv").write_text("\n".join([*rows, ""]), "utf-8")
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "settings"), [(400, {}), (800, HARD)], ids=["soft", "hard"])
def test_captions_of_shapes_are_learned(tmp_path: Path, steps: int, settings: dict[str, Any]) -> None:
    """A guess is right for one scene of ten. Who sees the colour and guesses among the shapes that it comes in is right
    for four of ten, and who sees the shape and guesses the colour for three: 0.65 takes both."""
    written(tmp_path, "train", 800)
    tested = written(tmp_path, "test", 100)
    own = {**SETTINGS, **settings, "training.steps": steps}
    files = {"pairs": tmp_path / "train.tsv", "out": tmp_path / "run"}
    *_, last = dragoman.train("xu2015", scale="tiny", settings=own, **files)
    assert last == Finished(steps, "steps")
    answers = dragoman.load(tmp_path / "run", device="cpu").predict([path for path, _ in tested])
    right = [answer.text == caption for answer, (_, caption) in zip(answers, tested, strict=True)]
    assert sum(right) >= 65
