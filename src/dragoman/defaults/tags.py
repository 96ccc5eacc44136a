"""Settings of taggers, chosen from the training data and the budget."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dragoman.data.labelling import Labelling
from dragoman.data.readers.example import Example
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.tagged import Tagged, read_tagged_split
from dragoman.defaults.budget import Budget, validation_interval
from dragoman.defaults.choice import Choice, is_validated
from dragoman.preparation.corpora import REPORTED, Preparing

SEEN = 3_000_000  # words that a training sees by default, all epochs together
FEWEST = 20  # sentences of which some can be held out
MOST_TAGS = 300  # up to which a CRF costs less than the recurrent layer below it
CASED = 0.01  # share of words with a capital letter from which on a vocabulary needs no second entry for them
USUAL_LENGTH = 200  # data.max_length, where nothing else is said


@dataclass(frozen=True)
class Sentences:
    """What a tagger's training data is like."""

    sentences: int
    words: int
    longest: int  # words of a sentence
    counts: Mapping[str, int]  # of each word, in lowercase
    lengths: Mapping[int, int]  # words by their number of characters
    capital: int  # words with a capital letter
    tags: tuple[str, ...]

    @cached_property
    def has_spans(self) -> bool:
        return Labelling("tags", self.tags).has_spans

    @cached_property
    def rare(self) -> float:
        """Share of words that occur once, about as many as are new in other texts (Good 1953)."""
        return sum(count == 1 for count in self.counts.values()) / self.words

    def letters(self, share: float) -> int:
        """Characters that so many of all words have at most."""
        lengths = sorted(self.lengths)
        totals = np.cumsum([self.lengths[length] for length in lengths])
        return lengths[int(np.searchsorted(totals, share * self.words))]


def survey_tags(data: Tagged, given: Mapping[str, Any], preparing: Preparing) -> Sentences | None:
    """All training sentences, counted; nothing where there is not one good sentence."""
    return counted(read_tagged_split(data, "train", Problems()), preparing)


def counted(examples: Iterable[Example], preparing: Preparing = lambda what, done: None) -> Sentences | None:
    counts, lengths, tags = Counter[str](), Counter[int](), set[str]()
    sentences = longest = capital = 0
    for example in examples:
        lowered = [word.lower() for word in example.texts]
        counts.update(lowered)
        lengths.update(map(len, example.texts))
        tags.update(example.labels)
        capital += sum(word != low for word, low in zip(example.texts, lowered, strict=True))
        longest, sentences = max(longest, len(lowered)), sentences + 1
        if sentences % REPORTED == 0:
            preparing("sentences looked at", sentences)
    if not sentences:
        return None
    return Sentences(sentences, counts.total(), longest, counts, lengths, capital, tuple(sorted(tags)))


def choose_for_tags(found: Sentences, given: Mapping[str, Any], budget: Budget) -> list[Choice]:
    """Everything that follows from number, length and kind of the sentences and tags, and from the budget."""
    spelled = given.get("model.source.kind", "spelled") == "spelled"
    plan = plan_of(found, budget)
    return [
        *data_choices(found, given),
        *tokenizer_choices(found),
        *(frontend_choices(found) if spelled else ()),
        Choice("model.encoder.kind", "rnn", "reads sentences in both directions"),
        Choice("model.encoder.cell", "lstm", "the usual one of taggers"),
        Choice("model.encoder.layers", 1, "one layer in both directions learns fastest"),
        Choice("model.encoder.width", plan.width, f"{found.words:,} words; of each direction"),
        *head_choices(found, given),
        *dropout_choices(found, plan, spelled),
        *schedule_choices(plan, given.get("training.schedule.kind", "cosine")),
        *training_choices(found, plan),
        *(monitor_choices(found) if is_validated(given, found.sentences >= FEWEST) else ()),
    ]


def data_choices(found: Sentences, given: Mapping[str, Any]) -> Iterator[Choice]:
    if not given.get("data.valid") and "data.hold_out" not in given and found.sentences >= FEWEST:
        share = 0.2 if found.sentences < 100 else float(f"{min(0.1, 2_000 / found.sentences):.2g}")
        kept = share * found.sentences
        yield Choice("data.hold_out", share, f"no --valid: some {kept:,.0f} sentences are kept to validate on")
    if found.longest > USUAL_LENGTH and not given.get("training.start"):  # a body reads as much as it has learned to
        yield Choice("data.max_length", min(2_000, found.longest), f"the longest sentence has {found.longest:,} words")


