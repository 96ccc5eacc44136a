import numpy as np
import pytest

from dragoman.baselines.tracks import onward

NAN = float("nan")


@pytest.mark.parametrize(
    ("past", "future"),
    [
        ([1, 2, 4], [6, 8]),
        ([101, 102, NAN], [104, 105]),  # where it is by now, it is not known
        ([100, NAN, 104], [106, 108]),
        ([100, 102, NAN, NAN], [108, 110]),
        ([NAN, 7, NAN], [7, 7]),
        ([7], [7, 7]),
        ([NAN, NAN], [NAN, NAN]),
    ],
)
def test_on_from_the_last_known_point_at_the_last_known_velocity(past: list[float], future: list[float]) -> None:
    np.testing.assert_array_equal(onward(np.array(past, float)[None, :, None], 2)[0, :, 0], future)


def test_each_feature_is_known_by_itself() -> None:
    past = np.array([[[1.0, 5], [2, 6], [NAN, 7]]])
    assert onward(past, 1).tolist() == [[[4, 8]]]
