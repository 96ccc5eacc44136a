"""Data made ready for training: hashed, tokenized and encoded once, and found again at the next start."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from dragoman.data.readers.pairs import (
    SPLITS,
    Pairs,
    Problems,
    SplitName,
    files_in,
    fingerprint,
    parts_of,
    quick_signature,
    read_split,
)
from dragoman.data.readers.standard_input import NAME, names_standard_input, spool, standing_in
from dragoman.data.store import Store, build_store
from dragoman.data.survey import SplitSurvey, Summary, summaries, survey_split
from dragoman.data.tokenizers import Tokenizer, TokenizerConfig, train_tokenizer
from dragoman.errors import ConfigError, DataError
from dragoman.runs import Run
from dragoman.storage import read_json, write_atomically, write_json

SIDES = ("source", "target")
REPORTED = 10_000  # lines between two reports

Preparing = Callable[[str, int], None]  # told what is made ready before the training, and how much of it is


@dataclass(frozen=True)
class Corpora:
    """The encoded data of a run and its tokenizers."""

    train: Store
    valid: Store | None
    tokenizers: Mapping[str, Tokenizer]
    summary: Mapping[str, Summary]  # what was found in each split
    formats: tuple[str, ...]  # how the files are read


def silent(what: str, done: int) -> None:
    """Nobody watches the preparation."""


def data_record(run: Run, data: Pairs) -> dict[str, Any]:
    """The hashes of the data, by which a changed file is noticed; unchanged files are not read again."""
    before: dict[str, Any] = read_json(run.data_record) if run.data_record.exists() else {}
    record: dict[str, Any] = {}
    for name in SPLITS:
        files = files_of_split(data, name)
        if not files:
            if name in before and name != "test":
                raise ConfigError(f"{run.path} was begun with {name} data. Give it again, or choose another --out.")
            continue
        old = before.get(name, {})
        quick = quick_signature(files)
        same = old.get("quick") == quick and old.get("files") == list(files)
        digest = old["sha256"] if same else fingerprint(files)
        if old and old["sha256"] != digest and name != "test":  # of which no number of the training depends
            raise DataError(
                f"{' and '.join(files)} changed since {run.path} was begun (sha256 {old['sha256'][:12]}… → "
                f"{digest[:12]}…). Restore the data, choose another --out, or give --fresh."
            )
        record[name] = {"files": list(files), "sha256": digest, "quick": quick}
    return record


def files_of_split(data: Pairs, name: SplitName) -> tuple[str, ...]:
    return files_in(data.train if name == "valid" and data.holds_out else getattr(data, name))


def with_standard_input(run: Run, data: Pairs) -> Pairs:
    """Standard input is copied into the run; once that has been made ready, the copy is the data."""
    if not names_standard_input([corpus for name in SPLITS for corpus in getattr(data, name)]):
        return data
    copy = run.path / NAME
    if not (copy.exists() and run.data_record.exists()):
        spool(copy)
    return data.changed(**{name: standing_in(getattr(data, name), copy) for name in SPLITS})


def prepare(run: Run, data: Pairs, configs: Mapping[str, TokenizerConfig], preparing: Preparing = silent) -> Corpora:
    """Tokenizers and encoded data of a run; data that changed since it was begun is refused."""
    known = data_record(run, data)
    refuse_wrong_weights(data)
    if not run.data_record.exists():  # an earlier preparation broke off; its data or settings may have been mended
        shutil.rmtree(run.tokenizers, ignore_errors=True)
    tokenizers: dict[str, Tokenizer] = {}
    for side in SIDES:
        tokenizers[side] = prepare_tokenizer(run, data, side, configs[side], preparing)
    surveys: dict[SplitName, SplitSurvey] = {}
    stores: dict[str, Store] = {}
    for name in ("train", "valid"):
        if data.has(name):
            stores[name] = prepare_store(run, data, name, tokenizers, known[name]["sha256"], preparing, surveys)
            known[name]["counts"] = vars(stores[name].counts)
    known["tokenizers"] = {side: tokenizer.hash for side, tokenizer in tokenizers.items()}
    known["formats"] = [str(part) for name in SPLITS for part in parts_of(getattr(data, name), data.wanted)]
    known["summary"] = surveyed(run, data, tokenizers, surveys, preparing)
    write_json(run.data_record, known)
    train = replace(stores["train"], weights=data.weights)
    return Corpora(train, stores.get("valid"), tokenizers, known["summary"], tuple(known["formats"]))


def surveyed(
    run: Run,
    data: Pairs,
    tokenizers: Mapping[str, Tokenizer],
    surveys: dict[SplitName, SplitSurvey],
    preparing: Preparing,
) -> dict[str, Summary]:
    """The survey of an earlier start; else of the splits that were encoded just now, and of the others."""
    names = [name for name in SPLITS if data.has(name)]
    before: dict[str, Any] = read_json(run.data_record) if run.data_record.exists() else {}
    if not surveys and list(before.get("summary", {})) == names:
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


def prepare_tokenizer(run: Run, data: Pairs, side: str, config: TokenizerConfig, preparing: Preparing) -> Tokenizer:
    path = run.tokenizers / f"{side}.json"
    if path.exists():
        return Tokenizer.load(path)

    def texts() -> Iterator[str]:
        for number, pair in enumerate(read_split(data, "train", Problems())):
            if number % REPORTED == 0:
                preparing(f"{side} vocabulary: lines read", number)
            yield getattr(pair, side)

    tokenizer = train_tokenizer(config, texts())
    run.tokenizers.mkdir(exist_ok=True)
    write_atomically(path, tokenizer.as_json())
    return tokenizer


def prepare_store(
    run: Run,
    data: Pairs,
    name: SplitName,
    tokenizers: Mapping[str, Tokenizer],
    digest: str,
    preparing: Preparing,
    surveys: dict[SplitName, SplitSurvey],
) -> Store:
    """The encoded split, found or made; one that is made is surveyed on the way."""
    limits = [data.max_source_length, data.max_target_length, data.longer, data.hold_out, data.filters, data.wanted]
    signature = "/".join([digest, *(tokenizers[side].hash for side in SIDES), *map(str, limits)])
    folder = run.stores / name
    if (store := Store.open(folder, signature)) is not None:
        return store
    run.stores.mkdir(exist_ok=True)
    problems = Problems(run.bad_lines if name == "train" else run.bad_lines.with_stem(f"bad_lines.{name}"))
    survey = surveys[name] = SplitSurvey(data, problems)
    pairs = read_split(data, name, problems, survey.see)
    with closing(problems):
        return build_store(
            folder,
            pairs,
            tokenizers["source"],
            tokenizers["target"],
            data,
            signature,
            progress=lambda done: preparing(f"{name} pairs", done),
            problems=problems,
            seen=survey.see_tokens,
        )
