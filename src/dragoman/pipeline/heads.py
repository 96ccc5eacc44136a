"""Where every head looked: answers that were found at full speed, or texts that are only read, are fed once more."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

from dragoman.contracts import Answer, Hypothesis
from dragoman.data.labelled import collate_texts
from dragoman.data.tokenizers import END, Tokenizer
from dragoman.drawing.alignment import Weights
from dragoman.drawing.heads import KINDS, LARGEST, Heads, Kind
from dragoman.errors import ConfigError, DataError
from dragoman.models import EncoderOnlyModel
from dragoman.pipeline.answering import NOTHING, find, prediction_of
from dragoman.pipeline.constraints import Constraints
from dragoman.pipeline.risk import least_risk
from dragoman.pipeline.rows import BATCH_TOKENS, Asked, Row, batched, live_rows
from dragoman.pipeline.teaching import Replayed, extent, heads_among
from dragoman.pipeline.together import Together
from dragoman.pipeline.vectors import read_rows
from dragoman.search import Sampling

if TYPE_CHECKING:
    from dragoman.pipeline.pipeline import Pipeline

Counts = Mapping[Kind, tuple[int, ...]]  # heads of every layer, of the kinds that a model has


def look_into(
    pipeline: "Pipeline", texts: list[str], targets: list[str] | None, beam: int | None, prefix: str
) -> list[Heads]:
    """The maps of each text, in its best answer or in a given one."""
    refuse_headless(pipeline)
    rows = rows_of(pipeline, texts, prefix)
    if targets is None:
        answers = best_answers(pipeline, rows, beam)
    else:
        answers = [Hypothesis(tuple(one), 0.0, 0.0, finished=True) for one in pipeline.target.encode(targets)]
    return [look(pipeline, row, one, targets is not None) for row, one in zip(rows, answers, strict=True)]


def read_into(pipeline: "Pipeline", texts: list[str]) -> list[Heads]:
    """The maps of each text, which a model that has no source, or writes nothing, reads as it is."""
    refuse_headless(pipeline)
    rows = rows_of_texts(pipeline, texts)
    if pipeline.alone:
        return [look_back(pipeline, Row([], text, number), row) for number, (text, row) in enumerate(rows)]
    answers = pipeline.predict(texts) if pipeline.labels is not None else [Answer(text, (NOTHING,)) for text in texts]
    return [
        read(pipeline, Row(row, text, number), answer)
        for number, ((text, row), answer) in enumerate(zip(rows, answers, strict=True))
    ]


def rows_of_texts(pipeline: "Pipeline", texts: list[str]) -> list[tuple[str, list[int]]]:
    limit, rows = pipeline.embedder("mean").limit, read_rows(pipeline, texts)
    for number, (text, row) in enumerate(zip(texts, rows, strict=True), start=1):
        refuse_unreadable(number, text, row, limit)
    return list(zip(texts, rows, strict=True))


def look_back(pipeline: "Pipeline", row: Row, symbols: list[int]) -> Heads:
    """Where each symbol of a text looked in what stands before it, and how probable it was."""
    text = Hypothesis(tuple(symbols), 0.0, 0.0, finished=False)
    found = look(pipeline, row, text, given=False)
    return replace(found, source="", answer=row.text, finished=True)


def read(pipeline: "Pipeline", row: Row, answer: Answer) -> Heads:
    """Where each symbol of a text looked, START and END counted, and what is said of the text."""
    model = pipeline.read_weights()
    assert isinstance(model, EncoderOnlyModel)  # noqa: S101 (others write)
    refuse_large(pipeline.head_counts, Row([*row.tokens, END], row.text, row.line), Hypothesis((), 0.0, 0.0, True))
    batch = collate_texts([row.tokens], pipeline.source.letters).to(pipeline.device)
    maps = heads_among(model.encode(batch, attention=True).attention)
    layers = sorted(maps, key=lambda name: int(name.rpartition(".")[2]))
    names = pipeline.source.symbols(row.tokens)
    tokens = ("END" if token == END else name for token, name in zip(row.tokens, names, strict=True))
    return Heads(
        source=row.text,
        answer=answer.text,
        source_tokens=("START", *tokens, "END"),
        symbols=(),
        weights={"encoder": tuple(maps_of(maps[name][0]) for name in layers)},
        score=answer.best.log_probability,
    )


def refuse_headless(pipeline: "Pipeline") -> None:
    if isinstance(pipeline.read_weights(), Together):
        raise ConfigError("Several models that write together have no heads in common. Look at one run at a time.")
    if pipeline.head_counts:
        return
    if not pipeline.answers:
        raise ConfigError(
            "This model has no heads to look at: its layers are recurrent. What it says comes from `dragoman predict`; "
            "to look inside, train one with model.encoder.kind = 'transformer' (a language model: model.decoder.kind)."
        )
    raise ConfigError(
        "This model has no heads to look at: neither model.encoder.kind nor model.decoder.kind is transformer. "
        "`dragoman look` without --heads, --kind, --layer and --head draws its attention, where it has one."
    )


def rows_of(pipeline: "Pipeline", texts: list[str], prefix: str) -> list[Row]:
    """Whole texts: the maps of pieces are no maps of the text."""
    wanted, limit = Constraints(prefix=prefix), pipeline.settings.limits.source
    rows = []
    for number, (text, tokens) in enumerate(zip(texts, pipeline.source.encode(texts), strict=True), start=1):
        refuse_unreadable(number, text, tokens, limit)
        rows.append(Row(tokens, text, number - 1, wanted, pipeline.written.prefix(wanted)))
    return rows


def refuse_unreadable(number: int, text: str, tokens: Sequence[int], limit: int) -> None:
    if not tokens or not text.strip():
        raise DataError(f"Text {number} is empty ({text!r}): there is nothing to look at.")
    if len(tokens) > limit:
        raise DataError(
            f"Text {number} has {len(tokens):,} tokens, and the model reads at most {limit:,} at once "
            "(limits.source). Look at a part of it."
        )


def best_answers(pipeline: "Pipeline", rows: Sequence[Row], beam: int | None) -> list[Hypothesis]:
    """What `predict` would answer, in symbols."""
    search, risk = pipeline.chosen_search(beam, 1), pipeline.settings.risk.utility
    asked = Asked(search, 1 if risk == "none" else pipeline.candidates(search, 1), False)
    lengths = [len(row.tokens) for row in rows]
    best: dict[int, Hypothesis] = {}
    for numbers in batched(
        sorted(range(len(rows)), key=lengths.__getitem__), lengths, BATCH_TOKENS // live_rows(asked)
    ):
        for number, found in zip(numbers, find(pipeline, [rows[n] for n in numbers], asked), strict=True):
            best[number] = found[0] if risk == "none" else least_risky(pipeline, rows[number], found, asked)
    return [best[number] for number in range(len(rows))]


def least_risky(pipeline: "Pipeline", row: Row, found: Sequence[Hypothesis], asked: Asked) -> Hypothesis:
    read = [prediction_of(pipeline, row.tokens, hypothesis, None) for hypothesis in found]
    [best] = least_risk(read, pipeline.settings.risk.utility, isinstance(asked.search, Sampling), 1)
    return next(one for one, said in zip(found, read, strict=True) if said.tokens == best.tokens)


def look(pipeline: "Pipeline", row: Row, answer: Hypothesis, given: bool) -> Heads:
    """One answer fed once more; a given one gets its score from that."""
    refuse_large(pipeline.head_counts, row, answer)
    [[replayed]] = pipeline.replay([row], [[answer]], heads=True)
    if given:
        total = replayed.log_probabilities.sum().item()
        answer = replace(answer, total=total, score=pipeline.rank(total, len(answer.tokens) + 1))
    return heads_of(row, answer, replayed, pipeline.source, pipeline.target)


def refuse_large(counts: Counts, row: Row, answer: Hypothesis) -> None:
    """A sentence for a text whose maps no page could hold, before they are made."""
    read, written = len(row.tokens) + 1, len(answer.tokens) + answer.finished
    sizes = {kind: extent(kind, written, read) for kind in counts}
    weights = sum(sum(heads) * sizes[kind][0] * sizes[kind][1] for kind, heads in counts.items())
    if weights > LARGEST:
        side = int(max(read, written) * (LARGEST / weights) ** 0.5)
        raise DataError(
            f"Text {row.line + 1} has {read:,} tokens and its answer {written:,} symbols, so that the maps of all "
            f"{sum(map(sum, counts.values())):,} heads have {weights:,} weights; at most {LARGEST:,} are drawn. With "
            f"this model that is about {side:,} tokens: look at a part of the text."
        )


def counts_of(replayed: Replayed) -> Counts:
    found = {kind: tuple(map(len, layers_of(replayed, kind))) for kind in KINDS.values()}
    return {kind: counts for kind, counts in found.items() if counts}


def layers_of(replayed: Replayed, kind: Kind) -> list[Float[Tensor, "H _ _"]]:
    """In the order of their numbers, which end their names."""
    names = [name for name in replayed.heads if name.rpartition(".")[0] == kind]
    return [replayed.heads[name] for name in sorted(names, key=lambda name: int(name.rpartition(".")[2]))]


def heads_of(row: Row, answer: Hypothesis, replayed: Replayed, source: Tokenizer, target: Tokenizer) -> Heads:
    """The maps of one answer with their words."""
    weights = {kind: tuple(map(maps_of, layers_of(replayed, kind))) for kind in KINDS.values()}
    end = ("END",) if answer.finished else ()
    return Heads(
        source=row.text,
        answer=target.decode(answer.tokens),
        source_tokens=(*source.symbols([*row.tokens, END])[:-1], "END"),
        symbols=(*target.symbols(answer.tokens), *end),
        weights={kind: layers for kind, layers in weights.items() if layers},
        score=answer.score,
        log_probabilities=tuple(replayed.log_probabilities.tolist()),
        finished=answer.finished,
    )


def maps_of(layer: Float[Tensor, "H _ _"]) -> tuple[Weights, ...]:
    return tuple(tuple(map(tuple, rows)) for rows in layer.tolist())
