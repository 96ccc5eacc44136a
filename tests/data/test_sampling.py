"""Other spellings of the same text: as probable as they should be, and a function of seed, epoch, line and side."""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from dragoman.data.chunk import Chunk
from dragoman.data.collate import collate
from dragoman.data.sampling import Sampling, Stems
from dragoman.data.tokenizers import Bpe, Characters, Features, Tokenizer, Unigram, bytelevel, train_tokenizer
from dragoman.data.tokenizers.base import Learned, Normaliser
from dragoman.data.tokenizers.bytes import SYMBOLS
from dragoman.errors import ConfigError

TEXTS = ["der Hund sieht den Hund", "die Hunde sehen's, oder?", "fünf Straßen 🦊  am  Hang"] * 5
BPE = train_tokenizer(Bpe(size=330), lambda: iter(TEXTS))
UNIGRAM = train_tokenizer(Unigram(size=330), lambda: iter(TEXTS))
both = pytest.mark.parametrize("tokenizer", [BPE, UNIGRAM], ids=["bpe", "unigram"])
Merges = tuple[tuple[str, str], ...]


def bpe_of(*merges: tuple[str, str]) -> Tokenizer:
    symbols = (*SYMBOLS, *dict.fromkeys(left + right for left, right in merges))
    return Tokenizer("bpe", Normaliser(), Learned(symbols, merges))


def unigram_of(**probabilities: float) -> Tokenizer:
    """Bytes are all but impossible unless they are named."""
    scores = dict.fromkeys(SYMBOLS, -50.0) | {name: math.log(value) for name, value in probabilities.items()}
    return Tokenizer("unigram", Normaliser(), Learned(tuple(scores), scores=tuple(scores.values())))


def shares(tokenizer: Tokenizer, text: str, strength: float, draws: int = 4_000) -> dict[tuple[str, ...], float]:
    """How often each spelling is drawn."""
    sampler, (ids,), draw = tokenizer.sampler(strength), tokenizer.encode([text]), Random(1).random
    counts = Counter(tuple(sampler(ids, draw)) for _ in range(draws))
    return {tokenizer.symbols(spelling): count / draws for spelling, count in counts.items()}


def dropped(symbols: tuple[str, ...], merges: Merges, dropout: float) -> Iterator[tuple[tuple[str, ...], float]]:
    """Every spelling with its probability, straight from the paper: merges are dropped anew at each step."""
    pairs = [(merges.index(pair), place) for place, pair in enumerate(pairwise(symbols)) if pair in merges]
    yield symbols, dropout ** len(pairs)
    for better, (_, place) in enumerate(sorted(pairs)):
        chance = dropout**better * (1 - dropout)
        after = (*symbols[:place], symbols[place] + symbols[place + 1], *symbols[place + 2 :])
        for spelling, probability in dropped(after, merges, dropout):
            yield spelling, chance * probability


def test_a_probability_next_to_nothing_leaves_no_merge_out() -> None:
    (ids,) = BPE.encode(TEXTS[:1])
    assert BPE.sampler(1e-320)(ids, Random(1).random) == ids


@pytest.mark.parametrize("dropout", [0.1, 0.4, 1.0])
@pytest.mark.parametrize("text", ["abc", "abab", "ababc", "aaa"])
def test_bpe_dropout_is_as_probable_as_in_the_paper(text: str, dropout: float) -> None:
    merges = (("a", "b"), ("b", "c"), ("ab", "c"), ("ab", "ab"), ("a", "a"))
    expected: Counter[tuple[str, ...]] = Counter()
    for spelling, probability in dropped(tuple(text), merges, dropout):
        expected[spelling] += probability  # type: ignore[assignment]
    found = shares(bpe_of(*merges), text, dropout)
    assert math.isclose(sum(expected.values()), 1.0)
    for spelling in expected | found:
        assert found.get(spelling, 0.0) == pytest.approx(expected[spelling], abs=0.03)


