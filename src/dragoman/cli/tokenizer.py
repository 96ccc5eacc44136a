"""dragoman tokenizer: learn a vocabulary, and see what it makes of a text."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.errors import ConfigError, DataError, nearest

if TYPE_CHECKING:
    from dragoman.data.tokenizers import Tokenizer, TokenizerConfig
    from dragoman.data.tokenizers.base import Texts

BLOCK = 1_000  # lines that are encoded in one call
HELP = """\bdragoman tokenizer train train.de --size 8000 --out de.json
dragoman tokenizer encode de.json test.de

Learn a tokenizer, and see what it makes of a text."""
app = typer.Typer(help=HELP, short_help=HELP.split("\n\n")[1], no_args_is_help=True)

Place = Annotated[Path, typer.Argument(metavar="TOKENIZER|RUN", help="A tokenizer.json, or a run or model folder.")]
Lines = Annotated[str, typer.Argument(metavar="FILE|-", help="A file of lines; - is standard input.")]
Side = Annotated[Literal["source", "target"], typer.Option(help="Which tokenizer of a run.")]


@app.command("train")
def train(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE... [KEY=VALUE]...", help="Text files (- is standard input), and settings."),
    ] = None,
    kind: Annotated[
        str, typer.Option(help="words, wordpunct, characters, bytes, bpe, unigram, wordpiece or file.")
    ] = "bpe",
    size: Annotated[int | None, typer.Option(help="Symbols at most.")] = None,
    out: Annotated[Path, typer.Option(help="Where the tokenizer goes.")] = Path("tokenizer.json"),
    json: Annotated[bool, typer.Option("--json", help="What was learned, as JSON on stdout.")] = False,
) -> None:
    """\b
    dragoman tokenizer train train.de --kind bpe --size 8000 --out de.json
    dragoman tokenizer train train.de train.en --kind unigram lowercase=true
    dragoman tokenizer train --kind file path=theirs.json --out ours.json

    Learn a vocabulary from lines of text. A run uses it with source.kind=file source.path=de.json.
    """
    from dragoman.data.tokenizers import train_tokenizer
    from dragoman.storage import write_atomically

    words = what or []
    files = [word for word in words if "=" not in word or os.path.exists(word)]
    config = config_of(kind, size, [word for word in words if word not in files])
    if not files and config.kind not in ("file", "bytes"):
        raise ConfigError("There is nothing to learn from: name a file of text lines, or - for standard input.")
    with readable_again(files) as texts:
        tokenizer = train_tokenizer(config, texts)
    write_atomically(out, tokenizer.as_json())
    if json:
        facts = {"tokenizer": str(out), "kind": tokenizer.kind, "size": tokenizer.size, "hash": tokenizer.hash}
        print_json(facts)
    else:
        print(f"{out}: {tokenizer.kind}, {tokenizer.size:,} symbols", file=sys.stderr)


@app.command("encode")
def encode(
    tokenizer: Place,
    file: Lines = "-",
    side: Side = "source",
    ids: Annotated[bool, typer.Option("--ids", help="Numbers instead of symbols.")] = False,
    sampling: Annotated[float, typer.Option(help="Another spelling, as in training: BPE dropout, or alpha.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Which other spelling.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line: text, symbols and ids.")] = False,
) -> None:
    """\b
    dragoman tokenizer encode runs/de-en test.de --side source
    echo "ein Hund" | dragoman tokenizer encode de.json --sampling 0.1 --seed 2

    The symbols of every line, with spaces between them; a space inside a symbol is shown as ▁.
    """
    from dragoman.data.readers.lines import read_lines
    from dragoman.data.sampling import Sampling

    found = tokenizer_at(tokenizer, side)
    if not sampling >= 0:
        raise ConfigError(f"--sampling is a number from 0 on, not {sampling:g}.")
    spelling = Sampling.of({side: found}, {side: sampling}, seed)
    names = names_of(found)
    block = 1 if file == "-" and sys.stdin.isatty() else BLOCK  # who types wants an answer at every line
    for number, (text, row) in enumerate(encoded(found, read_lines(file), block), start=1):
        drawn = list(row if spelling is None else spelling.spelled(side, number, row))
        symbols = [names[symbol] for symbol in drawn]
        if json:
            print_json({"text": text, "symbols": symbols, "ids": drawn})
        else:
            print(*(drawn if ids else symbols))


@app.command("decode")
def decode(
    tokenizer: Place,
    file: Lines = "-",
    side: Side = "source",
    ids: Annotated[bool, typer.Option("--ids", help="The lines hold numbers, not symbols.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line: symbols and text.")] = False,
) -> None:
    """\b
    dragoman tokenizer decode de.json pieces.txt
    echo 17 301 | dragoman tokenizer decode de.json --ids

    The text of every line of symbols, as `encode` writes them.
    """
    from dragoman.data.readers.lines import read_lines

    found = tokenizer_at(tokenizer, side)
    names = names_of(found)
    known = [str(number) for number in range(found.size)] if ids else names
    numbers = {name: number for number, name in enumerate(known)}
    for line, text in enumerate(read_lines(file), start=1):
        words = [word for word in text.split(" ") if word]
        if strange := [word for word in words if word not in numbers]:
            place = f"{'standard input' if file == '-' else file}:{line}"
            allowed = (
                f"Numbers are below {found.size}."
                if ids
                else f"Symbols are written as `encode` does.{nearest(strange[0], names)}"
            )
            raise DataError(f"{place}: '{strange[0]}' is not in the vocabulary. {allowed}")
        decoded = found.decode([numbers[word] for word in words])
        print_json({"symbols": words, "text": decoded}) if json else print(decoded)


def config_of(kind: str, size: int | None, settings: list[str]) -> "TokenizerConfig":
    from dragoman.config import Config, merge, parse_overrides, validate
    from dragoman.data.tokenizers import TokenizerConfig

    class Choice(Config):
        tokenizer: TokenizerConfig

    sized = {} if size is None else {"size": size}
    own = parse_overrides(settings).table
    if "sampling" in own:
        raise ConfigError(
            "sampling is no part of a tokenizer: other spellings are drawn in a training, with source.sampling or "
            "target.sampling, or shown by `dragoman tokenizer encode --sampling`."
        )
    return validate(Choice, {"tokenizer": merge({"kind": kind} | sized, own)}).tokenizer


def encoded(tokenizer: "Tokenizer", lines: Iterator[str], block: int) -> Iterator[tuple[str, list[int]]]:
    while texts := list(islice(lines, block)):
        yield from zip(texts, tokenizer.encode(texts), strict=True)


@contextmanager
def readable_again(files: list[str]) -> Iterator["Texts"]:
    """The lines of all files, from the beginning as often as wanted; standard input is kept in a file for that."""
    from dragoman.data.readers.lines import read_lines
    from dragoman.data.readers.standard_input import spooled

    with spooled(files) as (kept,):
        yield lambda: chain.from_iterable(read_lines(str(file)) for file in kept)


def tokenizer_at(path: Path, side: str) -> "Tokenizer":
    """The tokenizer in a file, or of one side of a run or a model."""
    from dragoman.data.tokenizers import Tokenizer

    if not path.is_dir():
        return Tokenizer.load(path)
    for folder in (path / "tokenizers", path / "model", path):
        if (folder / f"{side}.json").is_file():
            return Tokenizer.load(folder / f"{side}.json")
    raise ConfigError(f"{path} holds no tokenizer: there is no tokenizers/{side}.json. `dragoman runs` lists runs.")


def names_of(tokenizer: "Tokenizer") -> list[str]:
    """A name without spaces for every symbol; one that two symbols would share has its number added."""
    taken: dict[str, int] = {}
    for number, name in enumerate(tokenizer.symbols(range(tokenizer.size))):
        plain = not {" ", "\n", ""} & {name, *name} and name not in taken
        other = f"<{number}>"
        while not plain and other in taken:
            other = f"<{other}>"
        taken[name if plain else other] = number
    return list(taken)


def print_json(value: dict[str, object]) -> None:
    import json

    print(json.dumps(value, ensure_ascii=False))
