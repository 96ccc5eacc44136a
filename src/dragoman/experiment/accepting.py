"""What may go on in a run folder, and what is refused."""

from pathlib import Path

from dragoman.config import difference, read_sealed, validate
from dragoman.data.readers.pairs import SPLITS, quick_signature
from dragoman.defaults.kinds import is_replanned
from dragoman.errors import ConfigError
from dragoman.experiment.settings import Experiment
from dragoman.preparation.corpora import AnyData
from dragoman.runs import LIMITS, Run, status_of
from dragoman.training.schedules import TO_THE_END
from dragoman.training.settings import Training


def refuse_inside(run: Run, data: AnyData) -> None:
    """A run is set aside only if the data can be read, and does not lie in it."""
    for files in (data.files(name) for name in SPLITS):
        named = tuple(file for file in files if file != "-")
        quick_signature(named)
        for file in named:
            if Path(file).resolve().is_relative_to(run.path.resolve()):
                raise ConfigError(f"{file} lies inside {run.path}, which --fresh would set aside. Move it first.")


def accept(run: Run, settings: Experiment) -> None:
    """Refuse to mix two trainings in one folder, or to overwrite a finished one."""
    if not run.exists or not run.has_begun:
        return
    document = read_sealed(run.config)
    before = validate(Experiment, document.table, document)
    changes = difference(before, settings)
    if not run.checkpoints.exists():  # what follows from the speed is planned anew
        changes = [change for change in changes if not is_replanned(change.partition(":")[0])]
    if bool(before.training.start) != bool(settings.training.start):
        changes.append(f"training.start: '{before.training.start}' → '{settings.training.start}'")
    if isinstance(before.training.schedule, TO_THE_END) and run.checkpoints.exists():
        limits = LIMITS
        changes += [
            f"training.{name}: {getattr(before.training, name)} → {getattr(settings.training, name)}"
            for name in limits
            if getattr(before.training, name) != getattr(settings.training, name)
        ]
    if changes:
        listed = "\n".join(f"  {change}" for change in changes)
        raise ConfigError(
            f"{run.path} was trained with other settings:\n{listed}\n"
            "Give the same settings to go on, another --out to train anew, or --fresh to set the old run aside."
        )
    status = status_of(run)
    ended = f"Its rate has fallen to its end; --from {run.path} with another --out goes on from its weights. "
    further = ended if isinstance(before.training.schedule, TO_THE_END) else "Raise its limit to train on. "
    if status.get("finished") and not reaches_further(before.training, settings.training, status["finished"]):
        raise ConfigError(
            f"{run.path} is finished (step {status['step']}, stopped by {status['finished']}); nothing was changed. "
            f"{further}Choose another --out, or give --fresh to set it aside."
        )


def reaches_further(before: Training, now: Training, reason: str) -> bool:
    """Whether the limit that ended a run has been raised or taken away."""
    old, new = getattr(before, reason), getattr(now, reason)
    return old is not None and (new is None or new > old)
