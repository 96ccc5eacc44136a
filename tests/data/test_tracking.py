from pathlib import Path

import numpy as np
import pytest

from dragoman.data.readers.futures import Futures
from dragoman.data.readers.track import Feature, Track
from dragoman.data.tracking import Tracking, Windows, learn_tracking, tracking_of, usable
from dragoman.errors import StorageError
from dragoman.storage import write_record

NAN = float("nan")
X, Y, TURN = Feature("x", "m"), Feature("y", "m"), Feature("turn")


def tracking(**settings: object) -> Tracking:
    data = Futures(predicts=("x", "y"), past=3, future=2, **settings)
    return tracking_of(data, (X, Y, TURN))


def track(steps: int = 6, others: tuple[np.ndarray, ...] = ()) -> Track:
    """x = t², y = 10 − t, turn = t."""
    t = np.arange(float(steps))
    return Track("a", (X, Y, TURN), np.stack([t**2, 10 - t, t], 1), 5, others=others)


def windows(told: Tracking, stride: int = 1, **of_track: object) -> Windows:
    values = track(**of_track)
    values = Track("a", values.features, values.values[:, : told.source_width], values.line, others=values.others)
    [found] = told.cut(values, stride)
    return found


def test_windows_go_along_a_track() -> None:
    found = windows(tracking(), steps=8, stride=2)
    assert len(found) == 2
    assert found.past[1].tolist() == [[4, 8], [9, 7], [16, 6]]
    assert found.future[1].tolist() == [[25, 5], [36, 4]]
    assert found.lines.tolist() == [5, 7]


def test_a_track_that_is_too_short_gives_none_and_a_given_past_one() -> None:
    assert list(tracking().cut(track(4), 1)) == []
    given = Track("a", (X, Y), track(6).values[:, :2], 1, past=1)
    [found] = tracking().cut(given, 1)
    assert (found.past.shape, found.future.shape) == ((1, 1, 2), (1, 5, 2))


@pytest.mark.parametrize(
    ("frame", "past", "future"),
    [
        ("absolute", [[0, 10], [1, 9], [4, 8]], [[9, 7], [16, 6]]),
        ("last", [[-4, 2], [-3, 1], [0, 0]], [[5, -1], [12, -2]]),
        ("steps", [[NAN, NAN], [1, -1], [3, -1]], [[5, -1], [7, -1]]),
    ],
)
def test_what_points_are_told_from_and_back(frame: str, past: list[list[float]], future: list[list[float]]) -> None:
    told = tracking(frame=frame)
    found = windows(told, steps=5)
    told_past, told_future = told.framed(found)
    np.testing.assert_array_equal(told_past[0], past)
    np.testing.assert_array_equal(told_future[0], future)
    back = told.points(told_future, told.origin(found.past))
    np.testing.assert_array_equal(back[0], [[9, 7], [16, 6]])
    np.testing.assert_array_equal(
        told.errors(told_future, np.zeros_like(told_future))[0], np.cumsum(future, 0) if frame == "steps" else future
    )


def test_context_is_read_of_the_past_and_told_of_the_future() -> None:
    told = tracking(context=("turn",), frame="last")
    past, future = told.framed(windows(told, steps=5))
    assert past[0, :, 2].tolist() == [0, 1, 2]
    assert future[0, :, 2].tolist() == [3, 4]
    assert told.widths == (3, 3)


def test_the_nearest_neighbours_at_the_end_of_the_past_come_first() -> None:
    far, near = np.array([[100.0, 8]] * 5), np.array([[NAN, NAN], [4.0, 8], [5, 8], [9, 9], [9, 9]])
    told = tracking(neighbours=3, frame="last")
    past, _ = told.framed(windows(told, steps=5, others=(far, near)))
    beside = past[0, :, 2:].reshape(3, 3, 4)
    np.testing.assert_array_equal(beside[2, 0], [1, 0, 1, 0])  # 1 m ahead, and its step
    np.testing.assert_array_equal(beside[1, 0], [3, -1, NAN, NAN])  # where it came from is not known
    np.testing.assert_array_equal(beside[2, 1], [96, 0, 0, 0])
    assert np.isnan(beside[:, 2]).all()


