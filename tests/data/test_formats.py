"""Any plain file: its format is found out and said, and can be set."""

import gzip
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from dragoman.config import validate
from dragoman.data.readers.columns import Columns, recognized
from dragoman.data.readers.formats import Wanted, sniff
from dragoman.data.readers.jsonl import source_in
from dragoman.data.readers.lines import LONGEST_LINE
from dragoman.data.readers.pairs import Corpus, Pair, Pairs, Problems, files_in, parts_of, read_pairs
from dragoman.errors import ConfigError, DataError

TEXTS = [("ein Hund bellt", "a dog barks"), ("zwei Katzen", "two cats")]


def written(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def read(*corpora: Corpus, source: str = "", **wanted: Any) -> tuple[list[Pair], Problems]:
    problems = Problems()
    return list(read_pairs(corpora, problems, Wanted(source=tuple(source.split()), **wanted))), problems


def texts(*corpora: Corpus, **wanted: Any) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read(*corpora, **wanted)[0]]


def reasons(problems: Problems) -> list[tuple[int, str]]:
    return [(problem.line, problem.reason) for problem in problems.first]


CASES = {
    "a.tsv": ("{0[0]}\t{0[1]}\n{1[0]}\t{1[1]}\n", "TSV without header"),
    "headed.tsv": ("id\tSource\tTarget\n1\t{0[0]}\t{0[1]}\n2\t{1[0]}\t{1[1]}\n", "TSV with header, source = 'Source'"),
    "languages.tsv": ("de\ten\n{0[0]}\t{0[1]}\n{1[0]}\t{1[1]}\n", "TSV with header, source = 'de', target = 'en'"),
    "a.csv": ('{0[0]},{0[1]}\n"{1[0]}",{1[1]}\n', "CSV without header"),
    "headed.csv": ('n,de,en\n1,{0[0]},{0[1]}\n2,"{1[0]}",{1[1]}\n', "CSV with header, source = 'de', target = 'en'"),
    "semicolons.csv": ("src;tgt\n{0[0]};{0[1]}\n{1[0]};{1[1]}\n", "CSV between semicolons with header, source = 'src'"),
    "a.jsonl": (
        '{{"id": 1, "question": "{0[0]}", "answer": "{0[1]}", "more": [2]}}\n'
        '{{"answer": "{1[1]}", "question": "{1[0]}"}}\n',
        "JSON lines, source = 'question', target = 'answer'",
    ),
    "unnamed": ('{{"a": "{0[0]}", "b": "{0[1]}"}}\n{{"a": "{1[0]}", "b": "{1[1]}"}}', "JSON lines, source = 'a'"),
    "unnamed.txt": ("{0[0]}\t{0[1]}\n{1[0]}\t{1[1]}", "TSV without header"),
    "named.txt": ("source,target\n{0[0]},{0[1]}\n{1[0]},{1[1]}\n", "CSV with header, source = 'source'"),
}
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("name", CASES)
def test_a_format_is_found_out_and_said(tmp_path: Path, name: str, ending: str) -> None:
    template, said = CASES[name]
    file = written(tmp_path, name + ending, PACKED[ending](template.format(*TEXTS).encode()))
    assert texts(file) == TEXTS
    assert str(parts_of([file])[0]).startswith(f"{file}: {said}")


def test_two_plain_files_are_taken_as_parallel(tmp_path: Path) -> None:
    sides = [written(tmp_path, f"a.{n}", "".join(f"{pair[n]}\n" for pair in TEXTS)) for n in (0, 1)]
    assert texts(*sides) == texts((sides[0], sides[1])) == TEXTS
    assert str(parts_of(sides)[0]) == f"{sides[0]} and {sides[1]}: lines of plain text, in parallel"
    table = written(tmp_path, "b.tsv", "c\td\n")
    assert texts((sides[0], sides[1]), table) == [*TEXTS, ("c", "d")]
    with pytest.raises(DataError, match=r"a\.0 holds lines of plain text.*--source and --target; --on twice"):
        texts(sides[0])
    with pytest.raises(DataError, match=r"a\.0, .*a\.1 hold lines of plain text without tabs beside tables"):
        texts(table, *sides)
    with pytest.raises(DataError, match=r"1 source files and 2 target files do not belong together"):
        texts((sides[0], str(tmp_path / "a.*")))


