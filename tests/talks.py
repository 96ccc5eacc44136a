"""Conversations in which something is told first and asked for later."""

import json
import random
from pathlib import Path

NAMES = ("ann", "bob", "cid", "dot", "eve", "fay")
COLOURS = ("red", "blue", "green", "grey")


def talk(number: int) -> list[str]:
    """What is asked for stands four turns back and more."""
    drawn = random.Random(number)
    name, colour = drawn.choice(NAMES), drawn.choice(COLOURS)
    told = [f"i am {name}", "hello", f"i like {colour}", "good"]
    asked = [("who am i ?", f"you are {name}"), ("what do i like ?", f"you like {colour}")]
    drawn.shuffle(asked)
    return [*told, *(turn for pair in asked for turn in pair)]


def write_talks(path: Path, numbers: range) -> str:
    path.write_text("".join(json.dumps({"id": number, "turns": talk(number)}) + "\n" for number in numbers), "utf-8")
    return str(path)
