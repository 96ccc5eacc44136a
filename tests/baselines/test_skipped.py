"""Training data of which a baseline cannot be computed: a sentence says so, and everything else goes on."""

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from command_line import CommandLine
from dragoman.data.movers import write_movers

TRACKS = ("train", "trajectories", "--scale", "tiny", "--steps", "2", "training.threads=1", "data.stride=8", "--out")


def trained(dragoman: CommandLine, run: Path, *words: object) -> None:
    done = dragoman(*TRACKS, run, *words)
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("words", "gaps", "why"),
    [
        (("data.past=1",), False, "a history of one step has no velocity"),
        (("data.missing=allow",), True, "no training window has 8 + 12 steps without gaps"),
    ],
)
def test_tracks(words: tuple[str, ...], gaps: bool, why: str, tmp_path: Path, dragoman: CommandLine) -> None:
    write_movers(tmp_path, {"train": 6, "valid": 4, "test": 4})
    if gaps:
        lines = (tmp_path / "train.csv").read_text().splitlines()
        holed = [
            f"{line.split(',')[0]},,{line.split(',', 2)[2]}" if n % 5 == 0 else line for n, line in enumerate(lines)
        ]
        (tmp_path / "train.csv").write_text("\n".join([lines[0], *holed[1:]]) + "\n")
    files = (tmp_path / "train.csv", "--valid", tmp_path / "valid.csv", 'data.predicts=["x","y"]', *words)
    trained(dragoman, tmp_path / "run", *files)
    facts = json.loads(dragoman("evaluate", tmp_path / "run", tmp_path / "test.csv", "--json").out)["baselines"]
    assert (list(facts["rows"]), facts["best"]) == (["velocity"], "velocity")
    assert facts["note"] == f"Skipped the baseline “ridge regression on the history”: {why}."
    assert why in dragoman("report", tmp_path / "run").out + (tmp_path / "run" / "report.html").read_text()


def test_images_that_were_moved_and_no_metrics(tmp_path: Path, dragoman: CommandLine) -> None:
    rows = ["picture\tcaption"]
    for number in range(12):
        color = ("red", "green", "blue")[number % 3]
        Image.new("RGB", (8, 8), color).save(tmp_path / f"{number}.png")
        rows.append(f"{number}.png\tall {color}")
    (tmp_path / "valid").mkdir()
    for name in ("train", "valid"):
        (tmp_path / f"{name}.tsv").write_text("\n".join(rows) + "\n")
    quick = ("--scale", "tiny", "--steps", "2", "training.threads=1", "evaluation.metrics=[]", "evaluation.report=0")
    run = tmp_path / "run"
    done = dragoman("train", "caption", tmp_path / "train.tsv", "--valid", tmp_path / "valid.tsv", *quick, "--out", run)
    assert done.code == 0, done.err
    facts = json.loads(dragoman("evaluate", run, tmp_path / "valid.tsv", "--json").out)["baselines"]
    assert (facts["metric"], list(facts["rows"])) == ("exact_match", ["nearest"])
    shutil.rmtree(run / "baselines")
    for path in tmp_path.glob("*.png"):
        path.rename(tmp_path / "valid" / path.name)
    shutil.move(tmp_path / "valid.tsv", tmp_path / "valid" / "valid.tsv")
    facts = json.loads(dragoman("evaluate", run, tmp_path / "valid" / "valid.tsv", "--json").out)["baselines"]
    assert facts["rows"] == {}
    assert facts["note"].endswith("none of the training images can be read.")
