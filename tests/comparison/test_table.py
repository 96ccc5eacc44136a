"""Several seeds of one training, and systems beside one another on several tasks."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from command_line import CommandLine
from dragoman.comparison.table import Table, table_of
from dragoman.data.movers import write_movers
from dragoman.errors import ConfigError
from dragoman.experiment.settings import Experiment
from dragoman.metrics.spread import Spread
from dragoman.recipes import compose
from labels import command, small, written
from talks import write_talks
from tiny import Corpus, run_all, run_until


def test_a_spread_with_a_pencil() -> None:
    found = Spread.of([90.0, 92.0, 94.0])
    assert (found.mean, found.deviation, found.error) == (92.0, 2.0, pytest.approx(2 / math.sqrt(3)))
    assert str(found) == "92.00 ± 2.00"
    alone = Spread.of([3.0])
    assert (str(alone), alone.deviation, alone.error) == ("3.00", None, None)


def pencil() -> Table:
    """Two tasks, one of them with two measures, and two systems, of which one has done the first task alone."""
    return Table(
        systems=("bert", "scratch"),
        tasks={"sst2": ("accuracy",), "stsb": ("pearson", "spearman")},
        measured_on=dict.fromkeys(("sst2", "stsb"), "validation data"),
        scores={
            ("bert", "sst2"): {"accuracy": Spread.of([90.0, 94.0])},
            ("bert", "stsb"): {"pearson": Spread.of([80.0, 82.0]), "spearman": Spread.of([84.0, 86.0])},
            ("scratch", "sst2"): {"accuracy": Spread.of([50.0])},
        },
        seeds={("bert", "sst2"): (1, 2), ("bert", "stsb"): (1, 2), ("scratch", "sst2"): (1,)},
    )


def test_the_average_is_over_tasks_seed_by_seed() -> None:
    """(90 + 82) / 2 and (94 + 84) / 2."""
    table = pencil()
    assert table.average("bert") == Spread.of([86.0, 89.0])
    assert table.average("scratch") is None
    facts: Any = table.as_json()
    assert facts["systems"]["bert"]["average"]["mean"] == 87.5
    assert facts["systems"]["scratch"]["scores"] == {
        "sst2": {"seeds": [1], "accuracy": {"mean": 50.0, "deviation": None, "values": [50.0]}}
    }


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Corpus]:
    return {kind: written(tmp_path_factory.mktemp(kind), kind) for kind in ("labels", "numbers")}


SHORT = {"training__steps": 2, "training__validate_every": 2, "training__save_every": 2}


@pytest.fixture(scope="module")
def runs(corpora: dict[str, Corpus], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wide system with two seeds of one task and one of the other, and a narrow one with one of each."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in (1, 2):
        run_all(small(corpora["labels"], "labels", **SHORT, training__seed=seed), folder / f"wide/films/seed-{seed}")
    run_all(small(corpora["numbers"], "numbers", **SHORT), folder / "wide/ratings")
    run_all(small(corpora["labels"], "labels", **SHORT, model__encoder__width=3), folder / "narrow/films")
    return folder


def test_runs_become_a_table(runs: Path, dragoman: CommandLine) -> None:
    found = table_of([str(runs)], {})
    assert found.systems == ("narrow", "wide")
    assert found.tasks == {"films": ("accuracy",), "ratings": ("pearson", "spearman")}
    assert found.seeds["wide", "films"] == (1, 2)
    logged = [
        json.loads((runs / f"wide/films/seed-{seed}/metrics.jsonl").read_text().splitlines()[-1]) for seed in (1, 2)
    ]
    assert found.scores["wide", "films"]["accuracy"].values == tuple(one["valid"]["accuracy"] for one in logged)
    assert found.average("narrow") is None
    done = dragoman("compare", "--table", runs / "wide", runs / "narrow")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split() == ["films", "ratings"]
    assert lines[1].split() == ["system", "accuracy", "pearson", "/", "spearman", "average"]
    assert lines[2].startswith("wide ")
    assert " ± " in lines[2]
    assert lines[3].split()[-2:] == ["–", "–"]
    assert "mean ± standard deviation over 1 to 2 seeds · measured on validation data" in done.err
    assert "A system that lacks a task has no average." in done.err


def test_a_task_may_have_test_data(runs: Path, corpora: dict[str, Corpus], dragoman: CommandLine) -> None:
    done = dragoman("compare", "--table", runs, "--test", f"films={corpora['labels'].train}", "--json")
    facts = json.loads(done.out)
    assert facts["tasks"]["films"] == {"metrics": ["accuracy"], "measured_on": str(corpora["labels"].train)}
    assert facts["tasks"]["ratings"]["measured_on"] == "validation data"
    assert len(facts["systems"]["wide"]["scores"]["films"]["accuracy"]["values"]) == 2


def test_places_may_be_told(runs: Path) -> None:
    told = [f"lstm/CoLA={runs / 'wide/films'}", f"small/CoLA={runs / 'narrow/films'}"]
    found = table_of(told, {})
    assert (found.systems, found.tasks) == (("lstm", "small"), {"CoLA": ("matthews",)})


def test_mistakes_get_sentences(runs: Path, corpora: dict[str, Corpus], tmp_path: Path, dragoman: CommandLine) -> None:
    same = [f"a/b={runs / 'wide/films'}", f"a/b={runs / 'narrow/films'}"]
    heads = [f"a/b={runs / 'wide/films'}", f"c/b={runs / 'wide/ratings'}"]
    for named, tests, said in (
        (same, {}, "are both a on b with the seed 1"),
        (heads, {}, "The runs of the task 'b' have heads of different kinds: labels, number"),
        ([str(tmp_path)], {}, "There is no run in"),
        ([f"ab={runs / 'wide'}"], {}, "Write SYSTEM/TASK=RUN"),
        ([str(runs / "nowhere")], {}, "is no run, and no folder of runs"),
        ([str(runs)], {"film": ["x"]}, "--test names the task 'film', and there is none. Tasks: films, ratings"),
    ):
        with pytest.raises(ConfigError, match=said):
            table_of(named, tests)
    run_until(unfinished(corpora), tmp_path / "half", lambda event: getattr(event, "step", 0) == 1)
    with pytest.raises(ConfigError, match=r"half is not finished\. Give its command again"):
        table_of([str(tmp_path / "half")], {})
    run_all(small(corpora["labels"], "labels", **SHORT, training__seed=3, model__encoder__width=4), tmp_path / "other")
    with pytest.raises(ConfigError, match=r"differ by more than their seed \(model\.encoder\.width: 6 → 4\)"):
        table_of([f"a/b={runs / 'wide/films'}", f"a/b={tmp_path / 'other'}"], {})
    done = dragoman("compare", "--table", runs, "--steps", "3")
    assert (done.code, "--table trains nothing, so that --steps is for nothing" in done.err) == (2, True)
    done = dragoman("compare", "--table", runs, "--test", "dev.tsv")
    assert (done.code, "Write --test TASK=FILE" in done.err) == (2, True)


def test_models_of_tracks_have_a_table(tmp_path: Path, dragoman: CommandLine) -> None:
    write_movers(tmp_path, {"train": 4, "valid": 3})
    own = {"training.threads": 1, "training.steps": 1, "training.validate_every": 1, "evaluation.report": 0}
    own |= {"training.estimate": False, "data.stride": 20, "data.future": 4}
    files = (str(tmp_path / "train.csv"),), (str(tmp_path / "valid.csv"),)
    run_all(compose("trajectories", "tiny", *files, settings=own).settings, tmp_path / "small/walks")
    found = table_of([str(tmp_path / "small")], {})
    assert found.tasks == {"walks": ("ade", "fde")}
    valid = json.loads((tmp_path / "small/walks/metrics.jsonl").read_text().splitlines()[-1])["valid"]
    assert found.scores["small", "walks"]["ade"].mean == valid["ade"]
    assert found.average("small") is None
    done = dragoman("compare", "--table", tmp_path / "small", "--test", f"walks={tmp_path / 'valid.csv'}")
    assert done.code == 0, done.err
    assert done.out.splitlines()[1].split() == ["system", "ade", "/", "fde"]
    assert "There is no average: ade, fde are no percentages, and lower is better." in done.err


def test_a_table_of_texts_that_are_written_needs_the_same_symbols(tmp_path: Path) -> None:
    talks = write_talks(tmp_path / "talks.jsonl", range(20))
    own = {"training.threads": 1, "training.steps": 1, "training.validate_every": 1, "evaluation.report": 0}
    own |= {"training.estimate": False}
    for size in (280, 300):
        made = compose("hred", "tiny", (talks,), (talks,), settings=own | {"source.size": size})
        run_all(made.settings, tmp_path / f"runs/of-{size}/talk")
    found = table_of([str(tmp_path / "runs/of-300")], {"talk": [talks]})
    assert found.scores["of-300", "talk"]["perplexity"].mean > 1
    with pytest.raises(
        ConfigError, match=r"The runs of the task 'talk' write different symbols, so that their perplexit"
    ):
        table_of([str(tmp_path / "runs")], {})


def test_a_run_that_no_table_has(corpus: Corpus, tmp_path: Path) -> None:
    own = {"training.threads": 1, "training.steps": 1, "evaluation.report": 0, "training.estimate": False}
    run_all(compose("g2p", "tiny", (str(corpus.train),), settings=own).settings, tmp_path / "a/b")
    with pytest.raises(
        ConfigError, match=r"b is of a kind that no table has: its model is encoder_decoder with a head of"
    ):
        table_of([str(tmp_path / "a")], {})


def unfinished(corpora: dict[str, Corpus]) -> Experiment:
    return small(corpora["labels"], "labels", training__steps=5)


def test_several_seeds_of_one_command(corpora: dict[str, Corpus], out: Path, dragoman: CommandLine) -> None:
    line = command(corpora["labels"], "labels", out, "--seeds", "2", "--seed", "4", **SHORT)
    done = dragoman(*line)
    assert done.code == 0
    assert sorted(path.name for path in out.iterdir()) == ["seed-4", "seed-5"]
    assert "2 seeds · validation: loss 0." in done.err
    again = dragoman(*line, "--json")
    assert again.err.count("trained already") == 2
    facts = json.loads(again.out)
    assert (facts["event"], len(facts["validation"]["accuracy"]["values"])) == ("seeds", 2)
    other = dragoman(*line, "model.encoder.width=5")
    assert (other.code, "model.encoder.width: 6 → 5" in other.err) == (2, True)
    done = dragoman(*line, "training.seed=3")
    assert (done.code, "--seeds 2 sets training.seed itself" in done.err) == (2, True)
