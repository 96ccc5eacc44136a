"""Conversations from files: every turn from the second on with what was said before it; what is no turn is told."""

import json
from pathlib import Path

import pytest

from dragoman.config import validate
from dragoman.data.readers.conversations import (
    COMES_BACK,
    EMPTY_TURN,
    LONG_TURN,
    LONGEST_TURN,
    ONE_TURN,
    conversation_layout,
)
from dragoman.data.readers.formats import CONVERSATIONS, Wanted
from dragoman.data.readers.histories import histories_of_table, history_in, is_table
from dragoman.data.readers.pairs import Conversations, Problems, read_pairs, read_split
from dragoman.data.tokenizers import END, Characters, Conversation, train_tokenizer
from dragoman.data.tokenizers.conversation import MOST_TURNS, as_text, turns_of
from dragoman.data.turns import turns_in
from dragoman.errors import ConfigError, DataError
from dragoman.preparation.pairs import new_texts


def written(folder: Path, name: str, *lines: object) -> str:
    path = folder / name
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return str(path)


def read(file: str, wanted: Wanted = CONVERSATIONS) -> tuple[list[tuple[list[str], str, int]], list[str]]:
    """(history, next turn, line) of each example, and what was wrong where."""
    problems = Problems()
    pairs = list(read_pairs((file,), problems, wanted))
    told = [f"{problem.line}: {problem.reason}" for problem in problems.first]
    return [(turns_of(pair.source), pair.target, pair.line) for pair in pairs], told


def test_every_turn_but_the_first_is_an_example(tmp_path: Path) -> None:
    found, told = read(written(tmp_path, "a.jsonl", {"turns": ["a", "b", "c"]}, {"turns": ["d", "e"]}))
    assert found == [(["a"], "b", 1), (["a", "b"], "c", 1), (["d"], "e", 2)]
    assert told == []


def test_what_one_speaker_says_without_a_break_is_one_turn(tmp_path: Path) -> None:
    said = [("ann", "a"), ("ann", "b"), ("bob", "c"), ("ann", "d")]
    spoken = {"messages": [{"role": who, "content": text} for who, text in said]}
    expected = [(["a b"], "c"), (["a b", "c"], "d")]
    assert [one[:2] for one in read(written(tmp_path, "a.jsonl", spoken))[0]] == expected
    rows = ["dialog_id\tspeaker\tutterance", *(f"7\t{who}\t{text}" for who, text in said)]
    found, _ = read(written(tmp_path, "a.tsv", *rows))
    assert found == [(["a b"], "c", 4), (["a b", "c"], "d", 5)]


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_rows_of_one_id_are_the_turns_of_a_conversation(tmp_path: Path, name: str) -> None:
    cut = "\t" if name.endswith("tsv") else ","
    rows = [["1", "a"], ["1", "b"], ["2", "c"], ["2", "d"], ["2", "e"]]
    found, told = read(written(tmp_path, name, *map(cut.join, rows)))
    assert found == [(["a"], "b", 2), (["c"], "d", 4), (["c", "d"], "e", 5)]
    assert told == []


def test_a_column_of_the_numbers_of_turns_is_not_what_was_said(tmp_path: Path) -> None:
    rows = ["conversation_id\tturn\tutterance", "7\t1\ta", "7\t2\tb"]
    assert read(written(tmp_path, "a.tsv", *rows))[0] == [(["a"], "b", 3)]
    spoken = {"turns": [{"turn": "1", "content": "a"}, {"turn": "2", "content": "b"}]}
    assert read(written(tmp_path, "a.jsonl", spoken))[0] == [(["a"], "b", 1)]
    assert read(written(tmp_path, "b.tsv", "id\tturn", "7\ta", "7\tb"))[0] == [(["a"], "b", 3)]


def test_bad_lines_are_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    long = "x" * (LONGEST_TURN + 1)
    file = written(
        tmp_path,
        "a.jsonl",
        {"turns": ["a", "b"]},
        {"turns": ["alone"]},
        {"turns": ["c", "d", " ", "e", "f"]},
        "{no json",
        {"turns": ["g", 7]},
        {"turns": "text"},
        {"other": []},
        {"turns": []},
        "[1]",
        {"turns": ["h", "i", long, "j"]},
        {"turns": ["k\u0001", "l"]},
        "",
    )
    found, told = read(file)
    assert [one[:2] for one in found] == [(["a"], "b"), (["c"], "d"), (["e"], "f"), (["h"], "i")]
    assert told == [
        f"2: {ONE_TURN}",
        f"3: {EMPTY_TURN}",
        "4: not valid JSON",
        "5: a turn that is no text: a turn is a text, or an object with text and speaker",
        "6: field 'turns' is no list of turns",
        "7: no field 'turns'",
        "8: a conversation without turns",
        "9: no JSON object",
        f"10: {LONG_TURN}",
        "11: holds a control character",
        "12: empty line",
    ]


