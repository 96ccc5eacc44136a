"""Data made ready for training: hashed, tokenized and encoded once, and found again at the next start."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from dragoman.data.captioning import Captioning
from dragoman.data.labelling import Labelling
from dragoman.data.readers.captions import Captions
from dragoman.data.readers.clips import Clips
from dragoman.data.readers.frames import Frames
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.labelled import Labelled
from dragoman.data.readers.pairs import (
    SPLITS,
    Conversations,
    Pair,
    Pairs,
    Problems,
    SplitName,
    fingerprint,
    parts_of,
    quick_signature,
    read_split,
)
from dragoman.data.readers.questions import Questions
from dragoman.data.readers.standard_input import NAME, names_standard_input, spool, standing_in
from dragoman.data.readers.tagged import Tagged
from dragoman.data.readers.texts import Texts
from dragoman.data.scales import Scale
from dragoman.data.store import Store, build_store
from dragoman.data.survey import SplitSurvey, Summary, summaries, survey_split
from dragoman.data.tokenizers import Conversation, Shared, TargetConfig, Tokenizer, TokenizerConfig, train_tokenizer
from dragoman.data.tokenizers.conversation import turns_of
from dragoman.data.tracking import Tracking
from dragoman.errors import ConfigError, DataError, DragomanError, StorageError
from dragoman.runs import FORMAT_VERSION, Run
from dragoman.storage import make_folder, read_record, write_atomically, write_record

SIDES = ("source", "target")
TEXTS = Conversation()  # no turns: texts are read
REPORTED = 10_000  # lines between two reports
RESTORE = " Restore it from a copy, or give --fresh to set the run aside and begin anew."

AnyData = Pairs | Texts | Labelled | Tagged | Questions | Captions | Frames | Clips | Futures
Preparing = Callable[[str, int], None]  # told what is made ready before the training, and how much of it is


@dataclass(frozen=True)
class Corpora:
    """The encoded data of a run, and what its files have taught: tokenizers of the sides that are texts, labels, the
    scale of numbers."""

    train: Store
    valid: Store | None
    tokenizers: Mapping[str, Tokenizer]  # none of tracks, which are numbers
    summary: Mapping[str, Summary]  # what was found in each split
    formats: tuple[str, ...]  # how the files are read
    labels: Labelling | None = None  # of a model that only reads
    scale: Scale | None = None  # of numbers
    captions: Captioning | None = None  # of a model that describes pictures
    tracking: Tracking | None = None  # of tracks that are gone on with

    @property
    def read(self) -> int:
        """Symbols that a model may read; or numbers a step; 0 of pictures."""
        return size_of(self.tokenizers, "source") if self.scale is None else self.scale.size

    @property
    def answers(self) -> int:
        """Symbols, or labels, that a model chooses from."""
        return size_of(self.tokenizers, "target") if self.labels is None else self.labels.size


def size_of(tokenizers: Mapping[str, Tokenizer], side: str) -> int:
    """Symbols of a side; 0: it is no text."""
    return tokenizers[side].size if side in tokenizers else 0


def silent(what: str, done: int) -> None:
    """Nobody watches the preparation."""


def known_data(run: Run) -> dict[str, Any]:
    """What is known of the data since the run was begun."""
    if not run.data_record.exists():
        return {}
    try:
        record = read_record(run.data_record)
        if record.get("format_version", FORMAT_VERSION) != FORMAT_VERSION:
            raise StorageError(
                f"{run.data_record} has format {record['format_version']}, and this version of dragoman reads "
                f"{FORMAT_VERSION}. Use the version that began the run."
            )
        for name in ("train", "valid"):
            if name in record and not isinstance(record[name]["sha256"], str):
                raise TypeError
        if not isinstance(record.get("tokenizers", {}), dict):
            raise TypeError
    except (KeyError, TypeError) as error:
        raise StorageError(f"{run.data_record} is damaged: it does not say what was trained on.{RESTORE}") from error
    except StorageError as error:
        raise StorageError(f"{error}{RESTORE}") from error
    return record


def data_record(run: Run, data: AnyData) -> dict[str, Any]:
    """The hashes of the data, by which a changed file is noticed; unchanged files are not read again."""
    before = known_data(run)
    record: dict[str, Any] = {}
    hashed = cache(fingerprint)  # what is held out lies in the files of training
    for name in SPLITS:
        files = data.files(name)
        if not files:
            if name in before and name != "test":
                raise ConfigError(f"{run.path} was begun with {name} data. Give it again, or choose another --out.")
            continue
        old = before.get(name, {})
        quick = quick_signature(files)
        same = old.get("quick") == quick and old.get("files") == list(files)
        digest = old["sha256"] if same else hashed(files)
        if old and old["sha256"] != digest and name != "test":  # of which no number of the training depends
            if old.get("files") != list(files):
                raise DataError(
                    f"{run.path} was begun with other {name} data: {' and '.join(old.get('files', []))} → "
                    f"{' and '.join(files)}. Choose another --out, or give --fresh to set the old run aside."
                )
            raise DataError(
                f"{' and '.join(files)} changed since {run.path} was begun (sha256 {old['sha256'][:12]}… → "
                f"{digest[:12]}…). Restore the data, choose another --out, or give --fresh."
            )
        record[name] = {"files": list(files), "sha256": digest, "quick": quick}
    return record


def with_standard_input(run: Run, data: AnyData) -> AnyData:
    """Standard input is copied into the run; once that has been made ready, the copy is the data."""
    splits = [name for name in SPLITS if name in type(data).model_fields]
    if not names_standard_input([corpus for name in splits for corpus in getattr(data, name)]):
        return data
    copy = run.path / NAME
    if not (copy.exists() and run.data_record.exists()):
        spool(copy)
    return data.changed(**{name: standing_in(getattr(data, name), copy) for name in splits})


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
    if not run.data_record.exists():  # an earlier preparation broke off; its data or settings may have been mended
        shutil.rmtree(run.tokenizers, ignore_errors=True)
    make_folder(run.tokenizers)
    for side, tokenizer in (given or {}).items():
        write_atomically(run.tokenizers / f"{side}.json", tokenizer.as_json())
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
    stores: dict[str, Store] = {}
    for name in ("train", "valid"):
        if data.has(name):
            digest = known[name]["sha256"]
            stores[name] = prepare_store(run, data, name, tokenizers, digest, preparing, surveys, report)
            known[name]["counts"] = vars(stores[name].counts)
    known["tokenizers"] = {side: tokenizer.hash for side, tokenizer in tokenizers.items()}
    known["formats"] = [str(part) for name in SPLITS for part in parts_of(getattr(data, name), data.wanted)]
    known["summary"] = surveyed(run, data, known, tokenizers, surveys, preparing)
    write_record(run.data_record, {"format_version": FORMAT_VERSION, **known})
    train = replace(stores["train"], weights=data.weights)
    return Corpora(train, stores.get("valid"), tokenizers, known["summary"], tuple(known["formats"]))


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


def prepare_tokenizer(
    run: Run, side: str, learn: Callable[[], Tokenizer], digest: str | None, report: Callable[[str], None]
) -> Tokenizer:
    """The tokenizer of a side, found or learned; one that is damaged is learned again, if that gives the same one."""
    path = run.tokenizers / f"{side}.json"
    found = intact_tokenizer(path, digest)
    if found is not None:
        return found
    tokenizer = learn()
    if digest not in (None, tokenizer.hash):
        raise StorageError(
            f"{path} is damaged or missing, and learned again it is not what it was, perhaps since dragoman or the "
            f"library tokenizers has another version.{RESTORE}"
        )
    write_atomically(path, tokenizer.as_json())
    if digest is not None:
        report(f"{path} was damaged or missing. It was learned again from the same data, and is what it was.")
    return tokenizer


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


def intact_tokenizer(path: Path, digest: str | None) -> Tokenizer | None:
    """The tokenizer in a file, if it is the one that is known by its hash."""
    if not path.exists():
        return None
    try:
        tokenizer = Tokenizer.load(path)
    except DragomanError:
        return None
    return tokenizer if digest in (None, tokenizer.hash) else None


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
    folder = run.stores / name
    if (store := Store.open(folder, signature)) is not None:
        return store
    if folder.exists():
        report(f"{folder} was damaged, or is of another version of dragoman. It is encoded anew from the same data.")
    make_folder(run.stores)
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
