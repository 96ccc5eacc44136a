"""dragoman evaluate: how good a model is, with intervals."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.baselines import WithBaselines, beside_of, print_standing, with_baselines
from dragoman.cli.captions import evaluate_pictures
from dragoman.cli.labels import evaluate_labelled
from dragoman.cli.predict import EngineOption, MeanOf, Quantize, With, loaded, tell_engine, width_of
from dragoman.cli.pretraining import evaluate_pretrained
from dragoman.cli.search_report import refuse_alone, report_search
from dragoman.cli.tracks import evaluate_of_tracks
from dragoman.cli.unused import EVALUATING, refuse_unused, work_of
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from dragoman.baselines.training_data import Beside
    from dragoman.evaluation.pairs import Evaluated
    from dragoman.evaluation.texts import EvaluatedText
    from dragoman.metrics import Measured
    from dragoman.pipeline import Pipeline
    from dragoman.served import Work

LABELLED: "tuple[Work, ...]" = ("labels", "spans", "frames")
READING = ("captions", *LABELLED)  # whose files are read as data.* says


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a model folder.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]... [SECTION.KEY=VALUE]...",
            help="Test data, as with --on; settings of search, rules, risk, limits, evaluation.",
        ),
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option(
            help="Test pairs: a file; twice for a source and a target file. Of a language model: files of text."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="A metric, as often as wanted; default: those of the run.")
    ] = None,
    beam: Annotated[int | None, typer.Option(help="Width of the beam; 1 is greedy search.")] = None,
    together: With = None,
    mean: MeanOf = None,
    engine: EngineOption = None,
    tokenise: Annotated[
        str | None, typer.Option(help="Words of BLEU: auto, 13a, intl, zh, ja-mecab, ko-mecab, char or none.")
    ] = None,
    longer: Annotated[
        str | None, typer.Option(help="Sources above limits.source: split, cut or refuse; default: as the run says.")
    ] = None,
    search_report: Annotated[
        Path | None,
        typer.Option(metavar="PAGE.html", help="Write what the search costs and what it misses, and PAGE.json beside."),
    ] = None,
    widths: Annotated[
        str | None, typer.Option(help="Of the search report: beams to compare; default: 1,2,4,8,16,32.")
    ] = None,
    lines: Annotated[
        int | None, typer.Option(min=1, help="Of the search report: sources at most, drawn by a key; default: all.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(min=1, help="Of the search report: beginnings a sentence of the exact search; default: 1000."),
    ] = None,
    n_best: Annotated[
        int, typer.Option(min=1, help="Of tracks: futures, the nearest of which counts as well (best of so many).")
    ] = 1,
    baselines: WithBaselines = True,
    json: Annotated[bool, typer.Option("--json", help="The result as one JSON object.")] = False,
    quantize: Quantize = "none",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
) -> None:
    """\b
    dragoman evaluate runs/mine --on test.tsv
    dragoman evaluate runs/de-en --on test.de --on test.en --metric bleu
    dragoman evaluate runs/mine search.normalisation=none --on test.tsv
    dragoman evaluate runs/mine --on test.tsv --search-report search.html
    dragoman evaluate runs/book other.txt

    Measure a model on pairs it never saw, with intervals and signatures; a language model on texts, over every window;
    a model that says what texts are on texts with labels, label by label; one that finds answers in documents on
    questions, by exact match and F1 as SQuAD counts them; one that was taught to read on texts, by the words that it
    guesses and the next sentences that it knows; one that describes pictures on pictures with captions, tag by tag; a
    model of tracks on tracks, by how far its futures are from the true ones (ADE, FDE, RMSE by horizon, in the unit of
    the data).

    Beside the model stand baselines that need no neural network, computed from the training data of the run: the most
    frequent label, a linear model, the nearest neighbor, n-grams, the last velocity. A sentence says whether the model
    is significantly better (approximate randomization).

    A source that stands on several lines has several references: the nearest counts, and any may be right.

    Metrics: bleu, bleu_lowercase, chrf, ter, rouge1, rouge2, rouge_l, word_error_rate, phoneme_error_rate,
    character_error_rate, token_f1, exact_match, sequence_error_rate (what grapheme-to-phoneme papers call word error
    rate: a line there is a word). Perplexity is always given. Intervals are 95 % of 1,000 bootstrap samples.

    A search report has quality, speed and length against the width of the beam, and tells search errors from model
    errors, with an exact search of at most 500 sentences, on one page.
    """
    from dragoman.cli.outputs import refuse_overwriting
    from dragoman.cli.progress import metered, warn
    from dragoman.cli.unknown import warn_of_unknown
    from dragoman.config import parse_overrides
    from dragoman.evaluation.pairs import evaluate as evaluate_pipeline

    named, settings = sort_out(words or [])
    given = [*(on or []), *named]
    if not given:
        raise ConfigError("There is nothing to measure on: name a file, dragoman evaluate RUN --on test.tsv.")
    work = work_of(run)
    of_files = [word for word in settings if word.startswith("data.") and work in READING]
    reading = parse_overrides(of_files).table.get("data", {})
    answering = [word for word in settings if word not in of_files]
    unused: dict[str, object]
    unused = {"--metric": metric, "--beam": beam, "--tokenise": tokenise, "--longer": longer, "--widths": widths}
    unused |= {"--search-report": search_report, "--lines": lines, "--budget": budget, "--with": together}
    refuse_unused(work, EVALUATING, unused | {"--engine": engine == "ctranslate2"})
    if n_best > 1 and work != "tracks":
        raise ConfigError("--n-best is about futures of tracks, and this model says none. Leave it out.")
    if search_report is not None and engine not in (None, "torch"):
        raise ConfigError(f"A search report looks into searches of torch. Leave --engine {engine} out.")
    pipeline = loaded(run, together or [], mean, device, engine, quantize)
    pipeline = pipeline.changed([*width_of(beam, answering), *answering])
    beside, wanted = beside_of(run, baselines), metric or []
    others: dict[Work, Callable[[], None]] = {
        "tracks": lambda: evaluate_of_tracks(pipeline, given, n_best, json, beside),
        "gaps": lambda: evaluate_pretrained(pipeline, given, json),
        "texts": lambda: evaluate_texts(pipeline, given, json, beside),
        "captions": lambda: evaluate_pictures(pipeline, given, reading, wanted, beam, tokenise, json, beside),
        **dict.fromkeys(LABELLED, lambda: evaluate_labelled(pipeline, given, reading, wanted, longer, json, beside)),
    }
    if work in others:
        others[work]()
        return
    files = files_given(given)
    if search_report is None:
        refuse_alone(widths=widths, lines=lines, budget=budget)
    else:
        refuse_overwriting(search_report, files)
        refuse_overwriting(search_report.with_suffix(".json"), files)
    tell_engine(pipeline, beam, 1)
    if search_report is not None:
        bounds = {"lines": lines, "budget": budget, "metrics": tuple(wanted)}
        how = {"beam": beam, "longer": longer, "tokenise": tokenise}
        report_search(pipeline, run, files, search_report, widths, json, **bounds, **how)
        return
    with metered() as tell:
        result = evaluate_pipeline(
            pipeline,
            files,
            tuple(metric or ()),
            beam,
            longer,
            tokenise,
            lambda what, done, total: tell(f"{done:,} of {total:,} {what}", done / total),
            beside,
        )
    if result.problems.count:
        warn(f"{result.problems.count:,} bad lines were left out.\n{result.problems.summary()}")
    warn_of_unknown(result.unknown)
    if result.longer:
        count, first, limit = len(result.longer), result.longer[0], pipeline.settings.limits.source
        warn(f"{count:,} sources were longer than limits.source = {limit} tokens; the first: source {first}.")
    print(as_json(result)) if json else print_table(result)


def sort_out(words: list[str]) -> tuple[list[str], list[str]]:
    """Which words are files, which are settings."""
    settings = [word for word in words if "=" in word and not Path(word).exists()]
    return [word for word in words if word not in settings], settings


def evaluate_texts(pipeline: "Pipeline", files: list[str], json: bool, beside: "Beside | None" = None) -> None:
    """How well a language model knows texts."""
    from dragoman.cli.progress import metered, warn
    from dragoman.cli.unknown import warn_of_unknown
    from dragoman.evaluation.texts import evaluate_text

    with metered() as tell:
        result = evaluate_text(
            pipeline, files, lambda what, done, total: tell(f"{done:,} of {total:,} {what}", done / total), beside
        )
    if result.problems.count:
        warn(f"{result.problems.count:,} bad lines were left out.\n{result.problems.summary()}")
    warn_of_unknown(result.unknown, "symbols of the text")
    print_texts(result, json)


def print_texts(result: "EvaluatedText", json: bool) -> None:
    import json as writer

    facts: dict[str, Any] = {
        name: getattr(result, name) for name in ("documents", "characters", "symbols", "windows", "seconds")
    }
    if json:
        metrics = {value.name: {k: v for k, v in vars(value).items() if k != "name"} for value in result.metrics}
        facts |= {"bad_lines": result.problems.count, "metrics": metrics}
        print(writer.dumps(with_baselines(facts, result.standing), indent=2))
        return
    from dragoman.cli.progress import plain_console

    titles = {"loss": "nats a symbol", "perplexity": "symbols it hesitates between", "bits_per_character": ""}
    console = plain_console()
    console.print(table_of([(value, titles[value.name]) for value in result.metrics], digits=4))
    console.print(
        f"{result.symbols:,} symbols (END of {result.documents:,} documents counted) of {result.characters:,} "
        f"characters, in {result.windows:,} windows",
        soft_wrap=True,
    )
    console.print(f"all: {result.metrics[0].signature}", soft_wrap=True)
    print_standing(console, result.standing, digits=4)


def files_given(on: list[str]) -> tuple[str, ...]:
    """What --on names: a file of pairs, or a source and a target file."""
    if len(on) > 2:
        raise ConfigError(
            f"--on is given once for a TSV file, or twice for a source and a target file, not {len(on)} times."
        )
    return tuple(on)


def table_of(rows: "list[tuple[Measured, str]]", digits: int = 2) -> "Table":
    """Values with their intervals, and what each of them is."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading, justify in (("metric", "left"), ("value", "right"), ("95 % interval", "right"), ("", "left")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for value, title in rows:
        interval = f"{value.low:.{digits}f} … {value.high:.{digits}f}"
        table.add_row(value.name, f"{value.value:.{digits}f}", interval, title)
    return table


