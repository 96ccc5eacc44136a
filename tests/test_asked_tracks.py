"""What a model of tracks is told when it is asked: the same steps as in training."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from dragoman.data.readers.futures import Futures
from dragoman.data.readers.track import Feature, Track
from dragoman.data.tracking import tracking_of
from dragoman.errors import DataError
from dragoman.models import ForecasterModel
from dragoman.pipeline.tracks import Forecasting
from dragoman.search.rollout import Rollout

X, TURN = Feature("x", "m"), Feature("turn")


def forecasting(**settings: object) -> Forecasting:
    """Without a model, which is not asked here."""
    data = Futures.model_validate({"predicts": ("x",), "past": 2, "future": 2, **settings})
    features = (X, TURN) if data.context else (X,)
    return Forecasting(
        ForecasterModel.__new__(ForecasterModel), tracking_of(data, features), Rollout(), torch.device("cpu")
    )


def test_neighbours_are_read_at_the_steps_that_training_reads() -> None:
    """Of four steps the last two are only known ahead; the neighbour is known at all four."""
    asked = forecasting(neighbours=1, context=("turn",))
    values, other = np.array([[1.0, 0], [2, 0], [3, 0], [4, 0]]), np.array([[10.0], [11], [12], [13]])
    track = Track("a", (X, TURN), values, 1, others=(other,))
    [learned] = asked.tracking.cut(track, 1)
    ahead = values.copy()
    ahead[2:, 0] = np.nan
    found = asked.asked(replace(track, values=ahead), None)
    assert found.others[0, :, 0, 0].tolist() == learned.others[0, :, 0, 0].tolist() == [10, 11]


def test_a_neighbour_that_is_longer_than_its_track_is_refused() -> None:
    track = Track("a", (X,), np.array([[1.0], [2]]), 1, others=(np.zeros((3, 1)),))
    with pytest.raises(DataError, match=r"Track 'a': a neighbour of 3 steps, and its track has 2: give it as many"):
        forecasting(neighbours=1).asked(track, None)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"x": [1.0, 2.0], "turn": [1.0]}, "all of one length, not 'x' (2,), 'turn' (1,)."),
        ({"x": [[1.0]], "turn": [[1.0]]}, "all of one length, not 'x' (1, 1), 'turn' (1, 1)."),
        ({"x": [1.0, "far"], "turn": [1.0, 2.0]}, "Feature 'x' of a track is not numbers, as many in each row: could"),
        ({"x": [[1.0], [1.0, 2.0]], "turn": [1.0, 2.0]}, "Feature 'x' of a track is not numbers, as many in each row"),
        ([[1.0, 2.0], [3.0]], "A track is not numbers, as many in each row: setting an array element with a sequence"),
        ([["a", "b"]], "A track is not numbers, as many in each row: could not convert string to float: 'a'."),
        ([{1}], "A track is not numbers, as many in each row: float() argument must be"),
        ([[1.0, np.inf], [1.0, 2.0]], "A track holds infinite numbers."),
        ({"x": [1.0, -np.inf], "turn": [1.0, 2.0]}, "A track holds infinite numbers."),
        (
            Track("a", (Feature("x", "cm"), TURN), np.zeros((2, 2)), 1),
            "Track 'a' has the features x [cm], turn, and this model reads x [m], turn.",
        ),
        (
            Track("a", (TURN, X), np.zeros((2, 2)), 1),
            "Track 'a' has the features turn, x [m], and this model reads x [m], turn.",
        ),
        (Track("a", (X,), np.zeros((2, 1)), 1), "rows of 2 numbers (x, turn), not an array of the shape (2, 1)."),
    ],
)
def test_what_is_no_track_is_said_in_a_sentence(given: object, sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        forecasting(context=("turn",)).track_of(given)
    assert sentence in str(caught.value)


def test_what_is_missing_may_be_none() -> None:
    track = forecasting(context=("turn",)).track_of({"x": [1, None], "turn": [0, 0]})
    np.testing.assert_array_equal(track.values, [[1, 0], [np.nan, 0]])
