"""Models that say what texts are, in the command line: labels, numbers and tags, told and measured."""

import math
import sys
from typing import TYPE_CHECKING, Any

from dragoman.cli.baselines import print_standing, with_baselines
from dragoman.cli.spans import evaluate_questions

if TYPE_CHECKING:
    from rich.table import Table

    from dragoman.baselines.training_data import Beside
    from dragoman.contracts import Answer
    from dragoman.evaluation.labels import EvaluatedLabels
    from dragoman.metrics.classes import ClassReport
    from dragoman.pipeline import Pipeline

CONFUSED = 20  # pairs that are listed where a confusion matrix is wider than the terminal
CORNER = "true ╲ said"


def predict_labels(pipeline: "Pipeline", file: str, scores: bool, longer: str | None, json: bool) -> None:
    """A label, a number or tags for every line."""
    from dragoman.cli.longer import Longer
    from dragoman.cli.progress import metered, size_of
    from dragoman.cli.unknown import Unknown
    from dragoman.data.readers.pairs import read_lines
    from dragoman.pipeline import WINDOW

    what, size, done = pipeline.known_labels.what, size_of(file), 0
    told = Longer(pipeline.settings.limits.source)
    unknown = None if what == "tags" or pipeline.source.letters else Unknown(pipeline)
    window = 1 if file == "-" and sys.stdin.isatty() else WINDOW
    with metered(size > 0 and not sys.stdout.isatty()) as tell:
        for number, answer in enumerate(pipeline.stream(read_lines(file), window=window, longer=longer), start=1):
            told.tell(number, answer.longer)
            if unknown is not None:
                unknown.count(answer)
            print(as_json(answer, what) if json else as_columns(answer, what, scores), flush=file == "-")
            done += len(answer.source.encode()) + 1
            tell(f"{number:,} lines answered", done / max(size, done))
    told.summarise()
    if unknown is not None:
        unknown.summarise()


def as_columns(answer: "Answer", what: str, scores: bool) -> str:
    """The answer, and behind it its probability; of tags that of each."""
    if not scores or what == "numbers" or not answer.text:
        return answer.text
    logs = answer.best.token_log_probabilities if what == "tags" else (answer.score,)
    return f"{answer.text}\t{' '.join(f'{math.exp(log):.4f}' for log in logs)}"


def as_json(answer: "Answer", what: str) -> str:
    import json

    best, facts = answer.best, dict[str, Any](source=answer.source)
    if what == "numbers":
        facts["number"] = best.score if answer.text else None
    elif what == "tags":
        facts["words"] = [
            {"word": word, "tag": tag, "probability": math.exp(log)}
            for word, tag, log in zip(best.source_tokens, best.tokens, best.token_log_probabilities, strict=True)
        ]
    else:
        facts["label"] = answer.text
        facts["probabilities"] = {one.text: math.exp(one.score) for one in answer.predictions if one.text}
    return json.dumps(facts | ({"longer": answer.longer} if answer.longer else {}), ensure_ascii=False)


def evaluate_labelled(
    pipeline: "Pipeline",
    files: list[str],
    reading: "dict[str, Any]",
    metrics: list[str],
    longer: str | None,
    json: bool,
    beside: "Beside | None" = None,
) -> None:
    """How often labels are right, label by label, and what is taken for what."""
    from dragoman.cli.progress import metered, warn
    from dragoman.cli.unknown import warn_of_unknown
    from dragoman.evaluation.labels import evaluate_labels

    if pipeline.known_labels.what == "spans":
        evaluate_questions(pipeline, files, reading, metrics, longer, json, beside)
        return
    with metered() as tell:
        result = evaluate_labels(
            pipeline,
            files,
            metrics,
            reading,
            longer,
            lambda what, done, total: tell(*done_of(what, done, total)),
            beside,
        )
    if result.problems.count:
        warn(f"{result.problems.count:,} bad lines were left out.\n{result.problems.summary()}")
    if result.unseen.count:
        warn(
            f"{result.unseen.count:,} examples have labels that the model was never taught; they count as wrong.\n"
            f"{result.unseen.summary()}"
        )
    if result.cut:
        limit = pipeline.settings.limits.source
        warn(f"{result.cut:,} {result.nouns[0]} were longer than limits.source = {limit} and were cut.")
    if result.unknown and not pipeline.source.letters:  # else words outside the vocabulary are read by their letters
        warn_of_unknown(result.unknown, "symbols of the texts")
    print_labels(result, json)


def done_of(what: str, done: int, total: int) -> tuple[str, float | None]:
    """In words, and as a share, if it is known of how many."""
    return (f"{done:,} of {total:,} {what}", done / total) if total else (f"{done:,} {what}", None)


def print_labels(result: "EvaluatedLabels", json: bool) -> None:
    import json as writer

    if json:
        print(writer.dumps(facts_of(result), ensure_ascii=False, indent=2))
        return
    from dragoman.cli.evaluate import table_of
    from dragoman.cli.progress import plain_console
    from dragoman.metrics.labels import LABEL_METRICS

    console = plain_console()
    console.print(table_of([(value, LABEL_METRICS[value.name].title) for value in result.metrics]))
    if result.classes is not None:
        console.print("", class_table(result.classes), "", confusion_table(result.classes, console.width), sep="\n")
    texts, each = result.nouns
    words = f", {result.labels:,} {each}" if result.labels > result.items else ""
    rate = result.items / max(result.seconds, 1e-9)
    console.print(f"{result.items:,} {texts}{words} · {rate:,.0f} a second")
    console.print(f"all: {result.metrics[-1].signature}", soft_wrap=True)
    print_standing(console, result.standing)


def facts_of(result: "EvaluatedLabels") -> dict[str, Any]:
    metrics = {value.name: {k: v for k, v in vars(value).items() if k != "name"} for value in result.metrics}
    facts: dict[str, Any] = {"items": result.items, "labels": result.labels, "seconds": result.seconds}
    facts |= {"bad_lines": result.problems.count, "unseen_labels": result.unseen.count, "cut": result.cut}
    facts["metrics"] = metrics
    if result.classes is not None:
        facts["classes"] = {
            one.label: {k: v for k, v in vars(one).items() if k != "label"} for one in result.classes.classes
        }
        facts["confusion"] = {"labels": result.classes.labels, "counts": result.classes.confusion}
    return with_baselines(facts, result.standing)


def class_table(report: "ClassReport") -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("label")
    for heading in ("precision", "recall", "F1", "support"):
        table.add_column(heading, justify="right")
    for one in report.classes:
        shares = (f"{value:.2f}" for value in (one.precision, one.recall, one.f1))
        table.add_row(one.label, *shares, f"{one.support:,}")
    return table


def confusion_table(report: "ClassReport", width: int) -> "Table":
    """A row a true label, a column a label that was said; where that is too wide, the pairs that are confused most."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    columns = zip(report.labels, zip(*report.confusion, strict=True), strict=True)
    widths = [max(len(label), *(len(f"{count:,}") for count in counts)) + 2 for label, counts in columns]
    if max(map(len, (*report.labels, CORNER))) + sum(widths) > width:
        for heading in ("true", "said", "times"):
            table.add_column(heading, justify="right" if heading == "times" else "left")
        for true, said, count in report.confused(CONFUSED):
            table.add_row(true, said, f"{count:,}")
        return table
    table.add_column(CORNER, no_wrap=True)
    for label in report.labels:
        table.add_column(label, justify="right", no_wrap=True)
    for label, row in zip(report.labels, report.confusion, strict=True):
        table.add_row(label, *(f"{count:,}" if count else "·" for count in row))
    return table
