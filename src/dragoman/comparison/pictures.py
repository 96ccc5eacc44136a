"""Comparisons of models that describe pictures."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from dragoman.comparison.kind import Item, Items, Keyed, Words
from dragoman.comparison.texts import LOSS, PAIRS, answer_cell, truths_cell
from dragoman.contracts import Answer
from dragoman.data.readers.captions import Captions, read_captions
from dragoman.data.readers.lines import Problems
from dragoman.drawing.overlay import SHOWN, STYLE, Overlay, data_uri, looks
from dragoman.evaluation.beside import captions_predicted
from dragoman.evaluation.captions import readable
from dragoman.experiment import Experiment
from dragoman.inspection.report.captions import drawable
from dragoman.inspection.report.page import Content, Html, element, foreign, join
from dragoman.pipeline import ONE_CONTEXT, Pipeline, has_one_context
from dragoman.pipeline.pictures import Picture, overlay_of, sized_pixels

SMALL = 72  # pixels along a side, in tables
WORDS = 20  # whose looks are drawn: a model that never ends would fill the page


def read(settings: Experiment, files: Sequence[str], problems: Problems) -> Iterator[Keyed]:
    """A picture and tag for each caption; pictures that cannot be read are told of."""
    data = settings.data
    assert isinstance(data, Captions)  # noqa: S101
    examples = read_captions(data, files or data.files("train"), problems)
    for one in readable((one for one in examples if files or data.keeps(one.together, "test")), problems):
        for tag, text in one.captions:
            yield f"{tag}\t{one.place.key(one.picture)}", Picture(one.picture, one.place, tag), text


def keys(settings: Experiment) -> Iterator[str]:
    data = settings.data
    assert isinstance(data, Captions)  # noqa: S101
    return (one.together for one in read_captions(data, data.files("train"), Problems()))


def words(pipeline: Pipeline, items: Items) -> list[int]:
    return [len(texts[0].split()) for _, texts in items]


def identify(picture: Picture) -> object:
    assert picture.place is not None  # noqa: S101 (a file of captions names it)
    return [picture.name, picture.tag, hashlib.sha256(picture.place.read(picture.name)).hexdigest()]


def look(pipeline: Pipeline, items: Items) -> list[tuple[Answer, Overlay | None]]:
    """An answer, and where its words looked."""
    pictures = [picture for picture, _ in items]
    answers = list(pipeline.stream(pictures, alignments=pipeline.attends))
    return [
        (answer, overlay_of(pipeline, picture, answer) if drawable(answer) else None)
        for picture, answer in zip(pictures, answers, strict=True)
    ]


def drawn(look: tuple[Answer, Overlay | None], item: Item, settings: Experiment) -> Html:
    if look[1] is not None:
        overlay = look[1]
        return Html(looks(replace(overlay, words=overlay.words[:WORDS], weights=overlay.weights[:WORDS])))
    nothing = ONE_CONTEXT if has_one_context(settings.model) else "no attention: it looks nowhere"
    return element("p", f"{nothing[:1].upper()}{nothing[1:]}.", class_="none")


def shown(picture: Any, side: int) -> Html:
    """The whole picture, small."""
    pixels = sized_pixels(picture, side, "pad")
    return element("img", src=data_uri(pixels), alt=picture.name, width=side, height=side)


def source_cell(item: Item) -> Content:
    return join([shown(item[0], SMALL), " ", foreign(item[0].name, 100)])


def given(item: Item) -> list[Html]:
    tag = f" ({item[0].tag})" if item[0].tag else ""
    return [
        element("p", shown(item[0], SHOWN)),
        element("p", f"people said{tag}: ", truths_cell(item), class_="said"),
    ]


CAPTIONS = replace(
    PAIRS,
    name="captions",
    config=Captions,
    learns_from="pictures with captions",
    unit="pictures",
    words=Words(
        item="picture",
        unit="pictures",
        tokens="target tokens",
        whys=("a picture with a short caption", "with a caption of median length", "with a long caption"),
        by="length of the first caption",
        axis="words of the first caption, and number of pictures",
        by_title="Quality by length",
        look_title="Captions side by side",
        look="The same pictures described by every model; ✓ is equal to a caption that a person gave. Behind the "
        "picture it is shown as each word saw it: light where the model looked before it wrote the word.",
        curve=LOSS,
    ),
    keys=keys,
    read=read,
    lengths=words,
    identify=identify,
    name_of=lambda picture: picture.name,
    look=look,
    given=given,
    said=lambda look, item: answer_cell(item, look[0].text),
    drawn=drawn,
    source=source_cell,
    style=f"{STYLE}.maps figure{{width:100%}}",  # a row of looks below one another
    same=tuple(
        f"data.{name}" for name in ("format", "pictures", "picture_field", "caption_field", "tag_field", "tags")
    ),
    as_is=True,
    longest=1_000_000,
    opens=True,
    beside=lambda items, pipeline, run: captions_predicted(run, pipeline, [picture for picture, _ in items]),
)
