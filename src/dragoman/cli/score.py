"""dragoman score: how probable given targets are."""

from pathlib import Path
from typing import Annotated

import typer


def score(
    run: Annotated[Path, typer.Argument(help="A run folder, or a model folder.")],
    pairs: Annotated[list[str], typer.Argument(help="A TSV file of pairs, or a source file and a target file.")],
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
) -> None:
    """The log-probability (natural) of each target given its source: the line's, then each token's, END last."""
    import json as writer

    from dragoman.cli.progress import warn
    from dragoman.data.readers.pairs import Problems, read_pairs
    from dragoman.pipeline import Pipeline

    pipeline = Pipeline.load(run, device)
    problems = Problems()
    texts = ((pair.source, pair.target) for pair in read_pairs(tuple(pairs), problems))
    for scored in pipeline.score(texts):
        if json:
            print(writer.dumps(vars(scored), ensure_ascii=False))
        else:
            tokens = zip(scored.tokens, scored.token_log_probabilities, strict=True)
            print(f"{scored.log_probability:.6f}\t" + " ".join(f"{token}:{value:.4f}" for token, value in tokens))
    if problems.count:
        warn(f"{problems.count:,} bad lines were left out.\n{problems.summary()}")