def test_bad_rows_are_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    rows = ["id\ttext", "1\ta", "1\tb", "2\talone", "3\tc", "3\t ", "3\td", "3\te", "1\tback", "1\tagain", "x", "\tf"]
    found, told = read(written(tmp_path, "a.tsv", *rows, "4\tg", "4\th"))
    assert found == [(["a"], "b", 3), (["d"], "e", 8), (["g"], "h", 14)]
    assert sorted(told, key=lambda one: int(one.split(":")[0])) == [
        f"4: {ONE_TURN}",
        f"6: {EMPTY_TURN}",
        f"9: {COMES_BACK}",
        f"10: {COMES_BACK}",
        "11: too few columns",
        "12: no id of a conversation",
    ]


@pytest.mark.parametrize("bad", ["1\tno\tno", "\tno", b"1\tn\xf6", "no"])
def test_nothing_answers_what_stands_before_a_row_that_cannot_be_read(tmp_path: Path, bad: str | bytes) -> None:
    file = tmp_path / "a.tsv"
    lines = ["id\ttext", "1\ta", "1\tb", bad, "1\tc", "1\td", bad, "2\te", "2\tf"]
    file.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines))
    found, told = read(str(file))
    assert found == [(["a"], "b", 3), (["c"], "d", 6), (["e"], "f", 9)]
    assert [one.partition(":")[0] for one in told] == ["4", "7"]


def test_what_one_speaker_says_around_a_gap_is_not_joined(tmp_path: Path) -> None:
    rows = ["id\tspeaker\ttext", "1\tann\ta", "1\tbob\tb", "1\tbob\tno\tno", "1\tbob\tc", "1\tann\td"]
    found, _ = read(written(tmp_path, "a.tsv", *rows))
    assert found == [(["a"], "b", 3), (["c"], "d", 6)]


