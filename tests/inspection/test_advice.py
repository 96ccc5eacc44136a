"""What a report says first: whether the model beats the best baseline, and what to do next."""

from pathlib import Path
from typing import Any

import pytest
from pages import Checked

from dragoman.baselines.predicted import Found, Predicted
from dragoman.baselines.standing import Standing, stand
from dragoman.inspection.report.advice import Over, advice, continuation, named, raised, still_improving
from dragoman.inspection.report.baseline_chapter import baselines_section
from dragoman.inspection.report.curves import Curves
from dragoman.metrics.classes import accuracy

TRUE = [["a"], ["b"]] * 20


def standing(model: int, baseline: int) -> Standing:
    said = [[one if place < count else ["c"] for place, one in enumerate(TRUE)] for count in (model, baseline)]
    found = Found((Predicted("linear", "linear model over <words>", said[1]),))
    return stand(found, [{"accuracy": accuracy(one, TRUE)} for one in said], "accuracy", True, 50)


def curves(*values: float, best: int | None = None) -> Curves:
    points = tuple((float(10 * place), value) for place, value in enumerate(values, start=1))
    return Curves({}, {"loss": points}, {}, best or int(min(points, key=lambda point: point[1])[0]))


def over(schedule: str = "constant", kind: str = "labelled", reason: str = "epochs", **more: Any) -> Over:
    training = {"schedule": {"kind": schedule}, "monitor": "loss", "epochs": 4, "steps": None}
    data = {"kind": kind, "train": ("a b.tsv",), "valid": ("v.tsv",)} | more
    command = ["/bin/dragoman", "train", "classify", "a b.tsv", "--valid", "v.tsv", "--epochs", "4", "--out", "runs/x"]
    return Over(Path("runs/x"), {"training": training, "data": data}, reason, command)


@pytest.mark.parametrize(
    ("values", "improving"),
    [
        ((4.0, 3.0, 2.0, 1.5, 1.2), True),
        ((4.0, 3.0, 2.0, 2.0, 1.999), False),  # by less than half a percent
        ((4.0, 3.0, 1.0, 1.5, 1.6), False),  # overfits
        ((4.0, 3.0), False),  # too few
    ],
)
def test_a_curve_that_has_not_leveled_off(values: tuple[float, ...], improving: bool) -> None:
    assert still_improving(curves(*values), "loss") is improving


def test_more_may_be_better() -> None:
    points = tuple((float(step), 10.0 * step) for step in range(1, 7))
    assert still_improving(Curves({}, {"accuracy": points}, {}, 6), "accuracy")
    assert not still_improving(Curves({}, {}, {}, 6), "accuracy")


FALLING, FLAT = curves(4.0, 3.0, 2.0, 1.5, 1.2), curves(4.0, 2.0, 2.0, 2.0, 2.0)


def test_what_still_improves_is_continued() -> None:
    same = "Still improving: continue with `dragoman train classify 'a b.tsv' --valid v.tsv --out runs/x --epochs 8`."
    assert advice(standing(40, 20), over(), FALLING) == same
    assert advice(None, over(), FALLING) == same
    decayed = "dragoman train 'a b.tsv' --valid v.tsv --from runs/x --out runs/x-continued"
    assert continuation(over("cosine")) == decayed
    own = {"valid": (), "hold_out": 0.1, "hold_out_test": 0.0, "label_field": "what", "format": "auto"}
    held_out = "dragoman train 'a b.tsv' data.hold_out=0.1 data.label_field=what --from runs/x --out runs/x-continued"
    assert continuation(over("cosine", **own)) == held_out
    unknown = Over(Path("runs/x"), over().settings, "epochs", ["pytest"])
    assert advice(None, unknown, FALLING) == "Still improving: raise training.epochs."
    assert advice(standing(20, 40), over(reason=""), FALLING) == ""  # the same command goes on
    assert advice(standing(20, 40), over(), curves(4.0, 3.0)) == same.replace("Still improving", "Train longer")


def test_what_is_beaten_tries_something_else() -> None:
    assert advice(standing(40, 20), over(), FLAT) == ""
    bag = "It has stopped improving: try `dragoman train fasttext 'a b.tsv' --valid v.tsv --out runs/x-fasttext`."
    assert advice(standing(20, 40), over(), FLAT) == bag
    assert advice(standing(20, 40), over(kind="tagged"), FLAT) == (
        "It has stopped improving: start from an encoder pretrained on texts of this kind (`dragoman train bert2018 "
        "TEXTS --out runs/pretrained`, then `dragoman train tag 'a b.tsv' --valid v.tsv --from runs/pretrained "
        "--out runs/x-pretrained`)."
    )
    other = advice(standing(20, 40), over(kind="texts"), FLAT)
    assert other == "It has stopped improving: try `dragoman train gpt 'a b.tsv' --valid v.tsv --out runs/x-gpt`."
    told = advice(standing(20, 40), over(kind="pairs"), FLAT)
    assert told == ("It has stopped improving: find a better recipe with `dragoman compare 'a b.tsv' --valid v.tsv`.")


def test_limits_are_replaced_where_they_stand() -> None:
    words = ["train", "x.tsv", "--minutes=3", "training.epochs=7", "--fresh", "--steps", "9", "--seed", "2"]
    kept = ["train", "x.tsv", "training.epochs=7", "--steps", "9", "--seed", "2"]
    assert raised(words, "minutes", 6.0) == [*kept, "--minutes", "6"]
    assert raised(words, "steps", 18.0) == ["train", "x.tsv", "--minutes=3", kept[2], "--seed", "2", "--steps", "18"]
    assert raised(words, "epochs", 14.0)[-2:] == ["--epochs", "14"]
    assert kept[2] not in raised(words, "epochs", 14.0)


def test_parallel_text_has_two_names() -> None:
    assert named([["a.de", "a.en"]]) == ["--source", "a.de", "--target", "a.en"]
    assert named([["a.de", "a.en"]], "--valid") == ["--valid", "a.de", "--valid", "a.en"]


def test_the_chapter_has_a_row_for_each() -> None:
    page = Checked(baselines_section(standing(20, 40)).text)
    assert page.names == ["baselines"]
    for word in ("the model", "linear model over <words>", "50.0", "100.0", "accuracy (higher is better)"):
        assert word in page.text


def test_what_is_all_right_needs_nothing_else() -> None:
    """The best baseline is as good, and nothing can be better."""
    assert advice(standing(40, 40), over(), FLAT) == ""
    assert advice(standing(39, 40), over(), FLAT).startswith("It has stopped improving")
