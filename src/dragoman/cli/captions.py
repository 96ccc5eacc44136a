"""Models that describe pictures, in the command line: captions told and measured."""

import json as writer
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.errors import ConfigError, DataError

if TYPE_CHECKING:
    from dragoman.baselines.training_data import Beside
    from dragoman.contracts import Answer
    from dragoman.data.readers.picture_places import Place
    from dragoman.evaluation.captions import EvaluatedCaptions
    from dragoman.pipeline import Constraints, Pipeline
    from dragoman.pipeline.pictures import Picture

WINDOW = 32  # pictures that are read ahead and described together


def refuse_svg_of_pictures(svg: Path | None) -> None:
    if svg is not None:
        raise ConfigError("--svg is for maps of texts; looks at a picture are pictures: use --png or --html.")


def refuse_of_pictures(options: list[str]) -> None:
    if options:
        raise ConfigError(
            f"{options[0]} is about source texts, and this model describes pictures (model.source.kind = "
            "'image_grid'). Leave it out."
        )


def pictures_named(
    pipeline: "Pipeline", names: Sequence[str], folders: bool = True, field: str = ""
) -> "Iterator[str | Picture]":
    """Files as they are named, the images of `folders` in the order of their names, those of arrays (.npz), and paths
    that are read from standard input, a line each."""
    from dragoman.data.pictures import ENDINGS
    from dragoman.data.readers.pairs import read_lines

    for name in names or ["-"]:
        if name == "-":
            yield from (line for line in read_lines("-") if line.strip())
        elif folders and os.path.isdir(name):
            found = sorted(str(path) for path in Path(name).iterdir() if path.suffix.lower() in ENDINGS)
            if not found:
                raise DataError(f"There is no picture in {name}: no file ends in {', '.join(ENDINGS)}.")
            yield from found
        elif Path(name).suffix.lower() == ".npz":
            yield from pictures_in_array(pipeline, name, field)
        else:
            yield name


def pictures_in_array(pipeline: "Pipeline", file: str, field: str) -> "Iterator[Picture]":
    from dragoman.data.readers.captions import array_of_images
    from dragoman.pipeline.pictures import Picture

    known = {} if pipeline.captions is None else pipeline.captions.reading
    place = array_of_images(file, field, str(known.get("picture_field", "")))
    return (Picture(place.name_of(entry), place) for entry in range(place.images.shape[0]))


def predict_captions(
    pipeline: "Pipeline",
    names: Sequence[str],
    reading: Mapping[str, Any],
    beam: int | None,
    n_best: int,
    scores: bool,
    constraints: "Constraints",
    tag: str,
    skip_bad: bool,
    json: bool,
) -> None:
    """A caption for every picture."""
    from dragoman.cli.predict import as_columns
    from dragoman.cli.progress import warn
    from dragoman.pipeline.pictures import Picture, name_of

    place = place_of_pictures(reading)
    bad, named = 0, pictures_named(pipeline, names, place is None, str(reading.get("picture_field", "")))
    while window := list(islice(named, 1 if "-" in names or not names else WINDOW)):
        read = [picture_or_reason(pipeline, name, place) for name in window]
        refused = [] if skip_bad else [one for one in read if isinstance(one, DataError)]
        good = [one for one in read if isinstance(one, Picture)]
        answers = iter(pipeline.stream(good, beam, n_best, json, constraints=constraints, tag=tag))
        for name, one in zip(map(name_of, window), read, strict=True):
            if isinstance(one, Picture):
                answer = next(answers)
                print(
                    as_json(answer) if json else f"{name}\t{as_columns(answer, scores, alignments=False)}", flush=True
                )
            elif refused:
                raise DataError(f"{one} Mend it, or give --skip-bad to have such pictures left out.")
            else:
                bad += 1
                warn(f"{one} It has no caption.")
                print(writer.dumps({"picture": name, "error": str(one)}, ensure_ascii=False) if json else f"{name}\t")
    if bad:
        warn(f"{bad:,} {'picture' if bad == 1 else 'pictures'} could not be read.")


def place_of_pictures(reading: Mapping[str, Any]) -> "Place | None":
    """Where pictures are looked for, if not by their paths."""
    from dragoman.data.readers.picture_places import place_for

    if others := [name for name in reading if name not in ("pictures", "picture_field")]:
        raise ConfigError(
            f"data.{others[0]} is about files of captions, and `predict` reads pictures. What may be given: "
            "data.pictures, the folder or ZIP that their names are relative to, and data.picture_field, the array of a "
            ".npz file that holds them."
        )
    return place_for("", str(reading["pictures"])) if reading.get("pictures") else None


