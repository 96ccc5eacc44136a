"""Settings of language models, chosen from a sample of the texts."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dragoman.data.readers.lines import Problems
from dragoman.data.readers.texts import Texts, read_texts
from dragoman.data.sides import Side
from dragoman.data.tokenizers import Bpe, Characters, TokenizerConfig, train_tokenizer
from dragoman.defaults.budget import Budget, sparse_interval
from dragoman.defaults.choice import Choice
from dragoman.defaults.ngrams import ngram_choices
from dragoman.preparation.corpora import REPORTED, Preparing

SAMPLED = 2_000_000  # characters that are looked at closely, spread over all
PARAGRAPHS = 2_000  # characters between blank lines, in the mean, below which these part paragraphs and not documents
RATE, UP_TO = 8e-3, 384  # of 4e-3, 8e-3 and 1.6e-2 the best in minutes; above this width it falls with the width
SEEN_TOKENS = 15_000_000  # that a training sees by default, all epochs together
STREAMS, CONTEXT = 32, 32  # of a batch, and tokens that the gradient goes back


@dataclass
class TextSurvey:
    """Lines spread over the texts, and how much there is."""

    lines: int = 0
    characters: int = 0
    documents: int = 0  # with blank lines between them
    files: int = 0
    sample: list[str] = field(default_factory=list)
    sampled: int = 0  # characters
    stride: int = 1

    def add(self, text: str, first: bool) -> None:
        if self.lines % self.stride == 0:
            self.sample.append(text)
            self.sampled += len(text)
            while self.sampled > SAMPLED and len(self.sample) > 1:
                self.sample, self.stride = self.sample[::2], self.stride * 2
                self.sampled = sum(map(len, self.sample))
        self.lines += 1
        self.characters += len(text) + 1
        self.documents += first

    @cached_property
    def side(self) -> Side:
        return Side([text for text in self.sample if text.strip()])


def survey_texts(data: Texts, given: Mapping[str, Any], preparing: Preparing) -> TextSurvey | None:
    """What matters of the texts; nothing where there are none."""
    files = data.files("train")
    found = TextSurvey(files=len(files))
    for piece in read_texts(files, "blank_lines", Problems()):
        found.add(piece.text, piece.first)
        if found.lines % REPORTED == 0:
            preparing("lines looked at", found.lines)
    return found if found.characters else None


def choose_for_texts(survey: TextSurvey, given: Mapping[str, Any], budget: Budget) -> list[Choice]:
    """Everything that follows from the texts and the budget."""
    if given.get("model.kind") != "decoder_only" or given.get("model.decoder.kind") != "rnn":
        return []  # what follows was tried with recurrent language models
    config, reason = tokenizer_of(survey)
    each = 1.0 if isinstance(config, Characters) else characters_per_token(survey, config)
    tokens, vocabulary = max(1, round(survey.characters / each)), vocabulary_of(survey, config)
    untimed = replace(budget, speed=None)  # what follows from it stays when the speed is known
    size = size_of(tokens, vocabulary, untimed)
    planned, seen = (seen_of(tokens, size, vocabulary, one) for one in (untimed, budget))
    return [
        documents_choice(survey),
        Choice("target.kind", config.kind, reason),
        *([Choice("target.size", config.size, f"{survey.characters:,} characters")] if isinstance(config, Bpe) else []),
        *model_choices(size, reason_for(tokens, budget)),
        *ngram_choices(tokens, planned, seen, "text"),
        *training_choices(tokens, size, vocabulary, budget),
    ]


def documents_choice(survey: TextSurvey) -> Choice:
    mean = survey.characters / max(1, survey.documents)
    if mean < PARAGRAPHS:
        return Choice("model.documents", "files", f"{mean:.0f} characters between blank lines: paragraphs of one text")
    return Choice("model.documents", "blank_lines", f"{mean:,.0f} characters between blank lines")


def tokenizer_of(survey: TextSurvey) -> tuple[TokenizerConfig, str]:
    """Sub-words, of which there are twice as many where there are sixteen times as many characters: in minutes, the
    time that a larger output layer takes teaches more elsewhere."""
    side = survey.side
    if side.characters_a_text / max(1.0, side.words_a_text) > 15 and side.alphabet <= 3_000:
        return Characters(), f"no spaces between words, {side.alphabet} different characters"
    doublings = max(0, round(math.log2(max(1, survey.characters) / 1_000_000) / 4))
    return Bpe(size=min(16_000, 1_000 * 2**doublings)), "words with spaces between them: sub-words"


def characters_per_token(survey: TextSurvey, config: TokenizerConfig) -> float:
    texts = survey.side.texts[::8] or survey.side.texts
    learned = train_tokenizer(config, lambda: iter(texts))
    return sum(len(text) + 1 for text in texts) / max(1, sum(len(row) + 1 for row in learned.encode(texts)))


@dataclass(frozen=True)
class Size:
    """How large a model is."""

    embedding: int
    width: int

    def weights(self, vocabulary: int) -> int:
        """The ones that work at every token."""
        recurrent = 4 * self.width * (self.embedding + self.width)
        return recurrent + self.embedding * (self.width + vocabulary)


SIZES = (Size(64, 192), Size(96, 256), Size(128, 384), Size(192, 512), Size(256, 768), Size(384, 1_024))
TOKENS_PER_WEIGHT = 3  # that a training must at least see, by a careful estimate of its speed
COUNTED = 20  # epochs: more of them do not teach a larger model more


def size_of(tokens: int, vocabulary: int, budget: Budget) -> Size:
    """The largest that sees enough tokens for its weights within the budget (Hoffmann et al. 2022, of other sizes)."""
    updates = max(1, math.ceil(tokens / (STREAMS * CONTEXT)))

    def seen(size: Size) -> float:
        limit = budget.epochs_of(tokens, updates, 6.0 * size.weights(vocabulary))
        return float(tokens * min(COUNTED, limit, max(1.0, SEEN_TOKENS / tokens)))

    fitting = [one for one in SIZES if seen(one) >= TOKENS_PER_WEIGHT * one.weights(vocabulary)]
    return fitting[-1] if fitting else SIZES[0]


def vocabulary_of(survey: TextSurvey, config: TokenizerConfig) -> int:
    return config.size if isinstance(config, Bpe) else survey.side.alphabet


def reason_for(tokens: int, budget: Budget) -> str:
    return f"{tokens:,} tokens" + ("" if budget.minutes is None else f" and {budget.minutes:g} minutes")


def model_choices(size: Size, reason: str) -> Iterator[Choice]:
    yield Choice("model.context", CONTEXT, "tokens that the gradient goes back; the state goes on")
    yield Choice("model.target.width", size.embedding, reason)
    yield Choice("model.decoder.layers", 1, "learns fastest")
    yield Choice("model.decoder.width", size.width, reason)
    yield Choice("model.decoder.readout_width", size.embedding, "the output layer is the table of vectors")


def epochs_for(tokens: int) -> int:
    """Where the user has set no limit."""
    return min(30, max(1, round(SEEN_TOKENS / tokens)))


def seen_of(tokens: int, size: Size, vocabulary: int, budget: Budget) -> float:
    """How often each text is seen, about."""
    updates = max(1, math.ceil(tokens / (STREAMS * CONTEXT)))
    limit = budget.epochs_of(tokens, updates, 6.0 * size.weights(vocabulary))
    return float(epochs_for(tokens)) if math.isinf(limit) else limit


def training_choices(tokens: int, size: Size, vocabulary: int, budget: Budget) -> Iterator[Choice]:
    updates = max(1, math.ceil(tokens / (STREAMS * CONTEXT)))
    seen = seen_of(tokens, size, vocabulary, budget)
    often = f"each text is seen about {seen:.2g} times"
    dropout = next(share for most, share in ((2, 0.0), (6, 0.1), (12, 0.2), (math.inf, 0.3)) if seen <= most)
    for name in ("target", "decoder"):
        yield Choice(f"model.{name}.dropout", dropout, often)
    yield Choice("training.batching.sentences", STREAMS, "streams that are read side by side")
    rate = RATE * min(1.0, UP_TO / size.width)
    yield Choice("training.optimiser.rate", rate, f"one recurrent layer of width {size.width} bears a high rate")
    yield Choice("training.schedule.kind", "cosine", "the rate falls to nothing at the end of the training")
    yield Choice("training.schedule.warmup_share", 0.05, "of the training")
    yield Choice("training.schedule.final", 0.02, "of the highest rate")
    yield Choice("training.epochs", epochs_for(tokens), f"some {SEEN_TOKENS:,} tokens are seen; 1 to 30 epochs")
    yield Choice(
        "training.validate_every", sparse_interval(updates, seen), "6 validations; 20 where texts are seen often"
    )
    yield Choice("training.patience", 10, "validations without improvement")
