"""The model that a training starts from: another run's weights, vocabularies and settings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dragoman.config import Config, Table, difference, read_sealed, validate
from dragoman.data.encoding import Counts
from dragoman.data.labelling import Labelling
from dragoman.data.scales import Scale
from dragoman.data.tokenizers import Tokenizer
from dragoman.data.tracking import Tracking
from dragoman.errors import ConfigError
from dragoman.models import EncoderOnlyModel, Model, text_sides
from dragoman.pipeline import model_folder
from dragoman.pipeline.loading import LABELS, SCALE, TRACKS
from dragoman.runs import OF_THE_DATA, Run, read_metadata
from dragoman.served import Served
from dragoman.storage import hash_file, read_record, write_record
from dragoman.training.body import give_body, new_parts
from dragoman.training.events import Event, Started, Warned
from dragoman.training.settings import Take
from dragoman.weights import give_weights, read_weights, weights_of

KEPT = ("source", "target", "model")  # what the weights belong to
RECORD = "origin.json"
MUCH_UNKNOWN = 0.01  # share of unknown symbols that is worth a warning


@dataclass(frozen=True)
class Origin:
    """Where a training starts."""

    path: str  # as it was given
    sha256: str  # of the weights
    step: int | None  # of the run that it comes from
    settings: Table

    @property
    def weights(self) -> Path:
        return model_folder(Path(self.path)) / "model.safetensors"

    def tokenizers(self, take: Take = "all") -> dict[str, Tokenizer]:
        """Of both sides; of the source alone, which may be a text that a language model goes on with, below a new
        head."""
        if take != "all":
            return {"source": Tokenizer.load(self.weights.with_name("source.json"))} if self.texts else {}
        return {side: Tokenizer.load(self.weights.with_name(f"{side}.json")) for side in self.texts}

    @property
    def texts(self) -> tuple[str, ...]:
        """The sides that are texts."""
        return text_sides(validate(Served, served_part(self.settings)).model)

    def labels(self) -> Labelling | None:
        """Of a model that only reads; its head belongs to them."""
        path = self.weights.with_name(LABELS)
        return Labelling.load(path) if path.is_file() else None

    def scale(self) -> Scale | None:
        """Of a model that reads numbers; its weights belong to it."""
        path = self.weights.with_name(SCALE)
        return Scale.load(path) if path.is_file() else None

    def tracking(self) -> Tracking | None:
        """Of a model of tracks, whose weights belong to its features and their scale."""
        path = self.weights.with_name(TRACKS)
        return Tracking.load(path) if path.is_file() else None


def read_origin(path: str) -> Origin:
    """A run, or a model folder without its run, which knows no settings of a training."""
    folder = model_folder(Path(path))
    config = Path(path) / "config.toml"  # of the run, or of a model folder that is given itself
    config = config if config.is_file() else folder / "config.toml"
    weights = folder / "model.safetensors"
    step = read_metadata(weights).get("step")
    return Origin(path, hash_file(weights), int(step) if step else None, taken_over(read_sealed(config).table))


def taken_over(table: Table) -> Table:
    """All settings but those of the old data, and where the old run itself started."""
    kept = {name: dict(value) if isinstance(value, Mapping) else value for name, value in table.items()}
    for section, names in {"data": OF_THE_DATA, "training": ("start", "take")}.items():
        for name in names:
            kept.get(section, {}).pop(name, None)
    return kept


def origin_of(path: str, out: Path | None) -> Origin:
    """The record in a run that has begun, which needs the old one no more; else the old run itself."""
    if out is not None and (out / RECORD).is_file() and has_begun(out):
        recorded = recorded_origin(out)
        if Path(recorded.path).resolve() == Path(path).resolve() or read_origin(path).sha256 == recorded.sha256:
            return Origin(path, recorded.sha256, recorded.step, recorded.settings)
        raise ConfigError(
            f"{out} was started from {recorded.path}, not from {path}. Give --from {recorded.path} to go on, another "
            "--out, or --fresh to set the old run aside."
        )
    return read_origin(path)


def has_begun(out: Path) -> bool:
    """Whether a checkpoint holds the weights."""
    return any(Run(out).checkpoints.glob("step-*"))


def recorded_origin(out: Path) -> Origin:
    record = read_record(out / RECORD)
    try:
        return Origin(record["path"], record["sha256"], record["step"], record["settings"])
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{out / RECORD} is damaged. Give --fresh to begin anew.") from error


def refuse_start_inside(start: str, out: Path) -> None:
    if start and Path(start).resolve().is_relative_to(out.resolve()):
        raise ConfigError(f"{start} lies in {out} itself. A training from it needs another --out.")


def starting_point(start: str, out: Path) -> Origin | None:
    """The run to start from, noted down; nothing once a checkpoint holds the weights, for the old run may be gone."""
    if not start or has_begun(out):
        return None
    origin = read_origin(start)
    write_record(out / RECORD, vars(origin))
    return origin


def start_from(origin: Origin, model: Model, counts: Counts, take: Take = "all") -> Iterator[Event]:
    """Give the model the old weights, and say what the old vocabularies do not know of the new data."""
    if isinstance(model, EncoderOnlyModel) and take != "all":
        before = validate(Served, served_part(origin.settings)).model
        taken = give_body(model, before, origin.weights) if take == "body" else ()
        yield Started(origin.path, origin.step, taken, new_parts(model, taken))
    else:
        give_weights(model, read_weights(origin.weights, weights_of(model)))
        yield Started(origin.path, origin.step)
    sides = {
        "source": (counts.unknown_source, counts.source_tokens),
        "target": (counts.unknown_target, counts.target_tokens),
    }
    for side, (strange, tokens) in sides.items():
        if strange > MUCH_UNKNOWN * tokens:
            yield Warned(
                f"{strange / tokens:.1%} of the {side} symbols are not in the vocabulary of {origin.path}, and cannot "
                "be learned. Train without --from if they matter."
            )


def served_part(settings: Table) -> Table:
    """What a model is made of, without what it was trained by."""
    return {name: value for name, value in settings.items() if name in Served.model_fields}


def refuse_other_model(before: Config, now: Config, path: str) -> None:
    """The model must be the one that the weights belong to; dropout has none."""
    changes = [
        f"{name}{change}"
        for name in KEPT
        for change in (f".{line}" for line in difference(getattr(before, name), getattr(now, name)))
        if "dropout" not in change.partition(":")[0]
    ]
    if changes:
        listed = "\n".join(f"  {change}" for change in changes)
        raise ConfigError(
            f"The weights of {path} fit its own model and vocabularies only:\n{listed}\n"
            "Leave these settings out, or train without --from."
        )
