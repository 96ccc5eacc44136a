"""dragoman data with data.kind=tracks, frames, clips or captions."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dragoman.cli.progress import plain_console
from dragoman.cli.survey import findings_lines, picture
from dragoman.config import Document, validate
from dragoman.data.readers.captions import Captions
from dragoman.data.readers.captions import columns_of as layout_of_captions
from dragoman.data.readers.clips import Clips
from dragoman.data.readers.clips import layout_of as layout_of_clips
from dragoman.data.readers.frames import Frames
from dragoman.data.readers.frames import layout_of as layout_of_frames
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.pairs import SPLITS
from dragoman.data.readers.track import Wanted
from dragoman.data.readers.tracks import described
from dragoman.data.sequence_survey import Sequences, SequenceSurvey, survey_sequences
from dragoman.errors import ConfigError

KINDS: dict[str, type[Sequences]] = {"tracks": Futures, "frames": Frames, "clips": Clips, "captions": Captions}
MEASURED = {"tracks": "steps", "frames": "frames", "clips": "frames", "captions": "words"}
CALLED = {"frames": "sequences"}
SHOWN = 30  # labels


def survey_sequence_files(table: Mapping[str, Any], as_json: bool) -> Iterator[SequenceSurvey]:
    """Say what is in the files of each split, and yield what was found."""
    import json

    data = validate(KINDS[table["kind"]], dict(table), Document(dict(table), "command line"))
    if not data.train:
        raise ConfigError(f"There is nothing to look at: name a file of {data.kind}.")
    names = [name for name in SPLITS if data.has(name)]
    for file in (file for name in names for file in data.files(name)):
        print(f"{file}: {layout(file, data)}", file=sys.stderr)
    surveys = {name: survey_sequences(data, name, progress) for name in names}
    summaries = {name: survey.summary() for name, survey in surveys.items()}
    if as_json:
        print(json.dumps(summaries, ensure_ascii=False))
    else:
        for name, summary in summaries.items():
            print_split(name, summary)
    yield from surveys.values()


def layout(file: str, data: Sequences) -> str:
    if isinstance(data, Captions):
        return str(layout_of_captions(file, data))
    if isinstance(data, Clips):
        return layout_of_clips(file, data)
    if isinstance(data, Frames):
        return layout_of_frames(file, data)
    named = (*data.predicts, *data.reads, *data.context)
    return described(file, Wanted(data.format, data.id_field, named, (), data.missing))


def progress(done: int) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{done:,}", end="\r", file=sys.stderr, flush=True)


def print_split(name: str, summary: Mapping[str, Any]) -> None:
    console, kind = plain_console(), summary["kind"]
    pictures = f" of {summary['pictures']:,} pictures" if "pictures" in summary else ""
    told = f"{summary['examples']:,} {CALLED.get(kind, kind)}{pictures} on {summary['lines']:,} lines"
    console.print(f"\n{name}: {told}", style="bold")
    for line in findings_lines(summary["findings"]) if summary["findings"] else ["  nothing odd"]:
        console.print(line, soft_wrap=True)
    if "windows" in summary:
        console.print(f"  {summary['windows']:,} windows; {summary['too_short']:,} tracks are too short for one")
    if summary["lengths"] is not None:
        for line in picture(summary["lengths"], MEASURED[kind]):
            console.print(f"  {line}", soft_wrap=True)
    for line in (*feature_lines(summary.get("features", ())), *label_lines(summary)):
        console.print(f"  {line}", soft_wrap=True)


def feature_lines(features: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """x [m]   0 … 11, mean 5.5, 3 missing"""
    titles = [f"{one['name']} [{one['unit']}]" if one["unit"] else one["name"] for one in features]
    width = max(map(len, titles), default=0)
    for title, one in zip(titles, features, strict=True):
        known = one["least"] is not None
        values = f"{one['least']:.6g} … {one['most']:.6g}, mean {one['mean']:.6g}" if known else "no value"
        yield f"{title:<{width}}  {values}" + (f", {one['missing']:,} missing" if one["missing"] else "")


def label_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    labels = summary.get("labels") or summary.get("tags") or {}
    if not labels:
        return
    what = f"labels of {summary['labels_of']}" if "labels_of" in summary else "tags"
    shown = [f"{label} {count:,}" for label, count in list(labels.items())[:SHOWN]]
    more = f" and {len(labels) - SHOWN:,} more" if len(labels) > SHOWN else ""
    yield f"{len(labels):,} {what}: {', '.join(shown)}{more}"
