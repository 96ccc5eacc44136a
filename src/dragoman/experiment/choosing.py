"""What the data decides where neither the recipe nor the user has."""

from dataclasses import dataclass
from typing import Any

from dragoman.config import Document, Table, merge, read_sealed, validate
from dragoman.data.readers.pairs import SPLITS
from dragoman.defaults.budget import Budget
from dragoman.defaults.choice import Choice, Given, as_table
from dragoman.defaults.kinds import DEFAULTS, is_replanned
from dragoman.experiment.settings import Experiment, completed
from dragoman.preparation.corpora import Preparing
from dragoman.runs import Run
from dragoman.training.speed import Speed


@dataclass
class Decision:
    """What was found in the data, and the settings that follow from it as long as no update has been timed."""

    kind: str  # of the data
    survey: Any
    given: Given
    choices: list[Choice]
    speed: Speed | None = None  # that the trial has shown

    def replanned(self, settings: Experiment, speed: Speed) -> tuple[Experiment, list[Choice]]:
        """The settings for the speed that was measured, and all choices."""
        budget = Budget.of(self.given.known).timed(speed)
        anew = {one.key: one for one in chosen(self.kind, self.survey, self.given, budget) if is_replanned(one.key)}
        choices = [anew.pop(one.key, one) for one in self.choices]
        return settled(settings, as_table([*choices, *anew.values()]), self.given), [*choices, *anew.values()]


def decided(run: Run, settings: Experiment, given: Given, preparing: Preparing) -> tuple[Experiment, Decision | None]:
    """The settings with all that the data decides; a run that goes on keeps what it began with."""
    if run.defaults.exists() and run.has_begun and run.checkpoints.exists():
        document = read_sealed(run.defaults)
        return settled(settings, document.table, given, document), None
    if settings.data.kind not in DEFAULTS:
        return settled(settings, {}, given), None
    survey = DEFAULTS[settings.data.kind].survey(settings.data, given.known, preparing)
    if survey is None:
        return settled(settings, {}, given), None
    choices = chosen(settings.data.kind, survey, given, Budget.of(given.known))
    return settled(settings, as_table(choices), given), Decision(settings.data.kind, survey, given, choices)


def chosen(kind: str, survey: Any, given: Given, budget: Budget) -> list[Choice]:
    return [one for one in DEFAULTS[kind].choose(survey, given.known, budget) if given.leaves_open(one.key)]


def settled(settings: Experiment, chosen: Table, given: Given, *documents: Document) -> Experiment:
    """The files stay: a copy may stand in for standard input. Chosen settings of a part stand beside its given kind."""
    found = validate(Experiment, merge(given.whole, chosen, given.table), *documents)
    files = {name: getattr(settings.data, name) for name in SPLITS if name in type(settings.data).model_fields}
    return completed(found.changed(data=found.data.changed(**files)))
