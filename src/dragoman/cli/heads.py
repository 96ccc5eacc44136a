"""dragoman look --heads, --layer, --head, --kind: every head of a Transformer, and one of them large."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.drawing.heads import Heads, Map
    from dragoman.drawing.terminal import Colours
    from dragoman.pipeline import Pipeline

PLACES = 6  # of a weight in JSON


@dataclass(frozen=True)
class Wanted:
    """Which maps are asked for: all of them, or one."""

    all: bool
    kind: str | None
    layer: int | None
    head: int | None

    def __bool__(self) -> bool:
        return self.all or self.one

    @property
    def one(self) -> bool:
        return (self.kind, self.layer, self.head) != (None, None, None)


@dataclass(frozen=True)
class Shown:
    """Where and how maps are drawn."""

    svg: Path | None
    png: Path | None
    html: Path | None
    json: bool
    values: bool  # log-probabilities
    entropies: bool
    colours: "Colours"

    @property
    def in_terminal(self) -> bool:
        return not self.json and self.svg is self.png is self.html is None


def refuse_with_heads(wanted: Wanted, shown: Shown) -> None:
    """What belongs to one map and means nothing for all of them."""
    if not wanted.all:
        return
    if wanted.one:
        raise ConfigError(
            "--heads shows every head; --kind, --layer and --head draw one map. Leave out --heads, or the others."
        )
    for name, given in (("--svg", shown.svg), ("--png", shown.png)):
        if given is not None:
            raise ConfigError(
                f"--heads draws into the terminal or, with --html, into a page, and makes no {name[2:].upper()} file. "
                f"One map becomes one: --layer 1 --head 1 {name}."
            )
    if shown.entropies:
        raise ConfigError("--entropy stands beside the rows of one map; --heads gives that of every head by itself.")


def look_at_heads(
    pipeline: "Pipeline",
    texts: list[str],
    targets: list[str] | None,
    search: tuple[int | None, str],
    wanted: Wanted,
    shown: Shown,
) -> None:
    """Tables of all heads, or one map large: in the terminal, as JSON, as files."""
    from dragoman.cli.progress import warn
    from dragoman.drawing.heads import checked
    from dragoman.pipeline.heads import refuse_headless

    refuse_headless(pipeline)
    if wanted.one:  # before anything is searched for
        checked(pipeline.head_counts, wanted.kind or own_kind(pipeline), wanted.layer, wanted.head)
    width, prefix = search
    found = pipeline.heads(texts, targets, width, prefix)
    for number, one in enumerate(found, start=1):
        if not one.finished:
            warn(f"the answer to text {number} was cut after {len(one.symbols)} symbols, before it reached its end.")
    show_all(found, shown) if wanted.all else show_one(found, wanted.kind or own_kind(pipeline), wanted, shown)


def own_kind(pipeline: "Pipeline") -> str:
    """What is meant where no kind is named: where an answer looks at its source, else all that there is."""
    return "source" if pipeline.answers else next(iter(pipeline.head_counts))


def show_all(found: "Sequence[Heads]", shown: Shown) -> None:
    from json import dumps
    from textwrap import fill

    from dragoman.cli.look import write
    from dragoman.drawing.heads_page import heads_page
    from dragoman.drawing.heads_text import heads_text, key
    from dragoman.drawing.terminal import columns_of

    if shown.json:
        for heads in found:
            print(dumps(facts_of(heads) | {"maps": all_records(heads)}, ensure_ascii=False))
    if shown.html is not None:
        write(shown.html, heads_page(found))
    if shown.in_terminal:
        for heads in found:
            print(f"{headline(heads)}\n\n{heads_text(heads)}\n")
        print(fill(key(found[0]), columns_of() or 120))


def show_one(found: "Sequence[Heads]", kind: str, wanted: Wanted, shown: Shown) -> None:
    """The same map of every text."""
    from json import dumps

    drawn = [(heads, heads.map(kind, wanted.layer, wanted.head)) for heads in found]
    if shown.json:
        for heads, one in drawn:
            print(dumps(facts_of(heads) | record(one, heads), ensure_ascii=False))
    write_pictures(drawn, shown)
    if shown.in_terminal:
        for number, (heads, one) in enumerate(drawn):
            print("\n" * bool(number) + f"{headline(heads)}\n{one.name}")
            print_map(heads, one, shown)


def print_map(heads: "Heads", one: "Map", shown: Shown) -> None:
    from textwrap import fill

    from dragoman.drawing.doings import said
    from dragoman.drawing.terminal import columns_of, is_light, text

    width = columns_of()
    across = "symbols so far" if one.kind == "target" else "source tokens"
    print(text(one.alignment(), shown.colours, width, shown.values, is_light(), shown.entropies, across))
    numbers = " · ".join(said(one, heads.map(one.kind)))
    print(numbers if width is None else fill(numbers, width))


def write_pictures(drawn: "Sequence[tuple[Heads, Map]]", shown: Shown) -> None:
    from dragoman.cli.look import numbered, warn_of_letters, write
    from dragoman.drawing import page
    from dragoman.drawing.png import png
    from dragoman.drawing.svg import svg

    for number, (heads, one) in enumerate(drawn, start=1):
        title = f"{heads.title} ({one.name})"
        if shown.svg is not None:
            picture = svg(one.alignment(), title, shown.values, shown.entropies)
            write(numbered(shown.svg, number, len(drawn)), picture)
        if shown.png is not None:
            content, missing = png(one.alignment(), title, shown.values, shown.entropies)
            write(numbered(shown.png, number, len(drawn)), content)
            warn_of_letters(missing)
    if shown.html is not None:
        write(shown.html, page.page(map_figure(heads, one, shown) for heads, one in drawn))


def map_figure(heads: "Heads", one: "Map", shown: Shown) -> str:
    from dragoman.drawing.doings import said
    from dragoman.drawing.page import figure

    numbers = said(one, heads.map(one.kind))
    return figure(one.alignment(), heads.source, heads.answer, one.name, shown.values, shown.entropies, numbers)


def headline(heads: "Heads") -> str:
    return f"{heads.title}  ({heads.note})" if heads.note else heads.title


def facts_of(heads: "Heads") -> dict[str, Any]:
    """What is said of a text beside its maps, by the names that `look --json` has for it."""
    return {
        "source": heads.source,
        "text": heads.answer,
        "score": heads.score,
        "log_probability": heads.log_probability,
        "finished": heads.finished,
        "token_log_probabilities": heads.log_probabilities,
    }


def all_records(heads: "Heads") -> list[dict[str, Any]]:
    return [record(one, heads) for kind in heads.weights for one in heads.maps(kind)]


def record(one: "Map", heads: "Heads") -> dict[str, Any]:
    """A map for programs."""
    from dragoman.drawing.doings import doing

    place = {"kind": one.kind, "layer": one.layer, "head": one.head, "rows": one.rows, "columns": one.columns}
    weights = [[round(weight, PLACES) for weight in row] for row in one.weights]
    return place | {"weights": weights, **asdict(doing(one, heads.map(one.kind)))}
