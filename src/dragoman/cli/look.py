"""dragoman look: where the model looked, and how it searched."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.captions import look_at_pictures, refuse_svg_of_pictures
from dragoman.cli.heads import Shown, Wanted, look_at_heads, refuse_with_heads
from dragoman.cli.tracks import look_at_tracks, refuse_of_drawn_tracks
from dragoman.errors import ConfigError, DataError, unknown

if TYPE_CHECKING:
    from dragoman.contracts import Answer
    from dragoman.drawing.terminal import Colours
    from dragoman.pipeline import Pipeline

COLOURS = ("auto", "true", "256", "plain")
SETTING = re.compile(r"(search|rules|risk|limits|evaluation|model|training|source|target|data)(\.\w+)+=\S")


def look(
    run: Annotated[Path, typer.Argument(help="A run folder, or a model folder.")],
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT... [SECTION.KEY=VALUE]...",
            help="Source texts or pictures, and settings of search, rules and limits.",
        ),
    ],
    target: Annotated[
        list[str] | None, typer.Option(help="A target to look at instead of the model's answer; once for each text.")
    ] = None,
    beam: Annotated[bool, typer.Option("--beam", help="The search as a tree instead of the alignment.")] = False,
    heads: Annotated[
        bool, typer.Option("--heads", help="What every head of every layer does; with --html all their maps.")
    ] = False,
    layer: Annotated[
        int | None, typer.Option(help="One layer of a Transformer, from 1: the mean of its heads, or one --head.")
    ] = None,
    head: Annotated[int | None, typer.Option(help="One head of the --layer, from 1.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="Whose heads --layer means: source (the answer looks at the source; the default), target (at itself), "
            "encoder (the source at itself)."
        ),
    ] = None,
    width: Annotated[int | None, typer.Option(help="Width of the beam; 1 is greedy search.")] = None,
    n_best: Annotated[
        int | None,
        typer.Option(help="Answers that are marked in the tree; default: the width of the beam, and at most 3."),
    ] = None,
    prefix: Annotated[str, typer.Option(help="What the answer begins with; the search starts behind it.")] = "",
    scores: Annotated[
        bool,
        typer.Option("--scores", help="The log-probability beside each symbol; always with --target and --beam."),
    ] = False,
    entropy: Annotated[
        bool, typer.Option("--entropy", help="The entropy of its attention beside each symbol, in nats.")
    ] = False,
    tag: Annotated[str, typer.Option(help="Of a model that describes pictures: the tag of its answers.")] = "",
    colour: Annotated[str, typer.Option(help="auto, true, 256 or plain; auto asks the terminal.")] = "auto",
    svg: Annotated[Path | None, typer.Option(help="Draw into this file instead of the terminal.")] = None,
    png: Annotated[Path | None, typer.Option(help="The same; needs the extra 'plot'.")] = None,
    html: Annotated[Path | None, typer.Option(help="The same, all texts on one page.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a text, with all weights and numbers.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
) -> None:
    """Draw where the model looked: a row an output symbol, a column a source token; or how it searched (--beam).

    \b
    dragoman look runs/words attention
    dragoman look runs/words attention --target "AH T EH N SH AH N"
    dragoman look runs/de-en "ein Hund ." "zwei Hunde ." --html hunde.html
    dragoman look runs/de-en "ein Hund ." --beam --width 5 --html tree.html
    dragoman look runs/de-en "ein Hund ." --heads --html heads.html

    Several texts make several SVG and PNG files, with numbers in their names: hund-1.svg, hund-2.svg.

    --beam draws the search as a tree, step by step: what was kept, dropped and ended, with log-probabilities, totals
    and scores, and the path of the best answer. It needs no attention. --prefix has the search start behind another
    beginning.

    Of a model that reads conversations all texts are the turns of one: how much each turn was looked at, and each word.
    A model that describes pictures is looked at with their files: each word's attention is laid over the picture, with
    --html and --png; with --target, of the caption that is given.

    A model of tracks is looked at with files of them: how each goes on is drawn, with --svg and --html too.

    A model that only reads, or a language model, has no source to look at: its heads are shown, as with --heads.

    --heads is for Transformers: a table of what each head does and, with --html, a page with the maps of all heads, on
    which one is chosen, and a word, to see where it looks. --layer and --head draw one of them large; --layer alone
    draws the mean of its heads.

    Local attention stands in its windows, their centres marked; of hard attention the chosen token is named. Below the
    map: the mean entropy of the rows, the share of steps whose mean position does not go back, Kendall's tau between
    the output's order and the tokens looked at most, and source tokens that got under 0.2 or over 2 in total.
    """
    if colour not in COLOURS:
        raise unknown("kind of colour", colour, COLOURS)
    texts, overrides = sort_out(words)
    wanted = Wanted(heads, kind, layer, head)
    if beam:
        unused: dict[str, object] = {"--target": target, "--entropy": entropy or None, "--svg": svg, "--png": png}
        unused |= {"--heads": heads or None, "--kind": kind, "--layer": layer, "--head": head}
        refuse_with_beam([name for name, value in unused.items() if value is not None])
        look_at_search(
            loaded(run, overrides, device, "A search as a tree"), texts, (width, n_best, prefix), colour, html, json
        )
        return
    pipeline = loaded(run, overrides, device)
    refuse_frames(pipeline, run)
    if pipeline.tracking is not None:
        unfit = {"--target": target, "--png": png, "--width": width, "--prefix": prefix or None, "--json": json or None}
        unfit |= {"--heads": heads or None, "--layer": layer, "--head": head, "--entropy": entropy or None}
        refuse_of_drawn_tracks([name for name, value in unfit.items() if value is not None])
        look_at_tracks(pipeline, texts, n_best or 1, svg, html)
        return
    counted = 1 if pipeline.talks else None if pipeline.grid is not None else len(texts)
    refuse_without_beam(counted, target, width, n_best, prefix)
    if png is not None:
        from dragoman.drawing.png import require_matplotlib

        require_matplotlib()
    if wanted:
        shown = Shown(svg, png, html, json, scores or target is not None, entropy, colours_named(colour))
        refuse_with_heads(wanted, shown)
        look_at_heads(pipeline, texts, target, (width, prefix), wanted, shown)
        return
    if pipeline.grid is not None:
        refuse_svg_of_pictures(svg)
        look_at_pictures(pipeline, texts, width, prefix, tag, target, png, html, json)
        return
    if not pipeline.answers:  # there is no alignment, but every head can be looked at
        shown = Shown(svg, png, html, json, scores, entropy, colours_named(colour))
        everything = Wanted(True, None, None, None)
        refuse_with_heads(everything, shown)
        look_at_heads(pipeline, texts, target, (width, prefix), everything, shown)
        return
    if pipeline.talks:
        from dragoman.cli.turns import look_at_conversation

        how = (html, json, colours_named(colour), scores or target is not None, entropy)
        look_at_conversation(pipeline, texts, target, width, how, {"--svg": svg, "--png": png, "--prefix": prefix})
        return
    answers = answers_of(pipeline, texts, target, width, prefix)
    values = scores or target is not None
    if json:
        print_json(answers)
    write_files(answers, svg, png, html, values, entropy)
    if not json and svg is png is html is None:
        draw(answers, colour, values, entropy)


def refuse_frames(pipeline: "Pipeline", run: Path) -> None:
    if pipeline.reads_frames:
        raise ConfigError(
            "This model says what frames are, and reads no text to look at. What it says comes from `dragoman "
            f"predict`; `dragoman report {run}` draws it over signals and pictures."
        )


def sort_out(words: list[str]) -> tuple[list[str], list[str]]:
    """Which words are texts, which settings."""
    overrides = [word for word in words if SETTING.match(word)]
    texts = [word for word in words if word not in overrides]
    if not texts:
        raise ConfigError(f"There are settings and no text to look at: dragoman look RUN TEXT {' '.join(overrides)}.")
    return texts, overrides


def loaded(run: Path, overrides: list[str], device: str, what: str = "") -> "Pipeline":
    """`what` is for models that answer a source."""
    from dragoman.pipeline import Pipeline
    from dragoman.served import require_source

    pipeline = Pipeline.load(run, device).changed(overrides)
    if what:
        require_source(pipeline.settings.model.kind, what)
    return pipeline


def refuse_with_beam(names: list[str]) -> None:
    """What belongs to an alignment and means nothing for a tree."""
    reasons = {
        "--target": "With --target nothing is searched for, so there is no tree.",
        "--entropy": "--entropy is of attention, and --beam draws the search.",
        "--svg": "--beam draws into the terminal or, with --html, into a page, and makes no SVG file.",
        "--png": "--beam draws into the terminal or, with --html, into a page, and makes no PNG file.",
    }
    heads = dict.fromkeys(("--heads", "--kind", "--layer", "--head"), "--beam draws the search, which has no heads.")
    if names:
        raise ConfigError(f"{(reasons | heads)[names[0]]} Leave out --beam or {names[0]}.")


def refuse_without_beam(
    texts: int | None, target: list[str] | None, width: int | None, n_best: int | None, prefix: str
) -> None:
    if n_best is not None:
        raise ConfigError(
            "--n-best says how many answers are marked in the tree of --beam; the alignment is of the best one. "
            "Several answers come from `dragoman predict --n-best`."
        )
    if target is None:
        return
    if texts is not None and len(target) != texts:
        raise ConfigError(
            f"There are {texts} texts and {len(target)} targets. Give --target once for each text, in their order."
        )
    for name, given in (("--width", width is not None), ("--prefix", bool(prefix))):
        if given:
            raise ConfigError(f"With --target nothing is searched for, so {name} means nothing. Leave one of them out.")


def look_at_search(
    pipeline: "Pipeline",
    texts: list[str],
    asked: tuple[int | None, int | None, str],
    colour: str,
    html: Path | None,
    json: bool,
) -> None:
    """The tree of every text: in the terminal, as JSON, as a page."""
    from dragoman.cli.tree import print_trees, print_trees_as_json, searched, trees_page

    refuse_empty(pipeline, texts)
    width, n_best, prefix = asked
    found = searched(pipeline, texts, width, n_best, prefix)
    warn_of_unfinished([one.answer for one in found])
    if json:
        print_trees_as_json(found, prefix)
    if html is not None:
        write(html, trees_page(found, prefix))
    if not json and html is None:
        print_trees(found, prefix, colours_named(colour))


def answers_of(
    pipeline: "Pipeline", texts: list[str], targets: list[str] | None, width: int | None, prefix: str
) -> "list[Answer]":
    """The model's own answers, or the given ones; with a sentence where there is nothing to draw."""
    from dragoman.cli.progress import warn
    from dragoman.contracts import Answer
    from dragoman.pipeline import Constraints

    pipeline.require_attention()
    refuse_empty(pipeline, texts)
    if targets is None:
        answers = pipeline.predict(texts, width, constraints=Constraints(prefix=prefix))
    else:
        pairs = zip(texts, targets, strict=True)
        answers = [Answer(source, (pipeline.align(source, target),)) for source, target in pairs]
    for number, answer in enumerate(answers, start=1):
        if answer.longer:
            limit = pipeline.settings.limits.source
            warn(f"text {number} is longer than limits.source = {limit} tokens; it was {answer.longer}.")
    warn_of_unfinished(answers)
    return answers


