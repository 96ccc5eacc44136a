"""How good answers to sources with references are, with intervals."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from dragoman.baselines.standing import Standing
from dragoman.baselines.training_data import Beside
from dragoman.data.readers.formats import AUTO, CONVERSATIONS, Wanted
from dragoman.data.readers.pairs import GOOD_CONVERSATION, Corpus, Problems, read_references
from dragoman.data.readers.standard_input import spooled
from dragoman.data.tokenizers import UNKNOWN
from dragoman.errors import DataError, choose
from dragoman.evaluation.beside import Scores, pairs_beside
from dragoman.metrics import METRICS, Measured, measure, measure_perplexity
from dragoman.pipeline import Pipeline, Scored
from dragoman.served import Evaluation, Tokenise
from dragoman.watching import Watch, unwatched, watched


@dataclass(frozen=True)
class Evaluated:
    """A model measured on data."""

    items: int
    references: int
    problems: Problems  # lines that were left out
    unfinished: int
    longer: tuple[int, ...]  # sources above limits.source, 1-based
    seconds: float
    metrics: tuple[Measured, ...]
    answers: tuple[str, ...]
    unknown: float  # share of the source tokens that the model has no symbol for
    standing: Standing | None = None


def evaluate(
    pipeline: Pipeline,
    files: tuple[Corpus, ...],
    metrics: tuple[str, ...] = (),
    beam: int | None = None,
    longer: str | None = None,
    tokenise: str | None = None,
    watch: Watch = unwatched,
    beside: Beside | None = None,
) -> Evaluated:
    """Answer every source once and compare with all its references; perplexity is over every pair."""
    chosen = chosen_metrics(pipeline.settings.evaluation, metrics, tokenise)
    conversations: dict[str, str] = {}
    items, problems = read_items(files, pipeline.wanted, conversations)
    started_at = time.monotonic()
    answers = list(watched(pipeline.stream([s for s, _ in items], beam, longer=longer), "answered", len(items), watch))
    seconds = time.monotonic() - started_at
    references = [targets for _, targets in items]
    texts = tuple(answer.text for answer in answers)
    pairs = ((source, target) for source, targets in items for target in targets)
    scores = list(watched(pipeline.score(pairs), "scored", sum(map(len, references)), watch))
    groups = [conversations.get(source, "") for source, _ in items]
    values = measure_all(chosen, texts, references, scores, groups)
    unfinished = sum(not answer.best.finished for answer in answers)
    long = tuple(number for number, answer in enumerate(answers, start=1) if answer.longer)
    unknown = unknown_share(pipeline, [source for source, _ in items])
    counted = (len(items), len(scores), problems, unfinished, long)
    standing = None if beside is None else pairs_beside(beside, pipeline, chosen, items, texts, likely(scores, groups))
    return Evaluated(*counted, seconds, values, texts, unknown, standing)


def likely(scores: Sequence[Scored], conversations: Sequence[str] = ()) -> Scores:
    """All references with their log-probabilities."""
    return Scores([score.log_probability for score in scores], [len(score.tokens) for score in scores], conversations)


def chosen_metrics(evaluation: Evaluation, metrics: tuple[str, ...], tokenise: str | None) -> Evaluation:
    """The run's way of measuring, or what takes its place."""
    for name in metrics or evaluation.metrics:
        choose("metric", name, METRICS).needed()
    words = choose("tokenisation", tokenise or evaluation.tokenise, {name: name for name in get_args(Tokenise)})
    return evaluation.changed(metrics=metrics or evaluation.metrics, tokenise=words)


def read_items(
    files: tuple[Corpus, ...], wanted: Wanted = AUTO, conversations: dict[str, str] | None = None
) -> tuple[list[tuple[str, tuple[str, ...]]], Problems]:
    """Each source with all its references, and the lines that were left out; `conversations` is told where a history
    belongs."""
    problems = Problems()
    with spooled(files) as (corpora,):
        items = read_references(corpora, problems, wanted, conversations)
    if not items:
        named = " and ".join(map(str, files))
        if wanted == CONVERSATIONS:
            raise DataError(f"There is no turn to be measured in {named}.\n{problems.summary()}\n{GOOD_CONVERSATION}")
        hint = "\nA source file and a target file are given as two files (--on twice)." if len(files) == 1 else ""
        raise DataError(f"There is no pair in {named}.\n{problems.summary()}{hint}")
    return items, problems


def unknown_share(pipeline: Pipeline, sources: list[str]) -> float:
    """Of the source tokens, those that the model has no symbol for."""
    tokens = [token for row in pipeline.source.encode(sources) for token in row]
    return tokens.count(UNKNOWN) / max(1, len(tokens))


def measure_all(
    evaluation: Evaluation,
    texts: Sequence[str],
    references: Sequence[tuple[str, ...]],
    scores: Sequence[Scored],
    conversations: Sequence[str] = (),
) -> tuple[Measured, ...]:
    """The metrics of answers, and the perplexity of all references, which were scored one by one; `conversations` are
    those that the answers stand in."""
    resamples = evaluation.resamples
    values = measure(
        evaluation.metrics,
        list(texts),
        list(references),
        resamples=resamples,
        tokenise=evaluation.tokenise,
        conversations=conversations,
    )
    logs, tokens = [score.log_probability for score in scores], [len(score.tokens) for score in scores]
    of_each = [one for one, known in zip(conversations, references, strict=bool(conversations)) for _ in known]
    return (*values, measure_perplexity(logs, tokens, resamples, conversations=of_each))
