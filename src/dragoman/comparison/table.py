"""What systems reach on tasks, over seeds: a row a system, a column a task, and the average (Wang et al. 2019)."""

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from dragoman.config import difference, read_sealed, validate
from dragoman.errors import ConfigError
from dragoman.evaluation.captions import evaluate_captions
from dragoman.evaluation.labels import evaluate_labels
from dragoman.evaluation.pairs import evaluate
from dragoman.evaluation.tracks import evaluate_tracks
from dragoman.experiment.settings import Experiment
from dragoman.inspection.report.curves import read_records
from dragoman.metrics import Measured
from dragoman.metrics.spread import Spread
from dragoman.models import EncoderOnly
from dragoman.pipeline import Pipeline
from dragoman.runs import Run, looks_like_a_run, status_of
from dragoman.storage import read_record
from dragoman.watching import Watch, unwatched

# What the tasks of GLUE are measured by, and else what is said of texts; of two measures a task's score is the mean.
OFFICIAL: Mapping[str, tuple[str, ...]] = {
    "cola": ("matthews",),
    "mrpc": ("binary_f1", "accuracy"),
    "qqp": ("binary_f1", "accuracy"),
}
BY_HEAD: Mapping[str, tuple[str, ...]] = {
    "labels": ("accuracy",),
    "number": ("pearson", "spearman"),
    "tags": ("accuracy",),
    "crf": ("accuracy",),
    "spans": ("exact_match", "f1"),
}
BY_DATA: Mapping[str, tuple[str, ...]] = {
    "tracks": ("ade", "fde"),
    "captions": ("perplexity",),
    "conversations": ("perplexity",),
}  # of models that do not only read
DEEPEST = 3  # folders below the one that is named: system, task, seed
VALIDATION = "validation data"
SEED = re.compile(r"seed-\d+")


@dataclass(frozen=True)
class Place:
    """A finished run, and where its score belongs."""

    run: Run
    system: str
    task: str
    settings: Experiment

    @property
    def seed(self) -> int:
        return self.settings.training.seed

    @property
    def head(self) -> str:
        """What its score is of: the head of a model that reads, else the data."""
        return (
            self.settings.model.head.kind if isinstance(self.settings.model, EncoderOnly) else self.settings.data.kind
        )

    @property
    def symbols(self) -> str:
        """The hash of what it writes."""
        return str(read_record(self.run.data_record).get("tokenizers", {}).get("target", ""))


@dataclass(frozen=True)
class Table:
    """Scores of (system, task), each a spread over seeds for each measure of the task."""

    systems: tuple[str, ...]
    tasks: Mapping[str, tuple[str, ...]]  # and what each is measured by
    measured_on: Mapping[str, str]
    scores: Mapping[tuple[str, str], Mapping[str, Spread]]
    seeds: Mapping[tuple[str, str], tuple[int, ...]]

    def average(self, system: str) -> Spread | None:
        """Over all tasks, seed by seed; of a system that has other seeds for some task, the mean of means. None where a
        task is missing: it would be an average of something else; and where tasks are on no common scale."""
        if self.unscaled or any((system, task) not in self.scores for task in self.tasks):
            return None
        rows = [self.of_seeds(system, task) for task in self.tasks]
        if len({self.seeds[system, task] for task in self.tasks}) > 1:
            return Spread.of([statistics.fmean(statistics.fmean(row) for row in rows)])
        return Spread.of([statistics.fmean(each) for each in zip(*rows, strict=True)])

    @property
    def unscaled(self) -> list[str]:
        """Measures that are no percentages."""
        everything = [name for metrics in self.tasks.values() for name in metrics]
        return [name for name in dict.fromkeys(everything) if any(name in names for names in BY_DATA.values())]

    def of_seeds(self, system: str, task: str) -> list[float]:
        """A score a seed: the mean of the task's measures."""
        spreads = self.scores[system, task].values()
        return [statistics.fmean(each) for each in zip(*(one.values for one in spreads), strict=True)]

    def as_json(self) -> dict[str, object]:
        return {
            "tasks": {
                task: {"metrics": list(metrics), "measured_on": self.measured_on[task]}
                for task, metrics in self.tasks.items()
            },
            "systems": {system: self.row(system) for system in self.systems},
        }

    def row(self, system: str) -> dict[str, object]:
        average = self.average(system)
        found = {
            task: {"seeds": list(self.seeds[system, task])}
            | {name: one.as_json() for name, one in self.scores[system, task].items()}
            for task in self.tasks
            if (system, task) in self.scores
        }
        return {"scores": found, "average": None if average is None else average.as_json()}


def table_of(named: Sequence[str], tests: Mapping[str, Sequence[str]], watch: Watch = unwatched) -> Table:
    """Of runs, or folders of them; `tests` are files a task to measure its models on, in the place of the validation
    data of their training."""
    places = [place for name in named for place in places_in(name)]
    if not places:
        raise ConfigError(f"There is no run in {', '.join(named)}. `dragoman train … --out FOLDER/TASK` makes one.")
    systems, tasks = (tuple(dict.fromkeys(getattr(place, part) for place in places)) for part in ("system", "task"))
    for task in tests:
        if task not in tasks:
            raise ConfigError(f"--test names the task '{task}', and there is none. Tasks: {', '.join(tasks)}.")
    metrics = {task: metrics_of_task([place for place in places if place.task == task]) for task in tasks}
    measured: dict[Path, Mapping[str, float]] = {}
    for number, place in enumerate(places):
        watch("runs measured", number, len(places))
        measured[place.run.path] = values_of(place, metrics[place.task], tests.get(place.task, ()))
    groups = {(system, task): group_of(places, system, task) for system in systems for task in tasks}
    groups = {key: group for key, group in groups.items() if group}
    return Table(
        systems=systems,
        tasks=metrics,
        measured_on={task: " ".join(tests.get(task, ())) or VALIDATION for task in tasks},
        scores={
            key: {name: Spread.of([measured[place.run.path][name] for place in group]) for name in metrics[key[1]]}
            for key, group in groups.items()
        },
        seeds={key: tuple(place.seed for place in group) for key, group in groups.items()},
    )


