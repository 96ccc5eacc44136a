"""All that a search report says, before it is drawn."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

from dragoman.contracts import Prediction
from dragoman.data.permutation import permutation
from dragoman.data.readers.pairs import Corpus, Problems
from dragoman.evaluation.pairs import chosen_metrics, read_items, unknown_share
from dragoman.inspection.report.facts import finite
from dragoman.inspection.search_report.asking import EXACT_LINES, Asked, Request, Tell, asked_of
from dragoman.inspection.search_report.errors import Errors, Sentence, Share, empty_share, judge, whole
from dragoman.inspection.search_report.examples import SHOWN, Fall, falls_of, worst_errors
from dragoman.inspection.search_report.widths import (
    Curse,
    Items,
    Part,
    Swept,
    Width,
    counts_of,
    find_curse,
    measured_widths,
    reference_lengths,
    sweep,
)
from dragoman.metrics import count, goodness, graded_of
from dragoman.metrics.measured import in_conversations
from dragoman.pipeline import Pipeline
from dragoman.search import Exact


@dataclass(frozen=True)
class Facts:
    """A search: what it costs, and what it misses."""

    made_at: str
    dragoman: str
    name: str  # of the run
    files: tuple[str, ...]
    asked: Asked
    items: Items
    total: int  # sources of the files
    problems: Problems
    unknown: float
    longer: int  # sources that the model could not read at once
    resamples: int
    widths: tuple[Width, ...]
    curse: Curse
    errors: Errors
    graded: str  # the metric that tells sentences apart
    falls: tuple[Fall, ...]  # all of them
    missed: tuple[Sentence, ...]  # search errors that are shown

    @property
    def own(self) -> int:
        return self.asked.own.width


def gather(
    pipeline: Pipeline,
    files: tuple[Corpus, ...],
    request: Request,
    name: str = "",
    tell: Tell = lambda what, share: None,
) -> Facts:
    """Answer with every width, search exactly, score the references, and compare."""
    asked = asked_of(pipeline, request)
    evaluation = chosen_metrics(pipeline.settings.evaluation, request.metrics, request.tokenise)
    known: dict[str, str] = {}
    every, problems = read_items(files, pipeline.wanted, known)
    items = [every[n] for n in sorted(permutation(len(every), "search report")[: request.lines].tolist())]
    sources = [source for source, _ in items]
    places = sorted(permutation(len(items), "exact search")[:EXACT_LINES].tolist())
    searches = [asked.of_width(width) for width in request.widths]
    own_apart = asked.own not in searches
    work = Work(tell, len(items), len(places) if asked.exact else 0, request, [asked.own.width] * own_apart)
    list(asked.pipeline.stream(sources[:1], search=searches[0], longer=request.longer))  # what is first is slow
    swept = [
        sweep(asked.pipeline, sources, search, request.longer, work.part(f"width {search.width}", len(items)))
        for search in searches
    ]
    own = (
        sweep(asked.pipeline, sources, asked.own, request.longer, work.part("own search", len(items)))
        if own_apart
        else swept[searches.index(asked.own)]
    )
    pairs = [(source, target) for source, targets in items for target in targets]
    scored = list(asked.pipeline.score(pairs))
    exact = search_exactly(asked, sources, places, own, request, work) if asked.exact else {}
    sentences, left_out = judge(asked.pipeline, items, places, own, swept, scored, exact, asked.exact)
    counts = counts_of(evaluation, items, swept)
    conversations = [known[source] for source in sources if source in known]
    drawn = {name: [in_conversations(one, conversations) for one in row] for name, row in counts.items()}
    lengths = reference_lengths(scored, items)
    widths = measured_widths(swept, drawn, lengths, evaluation.resamples, conversations)
    graded = graded_of(tuple(counts))
    of_sentences = counts.get(graded) or [count(graded, one.texts, [t for _, t in items]) for one in swept]
    no_length = asked.own.normalisation == "none"
    return Facts(
        made_at=time.strftime("%Y-%m-%d %H:%M"),
        dragoman=version("dragoman"),
        name=name,
        files=tuple("standard input" if str(file) == "-" else Path(str(file)).name for file in files),
        asked=asked,
        items=items,
        total=len(every),
        problems=problems,
        unknown=unknown_share(pipeline, sources),
        longer=sum(bool(answer.longer) for answer in own.answers),
        resamples=evaluation.resamples,
        widths=widths,
        curse=find_curse(widths, next(iter(drawn.values()))),
        errors=Errors(
            sentences, left_out, request.budget if asked.exact else None, empty_share(exact) if no_length else None
        ),
        graded=graded,
        falls=falls_of(swept, [goodness(graded, one) for one in of_sentences]),
        missed=worst_errors(sentences),
    )


class Work:
    """The parts of the whole, weighed by about what they take: a beam of k some k / 8 times as long as a greedy search,
    and longer by one; an exact search as its budget has it."""

    def __init__(self, tell: Tell, lines: int, exact_lines: int, request: Request, further: list[int]) -> None:
        weights = [lines * (1 + width / 8) for width in (*request.widths, *further)]
        weights += [exact_lines * request.budget / 40] * bool(exact_lines)
        whole, done = sum(weights) * 1.02, 0.0  # the rest is measuring
        ends = [0.0]
        for weight in weights:
            done += weight
            ends.append(done / whole)
        self.tell, self.spans = tell, iter(pairwise(ends))

    def part(self, what: str, items: int) -> Part:
        return Part(self.tell, what, *next(self.spans), items)


def search_exactly(
    asked: Asked, sources: Sequence[str], places: Sequence[int], own: Swept, request: Request, work: Work
) -> dict[int, Prediction]:
    """The best sequence, as far as the budget goes, of what the model reads at once."""
    wanted = [place for place in places if whole(own.answers[place])]
    search = Exact(budget=request.budget, normalisation=asked.own.normalisation, alpha=asked.own.alpha)
    stream = asked.pipeline.stream([sources[place] for place in wanted], window=1, search=search, longer=request.longer)
    part, found = work.part("exact search", len(wanted)), {}
    for done, (place, answer) in enumerate(zip(wanted, stream, strict=True), start=1):
        found[place] = answer.best
        part(done)
    return found


def as_json(facts: Facts) -> dict[str, Any]:
    """The same facts for programs."""
    errors, own = facts.errors, facts.asked.own
    return finite(  # type: ignore[no-any-return]
        {
            "made_at": facts.made_at,
            "dragoman": facts.dragoman,
            "run": facts.name,
            "files": facts.files,
            "sources": len(facts.items),
            "sources_in_files": facts.total,
            "bad_lines": facts.problems.count,
            "longer": facts.longer,
            "search": own.model_dump(mode="json", exclude_none=True),
            "notes": facts.asked.notes,
            "widths": [width_json(one) for one in facts.widths],
            "curse": asdict(facts.curse),
            "errors": {
                "sentences": len(errors.sentences),
                "left_out": errors.left_out,
                "budget": errors.budget,
                "search_errors": share_json(errors.share(search_error=True)),
                "model_errors": share_json(errors.share(model_error=True)),
                "both": share_json(errors.share(True, True)),
                "neither": share_json(errors.share(False, False)),
                "search_errors_only": share_json(errors.share(True, False)),
                "model_errors_only": share_json(errors.share(False, True)),
                "proved_best": errors.faultless,
                "open": errors.open,
                "errors_with_the_best_proved": errors.optimal,
                "found_by": {name: {"found": n, "alone": alone} for name, (n, alone) in errors.found_by.items()},
                "empty": None if errors.empty is None else share_json(errors.empty),
            },
            "falls": {
                "count": len(facts.falls),
                "metric": facts.graded,
                "shown": [fall_json(facts, one) for one in facts.falls[:SHOWN]],
            },
            "missed": [missed_json(facts, one) for one in facts.missed],
        }
    )


def width_json(one: Width) -> dict[str, Any]:
    metrics = {value.name: {k: v for k, v in asdict(value).items() if k != "name"} for value in one.metrics}
    length = {"mean": one.ratio.value, "low": one.ratio.low, "high": one.ratio.high, "ratios": one.ratios}
    facts = {name: getattr(one, name) for name in ("width", "answers_per_second", "unfinished")}
    return {**facts, "metrics": metrics, "length": length}


def share_json(share: Share) -> dict[str, Any]:
    if not share.of:
        return {"count": 0, "of": 0, "percent": None, "low": None, "high": None}
    low, high = share.interval
    return {"count": share.count, "of": share.of, "percent": share.percent, "low": low, "high": high}


def fall_json(facts: Facts, fall: Fall) -> dict[str, Any]:
    source, references = facts.items[fall.place]
    sides = zip((fall.narrow, fall.wide), (fall.before, fall.after), fall.goodness, strict=True)
    answers = [{"width": w, "text": one.text, "score": one.score, "goodness": good} for w, one, good in sides]
    return {"source": source, "references": references, "answers": answers}


def missed_json(facts: Facts, one: Sentence) -> dict[str, Any]:
    source, references = facts.items[one.place]
    return {
        "source": source,
        "references": references,
        "answer": one.answer.text,
        "score": one.answer.score,
        "finished": one.answer.finished,
        "reference_score": one.reference_rank,
        "proved": one.proved,
        "better": [asdict(found) for found in one.better],
    }
