"""Tokenizers and length limits chosen from pairs of texts."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from dragoman.config import Config, dotted, merge, nest, validate
from dragoman.data.chunk import Numbers
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
from dragoman.defaults.choice import Choice, Given, as_table
from dragoman.errors import DragomanError

ALIKE = 0.5  # share of runs of letters in common, from which on short texts are spelled
OFTEN, RARE = 20, 0.35  # times that a sub-word must be met to be learned; share of rarer ones that is too much
FEW, SAMPLING = 2_000, 0.1  # pairs whose sources are cut anew in every epoch (BPE dropout); share of merges left out
FEW_FORMS, HALLUCINATION = 2_000, 0.5  # pairs that get made-up stems, and the share of an epoch that does
COMMON = 0.05  # share of target words that occur in the sources too, from which on one vocabulary serves both
AFFORDABLE = 2_000  # tokens of a text that are read where hardly any is so long


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


def tokenizer_choices(
    chosen: Mapping[str, tuple[TargetConfig, str]], pairs: int, given: Mapping[str, Any]
) -> Iterator[Choice]:
    """None for a side that is given another kind."""
    for name, (config, reason) in chosen.items():
        if given.get(f"{name}.kind", config.kind) != config.kind:
            continue
        yield Choice(f"{name}.kind", config.kind, reason)
        if isinstance(config, Bpe):
            yield Choice(f"{name}.size", config.size, f"{pairs:,} pairs")
            if name == "source" and pairs <= FEW:
                yield Choice("source.sampling", SAMPLING, f"{pairs:,} pairs: each epoch reads other sub-words")


def hallucination_choices(sample: Sample, configs: "Tokenizers") -> Iterator[Choice]:
    """Of 1,000 German forms, after one minute of one thread, 82.9 and 83.1 % of unseen ones were right with made-up
    stems in half of the pairs, and 81.4 and 81.3 % without: two seeds, on the data that the best weights were chosen
    by. Other shares were not tried."""
    source, target = sides_of(sample)
    spelled = isinstance(configs.source, Features | Characters) and isinstance(configs.target, Characters)
    if sample.size > FEW_FORMS or not spelled:
        return
    alike = likeness(source.first, target)
    if alike >= ALIKE:
        reason = f"{sample.size:,} pairs, {alike:.0%} alike: in some of them, made-up stems"
        yield Choice("data.hallucination", HALLUCINATION, reason)


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
    choices = tokenizer_choices(chosen, pairs, given)
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


def limit_of(longest: float, lengths: Numbers, least: int) -> int:
    """A quarter more than the longest texts, but for a few that are much longer than others: those take memory with
    the square of their length."""
    room = max(least, math.ceil(longest * 1.25 / 10) * 10)
    return min(room, max(AFFORDABLE, math.ceil(float(np.median(lengths)) * 2)))


def length_choices(source: Numbers, target: Numbers) -> Iterator[Choice]:
    """Limits that leave out one pair in a thousand at most, with room for what the sample has not shown."""
    for name, lengths in (("source", source), ("target", target)):
        longest = float(np.quantile(lengths, 0.999))
        limit = limit_of(longest, lengths, 50)
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
