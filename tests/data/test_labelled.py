"""Texts with labels and words with tags: what is read, what is refused, how they are encoded."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.data.labelled import LabelEncoding, shortened, words_of
from dragoman.data.labelling import Labelling, learn_labelling, usable
from dragoman.data.readers.example import Example
from dragoman.data.readers.labelled import Labelled, columns_of, read_labelled
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.tagged import Tagged, read_tagged
from dragoman.data.tokenizers import Characters, Words, train_tokenizer
from dragoman.errors import ConfigError, DataError, StorageError


def file_of(folder: Path, text: str, name: str = "data.tsv") -> str:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


def labelled(file: str, two: bool = False, **settings: Any) -> tuple[list[tuple[Any, ...]], Problems]:
    problems = Problems()
    found = read_labelled(Labelled(**settings), [file], two, problems)
    return [(*one.texts, *one.labels, one.line) for one in found], problems


def tagged(file: str, **settings: Any) -> tuple[list[tuple[str, str, int]], Problems]:
    problems = Problems()
    found = read_tagged(Tagged(**settings), [file], problems)
    return [(" ".join(one.texts), " ".join(one.labels), one.line) for one in found], problems


@pytest.mark.parametrize(
    ("name", "text", "settings"),
    [
        ("a.tsv", "sentence\tlabel\nfine film\tpos\n\tneg\n", {}),
        ("a.tsv.gz", "sentence\tlabel\nfine film\tpos\n\tneg\n", {}),
        ("a.tsv", "id\tlabel\ttext\n7\tpos\tfine film\n8\tneg\t\n", {}),
        ("a.tsv", "fine film\tpos\n\tneg\n", {}),
        ("a.csv", 'Label,Text\npos,"fine film"\nneg," "\n', {}),
        ("a.csv", "x,what,y\npos,fine film,1\nneg,,1\n", {"text_field": "what", "label_field": "x"}),
        ("a.tsv", "1\tfine film\tpos\n2\t\tneg\n", {"text_field": 2, "label_field": 3}),
        ("a.jsonl", '{"text": "fine film", "label": "pos"}\n{"text": "", "label": "neg"}\n', {}),
        ("a.jsonl", '{"d": {"t": "fine film"}, "l": "pos"}\n{"d": {"t": " "}, "l": "x"}\n',
         {"text_field": "d.t", "label_field": "l"}),
    ],
)  # fmt: skip
def test_tables_with_named_columns(tmp_path: Path, name: str, text: str, settings: dict[str, Any]) -> None:
    found, problems = labelled(file_of(tmp_path, text, name), **settings)
    assert [one[:2] for one in found] == [("fine film", "pos")]
    assert [str(one).rpartition("/")[2] for one in problems.first] == [f"{name}:{problems.lines}: empty sentence"]


def test_labels_of_json_may_be_numbers(tmp_path: Path) -> None:
    values = [("a", 1), ("b", 2.5), ("c", True), (4, 1)]
    lines = [json.dumps({"text": text, "label": label}) for text, label in values]
    found, problems = labelled(file_of(tmp_path, "\n".join(lines), "a.jsonl"))
    assert [one[1] for one in found] == ["1", "2.5", "true"]
    assert problems.first[0].reason == "field 'text' is no text"


def test_two_texts(tmp_path: Path) -> None:
    file = file_of(tmp_path, "index\tsentence1\tsentence2\tlabel\n0\ta b\tc\tno\n1\ta\t \tyes\n")
    found, problems = labelled(file, two=True)
    assert found == [("a b", "c", "no", 2)]
    assert problems.first[0].reason == "empty sentence"
    assert str(columns_of(file, Labelled(), two=True)) == (
        "TSV with header, first = 'sentence1', second = 'sentence2', label = 'label'"
    )
    plain = file_of(tmp_path, "A plane.,An air plane.,5.0\n", "a.csv")
    assert labelled(plain, two=True)[0] == [("A plane.", "An air plane.", "5.0", 1)]


@pytest.mark.parametrize(
    ("text", "two", "settings", "sentence"),
    [
        ("sentence\tlabel\na\tb\n", False, {"label_field": "lable"},
         "has no field 'lable'. Did you mean 'label'. It has 'sentence', 'label'"),
        ("sentence1\tsentence2\tlabel\na\tb\tc\n", False, {}, "Set model.sentences=two, or data.text_field=sentence1"),
        ("a\tb\tc\td\n", False, {}, "It is not clear which columns of .* hold text and label; it has 'a', 'b'"),
        ("sentence\tlabel\na\tb\n", True, {}, "hold texts and label.*data.second_field=2 data.label_field=3"),
        ("a\tb\n", False, {"text_field": 1, "label_field": 5}, "has 2 columns: a field must be 1 to 2, not 5"),
        ("just a text\n", False, {}, "without tabs, so that there is no label"),
        ("", False, {}, "is empty. Give a file with at least one example"),
    ],
)  # fmt: skip
def test_columns_that_are_not_there(
    tmp_path: Path, text: str, two: bool, settings: dict[str, Any], sentence: str
) -> None:
    name = "a.txt" if "just" in text else "a.tsv"
    with pytest.raises(DataError, match=sentence):
        labelled(file_of(tmp_path, text, name), two, **settings)


def test_a_missing_field_of_json_is_named(tmp_path: Path) -> None:
    file = file_of(tmp_path, '{"text": "a", "label": "b"}\n{"text": "a"}\n', "a.jsonl")
    assert labelled(file)[1].first[0].reason == "no field 'label'"
    with pytest.raises(DataError, match=r"has no field 'txt'. Did you mean 'text'"):
        labelled(file, text_field="txt")


CONLL = "# a comment\nthe\tDET\tx\ndog\tNOUN\tx\n\n\n#\tSYM\tx\n"


@pytest.mark.parametrize("name", ["a.conll", "a.conll.gz", "a.tsv"])
def test_columns_of_conll(tmp_path: Path, name: str) -> None:
    found, problems = tagged(file_of(tmp_path, CONLL, name))
    assert found == [("the dog", "DET NOUN", 2), ("#", "SYM", 6)]
    assert problems.count == 0
    assert tagged(file_of(tmp_path, CONLL, name), word_column=2, tag_column=1)[0][0][:2] == ("DET NOUN", "the dog")


def test_columns_between_spaces(tmp_path: Path) -> None:
    file = file_of(tmp_path, "EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n# SYM O O", "a.conll")
    assert tagged(file, tag_column=4)[0] == [("EU rejects", "B-ORG O", 1), ("#", "O", 4)]


def test_a_word_without_a_tag_costs_its_sentence(tmp_path: Path) -> None:
    found, problems = tagged(file_of(tmp_path, "the\tDET\ndog\n\na\tDET\n\tNOUN\n\ncat\tNOUN\n", "a.conll"))
    assert found == [("cat", "NOUN", 7)]
    assert [(one.line, one.reason) for one in problems.first] == [(2, "a word without a tag"), (5, "no word")]


def test_lists_of_words_and_tags(tmp_path: Path) -> None:
    lines = [
        '{"words": ["a", "b"], "tags": ["D", "N"]}',
        '{"words": ["a", "b"], "tags": ["D"]}',
        '{"words": [], "tags": []}',
        '{"words": "a", "tags": ["D"]}',
        "[1]",
    ]
    found, problems = tagged(file_of(tmp_path, "\n".join(lines), "a.jsonl"))
    assert found == [("a b", "D N", 1)]
    reasons = ["2 words and 1 tags", "empty sentence", "field 'words' is no list of texts", "no JSON object"]
    assert [one.reason for one in problems.first] == reasons


def test_a_column_that_no_line_has(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has 3 columns, and data.tag_column = 4"):
        tagged(file_of(tmp_path, CONLL, "a.conll"), tag_column=4)


def examples(*labels: str) -> list[Example]:
    return [Example(("text",), (label,), line) for line, label in enumerate(labels, start=1)]


def test_labels_are_learned_and_kept(tmp_path: Path) -> None:
    found = learn_labelling("labels", iter(examples("b", "a", "b")), {"label_field": "x"})
    assert (found.names, found.size, found.numbers) == (("a", "b"), 2, {"a": 0, "b": 1})
    found.write(tmp_path / "labels.json")
    again = Labelling.load(tmp_path / "labels.json")
    assert (again, again.hash) == (found, found.hash)
    text = (tmp_path / "labels.json").read_text()
    (tmp_path / "labels.json").write_text(text.replace('"a"', '"c"'))
    with pytest.raises(StorageError, match="damaged: it has changed"):
        Labelling.load(tmp_path / "labels.json")


def test_numbers_are_scaled() -> None:
    """Mean 4, standard deviation 2."""
    found = learn_labelling("numbers", iter(examples("2", "6", "nonsense", "2", "6")), {})
    assert (found.mean, found.deviation, found.size) == (4.0, 2.0, 1)
    assert (found.scaled(6.0), found.unscaled(-1.0)) == (1.0, 2.0)


def test_labels_that_are_none() -> None:
    with pytest.raises(DataError, match="All 2 training examples have the label 'a'"):
        learn_labelling("labels", iter(examples("a", "a")), {})
    with pytest.raises(DataError, match=r"There are 300 different labels.*set model.head.kind=number"):
        learn_labelling("labels", iter(examples(*map(str, range(300)))), {})


@pytest.mark.parametrize(
    ("labelling", "label", "reason"),
    [
        (Labelling("labels", ("a", "b")), "c", "the label 'c' does not occur in the training data"),
        (Labelling("tags", ("a", "b")), "c", "the tag 'c' does not occur in the training data"),
        (Labelling("numbers"), "many", "'many' is no number"),
        (Labelling("numbers"), "nan", "'nan' is no number"),
        (Labelling("numbers"), "inf", "'inf' is no number"),
    ],
)
def test_what_cannot_be_learned_is_counted_and_located(labelling: Labelling, label: str, reason: str) -> None:
    problems = Problems()
    problems.begin("one.tsv", 0)
    problems.lines = 1
    problems.begin("two.tsv", 0)
    good = "1" if labelling.what == "numbers" else "a"
    kept = list(usable(iter(examples(good, good, label)), labelling, problems))
    assert [one.line for one in kept] == [1, 2]
    assert [str(one) for one in problems.first] == [f"two.tsv:2: {reason}"]


def test_spans_are_recognised() -> None:
    assert Labelling("tags", ("B-x", "I-x", "O")).has_spans
    assert not Labelling("tags", ("NOUN", "O")).has_spans
    assert not Labelling("tags", ("O",)).has_spans


@pytest.mark.parametrize(
    ("row", "longest", "expected"),
    [
        ([4, 5, 6], 2, [4, 5]),
        ([4, 5, 6], 3, [4, 5, 6]),
        ([4, 5, 6, 7, 3, 8], 4, [4, 5, 3, 8]),  # the longer one is cut first
        ([4, 3, 5, 6, 7, 8], 4, [4, 3, 5, 6]),
        ([4, 4, 4, 4, 3, 5, 5, 5], 5, [4, 4, 3, 5, 5]),
        ([4, 4, 4, 4, 3, 5, 5, 5], 4, [4, 4, 3, 5]),
    ],
)
def test_long_texts_are_cut(row: list[int], longest: int, expected: list[int]) -> None:
    assert shortened(row, longest) == expected


def test_a_tag_belongs_to_the_first_piece_of_its_word() -> None:
    tokenizer = train_tokenizer(Characters(), lambda: iter(["abc"]))
    pieces, starts = words_of(tokenizer, [["ab", "c"], ["cab"]])
    assert (starts, [len(row) for row in pieces]) == ([[0, 2], [0]], [3, 3])
    encoding = LabelEncoding(tokenizer, Labelling("tags", ("D", "N")), 9, drop=True)
    chunk = encoding.encode([Example(("ab", "c"), ("N", "D"), 1)])
    assert chunk.target.tolist() == [2, 0, 1]
    assert encoding.counts(Problems()).target_tokens == 2


def test_long_sentences_are_dropped_or_cut() -> None:
    tokenizer = train_tokenizer(Words(), lambda: iter(["a b c"]))
    texts = [Example(("a b c",), ("y",), 1), Example(("a",), ("x",), 2)]
    dropping = LabelEncoding(tokenizer, Labelling("labels", ("x", "y")), 2, drop=True)
    assert (dropping.encode(texts).lines.tolist(), dropping.dropped) == ([2], 1)
    cutting = LabelEncoding(tokenizer, Labelling("labels", ("x", "y")), 2, drop=False)
    chunk = cutting.encode(texts)
    assert (chunk.source_lengths.tolist(), chunk.target.tolist(), cutting.truncated) == ([2, 1], [1, 0], 1)


def test_numbers_survive_the_store() -> None:
    tokenizer = train_tokenizer(Words(), lambda: iter(["a"]))
    encoding = LabelEncoding(tokenizer, Labelling("numbers", mean=1.0, deviation=2.0), 9, drop=False)
    chunk = encoding.encode([Example(("a",), ("-4.5",), 1)])
    assert chunk.target.astype(np.uint32).view(np.float32).tolist() == [-2.75]


def test_files_are_files() -> None:
    with pytest.raises(ValueError, match="must be files"):
        Labelled(train=[["a", "b"]])
    assert Labelled(train="a.tsv").files("train") == ("a.tsv",)


def test_settings_of_a_file_are_settings() -> None:
    from dragoman.config import Document, validate

    with pytest.raises(ConfigError, match="label_field"):
        validate(Labelled, {"label_feild": "x"}, Document({}, "data"))
