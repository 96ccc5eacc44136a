"""dragoman look at a model that reads conversations: which turns and words it looked at."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.drawing.terminal import Colours
    from dragoman.pipeline import Pipeline
    from dragoman.pipeline.turns import TurnLooks


def look_at_conversation(
    pipeline: "Pipeline",
    turns: list[str],
    target: list[str] | None,
    width: int | None,
    shown: "tuple[Path | None, bool, Colours, bool, bool]",
    unused: dict[str, object],
) -> None:
    """All texts are the turns of one conversation; a picture of it in the terminal, on a page or as JSON."""
    from dragoman.pipeline.turns import look_at_turns

    for name, value in unused.items():
        if value:
            raise ConfigError(
                f"{name} is not for conversations: they are drawn in the terminal, or on a page (--html)."
            )
    if target is not None and len(target) > 1:
        raise ConfigError(f"All texts are turns of one conversation, which has one answer; there are {len(target)}.")
    html, json, colours, values, entropies = shown
    looks = look_at_turns(pipeline, turns, None if target is None else target[0], width)
    if json:
        print_json(looks)
    if html is not None:
        from dragoman.cli.look import write

        write(html, page_of(looks, values, entropies))
    if not json and html is None:
        print_looks(looks, colours, values, entropies)


def note(looks: "TurnLooks") -> str:
    best = looks.prediction
    unfinished = "" if best.finished else ", unfinished"
    return f"score {best.score:.4f}, log-probability {best.log_probability:.4f}{unfinished}"


def meaning(looks: "TurnLooks") -> str:
    return "how much each turn was looked at" if looks.direct else "how much the words of each turn were looked at"


def print_looks(looks: "TurnLooks", colours: "Colours", values: bool, entropies: bool) -> None:
    from dragoman.drawing.conversation import bars
    from dragoman.drawing.terminal import columns_of, is_light, text

    width, light = columns_of(), is_light()
    print("\n".join(bars(looks.texts, looks.shares(), width)))
    print(f"  → {looks.prediction.text}  ({note(looks)})")
    print(f"\nTurns ({meaning(looks)}, symbol by symbol):")
    print(text(looks.by_turn, colours, width, values, light, entropies, across="turns"))
    if looks.by_word is not None:
        print("\nWords:")
        print(text(looks.by_word, colours, width, values, light, entropies))


def page_of(looks: "TurnLooks", values: bool, entropies: bool) -> str:
    from dragoman.drawing import page
    from dragoman.drawing.conversation import STYLE, table
    from dragoman.drawing.svg import svg

    talk = table(looks.turns, looks.texts, looks.shares(), looks.words(), looks.prediction.text, looks.between)
    figures = [f"<figure><figcaption>{meaning(looks)}; {note(looks)}</figcaption>{talk}</figure>"]
    drawn = [("Turns", looks.by_turn)] + ([] if looks.by_word is None else [("Words", looks.by_word)])
    for name, alignment in drawn:
        picture = svg(alignment, values=values, entropies=entropies)
        figures.append(f'<figure><figcaption>{name}</figcaption><div style="overflow-x:auto">{picture}</div></figure>')
    return page.page(figures, "A conversation, and where the model looked", STYLE)


def print_json(looks: "TurnLooks") -> None:
    import json
    from dataclasses import asdict

    facts: dict[str, Any] = {"turns": looks.texts, "shares": looks.shares(), "direct": looks.direct}
    facts |= {"by_turn": looks.by_turn.weights, **asdict(looks.prediction)}
    print(json.dumps(facts, ensure_ascii=False))
