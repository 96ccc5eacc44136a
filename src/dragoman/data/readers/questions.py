"""Questions with a document each, in which their answers stand: SQuAD JSON, or JSON lines."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import PositiveInt

from dragoman.data.readers.files import FilesWithAnswers
from dragoman.data.readers.formats import parsed, refuse_pipe
from dragoman.data.readers.lines import Problems, checked_lines
from dragoman.data.readers.pair import UNREADABLE
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.squad import is_squad, paragraphs
from dragoman.errors import DataError

Format = Literal["auto", "squad", "jsonl"]


class Questions(FilesWithAnswers):
    """Questions whose answers stand in a document, from SQuAD JSON (1.1, or 2.0 with questions without an answer) or
    JSON lines, {"question": …, "document": …, "answer": …, "answer_start": …}; plain, gzip or zstd (Rajpurkar et al.
    2016)."""

    kind: Literal["questions"] = "questions"
    format: Format = "auto"
    """how the files hold their questions; auto looks at how they begin"""
    max_length: PositiveInt = 384
    """tokens of a window: the question, END and a part of the document; longer documents are several windows"""


@dataclass(frozen=True)
class Given:
    """An answer, and at which character of the document it begins, if that is known."""

    text: str
    start: int | None = None


@dataclass(frozen=True)
class Question:
    """A question, the document, and all answers that are right: none where the document has none."""

    question: str
    document: str
    answers: tuple[Given, ...] = ()
    line: int = 0  # 1-based, over all files; in SQuAD JSON the number of the question
    name: str = ""  # its id

    @property
    def texts(self) -> tuple[str, str]:
        return self.question, self.document

    @property
    def references(self) -> tuple[str, ...]:
        """What is right, as texts; the empty one where there is no answer."""
        return tuple(dict.fromkeys(answer.text for answer in self.answers)) or ("",)


def read_questions(data: Questions, files: Sequence[str], problems: Problems) -> Iterator[Question]:
    """Stream the good questions of files."""
    for file in files:
        squad = layout_of(file, data.format) == "squad"
        before = problems.begin(file, 0)
        for number, reason, found in from_squad(file, problems) if squad else from_lines(file, problems):
            if found is None or reason:
                problems.add(file, number, reason)
            else:
                yield Question(found.question, found.document, found.answers, before + number, found.name)


def read_questions_split(data: Questions, name: SplitName, problems: Problems) -> Iterator[Question]:
    """The questions of a split; what is held out depends on their documents alone."""
    questions = read_questions(data, data.files(name), problems)
    return (one for one in questions if data.keeps(one.document, name))


def layout_of(file: str, format: Format) -> Literal["squad", "jsonl"]:
    refuse_pipe(file)
    if format != "auto":
        return format
    return "squad" if is_squad(file) else "jsonl"


Read = Iterator[tuple[int, str, Question | None]]  # number, why it is no question, and the question


def from_squad(file: str, problems: Problems, answered: bool = True) -> Read:
    """Questions are numbered, since all of a file may stand on one line."""
    number = 0
    for paragraph in paragraphs(file):
        known = isinstance(paragraph, dict) and isinstance(paragraph.get("qas"), list)
        asked = paragraph["qas"] if known else [None]
        for one in asked:
            number += 1
            problems.lines += 1
            if isinstance(one, dict):
                yield number, *question_of(one | {"document": paragraph.get("context")}, answered)
            else:
                yield number, "no paragraph of SQuAD with context and qas", None
    if number == 0:
        raise DataError(f"{file} holds no question. Give a file with at least one.")


def from_lines(file: str, problems: Problems) -> Read:
    for line in problems.counted(checked_lines(file, "one question")):
        record = None if line.reason else parsed(line.text)
        if isinstance(record, dict):
            yield line.number, *question_of(record)
        else:
            yield line.number, line.reason or ("no JSON object" if line.text.strip() else "empty line"), None


def question_of(record: dict[str, Any], answered: bool = True) -> tuple[str, Question | None]:
    """(why it is no question, the question); without answers where none are needed."""
    texts: list[str] = []
    for name, other in (("question", "question"), ("document", "context")):
        value = record.get(name, record.get(other))
        if value is None:
            return f"no field '{name}'", None
        if not isinstance(value, str):
            return f"field '{name}' is no text", None
        if UNREADABLE.search(value):
            return "holds a control character", None
        if not value.strip():
            return f"empty {name}", None
        texts.append(value)
    reason, answers = answers_of(record) if answered else ("", ())
    name = record.get("id", "")
    return reason, Question(texts[0], texts[1], answers, name=name if isinstance(name, str) else str(name))


def answers_of(record: dict[str, Any]) -> tuple[str, tuple[Given, ...]]:
    """In the manner of SQuAD, a list of {text, answer_start}; of tables, {text: […], answer_start: […]}; or the fields
    answer and answer_start, of one answer or of several."""
    if record.get("is_impossible") is True:
        return "", ()
    if "answers" not in record and "answer" not in record:
        return "no field 'answer'", ()
    given = record.get("answers", {"text": record.get("answer"), "answer_start": record.get("answer_start")})
    if isinstance(given, dict):
        texts, starts = (in_list(given.get(name)) for name in ("text", "answer_start"))
        starts = starts or [None] * len(texts)
        if len(texts) != len(starts):
            return f"{len(texts)} answers and {len(starts)} places (answer_start)", ()
        given = [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        return "field 'answers' is no list of answers", ()
    found = [(one.get("text"), one.get("answer_start")) for one in given]
    if not all(isinstance(text, str) and text.strip() for text, _ in found):
        return "an answer is no text, or empty", ()
    if not all(start is None or type(start) is int for _, start in found):
        return "answer_start is no whole number", ()
    return "", tuple(Given(text, start) for text, start in found)


def in_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def place_in(one: Question) -> tuple[str, tuple[int, int] | None]:
    """(why it cannot be learned, first character of the answer and the one behind its last); nothing where there is no
    answer. Of several answers the one that is given most often is learned, of equals the first. A place that does not
    hold the answer is an error in the data: the answer may stand elsewhere too, but nobody knows which one is meant."""
    if not one.answers:
        return "", None
    answer = Counter(one.answers).most_common(1)[0][0]
    text, start, times = answer.text, answer.start, one.document.count(answer.text)
    if not times:
        return "the answer does not occur in its document", None
    if start is None and times > 1:
        return "the answer occurs several times in its document, and answer_start does not say where", None
    start = one.document.index(text) if start is None else start
    if start < 0 or one.document[start : start + len(text)] != text:
        return "the answer does not stand at answer_start, but elsewhere in its document", None
    return "", (start, start + len(text))
