"""Questions with documents: what is read, what is refused, where answers stand, and how documents become windows."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.data.labelling import Labelling, learn_answers
from dragoman.data.questions import SpanEncoding, Windowing, in_symbols, windows_of
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.questions import Question, Questions, layout_of, place_in, read_questions
from dragoman.data.readers.squad import BLOCK, is_squad
from dragoman.data.tokenizers import Bpe, Bytes, Characters, Unigram, WordPiece, Words, train_tokenizer
from dragoman.errors import DataError

DOCUMENT = "The cat sat. A dog ran."


def squad(*questions: dict[str, Any], document: Any = DOCUMENT, **more: Any) -> str:
    return json.dumps({**more, "data": [{"title": "t", "paragraphs": [{"context": document, "qas": list(questions)}]}]})


def asked(question: Any = "who sat?", *answers: tuple[Any, Any], **more: Any) -> dict[str, Any]:
    return {"question": question, "answers": [{"text": text, "answer_start": start} for text, start in answers], **more}


def read(folder: Path, text: str, name: str = "a.json", **settings: Any) -> tuple[list[Question], list[str]]:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    problems = Problems()
    found = list(read_questions(Questions(**settings), [str(path)], problems))
    return found, [str(one).rpartition("/")[2] for one in problems.first]


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_squad_with_and_without_answers(tmp_path: Path, name: str) -> None:
    text = squad(
        asked("who sat?", ("cat", 4), ("The cat", 0), id="7"),
        asked("who flew?", is_impossible=True, plausible_answers=[{"text": "dog", "answer_start": 15}]),
        asked("who ran?", ("dog", 15), is_impossible=False),
        version="v2.0",
    )
    found, bad = read(tmp_path, text, name)
    assert [(one.question, one.references, one.line) for one in found] == [
        ("who sat?", ("cat", "The cat"), 1),
        ("who flew?", ("",), 2),
        ("who ran?", ("dog",), 3),
    ]
    assert (found[0].name, bad) == ("7", [])
    assert learn_answers(found, {}).may_be_nothing
    assert not learn_answers(found[:1], {}).may_be_nothing


def test_the_two_ways_of_json_lines(tmp_path: Path) -> None:
    lines = [
        {"question": "who?", "document": DOCUMENT, "answer": "cat", "answer_start": 4},
        {"question": "who?", "document": DOCUMENT, "answer": ["cat", "The cat"], "answer_start": [4, 0]},
        {"question": "who?", "document": DOCUMENT, "answer": None},
        {"question": "who?", "context": DOCUMENT, "answers": {"text": ["dog"], "answer_start": [15]}, "id": 5},
        {"question": "who?", "document": DOCUMENT, "answer": "dog"},
    ]
    found, bad = read(tmp_path, "\n".join(map(json.dumps, lines)), "a.jsonl")
    assert [one.references for one in found] == [("cat",), ("cat", "The cat"), ("",), ("dog",), ("dog",)]
    assert [place_in(one)[1] for one in found] == [(4, 7), (4, 7), None, (15, 18), (15, 18)]
    assert (bad, found[3].name) == ([], "5")


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (asked(" "), "empty question"),
        (asked(7), "field 'question' is no text"),
        ({"answers": []}, "no field 'question'"),
        ({"question": "who?"}, "no field 'answer'"),
        (asked("who\x07?"), "holds a control character"),
        (asked("who?", ("", 0)), "an answer is no text, or empty"),
        (asked("who?", (7, 0)), "an answer is no text, or empty"),
        (asked("who?", ("cat", "4")), "answer_start is no whole number"),
        ({"question": "who?", "answers": "cat"}, "field 'answers' is no list of answers"),
        ({"question": "who?", "answer": ["cat", "dog"], "answer_start": [4]}, "2 answers and 1 places (answer_start)"),
        ("who?", "no paragraph of SQuAD with context and qas"),
    ],
)
def test_bad_questions_are_located(tmp_path: Path, question: Any, reason: str) -> None:
    """In a SQuAD file by their number."""
    found, bad = read(tmp_path, squad(asked("who?", ("cat", 4)), question))
    assert (len(found), bad) == (1, [f"a.json:2: {reason}"])


@pytest.mark.parametrize(
    ("document", "reason"), [("", "empty document"), (" \n", "empty document"), (None, "no field")]
)
def test_a_document_must_hold_something(tmp_path: Path, document: Any, reason: str) -> None:
    found, bad = read(tmp_path, squad(asked("who?", ("cat", 4)), document=document))
    assert (found, bad[0].startswith(f"a.json:1: {reason}")) == ([], True)


@pytest.mark.parametrize(
    ("text", "start", "reason"),
    [
        ("cow", 4, "the answer does not occur in its document"),
        ("cat", 5, "the answer does not stand at answer_start, but elsewhere in its document"),
        ("cat", 400, "the answer does not stand at answer_start, but elsewhere in its document"),
        ("ran.", -4, "the answer does not stand at answer_start, but elsewhere in its document"),
        ("a", None, "the answer occurs several times in its document, and answer_start does not say where"),
    ],
)
def test_an_answer_must_stand_where_it_is_said_to(tmp_path: Path, text: str, start: int | None, reason: str) -> None:
    found, _ = read(tmp_path, squad(asked("who?", (text, start))))
    assert place_in(found[0]) == (reason, None)


def test_the_answer_of_most_is_learned() -> None:
    found = answers_of_read([("cat", 4), ("dog", 15), ("dog", 15)])
    assert place_in(found) == ("", (15, 18))
    assert place_in(answers_of_read([("cat", 4), ("dog", 15)])) == ("", (4, 7))


def answers_of_read(answers: list[tuple[str, int]]) -> Question:
    from dragoman.data.readers.questions import question_of

    reason, found = question_of({**asked("who?", *answers), "document": DOCUMENT})
    assert (reason, found is None) == ("", False)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"data": [{"paragraphs": [', "is no SQuAD JSON"),
        ('{"data": [} ]}', "is no SQuAD JSON"),
        ('{"data": [{} {}]}', r"\] is expected where \{ is"),
        ('{"data": []}', "holds no question"),
        ('{"data": [' + "[" * 100_000, "is no SQuAD JSON"),
    ],
)
def test_broken_squad_is_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        read(tmp_path, text)


def test_damaged_and_empty_files_are_sentences(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(squad(asked("who?", ("cat", 4))).encode() * 90)[:-30])
    with pytest.raises(DataError, match="is damaged: it ends too early"):
        list(read_questions(Questions(format="squad"), [str(tmp_path / "a.json.gz")], Problems()))
    with pytest.raises(DataError, match=r"is empty\. Give a file with at least one question"):
        read(tmp_path, "", "a.jsonl")


def test_articles_are_read_one_by_one(tmp_path: Path) -> None:
    """Of any length, with anything before and behind them; what is cut between two reads is whole."""
    paragraph = {"context": "ö" * BLOCK + " cat", "qas": [asked("who?", ("cat", BLOCK + 1))]}
    content = {"version": "1.1", "n": 12.5, "data": [{"paragraphs": [paragraph, paragraph]}] * 3, "more": {"data": [1]}}
    for indent in (None, 1):
        found, bad = read(tmp_path, json.dumps(content, indent=indent, ensure_ascii=False))
        assert ([one.line for one in found], bad) == ([1, 2, 3, 4, 5, 6], [])
        assert {place_in(one)[1] for one in found} == {(BLOCK + 1, BLOCK + 4)}


def test_formats_are_found_out(tmp_path: Path) -> None:
    for text, format in ((squad(asked()), "squad"), ('{"question": "a"}\n', "jsonl"), ("", "jsonl"), ("[1]", "jsonl")):
        (tmp_path / "a").write_text(text)
        assert layout_of(str(tmp_path / "a"), "auto") == format
    (tmp_path / "a").write_text('{"data": 3}\n')
    assert not is_squad(str(tmp_path / "a"))


TEXT = "In 1987, Zoë's café </s> opened.\n It — cost e\u0301 1,000  𝒳 in all (the year)."


@pytest.mark.parametrize(
    "config",
    [Words(), Characters(), Bytes(), Bpe(size=300), Unigram(size=300), WordPiece(size=80)],
    ids=lambda config: config.kind,
)
def test_symbols_know_their_places(config: Any) -> None:
    """The same symbols as without places; together they are all that is no space, and none of it twice but a torn
    character."""
    tokenizer = train_tokenizer(config, lambda: iter([TEXT] * 9))
    [(symbols, places)] = tokenizer.encode_placed([TEXT])
    assert symbols == tokenizer.encode([TEXT])[0]
    covered = {place for start, end in places for place in range(start, end)}
    assert covered == {place for place, character in enumerate(TEXT) if not character.isspace()}
    assert sorted(places) == places
    for word in ("1987", "café", "e\u0301", "𝒳"):
        start = TEXT.index(word)
        found = in_symbols(start, start + len(word), (symbols, places))
        assert found is not None
        said = TEXT[places[found[0]][0] : places[found[1]][1]]
        assert said.startswith(word)
        assert said.removeprefix(word) in ("", ",")  # a word between spaces keeps its comma


def test_windows_overlap_and_leave_nothing_out() -> None:
    """Room for 5 symbols behind 2 of the question and END, every 3 symbols; the last window ends with the document."""
    windows = windows_of([7, 8], list(range(10, 22)), Windowing(8, 3, 4))
    assert [window.row for window in windows] == [[7, 8, 3, *range(first, first + 5)] for first in (10, 13, 16, 17)]
    assert [window.first for window in windows] == [0, 3, 6, 7]
    assert [windows[1].place(symbol) for symbol in (3, 7)] == [4, 8]  # START, two, END before the first
    assert [window.holds(3, 4) for window in windows] == [True, True, False, False]
    [whole] = windows_of([7, 8, 9, 6, 5], [10, 11], Windowing(8, 3, 4))
    assert whole.row == [7, 8, 9, 6, 3, 10, 11]
    assert len(windows_of([7], list(range(10, 30)), Windowing(8, 99, 4))) == 4  # a stride leaves no gap


def test_targets_are_places_in_windows() -> None:
    words = "zero one two three four five six seven"
    tokenizer, problems = train_tokenizer(Words(), lambda: iter([words, "where"])), Problems()
    problems.begin("a.jsonl", 0)
    encoding = SpanEncoding(tokenizer, Labelling("spans", ("span",)), Windowing(6, 2, 3), problems)
    start = words.index("three")
    records = [("three four", start), ("four three", 0), (None, None)]
    chunk = encoding.encode([answered(words, text, place, line) for line, (text, place) in enumerate(records, start=1)])
    assert chunk.target.reshape(-1, 2).tolist() == [[0, 0], [4, 5], [0, 0], *[[0, 0]] * 3]
    assert chunk.lines.tolist() == [1, 1, 1, 3, 3, 3]
    assert problems.first[0].reason == "the answer does not occur in its document"
    assert encoding.counts(problems).pairs == 6


def answered(document: str, text: str | None, start: int | None, line: int) -> Question:
    from dragoman.data.readers.questions import Given

    return Question("where", document, () if text is None else (Given(text, start),), line)
