"""Data made ready for training: hashed, tokenized and encoded once, and found again at the next start."""

from dragoman.preparation.captions import prepare_captions
from dragoman.preparation.corpora import (
    REPORTED,
    SIDES,
    AnyData,
    Corpora,
    Preparing,
    data_record,
    intact_tokenizer,
    known_data,
    silent,
    size_of,
    with_standard_input,
)
from dragoman.preparation.frames import prepare_frames
from dragoman.preparation.labels import prepare_labels
from dragoman.preparation.pairs import learn_tokenizer, new_texts, prepare
from dragoman.preparation.texts import prepare_texts
from dragoman.preparation.tracks import prepare_tracks

__all__ = [
    "REPORTED",
    "SIDES",
    "AnyData",
    "Corpora",
    "Preparing",
    "data_record",
    "intact_tokenizer",
    "known_data",
    "learn_tokenizer",
    "new_texts",
    "prepare",
    "prepare_captions",
    "prepare_frames",
    "prepare_labels",
    "prepare_texts",
    "prepare_tracks",
    "silent",
    "size_of",
    "with_standard_input",
]
