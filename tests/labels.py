"""Trainings of small models that only read, and the texts that they learn to label, or to find answers in."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dragoman.experiment import Experiment
from dragoman.recipes import compose
from tiny import Corpus

SMALL = {
    "training.threads": 1,
    "training.device": "cpu",
    "training.schedule.kind": "constant",
    "training.steps": 20,
    "training.save_every": 5,
    "training.validate_every": 10,
    "training.log_every": 2,
    "training.keep": 3,
    "evaluation.report": 0,
    "training.batching.sentences": 16,
}
GOOD, BAD = ["good", "great", "fine", "lovely"], ["bad", "awful", "poor", "dull"]
PLAIN = ["the", "a", "film", "it", "was", "is", "this", "very", "so", "and"]
WORDS = {"DET": ["the", "a"], "NOUN": ["film", "dog", "cat"], "VERB": ["saw", "was", "bit"], "ADJ": ["good", "poor"]}
KINDS = ("labels", "wide", "pairs", "numbers", "tags", "chunks")
EVERY = (*KINDS, "spans")
MARKS = ["left", "right", "up"]
SETTINGS: dict[str, dict[str, Any]] = {
    "labels": {},
    "wide": {  # word and letter n-grams, also beside the encoder; two passes with different dropout
        "source.kind": "wordpunct",
        "objective.consistency": 2.0,
        "model.source": {"kind": "ngrams", "width": 8, "buckets": 512, "word_dropout": 0.1},
        "model.wide": {"kind": "ngrams", "width": 4, "word_ngrams": 2, "buckets": 512},
    },
    "pairs": {"model.sentences": "two"},
    "numbers": {"model.head.kind": "number", "objective.kind": "squared_error", "training.monitor": "pearson"},
    "tags": {},
    "chunks": {  # words with their letters, and a CRF
        "source.kind": "words",
        "model.source.kind": "spelled",
        "model.source.filters": 4,
        "model.head.kind": "crf",
        "objective.kind": "crf",
        "training.monitor": "span_f1",
    },
    "spans": {"data.max_length": 12, "limits.source": 12, "extraction.stride": 4},  # so that a document is windows
}


def review(draw: random.Random) -> str:
    label = draw.choice(["neg", "pos"])
    words = [*draw.choices(PLAIN, k=draw.randint(2, 6)), draw.choice(GOOD if label == "pos" else BAD)]
    draw.shuffle(words)
    return f"{' '.join(words)}\t{label}\n"


def pair(draw: random.Random) -> str:
    """Whether both are of one opinion, which neither of them tells alone."""
    one, two = (draw.choice([0, 1]) for _ in range(2))
    texts = [f"{draw.choice(PLAIN)} {draw.choice((BAD, GOOD)[side])}" for side in (one, two)]
    return f"{texts[0]}\t{texts[1]}\t{'same' if one == two else 'other'}\n"


def rated(draw: random.Random) -> str:
    """10 for each good word."""
    good = draw.randint(0, 4)
    words = [*draw.choices(GOOD, k=good), *draw.choices(PLAIN, k=5 - good)]
    draw.shuffle(words)
    return f"{' '.join(words)}\t{10 * good}\n"


def sentence(draw: random.Random) -> str:
    tags = draw.choices(list(WORDS), k=draw.randint(1, 6))
    return "".join(f"{draw.choice(WORDS[tag])}\t{tag}\n" for tag in tags) + "\n"


def chunked(draw: random.Random) -> str:
    """Words up to a noun or a verb are a span, the noun with them."""
    lines, begun = list[str](), False
    for tag in [*draw.choices(["DET", "ADJ", "VERB"], k=draw.randint(1, 4)), draw.choice(["NOUN", "VERB"])]:
        outside = tag == "VERB"
        lines.append(f"{draw.choice(WORDS[tag])}\t{'O' if outside else 'I-NP' if begun else 'B-NP'}\n")
        begun = not outside and tag != "NOUN"
    return "".join(lines) + "\n"


def asked(draw: random.Random) -> str:
    """The word behind the mark that the question names, of two in the document."""
    words, marks = draw.choices(PLAIN, k=draw.randint(5, 9)), draw.sample(MARKS, 2)
    first, second = sorted(draw.sample(range(len(words) - 1), 2))
    document = [*words[:first], marks[0], *words[first:second], marks[1], *words[second:]]
    mark = draw.choice(marks)
    place = document.index(mark) + 1
    start = len(" ".join(document[:place])) + 1
    record = {"question": f"what follows {mark}", "document": " ".join(document)}
    return json.dumps({**record, "answer": document[place], "answer_start": start}) + "\n"


MAKERS: dict[str, tuple[Callable[[random.Random], str], str, str]] = {
    "labels": (review, "sentence\tlabel\n", "tsv"),
    "wide": (review, "sentence\tlabel\n", "tsv"),
    "pairs": (pair, "sentence1\tsentence2\tlabel\n", "tsv"),
    "numbers": (rated, "text\tscore\n", "tsv"),
    "tags": (sentence, "", "conll"),
    "chunks": (chunked, "", "conll"),
    "spans": (asked, "", "jsonl"),
}


def written(folder: Path, kind: str, size: int = 320) -> Corpus:
    make, header, ending = MAKERS[kind]
    draw = random.Random(4)
    train, valid = folder / f"train.{ending}", folder / f"valid.{ending}"
    train.write_text(header + "".join(make(draw) for _ in range(size)))
    valid.write_text(header + "".join(make(draw) for _ in range(60)))
    return Corpus(train, valid)


def recipe_of(kind: str) -> str:
    return {"tags": "tag", "chunks": "tag", "spans": "spans"}.get(kind, "classify")


def small(corpus: Corpus, kind: str, valid: bool = True, **settings: Any) -> Experiment:
    """training__steps=10 is the setting training.steps."""
    own = {name.replace("__", "."): value for name, value in settings.items()}
    files = (str(corpus.valid),) if valid else ()
    return compose(recipe_of(kind), "tiny", (str(corpus.train),), files, settings=SMALL | SETTINGS[kind] | own).settings


def command(corpus: Corpus, kind: str, out: Path, *more: str, **settings: Any) -> list[str]:
    """The same as a command."""
    own = {name.replace("__", "."): value for name, value in settings.items()}
    words = [f"{name}={value}" for name, value in (SMALL | SETTINGS[kind] | own).items()]
    files = [str(corpus.train), "--valid", str(corpus.valid), "--scale", "tiny", "--out", str(out)]
    return ["train", recipe_of(kind), *files, *words, *more]
