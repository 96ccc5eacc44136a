"""Words with a tag each: columns in the manner of CoNLL, or JSON lines with a list of words and one of tags."""

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import PositiveInt

from dragoman.data.readers.example import Example, Examples
from dragoman.data.readers.files import FilesWithAnswers
from dragoman.data.readers.formats import AUTO, first_lines, kind_of, parsed, refuse_pipe
from dragoman.data.readers.lines import Line, Problems, checked_lines
from dragoman.data.readers.pair import UNREADABLE
from dragoman.data.readers.pairs import SplitName
from dragoman.errors import DataError


class Tagged(FilesWithAnswers):
    """Sentences with a tag a word: a word a line, its columns between tabs (or spaces), a blank line between sentences
    (CoNLL); or JSON lines, {"words": […], "tags": […]}; plain, gzip or zstd."""

    kind: Literal["tagged"] = "tagged"
    word_column: PositiveInt = 1
    """number of the column of the words, from 1"""
    tag_column: PositiveInt = 2
    """number of the column of the tags, from 1"""
    max_length: PositiveInt = 200
    """tokens of the longest sentence; a longer one is left out"""


def read_tagged(data: Tagged, files: Sequence[str], problems: Problems) -> Examples:
    """Stream the good sentences of files; a bad line costs its sentence."""
    for file in files:
        refuse_pipe(file)
        lines = first_lines(file, "one sentence")
        before = problems.begin(file, 0)
        checked = problems.counted(checked_lines(file, "one sentence"))
        if kind_of(file, lines, AUTO) == "jsonl":
            found = from_json(checked)
        else:
            between = "\t" if any("\t" in line for line in lines) else " "
            refuse_narrow(file, lines, between, data)
            found = from_columns(checked, between, data)
        for number, reason, words, tags in found:
            if reason:
                problems.add(file, number, reason)
            else:
                yield Example(tuple(words), tuple(tags), before + number)


def read_tagged_split(data: Tagged, name: SplitName, problems: Problems) -> Examples:
    """The sentences of a split; what is held out depends on their words alone."""
    examples = read_tagged(data, data.files(name), problems)
    return (one for one in examples if data.keeps(" ".join(one.texts), name))


Read = Iterator[tuple[int, str, list[str], list[str]]]  # line, why it is no sentence, words, tags


def from_columns(lines: Iterator[Line], between: str, data: Tagged) -> Read:
    start, reason, words, tags = 0, "", list[str](), list[str]()
    for line in lines:
        if not line.text.strip() and not line.reason:
            if start:
                yield start, reason, words, tags
            start, reason, words, tags = 0, "", [], []
            continue
        if between == "\t" and line.text.startswith("#") and "\t" not in line.text:
            continue  # a comment
        why, word, tag = (line.reason, "", "") if line.reason else cells_of(line.text, between, data)
        if why and not reason:
            start, reason = line.number, why  # the place of the bad line, not that of its sentence
        start = start or line.number
        words.append(word)
        tags.append(tag)
    if start:
        yield start, reason, words, tags


def cells_of(line: str, between: str, data: Tagged) -> tuple[str, str, str]:
    """(why it is no word with a tag, word, tag)"""
    cells = line.split("\t") if between == "\t" else line.split()
    word, tag = (
        cells[column - 1].strip() if column <= len(cells) else "" for column in (data.word_column, data.tag_column)
    )
    if not word:
        return "no word", "", ""
    return ("", word, tag) if tag else ("a word without a tag", "", "")


def from_json(lines: Iterator[Line]) -> Read:
    for line in lines:
        reason, words, tags = (line.reason, [], []) if line.reason else lists_of(line.text)
        yield line.number, reason, words, tags


def lists_of(text: str) -> tuple[str, list[str], list[str]]:
    record = parsed(text)
    if not isinstance(record, dict):
        return "no JSON object" if text.strip() else "empty line", [], []
    found: list[list[str]] = []
    for name in ("words", "tags"):
        value = record.get(name)
        if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
            return f"field '{name}' is no list of texts", [], []
        if any(UNREADABLE.search(one) for one in value):
            return "holds a control character", [], []
        found.append(value)
    words, tags = found
    if not words:
        return "empty sentence", [], []
    return ("", words, tags) if len(words) == len(tags) else (f"{len(words)} words and {len(tags)} tags", [], [])


def refuse_narrow(file: str, lines: Sequence[str], between: str, data: Tagged) -> None:
    """Where no line has the column of the tags, the setting is wrong and not the lines."""
    columns = max(
        (len(line.split("\t") if between == "\t" else line.split()) for line in lines), default=data.tag_column
    )
    for name in ("word_column", "tag_column"):
        if getattr(data, name) > columns:
            raise DataError(
                f"{file} has {columns} column{'s' * (columns > 1)}, and data.{name} = {getattr(data, name)}. A line is "
                f"a word and its tag, with a tab between them; set data.{name} to the column that holds it."
            )
