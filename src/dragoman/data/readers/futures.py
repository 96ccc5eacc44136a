"""Tracks as pasts with their futures: which features are which, and where a track is cut."""

from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt, field_validator, model_validator

from dragoman.config import Choices
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.track import Track
from dragoman.data.readers.tracks import TrackFiles

Frame = Literal["absolute", "last", "steps"]
FRAMES: dict[Frame, str] = {
    "absolute": "x_t, as it stands in the file",
    "last": "x_t − x_S, from the last point of the past: where a track is does not matter (Becker et al. 2018)",
    "steps": "x_t − x_(t−1), from the point before: a velocity (Becker et al. 2018)",
}
Turns = Literal["none", "any", "right"]
TURNS: dict[Turns, str] = {
    "none": "as they stand in the file",
    "any": "by any angle (Salzmann et al. 2020)",
    "right": "by a right angle, or none, and mirrored or not: walls and paths stay along the axes",
}
Steps = Annotated[PositiveInt, Field(le=100_000)]


class Futures(TrackFiles):
    """Tracks whose first steps are read and whose next steps are predicted: cut out of long tracks by windows, or given
    as pasts and futures; from CSV, JSON lines or NPZ."""

    kind: Literal["tracks"] = "tracks"
    predicts: tuple[str, ...] = ()
    """features whose future is predicted, e.g. ["x", "y"] (empty: all that `reads` and `context` do not name)"""
    reads: tuple[str, ...] = ()
    """further features that are read of the past"""
    context: tuple[str, ...] = ()
    """features that are known of the future too (commands, plans, readings of sensors): the decoder is given them step
    by step, and they are read of the past as well"""
    neighbours: Annotated[int, Field(ge=0, le=64)] = 0
    """tracks beside each that are read with its past, those that are nearest at its end; JSON lines have them in a
    field "neighbours", and other files have none"""
    past: Steps = 8
    """steps that are read"""
    future: Steps = 12
    """steps that are predicted"""
    stride: Steps = 1
    """steps from the beginning of one window of a long track to that of the next"""
    frame: Annotated[Frame, Choices(FRAMES)] = "last"
    """what the predicted features are told from: absolute, last, steps"""
    position: bool = False
    """whether a model also reads where each point of the past is, as it stands in the file, beside the frame: for
    scenes whose walls and paths stay where they are"""
    turns: Annotated[Turns, Choices(TURNS)] = "none"
    """how two predicted features are turned in every epoch, as if the scene were: none, any or right; keyed by seed,
    epoch and example; needs a frame without a place"""
    noise: Annotated[float, Field(ge=0, le=1e30)] = 0.0
    """standard deviation, in the unit of the data, of noise that training adds to the points of the past but the last,
    keyed as turns are: so that a model does not trust small movements (Bishop 1995)"""

    @field_validator("predicts", "reads", "context", mode="before")
    @classmethod
    def _names(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str) else given

    @model_validator(mode="after")
    def _fits(self) -> "Futures":
        named = (*self.predicts, *self.reads, *self.context)
        if twice := sorted({name for name in named if named.count(name) > 1}):
            raise ValueError(f"'{twice[0]}' is named twice: a feature is predicted, read, or context")
        if self.position and self.frame == "absolute":
            raise ValueError("position = true has no effect with frame = 'absolute', which is the position: remove it")
        if self.position and self.turns != "none":
            raise ValueError(
                f"position = true and turns = '{self.turns}' exclude each other: a turned scene is elsewhere"
            )
        if self.turns != "none":
            if self.frame == "absolute":
                raise ValueError(
                    f"turns = '{self.turns}' is for points without a place of their own: set frame = 'last' or 'steps'"
                )
            if len(self.predicts) not in (0, 2) or self.reads or self.context:
                raise ValueError(
                    f"turns = '{self.turns}' turns two features, which `predicts` names, and no others can be "
                    "turned with them: leave reads and context out"
                )
        return self

    def in_split(self, track: Track, name: SplitName) -> bool:
        """What is held out depends on the name of a track alone, so that all its windows stay together."""
        return self.keeps(track.name, name)
