"""The chapter on the heads of a Transformer: what each looks at in one answer, and which of them align."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from dragoman.drawing.doings import MEANINGS, Doing, doings, explained, headings, written
from dragoman.drawing.heads import Heads
from dragoman.drawing.heads_grid import grid
from dragoman.drawing.summary import mean
from dragoman.errors import DataError
from dragoman.inspection.report.page import (
    Content,
    Html,
    element,
    fixed,
    folded,
    foreign,
    join,
    percent,
    section,
    table,
    whole,
)
from dragoman.pipeline import Pipeline
from dragoman.pipeline.vectors import read_rows
from dragoman.watching import Watch

MEASURED = 32  # answers
DRAWN_WEIGHTS = 100_000  # of all maps of an answer: half a megabyte of the page
LISTED = 8  # heads that stand in the table; the others are folded away
LISTED_HABITS = 24
DRAWN_TOKENS = 32  # of a text that is only read: more cannot be told apart in a small map

Pair = tuple[str, str]  # a source and its answer


@dataclass(frozen=True)
class Aligning:
    """A head that looks at the source: means over answers, None where no answer has such a number."""

    layer: int
    head: int
    agreement: float | None
    monotonicity: float | None
    kendall_tau: float | None
    entropy_share: float | None
    end: float | None


@dataclass(frozen=True)
class Habit:
    """What a head does with texts that are only read: means over texts."""

    layer: int
    head: int
    doing: Doing


@dataclass(frozen=True)
class Headed:
    """What the heads of a model do."""

    answers: int  # or texts that were read
    aligning: tuple[Aligning, ...]  # best first; none where the decoder has no heads
    drawn: Heads | None  # an answer that is small enough
    habits: tuple[Habit, ...] = ()  # of the kind that is drawn


def measure_heads(pipeline: Pipeline, pairs: Sequence[Pair], told: Watch) -> Headed | None:
    """Of the first few answers, fed once more; None where the model has no heads, or no answer is short enough."""
    if not pipeline.head_counts:
        return None
    found: list[Heads] = []
    for done, (source, answer) in enumerate(pairs[:MEASURED], start=1):
        found += looked_into(pipeline, source, answer)
        told("Looking into heads", done, len(pairs[:MEASURED]))
    if not found:
        return None
    small = (heads for heads in found if weights_of(heads) <= DRAWN_WEIGHTS)
    return Headed(len(found), tuple(aligning(found)), next(small, None))


def measure_reading_heads(
    pipeline: Pipeline, texts: Sequence[str], told: Watch, longest: int = DRAWN_TOKENS
) -> Headed | None:
    """Of the first few texts that are short enough to be drawn; None where there are no heads, or no such text."""
    if not pipeline.head_counts:
        return None
    lengths = [len(row) for row in read_rows(pipeline, texts)]
    longest = min(longest, pipeline.embedder("mean").limit)
    short = [text for text, length in zip(texts, lengths, strict=True) if 0 < length <= longest and text.strip()]
    [kind] = pipeline.head_counts
    by_head: dict[tuple[int, int], list[Doing]] = {}
    drawn: Heads | None = None
    for done, text in enumerate(short[:MEASURED], start=1):
        heads = pipeline.heads(text)
        for one, did in doings(heads, kind):
            by_head.setdefault((one.layer or 0, one.head or 0), []).append(did)
        larger = drawn is None or weights_of(heads) > weights_of(drawn)
        drawn = heads if larger and weights_of(heads) <= DRAWN_WEIGHTS else drawn
        told("Looking into heads", done, len(short[:MEASURED]))
    if not by_head:
        return None
    habits = tuple(Habit(layer, head, mean_doing(did)) for (layer, head), did in by_head.items())
    return Headed(len(short[:MEASURED]), (), drawn, habits)


def mean_doing(did: Sequence[Doing]) -> Doing:
    return Doing(**{field.name: mean(getattr(one, field.name) for one in did) for field in fields(Doing)})


def looked_into(pipeline: Pipeline, source: str, answer: str) -> Iterator[Heads]:
    """Nothing for a text whose maps are too large."""
    try:
        yield pipeline.heads(source, answer)
    except DataError:
        return


def weights_of(heads: Heads) -> int:
    return sum(len(maps) * len(maps[0]) * len(maps[0][0]) for layers in heads.weights.values() for maps in layers)


def aligning(found: Sequence[Heads]) -> list[Aligning]:
    """By how often a head looks most where the mean of all heads does."""
    if "source" not in found[0].weights:
        return []
    by_head: dict[tuple[int, int], list[Doing]] = {}
    for heads in found:
        for one, did in doings(heads, "source"):
            by_head.setdefault((one.layer or 0, one.head or 0), []).append(did)
    each = [means(layer, head, did) for (layer, head), did in by_head.items()]
    return sorted(each, key=lambda one: -(one.agreement or 0.0))


def means(layer: int, head: int, did: Sequence[Doing]) -> Aligning:
    return Aligning(
        layer,
        head,
        mean(one.agreement for one in did),
        mean(one.monotonicity for one in did),
        mean(one.kendall_tau for one in did),
        mean(one.entropy_share for one in did),
        mean(one.last for one in did),
    )


def heads_section(headed: Headed, remark: str = "") -> Html:
    how = (
        "A Transformer looks with several heads in every layer. Each small map is one of them: a row looks, a column "
        f"is looked at, and a darker cell (on a dark page a lighter one) is more weight. {remark}".rstrip()
    )
    tables = [alignment_by_head(headed)] if headed.aligning else []
    drawn = [] if headed.drawn is None else [maps(headed.drawn)]
    if headed.habits and headed.drawn is not None:
        tables = [habits_table(headed, headed.drawn)]
    more = element(
        "p", "`dragoman look RUN TEXT --heads --html PAGE` draws them large, with their words.", class_="how"
    )
    return section("heads", "Every head", how, *tables, *drawn, more)


def alignment_by_head(headed: Headed) -> Html:
    """The heads that align best, the others folded away."""
    best = headed.aligning[0]
    said = (
        f"Head {best.head} of layer {best.layer} aligns most as the mean of all heads does: "
        f"{share(best.agreement)} of its symbols look most at the same token. Means over {whole(headed.answers)} of "
        "the best and worst answers."
    )
    shown, others = headed.aligning[:LISTED], headed.aligning[LISTED:]
    parts = [element("h3", "Alignment by head"), element("p", said), head_table(shown)]
    if others:
        parts.append(folded(f"The other {whole(len(others))} heads", head_table(others)))
    return join(parts)


def habits_table(headed: Headed, drawn: Heads) -> Html:
    """Every head with what it does on average; of many the first few, the others folded away."""
    [kind] = drawn.weights
    columns = drawn.columns(kind)
    names = headings(kind, columns)
    titles = [element("span", name, title=MEANINGS[name]) for name in names]
    rows = [
        (whole(one.layer), whole(one.head), *written(one.doing, kind, columns), one.doing.mostly())
        for one in headed.habits
    ]
    head: tuple[Content, ...] = ("layer", "head", *titles, "mostly")
    numeric = range(len(names) + 2)
    parts = [
        element("p", f"Means over {whole(headed.answers)} texts. {explained(drawn)}", class_="how"),
        table(head, rows[:LISTED_HABITS], numeric),
    ]
    if rows[LISTED_HABITS:]:
        others = table(head, rows[LISTED_HABITS:], numeric)
        parts.append(folded(f"The other {whole(len(rows) - LISTED_HABITS)} heads", others))
    return join(parts)


def head_table(rows: Sequence[Aligning]) -> Html:
    names = ("as the mean", "not back", "tau", "entropy", "END")
    titles = [element("span", name, title=MEANINGS[name]) for name in names]
    body = [
        (
            whole(one.layer),
            whole(one.head),
            share(one.agreement),
            share(one.monotonicity),
            "–" if one.kendall_tau is None else fixed(one.kendall_tau),
            share(one.entropy_share),
            share(one.end),
        )
        for one in rows
    ]
    return table(("layer", "head", *titles), body, numeric=range(7))


def share(value: float | None) -> str:
    return "–" if value is None else percent(value, 1, 0)


def maps(heads: Heads) -> Html:
    """One answer: a grid a kind."""
    said = join([foreign(part, 160) for part in (heads.source, heads.answer) if part], " → ")
    caption = element("figcaption", said)
    grids = [
        element("div", element("p", f"{kind}: {heads.about(kind)}", class_="muted"), Html(grid(heads, kind)))
        for kind in heads.weights
    ]
    return element("figure", caption, element("div", *grids, class_="maps"))
