"""dragoman predict: an answer for every line."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.captions import predict_captions
from dragoman.cli.conversations import as_json as conversation_as_json
from dragoman.cli.conversations import histories_in
from dragoman.cli.frames import predict_frames
from dragoman.cli.labels import predict_labels
from dragoman.cli.spans import predict_spans
from dragoman.cli.tracks import predict_tracks
from dragoman.cli.unused import PREDICTING, refuse_unused, work_of
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.contracts import Answer
    from dragoman.pipeline import Constraints, Pipeline
    from dragoman.served import Work

With = Annotated[
    list[Path] | None,
    typer.Option("--with", help="Another run that answers together with RUN, as an ensemble; may be repeated."),
]
MeanOf = Annotated[
    str | None, typer.Option(help="What an ensemble takes the mean of: logarithms, as without it, or probabilities.")
]

EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="torch; ctranslate2, from what `dragoman export` made of RUN; or auto: the faster one where it is proved "
        "to give the same texts. Default: torch, or that of the folder.",
    ),
]
Quantize = Annotated[
    str, typer.Option(help="none, or int8: faster on a CPU where layers are large, and not quite the same.")
]

READING = ("captions", "frames")  # whose files are read as data.* says


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a model folder.")],
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]... [SECTION.KEY=VALUE]...",
            help="Source lines, or pictures and folders; - is standard input, as is nothing. Settings of search, "
            "rules, risk and limits; of pictures, clips and frames also data.pictures and the like.",
        ),
    ] = None,
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
    prefix: Annotated[str, typer.Option(help="What every answer begins with.")] = "",
    must: Annotated[list[str] | None, typer.Option(help="A word or phrase in every answer; may be repeated.")] = None,
    never: Annotated[list[str] | None, typer.Option(help="A word or phrase in no answer; may be repeated.")] = None,
    constraints: Annotated[
        Path | None,
        typer.Option(
            help='JSON lines, one for each source line: {"prefix": "…", "must": ["…"], "never": ["…"]}, each optional.'
        ),
    ] = None,
    tag: Annotated[
        str, typer.Option(help="Of a model that describes pictures: the tag of its answers, such as a language.")
    ] = "",
    together: With = None,
    mean: MeanOf = None,
    engine: EngineOption = None,
    nothing: Annotated[
        bool,
        typer.Option("--nothing", help="Of a language model: go on with nothing, from START alone; no line is read."),
    ] = False,
    longer: Annotated[
        str | None, typer.Option(help="Lines above limits.source: split, cut or refuse; default: as the run says.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Write every expansion of the search into this file, as JSON lines.")
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="JSON lines while it decodes: the beams after each step, then the answers.")
    ] = False,
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad",
            help="Pictures, frames and tracks that cannot be read are told and left out, and the rest goes on.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with everything.")] = False,
    quantize: Quantize = "none",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
) -> None:
    """\b
    dragoman predict runs/mine test.txt > answers.txt
    dragoman predict runs/squad dev.json --n-best 3 --scores
    dragoman predict runs/captions photo.jpg more/ --json
    echo "To be" | dragoman predict runs/book limits.answer=200
    dragoman predict runs/movers tracks.csv --n-best 20

    Answer every line of a file: one output line for each input line, empty ones too; columns are tab-separated.

    A language model goes on with every line, the empty one too; its texts keep their line ends, and a blank line stands
    behind each. With several --n-best or --scores they are columns of a line, and with --json whatever they hold.

    Separate several source columns (lemma, features) with tabs, or give JSON lines with a field for each.
    A model that says what texts are answers with a label, a number or a tag a word; of two texts, a tab stands between.
    One that was taught to read fills the gaps of a line: "the [MASK] barked", --n-best with several words.
    One that reads conversations answers what was said last in each: a line each, JSON with a list of turns, or turns
    with tabs between them; or a table with an id in each row.
    One that finds answers in documents reads question<TAB>document, JSON lines with question and document, or a SQuAD
    file; an empty line is no answer. One that describes pictures takes files, folders, or paths on standard input, and
    puts the name of the file before its caption. One that says what frames are reads a file of tracks (CSV, JSON lines,
    NPZ), or clips, and answers with a line for each, its name first; where each frame has a label, with a line a frame.

    A model of tracks goes on with each track of a file (CSV, JSON lines or NPZ): a row for each step, in the units of
    the file. --n-best 20 has 19 futures that are drawn behind the most likely one, of a model with a mixture.
    """
    from dragoman.cli.longer import Longer
    from dragoman.cli.outputs import refuse_overwriting
    from dragoman.cli.progress import metered, size_of, warn
    from dragoman.cli.unknown import Unknown, UnknownInPrompts
    from dragoman.config import parse_overrides
    from dragoman.data.readers.pairs import read_lines
    from dragoman.pipeline import WINDOW, Constraints

    files, settings = sort_out(what or [])
    work = work_of(run)
    of_files = [word for word in settings if word.startswith("data.") and work in READING]
    reading = parse_overrides(of_files).table.get("data", {})
    overrides = [word for word in settings if word not in of_files]
    refuse_overwriting(trace, [*files, constraints])
    changes = [*width_of(beam, overrides), *overrides]
    given: dict[str, object]
    given = {"--beam": beam, "--n-best": n_best > 1, "--alignments": alignments, "--prefix": prefix, "--must": must}
    given |= {"--never": never, "--constraints": constraints, "--tag": tag, "--with": together, "--nothing": nothing}
    given |= {"--longer": longer, "--trace": trace, "--stream": stream, "--skip-bad": skip_bad}
    refuse_unused(work, PREDICTING, given | {"--engine": engine == "ctranslate2"})
    pipeline = loaded(run, together or [], mean, device, engine, quantize).changed(changes)
    if pipeline.work == "captions":
        asked = Constraints(prefix, tuple(must or ()), tuple(never or ()))
        predict_captions(pipeline, files, reading, beam, n_best, scores, asked, tag, skip_bad, json)
        return
    file = one_file(files)
    others: dict[Work, Callable[[], None]] = {
        "tracks": lambda: predict_tracks(pipeline, file, n_best, scores, json, skip_bad),
        "frames": lambda: predict_frames(pipeline, file, reading, scores, longer, json, skip_bad),
        "spans": lambda: predict_spans(pipeline, file, n_best, scores, longer, json),
        "labels": lambda: predict_labels(pipeline, file, scores, longer, json),
        "gaps": lambda: fill_gaps(pipeline, file, n_best, scores, json),
    }
    if pipeline.work in others:
        others[pipeline.work]()
        return
    tell_engine(pipeline, beam, n_best, any((prefix, must, never, constraints, trace)))
    if alignments:
        pipeline.require_attention()
    if stream and (json or scores or alignments):
        raise ConfigError("--stream has its own JSON lines; leave --json, --scores and --alignments out.")
    typed = file == "-" and sys.stdin.isatty()  # who types wants an answer at every line
    if nothing and not pipeline.alone:
        raise ConfigError("--nothing is for a language model; this one answers sources. Give it lines to answer.")
    if nothing and what and file != "-":
        raise ConfigError(f"--nothing goes on with nothing, and {file} holds lines. Leave one of them out.")
    read = partial(histories_in, wanted=pipeline.wanted) if pipeline.talks else read_lines
    if columns := pipeline.wanted.columns:
        read = partial(sources_in, columns=columns)
    lines, size, done, tabs = iter([""]) if nothing else read(file), size_of(file), 0, False
    told = Longer(pipeline.settings.limits.source)
    unknown = UnknownInPrompts(pipeline) if pipeline.alone else Unknown(pipeline)
    whole = pipeline.alone and n_best == 1 and not scores
    with ExitStack() as stack:
        tell = stack.enter_context(metered(size > 0 and not sys.stdout.isatty()))
        answers = pipeline.stream(
            lines,
            beam,
            n_best,
            alignments or (json and pipeline.by_torch(beam, n_best)),
            1 if typed else WINDOW,
            longer,
            constraints=stack.enter_context(wanted(prefix, must, never, constraints)),
            tracer=stack.enter_context(watching(pipeline, trace, stream)),
            scores=scores or json or stream,
        )
        for number, answer in enumerate(answers, start=1):
            told.tell(number, answer.longer)
            unknown.count(answer)
            if "\t" in answer.source and not tabs and not (pipeline.alone or pipeline.talks or columns):
                tabs = True
                warn(f"line {number} holds a tab: whole lines are sources here. Of a table take one column: cut -f1.")
            if not stream:
                text = f"{answer.text}\n" if whole else as_columns(answer, scores, alignments)
                told_all = conversation_as_json if pipeline.talks else as_json
                print(told_all(answer) if json else text, flush=file == "-")
            done += len(answer.source.encode()) + 1
            tell(f"{number:,} lines answered", done / max(size, done))
    told.summarise()
    unknown.summarise()


def sources_in(file: str, columns: Sequence[str]) -> Iterator[str]:
    """Lines of several columns, or JSON lines with a field for each."""
    from dragoman.data.readers.jsonl import source_in
    from dragoman.data.readers.pairs import read_lines

    shown = "standard input" if file == "-" else file
    for number, line in enumerate(read_lines(file), start=1):
        yield source_in(line, columns, f"{shown}:{number}")


def fill_gaps(pipeline: "Pipeline", file: str, n_best: int, scores: bool, json: bool) -> None:
    """Each line with its gaps filled."""
    from dragoman.data.readers.pairs import read_lines
    from dragoman.pipeline import WINDOW

    window = 1 if file == "-" and sys.stdin.isatty() else WINDOW
    for answer in pipeline.stream(read_lines(file), n_best=n_best, window=window):
        print(as_json(answer) if json else as_columns(answer, scores, alignments=False), flush=file == "-")


def sort_out(words: list[str]) -> tuple[list[str], list[str]]:
    """Which words are files, which are settings."""
    overrides = [word for word in words if "=" in word and not Path(word).exists()]
    return [word for word in words if word not in overrides], overrides


def one_file(files: list[str]) -> str:
    if len(files) > 1:
        raise ConfigError(
            f"One file is answered at a time, not {len(files)}: {', '.join(files)}. Try cat … | dragoman."
        )
    return files[0] if files else "-"


def width_of(beam: int | None, overrides: Sequence[str] = ()) -> list[str]:
    """--beam as settings, so that others of the beam fit it; one that makes no sense is left to the search."""
    from dragoman.search import WIDEST

    kinds = [word.partition("=")[2] for word in overrides if word.partition("=")[0].strip() == "search.kind"]
    if beam is not None and kinds and kinds[-1] not in ("beam", "greedy"):
        raise ConfigError(
            f"--beam is the width of a beam, and search.kind={kinds[-1]} has none. Leave one of them out."
        )
    return [] if beam is None or not 1 < beam <= WIDEST else ["search.kind=beam", f"search.width={beam}"]


def tell_engine(pipeline: "Pipeline", beam: int | None, n_best: int, more: bool = False) -> None:
    """Who answers, where that was left to be chosen, and what is measured where it was not measured before."""
    from dragoman.cli.progress import warn
    from dragoman.pipeline.rows import Asked

    if pipeline.engine is not None:
        pipeline.engine.engine.tell = warn
    if pipeline.engine is not None and not pipeline.engine.always:
        asked = Asked(pipeline.chosen_search(beam, n_best), n_best, alignments=False)
        warn(pipeline.engine.sentence(asked, pipeline.settings.rules, more))
    elif pipeline.remark:
        warn(pipeline.remark)


def loaded(
    run: Path, others: list[Path], mean: str | None, device: str, engine: str | None = None, quantize: str = "none"
) -> "Pipeline":
    """One run, or an ensemble."""
    from typing import get_args

    from dragoman.devices import keep_freed_memory
    from dragoman.errors import choose
    from dragoman.pipeline import Ensemble, Pipeline
    from dragoman.pipeline.together import Mean

    keep_freed_memory()  # 3 to 10 % more sentences a second
    if mean is not None and not others:
        raise ConfigError("--mean is of an ensemble: name its other runs (--with RUN), or leave it out.")
    chosen: Mean = choose("mean", mean or "logarithms", {name: name for name in get_args(Mean)})
    if others and engine not in (None, "torch"):
        raise ConfigError(f"An ensemble is computed by torch. Leave --engine {engine} out, or --with.")
    pipeline = Ensemble.load_all([run, *others], chosen, device) if others else Pipeline.load(run, device, engine)
    return pipeline.quantized(quantize)


@contextmanager
def wanted(
    prefix: str, must: list[str] | None, never: list[str] | None, file: Path | None
) -> "Iterator[Constraints | Iterator[Constraints]]":
    """The same for all lines, or one for each from a file."""
    from dragoman.pipeline import Constraints
    from dragoman.pipeline.constraints import read_constraints

    same = Constraints(prefix, tuple(must or ()), tuple(never or ()))
    if file is None:
        yield same
        return
    if same:
        raise ConfigError("--constraints has them line by line: leave --prefix, --must and --never out.")
    each = read_constraints(file)
    yield each
    if next(each, None) is not None:
        from dragoman.cli.progress import warn

        warn(f"{file} has more lines than were answered.")


@contextmanager
def watching(pipeline: "Pipeline", trace: Path | None, stream: bool) -> Iterator[Any]:
    """What writes down the search, if somebody wants it."""
    from json import dumps

    from dragoman.pipeline.traces import Telling, as_beams, as_record

    if trace is None and not stream:
        yield None
        return
    with opened(trace) as write:

        def tell(row: Any, event: Any, written: Any) -> None:
            if trace is not None:
                write(dumps(as_record(pipeline.target, row, event), ensure_ascii=False) + "\n")
            if stream:
                print(dumps(as_beams(pipeline.target, row, event, written), ensure_ascii=False), flush=True)

        yield Telling(tell)


@contextmanager
def opened(path: Path | None) -> Iterator[Callable[[str], object]]:
    """A file that is written as it comes, since a search may be long and is worth reading when it breaks off."""
    if path is None:
        yield lambda text: None
        return
    from dragoman.errors import StorageError

    try:
        file: IO[str] = path.open("w", encoding="utf-8")
    except OSError as error:
        raise StorageError(f"The trace cannot be written: {error.strerror} ({path}).") from error
    with file:
        yield file.write


def as_columns(answer: "Answer", scores: bool, alignments: bool) -> str:
    from dragoman.pipeline.chat import in_a_line

    columns: list[str] = []
    for prediction in answer.predictions:
        columns.append(in_a_line(prediction.text.replace("\t", " ")))
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
