"""What is in files of tracks, frames, clips and captions, before anything is learned from them."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dragoman.data.lengths import Lengths
from dragoman.data.pictures import BadPictureError, require_pillow
from dragoman.data.readers.captions import Captions, read_captions_split
from dragoman.data.readers.clips import Clips, clips_in, fields_of, leave_out_clip, pixels_of_clip
from dragoman.data.readers.example import leave_out
from dragoman.data.readers.frames import Frames, label_field_of, wanted_of
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.series import Series, in_split
from dragoman.data.readers.track import Feature, Values, Wanted, reason_against
from dragoman.data.readers.tracks import read_tracks
from dragoman.data.survey import Summary, finding

Sequences = Futures | Frames | Clips | Captions
Progress = Callable[[int], None]
TRIED = 8  # pixels along a side: what can be read at all can be read so


class Ranges:
    """Least, most and mean of each feature, and how many of its values are missing."""

    def __init__(self) -> None:
        self.features: tuple[Feature, ...] = ()
        self.least = self.most = self.sums = np.zeros(0)
        self.known = self.missing = np.zeros(0, np.int64)

    def add(self, features: Sequence[Feature], values: Values) -> None:
        if not self.features:
            self.features, size = tuple(features), len(features)
            self.least, self.most, self.sums = np.full(size, np.inf), np.full(size, -np.inf), np.zeros(size)
            self.known, self.missing = np.zeros(size, np.int64), np.zeros(size, np.int64)
        absent = np.isnan(values)
        self.least = np.minimum(self.least, np.where(absent, np.inf, values).min(0, initial=np.inf))
        self.most = np.maximum(self.most, np.where(absent, -np.inf, values).max(0, initial=-np.inf))
        self.sums = self.sums + np.where(absent, 0.0, values).sum(0)
        self.known, self.missing = self.known + (~absent).sum(0), self.missing + absent.sum(0)

    def summary(self) -> list[Summary]:
        return [
            {
                "name": feature.name,
                "unit": feature.unit,
                "least": float(self.least[place]) if self.known[place] else None,
                "most": float(self.most[place]) if self.known[place] else None,
                "mean": float(self.sums[place] / self.known[place]) if self.known[place] else None,
                "missing": int(self.missing[place]),
            }
            for place, feature in enumerate(self.features)
        ]


class SequenceSurvey:
    """One split, looked at while it is read."""

    def __init__(self, kind: str) -> None:
        self.kind, self.problems = kind, Problems()
        self.examples, self.lengths = 0, Lengths()
        self.facts: Summary = {}

    def add(self, length: int) -> None:
        self.examples += 1
        self.lengths.add(np.array([length]))

    def summary(self) -> Summary:
        problems = self.problems
        found = [
            finding(reason, count, problems.lines, problems.places[reason])
            for reason, count in problems.reasons.most_common()
        ]
        told: dict[str, Any] = {"kind": self.kind, "lines": problems.lines, "examples": self.examples}
        return told | {"findings": found, "lengths": self.lengths.as_json(), **self.facts}


def survey_sequences(data: Sequences, name: SplitName, progress: Progress) -> SequenceSurvey:
    """Read a split for its survey alone."""
    survey = SequenceSurvey(data.kind)
    if isinstance(data, Futures):
        survey_tracks(data, name, survey, progress)
    elif isinstance(data, Frames):
        survey_frames(data, name, survey, progress)
    elif isinstance(data, Clips):
        survey_clips(data, name, survey, progress)
    else:
        survey_captions(data, name, survey, progress)
    return survey


def survey_tracks(data: Futures, name: SplitName, survey: SequenceSurvey, progress: Progress) -> None:
    """Also how many windows they have, and how many are too short for one."""
    ranges, windows, short = Ranges(), 0, 0
    wanted = Wanted(data.format, data.id_field, (*data.predicts, *data.reads, *data.context), (), "allow")
    for track in read_tracks(data.files(name), wanted, survey.problems):
        if not data.in_split(track, name):
            continue
        ranges.add(track.features, track.values)
        if reason := reason_against(track.values, track.features, data.missing):
            leave_out(survey.problems, track.line, reason)
            continue
        survey.add(len(track))
        own = max(0, (len(track) - data.past - data.future) // data.stride + 1)
        count = int(0 < track.past < len(track)) if track.past is not None else own
        windows, short = windows + count, short + (count == 0)
        progress(survey.examples)
    survey.facts = {"features": ranges.summary(), "windows": windows, "too_short": short}


def survey_frames(data: Frames, name: SplitName, survey: SequenceSurvey, progress: Progress) -> None:
    """Labels are counted of sequences where each has one, else of frames."""
    ranges, labels = Ranges(), Labels()
    for file in data.files(name):
        label = label_field_of(file, data)
        wanted = Wanted(data.format, data.id_field, wanted_of(data, label).features, (label,), "allow")
        for track in read_tracks([file], wanted, survey.problems):
            series = Series(track.name, track.values, track.texts[label], track.line)
            if not list(in_split(iter([series]), name, data)):
                continue
            ranges.add(track.features, track.values)
            why = reason_against(track.values, track.features, data.missing)
            if reason := why or ("" if len(track) else "no frames") or labels.reason(track.texts[label], len(track)):
                leave_out(survey.problems, track.line, reason)
                continue
            survey.add(len(track))
            labels.add(track.texts[label])
            progress(survey.examples)
    survey.facts = {"features": ranges.summary(), **labels.summary()}


class Labels:
    """How often each label occurs: of sequences, and of frames where there is one for each."""

    def __init__(self) -> None:
        self.whole, self.frames, self.several = Counter[str](), Counter[str](), False

    def reason(self, labels: Sequence[str], frames: int) -> str:
        """Why these are no labels."""
        if not labels or not all(label.strip() for label in labels):
            return "empty label"
        return "" if len(labels) in (1, frames) else f"{len(labels):,} labels of {frames:,} frames"

    def add(self, labels: Sequence[str]) -> None:
        self.whole[labels[0]] += 1
        self.frames.update(labels)
        self.several = self.several or len({*labels}) > 1

    def summary(self) -> Summary:
        counts = self.frames if self.several else self.whole
        return {"labels_of": "frames" if self.several else "sequences", "labels": dict(counts.most_common())}


def survey_clips(data: Clips, name: SplitName, survey: SequenceSurvey, progress: Progress) -> None:
    """Every picture is opened."""
    require_pillow()
    labels = Labels()
    for file in data.files(name):
        series = clips_in(file, data, fields_of(file, data), survey.problems)
        for one in in_split(series, name, data):
            try:
                pixels_of_clip(one, TRIED, "stretch")
            except BadPictureError as error:
                leave_out_clip(survey.problems, one.line, error)
                continue
            if reason := labels.reason(one.labels, len(one)):
                leave_out(survey.problems, one.line, reason)
                continue
            survey.add(len(one))
            labels.add(one.labels)
            progress(survey.examples)
    survey.facts = labels.summary()


def survey_captions(data: Captions, name: SplitName, survey: SequenceSurvey, progress: Progress) -> None:
    """Every picture is opened, once; lengths are those of captions in words."""
    require_pillow()
    tags, pictures = Counter[str](), dict[str, str]()  # of a picture, why it cannot be read
    for one in read_captions_split(data, name, survey.problems):
        key = one.place.key(one.picture)
        if key not in pictures:
            try:
                one.place.pixels(one.picture, TRIED, "stretch")
                pictures[key] = ""
            except BadPictureError as error:
                pictures[key] = f"the picture is {error}"
        if pictures[key]:
            leave_out(survey.problems, one.line, pictures[key])
            continue
        for tag, caption in one.captions:
            survey.add(len(caption.split()))
            tags.update([tag] if tag else [])
        progress(survey.examples)
    good = sum(not reason for reason in pictures.values())
    survey.facts = {"pictures": good, "tags": dict(tags.most_common())}
