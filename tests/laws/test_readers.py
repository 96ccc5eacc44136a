"""What holds for every model that only reads: any encoder under any head."""

from typing import Literal

import numpy as np
import pytest
import torch
from model_parts import (
    CNN,
    ENCODERS,
    IDENTITY,
    LOOKING_BACK,
    TRANSFORMER_ENCODERS,
    close,
    tolerance_of,
    without_gradient,
)

from dragoman import encoders, frontends, heads
from dragoman.config import Config
from dragoman.contracts import Batch
from dragoman.data.chunk import Chunk, offsets
from dragoman.data.encoding import flattened
from dragoman.data.labelled import collate_labelled, collate_texts
from dragoman.data.store import Layout
from dragoman.data.tokenizers import END
from dragoman.data.tokenizers.letters import SpelledId, letters_of, spelled
from dragoman.models import EncoderOnly, EncoderOnlyModel, build_model
from dragoman.nn.positions import longest
from dragoman.objectives import Crf, CrossEntropy, SpanCrossEntropy, SquaredError, build_objective
from dragoman.pipeline.labels import said
from dragoman.regimes import Teacher, build_regime
from dragoman.training.learner import Learner

SYMBOLS, LABELS = 9, 5
HEADS = [
    *(heads.Labels(pool=pool) for pool in ("mean", "max", "first", "last")),
    heads.Number(),
    heads.Spans(),
    heads.Tags(),
    heads.Crf(),
]
LETTERS = 6
NGRAMS = frontends.Ngrams(width=4, letters=LETTERS, shortest=1, longest=2, word_ngrams=2, buckets=5)
BAG = frontends.Bag(letters=LETTERS, shortest=1, longest=2, buckets=5)
SPELLED = frontends.Spelled(width=4, letter_width=2, filters=2, letters=LETTERS)
EVERY_ENCODER = [*ENCODERS, *TRANSFORMER_ENCODERS, CNN, IDENTITY]


def sentences_of(number: int) -> Literal["one", "two"]:
    """Tags are for one, spans for two, and the others for either."""
    head = HEADS[number % len(HEADS)]
    two = isinstance(head, heads.Spans) or (number % 2 == 1 and not isinstance(head, heads.Tagging))
    return "two" if two else "one"


MODELS = [
    EncoderOnly(
        source=frontends.Tokens(width=4),
        encoder=encoder,
        head=HEADS[number % len(HEADS)],
        sentences=sentences_of(number),
        matches="exact" if isinstance(HEADS[number % len(HEADS)], heads.Spans) else "none",
    )
    for number, encoder in enumerate([*EVERY_ENCODER, *EVERY_ENCODER[: len(HEADS)][::-1], *TRANSFORMER_ENCODERS[1:]])
]
MODELS += [
    EncoderOnly(source=frontends.Tokens(width=4), encoder=LOOKING_BACK, head=head) for head in (HEADS[3], heads.Tags())
]
MODELS += [
    EncoderOnly(source=SPELLED, encoder=encoder, head=head)
    for encoder, head in ((ENCODERS[0], heads.Crf()), (TRANSFORMER_ENCODERS[1], heads.Tags()), (IDENTITY, HEADS[0]))
]
MODELS += [
    EncoderOnly(source=NGRAMS.changed(weighting="by_feature"), encoder=IDENTITY, head=HEADS[0]),
    EncoderOnly(source=NGRAMS.changed(word_ngrams=1), encoder=ENCODERS[0], wide=NGRAMS, bag=BAG, head=HEADS[1]),
    EncoderOnly(
        source=frontends.Tokens(width=4), encoder=CNN, wide=NGRAMS, bag=BAG, head=heads.Number(), sentences="two"
    ),
    EncoderOnly(source=NGRAMS.changed(letters=0), encoder=CNN, head=heads.Tags()),
    EncoderOnly(source=NGRAMS, encoder=CNN, head=heads.Number(), sentences="two", matches="overlap"),
    EncoderOnly(source=NGRAMS, encoder=CNN, bag=BAG.changed(letters=0), sentences="two", matches="overlap"),
    EncoderOnly(source=frontends.Tokens(width=4), encoder=CNN, sentences="two", matches="overlap"),
]
every_model = pytest.mark.parametrize(
    "config", MODELS, ids=lambda config: f"{config.encoder.kind}-{getattr(config.head, 'pool', config.head.kind)}"
)
ROWS = [[4, 5, 3, 6, 7, 8], [6], [5, 3, 4, 4], [8, 7]]  # 3 is END, between two texts


def model_of(config: EncoderOnly) -> EncoderOnlyModel:
    model = build_model(config, SYMBOLS, LABELS).eval()
    assert isinstance(model, EncoderOnlyModel)
    return model


def layout_of(config: EncoderOnly) -> Layout:
    layouts: dict[str, Layout] = {"number": "numbers", "crf": "tags"}
    return layouts.get(config.head.kind, config.head.kind)  # type: ignore[arg-type]


def batch_for(config: EncoderOnly, rows: list[list[int]] = ROWS) -> Batch:
    """With a label that follows from the length, or a tag for every other symbol."""
    if isinstance(config.head, heads.Tagging):
        targets = [[1 + n % LABELS if n % 2 == 0 else 0 for n in range(len(row))] for row in rows]
    elif config.head.kind == "spans":  # the last symbols of the second text, or START
        targets = [[len(row) - 1, len(row)] if 3 in row[:-2] else [0, 0] for row in rows]
    else:
        targets = [[len(row) % LABELS] for row in rows]
    (source, lengths), target = (flattened(each) for each in (rows, targets))
    if config.letters:
        source = np.column_stack([source, spelled(rows_for(config, rows), LETTERS)]).astype(np.uint16)
    chunk = Chunk(source, offsets(lengths), target[0], offsets(target[1]), torch.arange(1, len(rows) + 1).numpy())
    return collate_labelled(chunk, torch.arange(len(rows)).numpy(), layout_of(config))


