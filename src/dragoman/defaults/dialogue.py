"""Settings of models that reply in conversations, chosen from a sample of turns with what was said before them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dragoman.data.chunk import Numbers
from dragoman.data.sides import Sample
from dragoman.data.tokenizers import Bpe, train_tokenizer
from dragoman.data.tokenizers.conversation import turns_of
from dragoman.defaults.budget import Budget, sparse_interval
from dragoman.defaults.choice import Choice
from dragoman.defaults.ngrams import ngram_choices
from dragoman.defaults.pairs import batch_of, has_validation, hold_out_of
from dragoman.defaults.tokenizers import AFFORDABLE, lengths_by, vocabulary_size

TURNS = 2  # that are read where there is time: in five minutes, the last turn alone did better than five turns
OFTEN = 10  # epochs from which on there is
LARGEST_VOCABULARY = 2_000  # in minutes, rarer tokens are not learned
RATE = 8e-3
MANY = 20_000  # turns
SEEN = 400_000  # turns that a training sees by default, all epochs together


def choose_for_conversations(sample: Sample, given: Mapping[str, Any], budget: Budget) -> list[Choice]:
    """Everything that follows from the conversations and the budget, for recurrent models that read turns as a text."""
    if {given.get(f"model.{name}.kind") for name in ("encoder", "decoder")} != {"rnn"}:
        return []
    vocabulary = min(LARGEST_VOCABULARY, vocabulary_size(sample.size))
    replies = [pair.target for pair in sample.pairs]
    lengths = lengths_by(train_tokenizer(Bpe(size=vocabulary), lambda: iter(replies)), replies)
    held_out = None if has_validation(given) else hold_out_of(sample)
    length, untimed = float(lengths.mean() + 1), replace(budget, speed=None)
    plan, first = Plan.of(sample.size, length, budget), Plan.of(sample.size, length, untimed)
    size = size_of(sample.size, first, vocabulary)  # which stays when the speed is known
    planned, seen = (one.seen(size.weights(vocabulary)) for one in (first, plan))
    turns = min(TURNS if planned >= OFTEN else 1, longest_history(sample))
    return [
        *([] if held_out is None else [held_out]),
        Choice("source.size", vocabulary, f"{sample.size:,} turns with a history"),
        *length_choices(lengths, turns),
        *model_choices(size, f"{sample.size:,} turns with a history"),
        *ngram_choices(round(sample.size * length), planned, seen, "turn"),
        *training_choices(plan, seen, turns),
    ]


def longest_history(sample: Sample) -> int:
    """Turns."""
    return max(len(turns_of(pair.source)) for pair in sample.pairs)


@dataclass(frozen=True)
class Plan:
    """How long the training is."""

    turns: int
    tokens: float  # of a turn
    batch: int  # tokens of replies
    updates: int  # an epoch
    epochs: int  # that are set where the user set no limit
    budget: Budget

    @staticmethod
    def of(turns: int, tokens: float, budget: Budget) -> "Plan":
        batch = max(batch_of(turns, turns * tokens), 1_024 if turns >= MANY else 0)  # small, for many updates
        updates = max(1, math.ceil(turns * tokens / batch))
        return Plan(turns, tokens, batch, updates, min(30, max(2, round(SEEN / turns))), budget)

    def seen(self, weights: int) -> float:
        """Epochs."""
        limit = self.budget.epochs_of(self.turns, self.updates, 6.0 * weights * self.tokens)
        return float(self.epochs) if math.isinf(limit) else limit


def length_choices(lengths: Numbers, turns: int) -> Iterator[Choice]:
    """Turns are cut where one in fifty is longer, and replies where one in a hundred is."""
    most = (float(np.quantile(lengths, share)) for share in (0.98, 0.99))
    read, said = (min(AFFORDABLE, max(10, math.ceil(one / 10) * 10)) for one in most)
    median = f"half of the turns have up to {np.median(lengths):.0f} tokens"
    yield Choice("conversation.turns", turns, "the latest turns say most about the next one")
    yield Choice("conversation.turn_length", read, f"98 of 100 turns are shorter; {median}")
    yield Choice("conversation.length", turns * (read + 1), "room for these turns")
    yield Choice("data.max_target_length", said, f"99 of 100 turns are shorter; {median}")
    yield Choice("limits.answer", said, "as long as what is learned")


@dataclass(frozen=True)
class Size:
    """How large a model is."""

    embedding: int
    encoder: int  # of each direction
    decoder: int

    def weights(self, vocabulary: int) -> int:
        """The ones that work at every token of a reply, and of the turns before it."""
        encoder = 8 * self.encoder * (self.embedding + self.encoder)
        return encoder + 4 * self.decoder * (self.embedding + self.decoder) + self.embedding * vocabulary


SIZES = ((0, Size(128, 64, 256)), (400_000, Size(128, 128, 384)), (4_000_000, Size(256, 256, 768)))


def size_of(turns: int, plan: Plan, vocabulary: int) -> Size:
    """The largest that sees enough turns, all epochs together, by a careful estimate. The decoder is the larger part:
    most of a reply follows from the words before it."""
    if turns < MANY:
        return Size(96, 96, 256)
    return [size for most, size in SIZES if plan.seen(size.weights(vocabulary)) * turns >= most][-1]


def model_choices(size: Size, reason: str) -> Iterator[Choice]:
    for name in ("source", "target"):
        yield Choice(f"model.{name}.width", size.embedding, reason)
    yield Choice("model.encoder.layers", 1, "learns fastest")
    yield Choice("model.encoder.width", size.encoder, f"{reason}; of each direction")
    yield Choice("model.decoder.layers", 1, "learns fastest")
    yield Choice("model.decoder.width", size.decoder, reason)
    yield Choice("model.decoder.readout_width", size.embedding, "the output layer is the table of vectors")


def training_choices(plan: Plan, seen: float, turns: int) -> Iterator[Choice]:
    updates = plan.updates
    often = f"each turn is seen about {seen:.2g} times"
    dropout = next(share for most, share in ((4, 0.0), (8, 0.1), (16, 0.2), (math.inf, 0.3)) if seen <= most)
    for name in ("source", "target", "decoder"):
        yield Choice(f"model.{name}.dropout", dropout, often)
    yield Choice("training.batching.counts", "both", "replies and the turns before them are computed")
    yield Choice("training.batching.tokens", plan.batch * (1 + turns), f"about {updates:,} updates an epoch")
    yield Choice("training.optimiser.rate", RATE, "one recurrent layer bears a high rate")
    yield Choice("training.schedule.kind", "cosine", "the rate falls to nothing at the end of the training")
    yield Choice("training.schedule.warmup_share", 0.05, "of the training")
    yield Choice("training.schedule.final", 0.02, "of the highest rate")
    yield Choice("training.epochs", plan.epochs, f"some {SEEN:,} turns are seen; 2 to 30 epochs")
    yield Choice("training.validate_every", sparse_interval(updates, seen, max(20, updates // 4)), "4 an epoch at most")
    yield Choice("training.patience", 10, "validations without improvement")
