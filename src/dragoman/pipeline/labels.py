"""What a model that only reads says of texts: a label, a number, or a tag a word."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import torch
from jaxtyping import Bool
from torch import Tensor

from dragoman.contracts import Answer, Batch, Output, Prediction
from dragoman.data.labelled import collate_texts, shortened, tokens_of, words_of
from dragoman.data.labelling import Labelling
from dragoman.data.tokenizers import END, Tokenizer
from dragoman.errors import DataError
from dragoman.heads import CrfHead, Decided, NumberHead, PretrainingHead, SpansHead, TagsHead
from dragoman.models import EncoderOnly, EncoderOnlyModel
from dragoman.pipeline.rows import batched

BATCH_TOKENS = 8192
NOTHING = Prediction("", 0.0, 0.0, ())  # what an empty text is answered


@dataclass(frozen=True)
class Part:
    """Pieces of a sentence from `first` to `last`, and where among them its words begin."""

    sentence: int
    first: int
    last: int
    starts: list[int]


@dataclass(frozen=True)
class Chosen:
    """The tags of the words of a sentence, how probable each of them is, and how probable all of them together."""

    tags: tuple[str, ...]
    log_probabilities: tuple[float, ...]
    total: float


@dataclass(frozen=True)
class Reader:
    """A model that reads, with all that it needs to answer."""

    model: EncoderOnlyModel
    tokenizer: Tokenizer
    labelling: Labelling
    two: bool  # texts come in pairs, with a tab between them
    limit: int  # symbols that are read at once
    device: torch.device

    @staticmethod
    def of(
        model: EncoderOnlyModel, config: EncoderOnly, tokenizer: Tokenizer, labelling: Labelling, limit: int
    ) -> "Reader":
        device = next(model.parameters()).device
        return Reader(model, tokenizer, labelling, config.sentences == "two", limit, device)

    def stream(self, texts: Iterator[str], policy: str, window: int) -> Iterator[Answer]:
        """Answers in the order of the texts; `window` of them are read ahead, so that a batch holds equals."""
        before = 0
        while read := list(islice(texts, window)):
            if self.labelling.what == "tags":
                found = self.tags([text.split() for text in read], before, policy)  # words stand between spaces
                yield from (Answer(text, (tags,)) for text, tags in zip(read, found, strict=True))
            else:
                parts = [self.parts(text, number) for number, text in enumerate(read, start=before + 1)]
                yield from self.labelled(parts, policy, before)
            before += len(read)

    def labelled(self, texts: Sequence[Sequence[str]], policy: str, before: int) -> list[Answer]:
        """Of one text each, or two; a label has no pieces to be joined: what is too long is cut, or refused."""
        rows = tokens_of(self.tokenizer, texts)
        long = [len(row) > self.limit for row in rows]
        if policy == "refuse" and any(long):
            first = long.index(True)
            raise self.too_long(before + first + 1, len(rows[first]), "Shorten it, or have it cut (--longer cut).")
        rows = [shortened(row, self.limit) for row in rows]
        asked = [number for number, parts in enumerate(texts) if any(part.strip() for part in parts)]
        found = {number: self.of_text(rows[number], logs) for number, logs in self.answered(rows, asked)}
        return [
            Answer("\t".join(parts), found.get(number, (NOTHING,)), "cut" if long[number] else "")
            for number, parts in enumerate(texts)
        ]

    def parts(self, text: str, number: int) -> list[str]:
        if not self.two or not text.strip():
            return [text]
        parts = text.split("\t")
        if len(parts) != 2 or not all(part.strip() for part in parts):
            raise DataError(
                f"Line {number:,}: this model reads two texts with a tab between them, and the line has "
                f"{sum(1 for part in parts if part.strip())}. Give first<TAB>second."
            )
        return parts

    def of_text(self, row: list[int], found: Tensor) -> tuple[Prediction, ...]:
        """The number; or every label, the most probable first."""
        return ranked(self.labelling, found[0], self.tokenizer.symbols([*row, END]))

    def tags(self, sentences: Sequence[Sequence[str]], before: int = 0, policy: str = "split") -> list[Prediction]:
        """A tag for each word of each sentence. One that is too long to be read at once is read in parts, unless it is
        to be refused; it cannot be cut, for its last words would have no tags."""
        rows, starts = words_of(self.tokenizer, sentences)
        for number, row in enumerate(rows, start=before + 1):
            if policy != "split" and len(row) > self.limit:
                raise self.too_long(number, len(row), "Have it read in parts (--longer split), or split it yourself.")
        parts = [part for number, row in enumerate(rows) for part in self.in_parts(number, starts[number], len(row))]
        asked = [rows[part.sentence][part.first : part.last] for part in parts]
        found = self.tagged(asked, [part.starts for part in parts])
        of_sentence: dict[int, list[Chosen]] = {}
        for part, chosen in zip(parts, found, strict=True):
            of_sentence.setdefault(part.sentence, []).append(chosen)
        return [tagged(words, of_sentence.get(number, ())) for number, words in enumerate(sentences)]

    @torch.inference_mode()
    def tagged(self, rows: Sequence[list[int]], starts: Sequence[list[int]]) -> list[Chosen]:
        """The tags of the words of each row, which begin at `starts`."""
        found: dict[int, Chosen] = {}
        for numbers in self.batches(rows, range(len(rows))):
            batch = collate_texts([rows[number] for number in numbers], self.tokenizer.letters).to(self.device)
            where = [[start + 1 for start in starts[number]] for number in numbers]  # START stands before the first
            places = torch.zeros_like(batch.sources["source"].mask)
            for row, of_words in enumerate(where):
                places[row, of_words] = True
            found |= dict(zip(numbers, chosen_tags(self.model, self.labelling, batch, places), strict=True))
        return [found[number] for number in range(len(rows))]

    def in_parts(self, number: int, starts: list[int], size: int) -> Iterator["Part"]:
        """As many whole words at a time as can be read at once, mostly all of them; of a word that is longer than that,
        its first pieces, since its tag belongs to the first."""
        first, inside = 0, list[int]()
        for start, end in pairwise([*starts, size] if size else []):
            if inside and end - first > self.limit:
                yield Part(number, first, start, inside)
                first, inside = start, []
            inside.append(start - first)
            if end - start > self.limit:
                yield Part(number, first, start + self.limit, inside)
                first, inside = end, []
        if inside:
            yield Part(number, first, size, inside)

    def too_long(self, number: int, tokens: int, advice: str) -> DataError:
        return DataError(
            f"Line {number:,} has {tokens:,} tokens; at most {self.limit:,} are read at once (limits.source). {advice}"
        )

    @torch.inference_mode()
    def answered(self, rows: Sequence[list[int]], asked: Sequence[int]) -> Iterator[tuple[int, Tensor]]:
        """(which row, what the head says of it): log-probabilities (L, labels), or a number (1,)."""
        for numbers in self.batches(rows, asked):
            found = said(
                self.model, collate_texts([rows[number] for number in numbers], self.tokenizer.letters).to(self.device)
            )
            yield from zip(numbers, found, strict=True)

    def batches(self, rows: Sequence[list[int]], asked: Sequence[int]) -> Iterator[list[int]]:
        """Of about the same length."""
        lengths = [len(row) + 1 for row in rows]
        return batched(sorted(asked, key=lengths.__getitem__), lengths, BATCH_TOKENS)


def ranked(labelling: Labelling, found: Tensor, symbols: tuple[str, ...] = ()) -> tuple[Prediction, ...]:
    """The number; or every label, the most probable first."""
    if labelling.what == "numbers":
        number = labelling.unscaled(found.item())
        return (Prediction(f"{number:.4g}", number, 0.0, (f"{number:.4g}",), source_tokens=symbols),)
    logs, names = found.tolist(), labelling.names
    order = sorted(range(len(logs)), key=lambda label: -logs[label])
    return tuple(Prediction(names[n], logs[n], logs[n], (names[n],), source_tokens=symbols) for n in order)


def tagged(words: Sequence[str], parts: Sequence[Chosen]) -> Prediction:
    """What is said of a sentence, whose parts were read by themselves."""
    tags = tuple(tag for part in parts for tag in part.tags)
    if not tags:
        return NOTHING
    each = tuple(log for part in parts for log in part.log_probabilities)
    total = math.fsum(part.total for part in parts)
    return Prediction(" ".join(tags), total, total, tags, source_tokens=tuple(words), token_log_probabilities=each)


def chosen_tags(
    model: EncoderOnlyModel, labelling: Labelling, batch: Batch, places: Bool[Tensor, "B S"]
) -> list[Chosen]:
    """The tags of the words, or frames, of each row, which stand at these places."""
    decided = decided_tags(model, labelling, model.read(batch), places)
    columns = (decided.tags, decided.log_probabilities, places)
    found = []
    for total, *row in zip(decided.totals.tolist(), *(column.tolist() for column in columns), strict=True):
        here = [(labelling.names[tag], log) for tag, log, real in zip(*row, strict=True) if real]
        found.append(Chosen(tuple(tag for tag, _ in here), tuple(log for _, log in here), total))
    return found


def decided_tags(model: EncoderOnlyModel, labelling: Labelling, output: Output, places: Bool[Tensor, "B S"]) -> Decided:
    """Of those sequences of tags that the scheme of the training data has."""
    head = model.head
    assert isinstance(head, TagsHead | CrfHead)  # noqa: S101 (others say nothing of words)
    follows = labelling.follows if isinstance(head, CrfHead) else None
    return head.decide(output, places, None if follows is None else torch.from_numpy(follows).to(places.device))


def said(model: EncoderOnlyModel, batch: Batch) -> Tensor:
    """What the head says of each text: log-probabilities (B, L, labels), numbers (B, 1), or scores (B, S, 2)."""
    output, head = model.read(batch), model.head
    assert not isinstance(head, PretrainingHead | CrfHead)  # noqa: S101 (one says nothing of texts, one decides tags)
    if isinstance(head, SpansHead):
        return head.scores(output)
    return head.numbers(output) if isinstance(head, NumberHead) else head.log_probabilities(output)
