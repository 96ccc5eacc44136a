"""What a model that only reads says of frames: a label or a number of the whole, or a label of each frame."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.config import Document, validate
from dragoman.contracts import Answer, Prediction
from dragoman.data.frames import Lay, NumberFrames, PictureFrames, collate_frames
from dragoman.data.labelling import Labelling
from dragoman.data.pictures import ENDINGS, BadPictureError
from dragoman.data.readers.clips import Clips, leave_out_clip, natural, pictures_in, read_clips_alone
from dragoman.data.readers.frames import Frames, read_frames_alone, refuse_other_units
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.series import Series, SeriesStream
from dragoman.data.readers.track import Track, reason_against
from dragoman.errors import ConfigError, DataError
from dragoman.heads.labels import Pool, pooled
from dragoman.models import EncoderOnlyModel
from dragoman.pipeline.labels import Chosen, chosen_tags, ranked, said, tagged
from dragoman.pipeline.rows import batched

BATCH_FRAMES = 8_192
BATCH_NUMBERS = 6_000_000  # of all frames of a batch: 500 pictures of 64 × 64 pixels
WINDOW, CLIPS = 256, 32  # sequences that are read ahead, so that a batch holds equals

Rows = NDArray[Any]  # (frames, …) as a model reads them


@dataclass(frozen=True)
class FrameReader:
    """A model that reads frames, with all that it needs to answer."""

    model: EncoderOnlyModel
    labelling: Labelling
    lay: Lay
    limit: int  # frames that are read at once
    device: torch.device

    @property
    def window(self) -> int:
        """Sequences that are read ahead: pixels take more memory than numbers."""
        return WINDOW if isinstance(self.lay, NumberFrames) else CLIPS

    def predict(self, given: Any, policy: str) -> Answer | list[Answer]:
        """The answer to one sequence, or those to a list of them, or to all that a file holds. A list of files of
        pictures is one clip."""
        if isinstance(given, str | Path):
            problems = Problems()
            found = list(self.answers(self.in_file(str(given), problems), policy))
            if problems.count:
                raise DataError(f"{problems.first[0]}. Mend it, or leave it out.")
            return found[0] if isinstance(self.lay, PictureFrames) and is_clip(Path(given)) else found
        answers = list(self.answers(self.given(given), policy))
        return answers if self.several(given) else answers[0]

    def several(self, given: Any) -> bool:
        """Whether it is a list of sequences; one of files of pictures is one clip."""
        clip = isinstance(self.lay, PictureFrames) and isinstance(given, list | tuple) and all(map(is_picture, given))
        return isinstance(given, list | tuple) and not (clip and given)

    def given(self, one: Any) -> list[Series]:
        """An array, a track, a sequence or the files of a clip; or a list of them."""
        several = one if self.several(one) else [one]
        return [self.series_of(each, number) for number, each in enumerate(several, start=1)]

    def stream(self, given: Iterable[Any], policy: str) -> Iterator[Answer]:
        """Answers in the order of what is given: arrays, tracks or sequences; of clips folders, lists or arrays."""
        return self.answers((self.series_of(one, number) for number, one in enumerate(given, start=1)), policy)

    def answers(self, series: Iterable[Series], policy: str) -> Iterator[Answer]:
        """In their order; some are read ahead, so that a batch holds equals."""
        waiting = iter(series)
        while read := list(islice(waiting, self.window)):
            yield from self.answered(read, [self.laid(one) for one in read], policy)

    def read_of(self, one: Series) -> Series:
        """Without the pictures of a clip that no label of the whole depends on."""
        whole = isinstance(self.lay, NumberFrames) or self.labelling.what == "tags"
        return one if whole else one.first(self.limit)

    def laid(self, one: Series) -> Rows:
        """As the model reads it."""
        try:
            return self.lay(self.read_of(one))
        except BadPictureError as error:
            raise DataError(f"{one.name}: {error}.") from error

    def answered(self, series: Sequence[Series], rows: Sequence[Rows], policy: str) -> list[Answer]:
        """A label has no pieces to be joined: what is too long is cut, or refused; where each frame has one it is read
        in parts."""
        long = [one.length > self.limit for one in series]
        tags = self.labelling.what == "tags"
        if any(long) and policy == "refuse":
            one = series[long.index(True)]
            advice = "Have it read in parts (--longer split)" if tags else "Have it cut (--longer cut)"
            raise DataError(
                f"'{one.name}' has {one.length:,} frames; at most {self.limit:,} are read at once (limits.source). "
                f"{advice}, or shorten it."
            )
        found = self.tags(rows) if tags else self.labelled(rows)
        how = "split" if tags else "cut"
        return [
            Answer(one.name, each, how if over else "")  # type: ignore[arg-type]
            for one, each, over in zip(series, found, long, strict=True)
        ]

    def labelled(self, rows: Sequence[Rows]) -> list[tuple[Prediction, ...]]:
        """The number; or every label, the most probable first."""
        answers = self.said_of([row[: self.limit] for row in rows])
        return [ranked(self.labelling, answer[0]) for answer in answers]

    def tags(self, rows: Sequence[Rows]) -> list[tuple[Prediction, ...]]:
        """A label for each frame."""
        parts = [row[start : start + self.limit] for row in rows for start in range(0, len(row), self.limit)]
        found = iter(self.tagged(parts))
        return [(tagged((), [next(found) for _ in range(0, len(row), self.limit)]),) for row in rows]

    @torch.inference_mode()
    def tagged(self, rows: Sequence[Rows]) -> list[Chosen]:
        """A label for each frame of each row."""
        found: dict[int, Chosen] = {}
        for numbers in self.batches(rows):
            batch = collate_frames([rows[number] for number in numbers]).to(self.device)
            chosen = chosen_tags(self.model, self.labelling, batch, batch.sources["source"].mask)
            found |= dict(zip(numbers, chosen, strict=True))
        return [found[number] for number in range(len(rows))]

    @torch.inference_mode()
    def said_of(self, rows: Sequence[Rows]) -> list[Tensor]:
        """What the head says of each row: log-probabilities (1, labels), or a number (1,)."""
        found: dict[int, Tensor] = {}
        for numbers in self.batches(rows):
            answers = said(self.model, collate_frames([rows[number] for number in numbers]).to(self.device)).cpu()
            found |= dict(zip(numbers, answers, strict=True))
        return [found[number] for number in range(len(rows))]

    @torch.inference_mode()
    def vectors(self, rows: Sequence[Rows], pool: Pool) -> NDArray[np.float32]:
        """One for each row: the states of its frames, pooled."""
        found = np.zeros((len(rows), self.model.encoder.width), np.float32)
        for numbers in self.batches([row[: self.limit] for row in rows]):
            batch = collate_frames([rows[number][: self.limit] for number in numbers]).to(self.device)
            found[numbers] = pooled(self.model.encode(batch).sequences["source"], pool).float().cpu().numpy()
        return found

    def batches(self, rows: Sequence[Rows]) -> Iterator[list[int]]:
        """Of about the same length, within what memory bears."""
        lengths = [len(row) for row in rows]
        each = max(1, int(np.prod(rows[0].shape[1:]))) if rows else 1
        budget = max(1, min(BATCH_FRAMES, BATCH_NUMBERS // each))
        return batched(sorted(range(len(rows)), key=lengths.__getitem__), lengths, budget)

    def in_file(self, file: str, problems: Problems, reading: Mapping[str, Any] | None = None) -> SeriesStream:
        """The sequences of a file of which nothing is known; what is wrong with the others goes to `problems`. Clips
        may be a folder of pictures, or a folder of such folders. `reading` takes the place of how the run's own files
        were read."""
        how = {**self.labelling.reading, **(reading or {})}
        document = Document(dict(reading or {}), "data")
        if isinstance(self.lay, PictureFrames):
            if reading and Path(file).is_dir():
                raise ConfigError(
                    f"data.{next(iter(reading))} is about files that name pictures, and {file} is a folder of them. "
                    "Leave it out."
                )
            clips = validate(Clips, how, document)
            alone = read_clips_alone(clips, [file], problems)
            return self.seen(in_folder(Path(file), problems) if Path(file).is_dir() else alone, problems)
        data = validate(Frames, how, document)
        refuse_other_units([file], data, self.lay.scale.features)
        return read_frames_alone(data, [file], problems)

    def seen(self, clips: SeriesStream, problems: Problems) -> SeriesStream:
        """With their pixels in the place of files; those with a picture that cannot be read go to `problems`."""
        for one in map(self.read_of, clips):
            try:
                yield replace(one, frames=self.lay(one))
            except BadPictureError as error:
                leave_out_clip(problems, one.line, error)

    def series_of(self, given: Any, number: int) -> Series:
        """A sequence as it is, a track, or an array (frames, features) in the units of the training data."""
        if isinstance(given, Series):
            return given
        if isinstance(self.lay, PictureFrames):
            return clip_of(given, number)
        features = self.lay.scale.features
        if isinstance(given, Track):
            given = given.values
        try:
            values = np.asarray(given, np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"Sequence {number:,} is no table of numbers: frames of {len(features)} numbers each are wanted "
                f"({', '.join(map(str, features))})."
            ) from error
        if values.ndim != 2 or values.shape[1] != len(features) or not len(values):
            raise DataError(
                f"Sequence {number:,} has the shape {values.shape}, and this model reads (frames, {len(features)}): "
                f"{', '.join(map(str, features))}."
            )
        if np.isinf(values).any():
            raise DataError(f"Sequence {number:,} holds infinite numbers.")
        if reason := reason_against(values, features, str(self.labelling.reading.get("missing", "refuse"))):
            raise DataError(f"Sequence {number:,}: {reason}.")
        return Series(str(number), values, (), number)


def is_picture(given: Any) -> bool:
    """Whether it is the name of a file of a picture."""
    return isinstance(given, str | Path) and Path(given).suffix.lower() in ENDINGS and not Path(given).is_dir()


def is_clip(folder: Path) -> bool:
    """Whether a folder has pictures itself."""
    return folder.is_dir() and any(path.suffix.lower() in ENDINGS for path in folder.iterdir())


def in_folder(folder: Path, problems: Problems) -> SeriesStream:
    """The clip that a folder is, or one for each folder in it."""
    inside = [folder] if is_clip(folder) else [path for path in folder.iterdir() if path.is_dir()]
    before = problems.begin(str(folder), 0)
    for number, clip in enumerate(sorted(inside, key=lambda path: natural(path.name)), start=1):
        problems.lines += 1
        try:
            yield Series(clip.name, pictures_in(clip), (), before + number)
        except BadPictureError as error:
            problems.add(str(folder), number, f"{clip.name}: {error}")


def clip_of(given: Any, number: int) -> Series:
    """A folder; a list of files or of pictures; or pixels (frames, rows, columns, 3)."""
    try:
        if isinstance(given, str | Path):
            return Series(str(given), pictures_in(Path(given)), (), number)
    except BadPictureError as error:
        raise DataError(f"{given}: {error}.") from error
    if not isinstance(given, np.ndarray):
        given = [str(one) if isinstance(one, Path) else one for one in given] if isinstance(given, Iterable) else []
    if not len(given) or (isinstance(given, np.ndarray) and given.ndim != 4):
        shape = f" (shape {given.shape})" if isinstance(given, np.ndarray) else ""
        raise DataError(
            f"Clip {number:,} has no frames that can be read{shape}. Give a folder, a list of files or of pictures, or "
            "bytes (frames, rows, columns, 3)."
        )
    return Series(str(number), given if isinstance(given, np.ndarray) else tuple(given), (), number)
