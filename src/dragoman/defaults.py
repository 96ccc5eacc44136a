"""Settings chosen from the data: what a practitioner would start from, each with its reason."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import tomlkit

from dragoman.config import dotted, nest
from dragoman.data.chunk import Numbers
from dragoman.data.readers.pairs import Pair
from dragoman.data.tokenizers import Bpe, Characters, Shared, TargetConfig, TokenizerConfig, Words, train_tokenizer

SAMPLE = 8_000  # pairs that are looked at closely; of more, every second is let go
CLOSED = 0.005  # share of words never met before up to which the words are a closed set of symbols
COMMON = 0.5  # share of target words that occur in the sources too, from which on one vocabulary serves both
SEEN = 1_000_000  # pairs that a training sees by default, all epochs together
SPEED = 45e9  # arithmetic a second of a training on a core, by which minutes are turned into epochs, roughly


@dataclass(frozen=True)
class Choice:
    """A setting, its value, and why."""

    key: str
    value: Any
    reason: str


@dataclass
class Sample:
    """Pairs spread evenly over a corpus of unknown length, in bounded memory."""

    pairs: list[Pair] = field(default_factory=list)
    size: int = 0  # of the corpus
    stride: int = 1

    def add(self, pair: Pair) -> None:
        if self.size % self.stride == 0:
            self.pairs.append(pair)
            if len(self.pairs) > SAMPLE:
                self.pairs, self.stride = self.pairs[::2], self.stride * 2
        self.size += 1


def sample_of(pairs: Iterable[Pair]) -> Sample:
    sample = Sample()
    for pair in pairs:
        sample.add(pair)
    return sample


@dataclass(frozen=True)
class Side:
    """What the texts of one side look like."""

    texts: Sequence[str]

    @cached_property
    def words(self) -> list[list[str]]:
        return [text.split() for text in self.texts]

    @cached_property
    def vocabulary(self) -> set[str]:
        return set(chain.from_iterable(self.words))

    @cached_property
    def alphabet(self) -> int:
        """Different characters."""
        return len(set(chain.from_iterable(self.texts)))

    @cached_property
    def fresh(self) -> float:
        """The share of the words in one half of the texts that the other half does not have."""
        known, others = set(chain.from_iterable(self.words[::2])), list(chain.from_iterable(self.words[1::2]))
        return sum(word not in known for word in others) / len(others) if others else 1.0

    @cached_property
    def characters_a_text(self) -> float:
        return float(np.mean([len(text) for text in self.texts]))

    @cached_property
    def words_a_text(self) -> float:
        return float(np.mean([len(row) for row in self.words]))

    @property
    def closed(self) -> bool:
        """Few symbols between spaces, all of them known: phonemes, commands, labels."""
        return self.words_a_text >= 2 and self.fresh <= CLOSED and len(self.vocabulary) <= 2_000

    @property
    def spelt(self) -> bool:
        """Single words, or a script that puts no spaces between them, of an alphabet that can be learned."""
        spaceless = self.words_a_text < 1.5 or self.characters_a_text / self.words_a_text > 15
        return spaceless and self.alphabet <= 3_000


def sides_of(sample: Sample) -> tuple[Side, Side]:
    return Side([pair.source for pair in sample.pairs]), Side([pair.target for pair in sample.pairs])


def choose_settings(sample: Sample, given: Mapping[str, Any] | None = None) -> list[Choice]:
    """Everything that follows from size and kind of the data, without what the user gave ({"training.steps": 500})."""
    given = given or {}
    source, target = sides_of(sample)
    lengths = [token_lengths(side, sample.size) for side in (source, target)]
    size = size_of(sample.size, small=all(side.closed or side.spelt for side in (source, target)))
    plan = plan_of(sample.size, float(lengths[1].mean() + 1), size, given)
    choices = [
        *tokenizer_choices(source, target, sample.size, may_share="source.kind" not in given),
        *length_choices(*lengths),
        *model_choices(size),
        *dropout_choices(plan),
        *training_choices(plan, size),
        *metric_choices(target),
    ]
    return [choice for choice in choices if not is_decided(choice.key, given)]


def is_decided(key: str, given: Mapping[str, Any]) -> bool:
    """Whether the user gave this setting, another kind of its part, or another limit of the training."""
    path = key.split(".")
    kinds = {".".join([*path[:depth], "kind"]) for depth in range(1, len(path))}
    limits = {"training.steps", "training.minutes"} if key == "training.epochs" else set()
    return not ({key} | kinds | limits).isdisjoint(given)


def tokenizer_of(side: Side, pairs: int) -> tuple[TokenizerConfig, str]:
    if side.closed:
        return Words(), f"{len(side.vocabulary):,} symbols between spaces; texts hold hardly a new one"
    if side.spelt:
        kind = "single words" if side.words_a_text < 1.5 else "no spaces between words"
        return Characters(), f"{kind}, {side.characters_a_text:.0f} characters a text, {side.alphabet} different ones"
    size = vocabulary_size(pairs)
    return Bpe(size=size), f"{side.words_a_text:.0f} words a text, {side.fresh:.0%} of them new: sub-words"


def vocabulary_size(pairs: int) -> int:
    """Doubled when the pairs are four times as many: every symbol must be met often enough to be learned."""
    doublings = max(0, round(math.log2(max(1, pairs) / 3_000) / 2))
    return min(32_000, int(1_000 * 2**doublings))


def chosen_tokenizers(source: Side, target: Side, pairs: int, may_share: bool) -> dict[str, tuple[TargetConfig, str]]:
    """A tokenizer for each side, and why."""
    found: dict[str, tuple[TargetConfig, str]] = {
        "source": tokenizer_of(source, pairs),
        "target": tokenizer_of(target, pairs),
    }
    common = words_in_common(source, target)
    if may_share and common >= COMMON and isinstance(found["target"][0], Bpe):
        found["target"] = Shared(), f"{common:.0%} of its words occur in sources too: cut alike"
    return found


def tokenizer_choices(source: Side, target: Side, pairs: int, may_share: bool) -> Iterator[Choice]:
    for name, (config, reason) in chosen_tokenizers(source, target, pairs, may_share).items():
        yield Choice(f"{name}.kind", config.kind, reason)
        if isinstance(config, Bpe):
            yield Choice(f"{name}.size", config.size, f"{pairs:,} pairs")


def likely_tokenizers(sample: Sample) -> dict[str, TargetConfig]:
    """The tokenizers that a training on this data would choose."""
    found = chosen_tokenizers(*sides_of(sample), sample.size, may_share=True)
    return {name: config for name, (config, _) in found.items()}


def words_in_common(source: Side, target: Side) -> float:
    words = list(chain.from_iterable(target.words))
    return sum(word in source.vocabulary for word in words) / max(1, len(words))


def token_lengths(side: Side, pairs: int) -> Numbers:
    """Tokens of each text of the sample, by a vocabulary learned from it."""
    tokenizer = train_tokenizer(tokenizer_of(side, pairs)[0], lambda: iter(side.texts))
    return np.array([len(row) for row in tokenizer.encode(side.texts)], np.int64)


def length_choices(source: Numbers, target: Numbers) -> Iterator[Choice]:
    """Limits that leave out one pair in a thousand at most, with room for what the sample has not shown."""
    for name, lengths in (("source", source), ("target", target)):
        longest = float(np.quantile(lengths, 0.999))
        limit = max(50, math.ceil(longest * 1.25 / 10) * 10)
        reason = f"999 of 1,000 {name}s have at most {longest:.0f} tokens; the median is {np.median(lengths):.0f}"
        yield Choice(f"data.max_{name}_length", limit, reason)
    ratio = float(np.quantile((target + 1) / (source + 1), 0.999))
    yield Choice(
        "limits.ratio", round(max(1.2, ratio * 1.2), 1), f"a target has at most {ratio:.1f} × its source's tokens"
    )


@dataclass(frozen=True)
class Size:
    """How large a model is, and why."""

    embedding: int
    encoder: int  # of each direction
    decoder: int
    layers: int
    rate: float
    reason: str

    @property
    def weights(self) -> int:
        """The ones that work at every token, roughly."""
        encoder = 8 * self.encoder * (self.embedding + self.encoder)
        decoder = 4 * self.decoder * (self.embedding + 2 * self.encoder + self.decoder)
        return self.layers * (encoder + decoder) + self.decoder * 2_000


def size_of(pairs: int, small: bool) -> Size:
    """Widths grow with the data, and embeddings with the vocabulary; the rates are those that did best in trials."""
    kind = "small vocabularies" if small else "sub-words"
    reason, layers = f"{kind}, {pairs:,} pairs", 2 if pairs >= 1_000_000 else 1
    if small:
        widths = (64, 192, 256) if pairs >= 20_000 else (64, 128, 192)
        return Size(*widths, layers, 0.008, reason)
    widths = (128, 192, 256) if pairs < 300_000 else (256, 256, 512)
    return Size(*widths, layers, 0.008 if pairs < 300_000 else 0.004, reason)


def model_choices(size: Size) -> Iterator[Choice]:
    for name in ("source", "target"):
        yield Choice(f"model.{name}.width", size.embedding, size.reason)
    yield Choice("model.encoder.width", size.encoder, f"{size.reason}; of each direction")
    for name in ("encoder", "decoder"):
        yield Choice(f"model.{name}.cell", "lstm", "learned faster than gru in trials")
    why = "learns fastest" if size.layers == 1 else "a million pairs or more"
    yield Choice("model.encoder.layers", size.layers, why)
    yield Choice("model.decoder.layers", size.layers, why)
    yield Choice("model.decoder.width", size.decoder, size.reason)
    yield Choice("model.decoder.attention.width", size.decoder // 2, "half of the decoder")
    yield Choice("model.decoder.readout_width", size.decoder // 2, "half of the decoder")


@dataclass(frozen=True)
class Plan:
    """How long the training is, as far as it can be told beforehand."""

    batch: int  # target tokens
    updates: int  # an epoch
    epochs: int  # that are set where the user set no limit
    seen: float  # how often each pair will be seen


def plan_of(pairs: int, target_tokens: float, size: Size, given: Mapping[str, Any]) -> Plan:
    batch = batch_of(pairs, pairs * target_tokens)
    updates = max(1, math.ceil(pairs * target_tokens / batch))
    epochs = min(50, max(2, round(SEEN / pairs)))
    cores = int(given.get("training.threads") or os.cpu_count() or 1)
    speed = SPEED * cores / (6 * size.weights * target_tokens)  # pairs a second
    limits = [
        float(given.get("training.epochs") or math.inf),
        float(given.get("training.steps") or math.inf) / updates,
        60 * float(given.get("training.minutes") or math.inf) * speed / pairs,
    ]
    seen = min(limits)
    return Plan(batch, updates, epochs, float(epochs) if math.isinf(seen) else seen)


def batch_of(pairs: int, target_tokens: float) -> int:
    """Small, for many updates: on 52,626 pairs of sentences, after three epochs, BLEU 26 with 1,024 tokens, 34 with 512
    and 31 with 256."""
    sizes = ((100_000, 512), (1_000_000, 1_024), (5_000_000, 2_048), (math.inf, 4_096))
    batch = next(size for most, size in sizes if pairs < most)
    return batch if target_tokens / batch >= 100 else batch // 2


def dropout_choices(plan: Plan) -> Iterator[Choice]:
    """In a short training dropout only holds the model back: after three epochs of sentences it cost 6 BLEU."""
    steps = ((6, 0.0), (12, 0.1), (25, 0.2), (math.inf, 0.3))
    dropout = next(rate for most, rate in steps if plan.seen <= most)
    often = f"each pair is seen about {max(1, round(plan.seen))} times"
    for name in ("source", "target", "decoder"):
        yield Choice(f"model.{name}.dropout", dropout, often if dropout else f"{often}: too few to learn by heart")


def training_choices(plan: Plan, size: Size) -> Iterator[Choice]:
    """Small batches and a high rate that falls to nothing get furthest in minutes."""
    total = max(1, round(plan.updates * plan.seen))
    yield Choice("training.batching.tokens", plan.batch, f"about {plan.updates:,} updates an epoch")
    yield Choice("training.optimiser.rate", size.rate, size.reason)
    yield Choice("training.optimiser.betas", [0.9, 0.98], "gradients of text are noisy")
    yield Choice("training.schedule.kind", "cosine", "the rate falls to nothing at the end of the training")
    yield Choice("training.schedule.warmup", min(400, max(10, total // 10)), "updates: a tenth of all, 400 at most")
    yield Choice("training.schedule.final", 0.02, "of the highest rate")
    yield Choice("training.epochs", plan.epochs, f"some {SEEN:,} pairs are seen; 2 to 50 epochs")
    yield Choice("training.validate_every", min(1_000, max(100, plan.updates)), "an epoch, 1,000 updates at most")
    yield Choice("training.patience", 10, "validations without improvement")
    yield Choice("objective.smoothing", 0.1, "the usual amount")


def metric_choices(target: Side) -> Iterator[Choice]:
    if target.closed:
        names = ["sequence_error_rate", "phoneme_error_rate"]
        yield Choice("evaluation.metrics", names, "targets are rows of symbols")
    elif target.spelt:
        yield Choice("evaluation.metrics", ["exact_match", "character_error_rate"], "targets are spelt")
    else:
        yield Choice("evaluation.metrics", ["bleu", "chrf", "exact_match"], "targets are sentences")


def hold_out_of(pairs: int) -> Choice | None:
    """A share of the pairs to validate on, where no validation data is given."""
    if pairs < 50:
        return None
    share = min(0.1, min(2_000, max(100, 0.02 * pairs)) / pairs)
    return Choice(
        "data.hold_out", round(share, 4), f"no --valid: some {share * pairs:,.0f} pairs are kept to validate on"
    )


def as_table(choices: Iterable[Choice]) -> dict[str, Any]:
    return nest({dotted(choice.key): choice.value for choice in choices})


def as_toml(choices: Sequence[Choice]) -> str:
    """The choices as a recipe that can be edited, each with its reason."""
    document = tomlkit.document()
    document.add(
        tomlkit.comment("Chosen from the data. Edit it, and give this file to `dragoman train` as the recipe.")
    )
    tables: dict[str, Any] = {"": document}
    for choice in choices:
        *path, name = dotted(choice.key)
        item = tomlkit.item(choice.value)
        item.comment(choice.reason)
        table_at(tables, tuple(path)).add(name, item)
    return tomlkit.dumps(document)


def table_at(tables: dict[str, Any], path: tuple[str, ...]) -> Any:
    """The table of this path, made where it is not there yet."""
    name = ".".join(path)
    if name not in tables:
        tables[name] = tomlkit.table()
        table_at(tables, path[:-1]).add(path[-1], tables[name])
    return tables[name]
