"""The card of a model: what it does, what it learned from, how good it was, and where it ends."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dragoman.config import flatten, read_toml
from dragoman.data.tokenizers import UNKNOWN, UNREADABLE, Tokenizer
from dragoman.errors import ConfigError
from dragoman.inspection.report.curves import is_number, read_records
from dragoman.inspection.report.facts import Record, model_of, record_of
from dragoman.metrics import METRICS
from dragoman.pipeline import Pipeline, model_folder
from dragoman.runs import Run, read_metadata
from dragoman.storage import hash_file, read_record

LONGEST = 200  # characters of a text that comes from outside
NOT_KNOWN = "not known: the model came without its run"
OF_MODEL = ("kind", "layers", "width", "heads", "feed_forward", "cell", "directions", "share", "tie")
OF_TRAINING = ("optimiser.kind", "optimiser.rate", "batching.kind", "batching.tokens", "batching.sentences", "seed")
TITLES = {
    "loss": "mean negative log-probability of a target token",
    "perplexity": "perplexity of a target token",
} | {name: metric.title for name, metric in METRICS.items()}
Rows = list[tuple[str, str]]


@dataclass(frozen=True)
class Card:
    """What a card is written from."""

    run: Path
    pipeline: Pipeline
    examples: Sequence[tuple[str, str]]  # held-out lines and their answers
    on: Sequence[str]  # files that they were read from; none: the run's validation data
    licence: str

    @cached_property
    def record(self) -> Record | None:
        """What the run says of itself; None for a model folder."""
        run = Run(self.run)
        return record_of(run) if run.exists and model_folder(self.run) == run.model else None

    @cached_property
    def metadata(self) -> dict[str, str]:
        return read_metadata(model_folder(self.run) / "model.safetensors")

    @property
    def name(self) -> str:
        return self.run.resolve().name


def card(facts: Card) -> str:
    """The whole README.md; a section that nothing is known of says so."""
    sections = {
        "What it does": what_it_does(facts),
        "How to use it": how_to_use(facts),
        "Data": data(facts),
        "Metrics": metrics(facts),
        "Settings": settings(facts),
        "Limits": limits(facts),
        "Licence": plain(facts.licence) if facts.licence else "Not stated.",
        "Versions": versions(facts),
    }
    parts = [f"# {plain(facts.name)}", *(f"## {title}\n\n{text}" for title, text in sections.items())]
    return "\n\n".join(parts) + "\n"


def what_it_does(facts: Card) -> str:
    spec, pipeline = facts.pipeline.spec(), facts.pipeline
    lines = [
        f"A sequence-to-sequence model of dragoman: it reads {spec['source']} ({symbols(pipeline.source)}) and writes "
        f"{spec['target']} ({symbols(pipeline.target)})."
    ]
    if facts.examples:
        where = " and ".join(plain(base_name(name)) for name in facts.on) or "its validation data"
        shown = [f"    {verbatim(source)}\n    → {verbatim(answer)}" for source, answer in facts.examples]
        lines += [f"Its answers to lines of {where}, not chosen by anybody, right or wrong:", "\n\n".join(shown)]
    return "\n\n".join(lines)


def symbols(tokenizer: Tokenizer) -> str:
    return f"tokenizer of the kind {tokenizer.kind}, {tokenizer.size:,} symbols"


def how_to_use(facts: Card) -> str:
    line = verbatim(facts.examples[0][0]) if facts.examples else "your text"
    quoted = line.replace("'", "'\\''")
    return (
        "This folder is all that is needed; nothing in it is code. With dragoman installed:\n\n"
        f"    printf '%s\\n' '{quoted}' | dragoman predict THIS_FOLDER\n\n"
        "    import dragoman\n\n"
        f'    print(dragoman.load("THIS_FOLDER").predict({line!r}).text)'
    )


def data(facts: Card) -> str:
    if facts.record is None:
        return f"What it was trained on is {NOT_KNOWN}."
    rows = [row for name in ("train", "valid", "test") for row in split_rows(name, facts.record.data.get(name))]
    origin = Run(facts.run).path / "origin.json"
    started = f"\n\n{begun_from(read_record(origin))}" if origin.is_file() else ""
    return (table(("data", "files, by name", "pairs", "sha256"), rows) if rows else "Nothing is known of it.") + started


def split_rows(name: str, found: Any) -> Iterator[tuple[str, ...]]:
    if not isinstance(found, dict):
        return
    files = [plain(base_name(str(file))) for file in found.get("files") or ()]
    counts = found.get("counts")
    pairs = f"{counts['pairs']:,}" if isinstance(counts, dict) and is_number(counts.get("pairs")) else "not counted"
    yield name, ", ".join(files), pairs, plain(str(found.get("sha256", "")))


def begun_from(origin: Mapping[str, Any]) -> str:
    name, digest = base_name(str(origin.get("path", ""))), str(origin.get("sha256", ""))
    return f"Training began with the weights of another model, {plain(name)} (sha256 {plain(digest)})."


def metrics(facts: Card) -> str:
    """What the run has measured itself, and nothing else."""
    step = facts.metadata.get("step", "")
    values = validated(Run(facts.run), step) if facts.record is not None else {}
    values = values or monitored(facts.metadata)
    if not values:
        return "None was measured. `dragoman evaluate THIS_FOLDER --on test.tsv` measures, with intervals."
    rows = [(plain(name), f"{value:.4g}", plain(TITLES.get(name, ""))) for name, value in values.items()]
    chosen = f"; the step was chosen by its {plain(facts.metadata['monitor'])}" if "monitor" in facts.metadata else ""
    note = (
        f"Measured by the training itself on its validation data at step {plain(step)}, with greedy search{chosen}. No "
        "interval and no signature was kept. On data of your own, `dragoman evaluate THIS_FOLDER --on test.tsv` gives "
        "both."
    )
    return f"{table(('metric', 'value', 'meaning'), rows)}\n\n{note}"


def monitored(metadata: Mapping[str, str]) -> dict[str, float]:
    """What the weights say of themselves."""
    try:
        value = float(metadata["value"])
    except (KeyError, ValueError):
        return {}
    return {metadata.get("monitor", "value"): value} if is_number(value) else {}


def validated(run: Run, step: str) -> dict[str, float]:
    """The last validation at a step."""
    records = [record for record in read_records(run.metrics) if str(record["step"]) == step]
    found = [record["valid"] for record in records if isinstance(record.get("valid"), dict)]
    return {str(name): float(value) for name, value in found[-1].items() if is_number(value)} if found else {}


def settings(facts: Card) -> str:
    size = model_of(facts.pipeline)
    served = flatten({"model": facts.pipeline.settings.model.model_dump(mode="json", exclude_none=True)})
    rows: Rows = [("parameters", f"{size.parameters:,}")]
    rows += [(name, plain(str(value))) for name, value in served.items() if name.rsplit(".")[-1] in OF_MODEL]
    rows.append(("search", plain(facts.pipeline.settings.search.kind)))
    rows += training_rows(facts) if facts.record is not None else [("training", NOT_KNOWN)]
    return table(("setting", "value"), rows)


def training_rows(facts: Card) -> Rows:
    record = facts.record
    assert record is not None  # noqa: S101 (the caller has asked)
    logged = list(read_records(Run(facts.run).metrics))
    seconds = [float(one["seconds"]) for one in logged if is_number(one.get("seconds"))]
    flat = flatten(record.settings.get("training", {}))
    rows: Rows = [("recipe", recipe_of(Run(facts.run)))]
    rows.append(("step of these weights", plain(facts.metadata.get("step", "not known"))))
    last = record.status.get("step") or max((int(one["step"]) for one in logged), default=0)
    rows.append(("steps of the training", f"{last:,}" + ("" if record.status.get("finished") else ", unfinished")))
    rows += [("minutes of training", f"{seconds[-1] / 60:.1f}")] if seconds else []
    return rows + [(f"training.{name}", plain(str(flat[name]))) for name in OF_TRAINING if name in flat]


def recipe_of(run: Run) -> str:
    try:
        given = read_toml(run.given).table if run.given.is_file() else {}
    except ConfigError:
        given = {}
    names = [base_name(str(given[key])) for key in ("recipe", "scale") if given.get(key)]
    return plain(", ".join(names)) or "none: settings were given, or chosen from the data"


def limits(facts: Card) -> str:
    limit = facts.pipeline.settings.limits
    longer = {"cut": "is cut off", "split": "is split, and the answers to its parts are joined", "refuse": "is refused"}
    trained = "data that is not known here" if facts.record is None else "the data named above"
    lines = [
        f"At most {limit.source:,} source tokens are read at once; a longer text {longer[limit.longer]}.",
        f"An answer has at most {limit.answer:,} symbols, and at most {limit.ratio:g} × source tokens + {limit.extra}.",
        f"A symbol that is in no vocabulary is unknown to it; in an answer it is written {UNREADABLE}."
        if any(may_be_unknown(side) for side in (facts.pipeline.source, facts.pipeline.target))
        else "Every text can be spelled in its symbols; what it never met it has still not learned.",
        f"It was trained on {trained} and is not tested on any other kind of text, language or domain.",
        "It may answer wrongly, leave out, or add what the source does not say.",
    ]
    return "\n".join(f"- {line}" for line in lines)


def may_be_unknown(tokenizer: Tokenizer) -> bool:
    """Whether a text that was never met has symbols that are not known."""
    return UNKNOWN in tokenizer.encode(["\U000f0000 \u0e51"])[0]


def versions(facts: Card) -> str:
    names = ("dragoman", "torch", "tokenizers", "safetensors", "python")
    environment = {} if facts.record is None else facts.record.environment
    rows = [(name, plain(str(environment[name]))) for name in names if name in environment]
    written = f"Written by dragoman {version('dragoman')}. Weights: sha256 {weights_hash(facts)}."
    return f"{table(('trained with', 'version'), rows)}\n\n{written}" if rows else written


def weights_hash(facts: Card) -> str:
    return hash_file(model_folder(facts.run) / "model.safetensors")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def base_name(path: str) -> str:
    """A file's own name: where it lay is nobody's business."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def verbatim(text: str) -> str:
    """One line of a bounded length, for a block of code, in which nothing else has a meaning."""
    line = "".join(sign if sign.isprintable() else " " for sign in " ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def plain(text: str) -> str:
    """Text in which neither Markdown nor HTML means anything."""
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", html.escape(verbatim(text), quote=False))
