from pathlib import Path

import numpy as np
import pytest

from dragoman.data.readers.track import Feature
from dragoman.data.scales import Scale, learn_scale
from dragoman.errors import StorageError
from dragoman.storage import write_record

FEATURES = (Feature("x", "m"), Feature("speed", "m/s"))
NAN = float("nan")


def test_mean_and_deviation_of_each_feature_in_one_pass() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal([1e6, -3], [2.0, 0.5], (1000, 2))
    values[::7, 1] = NAN
    scale = learn_scale(FEATURES, np.array_split(values, 13))
    np.testing.assert_allclose(scale.means, np.nanmean(values, 0), rtol=1e-12)
    np.testing.assert_allclose(scale.deviations, np.nanstd(values, 0), rtol=1e-9)


def test_scaled_and_back_in_the_units_of_the_user() -> None:
    scale = Scale(FEATURES, (10.0, -1.0), (2.0, 0.5))
    values = np.array([[12.0, -1.5], [NAN, 0.0]])
    scaled = scale.scaled(values)
    assert scaled.dtype == np.float32
    np.testing.assert_array_equal(scaled, [[1, -1], [NAN, 2]])
    np.testing.assert_array_equal(scale.unscaled(scaled), values)


def test_what_never_changes_and_what_was_never_seen_stay_as_they_are() -> None:
    scale = learn_scale(FEATURES, [np.array([[3.0, NAN], [3.0, NAN]])])
    assert scale.means == (3.0, 0.0)
    assert scale.deviations == (1.0, 1.0)


def test_together_one_deviation_and_no_mean() -> None:
    scale = learn_scale(FEATURES, [np.array([[3.0, 1.0], [-1.0, 1.0]])], together=[(0, 1)])
    assert scale.means == (0.0, 0.0)
    assert scale.deviations == pytest.approx((3**0.5, 3**0.5))


def test_kept_with_names_and_units(tmp_path: Path) -> None:
    scale = learn_scale(FEATURES, [np.array([[1.0, 2.0], [2.0, 4.0]])])
    scale.write(tmp_path / "scale.json")
    found = Scale.load(tmp_path / "scale.json")
    assert found == scale
    assert found.hash == scale.hash
    assert found.of(["speed"]) == Scale(FEATURES[1:], scale.means[1:], scale.deviations[1:])


@pytest.mark.parametrize(
    "record",
    [
        {"features": [{"name": "x", "unit": "m"}], "means": [0.0], "deviations": [0.0]},
        {"features": [{"name": "x", "unit": "m"}], "means": [0.0, 1.0], "deviations": [1.0]},
        {"features": [{"name": 3, "unit": "m"}], "means": [0.0], "deviations": [1.0]},
        {"means": [0.0], "deviations": [1.0]},
        {"features": [{"nom": "x"}], "means": [0.0], "deviations": [1.0]},
    ],
)
def test_a_damaged_scale_is_said(tmp_path: Path, record: dict[str, object]) -> None:
    write_record(tmp_path / "scale.json", record)
    with pytest.raises(StorageError, match=r"scale\.json is damaged: .* Copy it again\."):
        Scale.load(tmp_path / "scale.json")
