"""Settings of forecasts chosen from the data: whether positions help, epochs; and positions as a model reads them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import CommandLine
from dragoman.config import read_toml, validate
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.track import Feature
from dragoman.data.tracking import Tracking, Windows, learn_tracking, tracking_of
from dragoman.defaults.budget import Budget
from dragoman.defaults.tracks import TrackSurvey, choose_for_tracks, survey_tracks
from dragoman.errors import ConfigError

FEATURES = (Feature("x", "m"), Feature("y", "m"))


def walk(number: int, turns: bool) -> np.ndarray:
    """Along x at a speed of its own; where `turns`, upwards behind x = 10."""
    drawn = np.random.default_rng(number)
    here, found = np.array([drawn.uniform(0, 14), drawn.uniform(0, 3)]), []
    speed = drawn.uniform(0.5, 1.5)
    for _ in range(20):
        found.append(here)
        here = here + (np.array([0.0, speed]) if turns and here[0] > 10 else np.array([speed, 0.0]))
    return np.array(found) + drawn.normal(0, 0.02, (20, 2))


def surveyed(turns: bool, tracks: int = 300) -> TrackSurvey:
    walks = np.stack([walk(number, turns) for number in range(tracks)])
    return TrackSurvey(tracks, tuple(str(number) for number in range(tracks)), walks[:, :8], walks[:, 8:])


def chosen(survey: TrackSurvey, **given: Any) -> dict[str, Any]:
    known = {name.replace("__", "."): value for name, value in given.items()}
    return {one.key: one.value for one in choose_for_tracks(survey, known, Budget.of(known))}


def test_positions_are_read_where_a_wall_decides() -> None:
    assert chosen(surveyed(turns=True))["data.position"] is True
    assert chosen(surveyed(turns=False))["data.position"] is False
    assert chosen(surveyed(turns=True, tracks=20))["data.position"] is False  # too few to tell
    assert chosen(surveyed(turns=True), data__turns="right")["data.position"] is False


def test_epochs_follow_from_the_number_of_windows() -> None:
    survey = surveyed(turns=False)
    few, many = (TrackSurvey(size, survey.tracks, survey.past, survey.future) for size in (300, 1_000_000))
    assert (chosen(few)["training.epochs"], chosen(many)["training.epochs"]) == (100, 5)
    assert chosen(few, training__steps=2000)["training.validate_every"] == 100
    assert chosen(few)["data.hold_out"] == 0.1
    assert "data.hold_out" not in chosen(few, data__valid=["valid.csv"])


def tracking(**settings: Any) -> Tracking:
    return tracking_of(validate(Futures, {"past": 2, "future": 1, **settings}), FEATURES)


def windows() -> Windows:
    past = np.array([[[1.0, 10.0], [2.0, 12.0]], [[5.0, 0.0], [4.0, 1.0]]])
    future = np.array([[[4.0, 14.0]], [[3.0, 2.0]]])
    return Windows(("a", "b"), np.array([1, 2]), past, future, np.empty((2, 2, 0, 2)))


def test_positions_stand_behind_the_steps() -> None:
    """Steps of (1, 2) to (2, 12), and where both points are."""
    plain = tracking(frame="steps", position=True)
    past, future = plain.framed(windows())
    assert past[0, 1].tolist() == [1.0, 2.0, 2.0, 12.0]
    assert past[0, 0, 2:].tolist() == [1.0, 10.0]
    assert future[0, 0].tolist() == [2.0, 2.0]
    assert (plain.source_width, plain.names, plain.known) == (4, ("x", "y"), FEATURES)
    learned = learn_tracking(plain, iter([windows()]), False)
    source, target = learned.encoded(windows())
    assert (source.shape, target.shape) == ((2, 2, 4), (2, 1, 2))
    assert abs(float(source[..., 2].mean())) < 1e-6
    assert math.isclose(float(source[..., 2].std()), 1, rel_tol=1e-5)


def test_what_is_known_of_positions_is_kept_and_older_records_are_read(tmp_path: Path) -> None:
    for position in (True, False):
        learned = learn_tracking(tracking(position=position), iter([windows()]), False)
        learned.write(tmp_path / "tracks.json")
        assert Tracking.load(tmp_path / "tracks.json") == learned
        assert ("position" in learned.as_record()) == position


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"frame": "absolute"}, "position = true has no effect with frame = 'absolute'"),
        ({"frame": "steps", "turns": "any"}, "position = true and turns = 'any' exclude each other"),
    ],
)
def test_positions_that_make_no_sense(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        validate(Futures, {"position": True, **settings})


def test_tracks_are_trained_on_and_forecast_with_positions(tmp_path: Path, dragoman: CommandLine) -> None:
    rows = ["id,x,y"]
    for number in range(240):
        rows += [f"{number},{x:.3f},{y:.3f}" for x, y in walk(number, turns=True)]
    file, out = tmp_path / "walks.csv", tmp_path / "run"
    file.write_text("\n".join(rows) + "\n")
    found = survey_tracks(validate(Futures, {"train": [str(file)]}), {}, lambda what, done: None)
    assert found is not None
    assert (found.windows, found.past.shape, found.future.shape) == (240, (240, 8, 2), (240, 12, 2))
    words = ("--out", out, "--steps", 5, "--scale", "tiny", "training.threads=1", "evaluation.report=0")
    done = dragoman("train", "trajectories", file, *words)
    assert done.code == 0, done.err
    assert read_toml(out / "config.toml").table["data"]["position"] is True
    assert dragoman("predict", out, file, "--json").code == 0
    assert dragoman("evaluate", out, file).code == 0
