"""Labels over time: what is true above what was said, and below both the signal, or the pictures."""

import base64
from collections.abc import Iterator, Sequence
from itertools import groupby

from dragoman.inspection.report.charts import Scale, drawing, text
from dragoman.inspection.report.labels import Strip, TestedLabels
from dragoman.inspection.report.page import Html, cut, element, fixed, join, section, whole
from dragoman.inspection.report.planes import dot_legend
from dragoman.inspection.report.series import colour

WIDTH, LEFT, RIGHT = 720.0, 62.0, 8.0
BAND, GAP, LANE, PICTURE = 20.0, 4.0, 17.0, 40.0
TICKS = 8
LETTER = 6.6  # pixels of a letter, about
STYLE = (
    ".band{fill:var(--own);stroke:var(--page);stroke-width:.6}.band.again{fill-opacity:.55}"
    ".band-name{fill:var(--page);font-size:11px}.signal{fill:none;stroke:var(--own);stroke-width:1.1;stroke-opacity:.85}"
    ".wrong-frame{fill:#d4351c}"
)


def strips_section(tested: TestedLabels) -> Html:
    names = labels_in(tested.strips)
    so_far = any(one.so_far for one in tested.strips)
    said = (
        "what the model would have said of the frames so far, so that one sees when it made up its mind"
        if so_far
        else "what was said of each frame"
    )
    pictures = any(one.pictures for one in tested.strips)
    below = "its pictures" if pictures else "its numbers, each in its own lane and range"
    how = (
        f"Time runs to the right. Above stands what is true, below it {said}; red marks are where both differ. Below "
        f"them are {below}. The first are drawn at random, the last are those with most that is wrong."
    )
    figures = [strip_figure(one, names) for one in tested.strips]
    return section("strips", "Labels over time", how, dot_legend(names), *figures)


def labels_in(strips: Sequence[Strip]) -> list[str]:
    return sorted({label for one in strips for label in (*one.true, *one.said)})


def strip_figure(strip: Strip, names: Sequence[str]) -> Html:
    across = Scale(0, len(strip.true), LEFT, WIDTH - RIGHT)
    pieces = [*band(strip.true, names, across, 0.0, "true"), *band(strip.said, names, across, BAND + GAP, "said")]
    pieces += marks(strip, across, 2 * BAND + GAP + 2)
    top = 2 * BAND + GAP + 9
    if strip.pictures:
        pieces += list(pictures_of(strip, top))
        bottom = top + PICTURE
    else:
        pieces += list(signals_of(strip, across, top))
        bottom = top + LANE * len(strip.signals)
    pieces += list(axis(len(strip.true), across, bottom))
    wrong = sum(one != other for one, other in zip(strip.true, strip.said, strict=True))
    title = f"{strip.name}: labels over time"
    drawn = drawing(title, f"{whole(wrong)} of {whole(len(strip.true))} frames differ.", WIDTH, bottom + 18, *pieces)
    return element("figure", drawn, element("figcaption", caption(strip, wrong)))


def caption(strip: Strip, wrong: int) -> Html:
    name = element("bdi", cut(strip.name, 60))
    if not strip.so_far:
        return join([name, f": {whole(wrong)} of {whole(len(strip.true))} frames wrong"])
    sure = f" ({fixed(strip.probabilities[0])})" if strip.probabilities else ""
    right = "right" if strip.label == strip.answer else "wrong"
    words = f": {cut(strip.label[0], 40)}, said in the end {cut(strip.answer[0], 40)}{sure}, {right}"
    return join([name, words])


def band(labels: Sequence[str], names: Sequence[str], across: Scale, top: float, title: str) -> Iterator[Html]:
    yield text(LEFT - 8, top + BAND - 6, title, "end", class_="muted")
    start = 0
    for label, run in groupby(labels):
        end = start + len(list(run))
        left, width = across(start), across(end) - across(start)
        told = element("title", f"{title}: {label}, frames {start + 1} to {end}")
        kind = f"band {colour(names.index(label))}"
        yield element("rect", told, x=left, y=top, width=width, height=BAND, class_=kind)
        if len(label) * LETTER + 8 < width:
            yield text(left + width / 2, top + BAND - 6, cut(label, 40), "middle", class_="band-name")
        start = end


def marks(strip: Strip, across: Scale, top: float) -> list[Html]:
    """Where both differ."""
    found, start = [], 0
    for wrong, run in groupby(one != other for one, other in zip(strip.true, strip.said, strict=True)):
        end = start + len(list(run))
        if wrong:
            width = across(end) - across(start)
            found.append(element("rect", x=across(start), y=top, width=width, height=3, class_="wrong-frame"))
        start = end
    return found


def signals_of(strip: Strip, across: Scale, top: float) -> Iterator[Html]:
    """Each in its own lane and range; what is missing leaves a gap."""
    for place, (name, values) in enumerate(strip.signals):
        known = [value for value in values if value == value]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        lane = top + LANE * place
        up = Scale(low, high if high > low else low + 1, lane + LANE - 2, lane + 2)
        yield text(LEFT - 8, lane + LANE - 5, cut(name, 9), "end", class_="muted")
        path, broken = "", True
        for frame, value in enumerate(values):
            if value != value:
                broken = True
                continue
            path += f"{'M' if broken else 'L'}{across(frame + 0.5):.1f} {up(value):.1f}"
            broken = False
        yield element("path", d=path, class_="signal c7")


def pictures_of(strip: Strip, top: float) -> Iterator[Html]:
    room = (WIDTH - LEFT - RIGHT) / max(1, len(strip.pictures))
    side = min(PICTURE, room - 2)
    for place, content in enumerate(strip.pictures):
        source = f"data:image/png;base64,{base64.b64encode(content).decode()}"
        x = LEFT + room * place + (room - side) / 2
        yield element("image", href=source, x=x, y=top, width=side, height=side)


def axis(frames: int, across: Scale, bottom: float) -> Iterator[Html]:
    for value in Scale(1, max(2, frames), 0, 1).ticks(TICKS):
        if 1 <= value <= frames and value == int(value):
            yield text(across(value - 0.5), bottom + 13, whole(value), "middle", class_="muted")
    yield text(LEFT - 8, bottom + 13, "frame", "end", class_="muted")
