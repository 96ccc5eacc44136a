"""dragoman demo: the whole path in a few minutes, on data that comes with a package or is made up."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from dragoman.cli.demos import captions, chat, frames, pronunciation, trajectories
from dragoman.cli.demos.playing import Given
from dragoman.errors import ConfigError, choose


class Demo(NamedTuple):
    """What is shown, and the minutes that it trains for."""

    play: Callable[[Given, float], None]
    minutes: float


DEMOS = {
    "pronunciation": Demo(pronunciation.play, 5.0),
    "captions": Demo(captions.play, 10.0),
    "chat": Demo(chat.play, 8.0),
    "frames": Demo(frames.play, 6.0),
    "trajectories": Demo(trajectories.play, 4.0),
}


def demo(
    name: Annotated[str, typer.Argument(help=f"What is shown: {', '.join(DEMOS)}.")] = "pronunciation",
    out: Annotated[
        Path | None, typer.Option(help="Where data and run are kept (demo; of others than the first demo-NAME).")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Minutes of training.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Set an old run aside and train anew.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Events as JSON lines on stdout, then the result.")] = False,
) -> None:
    """\b
    dragoman demo
    dragoman demo --minutes 1 --out quick
    dragoman demo captions
    dragoman demo chat
    dragoman demo frames

    Learn to pronounce English from CMUdict: train, evaluate on words never seen, ask, and look inside.

    captions: describe generated scenes, and see where each word looked.
    chat: small talk from a corpus of conversations, with what was said before in mind.
    frames: which gesture noisy sensors record, where gestures begin and end, and how a shape moves in a clip.
    trajectories: where made-up movers go, with the commands that steer them and without; drawn over their pasts.
    """
    chosen = choose("demo", name, DEMOS)
    if minutes is not None and minutes <= 0:
        raise ConfigError(f"--minutes must be greater than 0, not {minutes:g}.")
    folder = out or Path("demo" if name == "pronunciation" else f"demo-{name}")
    given = Given(folder, chosen.minutes if minutes is None else minutes, fresh, json)
    chosen.play(given, time.monotonic())
