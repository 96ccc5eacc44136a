"""Tokenizers of the user's own: every model of Hugging Face's library, damaged files, and what is left out."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from dragoman.data.tokenizers import END, PADDING, SPECIALS, START, UNKNOWN, Bpe, File, Tokenizer, train_tokenizer
from dragoman.errors import ConfigError

TEXTS = ["der Hund sieht den Hund", "ein Hund </s> <s> <pad>", "das</s>Ende </s>", "fünf Straßen 🦊"] * 3
SPECIAL = ["[UNK]", "<s>", "</s>", "[MASK]"]


def trained(model: Any, split: Any, decoder: Any, trainer: Any, rule: Any = None) -> Engine:
    engine = Engine(model)
    engine.pre_tokenizer, engine.decoder = split, decoder
    if rule is not None:
        engine.normalizer = rule
    engine.train_from_iterator(iter(TEXTS), trainer)
    template = {"single": "<s> $A </s>", "special_tokens": [("<s>", 1), ("</s>", 2)]}
    engine.post_processor = processors.TemplateProcessing(**template)
    engine.enable_padding()
    engine.enable_truncation(3)
    return engine


def engines() -> dict[str, Engine]:
    common: dict[str, Any] = {"special_tokens": SPECIAL, "show_progress": False}
    metaspace = pre_tokenizers.Metaspace()
    return {
        "byte-level": trained(
            models.BPE(),
            pre_tokenizers.ByteLevel(add_prefix_space=True),
            decoders.ByteLevel(),
            trainers.BpeTrainer(vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **common),
        ),
        "bpe": trained(
            models.BPE(unk_token=SPECIAL[0]),
            metaspace,
            decoders.Metaspace(),
            trainers.BpeTrainer(vocab_size=90, **common),
        ),
        "unigram": trained(
            models.Unigram(),
            metaspace,
            decoders.Metaspace(),
            trainers.UnigramTrainer(vocab_size=60, unk_token=SPECIAL[0], **common),
            normalizers.NFKC(),
        ),
        "wordpiece": trained(
            models.WordPiece(unk_token=SPECIAL[0]),
            pre_tokenizers.WhitespaceSplit(),
            decoders.WordPiece(),
            trainers.WordPieceTrainer(vocab_size=90, **common),
            normalizers.BertNormalizer(strip_accents=False),
        ),
        "words": trained(
            models.WordLevel(unk_token=SPECIAL[0]),
            pre_tokenizers.WhitespaceSplit(),
            None,
            trainers.WordLevelTrainer(**common),
        ),
    }


ENGINES = engines()
every_engine = pytest.mark.parametrize("name", list(ENGINES))


def adopted(content: str, path: Path) -> Tokenizer:
    path.write_text(content, encoding="utf-8")
    return train_tokenizer(File(path=str(path)), lambda: iter(()))


def plain(engine: Engine, text: str) -> list[str]:
    """Its symbols without its template, and with our name for what it does not know."""
    copy = Engine.from_str(engine.to_str())
    copy.no_truncation()
    tokens = [copy.id_to_token(number) for number in copy.encode(text, add_special_tokens=False).ids]
    return ["<unk>" if token == SPECIAL[0] else token for token in tokens]


@every_engine
def test_texts_are_split_as_they_were(name: str, tmp_path: Path) -> None:
    tokenizer = adopted(ENGINES[name].to_str(), tmp_path / "own.json")
    assert tokenizer.kind == "file"
    assert tokenizer.learned.vocabulary[:4] == SPECIALS
    for text in ("der Hund sieht den Hund", "fünf Straßen 🦊", "Überhaupt: nie gesehen!", ""):
        (row,) = tokenizer.encode([text])
        assert [tokenizer.learned.vocabulary[number] for number in row] == plain(ENGINES[name], text)
    known = "der hund sieht den hund" if name == "wordpiece" else "der Hund sieht den Hund"
    assert tokenizer.decode([START, *tokenizer.encode([known])[0], END, PADDING]).strip() == known


@every_engine
def test_no_text_becomes_a_special_symbol(name: str, tmp_path: Path) -> None:
    tokenizer = adopted(ENGINES[name].to_str(), tmp_path / "own.json")
    for text in ("</s>", "<s> <pad>", "das</s>Ende", "[MASK] [UNK]", "<s></s><pad>"):
        assert not {PADDING, START, END} & set(tokenizer.encode([text])[0])
    assert not {"[MASK]", "[UNK]"} & set(tokenizer.learned.vocabulary)


@every_engine
def test_the_copy_stands_alone(name: str, tmp_path: Path) -> None:
    path = tmp_path / "copy.json"
    tokenizer = adopted(ENGINES[name].to_str(), tmp_path / "own.json")
    path.write_text(tokenizer.as_json(), encoding="utf-8")
    (tmp_path / "own.json").unlink()
    for again in (Tokenizer.load(path), train_tokenizer(File(path=str(path)), lambda: iter(()))):
        assert again == tokenizer
        assert again.hash == tokenizer.hash
        assert again.encode(TEXTS) == tokenizer.encode(TEXTS)
    assert len(tokenizer.symbols(range(tokenizer.size))) == tokenizer.size


def test_an_added_symbol_stays_unless_it_is_special(tmp_path: Path) -> None:
    engine = Engine.from_str(ENGINES["byte-level"].to_str())
    engine.add_tokens(["<br>", "</p>"])
    tokenizer = adopted(engine.to_str(), tmp_path / "own.json")
    assert tokenizer.learned.vocabulary[-2:] == ("<br>", "</p>")
    assert "<br>" in tokenizer.symbols(tokenizer.encode(["a<br>b"])[0])
    assert tokenizer.decode(tokenizer.encode(["der<br>Hund"])[0]).strip() == "der<br> Hund"


def test_dropout_in_the_file_is_left_out(tmp_path: Path) -> None:
    content = json.loads(ENGINES["byte-level"].to_str())
    content["model"]["dropout"] = 0.9
    tokenizer = adopted(json.dumps(content), tmp_path / "own.json")
    assert tokenizer == adopted(ENGINES["byte-level"].to_str(), tmp_path / "own.json")


def test_what_is_not_known_is_unknown(tmp_path: Path) -> None:
    tokenizer = adopted(ENGINES["words"].to_str(), tmp_path / "own.json")
    assert tokenizer.encode(["nie Hund"])[0][0] == UNKNOWN
    assert tokenizer.decode(tokenizer.encode(["nie Hund"])[0]) == "⁇ Hund"


def test_a_tokenizer_of_dragoman_is_taken_as_it_is(tmp_path: Path) -> None:
    ours = train_tokenizer(Bpe(size=300, lowercase=True), lambda: iter(TEXTS))
    assert adopted(ours.as_json(), tmp_path / "own.json") == ours


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": None}, "it has no model"),
        ({"model": {"type": "Neural"}}, "its model is 'Neural'; known are BPE, Unigram, WordPiece, WordLevel"),
        ({"model": {"type": "BPE", "vocab": [], "merges": []}}, "its vocabulary is no table of symbols and numbers"),
        ({"model": {"type": "BPE", "vocab": {"a": "b"}, "merges": []}}, "its vocabulary is no table of symbols"),
        ({"model": {"type": "BPE", "vocab": {}, "merges": []}}, "its vocabulary is empty"),
        ({"model": {"type": "Unigram", "vocab": [["a", 0.0], [1, 0.0]]}}, "a symbol of it is no text"),
        ({"model": {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": 7}}, "cannot be used as a tokenizer"),
        ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "x"]]}}, "cannot be used as a tokenizer"),
        ({"pre_tokenizer": {"type": "Nothing"}}, "cannot be used as a tokenizer"),
        ({"pre_tokenizer": []}, "cannot be used as a tokenizer"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}, "cannot be used as a tokenizer"),
        ({"decoder": {"type": "WordPiece"}}, "cannot be used as a tokenizer"),
        ({"added_tokens": [{"content": "x"}]}, "cannot be used as a tokenizer"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_used_gets_a_sentence(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    content = json.loads(ENGINES["byte-level"].to_str()) | change
    with pytest.raises(ConfigError) as caught:
        adopted(json.dumps(content), tmp_path / "own.json")
    assert sentence in str(caught.value)
    assert str(caught.value).endswith("Give a tokenizer.json of Hugging Face's library.")


SMALL = json.dumps(json.loads(ENGINES["words"].to_str()))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(SMALL) - 1), st.sampled_from(["", "0", '"', "{", "null", "\ufffd", "[[", "-1e999"]))
def test_a_damaged_file_is_a_tokenizer_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, place: int, other: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    with suppress(ConfigError):
        assert adopted(SMALL[:place] + other + SMALL[place + 1 :], path).learned.vocabulary[:4] == SPECIALS
