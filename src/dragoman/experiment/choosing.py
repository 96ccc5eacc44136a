"""What the data decides where the user has not."""

from dragoman.config import Document, Table, flatten, merge, read_sealed, validate
from dragoman.data.readers.pairs import SPLITS, Conversations, Pairs, Problems, read_split
from dragoman.data.sides import Sample
from dragoman.defaults import Choice, as_table, choose_settings, hold_out_of
from dragoman.experiment.settings import Experiment, completed
from dragoman.preparation.corpora import REPORTED, Preparing
from dragoman.runs import Run


def decided(run: Run, settings: Experiment, given: Table, preparing: Preparing) -> tuple[Experiment, list[Choice]]:
    """The settings with all that the data decides; a run that goes on keeps what it began with."""
    if run.defaults.exists() and run.has_begun:
        document = read_sealed(run.defaults)
        return settled(settings, document.table, given, document), []
    if not isinstance(settings.data, Pairs) or isinstance(settings.data, Conversations):
        return settings, []  # other models have defaults and recipes, and nothing is guessed from their texts
    sample = Sample()
    for pair in read_split(settings.data, "train", Problems()):
        sample.add(pair)
        if sample.size % REPORTED == 0:
            preparing("pairs looked at", sample.size)
    if not sample.size:
        return settings, []
    known = flatten(given)
    held_out = None if settings.data.valid or "data.hold_out" in known else hold_out_of(sample)
    choices = [*([] if held_out is None else [held_out]), *choose_settings(sample, known)]
    return settled(settings, as_table(choices), given), choices


def settled(settings: Experiment, chosen: Table, given: Table, *documents: Document) -> Experiment:
    """The files stay: a copy may stand in for standard input."""
    found = validate(Experiment, merge(chosen, given), *documents)
    files = {name: getattr(settings.data, name) for name in SPLITS if name in type(settings.data).model_fields}
    return completed(found.changed(data=found.data.changed(**files)))
