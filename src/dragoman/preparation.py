"""Data made ready for training: hashed, tokenized and encoded once, and found again at the next start."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from dragoman.data.readers.pairs import Pairs, Problems, fingerprint, quick_signature, read_pairs
from dragoman.data.store import Store, build_store
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


def silent(what: str, done: int) -> None:
    """Nobody watches the preparation."""


def data_record(run: Run, data: Pairs) -> dict[str, Any]:
    """The hashes of the data, by which a changed file is noticed; unchanged files are not read again."""
    before: dict[str, Any] = read_json(run.data_record) if run.data_record.exists() else {}
    record: dict[str, Any] = {}
    for name in ("train", "valid"):
        files: tuple[str, ...] = getattr(data, name)
        if not files:
            if name in before:
                raise ConfigError(f"{run.path} was begun with {name} data. Give it again, or choose another --out.")
            continue
        old = before.get(name, {})
        quick = quick_signature(files)
        same = old.get("quick") == quick and old.get("files") == list(files)
        digest = old["sha256"] if same else fingerprint(files)
        if old and old["sha256"] != digest:
            raise DataError(
                f"{' and '.join(files)} changed since {run.path} was begun (sha256 {old['sha256'][:12]}… → "
                f"{digest[:12]}…). Restore the data, choose another --out, or give --fresh."
            )
        record[name] = {"files": list(files), "sha256": digest, "quick": quick}
    return record


def prepare(
    run: Run,
    data: Pairs,
    configs: Mapping[str, TokenizerConfig],
    preparing: Preparing = silent,
    given: Mapping[str, Tokenizer] | None = None,
) -> Corpora:
    """Tokenizers (learned, or `given`) and encoded data of a run; data that changed since it was begun is refused."""
    known = data_record(run, data)
    if not run.data_record.exists():  # an earlier preparation broke off; its data or settings may have been mended
        shutil.rmtree(run.tokenizers, ignore_errors=True)
    for side, tokenizer in (given or {}).items():
        run.tokenizers.mkdir(exist_ok=True)
        write_atomically(run.tokenizers / f"{side}.json", tokenizer.as_json())
    tokenizers: dict[str, Tokenizer] = {}
    for side in SIDES:
        tokenizers[side] = prepare_tokenizer(run, data, side, configs[side], preparing)
    stores: dict[str, Store | None] = {"train": None, "valid": None}
    for name in known:
        stores[name] = prepare_store(run, data, name, tokenizers, known[name]["sha256"], preparing)
    train_store = stores["train"]
    assert train_store is not None  # noqa: S101 (train data is required)
    for name, store in stores.items():
        if store is not None:
            known[name]["counts"] = vars(store.counts)
    known["tokenizers"] = {side: tokenizer.hash for side, tokenizer in tokenizers.items()}
    write_json(run.data_record, known)
    return Corpora(train_store, stores["valid"], tokenizers)


def prepare_tokenizer(run: Run, data: Pairs, side: str, config: TokenizerConfig, preparing: Preparing) -> Tokenizer:
    path = run.tokenizers / f"{side}.json"
    if path.exists():
        return Tokenizer.load(path)

    def texts() -> Iterator[str]:
        for number, pair in enumerate(read_pairs(data.train, Problems())):
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
    name: str,
    tokenizers: Mapping[str, Tokenizer],
    digest: str,
    preparing: Preparing,
) -> Store:
    limits = [data.max_source_length, data.max_target_length, data.longer]
    signature = "/".join([digest, *(tokenizers[side].hash for side in SIDES), *map(str, limits)])
    folder = run.stores / name
    if (store := Store.open(folder, signature)) is not None:
        return store
    run.stores.mkdir(exist_ok=True)
    problems = Problems(run.bad_lines if name == "train" else run.bad_lines.with_stem(f"bad_lines.{name}"))
    pairs = read_pairs(getattr(data, name), problems)
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
        )
