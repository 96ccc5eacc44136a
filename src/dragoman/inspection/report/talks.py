"""Conversations of the report: what was said, what the model would say, and what was said in truth."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.data.tokenizers.conversation import turns_of
from dragoman.drawing.conversation import STYLE, table
from dragoman.errors import ConfigError
from dragoman.inspection.report.answers import Example
from dragoman.inspection.report.page import Html, element, section
from dragoman.pipeline import Pipeline
from dragoman.pipeline.turns import look_at_turns

__all__ = ["STYLE", "Talk", "examine_talks", "talks_section"]

SHOWN = 8


@dataclass(frozen=True)
class Talk:
    """A conversation, drawn, and what was said next in truth."""

    drawn: str  # HTML
    truth: str


def examine_talks(pipeline: Pipeline, examples: Sequence[Example], most: int = SHOWN) -> tuple[Talk, ...]:
    """Some of them, spread over all; none where the model reads no conversations."""
    if not pipeline.talks:
        return ()
    chosen = [examples[len(examples) * number // most] for number in range(min(most, len(examples)))]
    return tuple(Talk(drawn(pipeline, one), one.references[0]) for one in chosen)


def drawn(pipeline: Pipeline, one: Example) -> str:
    """With the share of all looks of each turn, and words shaded by theirs, if the model looks at anything."""
    turns = turns_of(one.source)
    try:
        looks = look_at_turns(pipeline, turns, one.answer)
    except ConfigError:
        read = turns[-pipeline.settings.conversation.turns :]
        return table([()] * len(read), read, None, None, one.answer)
    return table(looks.turns, looks.texts, looks.shares(), looks.words(), one.answer, looks.between)


def talks_section(talks: Sequence[Talk]) -> Html:
    how = (
        "What was said in some conversations, as far as the model reads it; behind the arrow what it would say next, "
        "and below what was said in truth. Bars are the share of all looks that a turn got, words are shaded by theirs."
    )
    shown = [element("div", Html(one.drawn), element("p", f"In truth: {one.truth}", class_="how")) for one in talks]
    return section("conversations", "Conversations", how, *shown)
