"""What answers in documents score that do not depend on the question.

One baseline answers with the same words of every document: so many words from such a word on, where the training data
has most of its answers. The other is the model itself, asked the question of another document.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from dragoman.data.readers.lines import Problems
from dragoman.data.readers.questions import Question, Questions, read_questions
from dragoman.metrics.labels import measure_labels, values_of
from dragoman.pipeline import Pipeline
from sets import DataSet

METRICS = ("exact_match", "f1")
STARTS, LENGTHS = range(0, 60, 3), range(1, 31)  # words
LOOKED_AT = 1_000  # training questions, at equal distances


def fixed_places(data: DataSet) -> dict[str, Any]:
    """For each metric, the place that is best in it, and what that scores on the test data."""
    train, test = (list(read_questions(Questions(), files, Problems())) for files in (data.train, data.test))
    known = train[:: max(1, len(train) // LOOKED_AT)]
    scores = {place: scores_of(known, *place) for place in ((s, n) for s in STARTS for n in LENGTHS)}
    return {name: scored(name, test, *max(scores, key=lambda place: scores[place][name])) for name in METRICS}


def other_questions(pipeline: Pipeline, data: DataSet) -> dict[str, Any]:
    """What the model scores on the test data when it is asked a question that belongs elsewhere, half the data away."""
    test = list(read_questions(Questions(), data.test, Problems()))
    asked = [replace(one, question=test[number - len(test) // 2].question) for number, one in enumerate(test)]
    texts = [answer.text for answer in pipeline.span_reader.answers(asked)]
    found = measure_labels(METRICS, texts, [one.references for one in test])
    for value in found:
        print(f"asked of another document: {value.name} {value.value:.2f} ({value.low:.2f} … {value.high:.2f})")
    return {value.name: asdict(value) for value in found}


def scores_of(questions: Sequence[Question], start: int, length: int) -> dict[str, float]:
    return values_of(METRICS, answers(questions, start, length), [one.references for one in questions])


def scored(name: str, questions: Sequence[Question], start: int, length: int) -> dict[str, Any]:
    true = [one.references for one in questions]
    [value] = measure_labels([name], answers(questions, start, length), true)
    where = f"words {start} to {start + length - 1} of every document"
    print(f"{where}: {name} {value.value:.2f} ({value.low:.2f} … {value.high:.2f})")
    return {"start": start, "length": length, **asdict(value)}


def answers(questions: Sequence[Question], start: int, length: int) -> list[str]:
    return [" ".join(one.document.split()[start : start + length]) for one in questions]
