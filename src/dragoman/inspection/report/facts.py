"""All that a report says, gathered from a run folder and a sample of answers."""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Any

from dragoman.baselines.standing import Standing
from dragoman.baselines.training_data import REPORT_SECONDS, Beside
from dragoman.config import read_toml, validate
from dragoman.data.readers.captions import Captions
from dragoman.data.readers.clips import Clips
from dragoman.data.readers.frames import Frames
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.labelled import Labelled
from dragoman.data.readers.pairs import Conversations, Pairs, quick_signature
from dragoman.data.readers.questions import Questions
from dragoman.data.readers.tagged import Tagged
from dragoman.data.readers.texts import Texts
from dragoman.errors import ConfigError, DataError
from dragoman.inspection.report.advice import Over, advice
from dragoman.inspection.report.answers import Example, Sample, Tested, examine, own_split, read_sample
from dragoman.inspection.report.captions import TestedCaptions, examine_captions
from dragoman.inspection.report.curves import Curves, read_curves
from dragoman.inspection.report.drawn import Drawn
from dragoman.inspection.report.edits import Edit
from dragoman.inspection.report.errors import Confusion, Fault, confusions, faults, worst
from dragoman.inspection.report.frames import examine_frames
from dragoman.inspection.report.labels import TestedLabels, examine_labels
from dragoman.inspection.report.pretrained import TestedReading, examine_reading
from dragoman.inspection.report.spans import TestedSpans, examine_spans
from dragoman.inspection.report.talks import Talk, examine_talks
from dragoman.inspection.report.texts import TestedText, examine_text
from dragoman.inspection.report.tracks import TestedTracks, examine_tracks
from dragoman.metrics import Measured
from dragoman.pipeline import Pipeline
from dragoman.runs import Run, read_metadata, status_of
from dragoman.storage import read_record
from dragoman.watching import Watch

WORST = 20
PAIRED = ("pairs", "conversations")  # kinds of data that are a source and a target
CONFUSIONS = 25
LONGEST = 1_000  # characters of a text in the JSON


@dataclass(frozen=True)
class Record:
    """What the files of a run folder say; what is not there is empty."""

    name: str
    given: str
    config: str
    settings: dict[str, Any]
    environment: dict[str, Any]
    data: dict[str, Any]
    status: dict[str, Any]
    best: dict[str, str]  # step, and value of what was monitored

    @property
    def kind(self) -> str:
        """Of the data that the run learned from."""
        return str(self.settings.get("data", {}).get("kind", "pairs"))

    @property
    def pairs(self) -> Pairs:
        """What the run learned from, of pairs."""
        kind = Conversations if self.kind == "conversations" else Pairs
        return validate(kind, self.settings.get("data", {}))


@dataclass(frozen=True)
class Model:
    """The size of what was trained."""

    parameters: int
    source_symbols: int
    target_symbols: int
    labels: int = 0  # that a model which only reads may say; 1: a number


@dataclass(frozen=True)
class Findings:
    """What a test shows beyond its numbers."""

    right: int
    search_errors: int
    length_ratio: float  # pieces of all answers over pieces of their nearest references
    worst: tuple[Example, ...]
    confusions: tuple[Confusion, ...]
    edits: int
    faults: tuple[Fault, ...]

    @property
    def most_confused(self) -> Confusion | None:
        return self.confusions[0] if self.confusions else None


@dataclass(frozen=True)
class Facts:
    """A report before it is drawn."""

    made_at: str
    dragoman: str
    record: Record
    curves: Curves
    model: Model | None
    tested: Tested | None
    findings: Findings | None
    untested: str  # why nothing was measured, as a sentence
    labelled: TestedLabels | None = None  # of a model that only reads
    text: TestedText | None = None  # of a language model
    reading: TestedReading | None = None  # of a model that learns to read
    spans: TestedSpans | None = None  # of a model that finds answers in documents
    captions: TestedCaptions | None = None  # of a model that describes pictures
    talks: tuple[Talk, ...] = ()  # of a model that reads conversations
    tracks: TestedTracks | None = None  # of a model that goes on with tracks
    advice: str = ""  # what to do next

    @property
    def drawn(self) -> Sample | Drawn | None:
        """What was measured on."""
        if self.tested is not None:
            return self.tested.sample
        found = self.labelled or self.text or self.reading or self.spans or self.captions or self.tracks
        return None if found is None else found.drawn

    @property
    def standing(self) -> Standing | None:
        """Where the model stands beside baselines."""
        found = self.tested or self.labelled or self.text or self.spans or self.captions or self.tracks
        return None if found is None else found.standing


