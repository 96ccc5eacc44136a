"""Frames in their order, numbers or pictures, and what is said of them."""

import hashlib
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from dragoman.data.labelling import What
from dragoman.data.readers.example import leave_out
from dragoman.data.readers.files import FilesWithAnswers
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.picture_places import Place

# What columns of labels are usually called, in small letters.
NAMES = "label labels class category tag tags gesture activity action state phase score rating"
LABELS = tuple(NAMES.split())


@dataclass(frozen=True)
class Series:
    """Numbers of each step, or the files of pictures; its labels are none where nothing is known of it."""

    name: str
    frames: NDArray[Any] | tuple[Any, ...]  # (steps, features), pixels, numbers in a gallery; or paths, or pictures
    labels: tuple[str, ...]  # one; or one a frame
    line: int  # where it begins, 1-based, counted over all files
    place: Place | None = None  # where its pictures are read from; none: their names are paths
    uncut: int = 0  # frames that it has, where not all of them are read
    folder: str = ""  # of a clip that is one: where it lies within the folder around all of them

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def length(self) -> int:
        """Frames that it has, be they read or not."""
        return max(self.uncut, len(self))

    def first(self, frames: int) -> "Series":
        """Cut before any picture of it is opened."""
        return replace(self, frames=self.frames[:frames], uncut=self.length) if len(self) > frames else self

    @property
    def content(self) -> str:
        """By which equals are known."""
        if isinstance(self.frames, tuple):
            return self.folder or posixpath.normpath(self.name)
        return hashlib.sha256(self.frames.tobytes()).hexdigest()


SeriesStream = Iterator[Series]


def labelled(series: SeriesStream, what: What, problems: Problems) -> SeriesStream:
    """Those that have the labels that are to be learned: one of the whole, or one of each frame; the others are counted
    and located."""
    for one in series:
        if reason := reason_against(one, what):
            leave_out(problems, one.line, reason)
        else:
            yield one if what == "tags" else replace(one, labels=one.labels[:1])


def reason_against(one: Series, what: What) -> str:
    if not len(one):
        return "no frames"
    if not one.labels or not all(label.strip() for label in one.labels):
        return "empty label"
    if what != "tags":
        several = len({*one.labels}) > 1
        return "several labels in one sequence (model.head.kind=tags learns one a frame)" if several else ""
    if len(one.labels) == 1 < len(one):
        return "one label for all frames (model.head.kind=labels learns it)"
    if len(one.labels) == len(one):
        return ""
    return f"{'fewer' if len(one.labels) < len(one) else 'more'} labels than frames"


def in_split(series: SeriesStream, name: SplitName, data: FilesWithAnswers) -> SeriesStream:
    """What is held out depends on the frames alone, so that equals stay together."""
    if not (data.holds_out or data.holds_out_test):  # content takes time
        return series
    return (one for one in series if data.keeps(one.content, name))
