"""What is counted is called what it is, and what is not known is not told."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from dragoman.cli import progress
from dragoman.cli.labels import done_of
from dragoman.cli.progress import learned_of, metered, show, step_line
from dragoman.data.readers.lines import Problems
from dragoman.evaluation.frames import answer_frames
from dragoman.inspection.report.curves import Curves
from dragoman.inspection.report.history import small_charts
from dragoman.pipeline import Pipeline
from dragoman.training.events import Prepared, Stepped
from frames import small, written
from tiny import of_kind, run_all

FACTS = {"pairs": 3, "bad_lines": 0, "dropped_long": 0, "source_vocabulary": 0, "target_vocabulary": 0}


@pytest.mark.parametrize(
    ("more", "unit"),
    [({}, "tokens"), ({"steps": (8, 12)}, "steps"), ({"labels": 4}, "labels"), ({"labels": 1}, "numbers")],
)
def test_what_is_learned_a_second(more: dict[str, object], unit: str) -> None:
    prepared = Prepared(**FACTS, parameters=1, device="cpu", **more)  # type: ignore[arg-type]
    assert learned_of(prepared) == unit


def test_frames_are_told_as_what_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a run, and while its frames are measured: nobody says of how many before that is known."""
    corpus = written(tmp_path, "tags", size=12)
    events = run_all(small(corpus, "tags", training__steps=2, training__log_every=1), tmp_path / "run")
    show(iter(events), tmp_path / "run")
    err = capsys.readouterr().err
    assert " labels/s · " in err
    assert "tokens/s" not in err
    told: list[tuple[str, int, int]] = []
    pipeline = Pipeline.load(tmp_path / "run")
    reading = dict(pipeline.known_labels.reading)
    answer_frames(
        pipeline, [str(corpus.valid)], reading, None, Problems(), Problems(), lambda *words: told.append(words)
    )
    assert told[-1] == ("answered", 60, 0)
    assert done_of(*told[-1]) == ("60 answered", None)
    assert done_of("answered", 3, 4) == ("3 of 4 answered", 0.75)
    assert step_line(of_kind(events, Stepped)[-1], "steps").count("steps/s") == 1


def test_what_was_done_is_told_without_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    written_to = io.StringIO()
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(progress, "plain_console", lambda stderr=False: Console(file=written_to, width=80))
    with metered() as tell:
        tell("7 answered", None)
        tell("3 of 4 answered", 0.75)
    assert written_to.getvalue().splitlines()[0] == "7 answered · 0:00 so far"
    assert "75% · 0:00 left" in written_to.getvalue()


def test_one_point_is_no_curve() -> None:
    one, two = ((2.0, 3.0),), ((1.0, 4.0), (2.0, 3.0))
    assert small_charts(Curves({"rate": one}, {"accuracy": one}, {}, None)) == []
    assert len(small_charts(Curves({"rate": one, "gradient_norm": two}, {}, {}, None))) == 1


def test_a_run_of_two_updates_has_a_sentence_in_place_of_curves(tmp_path: Path) -> None:
    corpus = written(tmp_path, "labels", size=12)
    settings = {"training__steps": 2, "training__validate_every": 2, "training__log_every": 2}
    run_all(small(corpus, "labels", **settings, evaluation__report=10), tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    assert "There are too few records for a curve: training loss " in page
    assert " over steps" not in page