def rows_for(config: EncoderOnly, rows: list[list[int]] = ROWS) -> list[list[int]]:
    """The same numbers, with letters where the model reads them: number 4 is spelled 44, and so on."""
    if not config.letters:
        return rows
    return [[n if n == END else SpelledId(n, letters_of(str(n) * (n - 2), LETTERS)) for n in row] for row in rows]


def found(config: EncoderOnly, model: EncoderOnlyModel, rows: list[list[int]]) -> torch.Tensor:
    """What the head says of each row; a CRF: log-probabilities of the best tags of all symbols but START."""
    batch = collate_texts(rows_for(config, rows), config.letters)
    if not isinstance(model.head, heads.CrfHead):
        return said(model, batch)
    places = batch.sources["source"].mask.clone()
    places[:, 0] = False
    decided = model.head.decide(model.read(batch), places)
    return torch.cat([decided.totals[:, None], decided.log_probabilities.masked_fill(~places, 0.0)], 1)


def objective_of(config: EncoderOnly) -> Config:
    objectives = {"number": SquaredError(), "spans": SpanCrossEntropy(), "crf": Crf()}
    return objectives.get(config.head.kind, CrossEntropy())


@every_model
@torch.inference_mode()
def test_neighbours_and_padding_change_nothing(config: EncoderOnly) -> None:
    model = model_of(config)
    together = found(config, model, ROWS)
    for number, row in enumerate(ROWS):
        alone = found(config, model, [row])[0]
        close(together[number, : len(alone)], alone, tolerance_of(config))


@every_model
def test_a_loss_is_the_sum_of_those_of_its_rows(config: EncoderOnly) -> None:
    model, objective = model_of(config), build_objective(objective_of(config))
    learner = Learner(model, build_regime(Teacher()), objective)
    parts = [learner(batch_for(config, [row]), 1) for row in ROWS]
    for name, whole in learner(batch_for(config), 1).items():
        close(torch.stack([part[name].total for part in parts]).sum(), whole.total, 1e-5)
        assert whole.count == sum(part[name].count for part in parts)
        assert objective.count(batch_for(config))[name] == whole.count


def reads_one_state(config: EncoderOnly) -> bool:
    """The first state of a recurrent layer follows from no other."""
    return config.encoder.kind == "rnn" and getattr(config.head, "pool", "") in ("first", "last")


@pytest.mark.parametrize("config", [config for config in MODELS if not reads_one_state(config)])
def test_every_parameter_gets_a_gradient(config: EncoderOnly) -> None:
    learner = Learner(model_of(config).train(), build_regime(Teacher()), build_objective(objective_of(config)))
    positions = longest(config.encoder.positions) if isinstance(config.encoder, encoders.Transformer) else None
    rows = [[*ROWS[0], 4, 5, 6, 7][: 10 if positions else 6], [4, 5, 6, 7, 8, 3, 4], *ROWS]
    torch.stack([loss.total for loss in learner(batch_for(config, rows), 1).values()]).sum().backward()
    assert without_gradient(learner) == []


@every_model
def test_quick_layers_are_those_of_modules(config: EncoderOnly) -> None:
    model = model_of(config)
    modules = found(config, model, ROWS).detach()
    with torch.inference_mode():
        close(found(config, model, ROWS), modules, tolerance_of(config))


@pytest.mark.parametrize("encoder", [encoders.Rnn(width=3), TRANSFORMER_ENCODERS[0]], ids=["rnn", "transformer"])
@torch.inference_mode()
def test_which_of_two_texts_a_word_stands_in_matters(encoder: encoders.Rnn) -> None:
    config = EncoderOnly(source=frontends.Tokens(width=4), encoder=encoder, sentences="two")
    model, batch = model_of(config), collate_texts([[4, 3, 5]])
    before = said(model, batch)
    assert model.segments is not None
    model.segments.table[1] += 1
    assert not torch.allclose(said(model, batch), before)


def test_segments_and_ends_of_two_texts() -> None:
    """START a b END c END, and START d END e f END; padding belongs to none."""
    batch = collate_texts([[4, 5, 3, 6], [7, 3]])
    assert batch.sources["source"].values.tolist() == [[2, 4, 5, 3, 6, 3], [2, 7, 3, 3, 0, 0]]
    assert batch.sources["segments"].values.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0]]
    assert batch.sources["source"].mask.sum(1).tolist() == [6, 4]


@pytest.mark.parametrize(
    ("pool", "expected"), [("mean", [3.0, 2.0]), ("max", [6.0, 5.0]), ("first", [1.0, 5.0]), ("last", [6.0, 0.0])]
)
def test_pools_with_a_pencil(pool: str, expected: list[float]) -> None:
    """States (1, 5), (2, 1), (6, 0), and padding behind them."""
    from dragoman.contracts import Remembered
    from dragoman.heads.labels import pooled

    states = torch.tensor([[[1.0, 5.0], [2.0, 1.0], [6.0, 0.0], [9.0, 9.0]]])
    mask = torch.tensor([[True, True, True, False]])
    assert pooled(Remembered(states, mask), pool)[0].tolist() == expected  # type: ignore[arg-type]


def test_tags_are_for_one_sentence() -> None:
    with pytest.raises(ValueError, match="tags are for the words of one sentence"):
        EncoderOnly(head=heads.Tags(), sentences="two")
