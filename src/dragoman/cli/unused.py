"""Options that are for nothing, by what a model does: a table of both, and a sentence for each."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.served import Work

READS = (
    "is about texts that are written, and this model only reads (model.kind = 'encoder_only'): it says what a text is. "
    "Leave it out."
)
ABOUT: Mapping[str, str] = {
    "captions": "is about source texts, and this model describes pictures (model.source.kind = 'image_grid'). Leave it "
    "out.",
    "tracks": "is about texts, and this model goes on with tracks (model.kind = 'forecaster'). Leave it out.",
    "labels": READS,
    "spans": READS,
    "frames": READS,
    "gaps": "is about answers, and this model was taught to read (model.head.kind = 'pretraining'): it is measured on "
    "whole texts, and fills the gaps of lines with [MASK]. Leave it out.",
    "texts": "is about answers to sources, and a language model is measured on whole texts by loss, perplexity and "
    "bits a character. Leave it out.",
}
ALWAYS: Mapping[str, str] = {  # whatever the model does
    "--tag": "is for models that describe pictures. Leave it out.",
    "--skip-bad": "is for pictures, frames and tracks; every line of a text is answered. Leave it out.",
    "--with": "is for models that write an answer to a text, or go on with one: an ensemble takes the mean of what its "
    "runs say of the next symbol. Leave it out.",
    "--engine": "ctranslate2 is for models that write an answer to a text, of which alone there are exports to "
    "CTranslate2. Leave it out: torch answers.",
}

CONSTRAINED = ("--prefix", "--must", "--never", "--constraints")
OTHERS = ("--with", "--engine")  # another run, another engine
SEARCHED = ("--beam", "--alignments", *CONSTRAINED, "--trace", "--stream", "--nothing", *OTHERS)
TEXTS = ("--tag", "--skip-bad")
PREDICTING: Mapping[str, tuple[str, ...]] = {
    "captions": ("--alignments", "--constraints", "--longer", "--trace", "--stream", "--nothing", *OTHERS),
    "tracks": ("--tag", *SEARCHED, "--longer"),
    "labels": ("--tag", *SEARCHED, "--n-best", "--skip-bad"),
    "spans": ("--tag", *SEARCHED, "--skip-bad"),
    "frames": ("--tag", *SEARCHED, "--n-best"),
    "gaps": (*TEXTS, *SEARCHED, "--longer"),
    "texts": (*TEXTS, "--engine"),
    "conversations": TEXTS,
    "pairs": TEXTS,
}

REPORTED = ("--widths", "--search-report", "--lines", "--budget")
MEASURED = ("--metric", "--beam", "--tokenise", "--longer", *REPORTED)
READ = ("--beam", "--tokenise", *REPORTED, *OTHERS)
EVALUATING: Mapping[str, tuple[str, ...]] = {
    "captions": ("--longer", *REPORTED, *OTHERS),
    "tracks": (*MEASURED, *OTHERS),
    "labels": READ,
    "spans": READ,
    "frames": READ,
    "gaps": (*MEASURED, *OTHERS),
    "texts": (*MEASURED, "--engine"),
    "conversations": (),
    "pairs": (),
}


def work_of(run: Path) -> "Work":
    """What the model of a run, or of an export, does."""
    from dragoman.config import read_sealed, validate
    from dragoman.pipeline import model_folder
    from dragoman.pipeline.engine import is_export
    from dragoman.served import Served

    if is_export(run):
        return "pairs"
    document = read_sealed(model_folder(run) / "config.toml")
    return validate(Served, document.table, document).work


def refuse_unused(work: "Work", table: Mapping[str, tuple[str, ...]], given: Mapping[str, object]) -> None:
    """The first option that was given and makes no sense is named; without a value it was not given."""
    for option in table[work]:
        if given[option]:
            raise ConfigError(f"{option} {ALWAYS.get(option) or ABOUT[work]}")
