import numpy as np
import pytest

from dragoman.metrics.displacement import distance_at, measure_tracks, squared_at

NAN = float("nan")


def test_windows_of_one_track_are_drawn_together() -> None:
    """Two tracks of a hundred equal windows each: there are three different draws of two tracks, and no others."""
    apart = [np.array([1.0])] * 100 + [np.array([3.0])] * 100
    ade, *_ = measure_tracks(apart, ["a"] * 100 + ["b"] * 100, "m", resamples=100)
    assert (ade.name, ade.value, ade.low, ade.high) == ("ade [m]", 2.0, 1.0, 3.0)
    assert ade.signature == "tracks|bs:100|seed:12345"


def test_of_one_track_alone_its_windows_are_drawn() -> None:
    apart = [np.array([1.0]), np.array([3.0])] * 50
    ade, *_ = measure_tracks(apart, ["a"] * 100, "", resamples=100)
    assert 1 < ade.low < ade.value == 2 < ade.high < 3
    assert ade.signature == "futures|bs:100|seed:12345"


def test_futures_that_do_not_reach_a_step_have_no_part_in_it() -> None:
    apart = [np.array([1.0, 3.0]), np.array([1.0]), np.array([1.0, NAN])]
    found = {one.name: one for one in measure_tracks(apart, ["a", "b", "c"], "", resamples=40)}
    assert (found["rmse@2"].low, found["rmse@2"].value, found["rmse@2"].high) == (3, 3, 3)
    assert found["fde"].value == pytest.approx(5 / 3)
    assert distance_at(apart, 2).items.tolist() == [[3, 1], [0, 0], [0, 0]]
    assert squared_at(apart, 2).items.tolist() == [[9, 1], [0, 0], [0, 0]]
