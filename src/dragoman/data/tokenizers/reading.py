"""What a tokenizer.json of dragoman says, each fact checked; raises ValueError with what is wrong."""

import math
from typing import Any

from dragoman.data.tokenizers.base import SPECIALS, KindName, Learned, Normalisation, Normaliser
from dragoman.data.tokenizers.bounds import growth_of, refuse_work
from dragoman.data.tokenizers.bytes import SYMBOLS
from dragoman.data.tokenizers.features import RULES
from dragoman.data.tokenizers.file import canonical, is_guarded
from dragoman.data.tokenizers.words import SPELLED

KINDS_OF: dict[Any, KindName] = {
    ("WordLevel", "Split"): "words",
    ("WordLevel", "BertPreTokenizer"): "wordpunct",
    ("WordLevel", "Sequence"): "features",
    ("BPE", None): "characters",
    ("BPE", "ByteLevel"): "bpe",
    ("Unigram", "ByteLevel"): "unigram",
    ("WordPiece", "BertPreTokenizer"): "wordpiece",
}
PATTERNS = tuple({"Regex": rule} for rule in RULES)


def understood(content: Any) -> tuple[KindName, Normaliser, Learned]:
    """Kind, normalisation and vocabulary; nothing else in the file is used."""
    model = content.get("model") if isinstance(content, dict) else None
    if not isinstance(model, dict):
        raise ValueError("it has no model")
    if is_guarded(content.get("pre_tokenizer")):
        whole = whole_vocabulary(content, model)
        refuse_work(model, whole, growth_of(content))
        return "file", Normaliser(), Learned(whole, document=canonical(content))
    vocabulary, scores = vocabulary_of(model)
    refuse_work(model, vocabulary, 1)
    learned = Learned(vocabulary, tuple(merge_of(pair) for pair in model.get("merges") or ()), scores)
    return kind_of(content, model, learned), normaliser_of(content), learned


def kind_of(content: dict[str, Any], model: dict[str, Any], learned: Learned) -> KindName:
    rule = content.get("pre_tokenizer") or {}
    kind = KINDS_OF.get((model.get("type"), rule.get("type")))
    if kind is None:
        known = ", ".join(dict.fromkeys((*KINDS_OF.values(), "bytes", "file")))
        raise ValueError(f"its model is {model.get('type')} with {rule.get('type')}; known are {known}")
    if kind == "features" and [one.get("pattern") for one in rule.get("pretokenizers", ())] != list(PATTERNS):
        raise ValueError("its rules are not those of features behind a tab")
    if kind == "bpe" and rule.get("use_regex") is False:
        if learned != Learned(SYMBOLS):
            raise ValueError("its symbols are not the 256 bytes")
        return "bytes"
    return kind


def normaliser_of(content: dict[str, Any]) -> Normaliser:
    rule = content.get("normalizer") or {"type": "Sequence", "normalizers": []}
    rules = rule["normalizers"] if rule.get("type") == "Sequence" else [rule]
    names = [found.get("type") for found in rules if found.get("pattern") != {"Regex": SPELLED}]
    lowercase = names[-1:] == ["Lowercase"]
    forms: dict[tuple[Any, ...], Normalisation] = {(): "none", ("NFC",): "nfc", ("NFKC",): "nfkc"}
    form = tuple(names[:-1] if lowercase else names)
    if form not in forms:
        raise ValueError(f"its normaliser is {' '.join(map(str, names))}; known are NFC and NFKC, then Lowercase")
    return Normaliser(forms[form], lowercase)


def vocabulary_of(model: dict[str, Any]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Symbols in the order of their numbers, and the scores of a unigram model."""
    found = model.get("vocab")
    if model.get("type") == "Unigram":
        symbols = tuple(entry[0] for entry in found) if isinstance(found, list) else ()
        scores = tuple(float(entry[1]) for entry in found or ())
        if not all(map(math.isfinite, scores)):
            raise ValueError("a score is not finite")
        return checked(symbols), scores
    return checked(in_order(found)), ()


def whole_vocabulary(content: dict[str, Any], model: dict[str, Any]) -> tuple[str, ...]:
    """The symbols of the model, and those that were added behind them."""
    symbols, _ = vocabulary_of(model)
    known = set(symbols)
    added = [token["content"] for token in content.get("added_tokens") or () if token["content"] not in known]
    return checked((*symbols, *added))


def in_order(numbers: Any) -> tuple[str, ...]:
    if not isinstance(numbers, dict) or sorted(numbers.values()) != list(range(len(numbers))):
        raise ValueError("its symbols are not numbered 0, 1, 2, …")
    return tuple(sorted(numbers, key=numbers.__getitem__))


def checked(vocabulary: tuple[str, ...]) -> tuple[str, ...]:
    if vocabulary[: len(SPECIALS)] != SPECIALS:
        raise ValueError(f"its first symbols are not {' '.join(SPECIALS)}")
    if len(set(vocabulary)) != len(vocabulary):
        raise ValueError("a symbol occurs twice")
    return vocabulary


def merge_of(pair: Any) -> tuple[str, str]:
    parts = pair.split(" ") if isinstance(pair, str) else pair
    if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
        raise ValueError("a merge is not a pair of symbols")
    return parts[0], parts[1]
