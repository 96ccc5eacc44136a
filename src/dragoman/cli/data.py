"""dragoman data: what is in files of pairs and others, before anything is learned from them."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.errors import ConfigError, nearest

SEQUENCES = ("tracks", "frames", "clips", "captions")

if TYPE_CHECKING:
    from dragoman.data.readers.pairs import Pairs
    from dragoman.data.tokenizers import Tokenizer


def data(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]... [data.KEY=VALUE]...",
            help="Files of pairs (TSV, CSV, JSON lines; .gz, .zst), patterns, or - for standard input; and settings.",
        ),
    ] = None,
    source: Annotated[list[str] | None, typer.Option(help="A file of source lines; may be repeated.")] = None,
    target: Annotated[list[str] | None, typer.Option(help="The target lines of a --source file.")] = None,
    valid: Annotated[list[str] | None, typer.Option(help="Validation pairs: what they share is counted.")] = None,
    test: Annotated[list[str] | None, typer.Option(help="Test pairs: what they share is counted.")] = None,
    run: Annotated[Path | None, typer.Option(help="A run whose vocabularies and limits are used.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The survey as one JSON object.")] = False,
) -> None:
    """\b
    dragoman data pairs.csv
    dragoman data 'train-*.tsv.gz' --valid valid.tsv --test test.tsv
    dragoman data --source train.de --target train.en --run runs/de-en
    zcat pairs.gz | dragoman data - data.format=jsonl data.source_field=question
    dragoman data tracks.csv data.kind=tracks

    Look at data before training on it: bad lines, duplicates, overlaps, odd pairs, lengths. data.kind=conversations
    counts turns too; tracks, frames, clips and captions have features with units and ranges, labels, and pictures
    that cannot be read.

    Findings are no failure: the exit code is 3 only where data cannot be read.
    """
    import json as writer

    from dragoman.cli.progress import plain_console
    from dragoman.cli.survey import print_survey
    from dragoman.data.readers.pairs import SPLITS, parts_of
    from dragoman.data.survey import summaries, survey_split

    files = [word for word in what or [] if "=" not in word or os.path.exists(word)]
    overrides = [word for word in what or [] if word not in files]
    given = data_settings(overrides)
    if run is None and not source and files and not given:
        given = recognised(files[0])
    if (table := sequences(given, run)) is not None:
        refuse_pairs(str(table["kind"]), {"--source": source, "--target": target, "--test": test})
        from dragoman.cli.sequence_survey import survey_sequence_files

        named = {"train": files, **({"valid": valid} if valid else {})}
        for split in survey_sequence_files(table | named, json):
            warn_above(split.problems.count, split.problems.lines, float(table.get("max_bad", 0.01)))
        return
    with settings(files, source, target, valid, test, run, given) as found:
        names = [name for name in SPLITS if found.has(name)]
        for part in (part for name in names for part in parts_of(getattr(found, name), found.wanted)):
            print(part, file=sys.stderr)
        found, tokenizers = likely_training(found, given) if run is None else (found, tokenizers_of(run))
        surveys = {name: survey_split(found, name, tokenizers, progress) for name in names}
        summary = summaries(surveys)
        console = plain_console()
        print(writer.dumps(summary, ensure_ascii=False)) if json else print_survey(summary, console)
        for survey in surveys.values():
            warn_above(survey.problems.count, survey.problems.lines, found.max_bad)


def recognised(file: str) -> dict[str, Any]:
    """What a file plainly is, told where it is not pairs."""
    from dragoman.data.readers.recognising import looks_like

    if (kind := looks_like(file)) not in ("conversations", *SEQUENCES):
        return {}
    print(f"{file} looks like {kind} (data.kind={kind}; data.kind=pairs where it is not).", file=sys.stderr)
    return {"kind": kind}


def sequences(given: dict[str, Any], run: Path | None) -> dict[str, Any] | None:
    """The settings of data that are neither pairs nor conversations, as the command or the run says."""
    from dragoman.config import merge

    table = merge({} if run is None else limits_of(run), given)
    kind = table.get("kind", "pairs")
    if kind in ("pairs", "conversations"):
        return None
    if kind not in SEQUENCES:
        known = ", ".join(("pairs", "conversations", *SEQUENCES))
        raise ConfigError(
            f"Data of the kind '{kind}' is not looked at (data.kind).{nearest(str(kind), SEQUENCES)} Known: {known}."
        )
    return table


def refuse_pairs(kind: str, options: dict[str, Any]) -> None:
    for option, value in options.items():
        if value:
            raise ConfigError(
                f"{option} is for pairs, and data.kind is '{kind}'. Name the files, and others by --valid."
            )


def data_settings(overrides: list[str]) -> dict[str, Any]:
    """The settings of data, without the name of their section."""
    from dragoman.config import parse_overrides

    own = parse_overrides(overrides).table
    if other := sorted(set(own) - {"data"}):
        raise ConfigError(f"Only settings of data are used here, e.g. data.format=csv, not {other[0]}.")
    given = own.get("data", {})
    if not isinstance(given, dict):
        raise ConfigError(f"data is a table of settings, not {given!r}. Write one of them, e.g. data.format=csv.")
    return given


@contextmanager
def settings(
    files: list[str],
    source: list[str] | None,
    target: list[str] | None,
    valid: list[str] | None,
    test: list[str] | None,
    run: Path | None,
    given: dict[str, Any],
) -> "Iterator[Pairs]":
    """The data settings of the command, over those of the run; standard input is kept in a file meanwhile."""
    from dragoman.config import Document, merge, validate
    from dragoman.data.readers.corpora import paired
    from dragoman.data.readers.pairs import Conversations, Pairs
    from dragoman.data.readers.standard_input import spooled

    splits = {"train": paired(files, source, target), "valid": paired(valid), "test": paired(test)}
    named = {name: list(corpora) for name, corpora in splits.items() if corpora}
    table = merge({} if run is None else limits_of(run), named, given)
    kind = Conversations if table.get("kind") == "conversations" else Pairs
    found: Pairs = validate(kind, table, Document(table, "command line"))
    if not found.train:
        raise ConfigError("There is nothing to look at: name a file of pairs, or --source and --target files.")
    with spooled(found.train, found.valid, found.test) as (train, valid_, test_):
        yield found.changed(train=train, valid=valid_, test=test_)


def limits_of(run: Path) -> dict[str, Any]:
    """The data settings of a run, but for those that are about its own files."""
    from dragoman.config import read_toml

    table = read_toml(run / "config.toml").table.get("data", {})
    its_own = ("train", "valid", "test", "weights", "hold_out", "hold_out_test")
    return {name: value for name, value in table.items() if name not in its_own}


def tokenizers_of(run: Path) -> "dict[str, Tokenizer]":
    from dragoman.data.tokenizers import Tokenizer
    from dragoman.runs import Run

    folder = Run(run).tokenizers
    if not folder.is_dir():
        raise ConfigError(f"{run} has no tokenizers: it is no run folder, or its training has not begun.")
    return {side: Tokenizer.load(folder / f"{side}.json") for side in ("source", "target")}


def likely_training(data: "Pairs", given: dict[str, Any]) -> "tuple[Pairs, dict[str, Tokenizer] | None]":
    """Limits as a training without a recipe would choose them, and vocabularies as it would learn them."""
    from dragoman.data.readers.pairs import Conversations

    if isinstance(data, Conversations):
        return data, None  # how much of them is read belongs to a model
    from dragoman.cli.progress import preparing
    from dragoman.data.readers.pairs import Problems, read_split
    from dragoman.data.sides import sample_of
    from dragoman.data.tokenizers import Shared
    from dragoman.defaults.tokenizers import likely_limits, likely_tokenizers
    from dragoman.preparation.corpora import SIDES
    from dragoman.preparation.pairs import learn_tokenizer

    sample = sample_of(read_split(data, "train", Problems()))
    if not sample.size:
        return data, None
    configs = likely_tokenizers(sample)
    shared = isinstance(configs.target, Shared)
    learned = {"source": learn_tokenizer(data, SIDES if shared else ("source",), configs.source, preparing)}
    learned["target"] = (
        learned["source"]
        if isinstance(configs.target, Shared)
        else learn_tokenizer(data, ("target",), configs.target, preparing)
    )
    kinds = f"{configs.source.kind} of the sources, {configs.target.kind} of the targets"
    print(f"Tokens are {kinds}, as a training without a recipe would have them.", file=sys.stderr)
    return data.changed(**(likely_limits(sample) | given)), learned


def progress(done: int) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{done:,} pairs", end="\r", file=sys.stderr, flush=True)


def warn_above(bad: int, lines: int, share: float) -> None:
    if bad > share * lines:
        print(
            f"Training would refuse: {bad:,} bad lines among {lines:,} are more than data.max_bad = {share:g} allows.",
            file=sys.stderr,
        )