def test_a_shorter_neighbour_ends_where_the_past_does() -> None:
    told = tracking(neighbours=1)
    values = track(5).values[:, :2]
    other = np.array([[7.0, 7], [8, 8]])
    [given] = told.cut(Track("a", (X, Y), values, 1, past=3, others=(other,)), 1)
    np.testing.assert_array_equal(given.others[0, :, 0], [[NAN, NAN], [7, 7], [8, 8]])


def test_the_last_known_value_is_where_a_track_is() -> None:
    values = windows(tracking(), steps=5).past.copy()
    values[0, 2, 0] = NAN
    assert tracking().origin(values).tolist() == [[1, 8]]


def test_windows_without_a_known_past_or_future_are_of_no_use() -> None:
    found = windows(tracking(), steps=7)
    found.past[0, :, 1] = NAN
    found.future[1, :, :2] = NAN
    found.future[2, 0] = NAN
    assert usable(found, 2).tolist() == [False, False, True]


def test_scales_are_learned_of_what_is_told() -> None:
    told = tracking(context=("turn",), frame="steps")
    learned = learn_tracking(told, iter([windows(told, steps=5)]), together=False)
    assert learned.scale.means == pytest.approx((4.0, -1.0, 2.0))  # steps 1, 3, 5, 7; −1; turns 0 to 4
    assert learned.scale.deviations == pytest.approx((5**0.5, 1.0, 2**0.5))
    source, target = learned.encoded(windows(told, steps=5))
    assert (source.dtype, target.shape) == (np.float32, (1, 2, 3))
    together = learn_tracking(told, iter([windows(told, steps=5)]), together=True)
    assert together.scale.means[:2] == (0, 0)
    assert together.scale.deviations[0] == together.scale.deviations[1] == pytest.approx(((84 + 4) / 8) ** 0.5)


@pytest.mark.parametrize("last", [8.0, NAN], ids=["the last point is known", "it is not"])
def test_points_behind_a_gap_are_known_by_what_steps_sum_up_to(last: float) -> None:
    """Whatever is said, it is missed by as much as `points` would have it."""
    told = tracking(frame="steps", missing="allow")
    learned = learn_tracking(told, iter([windows(told, steps=5)]), together=False)
    past = np.array([[[0.0, 10], [1, 9], [4, last]]])
    future = np.array([[[9.0, 7], [NAN, 6], [NAN, NAN], [30, 3]]])
    found = Windows(("a",), np.array([1]), past, future, np.empty((1, 3, 0, 2)))
    _, target = learned.encoded(found)
    assert target.shape == (1, 4, 4) == (1, 4, learned.widths[1])
    said = np.array([[[0.5, -1], [2, 1], [-1, 0], [3, 1]]])
    missed = learned.errors(said, target[..., :2], target[..., 2:])
    np.testing.assert_allclose(missed, learned.points(said, learned.origin(past)) - future, rtol=1e-5)


def test_kept_beside_the_weights(tmp_path: Path) -> None:
    told = tracking(context=("turn",), neighbours=2)
    told.write(tmp_path / "tracks.json")
    found = Tracking.load(tmp_path / "tracks.json")
    assert found == told
    assert found.hash == told.hash
    assert found.unit == "m"


@pytest.mark.parametrize(
    "change", [{"predicts": []}, {"frame": "upside down"}, {"past": -1}, {"reads": ["z"]}, {"scale": 3}]
)
def test_a_damaged_record_is_said(tmp_path: Path, change: dict[str, object]) -> None:
    told = tracking()
    told.write(tmp_path / "tracks.json")
    from dragoman.storage import read_record

    write_record(tmp_path / "tracks.json", {**read_record(tmp_path / "tracks.json"), **change})
    with pytest.raises(StorageError, match=r"tracks\.json is damaged: .* Copy it again\."):
        Tracking.load(tmp_path / "tracks.json")