def tokenizer_choices(found: Sentences) -> Iterator[Choice]:
    yield Choice("source.kind", "words", "a tag belongs to a whole word")
    yield Choice("model.source.kind", "spelled", "a word vector beside a character CNN, for new words")
    if found.capital >= CASED * found.words:
        yield Choice("source.lowercase", True, "for word vectors; the letters keep their case")
    yield Choice("source.minimum_count", 2, f"{found.rare:.0%} of the words occur once: their letters must do")


def frontend_choices(found: Sentences) -> Iterator[Choice]:
    yield Choice("model.source.width", 100, "the usual width of word vectors")
    yield Choice("model.source.filters", 50, "of the character CNN")
    longest = found.letters(0.99)
    letters = min(32, max(12, longest + 2))
    yield Choice("model.source.letters", letters, f"99 of 100 words have at most {longest} characters; with both ends")


def head_choices(found: Sentences, given: Mapping[str, Any]) -> Iterator[Choice]:
    number = len(found.tags)
    kind = "crf" if number <= MOST_TAGS else "tags"
    why = "neighboring tags depend on each other" if kind == "crf" else "too many for the transitions of a CRF"
    yield Choice("model.head.kind", kind, f"{number} tags: {why}")
    kind = given.get("model.head.kind", kind)
    yield Choice("objective.kind", "crf" if kind == "crf" else "cross_entropy", f"the likelihood of head '{kind}'")


@dataclass(frozen=True)
class Plan:
    """How long the training is, as far as it can be told beforehand."""

    width: int  # of the encoder
    batch: int  # words
    updates: int  # an epoch
    epochs: int  # where the user set no limit
    seen: float  # how often each sentence will be seen

    @property
    def total(self) -> int:
        return max(1, round(self.updates * self.seen))


def plan_of(found: Sentences, budget: Budget) -> Plan:
    width = 128 if found.words < 100_000 else 192
    batch = 128 if found.words < 10_000 else 256 if found.words < 40_000 else 512
    tokens = found.words + 2 * found.sentences
    updates = max(1, math.ceil(tokens / batch))
    epochs = min(60, max(3, round(SEEN / found.words)))
    weights = 8 * width * (150 + width)
    seen = budget.epochs_of(found.sentences, updates, 6 * weights * tokens / found.sentences)
    return Plan(width, batch, updates, epochs, float(epochs) if math.isinf(seen) else seen)


def dropout_choices(found: Sentences, plan: Plan, spelled: bool) -> Iterator[Choice]:
    """Word vectors are soon learned by heart: dropout grows with the number of epochs."""
    steps = ((3, 0.2), (8, 0.3), (20, 0.4), (math.inf, 0.5))
    dropout = next(rate for most, rate in steps if plan.seen <= most)
    often = f"each sentence is seen about {max(1, round(plan.seen))} times"
    for name in ("source", "encoder", "head"):
        yield Choice(f"model.{name}.dropout", dropout, often)
    if spelled:
        hidden = 0.05 if plan.seen <= 3 else 0.1
        yield Choice("model.source.word_dropout", hidden, f"{found.rare:.0%} of the words occur once: <unk> is learned")


def schedule_choices(plan: Plan, kind: str) -> Iterator[Choice]:
    yield Choice("training.schedule.kind", "cosine", "the rate falls to nothing at the end of the training")
    share = round(min(0.1, 200 / plan.total), 4)
    yield Choice("training.schedule.warmup_share", share, "of the training, and 200 updates at most")
    if kind == "cosine":
        yield Choice("training.schedule.final", 0.02, "of the highest rate")


def training_choices(found: Sentences, plan: Plan) -> Iterator[Choice]:
    yield Choice("training.batching.tokens", plan.batch, f"about {plan.updates:,} updates per epoch")
    yield Choice("training.optimiser.rate", 4e-3, "half of it learned less in the same time")
    yield Choice("training.epochs", plan.epochs, f"some {SEEN:,} words are seen; 3 to 60 epochs")
    yield Choice("training.validate_every", validation_interval(plan.updates, plan.seen), "about 20 validations")
    yield Choice("training.patience", 10, "validations without improvement")


def monitor_choices(found: Sentences) -> Iterator[Choice]:
    if found.has_spans:
        yield Choice("training.monitor", "span_f1", "tags mark spans (B-, I-): a span counts as a whole")
    else:
        yield Choice("training.monitor", "accuracy", f"{len(found.tags)} tags, none of them spans")
