"""What a pretrained model puts into the gaps of a text."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from dragoman.contracts import Answer, Prediction
from dragoman.data.masking import collate_gaps
from dragoman.data.tokenizers import END, SPECIALS, UNKNOWN, Tokenizer
from dragoman.errors import ConfigError, DataError
from dragoman.heads import PretrainingHead
from dragoman.models import EncoderOnlyModel
from dragoman.pipeline.rows import batched

GAP = "[MASK]"
BATCH_TOKENS = 8192
NOTHING = Prediction("", 0.0, 0.0, ())  # what an empty text is answered


@dataclass(frozen=True)
class Filler:
    """A pretrained model, with all that it needs to fill gaps."""

    model: EncoderOnlyModel
    tokenizer: Tokenizer
    two: bool  # texts may come in pairs, with a tab between them
    limit: int  # symbols that are read at once
    device: torch.device

    def stream(self, texts: Iterator[str], n_best: int, window: int) -> Iterator[Answer]:
        """Answers in the order of the texts; `window` of them are read ahead, so that a batch holds equals."""
        before = 0
        while read := list(islice(texts, window)):
            yield from self.filled(read, n_best, before)
            before += len(read)

    def filled(self, texts: Sequence[str], n_best: int, before: int = 0) -> list[Answer]:
        """Each text with its gaps filled: by the most probable symbols, then by the second in each, and so on."""
        most = self.tokenizer.size - len(SPECIALS)
        if not 1 <= n_best <= most:
            raise ConfigError(
                f"n_best must be between 1 and the {most:,} symbols there are to choose from, not {n_best}."
            )
        rows = [self.row_of(text, number) for number, text in enumerate(texts, start=before + 1)]
        answers = [Answer(text, (NOTHING,)) for text in texts]
        asked = [number for number, (_, gaps) in enumerate(rows) if gaps]
        for number, logs in self.asked(rows, asked):
            answers[number] = Answer(texts[number], self.best(*rows[number], logs, n_best))
        return answers

    def row_of(self, text: str, number: int) -> tuple[list[int], list[int]]:
        """The symbols of a line, and where its gaps are; an empty line has none."""
        if not text.strip():
            return [], []
        parts = text.split("\t") if self.two else [text]
        if len(parts) > 2:
            raise DataError(
                f"Line {number:,} has {len(parts)} texts with tabs between them; this model reads two at most."
            )
        if GAP not in text:
            raise DataError(f"Line {number:,} has no gap to fill. Write {GAP} in the place of a word.")
        row: list[int] = []
        gaps: list[int] = []
        for part in parts:
            row += [END] if part is not parts[0] else []
            for place, rest in enumerate(self.tokenizer.encode(part.split(GAP))):
                gaps += [len(row)] if place else []
                row += [UNKNOWN, *rest] if place else rest
        if len(row) > self.limit:
            raise DataError(
                f"Line {number:,} has {len(row):,} tokens; at most {self.limit:,} are read at once (limits.source). "
                "Shorten it."
            )
        return row, gaps

    def best(self, row: list[int], gaps: list[int], logs: Tensor, n_best: int) -> tuple[Prediction, ...]:
        found, where = logs.topk(n_best, 1)
        predictions = []
        for rank in range(n_best):
            filled, each = list(row), tuple(found[:, rank].tolist())
            for gap, symbol in zip(gaps, where[:, rank].tolist(), strict=True):
                filled[gap] = symbol
            total = math.fsum(each)
            predictions.append(
                Prediction(
                    self.text_of(filled),
                    total / len(gaps),
                    total,
                    self.tokenizer.symbols([filled[gap] for gap in gaps]),
                    source_tokens=tuple(
                        GAP if place in gaps else symbol
                        for place, symbol in enumerate(self.tokenizer.symbols([*row, END]))
                    ),
                    token_log_probabilities=each,
                )
            )
        return tuple(predictions)

    def text_of(self, row: list[int]) -> str:
        if END not in row:
            return self.tokenizer.decode(row)
        middle = row.index(END)
        return f"{self.tokenizer.decode(row[:middle])}\t{self.tokenizer.decode(row[middle + 1 :])}"

    @torch.inference_mode()
    def asked(self, rows: Sequence[tuple[list[int], list[int]]], asked: Sequence[int]) -> Iterator[tuple[int, Tensor]]:
        """(which row, log-probabilities of each symbol in each of its gaps); no special symbol fills one."""
        lengths = [len(row) + 1 for row, _ in rows]
        head = self.model.head
        assert isinstance(head, PretrainingHead)  # noqa: S101
        if head.words is None:
            raise ConfigError("This model was taught next sentences alone (model.head.learns), and fills no gaps.")
        for numbers in batched(sorted(asked, key=lengths.__getitem__), lengths, BATCH_TOKENS):
            batch = collate_gaps([rows[number][0] for number in numbers], [rows[number][1] for number in numbers])
            hidden = self.model.read(batch.to(self.device)).hidden
            for state, number in zip(hidden, numbers, strict=True):
                read = head.words(state[[gap + 1 for gap in rows[number][1]]])  # START stands before the first
                logits = head.words.output(read)
                logits[:, : len(SPECIALS)] = float("-inf")
                yield number, torch.log_softmax(logits, 1)