def test_rare_dropout_is_the_ordinary_encoding() -> None:
    (ids,) = BPE.encode(["der Hund sieht's  am Hang, fünf 🦊"])
    assert BPE.sampler(1e-12)(ids, Random(1).random) == ids


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_unigrams_are_drawn_by_their_probability_to_the_power_alpha(alpha: float) -> None:
    tokenizer = unigram_of(a=0.2, b=0.1, c=0.1, ab=0.3, bc=0.2, abc=0.1)
    ways = {("abc",): 0.1, ("ab", "c"): 0.3 * 0.1, ("a", "bc"): 0.2 * 0.2, ("a", "b", "c"): 0.2 * 0.1 * 0.1}
    weights = {spelling: probability**alpha for spelling, probability in ways.items()}
    found = shares(tokenizer, "abc", alpha)
    for spelling in weights | found:
        assert found.get(spelling, 0.0) == pytest.approx(weights[spelling] / sum(weights.values()), abs=0.03)


def test_a_large_alpha_is_the_ordinary_encoding() -> None:
    (ids,) = UNIGRAM.encode(["der Hund sieht den Hund"])
    assert UNIGRAM.sampler(1000.0)(ids, Random(1).random) == ids


@both
@pytest.mark.parametrize("text", [*TEXTS[:3], "", "x" * 3_000, "  a\u00a0\n b ", "👩‍👩‍👧‍👦 e\u0301\u0301"])
def test_the_text_stays(tokenizer: Tokenizer, text: str) -> None:
    (ids,), draw = tokenizer.encode([text]), Random(2).random
    sampler = tokenizer.sampler(0.3)
    for _ in range(5):
        assert tokenizer.decode(sampler(ids, draw)) == tokenizer.decode(ids)