def refuse_empty(pipeline: "Pipeline", texts: list[str]) -> None:
    for number, row in enumerate(pipeline.source.encode(texts), start=1):
        if not row or not texts[number - 1].strip():
            raise DataError(f"Text {number} is empty ({texts[number - 1]!r}): there is nothing to look at.")


def warn_of_unfinished(answers: "list[Answer]") -> None:
    from dragoman.cli.progress import warn

    for number, answer in enumerate(answers, start=1):
        if not answer.best.finished:
            warn(f"the answer to text {number} was cut after {len(answer.tokens)} symbols, before it reached its end.")


def print_json(answers: "list[Answer]") -> None:
    """The best prediction, its links, and the numbers of its alignment: one flat object a text."""
    from dataclasses import asdict
    from json import dumps

    from dragoman.drawing.summary import summarise

    for answer in answers:
        aligned = answer.best.aligned()
        facts = {"source": answer.source, "longer": answer.longer, **asdict(answer.best)}
        found = {"hard": aligned.hard, "links": aligned.links(), **asdict(summarise(aligned))}
        print(dumps(facts | found, ensure_ascii=False))


def draw(answers: "list[Answer]", colour: str, values: bool, entropies: bool) -> None:
    from textwrap import fill

    from dragoman.drawing.summary import sentences
    from dragoman.drawing.terminal import columns_of
    from dragoman.inspection.alignment import alignment_text

    for number, answer in enumerate(answers):
        print("\n" * bool(number) + headline(answer))
        print(alignment_text(answer.best, colours_named(colour), columns_of(), values, entropies))
        if said := " · ".join(sentences(answer.best.aligned())):
            width = columns_of()
            print(said if width is None else fill(said, width))