def print_table(result: "Evaluated", what: str = "sources") -> None:
    from dragoman.cli.progress import plain_console
    from dragoman.metrics import METRICS

    other = "symbols it hesitates between"
    console = plain_console()
    console.print(
        table_of([(one, METRICS[one.name].title if one.name in METRICS else other) for one in result.metrics])
    )
    unfinished = f", {result.unfinished:,} cut at the length limit" if result.unfinished else ""
    rate = result.items / max(result.seconds, 1e-9)
    console.print(f"{result.items:,} {what}, {result.references:,} references{unfinished} · {rate:,.0f} a second")
    for value in result.metrics:
        console.print(f"{value.name}: {value.signature}", soft_wrap=True)
    print_standing(console, result.standing)


def facts_of(result: "Evaluated") -> dict[str, Any]:
    """What was measured, for JSON."""
    from dataclasses import asdict

    metrics = {value.name: {k: v for k, v in asdict(value).items() if k != "name"} for value in result.metrics}
    facts: dict[str, Any] = {name: getattr(result, name) for name in ("items", "references", "unfinished", "seconds")}
    facts |= {"longer": len(result.longer), "bad_lines": result.problems.count, "metrics": metrics}
    return with_baselines(facts, result.standing)


def as_json(result: "Evaluated") -> str:
    import json

    return json.dumps(facts_of(result), indent=2)
