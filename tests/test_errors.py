"""Every failure has a sentence and an exit code."""

import pytest

from dragoman.errors import ConfigError, DragomanError, choose, nearest


def test_a_miss_names_the_nearest_and_all_that_are_known() -> None:
    with pytest.raises(ConfigError) as caught:
        choose("attention", "additiv", {"additive": 1, "dot": 2}, "train.toml, line 14")
    assert str(caught.value) == (
        "No attention is called 'additiv' (train.toml, line 14). Did you mean 'additive'? Known: additive, dot."
    )


def test_a_hit_is_given_back() -> None:
    assert choose("attention", "dot", {"additive": 1, "dot": 2}) == 2


def test_nothing_near_suggests_nothing() -> None:
    assert nearest("zebra", ["additive", "dot"]) == ""


def test_every_kind_of_failure_has_its_own_exit_code() -> None:
    codes = [kind.exit_code for kind in DragomanError.__subclasses__()]
    assert sorted(codes) == [2, 3, 4, 5, 6]
