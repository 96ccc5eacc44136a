"""dragoman embed: a vector for every line, and the lines of a file that are most like others."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.predict import one_file, sort_out
from dragoman.errors import ConfigError, unknown

if TYPE_CHECKING:
    from dragoman.pipeline import Pipeline
    from dragoman.pipeline.vectors import Vector
    from dragoman.similarity import Near

ENDINGS = (".npy", ".jsonl")
QUERIES = 256  # that are looked for at once
DIGITS = 9  # that tell single-precision numbers apart


def embed(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a model folder.")],
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE] [SECTION.KEY=VALUE]...",
            help="Lines of text; - is standard input, as is nothing. Settings of limits.",
        ),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(
            help="How the states of all symbols become one vector: mean, max, first (cls) or last. Default: as the "
            "model's head does it, else mean."
        ),
    ] = None,
    normalise: Annotated[bool, typer.Option("--normalise", help="Vectors of length 1.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="The file to write: .npy (an array, a row a line) or .jsonl.")
    ] = None,
    search: Annotated[
        str | None, typer.Option(help="Find the lines of this file that are most like each line given.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=10_000, help="Lines that are found for each.")] = 5,
    drawing: Annotated[
        Path | None,
        typer.Option("--map", help="Draw a sample of the lines as points in the plane, on a page that needs no other."),
    ] = None,
    longer: Annotated[
        str | None, typer.Option(help="Lines above limits.source: cut or refuse; default: as the run says.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line; without --search it is so.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
) -> None:
    """\b
    dragoman embed runs/reviews lines.txt --out vectors.npy
    echo "a charming film" | dragoman embed runs/reviews --pool mean --normalise
    echo "a charming film" | dragoman embed runs/reviews --search lines.txt
    dragoman embed runs/reviews lines.txt --map map.html

    A vector for every line: what a model has read of it, pooled over its symbols.

    Every model has one: those that only read, the encoder of a translator, and language models, whose states have seen
    the text so far. Without --out they are JSON lines, {"text": …, "vector": […]}. An empty line has a vector of zeros.
    A line's vector does not depend on the lines around it.

    --search compares by cosine, exactly and in bounded memory: the file may have any size. --map draws lines along the
    two directions in which their vectors differ most, coloured by what the model says of them.
    """
    from dragoman.cli.outputs import refuse_overwriting

    files, overrides = sort_out(what or [])
    file = one_file(files)
    refuse_unwritable(out, search, drawing, normalise)
    refuse_overwriting(out or drawing, [file, search])
    pipeline = loaded(run, device, overrides)
    if search is not None:
        search_lines(pipeline, file, search, top, pool, longer, json)
        return
    if drawing is not None:
        draw_map(pipeline, file, drawing, pool, normalise)
        return
    width = pipeline.embedder(pool, normalise).width
    with writer(out, width) as write:
        for vector in told(pipeline, file, pool, normalise, longer, "embedded", out is None):
            write(vector)
    if out is not None:
        print(f"Wrote {out}.", file=sys.stderr)


def refuse_unwritable(out: Path | None, search: str | None, drawing: Path | None, normalise: bool) -> None:
    given = [name for name, value in (("--out", out), ("--search", search), ("--map", drawing)) if value is not None]
    if len(given) > 1:
        raise ConfigError(
            "--out writes vectors, --search prints the nearest lines, and --map draws: they are different things. "
            f"Leave {given[0]} or {given[1]} out."
        )
    if search is not None and normalise:
        raise ConfigError("--search compares by cosine, whatever the length of vectors. Leave --normalise out.")
    if out is not None and out.suffix not in ENDINGS:
        raise unknown("kind of file for vectors", out.suffix or out.name, ENDINGS)


def loaded(run: Path, device: str, overrides: list[str]) -> "Pipeline":
    from dragoman.devices import keep_freed_memory
    from dragoman.pipeline import Pipeline

    keep_freed_memory()
    return Pipeline.load(run, device).changed(overrides)


@contextmanager
def writer(out: Path | None, width: int) -> "Iterator[Callable[[Vector], object]]":
    """An array, or JSON lines; a file is there when it is whole."""
    from dragoman.data.vectors import growing_array
    from dragoman.storage import growing_file

    if out is None:
        yield lambda vector: print(as_json(vector))
    elif out.suffix == ".npy":
        with growing_array(out, width) as append:
            yield lambda vector: append(vector.values)
    else:
        with growing_file(out) as file:
            yield lambda vector: file.write(f"{as_json(vector)}\n".encode())


def as_json(vector: "Vector") -> str:
    import json

    numbers = ", ".join(f"{value:.{DIGITS}g}" for value in vector.values.tolist())
    cut = ', "longer": "cut"' if vector.longer else ""
    return f'{{"text": {json.dumps(vector.source, ensure_ascii=False)}, "vector": [{numbers}]{cut}}}'


def told(
    pipeline: "Pipeline",
    file: str,
    pool: str | None,
    normalise: bool,
    longer: str | None,
    done_to: str,
    printed: bool,
    window: int | None = None,
) -> "Iterator[Vector]":
    """The vectors of a file, with a bar, and what is to be said of its lines."""
    from dragoman.cli.longer import Longer
    from dragoman.cli.progress import metered, size_of, warn
    from dragoman.cli.unknown import warn_of_unknown
    from dragoman.data.readers.pairs import read_lines
    from dragoman.pipeline import WINDOW

    size, done, empty = size_of(file), 0, list[int]()
    symbols, strange = 0, 0
    long = Longer(pipeline.embedder(pool, normalise).limit)
    typed = file == "-" and sys.stdin.isatty()
    vectors = pipeline.vectors(read_lines(file), pool, normalise, longer, 1 if typed else window or WINDOW)
    with metered(size > 0 and not (printed and sys.stdout.isatty())) as tell:
        for number, vector in enumerate(vectors, start=1):
            long.tell(number, vector.longer)
            if vector.empty:
                empty.append(number)
            symbols, strange = symbols + vector.symbols, strange + vector.unknown
            done += len(vector.source.encode()) + 1
            tell(f"{number:,} lines {done_to}", done / max(size, done))
            yield vector
    long.summarise()
    if empty:
        warn(f"{len(empty):,} empty lines have vectors of zeros; the first is line {empty[0]:,}.")
    if strange and not pipeline.source.letters:
        warn_of_unknown(strange / max(1, symbols), "symbols")


def search_lines(
    pipeline: "Pipeline", file: str, lines: str, top: int, pool: str | None, longer: str | None, json: bool
) -> None:
    """The nearest lines of a file, for each line that comes."""
    from itertools import islice

    import numpy as np

    from dragoman.similarity import Lines, refuse_nothing
    from dragoman.storage import temporary_folder

    if file == lines:
        raise ConfigError(f"{file} is read for lines to look for and to be looked through. Give two files.")
    typed = file == "-" and sys.stdin.isatty()
    with temporary_folder() as folder:
        spooled = Lines.spool(
            folder, told(pipeline, lines, pool, True, longer, "read", False), pipeline.embedder(pool).width
        )
        refuse_nothing(spooled, lines)
        queries = told(pipeline, file, pool, True, longer, "looked for", True, QUERIES)
        while some := list(islice(queries, 1 if typed else QUERIES)):
            found = spooled.nearest(np.stack([one.values for one in some]), top)
            for query, near in zip(some, found, strict=True):
                print(record(query, near) if json else block(query, near), flush=file == "-")


def draw_map(pipeline: "Pipeline", file: str, out: Path, pool: str | None, normalise: bool) -> None:
    """A sample of the lines on a page."""
    from dragoman.cli.progress import warn
    from dragoman.data.readers.pairs import read_lines
    from dragoman.errors import DataError
    from dragoman.inspection.report.vector_map import MAPPED, map_texts, sampled, standalone
    from dragoman.storage import write_atomically

    texts, total = sampled((line for line in read_lines(file) if line.strip()), MAPPED)
    name = "standard input" if file == "-" else Path(file).name
    if len(texts) < 2:
        raise DataError(f"{name} has {len(texts)} lines that are not empty, and a map needs two at least.")
    if total > len(texts):
        warn(f"{len(texts):,} of {total:,} lines are drawn, chosen at random.")
    write_atomically(out, standalone(map_texts(pipeline, texts, pool, normalise), name))
    print(f"Wrote {out}.", file=sys.stderr)


def record(query: "Vector", near: "list[Near]") -> str:
    import json

    facts: dict[str, Any] = {"query": query.source, "found": [] if query.empty else [vars(one) for one in near]}
    return json.dumps(facts, ensure_ascii=False)


def block(query: "Vector", near: "list[Near]") -> str:
    """The line, and below it what is most like it: cosine, number and text."""
    if query.empty:
        return "(an empty line is like nothing)\n"
    widest = max(len(f"{one.line:,}") for one in near) if near else 0
    rows = [f"  {one.cosine:7.4f}  line {one.line:>{widest},}  {one.text}" for one in near]
    return "\n".join([query.source, *shortened(rows), ""])


def shortened(rows: list[str]) -> list[str]:
    """At a terminal a row is a line."""
    from dragoman.drawing.terminal import columns_of

    width = columns_of() if sys.stdout.isatty() else None
    return rows if width is None else [row if len(row) <= width else row[: width - 1] + "…" for row in rows]
