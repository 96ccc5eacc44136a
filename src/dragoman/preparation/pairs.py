"""Pairs of texts made ready for training: hashed, tokenized and encoded once, surveyed on the way, found again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from dragoman.data.readers.formats import Layout, Wanted
from dragoman.data.readers.pairs import SPLITS, Conversations, Pair, Pairs, Problems, SplitName, parts_of, read_split
from dragoman.data.store import Store, build_store
from dragoman.data.survey import SplitSurvey, Summary, summaries, survey_split
from dragoman.data.tokenizers import Conversation, Shared, TargetConfig, Tokenizer, TokenizerConfig, train_tokenizer
from dragoman.data.tokenizers.conversation import turns_of
from dragoman.errors import ConfigError
from dragoman.preparation.corpora import (
    REPORTED,
    SIDES,
    TRAINED,
    Corpora,
    Preparing,
    bad_lines_of,
    begin,
    data_record,
    finish,
    found_store,
    known_data,
    prepare_tokenizer,
    silent,
)
from dragoman.runs import Run
from dragoman.storage import write_atomically

TEXTS = Conversation()  # no turns: texts are read


def prepare(
    run: Run,
    data: Pairs,
    configs: Mapping[str, TargetConfig],
    preparing: Preparing = silent,
    report: Callable[[str], None] = lambda message: None,
    given: Mapping[str, Tokenizer] | None = None,
    check: Callable[[Mapping[str, Tokenizer]], object] = lambda tokenizers: None,
    reading: Conversation = TEXTS,
) -> Corpora:
    """Tokenizers (learned, or `given`) and encoded data of a run; data that changed since it was begun is refused,
    damage is mended. `reading` is of conversations."""
    known = data_record(run, data)
    hashes: Mapping[str, str] = known_data(run).get("tokenizers", {})
    refuse_wrong_weights(data)
    begin(run, given)
    tokenizers: dict[str, Tokenizer] = {}
    for side in SIDES:
        config = configs[side]
        if isinstance(config, Shared):
            tokenizers[side] = tokenizers["source"]
            write_atomically(run.tokenizers / f"{side}.json", tokenizers[side].as_json())
            continue
        sides = SIDES if isinstance(configs["target"], Shared) else (side,)
        learn = partial(learn_tokenizer, data, sides, config, preparing)
        tokenizers[side] = prepare_tokenizer(run, side, learn, hashes.get(side), report)
    check(tokenizers)
    tokenizers["source"] = tokenizers["source"].of_conversations(reading)
    surveys: dict[SplitName, SplitSurvey] = {}
    stores: dict[SplitName, Store] = {}
    for name in TRAINED:
        if data.has(name):
            digest = known[name]["sha256"]
            stores[name] = prepare_store(run, data, name, tokenizers, digest, preparing, surveys, report)
    known["tokenizers"] = {side: tokenizer.hash for side, tokenizer in tokenizers.items()}
    known["formats"] = [str(part) for name in SPLITS for part in parts_of(getattr(data, name), data.wanted)]
    known["summary"] = surveyed(run, data, known, tokenizers, surveys, preparing)
    finish(run, known, stores)
    train = replace(stores["train"], weights=data.weights)
    formats = tuple(known["formats"])
    return Corpora(train, stores.get("valid"), tokenizers, known["summary"], formats, wanted=read_again(data))


def read_again(data: Pairs) -> Wanted | None:
    """How the files that a trained model is given are read: conversations, and several source columns, have names."""
    if isinstance(data, Conversations):
        return data.wanted
    layout = parts_of(data.train, data.wanted)[0].layout
    return layout.wanted if isinstance(layout, Layout) and len(layout.source) > 1 else None


def surveyed(
    run: Run,
    data: Pairs,
    known: Mapping[str, Any],
    tokenizers: Mapping[str, Tokenizer],
    surveys: dict[SplitName, SplitSurvey],
    preparing: Preparing,
) -> dict[str, Summary]:
    """The survey of an earlier start; else of the splits that were encoded just now, and of the others."""
    names = [name for name in SPLITS if data.has(name)]
    before = known_data(run)
    same_test = before.get("test", {}).get("sha256") == known.get("test", {}).get("sha256")
    if not surveys and same_test and list(before.get("summary", {})) == names:
        return dict(before["summary"])
    for name in names:
        if name not in surveys:
            surveys[name] = survey_split(data, name, tokenizers, partial(preparing, f"{name} pairs looked at"))
    return summaries({name: surveys[name] for name in names})


def refuse_wrong_weights(data: Pairs) -> None:
    corpora = 1 + max(part.corpus for part in parts_of(data.train, data.wanted))
    if data.weights and len(data.weights) != corpora:
        raise ConfigError(
            f"data.weights has {len(data.weights)} numbers for {corpora} corpora. Give one for each element of "
            "data.train, e.g. data.weights=[1, 2.5]; the files of a pattern are one corpus, and so are a source file "
            "and its target file."
        )


def learn_tokenizer(data: Pairs, sides: Sequence[str], config: TokenizerConfig, preparing: Preparing) -> Tokenizer:
    def texts() -> Iterator[str]:
        for number, pair in enumerate(read_split(data, "train", Problems())):
            if number % REPORTED == 0:
                preparing(f"{' and '.join(sides)} vocabulary: lines read", number)
            yield from new_texts(data, pair, sides)

    return train_tokenizer(config, texts, len(sides))


def new_texts(data: Pairs, pair: Pair, sides: Sequence[str]) -> Iterator[str]:
    """Both texts of a pair, or one; of a conversation each turn once, and not in every history that it stands in."""
    if not isinstance(data, Conversations):
        yield from (getattr(pair, name) for name in sides)
        return
    history = turns_of(pair.source)
    if "source" in sides and ("target" not in sides or len(history) == 1):
        yield history[-1]
    if "target" in sides:
        yield pair.target


def prepare_store(
    run: Run,
    data: Pairs,
    name: SplitName,
    tokenizers: Mapping[str, Tokenizer],
    digest: str,
    preparing: Preparing,
    surveys: dict[SplitName, SplitSurvey],
    report: Callable[[str], None],
) -> Store:
    """The encoded split, found or made; one that is made is surveyed on the way."""
    limits: list[Any] = [
        data.max_source_length,
        data.max_target_length,
        data.longer,
        data.hold_out,
        data.filters,
        data.wanted,
    ]
    limits += [data.hold_out_test] if data.holds_out_test else []
    limits += [data.wanted.fields, tokenizers["source"].reading] if isinstance(data, Conversations) else []
    signature = "/".join([digest, *(tokenizers[side].hash for side in SIDES), *map(str, limits)])
    if (store := found_store(run, name, signature, report)) is not None:
        return store
    problems = bad_lines_of(run, name)
    survey = surveys[name] = SplitSurvey(data, problems)
    pairs = read_split(data, name, problems, survey.see)
    with closing(problems):
        return build_store(
            run.stores / name,
            pairs,
            tokenizers["source"],
            tokenizers["target"],
            data,
            signature,
            progress=lambda done: preparing(f"{name} pairs", done),
            problems=problems,
            seen=survey.see_tokens,
        )
