"""All that the page of a comparison says, before it is drawn."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from dragoman.baselines.training_data import Beside
from dragoman.comparison.answering import load
from dragoman.comparison.climbing import Climb, Climbed
from dragoman.comparison.judging import SHOWN, Judged, best_of, judge, telling
from dragoman.comparison.settling import READING
from dragoman.config import flatten
from dragoman.experiment import Experiment
from dragoman.inspection.report.facts import LONGEST, finite
from dragoman.inspection.report.page import chance
from dragoman.metrics import Measured
from dragoman.metrics.significance import CHANCE
from dragoman.storage import read_record
from dragoman.watching import Watch, unwatched

LARGER = 1.5  # times the parameters: worth a sentence
WARM = 3  # times the warm-up: a training that is shorter is worth one, too
MANNERS = ("training.device", "training.threads", "training.keep", "training.save_every", "training.log_every")


@dataclass(frozen=True)
class Shown:
    """A source, why it is shown, and what each model made of it."""

    place: int
    why: str
    looks: tuple[Any, ...]


@dataclass(frozen=True)
class Facts:
    """A comparison: what was done, and what came of it."""

    made_at: str
    dragoman: str
    climb: Climb
    judged: Judged | None  # nothing, if no model could be measured
    shown: tuple[Shown, ...]
    alike: bool  # the same symbols for all
    skipped: str = ""  # baselines that were not computed, and why

    @property
    def models(self) -> tuple[Climbed, ...]:
        return self.climb.climbed

    @property
    def names(self) -> list[str]:
        return [one.contender.name for one in self.models]


def gather(climb: Climb, watch: Watch = unwatched) -> Facts:
    """Judge all, and look at how each treats a few sources."""
    models = climb.climbed
    made_at, number = time.strftime("%Y-%m-%d %H:%M"), version("dragoman")
    if not models:
        return Facts(made_at, number, climb, None, (), True)
    alike = have_same_symbols(models)
    answered = [one.answered for one in models]
    beside = climb.kind.beside(climb.items, load(models[0].run, models[0].settings), Beside(models[0].run))
    judged = judge(climb.evaluation, climb.items, answered, alike, watch, climb.kind, beside.predicted)
    return Facts(made_at, number, climb, judged, looked(climb, judged), alike, beside.note)


def have_same_symbols(models: Sequence[Climbed]) -> bool:
    """Whether texts are cut alike: by the settings, where these are shared; else by what was learned."""
    first = models[0].settings
    if first.data.kind != "pairs":
        return len({spelled(one) for one in models}) == 1
    return all(getattr(one.settings, part) == getattr(first, part) for one in models for part in READING[1:])


def spelled(model: Climbed) -> str:
    """The hash of the symbols that a model writes; nothing, if it writes none."""
    known = read_record(model.run.data_record).get("tokenizers")
    return str(known.get("target", "")) if isinstance(known, dict) else ""


def looked(climb: Climb, judged: Judged) -> tuple[Shown, ...]:
    """What each model makes of a few sources, in detail; one model is in memory at a time."""
    kind = climb.kind
    ranks = kind.ranks(judged.sentences, climb.climbed[0].answered.lengths)
    chosen = telling(judged, ranks, kind.longest, kind.words.whys)
    items = [climb.items[place] for place, _ in chosen]
    rows = [kind.look(load(one.run, one.settings), items) for one in climb.climbed]
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
    said, shown = [first_sentence(facts, judged)], judged.measures[judged.decisive].shown
    for what, chosen in (
        ("Worse beyond chance", [pair for pair in others if pair[1].p is not None and pair[1].p < CHANCE]),
        ("May be as good", [pair for pair in others if pair[1].p is None or pair[1].p >= CHANCE]),
    ):
        listed = ", ".join(f"{name} ({shown(score.measured.value)}, {chance(score.p)})" for name, score in chosen)
        said += [f"{what}: {listed}."] if listed else []
    return [*said, *beside_baselines(facts, judged), *([facts.skipped] if facts.skipped else [])]


def beside_baselines(facts: Facts, judged: Judged) -> list[str]:
    """Whether the leader beats the best baseline."""
    name = judged.decisive
    known = {what: judged.beside[what][name].value for what in judged.chances}
    if not known:
        return []
    measure, leader = judged.measures[name], judged.leaders[0]
    best = list(known)[best_of(list(known.values()), measure.higher)]
    own, p = judged.scores[leader][name].measured.value, judged.chances[best]
    ahead = own > known[best] if measure.higher else own < known[best]
    does = "does not beat" if not ahead else "beats" if p < CHANCE else "does not significantly beat"
    values = f"{measure.title} {measure.shown(own)} against {measure.shown(known[best])}, {chance(p)}"
    return [f"{facts.names[leader]} {does} the best baseline ({best}): {values}."]


def first_sentence(facts: Facts, judged: Judged) -> str:
    """One is best only if it has rivals, none of them is equal, and at least one of them is worse beyond chance."""
    first, leaders = judged.decisive, judged.leaders
    top, names = judged.scores[leaders[0]][first].measured, " and ".join(facts.names[place] for place in leaders)
    title, shown = judged.measures[first].title, judged.measures[first].shown
    measured = f"{title} {shown(top.value)} (95 % interval {shown(top.low)} … {shown(top.high)})."
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
    if climb.kind.as_is:
        notes.append(
            "Every recipe kept its own settings, and test data and budget are the same: what else differs is under "
            "Settings."
        )
    elif climb.request.as_is:
        notes.append("Every recipe kept all its own settings (--as-is): more than the models differs.")
    if not facts.alike and climb.kind.scores is not None:
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
            "kind": climb.kind.name,
            "files": climb.tested,
            "held_out": climb.held_out,
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
        "baselines": {
            what: {"metrics": {name: without_name(one) for name, one in row.items()}, "p": judged.chances.get(what)}
            for what, row in judged.beside.items()
        },
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
            name: {**without_name(score.measured), "best": score.best, "p": score.p} for name, score in scores.items()
        },
        f"validation_{facts.climb.kind.curve}": [list(point) for point in one.trained.curve],
        "alone": None
        if alone is None
        else {
            what: {"count": len(places), "examples": [example_json(facts, n) for n in places[:SHOWN]]}
            for what, places in (("right", alone.right), ("wrong", alone.wrong))
        },
    }


def without_name(measured: Measured) -> dict[str, Any]:
    return {name: value for name, value in asdict(measured).items() if name != "name"}


def example_json(facts: Facts, place: int) -> dict[str, Any]:
    source, references = facts.climb.items[place]
    return {
        "source": facts.climb.kind.name_of(source)[:LONGEST],
        "references": [brief(one) for one in references[:20]],
        "answers": {one.contender.name: brief(one.answered.answers[place]) for one in facts.models},
    }


def brief(value: Any) -> Any:
    """A text, or labels or points, of bounded length."""
    return value[:LONGEST] if isinstance(value, str | tuple) else value
