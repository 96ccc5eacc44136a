"""Tracks, from the command line and from Python: training, resuming, going on with them, measuring, and refusals."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dragoman as package
from command_line import CommandLine
from dragoman.baselines.training_data import Beside
from dragoman.comparison.tracks import read
from dragoman.data.movers import mover, write_movers
from dragoman.data.order import Batching
from dragoman.data.readers.lines import Problems
from dragoman.data.track_store import Cutting, build_tracks
from dragoman.errors import ConfigError, DataError, StorageError
from dragoman.evaluation.tracks import evaluate_tracks, validate_tracks
from dragoman.experiment import Experiment, train
from dragoman.inspection.report.tracks import examine_tracks
from dragoman.pipeline import Pipeline
from dragoman.pipeline.tracks import Forecast
from dragoman.recipes import compose
from dragoman.storage import read_record, write_record
from dragoman.training.events import Resumed, Saved, Stepped, Surveyed, Validated
from tiny import bits, metrics, of_kind, run_all, run_until

SIZES = {"train": 12, "valid": 4, "test": 4}
FEATURES = ['data.predicts=["x","y"]', 'data.context=["turn","speed"]', "data.stride=8"]


@pytest.fixture(scope="module")
def movers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("movers")
    write_movers(folder, SIZES)
    return folder


def small(movers: Path, *overrides: str, **settings: Any) -> Experiment:
    files = (str(movers / "train.csv"),), (str(movers / "valid.csv"),)
    limits = {"training.steps": 20, "training.validate_every": 10, "training.save_every": 5, "training.threads": 1}
    limits |= {"evaluation.report": 0, "training.estimate": False}
    words = [*FEATURES, *overrides]
    return compose("trajectories", "tiny", *files, overrides=words, settings={**limits, **settings}).settings


@pytest.fixture(scope="module")
def run(movers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    run_all(small(movers), out)
    return out


@pytest.fixture(scope="module")
def mixture(movers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "mixture"
    run_all(small(movers, "model.head.kind=mixture", "objective.kind=mixture", "regime.kind=teacher"), out)
    return out


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("model.head.kind=mixture", "objective.kind=mixture", "regime.kind=scheduled", "regime.own=sampled"),
        ("data.context=[]", "data.turns=any", "data.noise=0.1", "data.frame=last", "objective.along=points"),
    ],
    ids=["points", "mixture", "turned"],
)
def test_ten_steps_and_ten_more_are_twenty(movers: Path, tmp_path: Path, overrides: tuple[str, ...]) -> None:
    run_all(small(movers, *overrides), tmp_path / "once")
    run_until(small(movers, *overrides), tmp_path / "twice", lambda event: event == Saved(10))
    events = run_all(small(movers, *overrides), tmp_path / "twice")
    assert of_kind(events, Resumed) == [Resumed(10)]
    assert bits(tmp_path / "once", 20) == bits(tmp_path / "twice", 20)
    assert metrics(tmp_path / "once") == metrics(tmp_path / "twice")


def test_a_transformer_learns_and_answers(movers: Path, tmp_path: Path) -> None:
    words = ["kind=transformer", "layers=1", "heads=2", "feed_forward=8"]
    parts = [f"model.{side}.{word}" for side in ("encoder", "decoder") for word in words]
    run_all(small(movers, *parts), tmp_path / "run")
    assert evaluate_tracks(Pipeline.load(tmp_path / "run"), [str(movers / "test.csv")], stride=8).items > 0


def asked(folder: Path, name: str = "asked.csv") -> str:
    """Eight steps of two movers, and the commands of three more."""
    lines = ["id,x [m],y [m],turn [degrees],speed [m/s]"]
    for number in (1, 2):
        for step, (x, y, turn, speed) in enumerate(mover(number, "test", 11)):
            point = f"{x:.3f},{y:.3f}" if step < 8 else ","
            lines.append(f"m{number},{point},{turn:g},{speed:.3f}")
    (folder / name).write_text("\n".join(lines) + "\n")
    return str(folder / name)


def test_predict_goes_on_in_the_units_of_the_file(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", run, asked(tmp_path))
    assert done.code == 0, done.err
    header, *rows = done.out.splitlines()
    assert header == "id,step,x [m],y [m]"
    assert [row.split(",")[:2] for row in rows] == [[f"m{n}", str(s)] for n in (1, 2) for s in (1, 2, 3)]
    last = mover(1, "test", 11)[7, :2]
    first = np.array(rows[0].split(",")[2:], float)
    assert np.abs(first - last).max() < 10  # it goes on from where the track was, 50 m from anywhere else


def test_futures_are_drawn_and_do_not_depend_on_neighbours(
    mixture: Path, tmp_path: Path, dragoman: CommandLine
) -> None:
    file = asked(tmp_path)
    done = dragoman("predict", mixture, file, "--n-best", "3", "--json", "--scores")
    one, two = map(json.loads, done.out.splitlines())
    assert len(one["futures"]) == len(one["log_densities"]) == 3
    assert one["future"] == one["futures"][0] != one["futures"][1]
    pipeline = Pipeline.load(mixture)
    tracks = list(pipeline.forecasting.read([file], Problems()))
    alone = [next(pipeline.forecasting.stream([track], 3)) for track in tracks[:1]]
    np.testing.assert_allclose(alone[0].futures[2].points[:, 0], one["futures"][2]["x [m]"], rtol=1e-4)
    assert two["id"] == "m2"


def test_python_takes_rows_columns_and_files(run: Path, tmp_path: Path) -> None:
    pipeline = package.load(run)
    rows = mover(1, "test", 11)
    rows[8:, :2] = np.nan
    forecast = pipeline.predict(rows)
    assert isinstance(forecast, Forecast)
    assert forecast.points.shape == (3, 2)
    names = ("x", "y", "turn", "speed")
    columns = {name: rows[:, n] for n, name in enumerate(names)}
    np.testing.assert_array_equal(pipeline.predict(columns).points, forecast.points)
    assert [one.name for one in pipeline.predict(asked(tmp_path))] == ["m1", "m2"]
    assert pipeline.spec() == {"source": "track", "target": "points"}
    assert "<svg" in forecast._repr_svg_()
    with pytest.raises(DataError, match=r"has the features x, y, turn, speed; 'turn' is missing\."):
        pipeline.predict({"x": [1.0], "y": [2.0]})
    with pytest.raises(DataError, match=r"rows of 4 numbers \(x, y, turn, speed\), not an array of the shape \(3, 2\)"):
        pipeline.predict(np.zeros((3, 2)))


def test_evaluate_measures_in_the_unit_of_the_data(run: Path, movers: Path, dragoman: CommandLine) -> None:
    done = dragoman("evaluate", run, movers / "test.csv", "--json", "evaluation.resamples=10")
    facts = json.loads(done.out)
    assert (facts["unit"], facts["tracks"], facts["items"]) == ("m", 4, 4 * 41)
    assert list(facts["metrics"])[:3] == ["ade [m]", "fde [m]", "rmse [m]"]
    assert len(facts["distance_by_step"]) == 12
    assert np.mean(facts["distance_by_step"]) == pytest.approx(facts["metrics"]["ade [m]"]["value"])
    table = dragoman("evaluate", run, movers / "test.csv", "evaluation.resamples=10").out
    assert list(facts["baselines"]["rows"]) == ["velocity", "ridge"]
    assert "last velocity" in table
    assert "the best baseline (ridge regression on the history): ADE [m]" in table
    refused = dragoman("evaluate", run, movers / "test.csv", "--n-best", "3")
    assert "model.head.kind = 'points'" in refused.err


def test_best_of_k_is_no_worse_than_the_first(mixture: Path, movers: Path) -> None:
    pipeline = Pipeline.load(mixture).changed(["evaluation.resamples=10"])
    found = {one.name: one.value for one in evaluate_tracks(pipeline, [str(movers / "test.csv")], 5, 8).metrics}
    assert found["ade_best_of_5 [m]"] < found["ade [m]"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (["data.context=[]", 'data.predicts=["x","z"]'], "has no feature 'z'. It has 'id', 'x', 'y', 'turn', 'speed'."),
        (["data.past=90"], "No example is left of 12 tracks: 12 × tracks shorter than data.past + data.future = 102"),
        (['data.context=["y"]'], "'y' is named twice: a feature is predicted, read, or context"),
        (["model.head.kind=mixture"], "model.head.kind = 'mixture' is learned with objective.kind = 'mixture', not"),
        (["data.frame=last"], "objective.along = 'path' sums steps up, and data.frame is 'last': set 'steps'."),
        (["training.monitor=ad"], "is nothing that tracks are measured by. Did you mean 'ade'?"),
        (["model.kind=encoder_decoder"], "data.kind = 'tracks' is for a model that goes on with tracks"),
        (["regime.own=sampled"], "regime.own = 'sampled' draws points, and model.head.kind = 'points' says one"),
        (["source.kind=words"], "a model of tracks reads numbers and no texts, so that source.kind = 'words'"),
        (["data.turns=any"], "turns = 'any' turns two features, which `predicts` names, and no others"),
    ],
)
def test_what_does_not_fit_is_said(movers: Path, tmp_path: Path, change: list[str], sentence: str) -> None:
    with pytest.raises((ConfigError, DataError)) as caught:
        list(train(small(movers, *change), tmp_path / "run"))
    assert sentence in str(caught.value)


def test_full_covariance_is_of_two_features(movers: Path, tmp_path: Path) -> None:
    words = ["model.head.kind=mixture", "model.head.covariance=full", "objective.kind=mixture", "data.context=[]"]
    with pytest.raises(ConfigError, match=r"'full' is for two features, and 4 are predicted \(x, y, turn, speed\)"):
        list(train(small(movers, *words, "data.predicts=[]", "regime.kind=teacher"), tmp_path / "run"))


def test_bad_tracks_are_counted_located_and_left_out(movers: Path, tmp_path: Path) -> None:
    lines = (movers / "train.csv").read_text().splitlines()
    lines[3] = "train-1,NaN,1,0,1"
    short = ["short,1,1,0,1"] * 5
    (tmp_path / "train.csv").write_text("\n".join([*lines, *short]) + "\n")
    settings = small(movers)
    settings = settings.changed(data=settings.data.changed(train=(str(tmp_path / "train.csv"),)))
    events = run_all(settings, tmp_path / "run")
    [surveyed] = of_kind(events, Surveyed)
    said = "\n".join(surveyed.lines)
    file = tmp_path / "train.csv"
    assert (
        f"train: 1 × 'x' is missing (data.missing=allow lets it be): its track is left out (0.14%), first at {file}:4"
        in said
    )
    assert "train: 1 × tracks shorter than data.past + data.future = 20 steps" in said
    refused = settings.changed(data=settings.data.changed(max_bad=0.0))
    with pytest.raises(DataError, match=r"1 bad lines among 726 are more than data\.max_bad = 0 allows"):
        list(train(refused, tmp_path / "other"))


def with_gaps(movers: Path, folder: Path) -> str:
    lines = (movers / "train.csv").read_text().splitlines()
    for number in range(5, len(lines), 7):
        name, _, y, turn, speed = lines[number].split(",")
        lines[number] = f"{name},,{y},{turn},{speed}"
    (folder / "train.csv").write_text("\n".join(lines) + "\n")
    return str(folder / "train.csv")


@pytest.mark.parametrize("kind", ["squared_error", "distance"])
def test_the_losses_of_training_and_validation_are_the_same(movers: Path, tmp_path: Path, kind: str) -> None:
    """On the same tracks, with weights that do not move: what is missing counts in neither."""
    file = with_gaps(movers, tmp_path)
    words = ["data.missing=allow", "regime.kind=teacher", f"objective.kind={kind}", "training.batching.sentences=1000"]
    limits = {"training.steps": 1, "training.validate_every": 1, "training.optimiser.rate": 1e-12}
    settings = small(movers, *words, **limits)
    settings = settings.changed(data=settings.data.changed(train=(file,), valid=(file,)))
    events = run_all(settings, tmp_path / "run")
    assert of_kind(events, Stepped)[-1].loss == pytest.approx(of_kind(events, Validated)[-1].values["loss"], rel=1e-4)


def test_missing_values_where_they_are_allowed(movers: Path, tmp_path: Path) -> None:
    file = with_gaps(movers, tmp_path)
    settings = small(movers, "data.missing=allow")
    settings = settings.changed(data=settings.data.changed(train=(file,)))
    run_all(settings, tmp_path / "run")
    pipeline = Pipeline.load(tmp_path / "run")
    found = evaluate_tracks(pipeline, [str(tmp_path / "train.csv")], stride=8)
    assert found.items > 0
    cutting = Cutting(settings.data, pipeline.tracking)
    told = cutting.stream("train"), pipeline.tracking
    store = build_tracks(tmp_path / "store", *told, "", cutting.problems, lambda counts: None)
    seen = validate_tracks(pipeline, store, Batching(), settings.objective, lambda: False)
    measured = {one.name: one.value for one in found.metrics}
    assert (seen["ade"], seen["fde"]) == pytest.approx((measured["ade [m]"], measured["fde [m]"]), rel=1e-4)


def test_tracks_that_cannot_be_gone_on_with_are_told(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    header = "id,x [m],y [m],turn [degrees],speed [m/s]"
    good = Path(asked(tmp_path)).read_text().splitlines()[1:12]
    (tmp_path / "some.csv").write_text("\n".join([header, "short,1,1,0,1", *good]) + "\n")
    done = dragoman("predict", run, tmp_path / "some.csv")
    assert (done.code, "Mend it, or give --skip-bad to have such tracks left out." in done.err) == (3, True)
    done = dragoman("predict", run, tmp_path / "some.csv", "--skip-bad")
    assert len(done.out.splitlines()) == 4
    assert "1 tracks could not be gone on with and were left out." in done.err
    assert "some.csv:2: 1 steps of a past, and the model reads 8 (data.past)" in done.err
    (tmp_path / "none.csv").write_text("\n".join([header, *(["a,1,1,0,1"] * 9)]) + "\n")
    done = dragoman("predict", run, tmp_path / "none.csv")
    assert done.code == 3
    assert "turn, speed must be known for future steps: give rows behind the past in which they stand" in done.err


@pytest.mark.parametrize("option", ["--beam=2", "--prefix=a", "--must=a", "--alignments"])
def test_options_of_texts_are_refused(run: Path, option: str, tmp_path: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", run, asked(tmp_path), option)
    assert done.code == 2
    assert f"{option.partition('=')[0]} is about texts, and this model goes on with tracks" in done.err


@pytest.mark.parametrize("verb", ["predict", "evaluate"])
@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (
            "--with",
            "--with is for models that write an answer to a text, or go on with one: an ensemble takes the mean",
        ),
        ("--engine", "--engine ctranslate2 is for models that write an answer to a text, of which alone there are"),
    ],
)
def test_other_runs_and_engines_are_for_texts(
    run: Path, verb: str, option: str, sentence: str, tmp_path: Path, dragoman: CommandLine
) -> None:
    done = dragoman(verb, run, asked(tmp_path), option, run if option == "--with" else "ctranslate2")
    assert (done.code, sentence in done.err) == (2, True), done.err


def test_the_own_engine_may_be_named(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    plain, *named = (
        dragoman("predict", run, asked(tmp_path), *how) for how in ([], ["--engine=torch"], ["--engine=auto"])
    )
    assert (plain.code, [one.out for one in named]) == (0, [plain.out] * 2)


@pytest.mark.parametrize("setting", ["search.width=7", "rules.no_repeat_ngram=2", "risk.utility=chrf"])
def test_settings_of_texts_would_change_nothing(run: Path, setting: str, tmp_path: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", run, asked(tmp_path), setting)
    section = setting.partition(".")[0]
    assert done.code == 2
    assert f"{section} is for models that write texts, and would change nothing of this one. What may be ch" in done.err
    assert f"changed: evaluation. Leave {section} out." in done.err


def test_what_is_drawn_is_changed_where_something_is_drawn(run: Path, mixture: Path) -> None:
    sentence = r"rollout is for models that go on with tracks by a mixture \(model\.head\.kind = 'mixture'\), and would"
    with pytest.raises(ConfigError, match=sentence):
        Pipeline.load(run).changed(["rollout.temperature=9"])
    assert Pipeline.load(mixture).changed(["rollout.temperature=9"]).settings.rollout.temperature == 9
    with pytest.raises(ConfigError, match=r"extraction is for models that find answers in documents .* rollout, evalu"):
        Pipeline.load(mixture).changed(["extraction.longest=3"])


@pytest.mark.parametrize(
    "words",
    [("score",), ("embed",), ("export", "--to", "onnx"), ("export", "--to", "ctranslate2")],
    ids=" ".join,
)
def test_verbs_of_texts_are_refused_with_a_sentence(
    run: Path, words: tuple[str, ...], movers: Path, dragoman: CommandLine
) -> None:
    verb, *options = words
    done = dragoman(verb, run, *options, stdin="a\tb\n")
    assert done.code == 2
    assert "Traceback" not in done.err


def test_a_changed_record_is_noticed(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run / "model", tmp_path / "model")
    record = read_record(tmp_path / "model" / "tracks.json")
    write_record(tmp_path / "model" / "tracks.json", {**record, "future": 3})
    with pytest.raises(
        StorageError, match=r"tracks\.json is damaged, or is not what model\.safetensors was trained with"
    ):
        Pipeline.load(tmp_path / "model")


def test_training_goes_on_from_a_run_of_the_same_features(run: Path, movers: Path, tmp_path: Path) -> None:
    files = (str(movers / "train.csv"),), (str(movers / "valid.csv"),)
    settings = {"training.steps": 2, "evaluation.report": 0}
    composed = compose(None, None, *files, settings=settings, start=str(run), out=tmp_path / "on")
    run_all(composed.settings, tmp_path / "on")
    assert Pipeline.load(tmp_path / "on").tracking == Pipeline.load(run).tracking


def test_what_is_said_anew_of_the_data_is_done_when_going_on_from_a_run(
    run: Path, movers: Path, tmp_path: Path
) -> None:
    """Of the old run the scale alone is kept: its weights belong to that, and to no length, format or column."""
    text = (movers / "train.csv").read_text().replace("id,", "mover,", 1)
    (tmp_path / "train.dat").write_text(text)
    files = (str(tmp_path / "train.dat"),), ()
    settings = {"training.steps": 2, "evaluation.report": 0, "data.past": 5, "data.future": 4, "data.hold_out": 0.3}
    settings |= {"data.format": "csv", "data.id_field": "mover", "data.missing": "allow"}
    composed = compose(None, None, *files, settings=settings, start=str(run), out=tmp_path / "on")
    run_all(composed.settings, tmp_path / "on")
    now, before = (Pipeline.load(path).tracking for path in (tmp_path / "on", run))
    assert (now.past, now.future, now.scale) == (5, 4, before.scale)
    assert now.reading == {"format": "csv", "id_field": "mover", "missing": "allow"}


def test_look_draws_how_tracks_go_on(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    file = asked(tmp_path)
    told = dragoman("look", run, file)
    assert told.code == 0, told.err
    assert "· past, x said" in told.out
    assert "the first 12 tracks are drawn" not in told.err
    done = dragoman("look", run, file, "--svg", tmp_path / "a.svg", "--html", tmp_path / "a.html")
    assert (done.code, (tmp_path / "a-2.svg").read_text().startswith("<svg")) == (0, True), done.err
    assert (tmp_path / "a.html").read_text().count("<svg") == 2


@pytest.mark.parametrize(
    ("code", "words", "sentence"),
    [
        (
            2,
            ["FILE", "--target", "x"],
            "--target is about texts, and this model goes on with tracks, which are drawn in",
        ),
        (2, ["FILE", "--png", "a.png"], "with --svg or with --html; their numbers come from `dragoman predict`."),
        (3, ["nowhere.csv"], "There is no file nowhere.csv."),
    ],
)
def test_what_look_says_of_tracks(
    run: Path, movers: Path, dragoman: CommandLine, code: int, words: list[str], sentence: str
) -> None:
    done = dragoman("look", run, *(movers / "test.csv" if word == "FILE" else word for word in words))
    assert (done.code, sentence in done.err) == (code, True), done.err


def in_other_units(movers: Path, folder: Path, name: str) -> str:
    (folder / name).write_text((movers / name).read_text().replace("x [m]", "x [cm]", 1))
    return str(folder / name)


def test_other_units_than_those_of_the_training_are_refused_everywhere(
    run: Path, movers: Path, tmp_path: Path, dragoman: CommandLine
) -> None:
    valid, test = (in_other_units(movers, tmp_path, f"{name}.csv") for name in ("valid", "test"))
    settings, sentence = (
        small(movers),
        r"has x \[cm\] where the training data has x \[m\]\. Bring it to the same unit\.",
    )
    with pytest.raises(DataError, match=rf"valid\.csv {sentence}"):
        run_all(settings.changed(data=settings.data.changed(valid=(valid,))), tmp_path / "run")
    pipeline = Pipeline.load(run)
    with pytest.raises(DataError, match=rf"test\.csv {sentence}"):
        pipeline.predict(test)
    with pytest.raises(DataError, match=rf"test\.csv {sentence}"):
        evaluate_tracks(pipeline, [test])
    with pytest.raises(DataError, match=rf"test\.csv {sentence}"):
        examine_tracks(pipeline, settings.data, {}, (test,), 5, lambda what, done, total: None)
    with pytest.raises(DataError, match=rf"test\.csv {sentence}"):
        list(read(settings, [test], Problems()))
    done = dragoman("predict", run, test)
    assert (done.code, "Bring it to the same unit" in done.err) == (3, True)


def test_a_run_is_not_started_from_one_of_other_units(run: Path, movers: Path, tmp_path: Path) -> None:
    files = (in_other_units(movers, tmp_path, "train.csv"),), (str(movers / "valid.csv"),)
    settings = {"training.steps": 2, "evaluation.report": 0}
    composed = compose(None, None, *files, settings=settings, start=str(run), out=tmp_path / "on")
    composed = composed.settings.changed(data=composed.settings.data.changed(valid=(), hold_out=0.5))
    with pytest.raises(DataError) as caught:
        run_all(composed, tmp_path / "on")
    assert str(caught.value) == (
        "The model that is started from knows x [m], and the data has x [cm]. Bring it to the same unit, or train "
        "without --from."
    )


def test_the_report_measures_as_evaluate_does(run: Path, movers: Path) -> None:
    """All windows of the file, with the same draws of whole tracks."""
    pipeline, files = Pipeline.load(run).changed(["evaluation.resamples=10"]), (str(movers / "test.csv"),)
    found = examine_tracks(pipeline, small(movers).data, {}, files, 1_000, lambda what, done, total: None)
    measured = evaluate_tracks(pipeline, files, stride=8, beside=Beside(None))
    assert found.metrics == measured.metrics
    assert measured.standing is not None
    assert list(found.still) == list(measured.standing.rows[0].metrics.values())  # the last velocity
    assert found.metrics[0].signature == "tracks|bs:10|seed:12345"