@both
def test_what_is_remembered_changes_nothing(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tokenizer.encode(TEXTS)
    whole = [tokenizer.sampler(0.3)(row, Random(1).random) for row in rows]
    monkeypatch.setattr(bytelevel, "SAMPLED", 2)
    sampler = tokenizer.sampler(0.3)
    assert [sampler(row, Random(1).random) for row in rows] == whole


@both
def test_a_text_cut_within_a_character_stays_as_it_is(tokenizer: Tokenizer) -> None:
    (ids,) = tokenizer.encode(["der Hund €"])
    assert tokenizer.decode(ids[:-1]).endswith("\ufffd")
    assert tokenizer.sampler(0.9)(ids[:-1], Random(1).random) == ids[:-1]


def examples(tokenizer: Tokenizer) -> tuple[Chunk, Sampling]:
    rows = tokenizer.encode(TEXTS)
    flat = np.array([number for row in rows for number in row])
    offsets = np.cumsum([0, *map(len, rows)])
    sampling = Sampling.of({"source": tokenizer, "target": tokenizer}, {"source": 0.3, "target": 0.0}, seed=7)
    assert sampling is not None
    return Chunk(flat, offsets, flat, offsets, np.arange(100, 100 + len(rows))), sampling


def sources(chunk: Chunk, indices: list[int], sampling: Sampling | None) -> dict[int, list[int]]:
    batch = collate(chunk, np.array(indices), sampling)
    padded = batch.sources["source"]
    rows = zip(batch.examples, padded.values, padded.mask, strict=True)
    return {line: values[mask].tolist() for line, values, mask in rows}


@both
def test_a_spelling_depends_on_seed_epoch_line_and_side_alone(tokenizer: Tokenizer) -> None:
    chunk, sampling = examples(tokenizer)
    every = list(range(chunk.size))
    whole = sources(chunk, every, sampling)
    assert sources(chunk, every[::-1], sampling) == whole
    assert sources(chunk, [3], sampling) == {103: whole[103]}
    for other in (sampling.in_epoch(1), Sampling(sampling.samplers, seed=8), None):
        assert sources(chunk, every, other) != whole
    assert len({tuple(row) for row in whole.values()}) > 3  # the same three texts, but not the same lines


@both
def test_a_side_that_is_not_sampled_stays(tokenizer: Tokenizer) -> None:
    chunk, sampling = examples(tokenizer)
    plain, drawn = collate(chunk, np.arange(9)), collate(chunk, np.arange(9), sampling)
    assert plain.target is not None
    assert drawn.target is not None
    assert bool((plain.target.outputs.values == drawn.target.outputs.values).all())


def test_a_spelling_that_is_far_longer_is_not_used() -> None:
    sampling = Sampling({"source": lambda ids, _: [9] * (2 * len(ids) + 8 + (ids[0] == 5))}, seed=1)
    assert sampling.spelled("source", 1, [4, 4]) == [9] * 12
    assert sampling.spelled("source", 1, [5, 4]) == [5, 4]


def test_a_merge_is_not_left_out_more_than_always() -> None:
    with pytest.raises(ConfigError, match=r"a probability from 0 to 1, not 1\.5\. Lower sampling"):
        BPE.sampler(1.5)


def test_without_sampling_there_is_none() -> None:
    assert Sampling.of({"source": BPE, "target": BPE}, {"source": 0.0, "target": 0.0}, seed=1) is None
    with pytest.raises(
        ConfigError, match=r"of the kind characters has one spelling for a text.*one of the kinds bpe, unig"
    ):
        train_tokenizer(Characters(), lambda: iter(TEXTS)).sampler(0.1)


LEMMAS, FORMS = ["spielen\tV;PST", "Hahn\tN;GEN"], ["gespielt", "Hahnes"]
LEMMA = train_tokenizer(Features(), lambda: iter(LEMMAS))
FORM = train_tokenizer(Characters(), lambda: iter(FORMS))


def made_up(number: int, seed: int, share: float = 1.0) -> tuple[str, str]:
    ids = LEMMA.encode(LEMMAS)[number], FORM.encode(FORMS)[number]
    source, target = Stems.of(LEMMA, FORM, share).replaced(*ids, Random(seed))
    return LEMMA.decode(source), FORM.decode(target)


@pytest.mark.parametrize("seed", range(20))
def test_made_up_stems_are_the_same_on_both_sides(seed: int) -> None:
    """spiel-en, ge-spiel-t: the inner letters change together, affixes, the letters beside them and features stay."""
    lemma, form = made_up(0, seed)
    assert lemma[0] == "s"
    assert lemma[4:] == "len\tV;PST"
    assert form == f"ge{lemma[:5]}t"
    lemma, form = made_up(1, seed)
    assert (lemma[0], lemma[3:]) == ("H", "n\tN;GEN")
    assert form == f"{lemma[:4]}es"
    assert lemma[1:3].islower()


def test_as_many_stems_as_asked_for_are_made_up_and_they_differ() -> None:
    assert len({made_up(0, seed) for seed in range(20)}) > 10
    changed = sum(made_up(0, seed, 0.3) != (LEMMAS[0], FORMS[0]) for seed in range(400))
    assert 80 <= changed <= 160
    assert {made_up(0, seed, 0.0) for seed in range(20)} == {(LEMMAS[0], FORMS[0])}


def test_made_up_stems_depend_on_seed_epoch_and_line_alone() -> None:
    rows = LEMMA.encode(LEMMAS), FORM.encode(FORMS)
    sampling = Sampling.of({"source": LEMMA, "target": FORM}, {}, seed=3, hallucination=1.0)
    assert sampling is not None
    lengths = [np.cumsum([0, *map(len, side)]) for side in rows]
    flat = [np.concatenate([np.array(row, np.int32) for row in side]) for side in rows]
    chunk = Chunk(flat[0], lengths[0], flat[1], lengths[1], np.arange(2))
    together = collate(chunk, np.array([0, 1]), sampling).sources["source"].values
    for number, row in enumerate(together):
        alone = collate(chunk, np.array([number]), sampling).sources["source"].values[0]
        assert alone.tolist() == row[: len(alone)].tolist()
    later = collate(chunk, np.array([0, 1]), sampling.in_epoch(1)).sources["source"].values
    assert later.tolist() != together.tolist()
