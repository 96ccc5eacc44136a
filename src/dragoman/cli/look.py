"""dragoman look: where the model looked."""

from pathlib import Path
from typing import Annotated

import typer


def look(
    run: Annotated[Path, typer.Argument(help="A run folder, or a model folder.")],
    texts: Annotated[list[str], typer.Argument(help="Source texts.")],
    beam: Annotated[int | None, typer.Option(help="Width of the beam; 1 is greedy search.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
) -> None:
    """\b
    dragoman look runs/words attention

    Draw the alignment of each answer: a row an output symbol, a column a source token.
    """
    import sys

    from dragoman.inspection.alignment import alignment_text
    from dragoman.pipeline import Pipeline

    pipeline = Pipeline.load(run, device)
    for answer in pipeline.predict(texts, beam):
        print(f"{answer.source} → {answer.text}  (score {answer.score:.4f})")
        if answer.tokens:
            print(alignment_text(answer.best, colour=sys.stdout.isatty()))
