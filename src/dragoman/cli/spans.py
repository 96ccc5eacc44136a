"""Models that find answers in documents, in the command line: asked and measured."""

import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dragoman.cli.baselines import print_standing, with_baselines

if TYPE_CHECKING:
    from dragoman.baselines.training_data import Beside
    from dragoman.contracts import Answer, Prediction
    from dragoman.data.readers.questions import Question
    from dragoman.evaluation.spans import EvaluatedSpans
    from dragoman.pipeline import Pipeline


def predict_spans(pipeline: "Pipeline", file: str, n_best: int, scores: bool, longer: str | None, json: bool) -> None:
    """An answer for every question: a line each, with a document, or a SQuAD file."""
    from dragoman.cli.progress import metered, size_of, warn
    from dragoman.cli.unknown import Unknown
    from dragoman.errors import ConfigError, choose
    from dragoman.pipeline import LONGER
    from dragoman.pipeline.spans import READ

    if n_best < 1:
        raise ConfigError(f"--n-best must be 1 or more, not {n_best}.")
    policy = choose("way with longer lines", longer or pipeline.settings.limits.longer, LONGER)
    size, done, cut = size_of(file), 0, 0
    unknown, asked = Unknown(pipeline), questions_in(file)
    window = 1 if file == "-" and sys.stdin.isatty() else READ
    told: list[Question | None] = []

    def noted() -> "Iterator[Question | None]":
        for one in asked:
            told.append(one)
            yield one

    with metered(size > 0 and not sys.stdout.isatty()) as tell:
        answers = pipeline.span_reader.answers(noted(), policy, n_best, window)
        for number, answer in enumerate(answers, start=1):
            one = told.pop(0)
            unknown.count(answer)
            cut += answer.longer == "cut"
            print(as_json(one, answer) if json else as_columns(answer, scores), flush=file == "-")
            done += 0 if one is None else len(one.question.encode()) + len(one.document.encode())
            tell(f"{number:,} questions answered", min(1.0, done / max(size, done, 1)))
    if cut:
        warn(
            f"{cut:,} questions or documents were cut: questions after extraction.question = "
            f"{pipeline.settings.extraction.question} symbols, documents (--longer cut) where the first window ends."
        )
    unknown.summarise()


def questions_in(file: str) -> "Iterator[Question | None]":
    """Of a SQuAD file, or a line each; an empty line is none."""
    from dragoman.data.readers.lines import Problems
    from dragoman.data.readers.pairs import read_lines
    from dragoman.data.readers.squad import is_squad
    from dragoman.pipeline.spans import question_in

    if file != "-" and is_squad(file):
        yield from asked_in_squad(file, Problems())
        return
    for number, line in enumerate(read_lines(file), start=1):
        yield question_in(line, number)


def asked_in_squad(file: str, problems: Any) -> "Iterator[Question | None]":
    from dragoman.data.readers.questions import from_squad
    from dragoman.errors import DataError

    for number, reason, one in from_squad(file, problems, answered=False):
        if one is None:
            raise DataError(f"{file}: question {number:,}: {reason}. Mend it, or leave it out.")
        yield one


def as_columns(answer: "Answer", scores: bool) -> str:
    """The answers in one line, each with its probability if that is asked for."""
    columns: list[str] = []
    for one in answer.predictions:
        columns.append(" ".join(one.text.split()))
        if scores:
            columns.append(f"{math.exp(one.score):.4f}")
    return "\t".join(columns)


def as_json(one: "Question | None", answer: "Answer") -> str:
    import json

    asked = {} if one is None else {"id": one.name, "question": one.question}
    facts: dict[str, Any] = {name: value for name, value in asked.items() if value}
    facts |= facts_of(answer.best) if one is not None else {"answer": ""}
    facts["answers"] = [facts_of(prediction) for prediction in answer.predictions] if one is not None else []
    return json.dumps(facts | ({"longer": answer.longer} if answer.longer else {}), ensure_ascii=False)


def facts_of(prediction: "Prediction") -> dict[str, Any]:
    """The text, as it stands in the document, its probability and its place; no place where it is nothing."""
    place = {} if prediction.span is None else vars(prediction.span)
    return {"answer": prediction.text, "probability": math.exp(prediction.score), **place}


def evaluate_questions(
    pipeline: "Pipeline",
    files: list[str],
    reading: dict[str, Any],
    metrics: list[str],
    longer: str | None,
    json: bool,
    beside: "Beside | None" = None,
) -> None:
    """How often answers are right."""
    from dragoman.cli.progress import metered, warn
    from dragoman.cli.unknown import warn_of_unknown
    from dragoman.evaluation.spans import evaluate_spans

    def tell_of(what: str, done: int, total: int) -> None:
        tell(f"{done:,} of {total:,} {what}", done / total)

    with metered() as tell:
        result = evaluate_spans(pipeline, files, metrics, reading, longer, tell_of, beside)
    if result.problems.count:
        warn(f"{result.problems.count:,} bad questions were left out.\n{result.problems.summary()}")
    if result.absent:
        warn(f"{result.absent:,} questions have answers that do not occur in their documents; they count as wrong.")
    if result.cut:
        warn(f"{result.cut:,} questions or documents were cut (extraction.question, --longer cut).")
    warn_of_unknown(result.unknown, "symbols of questions and documents")
    print_spans(result, json)


def print_spans(result: "EvaluatedSpans", json: bool) -> None:
    import json as writer

    counts = {name: getattr(result, name) for name in ("items", "unanswerable", "silent", "windowed", "cut", "absent")}
    if json:
        metrics = {value.name: {k: v for k, v in vars(value).items() if k != "name"} for value in result.metrics}
        facts = {**counts, "bad_lines": result.problems.count, "seconds": result.seconds, "metrics": metrics}
        facts |= {"parts": result.parts} if result.parts else {}
        print(writer.dumps(with_baselines(facts, result.standing), ensure_ascii=False, indent=2))
        return
    from dragoman.cli.evaluate import table_of
    from dragoman.cli.progress import plain_console
    from dragoman.metrics.labels import LABEL_METRICS

    console = plain_console()
    console.print(table_of([(value, LABEL_METRICS[value.name].title) for value in result.metrics]))
    for what, values in result.parts.items():
        console.print(f"{what}: {', '.join(f'{name} {value:.2f}' for name, value in values.items())}", soft_wrap=True)
    without = f", {result.unanswerable:,} of them without an answer" if result.unanswerable else ""
    silent = f"; {result.silent:,} were answered with nothing" if result.silent else ""
    rate = result.items / max(result.seconds, 1e-9)
    console.print(f"{result.items:,} questions{without}{silent} · {rate:,.0f} a second", soft_wrap=True)
    console.print(f"all: {result.metrics[-1].signature}", soft_wrap=True)
    print_standing(console, result.standing)