def gather(
    run: Run, on: tuple[str, ...], lines: int, told: Watch, device: str = "auto", seconds: float = REPORT_SECONDS
) -> Facts:
    """Read the run, and test its model on the files given, else on its own test data, else on its validation data;
    beside baselines, if these may take any `seconds`."""
    if not run.exists:
        raise ConfigError(f"{run.path} is no run of dragoman: it has no config.toml. `dragoman runs` lists runs.")
    if (run.path / "model.safetensors").is_file():
        raise ConfigError(f"{run.path} is a model folder, not a run. Name the run, or use dragoman evaluate.")
    record, curves = record_of(run), read_curves(run.metrics)
    pipeline = Pipeline.load(run.path, device) if (run.model / "model.safetensors").is_file() else None
    untested = "" if on else why_not(record)
    if pipeline is None:
        if on:
            raise ConfigError(
                f"{run.path} has no model yet that could be measured. Train it until its first validation."
            )
        untested = "The run has no model yet: one is written at the first validation, or at the end."
    beside = Beside(run, seconds) if seconds > 0 else None
    measured = measure_run(pipeline, record, on, lines, told, beside) if pipeline is not None and not untested else {}
    made_at = time.strftime("%Y-%m-%d %H:%M")
    model = None if pipeline is None else model_of(pipeline)
    facts = Facts(made_at, version("dragoman"), record, curves, model, None, None, untested)
    facts = replace(facts, **measured)
    command = list(map(str, record.environment.get("command") or ()))
    over = Over(run.path, record.settings, str(record.status.get("finished") or ""), command)
    return replace(facts, advice=advice(facts.standing, over, curves))


def measure_run(
    pipeline: Pipeline, record: Record, on: tuple[str, ...], lines: int, told: Watch, beside: Beside | None = None
) -> dict[str, Any]:
    """The fields of Facts that a model of this kind fills."""
    if record.kind in PAIRED:
        sample = read_sample(record.pairs, record.data, on, lines)
        tested = None if sample is None else examine(pipeline, sample, told, beside)
        talks = () if tested is None else examine_talks(pipeline, tested.examples)
        return {"tested": tested, "findings": None if tested is None else find(tested), "talks": talks}
    data = data_of(record)
    if isinstance(data, Futures):
        return {"tracks": examine_tracks(pipeline, data, record.data, on, lines, told, beside)}
    if isinstance(data, Texts) and not pipeline.alone:
        return {"reading": examine_reading(pipeline, data, record.data, on, told)}
    if isinstance(data, Texts):
        return {"text": examine_text(pipeline, data, record.data, on, lines, told, beside)}
    if isinstance(data, Captions):
        return {"captions": examine_captions(pipeline, data, record.data, on, lines, told, beside)}
    if isinstance(data, Frames | Clips):
        return {"labelled": examine_frames(pipeline, data, record.data, on, lines, told, beside)}
    if isinstance(data, Questions):
        return {"spans": examine_spans(pipeline, data, record.data, on, lines, told, beside)}
    if data is not None:
        return {"labelled": examine_labels(pipeline, data, record.data, on, lines, told, beside)}
    return {}


def data_of(record: Record) -> Labelled | Tagged | Texts | Questions | Captions | Frames | Clips | Futures | None:
    """What a run that reads learned from; None if this is no such run."""
    table = record.settings.get("data", {})
    kinds: dict[str, type[Labelled | Tagged | Texts | Questions | Captions | Frames | Clips | Futures]]
    kinds = {
        "labelled": Labelled,
        "tagged": Tagged,
        "texts": Texts,
        "questions": Questions,
        "captions": Captions,
        "frames": Frames,
        "clips": Clips,
        "tracks": Futures,
    }
    known, model = kinds.get(record.kind), record.settings.get("model", {})
    alone, pretrained = model.get("kind") == "decoder_only", model.get("head", {}).get("kind") == "pretraining"
    fits = alone or pretrained if known is Texts else not alone
    return validate(known, table) if known is not None and fits else None