def picture_or_reason(pipeline: "Pipeline", given: "str | Picture", place: "Place | None") -> "Picture | DataError":
    from dragoman.pipeline.pictures import Picture, read_pixels

    assert pipeline.grid is not None  # noqa: S101
    picture = given if isinstance(given, Picture) else Picture(given, place)
    try:
        return replace(picture, pixels=read_pixels(picture, pipeline.grid))
    except DataError as error:
        return error


def as_json(answer: "Answer") -> str:
    """Everything but what every answer would repeat: the names of the cells."""
    from dataclasses import asdict

    facts = asdict(answer)
    for prediction in facts["predictions"]:
        del prediction["source_tokens"]
    return writer.dumps({"picture": facts.pop("source"), **facts}, ensure_ascii=False)


def look_at_pictures(
    pipeline: "Pipeline",
    names: Sequence[str],
    width: int | None,
    prefix: str,
    tag: str,
    target: Sequence[str] | None,
    png: Path | None,
    html: Path | None,
    json: bool,
) -> None:
    """Each word's attention upon the picture: as a page, as PNG, or the cell that was looked at most, in words."""
    from dragoman.cli.look import headline, note, numbered, warn_of_letters, write
    from dragoman.drawing import overlay as drawing
    from dragoman.drawing.page import page
    from dragoman.pipeline import Constraints
    from dragoman.pipeline.pictures import align_pictures, overlay_of

    pipeline.require_attention()
    if pipeline.grid is not None and pipeline.grid.summary not in ("cells", "columns"):
        raise ConfigError(
            f"This model reads a picture as one vector (model.source.summary = '{pipeline.grid.summary}'), so that "
            "there is no cell that a word could look at. Train with summary = 'cells'."
        )
    pictures = list(pictures_named(pipeline, names))
    if target is None:
        answers = pipeline.predict(pictures, width, constraints=Constraints(prefix=prefix), tag=tag)
    else:
        answers = align_pictures(pipeline, pictures, captions_for(pictures, target), tag)
    drawn = [overlay_of(pipeline, *one) for one in zip(pictures, answers, strict=True)]
    if png is not None:
        for number, (answer, one) in enumerate(zip(answers, drawn, strict=True), start=1):
            content, missing = drawing.png(one, headline(answer))
            write(numbered(png, number, len(drawn)), content)
            warn_of_letters(missing)
    if html is not None:
        figures = [drawing.figure(one, note(answer)) for one, answer in zip(drawn, answers, strict=True)]
        write(html, page(figures, "Where each word looked", drawing.STYLE))
    for answer, one in zip(answers, drawn, strict=True):
        if json:
            print(as_json(answer))
        elif png is html is None:
            print(headline(answer))
            for number, word in enumerate(one.words):
                row, column, weight = drawing.most_looked_at(one, number)
                print(f"  {word}\trow {row}, column {column} of {' × '.join(map(str, one.grid))}: {weight:.0%}")


def captions_for(pictures: Sequence[Any], target: Sequence[str]) -> Sequence[str]:
    if len(pictures) != len(target):
        raise ConfigError(
            f"There are {len(pictures)} pictures and {len(target)} targets. Give --target once for each picture, in "
            "their order."
        )
    return target


def evaluate_pictures(
    pipeline: "Pipeline",
    files: Sequence[str],
    reading: dict[str, Any],
    metrics: Sequence[str],
    beam: int | None,
    tokenise: str | None,
    json: bool,
    beside: "Beside | None" = None,
) -> None:
    """How good captions are, over all references, and tag by tag."""
    from dragoman.cli.progress import metered, warn
    from dragoman.evaluation.captions import evaluate_captions

    with metered() as tell:
        result = evaluate_captions(
            pipeline,
            files,
            tuple(metrics),
            reading,
            beam,
            tokenise,
            lambda what, done, total: tell(f"{done:,} of {total:,} {what}", done / total),
            beside,
        )
    problems = result.whole.problems
    if problems.count:
        warn(f"{problems.count:,} bad lines were left out.\n{problems.summary()}")
    print_captions(result, json)


def print_captions(result: "EvaluatedCaptions", json: bool) -> None:
    from dataclasses import asdict

    from dragoman.cli.evaluate import facts_of, print_table
    from dragoman.cli.progress import plain_console

    if json:
        tags = {
            tag: {value.name: {k: v for k, v in asdict(value).items() if k != "name"} for value in values}
            for tag, values in result.by_tag.items()
        }
        print(writer.dumps({**facts_of(result.whole), **({"tags": tags} if tags else {})}, indent=2))
        return
    print_table(result.whole, "pictures")
    if result.by_tag:
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        table.add_column("tag")
        for value in next(iter(result.by_tag.values())):
            table.add_column(value.name, justify="right")
        for tag, values in result.by_tag.items():
            table.add_row(tag, *(f"{value.value:.2f}" for value in values))
        plain_console().print("", table, sep="\n")
