"""dragoman tokenizer: train, encode and decode, from files and pipes."""

import json
from pathlib import Path

import pytest

from command_line import CommandLine
from dragoman.data.tokenizers import Characters, Tokenizer, train_tokenizer
from tiny import Corpus, run_all, tiny

LINES = "der Hund sieht den Hund\n\n  fünf Straßen ▁ 🦊\n" * 3


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "lines.txt"
    path.write_text(LINES)
    return path


@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters"])
def test_what_is_encoded_is_decoded(dragoman: CommandLine, text: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "tokenizer.json"
    done = dragoman("tokenizer", "train", text, "--kind", kind, "--size", 300, "--out", out, "normalisation=none")
    assert (done.code, done.out) == (0, "")
    assert f"{out}: {kind}, " in done.err
    pieces = dragoman("tokenizer", "encode", out, text)
    assert pieces.out.count("\n") == LINES.count("\n")
    assert dragoman("tokenizer", "decode", out, stdin=pieces.out).out == LINES
    numbers = dragoman("tokenizer", "encode", out, "--ids", stdin=LINES)
    assert set(numbers.out) <= set("0123456789 \n")
    assert dragoman("tokenizer", "decode", out, "--ids", stdin=numbers.out).out == LINES


def test_training_from_standard_input_is_training_from_a_file(
    dragoman: CommandLine, text: Path, tmp_path: Path
) -> None:
    """Also when there are more lines than the sample, so that they are read twice."""
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    settings = ("--kind", "words", "sample=2", "lowercase=true")
    told = json.loads(dragoman("tokenizer", "train", text, "--out", first, "--json", *settings).out)
    dragoman("tokenizer", "train", "-", "--out", second, *settings, stdin=LINES)
    assert first.read_bytes() == second.read_bytes()
    found = Tokenizer.load(first)
    assert told == {"tokenizer": str(first), "kind": "words", "size": found.size, "hash": found.hash}
    assert found.normaliser.lowercase


def test_sampling_is_a_function_of_the_seed(dragoman: CommandLine, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "tokenizer.json"
    dragoman("tokenizer", "train", text, "--size", 300, "--out", out)
    spelled = [dragoman("tokenizer", "encode", out, text, "--sampling", 0.5, "--seed", seed).out for seed in (1, 1, 2)]
    assert spelled[0] == spelled[1] != spelled[2]
    assert dragoman("tokenizer", "decode", out, stdin=spelled[0]).out == LINES
    (record, *_) = dragoman("tokenizer", "encode", out, text, "--json").out.splitlines()
    assert json.loads(record).keys() == {"text", "symbols", "ids"}


def test_the_tokenizers_of_a_run(dragoman: CommandLine, corpus: Corpus, out: Path) -> None:
    run_all(tiny(corpus, training__steps=1), out)
    assert dragoman("tokenizer", "encode", out, stdin="ab\n").out == "a b\n"
    assert dragoman("tokenizer", "encode", out / "model", "--side", "target", stdin="a b\n").out == "a b\n"
    assert dragoman("tokenizer", "decode", out, "--side", "target", stdin="a b\n").out == "a b\n"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("train",), 2, "There is nothing to learn from: name a file of text lines, or - for standard input."),
        (("train", "none.txt"), 3, "There is no file none.txt."),
        (("train", "-", "--kind", "bpee"), 2, "No tokenizer is called 'bpee'. Did you mean 'bpe'?"),
        (("train", "-", "--size", "9"), 2, "tokenizer.size must be at least 260, not 9"),
        (("train", "-", "sise=900"), 2, "No setting is called 'tokenizer.sise'. Did you mean 'size'?"),
        (("train", "--kind", "file", "path=none.json"), 2, "Cannot read none.json: No such file or directory."),
        (
            ("train", "-", "sampling=0.1"),
            2,
            "sampling is no part of a tokenizer: other spellings are drawn in a training",
        ),
        (("train", "a" * 300), 3, "File name too long."),
        (("train", "-", "sise=" + "a" * 300), 2, "No setting is called 'tokenizer.sise'. Did you mean 'size'?"),
        (("encode", "none.json"), 2, "Cannot read none.json: No such file or directory."),
        (("encode", "."), 2, ". holds no tokenizer: there is no tokenizers/source.json."),
        (("encode", "letters.json", "--sampling", "0.1"), 2, "of the kind characters has one spelling for a text"),
        (("encode", "letters.json", "--sampling", "-1"), 2, "--sampling is a number from 0 on, not -1."),
        (("decode", "letters.json"), 3, "standard input:1: 'z' is not in the vocabulary. Symbols are written as"),
        (
            ("decode", "letters.json", "--ids"),
            3,
            "standard input:1: 'a' is not in the vocabulary. Numbers are below 6.",
        ),
    ],
    ids=str,
)
def test_mistakes_get_sentences(
    dragoman: CommandLine, tmp_path: Path, words: tuple[str, ...], code: int, sentence: str
) -> None:
    letters = train_tokenizer(Characters(), lambda: iter(["ab"])).as_json()
    (tmp_path / "letters.json").write_text(letters)
    (tmp_path / "empty").mkdir()
    places = {".": tmp_path / "empty", "letters.json": tmp_path / "letters.json"}
    out = ("--out", tmp_path / "out.json") if words[0] == "train" else ()
    done = dragoman("tokenizer", *(places.get(word, word) for word in words), *out, stdin="a z\n")
    assert (done.code, done.out) == (code, "")
    assert sentence.removeprefix(". holds").split(" ")[-1] in done.err
    assert sentence.replace(". holds", f"{tmp_path / 'empty'} holds") in " ".join(done.err.split())


def test_help_begins_with_examples(dragoman: CommandLine) -> None:
    for verb in ("train", "encode", "decode"):
        text = " ".join(dragoman("tokenizer", verb, "--help").out.split())
        assert text.index(f"dragoman tokenizer {verb} ", text.index("]") + 1) < text.index("Arguments")