def places_in(name: str) -> list[Place]:
    """A run, or all runs in a folder; SYSTEM/TASK=RUN says where one belongs, else the names of its folders do:
    SYSTEM/TASK, or SYSTEM/TASK/seed-N."""
    label, equals, given = name.rpartition("=") if not Path(name).exists() else ("", "", name)
    folder = Path(given)
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no run, and no folder of runs. `dragoman runs` lists runs.")
    if not equals:
        return [place_of(path) for path in runs_below(folder)]
    system, slash, task = label.partition("/")
    if not (system and slash and task):
        raise ConfigError(f"'{name}' is no run with its place. Write SYSTEM/TASK=RUN, e.g. bert/sst2={folder}.")
    return [place_of(path, system, task) for path in runs_below(folder)]


def runs_below(folder: Path, depth: int = 0) -> list[Path]:
    if looks_like_a_run(folder):
        return [folder]
    if depth == DEEPEST:
        return []
    inside = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    return [run for path in inside for run in runs_below(path, depth + 1)]


def place_of(path: Path, system: str = "", task: str = "") -> Place:
    run = Run(path)
    if not status_of(run).get("finished"):
        raise ConfigError(f"{path} is not finished. Give its command again to go on with it, or leave it out.")
    document = read_sealed(run.config)
    settings = validate(Experiment, document.table, document)
    reads = isinstance(settings.model, EncoderOnly) and settings.model.head.kind in BY_HEAD
    if not reads and settings.data.kind not in BY_DATA:
        raise ConfigError(
            f"{path} is of a kind that no table has: its model is {settings.model.kind} with a head of "
            f"{settings.model.head.kind}, and data.kind is '{settings.data.kind}'. A table is of models that read, and "
            "of tracks, captions and conversations; leave it out, or compare recipes of pairs by training them: "
            "dragoman compare FILE RECIPE RECIPE."
        )
    *_, above, own = (part for part in path.resolve().parts if not SEED.fullmatch(part))
    return Place(run, system or above, task or own, settings)


def metrics_of_task(places: Sequence[Place]) -> tuple[str, ...]:
    first, heads = places[0], {place.head for place in places}
    if len(heads) > 1:
        raise ConfigError(
            f"The runs of the task '{first.task}' have heads of different kinds: {', '.join(sorted(heads))}. Say which "
            "belong together: SYSTEM/TASK=RUN."
        )
    if first.head in BY_DATA:
        metrics = BY_DATA[first.head]
        if "perplexity" in metrics and len({place.symbols for place in places}) > 1:
            raise ConfigError(
                f"The runs of the task '{first.task}' write different symbols, so that their perplexities are not of "
                "the same. Train them with one target tokenizer, or say which belong together: SYSTEM/TASK=RUN."
            )
        return metrics
    if first.head == "labels":
        return OFFICIAL.get(first.task.lower(), BY_HEAD["labels"])
    spans = first.head in ("tags", "crf") and first.settings.training.monitor == "span_f1"
    return ("span_f1",) if spans else BY_HEAD[first.head]


def group_of(places: Sequence[Place], system: str, task: str) -> list[Place]:
    """The runs of a system on a task, which differ by their seed and by nothing else."""
    group = sorted((one for one in places if (one.system, one.task) == (system, task)), key=lambda one: one.seed)
    for one, other in pairwise(group):
        if one.seed == other.seed:
            raise ConfigError(
                f"{one.run.path} and {other.run.path} are both {system} on {task} with the seed {one.seed}. Say which "
                "is which, SYSTEM/TASK=RUN, or leave one out."
            )
        changes = [line for line in difference(one.settings, other.settings) if not line.startswith("training.seed:")]
        if changes:
            raise ConfigError(
                f"{one.run.path} and {other.run.path} are both {system} on {task}, and differ by more than their seed "
                f"({'; '.join(changes[:3])}). Say which is which: SYSTEM/TASK=RUN."
            )
    return group


def values_of(place: Place, metrics: Sequence[str], files: Sequence[str]) -> Mapping[str, float]:
    if files:
        pipeline = Pipeline.load(place.run.path)
        if place.head in BY_DATA:
            found = MEASURING[place.head](pipeline, files)
        else:
            found = evaluate_labels(pipeline, list(files), metrics).metrics
        return {one.name.partition(" ")[0]: one.value for one in found}  # of tracks without its unit
    values = best_values(place.run)
    missing = [name for name in metrics if name not in values]
    if missing:
        raise ConfigError(
            f"{place.run.path} has no {missing[0]} on validation data. Give test data for its task: --test "
            f"{place.task}=FILE."
        )
    return values


MEASURING: Mapping[str, Callable[[Pipeline, Sequence[str]], Sequence[Measured]]] = {
    "tracks": lambda pipeline, files: evaluate_tracks(pipeline, files).metrics,
    "captions": lambda pipeline, files: evaluate_captions(pipeline, files).whole.metrics,
    "conversations": lambda pipeline, files: evaluate(pipeline, tuple(files)).metrics,
}


def best_values(run: Run) -> dict[str, float]:
    """What validation found of the model that the run hands out."""
    found: dict[str, float] = {}
    for record in read_records(run.metrics):
        if record.get("best") and isinstance(record.get("valid"), dict):
            found = record["valid"]
    return found
