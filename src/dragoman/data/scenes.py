"""Generated scenes with captions: some objects, how two of them stand to one another, and words for it that a grammar
can read back."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.data.pictures import Pixels, require_pillow
from dragoman.seeds import key
from dragoman.storage import make_folder, write_atomically

SIZE = 64  # pixels along a side
FINE = 4  # times as large when it is drawn
COLOURS = {
    "red": (214, 39, 40),
    "green": (44, 160, 44),
    "blue": (31, 80, 200),
    "yellow": (240, 200, 20),
    "purple": (140, 60, 190),
    "black": (25, 25, 25),
}
SIZES = {"small": (7, 8), "large": (12, 13)}  # half of its width, from and to
WORDS = {  # the same, said otherwise
    "circle": ("circle", "disc"),
    "square": ("square", "box"),
    "triangle": ("triangle",),
    "star": ("star",),
    "small": ("small", "little"),
    "large": ("large", "big"),
    "left": ("to the left of", "left of"),
    "right": ("to the right of", "right of"),
    "above": ("above", "over"),
    "below": ("below", "under"),
}
SHAPES = ("circle", "square", "triangle", "star")
RELATIONS = ("left", "right", "above", "below")
MEANING = {word: name for name, words in WORDS.items() for word in words}
# Pairs of colour and shape that training never shows; each colour and each shape is seen in others.
UNSEEN = {("red", "star"), ("blue", "circle"), ("green", "triangle"), ("yellow", "square")}
MARGIN = 4  # pixels between two objects
APART = 8  # pixels along a relation at least; what is said is so much farther along it than across
NUMBERS = {2: "two", 3: "three", 4: "four"}


@dataclass(frozen=True, order=True)
class Thing:
    """What an object is called."""

    size: str
    colour: str
    shape: str


@dataclass(frozen=True)
class Placed:
    """An object of a scene: its middle and half its width, in pixels."""

    thing: Thing
    x: float
    y: float
    half: float


@dataclass(frozen=True)
class Said:
    """A scene as a caption tells it: the first stands so to the second, and there are others."""

    first: Thing
    relation: str = ""
    second: Thing | None = None
    others: tuple[Thing, ...] = ()

    @property
    def things(self) -> list[Thing]:
        return [self.first, *([self.second] if self.second else []), *self.others]


@dataclass(frozen=True)
class Scene:
    """Objects, of which the first two stand in the relation."""

    placed: tuple[Placed, ...]
    relation: str = ""

    @property
    def said(self) -> Said:
        things = [one.thing for one in self.placed]
        second = things[1] if len(things) > 1 else None
        return Said(things[0], self.relation, second, tuple(things[2:]))

    def is_told_by(self, said: "Said | None") -> bool:
        """Whether a caption says what there is: a relation that holds between any two of its objects, and the rest,
        each of them once."""
        if said is None:
            return False
        things = {one.thing: one for one in self.placed}
        if set(said.things) != set(things) or len(said.things) != len(things):
            return False
        if said.second is None:
            return len(things) == 1
        return said.relation in relations(things[said.first], things[said.second])


def relations(one: Placed, other: Placed) -> set[str]:
    """How one object stands to another: all that is clearly so."""
    across, down = other.x - one.x, other.y - one.y
    sideways = {"left" if across > 0 else "right"} if abs(across) >= APART else set()
    return sideways | ({"above" if down > 0 else "below"} if abs(down) >= APART else set())


def relation(one: Placed, other: Placed) -> str:
    """What is said of it: the direction in which they are clearly farther apart than in the other, if there is one."""
    across, down = abs(other.x - one.x), abs(other.y - one.y)
    said = {"left", "right"} if across >= down + APART else {"above", "below"} if down >= across + APART else set()
    return next(iter(relations(one, other) & said), "")


def scene_of(seed: int, split: str, number: int, least: int = 1, most: int = 3, unseen: bool = False) -> Scene:
    """A scene of a split by its number; `unseen` has a pair of colour and shape that training never shows."""
    draw = np.random.default_rng(key(seed, "scene", split, number))
    while True:
        things = drawn_things(draw, int(draw.integers(least, most + 1)), unseen)
        placed = placed_things(draw, things)
        if placed is None:
            continue
        placed.sort(key=lambda one: salience(one.thing))
        if len(placed) == 1:
            return Scene(tuple(placed))
        if found := relation(placed[0], placed[1]):
            return Scene(tuple(placed), found)


def salience(thing: Thing) -> tuple[int, int, int]:
    """What is named first: large before small, then by colour, then by shape; where it stands says nothing."""
    return -list(SIZES).index(thing.size), list(COLOURS).index(thing.colour), SHAPES.index(thing.shape)


def drawn_things(draw: np.random.Generator, count: int, unseen: bool) -> list[Thing]:
    """Different ones; where a pair that was never shown is wanted, the first has one."""
    found: list[Thing] = []
    while len(found) < count:
        size, colour, shape = (str(draw.choice(names)) for names in (list(SIZES), list(COLOURS), SHAPES))
        wanted = unseen and not found
        thing = Thing(size, colour, shape)
        if ((colour, shape) in UNSEEN) == wanted and thing not in found:
            found.append(thing)
    return found


def placed_things(draw: np.random.Generator, things: Sequence[Thing]) -> list[Placed] | None:
    """Places in which none touches another, or none after a few tries."""
    for _ in range(50):
        placed: list[Placed] = []
        for thing in things:
            half = float(draw.integers(SIZES[thing.size][0], SIZES[thing.size][1] + 1))
            x, y = (float(draw.integers(int(half) + 2, SIZE - int(half) - 1)) for _ in range(2))
            if all(max(abs(x - o.x), abs(y - o.y)) >= half + o.half + MARGIN for o in placed):
                placed.append(Placed(thing, x, y, half))
        if len(placed) == len(things):
            return placed
    return None


def caption_of(scene: Scene, seed: int, split: str, number: int) -> str:
    """One of the ways to say what there is."""
    draw = np.random.default_rng(key(seed, "caption", split, number))

    def word(name: str) -> str:
        return str(draw.choice(WORDS.get(name, (name,))))

    def named(thing: Thing) -> str:
        return f"a {word(thing.size)} {thing.colour} {word(thing.shape)}"

    things = [one.thing for one in scene.placed]
    if len(things) == 1:
        return named(things[0])
    told = f"{named(things[0])} {word(scene.relation)} {named(things[1])}"
    return told + "".join(f" and {named(thing)}" for thing in things[2:])


THING = r"a (\w+) (\w+) (\w+)"
SENTENCE = re.compile(
    rf"{THING}(?: ({'|'.join(sorted((w for name in RELATIONS for w in WORDS[name]), key=len, reverse=True))}) {THING}"
    rf"((?: and {THING})*))?"
)


def parsed(caption: str) -> Said | None:
    """What a caption says, or nothing where the grammar does not know it."""
    match = SENTENCE.fullmatch(caption.strip())
    if match is None:
        return None
    first, second = thing_of(*match.groups()[:3]), match.group(4) and thing_of(*match.groups()[4:7])
    others = [thing_of(*words) for words in re.findall(rf" and {THING}", match.group(8) or "")]
    if first is None or (match.group(4) and second is None) or None in others:
        return None
    relation = MEANING[match.group(4)] if match.group(4) else ""
    return Said(first, relation, second or None, tuple(one for one in others if one is not None))


def thing_of(size: str, colour: str, shape: str) -> Thing | None:
    thing = Thing(MEANING.get(size, ""), colour, MEANING.get(shape, ""))
    return thing if thing.size in SIZES and colour in COLOURS and thing.shape in SHAPES else None


def pixels_of_scene(scene: Scene, seed: int, split: str, number: int) -> Pixels:
    """Drawn large and made small, upon a grey that differs from scene to scene."""
    require_pillow()
    from PIL import Image, ImageDraw

    draw = np.random.default_rng(key(seed, "ground", split, number))
    ground = int(draw.integers(215, 250))
    image = Image.new("RGB", (SIZE * FINE, SIZE * FINE), (ground,) * 3)
    pen = ImageDraw.Draw(image)
    for one in scene.placed:
        x, y, half = one.x * FINE, one.y * FINE, one.half * FINE
        if one.thing.shape == "circle":
            pen.ellipse((x - half, y - half, x + half, y + half), COLOURS[one.thing.colour])
        else:
            pen.polygon(corners(one.thing.shape, x, y, half), COLOURS[one.thing.colour])
    small = np.asarray(image.resize((SIZE, SIZE), Image.Resampling.LANCZOS), np.float64)
    noisy = small + draw.normal(0, 4, small.shape)
    return np.clip(noisy.round(), 0, 255).astype(np.uint8)


def corners(shape: str, x: float, y: float, half: float) -> list[tuple[float, float]]:
    if shape == "square":
        return [(x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)]
    if shape == "triangle":
        return [(x, y - half), (x + half, y + half), (x - half, y + half)]
    angles = [np.pi * (n / 5 - 0.5) for n in range(10)]
    return [
        (x + half * (1 - 0.58 * (n % 2)) * float(np.cos(a)), y + half * (1 - 0.58 * (n % 2)) * float(np.sin(a)))
        for n, a in enumerate(angles)
    ]


# What each split has: objects from and to, and whether one of them is a pair that training never shows.
SPLITS = {
    "train": (1, 3, False),
    "valid": (1, 3, False),
    "test": (1, 3, False),
    "unseen": (1, 3, True),
    "more": (4, 4, False),
}


def scenes(seed: int, split: str, count: int) -> Iterator[Scene]:
    least, most, unseen = SPLITS[split]
    return (scene_of(seed, split, number, least, most, unseen) for number in range(count))


def write_scenes(folder: Path, split: str, count: int, seed: int = 1, references: int = 1) -> Path:
    """Pictures and a TSV that names them with their captions, as a user's own would be."""
    from PIL import Image

    make_folder(folder / split)
    rows = ["picture\tcaption"]
    for number, scene in enumerate(scenes(seed, split, count)):
        name = f"{split}/{number:05}.png"
        Image.fromarray(pixels_of_scene(scene, seed, split, number)).save(folder / name, compress_level=1)
        rows += [f"{name}\t{caption_of(scene, seed + version, split, number)}" for version in range(references)]
    table = folder / f"{split}.tsv"
    write_atomically(table, "\n".join([*rows, ""]))  # it is there when all pictures are
    return table
