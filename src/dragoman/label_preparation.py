"""Texts with labels made ready for training: hashed, their labels learned, tokenized and encoded once, found again."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from dragoman.data.encoding import Counts
from dragoman.data.labelled import LabelEncoding, build_labelled
from dragoman.data.labelling import Labelling, What, learn_labelling, usable
from dragoman.data.readers.example import Examples
from dragoman.data.readers.labelled import Labelled, columns_of, read_labelled_split
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.tagged import Tagged, read_tagged_split
from dragoman.data.readers.texts import refuse_bad
from dragoman.data.store import Store
from dragoman.data.survey import Summary
from dragoman.data.tokenizers import Tokenizer, TokenizerConfig, train_tokenizer
from dragoman.errors import DataError, DragomanError, StorageError
from dragoman.models import EncoderOnly
from dragoman.preparation import (
    REPORTED,
    RESTORE,
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
from dragoman.text_preparation import summary_of

WHAT: dict[str, What] = {"labels": "labels", "number": "numbers", "tags": "tags"}  # by the kind of the head
READING = ("format", "text_field", "second_field", "label_field", "word_column", "tag_column")


def prepare_labels(
    run: Run,
    data: Labelled | Tagged,
    config: TokenizerConfig,
    model: EncoderOnly,
    preparing: Preparing = silent,
    report: Callable[[str], None] = lambda message: None,
    given: Mapping[str, Tokenizer] | None = None,
    labels: Labelling | None = None,
    check: Callable[[Mapping[str, Tokenizer]], object] = lambda tokenizers: None,
) -> Corpora:
    """The labels, the tokenizer (learned, or given) and the encoded examples of a run; data that changed since it was
    begun is refused, damage is mended. One tokenizer stands on both sides."""
    known, before = data_record(run, data), known_data(run)
    if not run.data_record.exists():  # an earlier preparation broke off; its data or settings may have been mended
        shutil.rmtree(run.tokenizers, ignore_errors=True)
    make_folder(run.tokenizers)
    for side, tokenizer in (given or {}).items():
        write_atomically(run.tokenizers / f"{side}.json", tokenizer.as_json())
    labelling = prepare_labelling(run, data, model, before.get("labels"), labels, preparing)
    digest = before.get("tokenizers", {}).get("source")
    learned = prepare_tokenizer(run, "source", lambda: learn(data, config, model, preparing), digest, report)
    write_atomically(run.tokenizers / "target.json", learned.as_json())
    tokenizers = dict.fromkeys(SIDES, learned)
    check(tokenizers)
    stores, summary = {}, dict(before.get("summary", {}))
    splits: tuple[SplitName, ...] = ("train", "valid")
    for name in splits:
        if data.has(name):
            made = partial(prepare_examples, run, data, name, model, preparing, summary, report)
            stores[name] = made(LabelEncoding(learned, labelling, data.max_length, drops(data)), known[name]["sha256"])
            known[name]["counts"] = vars(stores[name].counts)
    known |= {"tokenizers": dict.fromkeys(SIDES, learned.hash), "labels": labelling.hash, "summary": summary}
    known["formats"] = [f"{file}: {layout_of(file, data, model)}" for name in splits for file in data.files(name)]
    write_record(run.data_record, {"format_version": FORMAT_VERSION, **known})
    formats = tuple(dict.fromkeys(known["formats"]))
    return Corpora(stores["train"], stores.get("valid"), tokenizers, summary, formats, labelling)


def drops(data: Labelled | Tagged) -> bool:
    """A sentence without its end would have words without tags."""
    return isinstance(data, Tagged) or data.longer == "drop"


def layout_of(file: str, data: Labelled | Tagged, model: EncoderOnly) -> str:
    if isinstance(data, Tagged):
        return f"words in column {data.word_column}, tags in column {data.tag_column}"
    return str(columns_of(file, data, model.sentences == "two"))


def examples_of(data: Labelled | Tagged, name: SplitName, model: EncoderOnly, problems: Problems) -> Examples:
    if isinstance(data, Tagged):
        return read_tagged_split(data, name, problems)
    return read_labelled_split(data, name, model.sentences == "two", problems)


def told(examples: Examples, what: str, preparing: Preparing) -> Examples:
    for number, example in enumerate(examples):
        if number % REPORTED == 0:
            preparing(what, number)
        yield example


def prepare_labelling(
    run: Run,
    data: Labelled | Tagged,
    model: EncoderOnly,
    digest: str | None,
    given: Labelling | None,
    preparing: Preparing,
) -> Labelling:
    """The labels of the run, found, given by the model that is started from, or learned."""
    path = run.tokenizers / "labels.json"
    if digest is not None:
        try:
            found = Labelling.load(path)
        except DragomanError as error:
            raise StorageError(f"{error}{RESTORE}") from error
        if found.hash != digest:
            raise StorageError(f"{path} is damaged: it has changed since the run was begun.{RESTORE}")
        return found
    reading = {name: value for name, value in data.model_dump().items() if name in READING}
    what, problems = WHAT[model.head.kind], Problems()
    examples = told(examples_of(data, "train", model, problems), "labels: examples read", preparing)
    learned = learn_labelling(what, examples, reading) if given is None else replace(given, reading=reading)
    learned.write(path)
    return learned


def learn(data: Labelled | Tagged, config: TokenizerConfig, model: EncoderOnly, preparing: Preparing) -> Tokenizer:
    def texts() -> Iterator[str]:
        examples = examples_of(data, "train", model, Problems())
        for example in told(examples, "vocabulary: examples read", preparing):
            yield from example.texts

    return train_tokenizer(config, texts)


def prepare_examples(
    run: Run,
    data: Labelled | Tagged,
    name: SplitName,
    model: EncoderOnly,
    preparing: Preparing,
    summary: dict[str, Summary],
    report: Callable[[str], None],
    encoding: LabelEncoding,
    digest: str,
) -> Store:
    """The encoded examples of a split, found or made; what is made is surveyed on the way."""
    reading = [value for setting, value in data.model_dump().items() if setting in (*READING, "hold_out")]
    facts: list[Any] = [digest, encoding.tokenizer.hash, encoding.labelling.hash, model.sentences]
    signature = "/".join(map(str, [*facts, encoding.longest, encoding.drop, *reading]))
    folder = run.stores / name
    if (store := Store.open(folder, signature)) is not None and name in summary:
        return store
    if folder.exists():
        report(f"{folder} was damaged, or is of another version of dragoman. It is encoded anew from the same data.")
    make_folder(run.stores)
    problems = Problems(run.bad_lines if name == "train" else run.bad_lines.with_stem(f"bad_lines.{name}"))
    with closing(problems):
        examples = usable(examples_of(data, name, model, problems), encoding.labelling, problems)

        def judge(counts: Counts) -> None:
            if counts.pairs == 0:
                raise nothing_left(counts, problems, data)
            refuse_bad(problems, data.max_bad)

        store = build_labelled(
            folder,
            examples,
            encoding,
            signature,
            problems,
            judge,
            progress=lambda done: preparing(f"{name} examples", done),
        )
    summary[name] = summary_of(store.counts, problems)
    return store


def nothing_left(counts: Counts, problems: Problems, data: Labelled | Tagged) -> DataError:
    if counts.dropped_long:
        return DataError(
            f"No example is left: {counts.dropped_long:,} are longer than data.max_length = {data.max_length} tokens. "
            "Raise it."
        )
    if data.holds_out and not problems.count:
        return DataError(
            f"data.hold_out = {data.hold_out:g} leaves no example on one side. Change it, or give validation data of "
            "its own with --valid."
        )
    if not problems.count:
        return DataError("No example is left: the files hold a header, or blank lines, and no example below.")
    return DataError(
        f"Not one of {problems.lines:,} lines is a part of an example; nothing was done.\n{problems.summary()}"
    )