def test_turns_of_a_table_are_judged_when_they_are_joined(tmp_path: Path) -> None:
    """As those of JSON lines are: one speaker's words are one turn, which may be alone, or too long."""
    half = "x" * (LONGEST_TURN // 2 + 1)
    said = [
        ("1", "ann", "a"),
        ("1", "ann", "b"),
        ("2", "ann", half),
        ("2", "ann", half),
        ("2", "bob", "c"),
        ("2", "ann", "d"),
    ]
    rows = ["id\tspeaker\ttext", *map("\t".join, said)]
    found, told = read(written(tmp_path, "a.tsv", *rows))
    assert found == [(["c"], "d", 7)]
    assert told == [f"2: {ONE_TURN}", f"4: {LONG_TURN}"]
    spoken = [{"turns": [{"speaker": who, "text": text} for number, who, text in said if number == n]} for n in "12"]
    found, told = read(written(tmp_path, "a.jsonl", *spoken))
    assert ([one[:2] for one in found], told) == ([(["c"], "d")], [f"1: {ONE_TURN}", f"2: {LONG_TURN}"])


def test_a_history_has_an_end(tmp_path: Path) -> None:
    found, _ = read(written(tmp_path, "a.jsonl", {"turns": [str(n) for n in range(MOST_TURNS + 5)]}))
    history, turn, _ = found[-1]
    assert (len(history), history[-1], turn) == (MOST_TURNS, str(MOST_TURNS + 3), str(MOST_TURNS + 4))


@pytest.mark.parametrize(
    ("name", "lines", "sentence"),
    [
        ("a.txt", ["Hello there"], "holds no conversations: they are JSON lines with a list of turns each"),
        ("a.jsonl", [{"source": "a", "target": "b"}], "no list of turns in its first line; it has 'source', 'target'"),
        ("a.tsv", ["1\tx\ty\tz"], "has 4 columns ('1', 'x', 'y', 'z'). Say which hold the id of a conversation"),
        ("a.tsv", ["one"], "has one column: a conversation needs an id and a text"),
    ],
)
def test_files_of_no_conversations_are_refused(tmp_path: Path, name: str, lines: list[object], sentence: str) -> None:
    with pytest.raises(DataError) as told:
        conversation_layout(written(tmp_path, name, *lines), CONVERSATIONS)
    assert sentence in str(told.value)


def test_fields_are_those_that_were_asked_for(tmp_path: Path) -> None:
    file = written(tmp_path, "a.tsv", "n\twho\twhat\twhen", "1\tann\ta\t9", "1\tbob\tb\t9")
    layout = conversation_layout(file, Wanted(conversations=True, id="n", text="what", speaker="2"))
    assert str(layout) == "conversations in TSV, id = 'n', text = 'what', speaker = 'who'"
    with pytest.raises(DataError, match=r"has no field 'whta'. Did you mean 'what'"):
        conversation_layout(file, Wanted(conversations=True, id="n", text="whta"))
    file = written(tmp_path, "b.jsonl", {"talk": ["a", "b"]})
    assert [one[:2] for one in read(file, Wanted(conversations=True, turns="talk"))[0]] == [(["a"], "b")]
    with pytest.raises(DataError, match=r"has no field 'tlak'. Did you mean 'talk'"):
        conversation_layout(file, Wanted(conversations=True, turns="tlak"))


def test_a_conversation_is_held_out_whole(tmp_path: Path) -> None:
    file = written(tmp_path, "a.jsonl", *({"turns": [f"{n}", "b", "c", "d"]} for n in range(60)))
    data = Conversations(train=(file,), hold_out=0.3)
    found = {name: {pair.line for pair in read_split(data, name, Problems())} for name in ("train", "valid")}
    assert not found["train"] & found["valid"]
    assert len(found["train"]) + len(found["valid"]) == 60
    assert 8 <= len(found["valid"]) <= 28


def test_a_vocabulary_is_learned_from_each_turn_once(tmp_path: Path) -> None:
    data = Conversations(train=(written(tmp_path, "a.jsonl", {"turns": ["a", "b", "c"]}, {"turns": ["d", "e"]}),))
    pairs = list(read_split(data, "train", Problems()))

    def texts(*sides: str) -> list[str]:
        return [text for pair in pairs for text in new_texts(data, pair, sides)]

    assert texts("source", "target") == ["a", "b", "c", "d", "e"]
    assert (texts("source"), texts("target")) == (["a", "b", "d"], ["b", "c", "e"])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"source_field": "a"}, "set turns_field (JSON lines), or id_field and text_field (tables)"),
        ({"max_source_length": 50}, "how much is read of a conversation is set by conversation.length"),
        ({"filters": {"duplicates": "drop"}}, "would drop whole conversations for one turn"),
        ({"train": [["a.de", "a.en"]]}, "conversations stand in one file each"),
    ],
)
def test_settings_of_pairs_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError) as told:
        validate(Conversations, {"kind": "conversations", **settings})
    assert sentence in str(told.value)


def test_a_conversation_becomes_its_latest_turns_with_end_between_them() -> None:
    plain = train_tokenizer(Characters(), lambda: iter(["abcdefgh"]))
    [symbols] = plain.encode(["abcdefgh"])
    a, b, c, d, e, f, g, h = symbols

    def read(texts: list[str], **how: int) -> list[int]:
        return plain.of_conversations(Conversation(**how)).encode([as_text(texts)])[0]

    said = ["ab", "cde", "", "fgh"]
    assert read(said, turns=8) == [a, b, END, c, d, e, END, f, g, h]
    assert read(said, turns=2) == [c, d, e, END, f, g, h]
    assert read(said, turns=1) == [f, g, h]
    assert read(said, turns=8, turn_length=2) == [a, b, END, d, e, END, g, h]
    assert read(said, turns=8, turn_length=3, length=7) == [c, d, e, END, f, g, h]
    assert read(said, turns=8, turn_length=3, length=6) == [f, g, h]
    assert plain.of_conversations(Conversation()) is plain


def test_a_turn_longer_than_all_turns_is_refused() -> None:
    with pytest.raises(ConfigError, match="turn_length = 9 is more than length = 8"):
        validate(Conversation, {"turn_length": 9, "length": 8})


def test_turns_of_a_batch_are_rows_of_another() -> None:
    batch = collated([[5, 6, END, 7], [8], [9, END, 5, END, 6]])
    turns = batch.turns
    assert turns is not None
    assert turns.words.sum(1).tolist() == [3, 2, 2, 2, 2, 2]
    assert turns.turns.tolist() == [[True, True, False], [True, False, False], [True, True, True]]
    flat = batch.values.flatten()[turns.symbols].tolist()
    assert flat == [5, 6, END, 7, END, 8, END, 9, END, 5, END, 6, END]
    assert turns.places.tolist() == [0, 1, 2, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16]
    assert turns.slots.tolist() == [0, 1, 3, 6, 7, 8]
    assert collated([[5, 6], [7]]).turns is None


