"""Pictures with captions made ready for training: hashed, their tags learned, captions tokenized, pictures decoded and
encoded once, found again."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from dragoman.data.captioning import Captioning
from dragoman.data.captions import CaptionEncoding, build_captions, with_tag
from dragoman.data.encoding import Counts
from dragoman.data.gallery import SUMS
from dragoman.data.readers.captions import Captions, columns_of, read_captions_split
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.picture_places import advice
from dragoman.data.store import GALLERY, Store
from dragoman.data.survey import Summary
from dragoman.data.tokenizers import Tokenizer, TokenizerConfig, train_tokenizer
from dragoman.errors import DataError
from dragoman.frontends import ImageGrid
from dragoman.preparation.corpora import (
    REPORTED,
    TRAINED,
    Corpora,
    Judge,
    Preparing,
    begin,
    data_record,
    finish,
    judge_examples,
    known_data,
    prepare_split,
    prepare_tokenizer,
    silent,
)
from dragoman.runs import Run

READING = ("format", "picture_field", "caption_field", "tag_field", "tags")


def prepare_captions(
    run: Run,
    data: Captions,
    config: TokenizerConfig,
    grid: ImageGrid,
    preparing: Preparing = silent,
    report: Callable[[str], None] = lambda message: None,
    given: Mapping[str, Tokenizer] | None = None,
    check: Callable[[Mapping[str, Tokenizer]], object] = lambda tokenizers: None,
) -> Corpora:
    """The tokenizer of captions (learned, or given), their tags, the pictures and the examples of a run; data that
    changed since it was begun is refused, damage is mended."""
    known, before = data_record(run, data), known_data(run)
    begin(run, given)
    digest = before.get("tokenizers", {}).get("target")
    learned = prepare_tokenizer(run, "target", lambda: learn(data, config, preparing), digest, report)
    tokenizers = {"target": learned}
    check(tokenizers)
    captioning = Captioning.from_json(before["captions"]) if "captions" in before else learn_captioning(data)
    stores, summary = {}, dict(before.get("summary", {}))
    for name in TRAINED:
        if data.has(name):
            digest = known[name]["sha256"]
            stores[name] = prepare_pictures(run, data, name, learned, grid, digest, preparing, summary, report)
            known[name]["pictures"] = same_pictures(stores[name], before.get(name, {}).get("pictures"))
    known |= {"tokenizers": {"target": learned.hash}, "captions": captioning.as_json(), "summary": summary}
    known["formats"] = [f"{file}: {columns_of(file, data)}" for name in TRAINED for file in data.files(name)]
    finish(run, known, stores)
    formats = tuple(dict.fromkeys(known["formats"]))
    return Corpora(stores["train"], stores.get("valid"), tokenizers, summary, formats, captions=captioning)


def learn(data: Captions, config: TokenizerConfig, preparing: Preparing) -> Tokenizer:
    def texts() -> Iterator[str]:
        for number, one in enumerate(read_captions_split(data, "train", Problems())):
            if number % REPORTED == 0:
                preparing("vocabulary: captions read", number)
            yield from (with_tag(tag, text) for tag, text in one.captions)

    return train_tokenizer(config, texts)


def learn_captioning(data: Captions) -> Captioning:
    """The tags, in the order in which they come."""
    tags: dict[str, None] = {}
    if data.tagged:
        for one in read_captions_split(data, "train", Problems()):
            tags |= dict.fromkeys(tag for tag, _ in one.captions)
    reading = {name: value for name, value in data.model_dump(mode="json").items() if name in READING}
    return Captioning(tuple(tags), reading)


def prepare_pictures(
    run: Run,
    data: Captions,
    name: SplitName,
    tokenizer: Tokenizer,
    grid: ImageGrid,
    digest: str,
    preparing: Preparing,
    summary: dict[str, Summary],
    report: Callable[[str], None],
) -> Store:
    """The pictures and captions of a split, found or made."""
    reading = [getattr(data, name) for name in (*READING, "pictures", "hold_out", "max_target_length", "longer")]
    reading += [data.hold_out_test] if data.holds_out_test else []
    depends_on = [digest, tokenizer.hash, grid.size, grid.fit, *reading]

    def build(folder: Path, signature: str, problems: Problems, judge: Judge) -> Store:
        captions = read_captions_split(data, name, problems)
        encoding = CaptionEncoding(tokenizer, data.max_target_length, data.longer == "drop")
        progress = partial(preparing, f"{name} captions")
        return build_captions(
            folder, captions, encoding, grid.size, grid.fit, signature, problems, judge, progress=progress
        )

    def judge(counts: Counts, problems: Problems) -> None:
        judge_examples(counts, problems, data.max_bad, partial(nothing_left, data=data))

    return prepare_split(run, name, depends_on, summary, report, build, judge)


def same_pictures(store: Store, before: str | None) -> str:
    """The hash of all checksums of pictures, which only their preparation reads: files may change behind it."""
    digest = hashlib.sha256((store.folder / GALLERY / SUMS).read_bytes()).hexdigest()
    if before not in (None, digest):
        raise DataError(
            f"Pictures changed since the run was begun, and {store.folder}, which had to be made anew, is not what it "
            "was. Restore them, choose another --out, or give --fresh."
        )
    return digest


def nothing_left(counts: Counts, problems: Problems, data: Captions) -> DataError:
    if counts.dropped_long:
        return DataError(
            f"No caption is left: {counts.dropped_long:,} are longer than data.max_target_length = "
            f"{data.max_target_length} tokens. Raise it, or set data.longer=truncate."
        )
    if data.holds_out and not problems.count:
        return DataError(
            f"data.hold_out = {data.hold_out:g} leaves no picture on one side. Change it, or give validation data of "
            "its own with --valid."
        )
    if not problems.count:
        return DataError("No caption is left: the files hold a header, or blank lines, and no picture below.")
    told = f"{problems.summary()}{advice(problems)}"
    return DataError(f"Not one of {problems.lines:,} lines is a picture with a caption.\n{told}")
