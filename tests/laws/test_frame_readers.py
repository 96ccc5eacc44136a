"""What holds for every model that reads frames, numbers or pictures: any encoder under any head."""

from typing import Any

import numpy as np
import pytest
import torch
from model_parts import CNN, ENCODERS, IDENTITY, TRANSFORMER_ENCODERS, close, tolerance_of, without_gradient
from numpy.typing import NDArray

from dragoman import frontends, heads
from dragoman.config import Config
from dragoman.contracts import Batch
from dragoman.data.chunk import Chunk, offsets
from dragoman.data.encoding import flattened
from dragoman.data.frames import collate_frames
from dragoman.data.labelled import collate_labelled
from dragoman.data.store import Layout
from dragoman.models import EncoderOnly, EncoderOnlyModel, build_model
from dragoman.objectives import CrossEntropy, SquaredError, build_objective
from dragoman.pipeline.labels import said
from dragoman.regimes import Teacher, build_regime
from dragoman.training.learner import Learner

FEATURES, LABELS, PIXELS = 3, 5, 4
HEADS = [heads.Labels(pool="max"), heads.Tags(), heads.Labels(pool="mean"), heads.Number(), heads.Labels(pool="last")]
GRID = {"size": PIXELS, "grid": 2, "width": 4, "channels": 2, "groups": 2, "dropout": 0.0}
SOURCES: list[frontends.Frames | frontends.ImageGrid] = [
    frontends.Frames(width=4),
    frontends.ImageGrid(**GRID, summary="joined"),  # type: ignore[arg-type]
]
MODELS = [
    EncoderOnly(source=SOURCES[number % 2], encoder=encoder, head=HEADS[number % len(HEADS)])
    for number, encoder in enumerate([*ENCODERS, *TRANSFORMER_ENCODERS, CNN, IDENTITY, *ENCODERS[:3]])
]
MODELS.append(EncoderOnly(source=frontends.ImageGrid(**GRID, summary="cells"), head=HEADS[0], encoder=ENCODERS[0]))  # type: ignore[arg-type]
every_model = pytest.mark.parametrize(
    "config", MODELS, ids=lambda config: f"{config.source.kind}-{config.encoder.kind}-{config.head.kind}"
)
LENGTHS = (4, 1, 3, 2)
LAYOUTS: dict[str, Layout] = {"labels": "labels", "number": "numbers", "tags": "tags"}


def model_of(config: EncoderOnly) -> EncoderOnlyModel:
    torch.manual_seed(3)
    model = build_model(config, FEATURES, LABELS).eval()
    assert isinstance(model, EncoderOnlyModel)
    return model


def rows_for(config: EncoderOnly) -> list[NDArray[Any]]:
    """Numbers of which one is missing, or pictures."""
    draw = np.random.default_rng(4)
    if isinstance(config.source, frontends.ImageGrid):
        return [draw.integers(0, 256, (length, PIXELS, PIXELS, 3), np.uint8) for length in LENGTHS]
    rows = [draw.normal(size=(length, FEATURES)).astype(np.float32) for length in LENGTHS]
    rows[0][1, 2] = rows[1][0, 0] = np.nan
    return rows


def batch_for(config: EncoderOnly, rows: list[NDArray[Any]]) -> Batch:
    if config.head.kind == "tags":
        targets = [[1 + n % LABELS for n in range(len(row))] for row in rows]
    else:
        targets = [[len(row) % LABELS] for row in rows]
    lengths, (target, target_lengths) = np.array([len(row) for row in rows]), flattened(targets)
    chunk = Chunk(np.concatenate(rows), offsets(lengths), target, offsets(target_lengths), np.arange(1, len(rows) + 1))
    return collate_labelled(chunk, np.arange(len(rows)), LAYOUTS[config.head.kind])


def learner_of(config: EncoderOnly) -> Learner:
    objective: Config = SquaredError() if config.head.kind == "number" else CrossEntropy()
    return Learner(model_of(config), build_regime(Teacher()), build_objective(objective))


@every_model
@torch.inference_mode()
def test_neighbours_and_padding_change_nothing(config: EncoderOnly) -> None:
    model, rows = model_of(config), rows_for(config)
    together = said(model, collate_frames(rows))
    for number, row in enumerate(rows):
        alone = said(model, collate_frames([row]))[0]
        close(together[number, : len(alone)], alone, tolerance_of(config))


@every_model
def test_a_loss_is_the_sum_of_those_of_its_rows(config: EncoderOnly) -> None:
    learner, rows = learner_of(config), rows_for(config)
    [whole] = learner(batch_for(config, rows), 1).values()
    parts = [next(iter(learner(batch_for(config, [row]), 1).values())) for row in rows]
    close(torch.stack([part.total for part in parts]).sum(), whole.total, 1e-5)
    assert whole.count == sum(part.count for part in parts)


@pytest.mark.parametrize("config", [one for one in MODELS if getattr(one.head, "pool", "") != "last"])
def test_every_parameter_gets_a_gradient(config: EncoderOnly) -> None:
    learner = learner_of(config).train()
    rows = [np.concatenate([row] * 3) for row in rows_for(config)]
    torch.stack([loss.total for loss in learner(batch_for(config, rows), 1).values()]).sum().backward()
    assert without_gradient(learner) == []


@every_model
def test_quick_layers_are_those_of_modules(config: EncoderOnly) -> None:
    model, batch = model_of(config), collate_frames(rows_for(config))
    modules = said(model, batch).detach()
    with torch.inference_mode():
        close(said(model, batch), modules, tolerance_of(config))


def test_tags_of_pictures_read_one_vector_of_each() -> None:
    with pytest.raises(ValueError, match=r"set source.summary = 'joined'"):
        EncoderOnly(source=frontends.ImageGrid(summary="cells"), head=heads.Tags())
