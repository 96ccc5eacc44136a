"""Models of tracks in the command line: futures told and measured."""

import csv
import io
from itertools import islice
from typing import TYPE_CHECKING, Any

from dragoman.cli.baselines import print_standing, with_baselines
from dragoman.cli.skipping import good
from dragoman.errors import ConfigError, DataError

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.baselines.training_data import Beside
    from dragoman.evaluation.tracks import EvaluatedTracks
    from dragoman.pipeline import Pipeline
    from dragoman.pipeline.tracks import Forecast

DRAWN = 12  # tracks of a file that are drawn
DIGITS = 6  # of a number that is written


def refuse_of_drawn_tracks(options: list[str]) -> None:
    if options:
        raise ConfigError(
            f"{options[0]} is about texts, and this model goes on with tracks, which are drawn in the terminal, with "
            "--svg or with --html; their numbers come from `dragoman predict`. Leave it out."
        )


def look_at_tracks(
    pipeline: "Pipeline", files: list[str], n_best: int, svg: "Path | None", html: "Path | None"
) -> None:
    """Each future drawn behind its past: in the terminal, into files, or on one page."""
    from dragoman.cli.look import numbered, write
    from dragoman.cli.progress import warn
    from dragoman.data.readers.lines import Problems
    from dragoman.drawing.page import page
    from dragoman.drawing.tracks import Drawn, track_svg, track_text

    problems, forecasting = Problems(), pipeline.forecasting
    found = list(islice(forecasting.stream(forecasting.read(files, problems), n_best), DRAWN + 1))
    if problems.count:
        warn(f"{problems.count:,} tracks could not be gone on with and were left out.\n{problems.summary()}")
    if not found:
        raise DataError(f"There is no track in {', '.join(files)} that could be gone on with.")
    if len(found) > DRAWN:
        warn(f"the first {DRAWN} tracks are drawn.")
    drawn = [Drawn(one.name, one.features, one.past, tuple(o.points for o in one.futures)) for one in found[:DRAWN]]
    for number, one in enumerate(drawn if svg is not None else [], start=1):
        assert svg is not None  # noqa: S101
        write(numbered(svg, number, len(drawn)), track_svg(one))
    if html is not None:
        write(html, page([f"<figure>{track_svg(one)}</figure>" for one in drawn], "How tracks go on"))
    if svg is html is None:
        if len(forecasting.tracking.features) != 2:
            raise ConfigError(
                "The terminal has two axes, and this model predicts no two features: use --svg or --html."
            )
        print("\n".join(track_text(one) for one in drawn))


def predict_tracks(pipeline: "Pipeline", file: str, n_best: int, scores: bool, json: bool, skip_bad: bool) -> None:
    """A row for each step of each future, as CSV; or a JSON object a track."""
    from dragoman.cli.progress import warn
    from dragoman.data.readers.lines import Problems

    if file == "-":
        raise ConfigError("Tracks are read from a file, whose name says how it holds them: CSV, JSON lines or NPZ.")
    forecasting, problems, told = pipeline.forecasting, Problems(), 0
    header = ["id", *(["future"] if n_best > 1 else []), "step", *map(str, forecasting.tracking.features)]
    tracks = good(forecasting.read([file], problems), problems, skip_bad, "tracks")
    for forecast in forecasting.stream(tracks, n_best):
        told += 1
        if told == 1 and not json:
            print(row_of([*header, *(["log_density"] if scores else [])]))
        print(as_json(forecast, scores) if json else as_rows(forecast, n_best > 1, scores))
    if problems.count:
        warn(f"{problems.count:,} tracks could not be gone on with and were left out.\n{problems.summary()}")
    if not told:
        raise DataError(f"There is no track in {file} that could be gone on with.")


def as_rows(forecast: "Forecast", numbered: bool, scores: bool) -> str:
    rows = []
    for number, future in enumerate(forecast.futures, start=1):
        for step, point in enumerate(future.points, start=1):
            cells = [forecast.name, *([number] if numbered else []), step, *(f"{value:.{DIGITS}g}" for value in point)]
            rows.append(row_of([*cells, *([f"{future.log_density:.{DIGITS}g}"] if scores else [])]))
    return "\n".join(rows)


def row_of(cells: list[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def as_json(forecast: "Forecast", scores: bool) -> str:
    import json

    def columns(points: Any) -> dict[str, list[float]]:
        named = enumerate(map(str, forecast.features))
        return {name: [float(f"{value:.{DIGITS}g}") for value in points[:, n]] for n, name in named}

    facts: dict[str, Any] = {"id": forecast.name, "future": columns(forecast.points)}
    if len(forecast.futures) > 1:
        facts["futures"] = [columns(one.points) for one in forecast.futures]
    if scores:
        facts["log_densities"] = [one.log_density for one in forecast.futures]
    return json.dumps(facts, ensure_ascii=False)


def evaluate_of_tracks(
    pipeline: "Pipeline", files: list[str], n_best: int, json: bool, beside: "Beside | None" = None
) -> None:
    """How far futures are from the true ones."""
    from dragoman.cli.progress import metered, warn
    from dragoman.evaluation.tracks import evaluate_tracks

    with metered() as tell:
        result = evaluate_tracks(
            pipeline,
            files,
            n_best,
            watch=lambda what, done, total: tell(f"{done:,} {what}", done / total),
            beside=beside,
        )
    if result.problems.count:
        warn(f"{result.problems.count:,} bad lines were left out.\n{result.problems.summary()}")
    if result.short:
        warn(f"{result.short:,} of {result.tracks:,} tracks are too short for a past and a future, and were left out.")
    print_tracks(result, json)


def print_tracks(result: "EvaluatedTracks", json: bool) -> None:
    import json as writer

    if json:
        print(writer.dumps(facts_of(result), ensure_ascii=False, indent=2))
        return
    from dragoman.cli.evaluate import table_of
    from dragoman.cli.progress import plain_console
    from dragoman.metrics.displacement import title_of

    console = plain_console()
    console.print(table_of([(value, title_of(value.name)) for value in result.metrics], digits=3))
    rate = result.items / max(result.seconds, 1e-9)
    console.print(f"{result.items:,} futures of {result.tracks:,} tracks · {rate:,.0f} a second")
    console.print(f"all: {result.metrics[0].signature}", soft_wrap=True)
    print_standing(console, result.standing, digits=3)


def facts_of(result: "EvaluatedTracks") -> dict[str, Any]:
    """What was measured, for JSON."""

    def measured(values: Any) -> dict[str, Any]:
        return {value.name: {k: v for k, v in vars(value).items() if k != "name"} for value in values}

    facts: dict[str, Any] = {name: getattr(result, name) for name in ("items", "tracks", "short", "seconds", "unit")}
    facts |= {"bad_lines": result.problems.count, "metrics": measured(result.metrics)}
    return with_baselines(facts | {"distance_by_step": list(result.horizons)}, result.standing)
