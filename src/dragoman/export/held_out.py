"""Lines that a model was not trained on, to prove an export with."""

from collections.abc import Sequence
from itertools import islice, pairwise
from pathlib import Path

from dragoman.data.readers.pairs import read_lines
from dragoman.data.store import Store
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.pairs import read_items
from dragoman.export import Wanted
from dragoman.pipeline import Pipeline
from dragoman.runs import Run
from dragoman.storage import read_json


def held_out(run: Path, wanted: Wanted, pipeline: Pipeline) -> list[str]:
    """Source texts: of the files that were named (pairs, or plain lines), else of the run's validation data."""
    if pipeline.talks:
        raise ConfigError(
            "This model reads conversations (conversation.turns), whose turns no other form holds yet. It answers by "
            "`dragoman chat` and `dragoman predict`; RUN/model is a folder of its own, which can be copied."
        )
    texts = sources_of(wanted.on) if wanted.on else validated(Run(run), pipeline, wanted.lines)
    chosen = list(islice((text for text in texts if text.strip()), wanted.lines))
    if not chosen:
        raise DataError(f"There is no line to check the export on in {' and '.join(wanted.on)}.")
    return chosen


def within_limits(texts: Sequence[str], pipeline: Pipeline) -> list[str]:
    """Those that a model reads whole."""
    longest = pipeline.settings.limits.source
    rows = pipeline.source.encode(list(texts))
    found = [text for text, row in zip(texts, rows, strict=True) if 0 < len(row) <= longest]
    if not found:
        raise DataError(f"There is no line of 1 to {longest:,} symbols (limits.source) to check the export on.")
    return found


def sources_of(files: tuple[str, ...]) -> list[str]:
    try:
        return [source for source, _ in read_items(files)[0]]
    except DataError:
        if len(files) > 1:
            raise
        return list(read_lines(files[0]))  # sources alone


def validated(run: Run, pipeline: Pipeline, most: int) -> list[str]:
    """As the run has encoded them: the files themselves may have gone."""
    folder = run.stores / "valid"
    facts = read_json(folder / "store.json") if (folder / "store.json").is_file() else {}
    store = Store.open(folder, str(facts.get("signature", "")))
    if store is None or not len(store):
        raise ConfigError(
            f"{run.path} has no validation data to check the export on. Name a file with lines that the model was not "
            "trained on: --on test.tsv."
        )
    chunk = store.chunk(0)
    ends = chunk.source_offsets[: most + 1].tolist()
    return [pipeline.source.decode(chunk.source[first:end].tolist()) for first, end in pairwise(ends)]
