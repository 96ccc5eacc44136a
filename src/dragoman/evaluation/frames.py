"""What a model says of frames beside what is true of them, block by block."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from dragoman.config import Document, validate
from dragoman.contracts import Answer
from dragoman.data.frames import PictureFrames
from dragoman.data.labelling import Labelling, judged
from dragoman.data.readers.clips import Clips, read_clips
from dragoman.data.readers.frames import Frames, read_frames, refuse_other_units
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.series import Series, SeriesStream
from dragoman.evaluation.beside import MOST_TEST_NUMBERS, features_of
from dragoman.pipeline import Pipeline
from dragoman.watching import Watch


@dataclass
class Answered:
    """Answers and truths, as metrics take them."""

    found: list[Any] = field(default_factory=list)
    true: list[Any] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    cut: int = 0
    features: list[Any] = field(default_factory=list)  # of each sequence, as baselines read it; none if too many
    numbers: int = 0  # of all these features

    def remember(self, features: list[Any]) -> None:
        self.numbers += sum(one.size for one in features)
        self.features = [*self.features, *features] if self.numbers <= MOST_TEST_NUMBERS else []

    def add(self, one: Series, answer: Answer, labelling: Labelling) -> None:
        self.texts.append(answer.text)
        self.cut += answer.longer == "cut"
        if labelling.what == "numbers":
            self.found.append(answer.score)
            self.true.append(float(one.labels[0]))
        else:
            self.found.append(list(answer.tokens) if labelling.what == "tags" else [answer.text])
            self.true.append(list(one.labels))


def answer_frames(
    pipeline: Pipeline,
    files: Sequence[str],
    reading: dict[str, Any],
    longer: str | None,
    problems: Problems,
    unseen: Problems,
    watch: Watch,
    compared: bool = False,
) -> Answered:
    """Answer every sequence once; no more than a block of them is in memory, and their features if they are
    `compared` with baselines."""
    answered, labelling, reader = Answered(), pipeline.known_labels, pipeline.frame_reader
    series = told_frames(pipeline, files, reading, problems, unseen)
    while block := list(islice(series, reader.window)):
        answers = reader.answers(block, longer or pipeline.settings.limits.longer)
        for one, answer in zip(block, answers, strict=True):
            answered.add(one, answer, labelling)
        if compared and answered.numbers <= MOST_TEST_NUMBERS:
            answered.remember([features_of(one, labelling.what) for one in block])
        watch("answered", len(answered.found), 0)  # nobody knows how many there are before the files are read
    return answered


def told_frames(
    pipeline: Pipeline, files: Sequence[str], reading: dict[str, Any], problems: Problems, unseen: Problems
) -> SeriesStream:
    """The sequences of files with what is true of them, read as those of the training were."""
    labelling = pipeline.known_labels
    reader, document = pipeline.frame_reader, Document(reading, "data")
    if isinstance(reader.lay, PictureFrames):
        clips = read_clips(validate(Clips, reading, document), files, labelling.what, problems)
        series = reader.seen(clips, problems)
    else:
        data = validate(Frames, reading, document)
        refuse_other_units(files, data, reader.lay.scale.features)
        series = read_frames(data, files, labelling.what, problems)
    return (one for one in series if judged(one, labelling, problems, unseen))
