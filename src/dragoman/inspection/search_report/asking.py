"""What a search report is asked for: widths, sentences, a budget, and the search that it looks at."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from pathlib import Path

from dragoman.errors import ConfigError, StorageError
from dragoman.pipeline import Pipeline
from dragoman.search import WIDEST, AnySearch, Beam, Greedy, Rules, Sampling
from dragoman.served import Risk

WIDTHS = (1, 2, 4, 8, 16, 32)
MOST_WIDTHS = 20  # more cannot be told apart in a plot
BUDGET = 1_000  # beginnings a sentence: some seconds, with a vocabulary of thousands
EXACT_LINES = 500  # sentences of the exact search, at most
Tell = Callable[[str, float], None]  # what is being done, and which share of everything is done


@dataclass(frozen=True)
class Request:
    """What is wanted of a search report; None is what the run says."""

    widths: tuple[int, ...] = WIDTHS
    lines: int | None = None  # sources, drawn by a key; None: all
    budget: int = BUDGET
    metrics: tuple[str, ...] = ()
    beam: int | None = None
    longer: str | None = None
    tokenise: str | None = None


@dataclass(frozen=True)
class Asked:
    """A model with the beam that is looked at, and what a reader must know of it."""

    pipeline: Pipeline  # whose search is `own`
    own: Beam
    notes: tuple[str, ...]
    exact: bool  # whether an exact search ranks as the beam does

    def of_width(self, width: int) -> Beam:
        return self.own.changed(width=width, groups=1)


def read_widths(text: str) -> tuple[int, ...]:
    """ "1,2,4" in ascending order; what is no width is refused."""
    widths = []
    for word in text.split(","):
        word = word.strip()
        if not (word.isascii() and word.isdigit()):
            raise ConfigError(
                f"--widths is a list of whole numbers with commas between them, such as 1,2,4,8; '{word}' is none."
            )
        if not 1 <= (width := int(word[:20])) <= WIDEST:
            raise ConfigError(f"A beam has a width between 1 and {WIDEST:,}, not {word[:20]} (--widths).")
        if width in widths:
            raise ConfigError(f"--widths names {width:,} twice. Each width is measured once.")
        widths.append(width)
    if len(widths) > MOST_WIDTHS:
        raise ConfigError(f"--widths names {len(widths)} widths; at most {MOST_WIDTHS} are compared.")
    return tuple(sorted(widths))


def check_page(path: Path) -> None:
    """Before hours of work: a page that can be written, and its JSON beside it."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"--search-report writes a page: {path.name or path} should end in .html.")
    if not path.parent.is_dir():
        raise StorageError(f"Cannot write {path}: there is no folder {path.parent}.")
    for file in (path, path.with_suffix(".json")):
        if file.is_dir():
            raise StorageError(f"Cannot write {file}: it is a folder.")


def asked_of(pipeline: Pipeline, request: Request) -> Asked:
    """The run's own beam, or the one that stands in for a search that has no width."""
    if request.lines is not None and request.lines < 1:
        raise ConfigError(f"--lines must be at least 1, not {request.lines}.")
    if request.budget < 1:
        raise ConfigError(f"--budget must be at least 1, not {request.budget}.")
    own, notes = beam_of(pipeline.settings.search)
    if request.beam is not None:
        if not 1 <= request.beam <= WIDEST:
            raise ConfigError(f"A beam has a width between 1 and {WIDEST:,}, not {request.beam:,}.")
        own = own.changed(width=request.beam, groups=1)
    if own.groups > 1:
        notes.append(f"The run's beam is divided into {own.groups} groups; the widths compared are of beams without.")
    settings = pipeline.settings
    if settings.risk.utility != "none":
        notes.append("The run chooses its answers by risk.utility; here the answer is what the search ranks first.")
    exact = settings.rules == Rules() and own.coverage == 0
    if not exact:
        notes.append(
            "The run's rules or its coverage penalty count in the scores of answers, and an exact search knows "
            "neither: search errors are those that a beam found, none is excluded for certain, and references are "
            "compared by log-probability alone."
        )
    other = copy(pipeline)
    other.settings = settings.changed(search=own, risk=Risk())
    return Asked(other, own, tuple(notes), exact)


def beam_of(search: AnySearch) -> tuple[Beam, list[str]]:
    if isinstance(search, Beam):
        return search, []
    if isinstance(search, Greedy):
        return Beam(width=1), []
    if isinstance(search, Sampling):
        beam, why = Beam(), "draws its answers at random"
    else:
        beam, why = Beam(normalisation=search.normalisation, alpha=search.alpha), "has no width"
    return beam, [
        f"The run's own search (search.kind = {search.kind}) {why}: a beam of {beam.width} is looked at in its place."
    ]
