import pytest

from dragoman.metrics import measure


@pytest.mark.parametrize(
    ("said", "references", "value"),
    [
        ("a red dog", ("a red dog",), 100),
        ("dog red a", ("a red dog",), 100),  # in any order
        ("a dog", ("a red dog", "a cat"), 80),  # 2 of 2 and 2 of 3: 2·2 / (2 + 3), better than 50 with the other
        ("a a a", ("a",), 50),  # 1 of 3 and 1 of 1
        ("犬", ("赤い犬",), 50),  # signs, where no spaces are written: 1 of 1 and 1 of 3
        ("", ("a",), 0),
        ("", ("",), 100),
    ],
)
def test_words_in_common(said: str, references: tuple[str, ...], value: float) -> None:
    [found] = measure(["token_f1"], [said], [references], resamples=1)
    assert found.value == pytest.approx(value)


def test_the_mean_over_answers() -> None:
    [found] = measure(["token_f1"], ["a dog", "x"], [("a red dog",), ("y",)], resamples=5)
    assert found.value == pytest.approx(40)
    assert "unit:token" in found.signature
