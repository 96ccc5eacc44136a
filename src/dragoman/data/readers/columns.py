"""Several columns of a source, such as a lemma and its features, and tables that are recognized by what they hold."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from dragoman.data.readers.pair import one_line

LEMMAS = ("lemma", "lexeme", "base")
FEATURES = ("features", "feats", "feature", "tags", "tag", "msd", "morphology", "unimorph")
FORMS = ("form", "inflected", "inflected_form", "inflection", "wordform", "word_form", "target", "word")
BUNDLE = re.compile(r"[^\s;|]+([;|][^\s;|]+)*")  # V;PST;3;SG or Case=Nom|Number=Sing
LABEL = re.compile(r"[^a-z]+|\w+=\S+")
REPEATED = 0.1  # different labels of all
BUNDLES = 0.5  # share of the rows whose features are several
NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")
LICENCE = re.compile(r"CC[- ](BY|0)", re.IGNORECASE)


@dataclass(frozen=True)
class Columns:
    """The columns of the source and that of the target, from 0."""

    source: tuple[int, ...]
    target: int
    recognized: str = field(default="", compare=False)  # what they were taken for by what they hold


def inflection_names(names: Sequence[str]) -> tuple[tuple[str, str], str] | None:
    """((lemma, features), form), where fields are called so."""
    lowered = {name.strip().lower(): name for name in reversed(names)}
    found = [next((lowered[name] for name in usual if name in lowered), None) for usual in (LEMMAS, FEATURES, FORMS)]
    lemma, features, form = found
    return ((lemma, features), form) if lemma and features and form else None


def recognized(rows: Sequence[Sequence[str]]) -> Columns | None:
    """Three columns without a header, one of which is no text: features of an inflected form, a count, or a licence."""
    cells = [row for row in rows if len(row) == 3]
    if not cells or len(cells) * 2 < len(rows):
        return None
    first, second, third = ([cell.strip() for cell in column] for column in zip(*cells, strict=True))
    if are_features(third) and not are_features(second):
        return Columns((0, 2), 1, "lemma, form and features")
    if are_features(second) and not are_features(third):
        return Columns((0, 1), 2, "lemma, features and form")
    for what, matches in (("numbers", NUMBER.fullmatch), ("licences", LICENCE.match)):
        if all(map(matches, third)) and not all(map(matches, [*first, *second])):
            return Columns((0,), 1, f"the third column holds {what} and is left out")
    return None


def are_features(cells: Sequence[str]) -> bool:
    """Rows of labels such as V;PST;3;SG: no spaces in any, separators in most, and labels that are written like those
    of UniMorph or Universal Dependencies, or come again and again."""
    if not all(map(BUNDLE.fullmatch, cells)) or sum(map(has_several, cells)) < BUNDLES * len(cells):
        return False
    labels = list(chain.from_iterable(re.split("[;|]", cell) for cell in cells))
    return all(map(LABEL.fullmatch, labels)) or len(set(labels)) < REPEATED * len(labels)


def has_several(cell: str) -> bool:
    return ";" in cell or "|" in cell


def joined(cells: Sequence[str]) -> str:
    """The columns of a source as one text, with a tab between two."""
    if len(cells) == 1:
        return one_line(cells[0])
    return "\t".join(one_line(cell).replace("\t", " ").strip() for cell in cells)