def test_a_turn_of_several_histories_is_read_once() -> None:
    batch = collated([[5, 6, END, 7], [7], [5, 6, END, 7, END, 8]])
    turns = batch.turns
    assert turns is not None
    assert turns.words.sum(1).tolist() == [3, 2, 2]
    assert turns.rows.tolist() == [0, 1, 1, 0, 1, 2]
    assert batch.values.flatten()[turns.first].tolist() == [5, 6, END, 7, END, 8, END]
    assert turns.homes.tolist() == [0, 1, 2, 3, 4, 6, 7]
    assert turns.places.tolist() == [0, 1, 2, 3, 4, 3, 4, 0, 1, 2, 3, 4, 6, 7]


def collated(rows: list[list[int]]):
    from dragoman.data.collate import collate_sources

    source = collate_sources(rows).sources["source"]
    assert (source.turns is None) == (turns_in(source.values.numpy(), source.mask.numpy()) is None)
    return source


def test_lines_to_answer_are_json_or_turns_with_tabs() -> None:
    assert turns_of(history_in('{"turns": ["a", "b"]}', "x:1")) == ["a", "b"]
    assert turns_of(history_in("a\tb", "x:1")) == ["a", "b"]
    with pytest.raises(DataError, match=r"x:3: not valid JSON. A conversation is written \{\"turns\""):
        history_in("{oops", "x:3")
    with pytest.raises(DataError, match="x:4: a turn that is no text"):
        history_in('{"turns": [1]}', "x:4")


def test_tables_to_answer_have_a_history_for_each_id(tmp_path: Path) -> None:
    file = written(tmp_path, "a.tsv", "id\ttext", "1\ta", "1\tb", "2\tc")
    assert [turns_of(one) for one in histories_of_table(file)] == [["a", "b"], ["c"]]
    with pytest.raises(DataError, match=r"a.tsv:3: too few columns. Mend the table"):
        list(histories_of_table(written(tmp_path, "a.tsv", "id\ttext", "1\ta", "b")))
    said = []
    with pytest.raises(DataError, match=r"a.tsv:4: too few columns. Mend the table"):
        said.extend(histories_of_table(written(tmp_path, "a.tsv", "id\ttext", "1\ta", "1\tb", "c", "1\td", "2\te")))
    assert not said  # b is not answered by d


def test_turns_to_answer_are_counted_when_they_are_joined(tmp_path: Path) -> None:
    rows = ["id\tspeaker\ttext", "1\tbob\twhy ?", *["1\tann\tso"] * (MOST_TURNS + 6)]
    [history] = histories_of_table(written(tmp_path, "a.tsv", *rows))
    assert turns_of(history) == ["why ?", " ".join(["so"] * (MOST_TURNS + 6))]


def test_an_empty_line_is_passed_over_and_an_id_that_comes_back_is_told(tmp_path: Path) -> None:
    file = written(tmp_path, "a.tsv", "1\ta", "", "1\tb", "", "2\tc")
    assert [turns_of(one) for one in histories_of_table(file)] == [["a", "b"], ["c"]]
    with pytest.raises(DataError, match=r"a.tsv:5: an id that comes back behind another conversation; rows of one"):
        list(histories_of_table(written(tmp_path, "a.tsv", "1\ta", "1\tb", "", "2\tc", "1\td")))


@pytest.mark.parametrize(
    ("name", "lines", "table"),
    [
        ("a.tsv", ["id\ttext", "1\ta", "2\tb"], True),
        ("a.tsv", ["1\ta", "1\tb", "2\tc"], True),
        ("a.tsv", ["Hi!\tHello.", "Who?\tMe.\tOh.", "Who?\tYou."], False),
        ("a.tsv", ["Hi!\tHello.", "Who?\tMe."], False),
        ("a.tsv", ["Hi!", "Who?"], False),
        ("a.csv", ["1,a", "2,b"], True),
        ("a.csv", ["1,a\tx", "1,b\ty"], True),
        ("a.csv", ["Hi!\tHello.", "Who?\tMe."], False),
    ],
)
def test_a_table_has_a_header_or_ids_that_come_again(
    tmp_path: Path, name: str, lines: list[object], table: bool
) -> None:
    assert is_table(written(tmp_path, name, *lines)) == table
