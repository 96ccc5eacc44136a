"""dragoman predict: an answer for every line."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dragoman.contracts import Answer


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a model folder.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="Source lines; - is standard input.")] = "-",
    beam: Annotated[int | None, typer.Option(help="Width of the beam; 1 is greedy search.")] = None,
    n_best: Annotated[int, typer.Option(help="Answers a line, side by side; at most the width of the beam.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="The score behind each answer.")] = False,
    alignments: Annotated[
        bool,
        typer.Option(
            "--alignments",
            help="The source token that each output token looked at most, as 0-0 2-1 …: positions of tokens, the "
            "source's first; none where it looked at the source's end. Needs a model with attention.",
        ),
    ] = False,
    longer: Annotated[
        str | None, typer.Option(help="Lines above limits.source: split, cut or refuse; default: as the run says.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with everything.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
) -> None:
    """\b
    dragoman predict runs/mine test.txt > answers.txt
    echo attention | dragoman predict runs/mine --n-best 3 --scores
    dragoman predict runs/mine test.txt --beam 5 --json > answers.jsonl

    Answer every line of a file: one output line for each input line, empty ones too; columns are tab-separated.
    """
    from dragoman.cli.longer import Longer
    from dragoman.cli.progress import metered, size_of, warn
    from dragoman.data.readers.pairs import read_lines
    from dragoman.pipeline import WINDOW, Pipeline

    pipeline = Pipeline.load(run, device)
    if alignments:
        pipeline.require_attention()
    typed = file == "-" and sys.stdin.isatty()  # who types wants an answer at every line
    lines, size, done, tabs = read_lines(file), size_of(file), 0, False
    told = Longer(pipeline.settings.limits.source)
    with metered(size > 0 and not sys.stdout.isatty()) as tell:
        answers = pipeline.stream(lines, beam, n_best, alignments or json, 1 if typed else WINDOW, longer)
        for number, answer in enumerate(answers, start=1):
            told.tell(number, answer.longer)
            if "\t" in answer.source and not tabs:
                tabs = True
                warn(f"line {number} holds a tab: whole lines are sources here. Of a table take one column: cut -f1.")
            print(as_json(answer) if json else as_columns(answer, scores, alignments), flush=file == "-")
            done += len(answer.source.encode()) + 1
            tell(f"{number:,} lines answered", done / max(size, done))
    told.summarise()


def as_columns(answer: "Answer", scores: bool, alignments: bool) -> str:
    columns: list[str] = []
    for prediction in answer.predictions:
        columns.append(prediction.text.replace("\t", " ").replace("\n", " "))
        if scores:
            columns.append(f"{prediction.score:.6f}")
        if alignments:
            links = prediction.aligned().links() if prediction.alignment else ()
            columns.append(" ".join(f"{source}-{target}" for source, target in links))
    return "\t".join(columns)


def as_json(answer: "Answer") -> str:
    import json
    from dataclasses import asdict

    return json.dumps(asdict(answer), ensure_ascii=False)
