"""Which script a character belongs to."""

import pytest

from dragoman.scripts import count_scripts, is_spaceless, script_of


@pytest.mark.parametrize(
    ("character", "script"),
    [
        ("中", "han"),
        ("々", "han"),
        ("𠀋", "han"),
        ("ひ", "kana"),
        ("ｶ", "kana"),
        ("한", "hangul"),
        ("ไ", "thai"),
        ("ລ", "lao"),
        ("ខ", "khmer"),
        ("မ", "burmese"),
        ("ä", "other"),
        ("ж", "other"),
    ],
)
def test_script_of(character: str, script: str) -> None:
    assert script_of(character) == script


def test_signs_between_characters_have_no_spaces() -> None:
    assert all(map(is_spaceless, "中ひไ。，！「"))
    assert not any(map(is_spaceless, "a한.! 1"))


def test_only_letters_are_counted() -> None:
    assert count_scripts(["中文。 12", "ab ไม่"]) == {"han": 2, "other": 2, "thai": 3}