def test_quotes_mean_nothing_in_a_tsv(tmp_path: Path) -> None:
    file = written(tmp_path, "a.tsv", 'say "no\t"yes" or\n"a\tb"\n5" pipe\t6"\n')
    assert texts(file) == [('say "no', '"yes" or'), ('"a', 'b"'), ('5" pipe', '6"')]


def test_a_quoted_field_may_span_lines(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", 'a,"b\r\nc, ""d"""\n\ne,f\n')
    pairs, problems = read(file)
    assert pairs == [Pair("a", 'b c, "d"', 1), Pair("e", "f", 4)]
    assert reasons(problems) == [(3, "empty line")]
    assert problems.lines == 4


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b'"never closed,b\n', "broken quotes"),
        (b'"closed" too early,b\n', "broken quotes"),
        (b"\xff,b\n", "not valid UTF-8"),
        (b'"over \n\xff lines",b\n', "broken quotes"),
        (b"a,\n", "empty target"),
        (b"a\n", "too few columns"),
        (b"a,b,c\n", "too many columns"),
    ],
)
def test_a_bad_record_costs_no_other(tmp_path: Path, bad: bytes, reason: str) -> None:
    file = written(tmp_path, "a.csv", b"one,1\ntwo,2\n" + bad + b"three,3\n" + b"four,4\n")
    pairs, problems = read(file)
    assert [pair.source for pair in pairs] == ["one", "two", "three", "four"]
    assert reasons(problems)[0] == (3, reason)


def test_a_field_of_csv_may_be_as_long_as_a_line(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "a," + "b" * (LONGEST_LINE - 2) + "\n")
    assert [len(pair.target) for pair in read(file)[0]] == [LONGEST_LINE - 2]


def test_bad_lines_of_json_are_located(tmp_path: Path) -> None:
    rows = [
        '{"source": "a", "target": "b"}',
        '["a", "b"]',
        '{"source": "a"}',
        '{"source": "a", "target": 3}',
        "{",
        '{"source": "a", "target": " "}',
        '{"source": "a", "target": "\\u0000"}',
        '{"source": "a", "target": "\\ud800"}',
        "[" * 100_000,
        "",
        '{"source": "c\\nd", "target": "e"}',
    ]
    pairs, problems = read(written(tmp_path, "a.jsonl", "\n".join(rows)))
    assert pairs == [Pair("a", "b", 1), Pair("c d", "e", 11)]
    assert [reason for _, reason in reasons(problems)] == [
        "no JSON object",
        "no field 'target'",
        "field 'target' is no text",
        "not valid JSON",
        "empty target",
        "holds a control character",
        "holds a control character",
        "not valid JSON",
        "empty line",
    ]


def test_fields_can_be_set(tmp_path: Path) -> None:
    table = written(tmp_path, "a.tsv", "id\tnl\ten\tfr\n1\tn\te\tf\n")
    assert texts(table, source="en", target="nl") == [("e", "n")]
    rest = written(tmp_path, "b.tsv", "1\tn\te\n2\tm\td\n3\to\n")
    pairs, problems = read(rest, source="3", target="2")
    assert [(pair.source, pair.target) for pair in pairs] == [("e", "n"), ("d", "m")]
    assert reasons(problems) == [(3, "too few columns")]
    assert texts(written(tmp_path, "c.tsv", "a\tb\n"), source="2", target="1") == [("b", "a")]
    objects = written(tmp_path, "a.jsonl", '{"id": "1", "x": "a", "y": "b"}\n')
    assert texts(objects, source="y", target="x") == [("b", "a")]
    csv_named_otherwise = written(tmp_path, "d.txt", 'a,"b"\n')
    assert texts(csv_named_otherwise, format="csv") == [("a", "b")]


def test_what_is_not_clear_is_asked_in_a_sentence(tmp_path: Path) -> None:
    three = written(tmp_path, "a.tsv", "1\tn\te\n2\tm\td\n")
    with pytest.raises(DataError, match=r"has 3 columns \('1', 'n', 'e'\)\. Say which .*data\.source_field"):
        texts(three)
    with pytest.raises(DataError, match=r"has 3 columns: a field must be 1 to 3"):
        texts(three, source="1", target="4")
    headed = written(tmp_path, "b.csv", "english,dutch\na dog,een hond\n")
    with pytest.raises(DataError, match=r"has no field 'duch'\. Did you mean 'dutch'\? It has 'english', 'dutch'\."):
        texts(headed, source="english", target="duch")
    with pytest.raises(DataError, match=r"no two fields of text in its first line; it has 'a', 'b\.c'\."):
        texts(written(tmp_path, "a.jsonl", '{"a": "x", "b": {"c": "y"}}\n'))


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match=r"pipe is a pipe, which can be read once only\. Pipe into the command"):
        texts(str(tmp_path / "pipe"))


def test_some_lines_with_more_columns_are_bad_lines(tmp_path: Path) -> None:
    pairs, problems = read(written(tmp_path, "a.tsv", "a\tb\nc\td\te\nf\tg\n"))
    assert len(pairs) == 2
    assert reasons(problems) == [(2, "more than two columns")]


def test_words_are_no_header(tmp_path: Path) -> None:
    """Two short words that happen to be codes of languages, above other words."""
    assert len(texts(written(tmp_path, "a.tsv", "is\tno\nab\tba\n"))) == 2


def test_patterns_and_many_files_count_lines_on(tmp_path: Path) -> None:
    for name, line in (("b", "3\t3"), ("a", "1\t1\n2\t2"), ("c", "bad")):
        written(tmp_path, f"{name}.tsv", line + "\n")
    last = written(tmp_path, "z.tsv", "4\t4\n")
    pairs, problems = read(str(tmp_path / "[abc].tsv"), last)
    assert [(pair.source, pair.line) for pair in pairs] == [("1", 1), ("2", 2), ("3", 3), ("4", 5)]
    assert [(Path(start.file).name, start.before, start.corpus) for start in problems.files] == [
        ("a.tsv", 0, 0),
        ("b.tsv", 2, 0),
        ("c.tsv", 3, 0),
        ("z.tsv", 4, 1),
    ]
    assert str(problems.first[0]) == f"{tmp_path / 'c.tsv'}:1: no tab"
    assert len(files_in([str(tmp_path / "*.tsv")])) == 4
    with pytest.raises(DataError, match=r"No file matches .*\*\.csv\. Its folder is"):
        texts(str(tmp_path / "*.csv"))
    odd = written(tmp_path, "[x].tsv", "a\tb\n")
    assert texts(odd) == [("a", "b")]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("kept", [0.7, 0.95])
def test_a_file_cut_short_names_its_last_good_line(tmp_path: Path, ending: str, kept: float) -> None:
    content = b"".join(b"%d %d\t%d\n" % (n, n * 7919 % 1000, n) for n in range(20_000))
    packed = PACKED[ending](content)
    file = written(tmp_path, f"a.tsv{ending}", packed[: int(len(packed) * kept)])
    problems = Problems()
    with pytest.raises(DataError, match=r"is damaged: it ends too early; its last good line is") as caught:
        list(read_pairs([file], problems))
    assert f"line is {problems.lines:,}. Fetch" in str(caught.value)
    assert 0 < problems.lines < 20_000


@pytest.mark.parametrize("start", [b"\x1f\x8b", b"\x28\xb5\x2f\xfd"])
def test_nonsense_in_a_compressed_file_is_said(tmp_path: Path, start: bytes) -> None:
    with pytest.raises(DataError, match=r"is damaged: it cannot be read; not one line can be read\. Fetch"):
        sniff(written(tmp_path, "a.tsv", start + b"\xff" * 50), Wanted())


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_bomb_does_not_fill_the_memory(tmp_path: Path, ending: str) -> None:
    import tracemalloc

    packed = PACKED[ending](b"b" * 60_000_000 + b"\nc\td\n")
    file = written(tmp_path, f"a.tsv{ending}", packed)
    tracemalloc.start()
    pairs, problems = read(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pairs == [Pair("c", "d", 2)]
    assert problems.count == 1
    assert peak < 25_000_000


def test_frames_of_zstd_follow_one_another(tmp_path: Path) -> None:
    pack = zstandard.ZstdCompressor().compress
    assert texts(written(tmp_path, "a.tsv.zst", pack(b"a\tb\nc\t") + pack(b"d\n"))) == [("a", "b"), ("c", "d")]


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, "a.tsv.zst", zstandard.ZstdCompressor().compress(b"a\tb\n"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(DataError, match=r"a\.tsv\.zst is compressed with zstd.*pip install 'dragoman\[zstd\]'"):
        texts(file)


def test_alignment_is_lost_where_the_lengths_cease_to_match(tmp_path: Path) -> None:
    lines = [json.dumps("x" * (3 + number * number % 37)) for number in range(60)]
    source = written(tmp_path, "a.de", "\n".join(lines))
    for shorter in (lines[:30] + lines[31:], lines[:30] + lines[32:]):
        target = written(tmp_path, "a.en", "\n".join(shorter))
        with pytest.raises(DataError, match=r"has 60 lines .* They probably part at line 31, where the lengths"):
            texts((source, target))
        with pytest.raises(DataError, match=r"They probably part at line 31, where the lengths"):
            texts((target, source))


def many(separator: str, first: str = "", count: int = 20) -> str:
    return first + "".join(f"a dog {n}{separator}een hond {n}\n" for n in range(count))


@pytest.mark.parametrize(
    ("name", "content", "said", "pairs"),
    [
        ("a.csv", many(",", "english,dutch\n"), "CSV with header, source = 'english', target = 'dutch'", 20),
        ("a.csv", many(",", "English,Dutch\n", 2), "CSV with header, source = 'English', target = 'Dutch'", 2),
        ("a.tsv", many("\t", "utterance\tparse_tree\n"), "TSV with header, source = 'utterance'", 20),
        ("a.tsv", many("\t", "Hello\tHallo\n") + "Yes\tJa\n", "TSV without header", 22),
        ("a.tsv", many("\t", "Go.\tGa!\n"), "TSV without header", 21),
        ("a.tsv", many("\t", "hello\thallo\n", 3), "TSV without header", 4),
        ("g2p.tsv", "dog\tD\n" + "".join(f"cat{n}\tK A T\n" for n in range(20)), "TSV without header", 21),
        ("reverse.tsv", "".join(f"abc{n}\t{n}cba\n" for n in range(20)), "TSV without header", 20),
        ("a.csv", 'source, target\n"the, source", "the, target"\n', "CSV with header, source = 'source'", 1),
        ("a.csv", "".join(f"Hello, you {n};Hallo, jij {n}\n" for n in range(9)), "CSV between semicolons without", 9),
        ("a.csv", "instruction,input,output\nwrite it,,done now\n", "CSV with header, source = 'instruction'", 1),
        ("a.csv", "source,target\n" + "a dog,\n" * 5 + "b,c\n", "CSV with header, source = 'source'", 1),
        ("a.jsonl", '{"instruction": "a", "input": "", "output": "b"}\n', "JSON lines, source = 'instruction'", 1),
        ("a.jsonl", '{"instruction": "a", "input": "x", "output": "b"}\n', "JSON lines, source = 'input'", 1),
    ],
)
def test_headers_and_columns(tmp_path: Path, name: str, content: str, said: str, pairs: int) -> None:
    file = written(tmp_path, name, content)
    assert str(parts_of([file])[0]).startswith(f"{file}: {said}")
    assert len(texts(file)) == pairs


def test_spaces_behind_a_comma_belong_to_no_cell(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", 'source, target\n"the, source 0", "the, target 0"\n')
    assert texts(file) == [("the, source 0", "the, target 0")]


def test_a_header_as_wide_as_its_rows(tmp_path: Path) -> None:
    of_r = written(tmp_path, "r.csv", '"source","target"\n"1","a","b"\n"2","c","d"\n')
    with pytest.raises(DataError, match=r"r\.csv has a header of 2 cells above rows of 3\. .*row\.names=FALSE"):
        texts(of_r)


def test_both_sides_may_be_one_column(tmp_path: Path) -> None:
    assert texts(written(tmp_path, "a.tsv", "a\tb\n"), source="1", target="1") == [("a", "a")]


def test_fields_inside_fields(tmp_path: Path) -> None:
    line = '{"id": "1", "translation": {"en": "a dog", "nl": "een hond"}, "a.b": "c"}\n'
    file = written(tmp_path, "a.jsonl", line + '{"translation": {"en": "b"}}\n{"translation": "x"}\n')
    pairs, problems = read(file, source="translation.en", target="translation.nl")
    assert pairs == [Pair("a dog", "een hond", 1)]
    assert [reason for _, reason in reasons(problems)] == ["no field 'translation.nl'", "no field 'translation.en'"]
    assert texts(file, source="a.b", target="id") == [("c", "1")]
    with pytest.raises(DataError, match=r"has no field 'translation\.de'.* It has 'id', 'translation\.en', 'tr"):
        texts(file, source="translation.de")
    deep = written(tmp_path, "deep.jsonl", '{"a": ' * 900 + "1" + "}" * 900 + "\n")
    with pytest.raises(DataError, match=r"no two fields of text in its first line; it has 'a\.a\.a"):
        texts(deep)


@pytest.mark.parametrize("content", ['[{"source": "a", "target": "b"}]', '[\n{"source": "a", "target": "b"}\n]\n'])
def test_an_array_is_no_json_lines(tmp_path: Path, content: str) -> None:
    with pytest.raises(
        DataError, match=r"a\.json is a JSON array, not JSON lines.*jq -c '\.\[\]' .*a\.json > a\.jsonl"
    ):
        texts(written(tmp_path, "a.json", content))


@pytest.mark.parametrize("name", ["a.csv", "a.txt"])
@pytest.mark.parametrize("first", ["a\rb,c", "x" * 200_000 + ",y"])
def test_a_first_line_that_csv_does_not_take(tmp_path: Path, name: str, first: str) -> None:
    file = written(tmp_path, name, f"{first}\none,two\n")
    if name == "a.txt":
        with pytest.raises(DataError, match="lines of plain text"):
            texts(file)
    else:
        pairs, problems = read(file)
        assert ("one", "two") in [(pair.source, pair.target) for pair in pairs]
        assert reasons(problems) == ([(1, "broken quotes")] if "\r" in first else [])


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_is_said(tmp_path: Path, encoding: str) -> None:
    file = written(tmp_path, "a.txt", "fünf\tvijf\nföur\tvier\n".encode(encoding))
    with pytest.raises(DataError, match=r"a\.txt:1: not valid UTF-8, and none of the .* iconv -f UTF-16 -t UTF-8"):
        texts(file)


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.tsv"
    Path(os.fsdecode(name)).write_text("a\tb\n")
    for given in (os.fsdecode(name), str(tmp_path / "*.tsv")):
        with pytest.raises(
            DataError, match=r"The name of the file .*udcff\.tsv is not valid UTF-8\. Rename the file\."
        ):
            texts(given)


def test_a_number_is_a_place_even_if_a_cell_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "three.tsv"
    path.write_text("bess\tA B\t1\npash\tC D\t1\n")
    pairs = list(read_pairs((str(path),), Problems(), Wanted("auto", ("1",), "2")))
    assert [(pair.source, pair.target) for pair in pairs] == [("bess", "A B"), ("pash", "C D")]
    with pytest.raises(DataError, match="has 3 columns: a field must be 1 to 3, not 4"):
        list(read_pairs((str(path),), Problems(), Wanted("auto", ("4",), "1")))


INFLECTED = "laufen\tlief\tV;PST;3;SG\ngehen\tging\tV;PST;1;SG\nHund\tHunde\tN;NOM;PL\n"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.tsv", INFLECTED, "lemma, form and features (source = column 1 and 3, target = column 2)"),
        (
            "b.tsv",
            "".join(f"{a}\t{c}\t{b}\n" for a, b, c in (line.split("\t") for line in INFLECTED.splitlines())),
            "lemma, features and form (source = column 1 and 2, target = column 3)",
        ),
        ("c.tsv", f"lemma\tform\tfeatures\n{INFLECTED}", "source = 'lemma' and 'features', target = 'form'"),
        (
            "d.jsonl",
            "".join(
                json.dumps({"form": b, "lemma": a, "tags": c}) + "\n"
                for a, b, c in (line.split("\t") for line in INFLECTED.splitlines())
            ),
            "source = 'lemma' and 'tags', target = 'form'",
        ),
    ],
)
def test_inflected_forms_are_recognized(tmp_path: Path, name: str, content: str, said: str) -> None:
    file = written(tmp_path, name, content)
    assert said in str(sniff(file, Wanted()))
    expected = [("laufen\tV;PST;3;SG", "lief"), ("gehen\tV;PST;1;SG", "ging"), ("Hund\tN;NOM;PL", "Hunde")]
    assert texts(file) == expected


@pytest.mark.parametrize("third", ["12\n", "3.5\n", "CC-BY 2.0 (France) Attribution: tatoeba.org #1\n"])
def test_a_third_column_that_is_no_text_is_left_out(tmp_path: Path, third: str) -> None:
    file = written(tmp_path, "a.tsv", f"Go.\tVa !\t{third}Hi.\tSalut !\t{third}")
    assert texts(file) == [("Go.", "Va !"), ("Hi.", "Salut !")]
    assert "and is left out" in str(sniff(file, Wanted()))


def test_three_columns_of_text_are_not_guessed(tmp_path: Path) -> None:
    prose = "Go; run\tVa; cours\tGeh; lauf\nHi\tSalut\tHallo\n"
    with pytest.raises(DataError, match=r"has 3 columns .* data\.source_field=\[1,3\]"):
        texts(written(tmp_path, "a.tsv", prose))


def test_several_columns_are_joined_by_tabs(tmp_path: Path) -> None:
    tsv = written(tmp_path, "a.tsv", "a\tx\t1\nb\ty\t\n")
    pairs, problems = read(tsv, source="3 1", target="2")
    assert [(pair.source, pair.target) for pair in pairs] == [("1\ta", "x")]
    assert reasons(problems) == [(2, "empty source")]
    lines = written(tmp_path, "a.jsonl", '{"p": {"q": "one\\ttwo"}, "r": "x", "s": "y"}\n')
    assert texts(lines, source="p.q s", target="r") == [("one two\ty", "x")]
    csv = written(tmp_path, "a.csv", "u,v,w\n1,2,3\n")
    assert texts(csv, source="w u", target="v") == [("3\t1", "2")]


def test_known_columns_hold_for_the_files_that_have_them(tmp_path: Path) -> None:
    known = Wanted.from_json(Wanted(source=("u", "w"), target="v").as_json())
    assert sniff(written(tmp_path, "a.csv", "w,v,u\n1,2,3\n"), known).source == (2, 0)
    assert sniff(written(tmp_path, "b.tsv", INFLECTED), known).source == (0, 2)


def test_a_source_of_several_columns_on_a_line() -> None:
    assert source_in("laufen\tV;PST", ("1", "3"), "here") == "laufen\tV;PST"
    assert source_in('{"form": "?", "tags": "V;PST", "lemma": "laufen"}', ("lemma", "tags"), "here") == "laufen\tV;PST"
    assert source_in("", ("1", "3"), "here") == ""
    with pytest.raises(DataError, match=r"here has 3 columns, and this model reads 2: 1<TAB>3\..*cut -f1,3"):
        source_in("a\tb\tc", ("1", "3"), "here")
    with pytest.raises(DataError, match=r"here: no field 'tags'\. This model reads the fields lemma, tags\."):
        source_in('{"lemma": "laufen"}', ("lemma", "tags"), "here")


@pytest.mark.parametrize("given", [[], ["a", "a"], ["a", ""]])
def test_source_columns_are_different(given: list[str]) -> None:
    with pytest.raises(ConfigError, match="must be one column, or different ones"):
        validate(Pairs, {"source_field": given})


def test_a_text_that_begins_with_a_number_is_text() -> None:
    assert recognized([["a", "b", "2"], ["c", "d", "3.5"]]) == Columns((0,), 1)
    assert recognized([["a", "b", "2 dogs"], ["c", "d", "3 cats"]]) is None
