"""dragoman score: how probable given targets are."""

import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dragoman.data.readers.pairs import Pair, Problems


def score(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a model folder.")],
    pairs: Annotated[
        list[str],
        typer.Argument(
            metavar="PAIRS", help="Files of pairs, or a source file and a target file; - is standard input."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
) -> None:
    """\b
    dragoman score runs/mine pairs.tsv
    dragoman score runs/de-en test.de test.en --json > scores.jsonl

    The log-probability (natural) of each target given its source: the line's, then each token's, END last.
    """
    import json as writer

    from dragoman.cli.progress import metered, size_of
    from dragoman.data.readers.pairs import Problems, read_pairs
    from dragoman.data.readers.standard_input import spooled
    from dragoman.pipeline import Pipeline
    from dragoman.served import require_source

    pipeline = Pipeline.load(run, device)
    require_source(pipeline.settings.model.kind, "A score of pairs")
    problems, sizes = Problems(), [size_of(file) for file in pairs]
    lengths: deque[int] = deque()  # bytes of the pairs that were read and not yet scored
    done = 0
    with spooled(pairs) as (corpora,), metered(all(sizes) and not sys.stdout.isatty()) as tell:
        stream = strictly(read_pairs(corpora, problems, pipeline.wanted), problems, lengths)
        for number, scored in enumerate(pipeline.score(stream), start=1):
            if json:
                print(writer.dumps(vars(scored), ensure_ascii=False))
            else:
                tokens = zip(scored.tokens, scored.token_log_probabilities, strict=True)
                print(f"{scored.log_probability:.6f}\t" + " ".join(f"{token}:{value:.4f}" for token, value in tokens))
            done += lengths.popleft()
            tell(f"{number:,} pairs scored", done / max(sum(sizes), done))
    refuse(problems)


def strictly(pairs: "Iterator[Pair]", problems: "Problems", lengths: deque[int]) -> "Iterator[tuple[str, str]]":
    """A line that is no pair ends the scoring: leaving it out would shift all lines behind it."""
    for pair in pairs:
        refuse(problems)
        lengths.append(len(pair.source.encode()) + len(pair.target.encode()) + 2)
        yield pair.source, pair.target


def refuse(problems: "Problems") -> None:
    if problems.count:
        raise DataError(
            f"{problems.first[0]}. Every line must be a pair to be scored; mend it or take it out. "
            "A source file and a target file are given one after the other."
        )
