"""A conversation as one sequence of symbols: its latest turns, END between them."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import Field, model_validator

from dragoman.config import Config
from dragoman.data.tokenizers.base import END, Encode

SEPARATOR = (
    "\x1e"  # between the turns of a conversation in one text: no text holds it, since readers refuse control characters
)
MOST_TURNS = 64

Length = Annotated[int, Field(ge=1, le=1_000_000)]


class Conversation(Config):
    """How much of a conversation is read before a turn is answered."""

    turns: Annotated[int, Field(ge=0, le=MOST_TURNS)] = 0
    """turns that are read, the latest ones; 0: the model reads texts, and no conversations"""
    turn_length: Length = 60
    """symbols of a turn; of a longer one the last are read"""
    length: Length = 400
    """symbols in all, END between two turns counted; where there are more, the oldest turns are left out"""

    @model_validator(mode="after")
    def _room_for_a_turn(self) -> "Conversation":
        if self.turn_length > self.length:
            raise ValueError(
                f"turn_length = {self.turn_length} is more than length = {self.length}, the symbols of all turns; set "
                f"turn_length = {self.length} at most"
            )
        return self


def as_text(turns: Iterable[str]) -> str:
    """Turns as one text."""
    return SEPARATOR.join(turns)


def turns_of(text: str) -> list[str]:
    return text.split(SEPARATOR)


def shown(text: str) -> str:
    """A conversation for people to read."""
    return text.replace(SEPARATOR, " ⏎ ")


def latest(text: str, turns: int) -> str:
    """Its last turns."""
    return as_text(turns_of(text)[-turns:])


def encode_turns(encode: Encode, texts: Sequence[str], how: Conversation) -> list[list[int]]:
    """The symbols of each conversation; a turn without symbols is none."""
    spoken = [[turn for turn in turns_of(text) if turn.strip()][-how.turns :] for text in texts]
    symbols = iter(encode([turn for turns in spoken for turn in turns]))
    return [within(how, [next(symbols) for _ in turns]) for turns in spoken]


def within(how: Conversation, turns: list[list[int]]) -> list[int]:
    """As many turns as there is room for, from the last back."""
    found: list[int] = []
    for turn in reversed(turns):
        kept = turn[-how.turn_length :]
        if found and len(kept) + 1 + len(found) > how.length:
            break
        if kept:
            found = [*kept, END, *found] if found else kept
    return found
