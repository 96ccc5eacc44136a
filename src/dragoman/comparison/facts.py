"""All that the page of a comparison says, before it is drawn."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from dragoman.comparison.answering import load
from dragoman.comparison.climbing import READING, Climb, Climbed
from dragoman.comparison.judging import SHOWN, Judged, judge, telling
from dragoman.config import flatten
from dragoman.contracts import Prediction
from dragoman.evaluation import Watch
from dragoman.experiment import Experiment
from dragoman.inspection.report.answers import DRAWN_TOKENS
from dragoman.inspection.report.facts import LONGEST, finite
from dragoman.inspection.report.page import chance, fixed
from dragoman.inspection.report.quality import metric_name
from dragoman.metrics.significance import CHANCE

LARGER = 1.5  # times the parameters: worth a sentence
WARM = 3  # times the warm-up: a training that is shorter is worth one, too
MANNERS = ("training.device", "training.threads", "training.keep", "training.save_every", "training.log_every")


@dataclass(frozen=True)
class Shown:
    """A source, why it is shown, and what each model made of it."""

    place: int
    why: str
    predictions: tuple[Prediction, ...]


@dataclass(frozen=True)
class Facts:
    """A comparison: what was done, and what came of it."""

    made_at: str
    dragoman: str
    climb: Climb
    judged: Judged | None  # nothing, if no model could be measured
    shown: tuple[Shown, ...]
    alike: bool  # the same symbols for all

    @property
    def models(self) -> tuple[Climbed, ...]:
        return self.climb.climbed

    @property
    def names(self) -> list[str]:
        return [one.contender.name for one in self.models]


def gather(climb: Climb, watch: Watch = lambda what, done, total: None) -> Facts:
    """Judge all, and look at how each treats a few sources."""
    models = climb.climbed
    made_at, number = time.strftime("%Y-%m-%d %H:%M"), version("dragoman")
    if not models:
        return Facts(made_at, number, climb, None, (), True)
    alike = all(
        getattr(one.settings, part) == getattr(models[0].settings, part) for one in models for part in READING[1:]
    )
    judged = judge(climb.evaluation, climb.items, [one.answered for one in models], alike, watch)
    return Facts(made_at, number, climb, judged, looked(climb, judged), alike)


def looked(climb: Climb, judged: Judged) -> tuple[Shown, ...]:
    """The answers to a few sources, with alignments where a model has them; one model is in memory at a time."""
    chosen = telling(judged, climb.climbed[0].answered.lengths, DRAWN_TOKENS)
    sources = [climb.items[place][0] for place, _ in chosen]
    rows = []
    for one in climb.climbed:
        pipeline = load(one.run, one.settings)
        rows.append([answer.best for answer in pipeline.predict(sources)])
    return tuple(Shown(place, why, tuple(row[number] for row in rows)) for number, (place, why) in enumerate(chosen))


def verdict(facts: Facts) -> list[str]:
    """Which is best, and what is chance, in plain words."""
    judged = facts.judged
    if judged is None:
        return ["No model could be measured."]
    others = [
        (facts.names[place], scores[judged.decisive])
        for place, scores in enumerate(judged.scores)
        if place not in judged.leaders
    ]
    said = [first_sentence(facts, judged)]
    for what, chosen in (
        ("Worse beyond chance", [pair for pair in others if pair[1].p is not None and pair[1].p < CHANCE]),
        ("May be as good", [pair for pair in others if pair[1].p is None or pair[1].p >= CHANCE]),
    ):
        listed = ", ".join(f"{name} ({fixed(score.measured.value)}, {chance(score.p)})" for name, score in chosen)
        said += [f"{what}: {listed}."] if listed else []
    return said


def first_sentence(facts: Facts, judged: Judged) -> str:
    """One is best only if it has rivals, none of them is equal, and at least one of them is worse beyond chance."""
    first, leaders = judged.decisive, judged.leaders
    top, names = judged.scores[leaders[0]][first].measured, " and ".join(facts.names[place] for place in leaders)
    measured = f"{metric_name(first)} {fixed(top.value)} (95 % interval {fixed(top.low)} … {fixed(top.high)})."
    if len(judged.scores) == 1:
        return f"{names} is the only model that was measured: {measured}"
    if judged.tells_apart(first):
        return f"{names} {'is best' if len(leaders) == 1 else 'are best, and equal'}: {measured}"
    if len(leaders) == len(judged.scores):
        return f"The models are not told apart. All have {measured}"
    which = "has the best value" if len(leaders) == 1 else "have the best value"
    return f"The models are not told apart by any metric. {names} {which}, which may be chance: {measured}"


def notes_of(facts: Facts) -> list[str]:
    """What a reader must know before the numbers."""
    climb, notes = facts.climb, []
    for one in climb.failed:
        notes.append(f"{one.contender.name} failed and is not in the numbers: {one.sentence}")
    sizes = {one.contender.name: one.answered.parameters for one in facts.models}
    if sizes and max(sizes.values()) > LARGER * min(sizes.values()):
        large, small = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
        notes.append(
            f"{large} has {sizes[large] / sizes[small]:.1f} times the parameters of {small}: a difference may be one "
            "of size, not of kind."
        )
    cold = [f"{one.contender.name} ({one.trained.steps:,} steps)" for one in facts.models if is_cold(one)]
    if cold:
        notes.append(
            f"Trained for less than {WARM} times the warm-up of the learning rate: {', '.join(cold)}. With more time, "
            "or a smaller training.schedule.warmup, they may do better."
        )
    if climb.request.as_is:
        notes.append("Every recipe kept all its own settings (--as-is): more than the models differs.")
    if not facts.alike:
        notes.append("Vocabularies differ, so perplexities are of different symbols and cannot be compared.")
    return notes


def is_cold(one: Climbed) -> bool:
    """Whether most of the training was spent on warming up."""
    return one.trained.steps < WARM * one.settings.training.schedule.warmup


def settings_side_by_side(settings: Mapping[str, Experiment]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The settings that all have in common, and those that differ with the value of each; absent ones are None."""
    flat = [flatten(one.model_dump(mode="json")) for one in settings.values()]
    names = list(dict.fromkeys(name for one in flat for name in one if name not in MANNERS))
    values = {name: [one.get(name) for one in flat] for name in names}
    shared = {name: row[0] for name, row in values.items() if all(value == row[0] for value in row)}
    return shared, {name: row for name, row in values.items() if name not in shared}


