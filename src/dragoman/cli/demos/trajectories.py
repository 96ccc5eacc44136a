"""Where steered movers go: made-up tracks whose future depends on commands, without and with them."""

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.demos.playing import Given, learn

if TYPE_CHECKING:
    from dragoman.evaluation.tracks import EvaluatedTracks

SHOWN = 3  # futures that are drawn in the terminal
WIDE, HIGH = 60, 16  # characters of such a drawing
PLAIN = ('data.predicts=["x","y"]', "data.stride=4", "training.threads=1")
COMMANDS = 'data.context=["turn","speed"]'


def play(given: Given, started_at: float) -> None:
    """Train with the commands and, as a mixture, without them; measure both on movers never seen, and draw some."""
    from dragoman.data.movers import write_movers
    from dragoman.evaluation.tracks import evaluate_tracks
    from dragoman.pipeline import Pipeline
    from dragoman.recipes import compose

    counts = write_movers(given.data)
    print(f"Made-up movers: {counts['train']:,} tracks to learn from, {counts['test']:,} never seen.", file=sys.stderr)
    files = (str(given.data / "train.csv"),), (str(given.data / "valid.csv"),)
    blind = replace(given, out=given.out / "without-commands")
    for told, scale, words in ((given, None, (*PLAIN, COMMANDS)), (blind, "mixture", PLAIN)):
        what = "the commands are known" if told is given else "they are not, so that the future forks: a mixture"
        print(f"\nTraining {told.run}: {what}.", file=sys.stderr)
        share = given.minutes * (0.6 if told is given else 0.4)
        settings = {"training.minutes": share, "training.epochs": 40}
        learn(compose("trajectories", scale, *files, overrides=list(words), settings=settings), told)
    test = [str(given.data / "test.csv")]
    results = {
        "with commands": evaluate_tracks(Pipeline.load(given.run), test, stride=4),
        "without": evaluate_tracks(Pipeline.load(blind.run), test, n_best=20, stride=4),
    }
    seconds = time.monotonic() - started_at
    if given.as_json:
        print_json(results, seconds)
    else:
        print_story(results, given.run, given.data / "test.csv")
    print(
        f"\nDone in {seconds / 60:.1f} minutes. Look at the futures, and go on with tracks yourself:", file=sys.stderr
    )
    print(f"  {given.run / 'report.html'}\n  {blind.run / 'report.html'}", file=sys.stderr)
    print(f"  dragoman predict {blind.run} {given.data / 'test.csv'} --n-best 20", file=sys.stderr)


def print_story(results: "dict[str, EvaluatedTracks]", run: Path, file: Path) -> None:
    from dragoman.cli.tracks import print_tracks

    for name, result in results.items():
        print(f"\nMovers it never saw, {name}:", flush=True)
        print_tracks(result, json=False)
    with_, without = (result.metrics[0].value for result in results.values())
    print(f"\nThe mixture, which is not told the commands, is {without / with_:.1f} times as far off.")
    for drawing in drawings(run, file):
        print(drawing)


def drawings(run: Path, file: Path) -> list[str]:
    """A few futures over pasts, in characters."""
    from itertools import islice

    import numpy as np

    from dragoman.data.readers.lines import Problems
    from dragoman.data.readers.tracks import read_tracks
    from dragoman.drawing.tracks import Drawn, track_text
    from dragoman.pipeline import Pipeline

    forecasting, found = Pipeline.load(run).forecasting, []
    for track in islice(read_tracks([str(file)], forecasting.tracking.wanted(), Problems()), SHOWN):
        window = next(forecasting.tracking.cut(track, 1)).select(np.array([0]))
        [forecast] = forecasting.answered([window], 0, 1)
        size = len(forecasting.tracking.predicts)
        ways = tuple(one.points for one in forecast.futures)
        picture = Drawn(track.name, forecast.features, forecast.past, ways, window.future[0, :, :size])
        found.append(track_text(picture, WIDE, HIGH))
    return found


def print_json(results: "dict[str, EvaluatedTracks]", seconds: float) -> None:
    """One last object behind the events."""
    import json

    from dragoman.cli.tracks import facts_of

    facts: dict[str, Any] = {name: facts_of(result) for name, result in results.items()}
    print(json.dumps({"event": "result", **facts, "seconds": seconds}, ensure_ascii=False))