def why_not(record: Record) -> str:
    """Why the run's own data cannot be measured on, or nothing."""
    data = record.pairs if record.kind in PAIRED else data_of(record)
    if data is None:
        return "What this run has learned is not measured here; its curves, its data and its settings are below."
    name = own_split(data) if isinstance(data, Pairs) else "valid" if data.has("valid") else None
    if name is None:
        what = "pairs" if record.kind in PAIRED else "files"
        return (
            f"The run has neither test nor validation data, so there was nothing to measure on. Name {what} with --on."
        )
    try:
        quick_signature(data.files(name))
    except DataError as error:
        return (
            f"The data is not where it was: {error} So nothing was measured. "
            "Run the report in the folder that the training ran in, or name test pairs with --on."
        )
    return ""


def record_of(run: Run) -> Record:
    weights = run.model / "model.safetensors"
    best = read_metadata(weights) if weights.exists() else {}
    return Record(
        name="/".join(run.path.resolve().parts[-2:]),  # a folder of runs often holds one called "run" only
        given=run.given.read_text("utf-8", errors="replace") if run.given.exists() else "",
        config=run.config.read_text("utf-8", errors="replace"),
        settings=read_toml(run.config).table,
        environment=read_record(run.environment) if run.environment.exists() else {},
        data=read_record(run.data_record) if run.data_record.exists() else {},
        status=status_of(run),
        best={name: best[name] for name in ("step", "monitor", "value") if name in best},
    )


def model_of(pipeline: Pipeline) -> Model:
    parameters = sum(parameter.numel() for parameter in pipeline.read_weights().parameters())
    labels = 0 if pipeline.labels is None or pipeline.labels.what == "spans" else pipeline.labels.size
    source, target = (0 if one is None else one.size for one in pipeline.tokenizers.values())
    return Model(parameters, source, target, labels)


def find(tested: Tested) -> Findings:
    examples = tested.examples
    edits = [edit for example in examples for edit in example.edits]
    expected, got = sum(edit.expected is not None for edit in edits), sum(edit.got is not None for edit in edits)
    return Findings(
        right=sum(example.right for example in examples),
        search_errors=sum(example.search_error for example in examples),
        length_ratio=got / max(expected, 1),
        worst=tuple(worst(examples, WORST)),
        confusions=confusions(examples, CONFUSIONS),
        edits=sum(edit.wrong for edit in edits),
        faults=faults(examples, tested.target),
    )


def as_json(facts: Facts) -> dict[str, Any]:
    """The facts as plain values, every number finite or null."""
    record = facts.record
    status = {"step": record.status.get("step", facts.curves.last_step), "finished": record.status.get("finished")}
    head = {"run": record.name, "dragoman": facts.dragoman, "made_at": facts.made_at, **status}
    measured: dict[str, Any] | None = None
    if facts.tested is not None and facts.findings is not None:
        measured = tested_json(facts.tested, facts.findings)
    elif facts.labelled is not None:
        measured = labelled_json(facts.labelled)
    elif facts.text is not None:
        measured = text_json(facts.text)
    elif facts.reading is not None:
        measured = reading_json(facts.reading)
    elif facts.spans is not None:
        measured = spans_json(facts.spans)
    elif facts.captions is not None:
        measured = captions_json(facts.captions)
    elif facts.tracks is not None:
        measured = tracks_json(facts.tracks)
    if measured is not None and facts.standing is not None:
        measured["baselines"] = facts.standing.as_json()
    facts_of_run = {**head, "best": record.best, "untested": facts.untested, "measured": measured}
    found: dict[str, Any] = finite({**facts_of_run, "advice": facts.advice})
    return found


def tested_json(tested: Tested, findings: Findings) -> dict[str, Any]:
    sample, wrong = tested.sample, len(tested.examples) - findings.right
    return {
        "files": sample.files,
        "split": sample.split,
        "changed": sample.changed,
        "sources": len(sample.items),
        "of": sample.total,
        "references": tested.references,
        "bad_lines": sample.bad_lines,
        "metrics": {value.name: {k: v for k, v in asdict(value).items() if k != "name"} for value in tested.metrics},
        "right": findings.right,
        "search_errors": findings.search_errors,
        "model_errors": wrong - findings.search_errors,
        "length_ratio": findings.length_ratio,
        "unit": tested.target.name,
        "attends": tested.attends,
        "looks": None if tested.looks is None else asdict(tested.looks),
        "heads": None if tested.headed is None else [asdict(one) for one in tested.headed.aligning],
        "buckets": [asdict(bucket) for bucket in tested.buckets],
        "worst": [example_json(example) for example in findings.worst],
        "confusions": [confusion_json(confusion) for confusion in findings.confusions],
        "faults": {fault.name: len(fault.found) for fault in findings.faults},
    }