def as_json(facts: Facts) -> dict[str, Any]:
    """The facts as plain values, every number finite or null."""
    climb, judged = facts.climb, facts.judged
    shared, differing = settings_side_by_side(climb.settings)
    head = {
        "dragoman": facts.dragoman,
        "made_at": facts.made_at,
        "verdict": verdict(facts),
        "notes": notes_of(facts),
        "test": {
            "files": climb.data.files("test"),
            "held_out": climb.data.holds_out_test,
            "sources": len(climb.items),
            "of": climb.sources,
            "references": sum(len(targets) for _, targets in climb.items),
        },
        "models": [model_json(facts, place) for place in range(len(facts.models))],
        "failed": [{"name": one.contender.name, "reason": one.sentence} for one in climb.failed],
        "settings": {"shared": shared, "differing": differing, "order": list(climb.settings)},
    }
    if judged is None:
        return dict(finite(head))
    buckets = {name: [asdict(one) for one in found] for name, found in judged.buckets.items()}
    measured = {
        "decisive": judged.decisive,
        "told_apart": judged.tells_apart(judged.decisive),
        "best": None if judged.best is None else facts.names[judged.best],
        "metrics": judged.metrics,
        "sentence_metric": judged.sentence_metric,
        "lengths": buckets,
    }
    return dict(finite({**head, **measured}))


def model_json(facts: Facts, place: int) -> dict[str, Any]:
    one, judged = facts.models[place], facts.judged
    scores = {} if judged is None else judged.scores[place]
    alone = None if judged is None else judged.alone[place]
    return {
        "name": one.contender.name,
        "title": one.contender.title,
        "recipe": one.contender.recipe,
        "scale": one.contender.scale,
        "run": str(one.run.path),
        "parameters": one.answered.parameters,
        "bytes": one.trained.size,
        **{
            name: getattr(one.trained, name) for name in ("steps", "finished", "minutes", "epochs", "tokens_per_second")
        },
        "best_step": one.trained.best_step,
        "sentences_per_second": len(facts.climb.items) / max(one.answered.seconds, 1e-9),
        "unfinished": one.answered.unfinished,
        "metrics": {
            name: {**{k: v for k, v in asdict(score.measured).items() if k != "name"}, "best": score.best, "p": score.p}
            for name, score in scores.items()
        },
        "validation_loss": [list(point) for point in one.trained.curve],
        "alone": None
        if alone is None
        else {
            what: {"count": len(places), "examples": [example_json(facts, n) for n in places[:SHOWN]]}
            for what, places in (("right", alone.right), ("wrong", alone.wrong))
        },
    }


def example_json(facts: Facts, place: int) -> dict[str, Any]:
    source, references = facts.climb.items[place]
    return {
        "source": source[:LONGEST],
        "references": [one[:LONGEST] for one in references[:20]],
        "answers": {one.contender.name: one.answered.answers[place][:LONGEST] for one in facts.models},
    }
