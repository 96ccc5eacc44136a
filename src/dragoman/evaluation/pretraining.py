"""How well a pretrained model reads: hidden words and next sentences of texts that it never saw."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from dragoman.contracts import Batch
from dragoman.data.masking import Masking, collate_passages
from dragoman.data.order import Batching, Position, walk
from dragoman.data.passages import build_passages
from dragoman.data.readers.corpora import files_of
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.standard_input import spooled
from dragoman.data.readers.texts import read_texts, refuse_bad
from dragoman.data.store import Store
from dragoman.evaluation.texts import told
from dragoman.heads import Pretraining, PretrainingHead
from dragoman.metrics import Measured
from dragoman.metrics.measured import SEED, Counts, Floats, measure_counts
from dragoman.models import EncoderOnly, EncoderOnlyModel
from dragoman.nn.softmax import LARGEST_CHUNK
from dragoman.objectives.cross_entropy import real_tokens
from dragoman.objectives.pretraining import truth_of
from dragoman.pipeline import Pipeline
from dragoman.storage import temporary_folder
from dragoman.watching import Watch, unwatched

EVALUATED = Batching(tokens=8_192)
MOST_BAD = 0.01
# What is summed over examples: words to guess, minus their log-probability, how many are right; the same of pairs.
WORDS, WORDS_LOSS, WORDS_RIGHT, PAIRS, PAIRS_LOSS, PAIRS_RIGHT = range(6)

SCORES: Mapping[str, Callable[[Floats], Floats]] = {
    "loss": lambda sums: mean(sums, WORDS_LOSS, WORDS) + mean(sums, PAIRS_LOSS, PAIRS),
    "masked_words": lambda sums: mean(sums, WORDS_LOSS, WORDS),
    "perplexity": lambda sums: np.exp(mean(sums, WORDS_LOSS, WORDS)),
    "masked_word_accuracy": lambda sums: 100 * mean(sums, WORDS_RIGHT, WORDS),
    "next_sentence": lambda sums: mean(sums, PAIRS_LOSS, PAIRS),
    "next_sentence_accuracy": lambda sums: 100 * mean(sums, PAIRS_RIGHT, PAIRS),
}


def mean(sums: Floats, total: int, count: int) -> Floats:
    return sums[:, total] / np.maximum(1, sums[:, count])


def measures_of(head: Pretraining) -> list[str]:
    """What a model is measured by: nothing that it does not learn."""
    left_out: dict[str, tuple[str, ...]] = {"masked_words": ("next_sentence", "next_sentence_accuracy")}
    left_out |= {"next_sentence": ("masked_words", "perplexity", "masked_word_accuracy")}
    return [name for name in SCORES if name not in left_out.get(head.learns, ())]


def head_of(pipeline: Pipeline) -> Pretraining:
    config = pipeline.settings.model
    assert isinstance(config, EncoderOnly) and isinstance(config.head, Pretraining)  # noqa: S101, PT018
    return config.head


def masking_of(pipeline: Pipeline) -> Masking | None:
    """The same words are hidden at every measurement."""
    head = head_of(pipeline)
    return None if head.learns == "next_sentence" else Masking.of(head.masks, pipeline.source, 0)


def validate_passages(
    pipeline: Pipeline, store: Store, batching: Batching, stopped: Callable[[], bool]
) -> dict[str, float] | None:
    """Both losses and how often both are right, without dropout; None if it was told to stop."""
    found = measure_passages(pipeline, store, batching, stopped)
    if found is None:
        return None
    sums = found.sum(0, keepdims=True)
    return {name: float(SCORES[name](sums)[0]) for name in measures_of(head_of(pipeline))}


def measure_passages(
    pipeline: Pipeline, store: Store, batching: Batching, stopped: Callable[[], bool]
) -> Floats | None:
    """A row an example; None if it was told to stop."""
    model, masking, seen = pipeline.read_weights(), masking_of(pipeline), 0
    assert isinstance(model, EncoderOnlyModel)  # noqa: S101
    rows: list[Floats] = []
    for _, chunk, indices in walk(store, batching, 0, Position()):
        batch = collate_passages(chunk, indices, masking).to(pipeline.device)
        rows.append(measured(model, batch))
        seen += batch.size
        if seen >= len(store):
            break
        if stopped():
            return None
    return np.concatenate(rows)


@torch.inference_mode()
def measured(model: EncoderOnlyModel, batch: Batch) -> Floats:
    """Sums over each example of a batch."""
    output, head = model.read(batch), model.head
    assert isinstance(head, PretrainingHead)  # noqa: S101
    sums = np.zeros((batch.size, 6))
    if head.words is not None:
        hidden, truth = real_tokens(output, batch)
        examples = (batch.truth().real // output.hidden.shape[1]).cpu().numpy()
        size = max(1, LARGEST_CHUNK // head.words.output.weight.shape[0])
        for start in range(0, len(truth), size):
            logits = head.words.output(head.words(hidden[start : start + size]))
            words, where = truth[start : start + size], examples[start : start + size]
            losses = F.cross_entropy(logits, words, reduction="none").cpu().double().numpy()
            right = (logits.argmax(1) == words).cpu().numpy()
            for column, each in ((WORDS, None), (WORDS_LOSS, losses), (WORDS_RIGHT, right)):
                sums[:, column] += np.bincount(where, each, batch.size)
    if head.follows is not None:
        logits, follows = head.follows(output.hidden), truth_of(batch)
        sums[:, PAIRS] = 1
        sums[:, PAIRS_LOSS] = F.cross_entropy(logits, follows, reduction="none").cpu().double().numpy()
        sums[:, PAIRS_RIGHT] = (logits.argmax(1) == follows).cpu().numpy()
    return sums


@dataclass(frozen=True)
class EvaluatedReading:
    """A pretrained model measured on texts."""

    documents: int
    characters: int
    symbols: int
    examples: int
    words: int  # that were to be guessed
    follows: float  # share of the pairs whose second text follows the first
    problems: Problems
    unknown: float  # share of the symbols that the model has no symbol for
    seconds: float
    metrics: tuple[Measured, ...]


def evaluate_reading(
    pipeline: Pipeline,
    files: Sequence[str],
    watch: Watch = unwatched,
) -> EvaluatedReading:
    """Cut texts into examples as in training, once, hide the same words every time, and measure both."""
    model = pipeline.settings.model
    assert isinstance(model, EncoderOnly)  # noqa: S101
    problems, started_at, head = Problems(), time.monotonic(), head_of(pipeline)
    with spooled(files) as (corpora,), temporary_folder() as folder:
        names = files_of(corpora)
        pieces = read_texts(names, head.documents, problems)
        store = build_passages(
            folder / "passages",
            pieces,
            pipeline.source,
            head.cutting(model.sentences == "two"),
            "",
            problems,
            lambda _: refuse_bad(problems, MOST_BAD),
        )
        batches = 1 + store.counts.source_tokens // EVALUATED.tokens  # about
        found = measure_passages(pipeline, store, EVALUATED, told(watch, batches))
        follows = float(np.mean([store.chunk(n).target[0::2].mean() for n in range(store.chunks)]))
    assert found is not None  # noqa: S101 (nobody tells it to stop)
    counts = store.counts
    return EvaluatedReading(
        documents=counts.documents,
        characters=counts.characters,
        symbols=counts.target_tokens,
        examples=len(store),
        words=int(found[:, WORDS].sum()),
        follows=follows,
        problems=problems,
        unknown=counts.unknown_source / max(1, counts.target_tokens),
        seconds=time.monotonic() - started_at,
        metrics=tuple(
            measure_counts(name, Counts(found, SCORES[name], signature), pipeline.settings.evaluation.resamples, SEED)
            for name in measures_of(head)
        ),
    )


def signature(resamples: int, seed: int) -> str:
    return f"bs:{resamples}|seed:{seed}|unit:example|masks:0|version:dragoman.1"
