"""dragoman look --beam: the search as a tree."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.contracts import Answer
    from dragoman.drawing.terminal import Colours
    from dragoman.pipeline import Constraints, Pipeline
    from dragoman.pipeline.traces import Trace

MARKED = 3  # answers, where nobody says how many
WIDEST_TREE = 50  # each of K hypotheses has K continuations at every step, and all of them are kept in memory


@dataclass(frozen=True)
class Searched:
    """One text, or one piece of a longer one: how it was answered, and what."""

    trace: "Trace"
    answer: "Answer"


def searched(
    pipeline: "Pipeline", texts: list[str], width: int | None, n_best: int | None, prefix: str
) -> list[Searched]:
    """A text that is longer than the model reads is searched piece by piece."""
    from dragoman.pipeline import Constraints
    from dragoman.pipeline.traces import Keeping, Telling

    number = marked(pipeline, width, n_best)
    wanted = Constraints(prefix=prefix)
    keeping = Keeping(pipeline.target)
    pieces = pieces_of(pipeline, texts, wanted)
    answers = pipeline.predict(pieces, width, number, longer="cut", constraints=wanted, tracer=Telling(keeping))
    traces = dict(keeping.traces)
    return [Searched(traces[line], answer) for line, answer in enumerate(answers)]


def marked(pipeline: "Pipeline", width: int | None, n_best: int | None) -> int:
    """How many answers are asked for; with a sentence where a tree would be too wide."""
    from dragoman.search import Beam, Greedy

    search = pipeline.chosen_search(width, 1)
    if isinstance(search, Beam | Greedy):
        wide = search.width if isinstance(search, Beam) else 1
        if n_best is not None and not 1 <= n_best <= wide:
            wider = f" Widen the beam as well: --width {n_best}." if n_best > wide else ""
            raise ConfigError(f"--n-best must be between 1 and the width of the beam ({wide}), not {n_best}.{wider}")
    else:
        wide = MARKED if n_best is None else n_best
    if wide > WIDEST_TREE:
        raise ConfigError(
            f"A tree shows at most {WIDEST_TREE} hypotheses side by side, not {wide:,}. Give --width {WIDEST_TREE} or "
            "less."
        )
    return min(wide, MARKED) if n_best is None else n_best


def pieces_of(pipeline: "Pipeline", texts: list[str], wanted: "Constraints") -> list[str]:
    """The texts as they are searched; of one that is split every piece has a search of its own."""
    from dragoman.cli.progress import warn
    from dragoman.errors import choose
    from dragoman.pipeline.answering import read_sources
    from dragoman.pipeline.rows import LONGER, refuse_split

    limits = pipeline.settings.limits
    sources = read_sources(pipeline, texts, choose("way with longer lines", limits.longer, LONGER), 0)
    refuse_split(sources, [wanted] * len(sources), 0)
    for number, source in enumerate(sources, start=1):
        if source.longer:
            parts = f" into {len(source.texts)}, which are searched one by one" if source.longer == "split" else ""
            warn(f"text {number} is longer than limits.source = {limits.source} tokens; it was {source.longer}{parts}.")
    return [text for source in sources for text in source.texts]


def print_trees_as_json(found: list[Searched], prefix: str) -> None:
    from json import dumps

    from dragoman.inspection.tree import tree_record

    for one in found:
        print(dumps(tree_record(one.trace, one.answer, prefix), ensure_ascii=False))


def print_trees(found: list[Searched], prefix: str, colours: "Colours") -> None:
    """Each tree below its source and answer, and above what its signs mean."""
    from textwrap import fill

    from dragoman.drawing.labels import words
    from dragoman.drawing.terminal import columns_of
    from dragoman.drawing.tree import sentence
    from dragoman.drawing.tree_text import tree_text
    from dragoman.inspection.tree import search_tree

    width = columns_of()
    for number, one in enumerate(found):
        tree = search_tree(one.trace, one.answer, prefix)
        said = sentence(tree)
        print("\n" * bool(number) + f"{words(tree.source)} → {words(one.answer.text)}")
        print(said if width is None else fill(said, width))
        print(tree_text(tree, colours, width))


def trees_page(found: list[Searched], prefix: str) -> str:
    """All searches on one page."""
    from dragoman.drawing.page import page
    from dragoman.drawing.tree_page import STYLE, tree_figure
    from dragoman.inspection.tree import search_tree

    def figures() -> Iterator[str]:
        for one in found:
            aligned = one.answer.best.aligned() if one.answer.alignment else None
            unfinished = "" if one.answer.best.finished else "unfinished"
            yield tree_figure(search_tree(one.trace, one.answer, prefix), unfinished, aligned)

    return page(figures(), "How the answers were found", STYLE)
