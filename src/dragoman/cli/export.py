"""dragoman export: a trained model for other places."""

from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a model folder.")],
    to: Annotated[str, typer.Option(help="ctranslate2; onnx; or folder: the model as it is, with a card.")],
    out: Annotated[Path | None, typer.Option(help="The folder to write; default: RUN/exports/KIND.")] = None,
    quantize: Annotated[
        str,
        typer.Option(
            help="none, or int8: weights of one byte, not quite the same. ctranslate2: a third of the size; folder: "
            "weights stay, and answers with `--quantize int8` are proved."
        ),
    ] = "none",
    on: Annotated[
        list[str] | None,
        typer.Option(
            help="Lines to check the export on: a file of pairs or of sources; a source and a target file as two. "
            "Default: the run's validation data."
        ),
    ] = None,
    lines: Annotated[int, typer.Option(min=1, help="Of them, at most.")] = 200,
    equal: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Of int8: the share of greedy answers that must stay the same; default: 0.97."),
    ] = None,
    licence: Annotated[str, typer.Option(help="Of a folder: what its card says; default: not stated.")] = "",
    json: Annotated[bool, typer.Option("--json", help="The result as one JSON object.")] = False,
) -> None:
    """\b
    dragoman export runs/mine --to ctranslate2
    dragoman export runs/mine --to ctranslate2 --quantize int8 --out models/mine
    dragoman export runs/mine --to onnx --on test.tsv
    dragoman export runs/mine --to folder --licence "CC BY 4.0" --out models/mine

    Write a trained model in another form, and prove on held-out lines that it answers as the original does; where it
    does not, nothing is left. The folder's path goes to stdout.
    """
    import json as writer
    import sys

    from dragoman.cli.evaluate import files_given
    from dragoman.cli.progress import metered
    from dragoman.errors import choose
    from dragoman.export import QUANTIZE, Wanted
    from dragoman.export import export as export_run

    with metered() as tell:
        chosen = choose("quantisation", quantize, QUANTIZE)
        wanted = Wanted(out, chosen, files_given(on or []), lines, tell, licence, equal)
        result = export_run(run, to, wanted)
    if json:
        facts = {"to": result.to, "out": str(result.out), "megabytes": round(result.megabytes, 3), **result.facts}
        print(writer.dumps(facts, ensure_ascii=False, indent=2))
        return
    print(result.out)
    print(*result.sentences, sep="\n", file=sys.stderr)
