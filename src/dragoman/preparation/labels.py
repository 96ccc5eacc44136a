"""Texts with labels, or questions with documents, made ready for training: hashed, their labels learned, tokenized and
encoded once, found again."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from dragoman.data.encoding import Counts
from dragoman.data.labelled import LabelEncoding, build_labelled
from dragoman.data.labelling import Labelling, What, learn_answers, learn_labelling, usable
from dragoman.data.questions import SpanEncoding, Windowing
from dragoman.data.readers.example import Examples
from dragoman.data.readers.labelled import Labelled, columns_of, read_labelled_split
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.questions import Question, Questions, read_questions_split
from dragoman.data.readers.questions import layout_of as layout_of_questions
from dragoman.data.readers.tagged import Tagged, read_tagged_split
from dragoman.data.store import Store
from dragoman.data.survey import Summary
from dragoman.data.tokenizers import Tokenizer, TokenizerConfig, train_tokenizer
from dragoman.errors import DataError
from dragoman.models import EncoderOnly
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
    judge_examples,
    known_data,
    known_fact,
    prepare_split,
    prepare_tokenizer,
    silent,
)
from dragoman.runs import Run
from dragoman.served import Extraction
from dragoman.storage import write_atomically

WHAT: dict[str, What] = {
    "labels": "labels",
    "number": "numbers",
    "tags": "tags",
    "crf": "tags",
    "spans": "spans",
}  # by the kind of the head
SPELLED = {"squad": "SQuAD JSON, whose questions are numbered", "jsonl": "JSON lines"}
READING = ("format", "text_field", "second_field", "label_field", "word_column", "tag_column")

Said = Labelled | Tagged | Questions
Item = TypeVar("Item")
DEFAULT = Extraction()


def prepare_labels(
    run: Run,
    data: Said,
    config: TokenizerConfig,
    model: EncoderOnly,
    preparing: Preparing = silent,
    report: Callable[[str], None] = lambda message: None,
    given: Mapping[str, Tokenizer] | None = None,
    labels: Labelling | None = None,
    check: Callable[[Mapping[str, Tokenizer]], object] = lambda tokenizers: None,
    extraction: Extraction = DEFAULT,
) -> Corpora:
    """The labels, the tokenizer (learned, or given) and the encoded examples of a run; data that changed since it was
    begun is refused, damage is mended. One tokenizer stands on both sides."""
    known, before = data_record(run, data), known_data(run)
    begin(run, given)
    labelling = prepare_labelling(run, data, model, before.get("labels"), labels, preparing)
    digest = before.get("tokenizers", {}).get("source")
    learned = prepare_tokenizer(run, "source", lambda: learn(data, config, model, preparing), digest, report)
    write_atomically(run.tokenizers / "target.json", learned.as_json())
    learned = learned.with_letters(model.letters)
    tokenizers = dict.fromkeys(SIDES, learned)
    check(tokenizers)
    stores, summary = {}, dict(before.get("summary", {}))
    for name in TRAINED:
        if data.has(name):
            encode = partial(encoding_of, data, learned, labelling, extraction)
            digest = known[name]["sha256"]
            stores[name] = prepare_examples(run, data, name, model, preparing, summary, report, encode, digest)
    known |= {"tokenizers": dict.fromkeys(SIDES, learned.hash), "labels": labelling.hash, "summary": summary}
    known["formats"] = [f"{file}: {layout_of(file, data, model)}" for name in TRAINED for file in data.files(name)]
    finish(run, known, stores)
    formats = tuple(dict.fromkeys(known["formats"]))
    return Corpora(stores["train"], stores.get("valid"), tokenizers, summary, formats, labelling)


def encoding_of(
    data: Said, tokenizer: Tokenizer, labelling: Labelling, extraction: Extraction, problems: Problems
) -> LabelEncoding | SpanEncoding:
    """What is cut into windows has no end that could be too long; a sentence without its end would have words without
    tags."""
    if isinstance(data, Questions):
        how = Windowing(data.max_length, extraction.stride, extraction.question)
        return SpanEncoding(tokenizer, labelling, how, problems)
    drop = isinstance(data, Tagged) or data.longer == "drop"
    return LabelEncoding(tokenizer, labelling, data.max_length, drop)


def layout_of(file: str, data: Said, model: EncoderOnly) -> str:
    if isinstance(data, Tagged):
        return f"words in column {data.word_column}, tags in column {data.tag_column}"
    if isinstance(data, Questions):
        return SPELLED[layout_of_questions(file, data.format)]
    return str(columns_of(file, data, model.sentences == "two"))


def examples_of(data: Labelled | Tagged, name: SplitName, model: EncoderOnly, problems: Problems) -> Examples:
    if isinstance(data, Tagged):
        return read_tagged_split(data, name, problems)
    return read_labelled_split(data, name, model.sentences == "two", problems)


def told(examples: Iterable[Item], what: str, preparing: Preparing) -> Iterator[Item]:
    for number, example in enumerate(examples):
        if number % REPORTED == 0:
            preparing(what, number)
        yield example


def prepare_labelling(
    run: Run,
    data: Said,
    model: EncoderOnly,
    digest: str | None,
    given: Labelling | None,
    preparing: Preparing,
) -> Labelling:
    """The labels of the run, found, given by the model that is started from, or learned."""
    path = run.tokenizers / "labels.json"
    if digest is not None:
        return known_fact(path, digest, Labelling.load)
    reading = {name: value for name, value in data.model_dump().items() if name in READING}
    learned = replace(given, reading=reading) if given is not None else learned_from(data, model, reading, preparing)
    learned.write(path)
    return learned


def learned_from(data: Said, model: EncoderOnly, reading: Mapping[str, Any], preparing: Preparing) -> Labelling:
    if isinstance(data, Questions):
        questions = read_questions_split(data, "train", Problems())
        return learn_answers(told(questions, "questions read", preparing), reading)
    examples = told(examples_of(data, "train", model, Problems()), "labels: examples read", preparing)
    return learn_labelling(WHAT[model.head.kind], examples, reading)


def learn(data: Said, config: TokenizerConfig, model: EncoderOnly, preparing: Preparing) -> Tokenizer:
    def texts() -> Iterator[str]:
        if isinstance(data, Questions):
            questions = read_questions_split(data, "train", Problems())
            yield from texts_of(told(questions, "vocabulary: questions read", preparing))
            return
        examples = examples_of(data, "train", model, Problems())
        for example in told(examples, "vocabulary: examples read", preparing):
            yield from example.texts

    return train_tokenizer(config, texts)


def texts_of(questions: Iterator[Question]) -> Iterator[str]:
    """Each question, and each document once, as long as its questions stand together."""
    before = ""
    for one in questions:
        yield one.question
        if one.document != before:
            yield one.document
        before = one.document


def prepare_examples(
    run: Run,
    data: Said,
    name: SplitName,
    model: EncoderOnly,
    preparing: Preparing,
    summary: dict[str, Summary],
    report: Callable[[str], None],
    encode: Callable[[Problems], LabelEncoding | SpanEncoding],
    digest: str,
) -> Store:
    """The encoded examples of a split, found or made."""
    reading = [value for setting, value in data.model_dump().items() if setting in (*READING, "hold_out")]
    reading += [data.hold_out_test] if data.holds_out_test else []
    reading += [f"letters: {model.letters}"] if model.letters else []
    encoding = encode(Problems())
    facts: list[Any] = [digest, encoding.tokenizer.hash, encoding.labelling.hash, model.sentences]
    how = [encoding.how] if isinstance(encoding, SpanEncoding) else [encoding.longest, encoding.drop]

    def build(folder: Path, signature: str, problems: Problems, judge: Judge) -> Store:
        encoding, progress = encode(problems), partial(preparing, f"{name} examples")
        if isinstance(encoding, SpanEncoding):
            assert isinstance(data, Questions)  # noqa: S101
            questions = read_questions_split(data, name, problems)
            return build_labelled(folder, questions, encoding, signature, problems, judge, progress=progress)
        assert not isinstance(data, Questions)  # noqa: S101
        examples = usable(examples_of(data, name, model, problems), encoding.labelling, problems)
        return build_labelled(folder, examples, encoding, signature, problems, judge, progress=progress)

    def judge(counts: Counts, problems: Problems) -> None:
        judge_examples(counts, problems, data.max_bad, partial(nothing_left, data=data))

    return prepare_split(run, name, [*facts, *how, *reading], summary, report, build, judge)


def nothing_left(counts: Counts, problems: Problems, data: Said) -> DataError:
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
