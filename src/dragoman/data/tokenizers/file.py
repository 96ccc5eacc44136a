"""A tokenizer of the user's own: any tokenizer.json of Hugging Face's library, with its symbols numbered anew."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from tokenizers import Tokenizer as Engine

from dragoman.config import Config
from dragoman.data.tokenizers.base import SPECIALS, UNKNOWN, Encode, Kind, Learned, Normaliser, Texts
from dragoman.data.tokenizers.bounds import growth_of, refuse_work
from dragoman.data.tokenizers.bytelevel import visible
from dragoman.errors import ConfigError, StorageError
from dragoman.storage import read_json

LARGEST_FILE = 64_000_000  # bytes
MODELS = ("BPE", "Unigram", "WordPiece", "WordLevel")
# The last cut before the model sees a text, so that it never sees a special symbol spelled out.
GUARD: dict[str, Any] = {
    "type": "Split",
    "pattern": {"Regex": "<(?=pad>|unk>|/?s>)"},
    "behavior": "MergedWithPrevious",
    "invert": False,
}


class File(Config):
    """A tokenizer.json that was made elsewhere, or by `dragoman tokenizer train`; the run keeps a copy of its own."""

    kind: Literal["file"] = "file"
    path: Annotated[str, Field(min_length=1)] = "tokenizer.json"
    """the tokenizer.json; it is read when a run begins and not needed afterwards"""
    sampling: Annotated[float, Field(ge=0)] = 0.0
    """in training, as for the kinds bpe and unigram, if the file holds one of dragoman's; 0: off"""


def read_document(path: Path) -> Any:
    """The content of a tokenizer.json."""
    try:
        return read_json(path, LARGEST_FILE)
    except StorageError as error:
        raise ConfigError(f"{error} A tokenizer.json is wanted here: make it again, or copy it again.") from error


def adopt(config: File, _texts: Texts) -> Learned:
    """Symbols numbered behind our four; special ones, templates, padding and truncation of the file are left out."""
    path = Path(config.path)
    content = read_document(path)
    try:
        vocabulary, document = adopted(content)
        library = Engine.from_str(json.dumps(document))
        if library.get_vocab() != {symbol: number for number, symbol in enumerate(vocabulary)}:
            raise ValueError("the library numbers its symbols otherwise")
        learned = Learned(vocabulary, document=canonical(json.loads(library.to_str())))
        encoder(learned, Normaliser())([text(learned)(vocabulary)])
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # what panics in the library is no Exception
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(
            f"{path} cannot be used as a tokenizer: {reason}. Give a tokenizer.json of Hugging Face's library."
        ) from error
    return learned


def canonical(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, sort_keys=True)


def adopted(content: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Its vocabulary and its document as they will be; raises ValueError with what is wrong."""
    model = content.get("model") if isinstance(content, dict) else None
    if not isinstance(model, dict):
        raise ValueError("it has no model")
    if model.get("type") not in MODELS:
        raise ValueError(f"its model is {model.get('type')!r}; known are {', '.join(MODELS)}")
    added = [token for token in content.get("added_tokens") or [] if isinstance(token, dict)]
    unused = {*SPECIALS, unknown_symbol(model), *(token.get("content") for token in added if token.get("special"))}
    # A unigram file may hold a symbol twice: once as special, once as learned.
    symbols = [symbol for symbol in dict.fromkeys(symbols_of(model)) if symbol not in unused]
    kept = [token for token in added if token.get("content") not in unused]
    vocabulary = tuple(dict.fromkeys((*SPECIALS, *symbols, *(str(token.get("content")) for token in kept))))
    if len(symbols) == 0:
        raise ValueError("its vocabulary is empty")
    number = {symbol: place for place, symbol in enumerate(vocabulary)}
    document = content | {
        "truncation": None,
        "padding": None,
        "post_processor": None,
        "added_tokens": [token | {"id": number[str(token.get("content"))]} for token in kept],
        "pre_tokenizer": guarded(content.get("pre_tokenizer")),
        "model": renumbered(model, vocabulary[: len(SPECIALS) + len(symbols)], unused),
    }
    refuse_work(model, vocabulary, growth_of(document))
    return vocabulary, document


def symbols_of(model: dict[str, Any]) -> list[str]:
    """In the order of their numbers."""
    vocabulary = model.get("vocab")
    if model["type"] == "Unigram" and isinstance(vocabulary, list):
        symbols = [entry[0] for entry in vocabulary]
    elif isinstance(vocabulary, dict) and all(type(number) is int for number in vocabulary.values()):
        symbols = sorted(vocabulary, key=vocabulary.__getitem__)
    else:
        raise ValueError("its vocabulary is no table of symbols and numbers")
    if not all(isinstance(symbol, str) for symbol in symbols):
        raise ValueError("a symbol of it is no text")
    return symbols


def unknown_symbol(model: dict[str, Any]) -> str | None:
    if model["type"] != "Unigram":
        return model.get("unk_token")
    place = model.get("unk_id")
    return symbols_of(model)[place] if isinstance(place, int) else None


def guarded(rule: Any) -> dict[str, Any]:
    if rule is None:
        return GUARD
    before = rule["pretokenizers"] if rule.get("type") == "Sequence" else [rule]
    return {"type": "Sequence", "pretokenizers": [*before, GUARD]}


def is_guarded(rule: Any) -> bool:
    """Whether a file has been through here."""
    if isinstance(rule, dict) and rule.get("type") == "Sequence":
        return bool(rule.get("pretokenizers")) and rule["pretokenizers"][-1] == GUARD
    return bool(rule == GUARD)


def renumbered(model: dict[str, Any], symbols: Sequence[str], unused: set[Any]) -> dict[str, Any]:
    """The model with our special symbols in front and without its own."""
    if model["type"] == "Unigram":
        scores = {entry[0]: entry[1] for entry in model["vocab"]} | dict.fromkeys(SPECIALS, 0.0)
        return model | {"vocab": [[symbol, scores[symbol]] for symbol in symbols], "unk_id": UNKNOWN}
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    changed = model | {"vocab": numbers, "unk_token": SPECIALS[UNKNOWN]}
    if model["type"] == "BPE":
        changed["dropout"] = None  # a text has one encoding; dropout is for training
        prefix = model.get("continuing_subword_prefix") or ""
        merges = [pair.split(" ") if isinstance(pair, str) else pair for pair in model.get("merges") or []]
        changed["merges"] = [
            [left, right] for left, right in merges if not {left, right, left + right.removeprefix(prefix)} & unused
        ]
    return changed


def encoder(learned: Learned, normaliser: Normaliser) -> Encode:
    library = engine(learned, normaliser)

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [found.ids for found in library.encode_batch_fast(list(texts), add_special_tokens=False)]

    return encode


def engine(learned: Learned, _normaliser: Normaliser) -> Engine:
    return Engine.from_str(learned.document)


def text(learned: Learned) -> Callable[[Sequence[str]], str]:
    decoder = engine(learned, Normaliser()).decoder
    return " ".join if decoder is None else lambda symbols: decoder.decode(list(symbols))


def readable(learned: Learned) -> Callable[[str], str]:
    if '"ByteLevel"' not in json.dumps(json.loads(learned.document).get("decoder")):
        return lambda symbol: symbol.replace(" ", "▁")

    def seen(symbol: str) -> str:
        try:
            return visible(symbol)
        except KeyError:  # an added symbol is not written in the alphabet of bytes
            return symbol.replace(" ", "▁")

    return seen


FILE = Kind(adopt, encoder, engine, text, readable)
