"""Tokenizers: round trips, special symbols, the same file for the same texts."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from dragoman.config import Config, ConfigError, validate
from dragoman.data.tokenizers import (
    END,
    PADDING,
    SPECIALS,
    START,
    UNKNOWN,
    Bpe,
    Bytes,
    Characters,
    Features,
    Tokenizer,
    TokenizerConfig,
    Unigram,
    WordPiece,
    Wordpunct,
    Words,
    file,
    remembering,
    train_tokenizer,
    unigram_learning,
)
from dragoman.data.tokenizers.base import Normaliser
from dragoman.data.tokenizers.reading import understood
from dragoman.data.tokenizers.tokenizer import spread
from dragoman.errors import DataError

TEXTS = ["der Hund sieht den Hund", "ein Hund </s> <s> <pad>", "das</s>Ende </s>", "fünf Straßen 🦊"] * 3
CONFIGS: list[TokenizerConfig] = [
    Words(),
    Wordpunct(),
    Characters(),
    Features(),
    Bytes(),
    Bpe(size=300),
    Unigram(size=300),
    WordPiece(size=100),
]
LOSSLESS: list[TokenizerConfig] = [Bytes(), Bpe(size=300), Unigram(size=300)]
every_lossless_kind = pytest.mark.parametrize("config", LOSSLESS, ids=lambda config: config.kind)
every_kind = pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)


class Setting(Config):
    tokenizer: TokenizerConfig = Bpe()


def trained(config: TokenizerConfig, texts: list[str] = TEXTS) -> Tokenizer:
    return train_tokenizer(config, lambda: iter(texts))


def save(tokenizer: Tokenizer, path: Path) -> None:
    path.write_text(tokenizer.as_json(), encoding="utf-8")


BYTES = trained(Bpe(size=300, normalisation="none"))


@every_kind
def test_the_specials_have_fixed_numbers(config: TokenizerConfig) -> None:
    tokenizer = trained(config)
    assert (PADDING, UNKNOWN, START, END) == (0, 1, 2, 3)
    assert tokenizer.symbols([0, 1, 2, 3]) == SPECIALS == ("<pad>", "<unk>", "<s>", "</s>")


@every_kind
def test_known_text_comes_back(config: TokenizerConfig) -> None:
    tokenizer = trained(config)
    texts = ["den Hund sieht ein Hund", "fünf Straßen 🦊", ""]
    assert [tokenizer.decode(row) for row in tokenizer.encode(texts)] == texts


@every_kind
@pytest.mark.parametrize("text", ["</s>", "<s>", "<pad>", "Hund </s> Hund", "das</s>Ende", "<s></s><pad>"])
def test_no_text_becomes_a_special_symbol(config: TokenizerConfig, text: str) -> None:
    tokenizer = trained(config, TEXTS * 50)
    (row,) = tokenizer.encode([text])
    assert not {PADDING, START, END} & set(row)
    if config.kind not in ("words", "wordpunct", "wordpiece"):
        assert tokenizer.decode(row) == text


def test_a_word_that_spells_a_special_symbol_is_unknown() -> None:
    assert trained(Words()).encode(["</s> <unk> neu"]) == [[UNKNOWN, UNKNOWN, UNKNOWN]]


def test_words_are_split_at_the_plain_space_only() -> None:
    text = "a\u00a0b c\td e\u2028f ' , &apos; @-@"
    tokenizer = trained(Words(), [text])
    (row,) = tokenizer.encode([text])
    assert tokenizer.symbols(row) == ("a\u00a0b", "c\td", "e\u2028f", "'", ",", "&apos;", "@-@")
    assert tokenizer.decode(row) == text


def test_words_are_numbered_by_count_then_alphabet() -> None:
    tokenizer = trained(Words(size=7), ["c b a a d"])
    assert tokenizer.learned.vocabulary == (*SPECIALS, "a", "b", "c")
    assert tokenizer.encode(["a d"]) == [[4, UNKNOWN]]
    assert tokenizer.decode([START, 4, UNKNOWN, 5, END, PADDING]) == "a ⁇ b"


def test_rare_symbols_are_unknown() -> None:
    assert trained(Words(minimum_count=2), ["a a b"]).size == 5
    assert trained(Characters(minimum_count=2), ["aab"]).size == 5


@every_kind
def test_a_sample_is_taken_from_everywhere(config: TokenizerConfig) -> None:
    if config.kind == "bytes":
        return
    lines = [*["aa aa"] * 30, *["bb bb"] * 30, *["cc cc"] * 30]
    few = trained(config.changed(sample=3), lines)
    assert few == trained(config, ["aa aa", "bb bb", "cc cc"])
    assert trained(config.changed(sample=90), lines) == trained(config, lines)


def test_a_sample_has_its_size() -> None:
    for total, most in ((10, 3), (7, 6), (1000, 999), (5, 1)):
        assert len(list(spread(iter(["a"] * total), most, total))) == most


def test_both_sides_of_a_pair_are_drawn_together() -> None:
    sides = [f"{side}{number}" for number in range(8) for side in "st"]
    assert list(spread(iter(sides), 8, 16, 2)) == ["s1", "t1", "s3", "t3", "s5", "t5", "s7", "t7"]
    found = train_tokenizer(Words(sample=8), lambda: iter(sides), 2)
    assert {symbol[0] for symbol in found.learned.vocabulary[len(SPECIALS) :]} == {"s", "t"}


def test_unigrams_are_learned_without_spaces() -> None:
    """Also from a text of which no part is short; and what is cut is cut between characters."""
    texts = ["我們今天去學校學習語言明天再去學校學習語言"] * 5
    symbols = trained(Unigram(size=300), texts).symbols(range(len(SPECIALS), 290))
    assert {"學校", "語言"} & {part for symbol in symbols for part in (symbol, symbol[:2], symbol[-2:])}
    assert all(len(part) <= 40 for part in unigram_learning.count_words(iter(texts)))
    assert "".join(unigram_learning.pieces("Ã¤" * 33)) == "Ã¤" * 33
    assert [len(part) for part in unigram_learning.pieces("a" + "Ã¤" * 33)] == [39, 28]


def test_strings_are_counted_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"common": 9} | {f"{number * 7_919 % 1_000_003:07}": 1 for number in range(300)}
    everything = unigram_learning.seeds(words, 50, 2)
    most = []

    def watched(counts: Counter[str]) -> Counter[str]:
        most.append(len(counts))
        return forget(counts)

    forget = unigram_learning.without_the_rare
    monkeypatch.setattr(unigram_learning, "without_the_rare", watched)
    monkeypatch.setattr(unigram_learning, "MOST_STRINGS", 200)
    few = unigram_learning.seeds(words, 50, 2)
    assert len(most) > 1
    assert max(most) < 300
    assert few["common"] == everything["common"] == 9
    monkeypatch.setattr(unigram_learning, "MOST_BYTES", 6)
    assert "co" in unigram_learning.learn_unigrams(Counter(words), 300, 1)
    assert "00" not in unigram_learning.learn_unigrams(Counter(words), 300, 1)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "words", "characters"])
def test_a_vocabulary_has_a_largest_size(kind: str) -> None:
    with pytest.raises(ConfigError, match=r"size must be at most 10000000"):
        validate(Setting, {"tokenizer": {"kind": kind, "size": 10**12}})


def test_characters_see_the_space() -> None:
    tokenizer = trained(Characters(), ["ab c"])
    (row,) = tokenizer.encode(["a cx"])
    assert tokenizer.symbols(row) == ("a", "▁", "c", "<unk>")
    assert tokenizer.decode(row) == "a c⁇"


def test_characters_are_composed_first() -> None:
    tokenizer = trained(Characters(), ["e\u0301"])
    assert tokenizer.size == 5
    assert tokenizer.decode(tokenizer.encode(["é"])[0]) == "é"


def test_bpe_shows_real_characters() -> None:
    tokenizer = trained(Bpe(size=262), ["ü ü ü"])
    assert tokenizer.symbols(tokenizer.encode(["ü ü"])[0]) == ("ü", "▁ü")
    (torn,) = BYTES.encode(["€"])
    assert BYTES.symbols(torn) == ("<E2>", "<82>", "<AC>")
    assert BYTES.decode(torn[:2]) == "\ufffd"
    assert BYTES.decode([START, *torn, UNKNOWN, END]) == "€⁇"


def test_bpe_merges_what_is_frequent() -> None:
    (row,) = BYTES.encode(["Hund"])
    assert BYTES.symbols(row) != tuple("Hund")


TRAINED = {
    (config.kind, form, lowercase): trained(config.changed(normalisation=form, lowercase=lowercase))
    for config in CONFIGS
    for form in ("none", "nfc", "nfkc")
    for lowercase in (False, True)
}


@every_lossless_kind
@settings(max_examples=100, deadline=None)
@given(st.text())
def test_any_text_comes_back(config: TokenizerConfig, text: str) -> None:
    for form in ("none", "nfc", "nfkc"):
        for lowercase in (False, True):
            tokenizer = TRAINED[config.kind, form, lowercase]
            (row,) = tokenizer.encode([text])
            assert not {PADDING, UNKNOWN, START, END} & set(row)
            (expected,) = Normaliser(form, lowercase).apply([text])
            assert tokenizer.decode(row) == expected


def test_small_letters_come_after_the_normal_form() -> None:
    tokenizer = trained(Bytes(normalisation="nfkc", lowercase=True))
    assert tokenizer.decode(tokenizer.encode(["ÀB ℡ ΣΑΣ"])[0]) == "àb tel σασ"
    assert tokenizer.hash != trained(Bytes(normalisation="nfkc")).hash


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(min_size=1), min_size=1))
def test_characters_are_lossless_for_what_they_have_seen(texts: list[str]) -> None:
    tokenizer = trained(Characters(normalisation="none"), texts)
    assert [tokenizer.decode(row) for row in tokenizer.encode(texts)] == texts


@pytest.mark.parametrize(
    "text",
    ["👩‍👩‍👧‍👦", "\u202eabc\u202c", "e" + "\u0301" * 1000, "\ue000\U0010fffd", "\0\n\r\t", "x" * 20_000, "▁Ġ <0x41>"],
)
@every_lossless_kind
def test_hard_texts_come_back(config: TokenizerConfig, text: str) -> None:
    tokenizer = TRAINED[config.kind, "none", False]
    assert tokenizer.decode(tokenizer.encode([text])[0]) == text


@every_kind
def test_half_a_character_is_a_data_error(config: TokenizerConfig) -> None:
    with pytest.raises(DataError, match=r"lone surrogate\) in text 2, character 3\. Send valid Unicode"):
        trained(config).encode(["gut", "ab\ud800"])


@every_kind
def test_a_saved_tokenizer_loads_equal(config: TokenizerConfig, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    for changes in ({}, {"normalisation": "none"}, {"normalisation": "nfkc", "lowercase": True}):
        tokenizer = trained(config.changed(**changes))
        save(tokenizer, path)
        loaded = Tokenizer.load(path)
        assert loaded == tokenizer
        assert loaded.hash == tokenizer.hash
        assert loaded.encode(TEXTS) == tokenizer.encode(TEXTS)


def test_training_twice_elsewhere_gives_the_same_bytes(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from pydantic import TypeAdapter\n"
        "from dragoman.data.tokenizers import TokenizerConfig, train_tokenizer\n"
        "texts = Path(sys.argv[1]).read_text().splitlines()\n"
        "for config in TypeAdapter(list[TokenizerConfig]).validate_json(sys.argv[2]):\n"
        "    print(train_tokenizer(config, lambda: iter(texts)).as_json())\n"
    )
    letters = random.Random(5)
    words = ["".join(letters.choices("abcdefgé", k=letters.randint(1, 7))) for _ in range(300)]
    (tmp_path / "texts").write_text("\n".join(" ".join(letters.choices(words, k=9)) for _ in range(200)))
    settings_text = TypeAdapter(list[TokenizerConfig]).dump_json(CONFIGS).decode()
    contents = [
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "texts"), settings_text],
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
        ).stdout
        for seed in ("1", "77")
    ]
    assert contents[0].count(b"</s>") >= len(CONFIGS)
    assert contents[0] == contents[1]


PARTS = [*"derHundsΣ  \u00a0\u0085\x1c\t'é\u0301ﬁ\u2028 🦊", "</s>", "<pad>", "<unk>"]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(PARTS)).map("".join))
@every_kind
def test_the_file_encodes_as_we_do(config: TokenizerConfig, text: str) -> None:
    for form in ("none", "nfc", "nfkc"):
        for lowercase in (False, True):
            tokenizer = TRAINED[config.kind, form, lowercase]
            assert tokenizer.encode([text]) == [tokenizer.engine.encode(text).ids]


@pytest.mark.parametrize("config", CONFIGS[3:], ids=lambda config: config.kind)
def test_what_is_remembered_changes_nothing(config: TokenizerConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "REMEMBERED", 2)
    monkeypatch.setattr(remembering, "LONGEST_WORD", 5)
    tokenizer = trained(config)
    texts = ["der Hund sieht", "", "Straßenhund der Hund", "", "Straßenhund"]
    expected = [tokenizer.engine.encode(text).ids for text in texts]
    for _ in range(3):
        assert tokenizer.encode(texts) == expected
        assert [tokenizer.encode([text])[0] for text in texts] == expected


def test_hashes_differ_when_tokenizers_do() -> None:
    assert len({trained(config).hash for config in CONFIGS} | {BYTES.hash}) == len(CONFIGS) + 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"is not valid JSON\. A tokenizer.json is wanted here: make it again, or copy it again\."),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "is no tokenizer of dragoman: it has no model"),
        ('{"model": {"type": "WordPiece", "vocab": []}}', r"symbols are not numbered 0, 1, 2, …"),
        ('{"model": {"type": "Unigram", "vocab": []}}', "its first symbols are not <pad> <unk> <s> </s>"),
        ('{"model": {"type": "BPE", "vocab": {"a": 0}}}', "its first symbols are not <pad> <unk> <s> </s>"),
    ],
)
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        Tokenizer.load(path)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("model", "merges"), [["H", "nothing"]], "is no tokenizer of dragoman"),
        (("model", "merges"), [[1, 2]], "a merge is not a pair of symbols"),
        (
            ("model", "type"),
            "WordPiece",
            r"its model is WordPiece with ByteLevel; known are words, wordpunct, features, characters, bpe, unigram, "
            "wordpiece, bytes, file",
        ),
        (("normalizer",), {"type": "Replace"}, "its normaliser is Replace; known are NFC and NFKC, then Lowercase"),
    ],
)
def test_a_damaged_tokenizer_is_refused(tmp_path: Path, place: tuple[str, ...], value: object, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    save(BYTES, path)
    content = json.loads(path.read_text())
    inner = content if len(place) == 1 else content[place[0]]
    inner[place[-1]] = value
    path.write_text(json.dumps(content))
    with pytest.raises(ConfigError, match=message):
        Tokenizer.load(path)


def test_a_missing_or_huge_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ConfigError, match=r"Cannot read .*none.json: No such file or directory\. A tokenizer.json is wanted here"
    ):
        Tokenizer.load(tmp_path / "none.json")
    save(BYTES, tmp_path / "tokenizer.json")
    monkeypatch.setattr(file, "LARGEST_FILE", 100)
    with pytest.raises(ConfigError, match="has more than 100 bytes"):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_settings_that_leave_no_room_are_refused() -> None:
    with pytest.raises(ConfigError, match="size must be at least 260"):
        validate(Bpe, {"size": 259})
    with pytest.raises(ConfigError, match="size must be more than 4"):
        validate(Words, {"size": 4})


def test_features_are_tokens_behind_the_first_tab() -> None:
    tokenizer = trained(Features(), ["a;b\tV;PST|3, SG", "ba\tV;PST\tN"])
    [row] = tokenizer.encode(["b;a\tV;PST"])
    assert tokenizer.symbols(row) == ("b", ";", "a", "⇥V", ";PST")
    assert tokenizer.decode(row) == "b;a\tV;PST"
    [unseen] = tokenizer.encode(["a\tV;FUT"])
    assert tokenizer.symbols(unseen) == ("a", "⇥V", "<unk>")
    texts = [";V\tV;PST|3, SG", "\tN", "a\t;PST", "V", "a\t\tN", "b\t"]
    assert tokenizer.encode(texts) == [one.ids for one in tokenizer.engine.encode_batch(texts)]


def test_other_rules_than_those_of_features_are_refused() -> None:
    learned = train_tokenizer(Features(), lambda: iter(["lem\tV;PST"]))
    content = json.loads(learned.as_json())
    assert understood(content)[0] == "features"
    content["pre_tokenizer"]["pretokenizers"] = [{"type": "Whitespace"}]
    with pytest.raises(ValueError, match="its rules are not those of features behind a tab"):
        understood(content)
