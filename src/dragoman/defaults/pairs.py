"""Settings chosen from the data: what a practitioner would start from, each with its reason."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.config import dotted, nest
from dragoman.data.readers.pairs import Pairs, Problems, SplitName, read_split, split_of
from dragoman.data.sides import Sample, sides_of
from dragoman.data.tokenizers import Characters, Shared, TargetConfig, Words
from dragoman.defaults.budget import Budget, validation_interval
from dragoman.defaults.choice import Choice, Given
from dragoman.defaults.tokenizers import (
    Tokenizers,
    chosen_tokenizers,
    hallucination_choices,
    has_sub_words,
    measured,
    tokenizer_choices,
)
from dragoman.preparation.corpora import REPORTED, Preparing

SEEN = 1_000_000  # pairs that a training sees by default, all epochs together
FEWEST = 50  # pairs of which some can be held out
FEWEST_UPDATES, MOST_EPOCHS = 4_000, 200  # of a training of few pairs
MANY_TOKENS = 1_000_000  # of an epoch, from which on no batch has fewer than 1,024
OFTEN_SEEN = 12  # epochs from which on a model learns pairs by heart
EXACT = ("sequence_error_rate", "exact_match")  # what short targets are measured by
WIDTHS = {
    "model.source.width",
    "model.target.width",
    "model.decoder.readout",
    "model.decoder.readout_width",
    "model.tie",
}
TRANSFORMER_RATE = 0.001
MANY_UPDATES = 20_000  # from which on a Transformer has four layers


def survey_pairs(data: Pairs, given: Mapping[str, Any], preparing: Preparing) -> Sample | None:
    """A sample of the training pairs, spread over all of them; nothing where there is not one good pair."""
    sample = Sample()
    for pair in read_split(data, "train", Problems()):
        sample.add(pair)
        if sample.size % REPORTED == 0:
            preparing("pairs looked at", sample.size)
    return sample if sample.size else None


def choose_settings(sample: Sample, given: Mapping[str, Any] | None = None) -> list[Choice]:
    """What is open beside the settings that are given, by their dotted names: {"training.steps": 500}."""
    own = Given({}, nest({dotted(key): value for key, value in (given or {}).items()}))
    return [one for one in choose_for_pairs(sample, own.known, Budget.of(own.known)) if own.leaves_open(one.key)]


def choose_for_pairs(sample: Sample, given: Mapping[str, Any], budget: Budget) -> list[Choice]:
    """Everything that follows from size and kind of the pairs and from the budget."""
    source, target = sides_of(sample)
    tokenizers = chosen_tokenizers(source, target, sample.size, given)
    configs, lengths, limits = measured(sample, tokenizers, given)
    size = size_of(sample.size, small=not has_sub_words(configs))
    longer = np.maximum(*lengths)  # of source and target, by which batches are filled
    plan = plan_of(sample.size, float(longer.mean() + 1), size, budget)
    stacks = [name for name in ("encoder", "decoder") if given.get(f"model.{name}.kind") == "transformer"]
    return [
        *tokenizer_choices(tokenizers, sample.size, given),
        *limits,
        *hallucination_choices(sample, configs),
        *(one for one in model_choices(size) if not one.key.startswith(tuple(f"model.{name}." for name in stacks))),
        *([] if "decoder" in stacks else attention_choices(size, has_sub_words(configs), given)),
        *tie_choices(size, configs, given),
        *stack_choices(plan, stacks),
        *dropout_choices(plan, ("source", "target", "decoder", *(name for name in stacks if name == "encoder"))),
        *training_choices(plan, size),
        rate_choice(size, given),
        metric_choice(tokenizers["target"][0]),
    ]


def stack_choices(plan: "Plan", sides: Sequence[str]) -> Iterator[Choice]:
    """Deeper stacks learn more of many updates, and less of few: after 500 updates of 1,024 tokens on 43,161 pairs of
    technical text, two layers without dropout had a perplexity of 66 (at a rate of 0.002), and four, which take longer,
    of 99 (at 0.0015); one seed each."""
    layers = 2 if plan.total < MANY_UPDATES else 4
    for name in sides:
        yield Choice(f"model.{name}.layers", layers, f"about {plan.total:,} updates")


def choose_for_training(sample: Sample, given: Mapping[str, Any], budget: Budget) -> list[Choice]:
    """The same, and what is held out to validate on where no validation data is given."""
    held_out = None if has_validation(given) else hold_out_of(sample)
    choices = choose_for_pairs(sample, given, budget)
    if held_out is None and not has_validation(given):
        return choices
    metrics = next(one.value for one in choices if one.key == "evaluation.metrics")
    return [*([] if held_out is None else [held_out]), *choices, *monitor_choices(metrics[0])]


def has_validation(given: Mapping[str, Any]) -> bool:
    return bool(given.get("data.valid")) or "data.hold_out" in given


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
    return Size(*widths, layers, 0.004, reason)


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
    yield Choice("model.decoder.readout_width", size.decoder // 2, "half of the decoder")


def attention_choices(size: Size, sub_words: bool, given: Mapping[str, Any]) -> Iterator[Choice]:
    """Sentences are long and minutes few: where the state of the same step asks and only the readout hears the answer
    (Luong et al. 2015, without input feeding), no step waits for another. After 90 seconds of one thread on 43,161
    pairs of technical text, the perplexity was 29 (batches of 1,024 tokens, a rate of 0.004) or 51 (0.008), and 66 with
    an additive attention that enters the next state (512 tokens, 0.008); one seed each. Short targets of few symbols
    keep the latter: their steps are few. So does an attention that is given in part."""
    if not sub_words or any(key.startswith("model.decoder.attention.") for key in given):
        if given.get("model.decoder.attention.kind", "additive") == "additive":
            yield Choice("model.decoder.attention.width", size.decoder // 2, "half of the decoder")
        return
    yield Choice("model.decoder.attention.kind", "general", "all steps of a sentence in one product")
    yield Choice("model.decoder.query", "current", "no step waits for the attention of another")
    yield Choice("model.decoder.context", ["readout"], "the state of the same step asks")


def tie_choices(size: Size, configs: Tokenizers, given: Mapping[str, Any]) -> Iterator[Choice]:
    """The rows of one table are word vectors and output layer, where widths allow it: what both sides share shows
    attention where to look."""
    if not has_sub_words(configs) or size.embedding != size.decoder // 2 or not WIDTHS.isdisjoint(given):
        return
    if isinstance(configs.target, Shared):
        yield Choice("model.tie", "all", "one vocabulary: what stands in the source is easily repeated")
    elif not isinstance(configs.target, Characters | Words):
        yield Choice("model.tie", "target", "each sub-word is learned as input and as output")


@dataclass(frozen=True)
class Plan:
    """How long the training is, as far as it can be told beforehand."""

    batch: int  # tokens
    updates: int  # an epoch
    epochs: int  # that are set where the user set no limit
    seen: float  # how often each pair will be seen

    @property
    def total(self) -> int:
        return max(1, round(self.updates * self.seen))


def plan_of(pairs: int, tokens: float, size: Size, budget: Budget) -> Plan:
    batch = max(batch_of(pairs, pairs * tokens), 1_024 if pairs * tokens >= MANY_TOKENS else 0)
    updates = max(1, math.ceil(pairs * tokens / batch))
    most = min(MOST_EPOCHS, max(50, math.ceil(FEWEST_UPDATES / updates)))
    epochs = min(most, max(2, round(SEEN / pairs)))
    seen = budget.epochs_of(pairs, updates, 6 * size.weights * tokens)
    return Plan(batch, updates, epochs, float(epochs) if math.isinf(seen) else seen)


def batch_of(pairs: int, tokens: float) -> int:
    """Small, for many updates: on 52,626 pairs of sentences, after three epochs at a rate of 0.008, BLEU 26 with 1,024
    tokens and 34 with 512. Smaller ones were not tried at that rate."""
    sizes = ((100_000, 512), (1_000_000, 1_024), (5_000_000, 2_048), (math.inf, 4_096))
    batch = next(size for most, size in sizes if pairs < most)
    return batch if tokens / batch >= 100 else batch // 2


def dropout_choices(plan: Plan, parts: tuple[str, ...]) -> Iterator[Choice]:
    """In a short training dropout only holds the model back: after three epochs of sentences it cost 6 BLEU."""
    steps = ((6, 0.0), (12, 0.1), (25, 0.2), (math.inf, 0.3))
    dropout = next(rate for most, rate in steps if plan.seen <= most)
    often = f"each pair is seen about {max(1, round(plan.seen))} times"
    for name in parts:
        yield Choice(f"model.{name}.dropout", dropout, often if dropout else f"{often}: too few to learn by heart")


def training_choices(plan: Plan, size: Size) -> Iterator[Choice]:
    """Small batches and a high rate that falls to nothing get furthest in minutes."""
    yield Choice("training.batching.tokens", plan.batch, f"about {plan.updates:,} updates an epoch")
    yield Choice("training.optimiser.betas", [0.9, 0.98], "gradients of text are noisy")
    yield Choice("training.schedule.kind", "cosine", "the rate falls to nothing at the end of the training")
    yield Choice("training.schedule.warmup_share", warmup_share(plan.total), "of the training, and 400 updates at most")
    yield Choice("training.schedule.final", 0.02, "of the highest rate")
    yield Choice("training.epochs", plan.epochs, f"some {SEEN:,} pairs are seen; 2 to {MOST_EPOCHS} epochs")
    yield Choice("training.validate_every", validation_interval(plan.updates, plan.seen), "about 20 validations")
    yield Choice("training.patience", 15, "validations without improvement, of about 20")
    if plan.seen > OFTEN_SEEN:
        yield Choice("training.average", averaging(plan.total), "pairs are seen often: a moving average of the weights")
    else:
        yield Choice("training.average", 0.0, "a moving average of the weights is for pairs that are seen often")
    yield Choice("objective.smoothing", 0.1, "the usual amount")


def averaging(updates: int) -> float:
    """The decay of an average over about a sixth of the training."""
    return round(min(0.999, max(0.9, 1 - 6 / updates)), 4)


def warmup_share(updates: int) -> float:
    return round(min(0.1, 400 / updates), 4)


def rate_choice(size: Size, given: Mapping[str, Any]) -> Choice:
    """The rates of sizes are those of one or two recurrent layers; a stack of attention bears less."""
    kinds = {given.get(f"model.{name}.kind") for name in ("encoder", "decoder")}
    if "transformer" in kinds:
        return Choice("training.optimiser.rate", TRANSFORMER_RATE, "a Transformer")
    return Choice("training.optimiser.rate", size.rate, size.reason)


def metric_choice(target: TargetConfig) -> Choice:
    """By what the data is, whatever tokenizer the user wants for it."""
    if isinstance(target, Words):
        names = ["sequence_error_rate", "phoneme_error_rate"]
        return Choice("evaluation.metrics", names, "targets are rows of symbols")
    if isinstance(target, Characters):
        return Choice("evaluation.metrics", ["exact_match", "character_error_rate"], "targets are spelled")
    return Choice("evaluation.metrics", ["bleu", "chrf", "exact_match"], "targets are sentences")


def monitor_choices(metric: str) -> Iterator[Choice]:
    """The loss of small sets rises again long before errors stop falling: of 450 Lithuanian words, 22.7 % were wrong at
    the lowest loss, and 19.6 % at the fewest errors with a moving average and no early stop, tried together."""
    if metric in EXACT:
        yield Choice("training.monitor", metric, "errors still fall where the loss rises again")


def hold_out_of(sample: Sample) -> Choice | None:
    """A share of the pairs to validate on, where no validation data is given and the sources can be parted."""
    share = share_of(sample, "valid", least=100)
    reason = f"no --valid: some {share * sample.size:,.0f} pairs are kept to validate on"
    return Choice("data.hold_out", share, reason) if share else None


def hold_out_test_of(sample: Sample) -> Choice | None:
    """The same for pairs to test on; more of few pairs, since a test of a hundred tells little."""
    share = share_of(sample, "test", least=500)
    reason = f"no --test: some {share * sample.size:,.0f} pairs are kept to test on"
    return Choice("data.hold_out_test", share, reason) if share else None


def share_of(sample: Sample, name: SplitName, least: int) -> float:
    """`least` to 2,000 pairs, a tenth of all at most; nothing where that leaves no pair on one side."""
    if sample.size < FEWEST:
        return 0.0
    share = float(f"{min(0.1, min(2_000, max(least, 0.02 * sample.size)) / sample.size):.2g}")
    sources = {pair.source for pair in sample.pairs}
    varied = sample.stride > 1 and 2 * len(sources) >= len(sample.pairs)  # of a small share, a sample may hold none
    shares = {"valid": 0.0, "test": 0.0, name: share}
    parted = {split_of(source, shares["valid"], shares["test"]) for source in sources}
    return share if varied or len(parted) == 2 else 0.0
