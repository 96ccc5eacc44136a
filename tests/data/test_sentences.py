"""Lines of text cut into sentences."""

import pytest

from dragoman.data.sentences import sentences_of


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("He left. She stayed!", ["He left.", "She stayed!"]),
        ("", []),
        ("  no end", ["no end"]),
        ("“Is it?” said she. “It is.”", ["“Is it?” said she.", "“It is.”"]),
        ('"I know." "So do I."', ['"I know."', '"So do I."']),
        ("Mr. and Mrs. Bennet met J. R. Fox. He was well.", ["Mr. and Mrs. Bennet met J. R. Fox.", "He was well."]),
        ("It was I. He knew.", ["It was I.", "He knew."]),
        ("Then… nothing. 3 came.", ["Then… nothing.", "3 came."]),
        ("Wait... what? (Yes.) No.", ["Wait... what?", "(Yes.)", "No."]),
        ("今日は晴れ。明日は雨。", ["今日は晴れ。", "明日は雨。"]),
        ("3.5 is a number, e.g. here.", ["3.5 is a number, e.g. here."]),
    ],
)  # fmt: skip
def test_where_a_sentence_ends(line: str, expected: list[str]) -> None:
    assert sentences_of(line) == expected


def test_nothing_is_lost() -> None:
    line = "One. Two! “Three?” (Four.) Mr. Five. six. 7. Eight"
    assert " ".join(sentences_of(line)) == line
