"""Texts made ready for a language model, or for one that learns to read: hashed, tokenized, cut into windows or
passages once, and found again."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.data.encoding import Counts
from dragoman.data.passages import Cutting, build_passages
from dragoman.data.readers.pairs import Problems, SplitName
from dragoman.data.readers.texts import Documents, Texts, read_texts, refuse_bad
from dragoman.data.store import Store
from dragoman.data.survey import Summary
from dragoman.data.tokenizers import Tokenizer, TokenizerConfig, train_tokenizer
from dragoman.data.windows import build_windows, refuse_short
from dragoman.heads import Pretraining
from dragoman.models import DecoderOnly, EncoderOnly
from dragoman.preparation.corpora import (
    REPORTED,
    SIDES,
    TRAINED,
    Corpora,
    Judge,
    Preparing,
    begin,
    data_record,
    finish,
    known_data,
    prepare_split,
    prepare_tokenizer,
    silent,
)
from dragoman.runs import Run
from dragoman.storage import write_atomically


def prepare_texts(
    run: Run,
    data: Texts,
    config: TokenizerConfig,
    model: DecoderOnly | EncoderOnly,
    seed: int = 1,
    preparing: Preparing = silent,
    report: Callable[[str], None] = lambda message: None,
    given: Mapping[str, Tokenizer] | None = None,
    check: Callable[[Mapping[str, Tokenizer]], object] = lambda tokenizers: None,
) -> Corpora:
    """The tokenizer (learned, or `given`) and windows or passages of a run; texts that changed since it was begun are
    refused, damage is mended. One tokenizer stands on both sides."""
    known = data_record(run, data)
    before = known_data(run)
    begin(run, given)
    side, other = ("target", "source") if isinstance(model, DecoderOnly) else ("source", "target")
    digest = before.get("tokenizers", {}).get(side)
    learned = prepare_tokenizer(run, side, lambda: learn(data, config, model, preparing), digest, report)
    write_atomically(run.tokenizers / f"{other}.json", learned.as_json())
    tokenizers = dict.fromkeys(SIDES, learned)
    check(tokenizers)
    stores, summary = {}, dict(before.get("summary", {}))
    for name in TRAINED:
        if data.has(name):
            made = partial(prepare_pieces, run, data, name, learned, known[name]["sha256"], model, seed)
            stores[name] = made(preparing, summary, report)
    known["tokenizers"] = dict.fromkeys(SIDES, learned.hash)
    known["formats"] = [f"{file}: text" for name in TRAINED for file in data.files(name)]
    known["summary"] = summary
    finish(run, known, stores)
    return Corpora(stores["train"], stores.get("valid"), tokenizers, summary, tuple(known["formats"]))


def documents_of(model: DecoderOnly | EncoderOnly) -> Documents:
    """What a document is."""
    found: Documents = model.documents if isinstance(model, DecoderOnly) else pretraining_of(model).documents
    return found


def pretraining_of(model: EncoderOnly) -> Pretraining:
    assert isinstance(model.head, Pretraining)  # noqa: S101 (others learn from labels)
    return model.head


def learn(data: Texts, config: TokenizerConfig, model: DecoderOnly | EncoderOnly, preparing: Preparing) -> Tokenizer:
    """A line feed is a symbol of a language model, which writes it."""

    def texts() -> Iterator[str]:
        for number, piece in enumerate(read_texts(data.files("train"), documents_of(model), Problems())):
            if number % REPORTED == 0:
                preparing("vocabulary: lines read", number)
            yield piece.text
            if not piece.first and isinstance(model, DecoderOnly):
                yield "\n"

    return train_tokenizer(config, texts)


def prepare_pieces(
    run: Run,
    data: Texts,
    name: SplitName,
    tokenizer: Tokenizer,
    digest: str,
    model: DecoderOnly | EncoderOnly,
    seed: int,
    preparing: Preparing,
    summary: dict[str, Summary],
    report: Callable[[str], None],
) -> Store:
    """The windows or passages of a split, found or made."""
    depends_on = [digest, tokenizer.hash, *way_of(model, name, seed)]

    def build(folder: Path, signature: str, problems: Problems, judge: Judge) -> Store:
        pieces = read_texts(data.files(name), documents_of(model), problems)
        if isinstance(model, DecoderOnly):
            made = partial(build_windows, folder, pieces, tokenizer, model.context, signature, problems, judge)
            return made(streams=model.carry == "state", progress=partial(preparing, f"{name} symbols"))
        cutting, progress = cutting_for(model, name, seed), partial(preparing, f"{name} examples")
        return build_passages(folder, pieces, tokenizer, cutting, signature, problems, judge, progress=progress)

    def judge(counts: Counts, problems: Problems) -> None:
        refuse_bad(problems, data.max_bad)
        if name == "train" and isinstance(model, DecoderOnly):
            refuse_short(counts, model.context)

    return prepare_split(run, name, depends_on, summary, report, build, judge)


def way_of(model: DecoderOnly | EncoderOnly, name: SplitName, seed: int) -> list[Any]:
    """All that a store depends on beside texts and tokenizer."""
    if isinstance(model, DecoderOnly):
        return ["windows", model.context, model.carry, model.documents]
    return ["passages", documents_of(model), *astuple(cutting_for(model, name, seed))]


def cutting_for(model: EncoderOnly, name: SplitName, seed: int) -> Cutting:
    head, two = pretraining_of(model), model.sentences == "two"
    return head.cutting(two, head.passes, seed) if name == "train" else head.cutting(two)