def colours_named(colour: str) -> "Colours":
    from dragoman.drawing.terminal import colours_of

    chosen: dict[str, Colours] = {
        "auto": colours_of(sys.stdout.isatty()),
        "true": "true",
        "256": "256",
        "plain": "plain",
    }
    return chosen[colour]


def headline(answer: "Answer") -> str:
    return f"{answer.source} → {answer.text}  ({note(answer)})"


def note(answer: "Answer") -> str:
    unfinished = "" if answer.best.finished else ", unfinished"
    return f"score {answer.score:.4f}, log-probability {answer.best.log_probability:.4f}{unfinished}"


def write_files(
    answers: "list[Answer]", svg: Path | None, png: Path | None, html: Path | None, values: bool, entropies: bool
) -> None:
    """All files that were asked for, and what they are called."""
    from dragoman.drawing import page
    from dragoman.drawing.png import png as png_of
    from dragoman.inspection.alignment import alignment_svg

    for number, answer in enumerate(answers, start=1):
        if svg is not None:
            place = numbered(svg, number, len(answers))
            write(place, alignment_svg(answer.best, headline(answer), values, entropies))
        if png is not None:
            content, missing = png_of(answer.best.aligned(), headline(answer), values, entropies)
            write(numbered(png, number, len(answers)), content)
            warn_of_letters(missing)
    if html is not None:
        figures = (
            page.figure(one.best.aligned(), one.source, one.text, note(one), values, entropies) for one in answers
        )
        write(html, page.page(figures))


def warn_of_letters(missing: str) -> None:
    from dragoman.cli.progress import warn

    if missing:
        warn(f"no font that matplotlib finds has {missing}; the PNG has boxes there. Try --svg or --html.")


def write(path: Path, content: str | bytes) -> None:
    from dragoman.storage import write_atomically

    write_atomically(path, content)
    print(f"Wrote {path}.", file=sys.stderr)


def numbered(path: Path, number: int, of: int) -> Path:
    """map.svg alone; map-1.svg, map-2.svg … when there are several."""
    return path if of == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
