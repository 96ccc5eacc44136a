"""Captions of generated scenes: shapes, colours, sizes, and how two of them stand to one another."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.demos.playing import Given, learn

if TYPE_CHECKING:
    from dragoman.pipeline import Pipeline

SEED, SCALE = 1, "small"
TRAINED, VALIDATED, TESTED = 24_000, 200, 500  # scenes
SHOWN = 6  # of the first test
# Scenes are as many as one likes, so that little has to be left out for the model not to learn them by heart.
SETTINGS = {"model.source.dropout": 0.0, "model.target.dropout": 0.0, "model.decoder.dropout": 0.1}
TESTS = {
    "test": "scenes of the same kind",
    "unseen": "with a pair of colour and shape never seen",
    "more": "with one object more than ever seen",
}


@dataclass(frozen=True)
class Tested:
    """Scenes of one kind: how many captions say exactly what there is, read back by the grammar."""

    split: str
    right: int
    captions: tuple[str, ...]

    @property
    def share(self) -> float:
        return self.right / len(self.captions)


def play(given: Given, started_at: float) -> None:
    """Draw scenes, train, describe scenes of three kinds, read the captions back, and look inside."""
    from dragoman.data.pictures import require_pillow
    from dragoman.pipeline import Pipeline
    from dragoman.recipes import compose

    require_pillow()
    data, run = given.data, given.run
    for split, count in (("train", TRAINED), ("valid", VALIDATED), *((split, TESTED) for split in TESTS)):
        draw(data, split, count)
    settings = {"training.minutes": given.minutes, "evaluation.report": 200, **SETTINGS}
    files = (str(data / "train.tsv"),), (str(data / "valid.tsv"),)
    learn(compose("xu2015", SCALE, *files, settings=settings), given)
    pipeline = Pipeline.load(run)
    tested = [test(pipeline, data, split) for split in TESTS]
    page = looks(pipeline, data, run)
    seconds = time.monotonic() - started_at
    if given.as_json:
        print_json(tested, seconds)
    else:
        print_story(tested, data)
    told = f"Report: {run / 'report.html'}; where it looked: {page}."
    print(f"\nDone in {seconds / 60:.1f} minutes. {told}", file=sys.stderr)
    print(f"Ask it yourself:\n  dragoman predict {run} {data / 'test'}", file=sys.stderr)
    print(f"  dragoman look {run} {data / 'more' / '00000.png'} --html look.html", file=sys.stderr)


def draw(folder: Path, split: str, count: int) -> None:
    """The scenes of a split, unless they are there."""
    from dragoman.data.scenes import write_scenes

    if not (folder / f"{split}.tsv").exists():
        print(f"Drawing {count:,} scenes ({split}).", file=sys.stderr, flush=True)
        write_scenes(folder, split, count, SEED)


def test(pipeline: "Pipeline", folder: Path, split: str) -> Tested:
    from dragoman.data.scenes import parsed, scenes

    true = list(scenes(SEED, split, TESTED))
    names = [str(folder / split / f"{number:05}.png") for number in range(TESTED)]
    said = tuple(answer.text for answer in pipeline.stream(names))
    right = sum(scene.is_told_by(parsed(text)) for scene, text in zip(true, said, strict=True))
    return Tested(split, right, said)


def looks(pipeline: "Pipeline", folder: Path, run: Path) -> Path:
    """A page with a few scenes of each test, as each word saw them."""
    from dragoman.drawing import overlay
    from dragoman.drawing.page import page
    from dragoman.pipeline.pictures import overlay_of
    from dragoman.storage import write_atomically

    names = [str(folder / split / f"{number:05}.png") for split in TESTS for number in range(3)]
    answers = pipeline.predict(names)
    figures = [overlay.figure(overlay_of(pipeline, *one)) for one in zip(names, answers, strict=True)]
    write_atomically(run / "looks.html", page(figures, "Where each word looked", overlay.STYLE))
    return run / "looks.html"


def print_story(tested: list[Tested], data: Path) -> None:
    print("\nCaptions that say exactly what there is, read back by the grammar:", flush=True)
    for one in tested:
        print(f"  {TESTS[one.split]:<45} {one.share:6.1%}  ({one.right} of {len(one.captions)})")
    print("\nA few of the first:")
    for number, caption in enumerate(tested[0].captions[:SHOWN]):
        print(f"  {data / tested[0].split / f'{number:05}.png'}  {caption}")


def print_json(tested: list[Tested], seconds: float) -> None:
    """One last object behind the events."""
    import json

    shares: dict[str, Any] = {one.split: {"exact": one.share, "scenes": len(one.captions)} for one in tested}
    print(json.dumps({"event": "result", "tests": shares, "seconds": seconds}))
