"""Where in a conversation a model looked while it answered: which turns, and which words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from dragoman.contracts import Hypothesis, Prediction
from dragoman.data.tokenizers import END
from dragoman.data.tokenizers.conversation import as_text
from dragoman.drawing.alignment import Alignment, Weights
from dragoman.errors import ConfigError, DataError
from dragoman.objectives.cross_entropy import target_log_probabilities
from dragoman.pipeline.answering import find, prediction_of
from dragoman.pipeline.rows import Asked, Row
from dragoman.pipeline.teaching import Replayed
from dragoman.pipeline.together import Together
from dragoman.regimes import teacher

if TYPE_CHECKING:
    from dragoman.pipeline.pipeline import Pipeline

BETWEEN = "⏎"  # END between two turns, in pictures


@dataclass(frozen=True)
class TurnLooks:
    """An answer to a conversation, and where each of its symbols looked."""

    prediction: Prediction
    turns: tuple[tuple[str, ...], ...]  # symbols of the turns that were read
    texts: tuple[str, ...]  # the same as texts
    by_turn: Alignment  # a row an output symbol, a column a turn
    by_word: Alignment | None  # a column a symbol; None where the model looks at turns alone
    direct: bool  # whether turns themselves are looked at; else their words are added up
    between: str = ""  # what stands between symbols

    def shares(self) -> list[float]:
        """How much of all looks each turn got."""
        rows = self.by_turn.weights
        return [sum(row[n] for row in rows) / max(1, len(rows)) for n in range(len(self.turns))]

    def words(self) -> list[list[float]] | None:
        """The mean weight of each symbol, turn by turn, without END."""
        if self.by_word is None:
            return None
        rows, found, first = self.by_word.weights, [], 0
        means = [sum(row[n] for row in rows) / max(1, len(rows)) for n in range(len(self.by_word.source))]
        for turn in self.turns:
            found.append(means[first : first + len(turn)])
            first += len(turn) + 1
        return found


@torch.inference_mode()
def look_at_turns(
    pipeline: "Pipeline", turns: Sequence[str], target: str | None = None, beam: int | None = None
) -> TurnLooks:
    """The model's own answer to what was said last, or a given one."""
    source = as_text(turns)
    [tokens] = pipeline.source.encode([source])
    if not tokens:
        raise DataError("Nothing is said in this conversation: there is nothing to look at.")
    row = Row(tokens, source, 0)
    if target is None:
        [[found]] = find(pipeline, [row], Asked(pipeline.chosen_search(beam, 1), 1, alignments=False))
    else:
        [symbols] = pipeline.target.encode([target])
        found = Hypothesis(tuple(symbols), 0.0, 0.0, finished=True)
    if isinstance(pipeline.model, Together):
        raise ConfigError("Looks at turns are those of one model. Leave --with out.")
    batch = pipeline.batch_of([row], [found.tokens])
    output = teacher(pipeline.model, batch, attention=True)
    logs = target_log_probabilities(output, pipeline.model.head, batch)[0, : len(found.tokens) + found.finished]
    if target is not None:
        total = logs.sum().item()
        found = replace(found, total=total, score=pipeline.rank(total, len(logs)))
    seen = {name: output.attention[name][0].mean(0)[: len(logs)] for name in SEEN if name in output.attention}
    if not seen:
        raise ConfigError(
            "This model looks at nothing in particular: its decoder has no attention (model.decoder.attention), and "
            "starts from the state of the conversation alone. Its answers come from `dragoman chat`."
        )
    words = seen.get("source")
    prediction = prediction_of(pipeline, tokens, found, Replayed(words, logs))
    return described(pipeline, tokens, prediction, seen)


SEEN = ("source", "turns")


def described(
    pipeline: "Pipeline", tokens: list[int], prediction: Prediction, seen: dict[str, torch.Tensor]
) -> TurnLooks:
    parts = parted(tokens)
    symbols = (*prediction.tokens, "END")[: len(prediction.tokens) + prediction.finished]
    summed = None
    if "source" in seen:
        ends = [number for number, token in enumerate([*tokens, END]) if token == END]
        before = torch.nn.functional.pad(seen["source"].cumsum(1), (1, 0))
        places = torch.tensor([0, *(end + 1 for end in ends)])
        summed = before[:, places[1:]] - before[:, places[:-1]]
    weights = as_weights(seen.get("turns", summed))
    logs, finished = prediction.token_log_probabilities, prediction.finished
    names = tuple(str(number + 1) for number in range(len(parts)))
    by_word = None
    if "source" in seen:
        read = tuple(BETWEEN if token == END else name for token, name in
                     zip(tokens, pipeline.source.symbols(tokens), strict=True))  # fmt: skip
        by_word = Alignment((*read, "END"), symbols, as_weights(seen["source"]), logs, finished)
    return TurnLooks(
        prediction,
        tuple(pipeline.source.symbols(part) for part in parts),
        tuple(pipeline.source.decode(part) for part in parts),
        Alignment(names, symbols, weights, logs, finished),
        by_word,
        "turns" in seen,
        " " if pipeline.source.kind == "words" else "",
    )


def as_weights(found: torch.Tensor | None) -> Weights:
    return () if found is None else tuple(map(tuple, found.tolist()))


def parted(tokens: Sequence[int]) -> list[list[int]]:
    """The symbols of each turn."""
    parts: list[list[int]] = [[]]
    for token in tokens:
        if token == END:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
