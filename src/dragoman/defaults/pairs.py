"""Settings chosen from the data: what a practitioner would start from, each with its reason."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from dragoman.config import Config, dotted, merge, nest, validate
from dragoman.data.chunk import Numbers
from dragoman.data.readers.pairs import Pairs, Problems, SplitName, read_split, split_of
from dragoman.data.sides import Sample, Side, likeness, sides_of, words_in_common
from dragoman.data.tokenizers import (
    Bpe,
    Characters,
    Features,
    File,
    Shared,
    TargetConfig,
    Tokenizer,
    TokenizerConfig,
    Unigram,
    WordPiece,
    Words,
    train_tokenizer,
)
from dragoman.defaults.budget import Budget, validation_interval
from dragoman.defaults.choice import Choice, Given, as_table
from dragoman.errors import DragomanError
from dragoman.preparation.corpora import REPORTED, Preparing

ALIKE = 0.5  # share of runs of letters in common, from which on short texts are spelled
OFTEN, RARE = 20, 0.35  # times that a sub-word must be met to be learned; share of rarer ones that is too much
COMMON = 0.5  # share of target words that occur in the sources too, from which on one vocabulary serves both
SEEN = 1_000_000  # pairs that a training sees by default, all epochs together
FEWEST = 50  # pairs of which some can be held out
TRANSFORMER_RATE = 0.001


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
    return [
        *tokenizer_choices(tokenizers, sample.size),
        *limits,
        *model_choices(size),
        *dropout_choices(plan),
        *training_choices(plan, size),
        rate_choice(size, given),
        metric_choice(tokenizers["target"][0]),
    ]


def choose_for_training(sample: Sample, given: Mapping[str, Any], budget: Budget) -> list[Choice]:
    """The same, and what is held out to validate on where no validation data is given."""
    held_out = None if has_validation(given) else hold_out_of(sample)
    return [*([] if held_out is None else [held_out]), *choose_for_pairs(sample, given, budget)]


def has_validation(given: Mapping[str, Any]) -> bool:
    return bool(given.get("data.valid")) or "data.hold_out" in given


def tokenizer_of(side: Side, pairs: int, alike: float) -> tuple[TokenizerConfig, str]:
    """What the texts of a side are cut with, and why; `alike` are the targets to their sources."""
    first = side.first
    if side.has_features and reason_to_spell(first, pairs, alike):
        return (
            Features(),
            f"{first.characters_a_text:.0f} characters, then {side.features_a_text:.0f} features per text",
        )
    if side.closed and not side.has_columns:
        return Words(), f"{len(side.vocabulary):,} symbols between spaces; texts hold hardly a new one"
    if reason := reason_to_spell(side, pairs, alike):
        return Characters(), f"{reason}, {side.characters_a_text:.0f} characters a text, {side.alphabet} different ones"
    size = vocabulary_size(pairs)
    return Bpe(size=size), f"{side.words_a_text:.0f} words a text, {side.fresh:.0%} of them new: sub-words"


def reason_to_spell(side: Side, pairs: int, alike: float) -> str:
    """Why texts are spelled character by character, or nothing."""
    if side.spelt:
        new = f"{side.fresh:.0%} of the words new" if side.words_a_text < 4 else "no spaces between words"
        return "single words" if side.words_a_text < 1.5 else new
    if not side.may_be_spelt:
        return ""
    if alike >= ALIKE:
        return f"targets have {alike:.0%} of their letters in the order of the source"
    rare = rare_pieces(side, pairs)
    return f"{rare:.0%} of sub-words would be met fewer than {OFTEN} times" if rare >= RARE else ""


def rare_pieces(side: Side, pairs: int) -> float:
    """The share of sub-words, in texts that were not learned from, that are too rare to be learned."""
    learned, others = side.texts[::2], side.texts[1::2]
    tokenizer = train_tokenizer(Bpe(size=vocabulary_size(pairs)), lambda: iter(learned))
    met = Counter(chain.from_iterable(tokenizer.encode(learned)))
    times = pairs / max(1, len(learned))  # as often as in all texts
    pieces = list(chain.from_iterable(tokenizer.encode(others)))
    return sum(met[piece] * times < OFTEN for piece in pieces) / max(1, len(pieces))


def vocabulary_size(pairs: int) -> int:
    """Doubled when the pairs are four times as many: every symbol must be met often enough to be learned."""
    doublings = max(0, round(math.log2(max(1, pairs) / 3_000) / 2))
    return min(32_000, int(1_000 * 2**doublings))


def chosen_tokenizers(
    source: Side, target: Side, pairs: int, given: Mapping[str, Any]
) -> dict[str, tuple[TargetConfig, str]]:
    """A tokenizer for each side, and why; one that has what the user set for the side."""
    found: dict[str, tuple[TargetConfig, str]] = {}
    alike = likeness(source, target)
    for name, side in (("source", source), ("target", target)):
        config, reason = tokenizer_of(side, pairs, alike)
        if strange := [key for key in own_keys(name, given) if key not in type(config).model_fields]:
            config, reason = Bpe(size=vocabulary_size(pairs)), f"sub-words have the setting {strange[0]}"
        found[name] = config, reason
    common = words_in_common(source, target)
    may_share = "source.kind" not in given and not own_keys("target", given)
    if may_share and common >= COMMON and all(isinstance(config, Bpe) for config, _ in found.values()):
        found["target"] = Shared(), f"{common:.0%} of its words occur in sources too: cut alike"
    return found


def own_keys(side: str, given: Mapping[str, Any]) -> list[str]:
    return [key.removeprefix(f"{side}.") for key in given if key.startswith(f"{side}.")]


def tokenizer_choices(chosen: Mapping[str, tuple[TargetConfig, str]], pairs: int) -> Iterator[Choice]:
    for name, (config, reason) in chosen.items():
        yield Choice(f"{name}.kind", config.kind, reason)
        if isinstance(config, Bpe):
            yield Choice(f"{name}.size", config.size, f"{pairs:,} pairs")


class Tokenizers(Config):
    """What the texts of both sides are cut with."""

    source: TokenizerConfig = Bpe()
    target: TargetConfig = Bpe()


def likely_tokenizers(sample: Sample) -> Tokenizers:
    """The tokenizers that a training on this data without a recipe would have."""
    return with_given(chosen_tokenizers(*sides_of(sample), sample.size, {}), sample.size, {})


def with_given(chosen: Mapping[str, tuple[TargetConfig, str]], pairs: int, given: Mapping[str, Any]) -> Tokenizers:
    """What is given of the tokenizers, and what is chosen for the rest."""
    own = nest({dotted(key): value for key, value in given.items() if key.startswith(("source.", "target."))})
    choices = tokenizer_choices(chosen, pairs)
    return validate(Tokenizers, merge(as_table(one for one in choices if Given({}, own).leaves_open(one.key)), own))


def has_sub_words(configs: Tokenizers) -> bool:
    return any(isinstance(one, Bpe | Unigram | WordPiece | File) for one in (configs.source, configs.target))


def measured(
    sample: Sample, chosen: Mapping[str, tuple[TargetConfig, str]], given: Mapping[str, Any]
) -> tuple[Tokenizers, tuple[Numbers, Numbers], list[Choice]]:
    """The tokenizers, tokens of each text of the sample, and the limits that follow: none where the tokenizers that are
    given cannot be had, which is said when they are made."""
    try:
        configs = with_given(chosen, sample.size, given)
        lengths = token_lengths(sample, configs)
    except DragomanError:
        configs = with_given(chosen, sample.size, {})
        return configs, token_lengths(sample, configs), []
    return configs, lengths, [*length_choices(*lengths)]


def token_lengths(sample: Sample, configs: Tokenizers) -> tuple[Numbers, Numbers]:
    """Tokens of each source and each target, by vocabularies learned from the sample."""
    source, target = (side.texts for side in sides_of(sample))
    if isinstance(configs.target, Shared):
        learned = train_tokenizer(configs.source, lambda: chain(source, target))
        return lengths_by(learned, source), lengths_by(learned, target)
    return (
        lengths_by(train_tokenizer(configs.source, lambda: iter(source)), source),
        lengths_by(train_tokenizer(configs.target, lambda: iter(target)), target),
    )


def lengths_by(tokenizer: Tokenizer, texts: Sequence[str]) -> Numbers:
    return np.array([len(row) for row in tokenizer.encode(texts)], np.int64)


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


def likely_limits(sample: Sample) -> dict[str, Any]:
    """The settings of data by which such a training would leave out pairs for their length."""
    choices = length_choices(*token_lengths(sample, likely_tokenizers(sample)))
    table: dict[str, Any] = as_table(choices)["data"]
    return table


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

    batch: int  # tokens
    updates: int  # an epoch
    epochs: int  # that are set where the user set no limit
    seen: float  # how often each pair will be seen


def plan_of(pairs: int, tokens: float, size: Size, budget: Budget) -> Plan:
    batch = batch_of(pairs, pairs * tokens)
    updates = max(1, math.ceil(pairs * tokens / batch))
    epochs = min(50, max(2, round(SEEN / pairs)))
    seen = budget.epochs_of(pairs, updates, 6 * size.weights * tokens)
    return Plan(batch, updates, epochs, float(epochs) if math.isinf(seen) else seen)


def batch_of(pairs: int, tokens: float) -> int:
    """Small, for many updates: on 52,626 pairs of sentences, after three epochs at a rate of 0.008, BLEU 26 with 1,024
    tokens and 34 with 512. Smaller ones were not tried at that rate."""
    sizes = ((100_000, 512), (1_000_000, 1_024), (5_000_000, 2_048), (math.inf, 4_096))
    batch = next(size for most, size in sizes if pairs < most)
    return batch if tokens / batch >= 100 else batch // 2


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
    yield Choice("training.optimiser.betas", [0.9, 0.98], "gradients of text are noisy")
    yield Choice("training.schedule.kind", "cosine", "the rate falls to nothing at the end of the training")
    yield Choice("training.schedule.warmup_share", warmup_share(total), "of the training, and 400 updates at most")
    yield Choice("training.schedule.final", 0.02, "of the highest rate")
    yield Choice("training.epochs", plan.epochs, f"some {SEEN:,} pairs are seen; 2 to 50 epochs")
    yield Choice("training.validate_every", validation_interval(plan.updates, plan.seen), "about 20 validations")
    yield Choice("training.patience", 10, "validations without improvement")
    yield Choice("objective.smoothing", 0.1, "the usual amount")


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
