"""Texts made ready for a language model, or for one that learns to read: hashed, tokenized, cut into windows or
passages once, and found again."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import astuple
from functools import partial
from typing import Any

from dragoman.data.encoding import Counts
from dragoman.data.passages import Cutting, build_passages
from dragoman.data.readers.pairs import Problems, SplitName
from dragoman.data.readers.texts import Documents, Texts, read_texts, refuse_bad
from dragoman.data.store import Store
from dragoman.data.survey import Summary, finding
from dragoman.data.tokenizers import Tokenizer, TokenizerConfig, train_tokenizer
from dragoman.data.windows import build_windows, refuse_short
from dragoman.heads import Pretraining
from dragoman.models import DecoderOnly, EncoderOnly
from dragoman.preparation import (
    REPORTED,
    SIDES,
    Corpora,
    Preparing,
    data_record,
    known_data,
    prepare_tokenizer,
    silent,
)
from dragoman.runs import FORMAT_VERSION, Run
from dragoman.storage import make_folder, write_atomically, write_record


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
    if not run.data_record.exists():  # an earlier preparation broke off; its data or settings may have been mended
        shutil.rmtree(run.tokenizers, ignore_errors=True)
    make_folder(run.tokenizers)
    for side, tokenizer in (given or {}).items():
        write_atomically(run.tokenizers / f"{side}.json", tokenizer.as_json())
    side, other = ("target", "source") if isinstance(model, DecoderOnly) else ("source", "target")
    digest = before.get("tokenizers", {}).get(side)
    learned = prepare_tokenizer(run, side, lambda: learn(data, config, model, preparing), digest, report)
    write_atomically(run.tokenizers / f"{other}.json", learned.as_json())
    tokenizers = dict.fromkeys(SIDES, learned)
    check(tokenizers)
    stores, summary = {}, dict(before.get("summary", {}))
    splits: tuple[SplitName, ...] = ("train", "valid")
    for name in splits:
        if data.has(name):
            made = partial(prepare_split, run, data, name, learned, known[name], model, seed)
            stores[name] = made(preparing, summary, report)
            known[name]["counts"] = vars(stores[name].counts)
    known["tokenizers"] = dict.fromkeys(SIDES, learned.hash)
    known["formats"] = [f"{file}: text" for name in splits for file in data.files(name)]
    known["summary"] = summary
    write_record(run.data_record, {"format_version": FORMAT_VERSION, **known})
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


def prepare_split(
    run: Run,
    data: Texts,
    name: SplitName,
    tokenizer: Tokenizer,
    known: Mapping[str, Any],
    model: DecoderOnly | EncoderOnly,
    seed: int,
    preparing: Preparing,
    summary: dict[str, Summary],
    report: Callable[[str], None],
) -> Store:
    """The windows or passages of a split, found or made; what is made is surveyed on the way."""
    facts = [known["sha256"], tokenizer.hash, *way_of(model, name, seed)]
    signature, folder = "/".join(map(str, facts)), run.stores / name
    if (store := Store.open(folder, signature)) is not None and name in summary:
        return store
    if folder.exists():
        report(f"{folder} was damaged, or is of another version of dragoman. It is encoded anew from the same data.")
    make_folder(run.stores)
    problems = Problems(run.bad_lines if name == "train" else run.bad_lines.with_stem(f"bad_lines.{name}"))
    with closing(problems):
        pieces = read_texts(data.files(name), documents_of(model), problems)

        def judge(counts: Counts) -> None:
            refuse_bad(problems, data.max_bad)
            if name == "train" and isinstance(model, DecoderOnly):
                refuse_short(counts, model.context)

        if isinstance(model, DecoderOnly):
            store = build_windows(
                folder,
                pieces,
                tokenizer,
                model.context,
                signature,
                problems,
                judge,
                streams=model.carry == "state",
                progress=lambda done: preparing(f"{name} symbols", done),
            )
        else:
            store = build_passages(
                folder,
                pieces,
                tokenizer,
                cutting_for(model, name, seed),
                signature,
                problems,
                judge,
                progress=lambda done: preparing(f"{name} examples", done),
            )
    summary[name] = summary_of(store.counts, problems)
    return store


def way_of(model: DecoderOnly | EncoderOnly, name: SplitName, seed: int) -> list[Any]:
    """All that a store depends on beside texts and tokenizer."""
    if isinstance(model, DecoderOnly):
        return ["windows", model.context, model.carry, model.documents]
    return ["passages", documents_of(model), *astuple(cutting_for(model, name, seed))]


def cutting_for(model: EncoderOnly, name: SplitName, seed: int) -> Cutting:
    head, two = pretraining_of(model), model.sentences == "two"
    return head.cutting(two, head.passes, seed) if name == "train" else head.cutting(two)


def summary_of(counts: Counts, problems: Problems) -> Summary:
    findings = [
        finding(reason, count, problems.lines, problems.places[reason])
        for reason, count in problems.reasons.most_common()
    ]
    return {
        "lines": counts.lines,
        "documents": counts.documents,
        "characters": counts.characters,
        "findings": findings,
        "filtered": {},
    }