def labelled_json(tested: TestedLabels) -> dict[str, Any]:
    found = drawn_json(tested.drawn, tested.metrics) | {"what": tested.what, "unseen_labels": tested.unseen}
    if tested.classes is not None:
        found["right"], found["labels"] = tested.right, tested.labels
        found["classes"] = [asdict(one) for one in tested.classes.classes]
        found["spans"] = [asdict(one) for one in tested.spans]
        found["confusion"] = {"labels": tested.classes.labels, "counts": tested.classes.confusion}
        found["buckets"] = [asdict(bucket) for bucket in tested.buckets]
    found["heads"] = None if tested.headed is None else [asdict(one) for one in tested.headed.habits]
    found["variance_of_the_map"] = None if tested.vectors is None else tested.vectors.shares
    return found


def text_json(tested: TestedText) -> dict[str, Any]:
    return drawn_json(tested.drawn, tested.metrics) | {
        "context": tested.context,
        "symbols": tested.symbols,
        "places": [asdict(one) for one in tested.places],
        "hard": [asdict(one) for one in tested.hard],
        "continuations": [asdict(one) for one in tested.continued],
        "heads": None if tested.headed is None else [asdict(one) for one in tested.headed.habits],
    }


def reading_json(tested: TestedReading) -> dict[str, Any]:
    return drawn_json(tested.drawn, tested.metrics) | {
        "documents": tested.documents,
        "words": tested.words,
        "gaps": [asdict(one) for one in tested.gaps],
        "heads": None if tested.headed is None else [asdict(one) for one in tested.headed.habits],
        "variance_of_the_map": None if tested.vectors is None else tested.vectors.shares,
    }


def spans_json(tested: TestedSpans) -> dict[str, Any]:
    found = drawn_json(tested.drawn, tested.metrics) | {"parts": tested.parts}
    return found | {"buckets": [asdict(bucket) for bucket in tested.buckets]}


def captions_json(tested: TestedCaptions) -> dict[str, Any]:
    tags = {tag: {value.name: value.value for value in values} for tag, values in tested.by_tag.items()}
    return drawn_json(tested.drawn, tested.metrics) | {"right": tested.right, "tags": tags}


def tracks_json(tested: TestedTracks) -> dict[str, Any]:
    still = {value.name: value.value for value in tested.still}
    found = drawn_json(tested.drawn, tested.metrics) | {"unit": tested.unit, "futures": tested.futures}
    return found | {"distance_by_step": tested.steps, "last_velocity": still}


def drawn_json(drawn: Drawn, metrics: Sequence[Measured]) -> dict[str, Any]:
    values = {value.name: {k: v for k, v in asdict(value).items() if k != "name"} for value in metrics}
    names = {"files": drawn.files, "split": drawn.split, "changed": drawn.changed, "sources": drawn.count}
    return names | {"of": drawn.total, "bad_lines": drawn.bad_lines, "metrics": values}


def example_json(example: Example) -> dict[str, Any]:
    return {
        "source": example.source[:LONGEST],
        "references": [reference[:LONGEST] for reference in example.references[:WORST]],
        "answer": example.answer[:LONGEST],
        "edits": [changed(edit) for edit in example.edits if edit.wrong][:LONGEST],
        "score": example.score,
        "reference_score": example.reference_score,
        "search_error": example.search_error,
        "finished": example.finished,
    }


def confusion_json(confusion: Confusion) -> dict[str, Any]:
    counts = {name: getattr(confusion, name) for name in ("expected", "got", "count", "occurrences")}
    return {**counts, "example": confusion.example.source[:LONGEST]}


def changed(edit: Edit) -> Sequence[str | None]:
    return [edit.expected, edit.got]


def finite(value: Any) -> Any:
    """JSON has no infinity."""
    if isinstance(value, dict):
        return {name: finite(inside) for name, inside in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inside) for inside in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
