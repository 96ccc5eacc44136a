"""Settings of captions chosen from the data: shapes, lines of symbols, tokens, lengths, and what is held out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from command_line import CommandLine
from dragoman.config import merge, nest, read_toml, validate
from dragoman.data.pictures import BadPictureError, shape_in
from dragoman.data.readers.captions import Captions
from dragoman.defaults.budget import Budget
from dragoman.defaults.captions import CaptionSurvey, choose_for_captions, halvings_for, shape_like, survey_captions
from dragoman.defaults.choice import Given, as_table
from dragoman.experiment import Experiment
from dragoman.experiment.choosing import settled
from dragoman.recipes import read_recipe
from dragoman.seeds import key

SYMBOLS = "ABCDEFGH"


def symbols(number: int) -> str:
    return " ".join(SYMBOLS[key(number, place) % 8] for place in range(3 + number % 3))


def sentence(number: int) -> str:
    return " ".join(f"w{key(number, place) % 40_000}" for place in range(8))


def surveyed(caption: Any, shape: tuple[int, int], size: int = 400) -> CaptionSurvey:
    return CaptionSurvey(
        captions=size,
        images=size,
        texts=[caption(number) for number in range(size)],
        keys=[f"{number}.png" for number in range(size)],
        shapes=[shape] * 20,
    )


def chosen(survey: CaptionSurvey, **given: Any) -> dict[str, Any]:
    known = {name.replace("__", "."): value for name, value in given.items()}
    return {one.key: one.value for one in choose_for_captions(survey, known, Budget.of(known))}


def test_a_line_of_symbols_is_read_column_by_column() -> None:
    found = chosen(surveyed(symbols, (32, 128)))
    assert (found["model.source.size"], found["model.source.grid"]) == ([32, 128], [4, 16])
    assert (found["model.source.summary"], found["model.source.fit"]) == ("columns", "stretch")
    assert (found["target.kind"], found["training.batching.lengths"]) == ("words", "mixed")


def test_photographs_with_sentences_are_grids_of_cells() -> None:
    survey = surveyed(sentence, (480, 640))
    survey.shapes += [(640, 480)] * 20
    found = chosen(survey)
    assert (found["model.source.size"], found["model.source.grid"]) == (64, 8)
    assert (found["model.source.summary"], found["model.source.fit"]) == ("cells", "pad")
    assert (found["target.kind"], found["training.batching.lengths"]) == ("bpe", "similar")
    assert chosen(surveyed(symbols, (64, 64)))["model.source.summary"] == "cells"  # nothing that has an order


@pytest.mark.parametrize(
    ("image", "least", "shape"),
    [
        ((72, 72), 0, (64, 64)),
        ((16, 16), 0, (16, 16)),  # never enlarged
        ((64, 60), 0, (64, 64)),  # nearly square
        ((32, 128), 0, (32, 128)),
        ((300, 3000), 0, (24, 200)),
        ((300, 3000), 32, (32, 320)),
        ((100, 4000), 32, (16, 512)),  # a long line has a bound
    ],
)
def test_an_image_keeps_its_proportions_and_costs_no_more(
    image: tuple[int, int], least: int, shape: tuple[int, int]
) -> None:
    assert shape_like(float(image[0]), float(image[1]), least) == shape


def test_each_symbol_of_a_line_has_two_columns() -> None:
    assert halvings_for((32, 128), 8) == 3
    assert halvings_for((32, 128), 9) == 2
    assert halvings_for((32, 128), 60) == 1
    assert halvings_for((16, 16), 0) == 2  # four cells along a side


def test_dropout_and_warm_up_follow_from_the_budget() -> None:
    survey = surveyed(symbols, (32, 128))
    few, many = chosen(survey, training__steps=30), chosen(survey, training__steps=3000)
    assert (few["model.decoder.dropout"], many["model.decoder.dropout"]) == (0.0, 0.2)
    assert (few["training.schedule.warmup_share"], many["training.schedule.warmup_share"]) == (0.1, 0.0333)


def test_images_are_held_out_where_no_others_are_given() -> None:
    survey = surveyed(symbols, (32, 128), 1000)
    assert chosen(survey)["data.hold_out"] == 0.1
    assert "data.hold_out" not in chosen(survey, data__valid=["valid.tsv"])
    assert "data.hold_out" not in chosen(surveyed(symbols, (32, 128), 20))


@pytest.mark.parametrize(("caption", "shape"), [(symbols, (32, 128)), (sentence, (480, 640)), (sentence, (9, 9))])
def test_what_is_chosen_is_a_setting_and_counts_beside_the_recipe(caption: Any, shape: tuple[int, int]) -> None:
    """A recipe says the kind of a part and leaves its sizes open."""
    recipe = read_recipe("caption", None).table
    given = Given(recipe, nest({("data", "train"): ["train.tsv"]}))
    choices = [
        one
        for one in choose_for_captions(surveyed(caption, shape), given.known, Budget())
        if given.leaves_open(one.key)
    ]
    assert all(one.reason for one in choices)
    found = settled(validate(Experiment, given.table), as_table(choices), given)
    table = as_table(choices)["model"]
    assert found.model.source.width == table["source"]["width"]  # type: ignore[union-attr]
    assert found.model.decoder.width == table["decoder"]["width"]  # type: ignore[union-attr]


def test_what_the_user_says_is_not_chosen(tmp_path: Path) -> None:
    given = Given(read_recipe("caption", None).table, nest({("model", "source", "size"): [16, 64]}))
    assert not given.leaves_open("model.source.size")
    assert given.leaves_open("model.source.width")
    assert not given.leaves_open("model.decoder.cell")  # which the recipe says


def test_shapes_are_read_from_headers(tmp_path: Path) -> None:
    image = Image.new("RGB", (6, 4))
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned
    image.save(tmp_path / "a.png")
    image.save(tmp_path / "b.jpg", exif=exif)
    assert shape_in((tmp_path / "a.png").read_bytes()) == (4, 6)
    assert shape_in((tmp_path / "b.jpg").read_bytes()) == (6, 4)
    with pytest.raises(BadPictureError, match="a broken picture"):
        shape_in(b"nothing")


def test_the_survey_counts_captions_and_looks_at_shapes(tmp_path: Path) -> None:
    arrays = {"images": np.zeros((6, 2, 5), np.uint8), "captions": np.array([["a", "b"]] * 6)}
    np.savez(tmp_path / "a.npz", **arrays)
    data = validate(Captions, {"train": [str(tmp_path / "a.npz")]})
    found = survey_captions(data, {}, lambda what, done: None)
    assert found is not None
    assert (found.images, found.captions, found.texts) == (6, 12, ["a", "b"] * 6)
    assert found.shapes == [(2, 5)] * 6


def test_images_without_pixels_are_not_looked_at(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((6, 0, 5), np.uint8), captions=np.array(["a"] * 6))
    data = validate(Captions, {"train": [str(tmp_path / "a.npz")]})
    assert survey_captions(data, {}, lambda what, done: None) is None


def test_strips_are_trained_on_without_any_setting(tmp_path: Path, dragoman: CommandLine) -> None:
    """Which of two symbols is drawn at each of three places."""
    strips, captions = np.full((60, 8, 32), 220, np.uint8), []
    for number in range(60):
        bits = [key(number, place) % 2 for place in range(3)]
        for place, bit in enumerate(bits):
            strips[number, slice(0, 4) if bit else slice(4, 8), 2 + 10 * place : 8 + 10 * place] = 20
        captions.append(" ".join("ab"[bit] for bit in bits))
    np.savez(tmp_path / "strips.npz", images=strips, captions=np.array(captions))
    out = tmp_path / "run"
    done = dragoman("train", "caption", tmp_path / "strips.npz", "--out", out, "--steps", 5, "training.threads=1")
    assert done.code == 0, done.err
    table = merge(read_toml(out / "config.toml").table)
    assert table["model"]["source"]["summary"] == "columns"
    assert table["data"]["hold_out"] > 0
