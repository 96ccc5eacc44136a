"""Which settings of a trained model may be changed when it is asked, and which would change nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dragoman.config import Document, validate
from dragoman.data.readers.formats import FIELDS, Wanted
from dragoman.data.readers.pairs import Conversations
from dragoman.errors import ConfigError, nearest
from dragoman.heads import Points
from dragoman.served import Served, Work

ANSWERING = (
    "search",
    "rules",
    "risk",
    "limits",
    "extraction",
    "rollout",
    "evaluation",
)  # sections of settings that no weight depends on
WRITE: tuple[Work, ...] = ("pairs", "conversations", "captions", "texts")
READ: tuple[Work, ...] = ("labels", "spans", "frames", "gaps")
WRITTEN = "models that write texts"
USED: Mapping[str, tuple[str, tuple[Work, ...]]] = {  # whom a section is for; one that is not here is for all
    "search": (WRITTEN, WRITE),
    "rules": (WRITTEN, WRITE),
    "risk": (WRITTEN, WRITE),
    "limits": ("models that read or write texts or frames", (*WRITE, *READ)),
    "extraction": ("models that find answers in documents (recipe spans)", ("spans",)),
    "rollout": ("models that go on with tracks by a mixture (model.head.kind = 'mixture')", ("tracks",)),
}


def refuse_unchangeable(settings: Served, sections: Iterable[str]) -> None:
    """A section that was learned with stays as it is, and one that a model has no use for would be believed in."""
    for section in sections:
        if section in Served.model_fields and section not in ANSWERING:
            raise ConfigError(
                f"{section} is part of what was trained and stays as it is. What may be changed: "
                f"{', '.join(ANSWERING)}."
            )
        if section in ANSWERING and not has_use(settings, section):
            useful = [one for one in ANSWERING if has_use(settings, one)]
            raise ConfigError(
                f"{section} is for {USED[section][0]}, and would change nothing of this one. What may be changed: "
                f"{', '.join(useful)}. Leave {section} out."
            )


def other_fields(known: Wanted, given: Any) -> Wanted:
    """How files of conversations are read: what is given takes the place of how the run's own files were read."""
    settings = given if isinstance(given, Mapping) else {}
    names = {f"{name}_field": name for name in FIELDS} | {"format": "format"}
    for name in settings:
        if name not in names:
            raise ConfigError(
                f"data.{name} says nothing of how conversations are read.{nearest(name, list(names))} What may be "
                f"changed: {', '.join(f'data.{one}' for one in names)}."
            )
    wanted = validate(Conversations, {"kind": "conversations", **settings}, Document(dict(settings), "data")).wanted
    return replace(known, **{names[name]: getattr(wanted, names[name]) for name in settings})


def has_use(settings: Served, section: str) -> bool:
    if section == "rollout" and isinstance(settings.model.head, Points):
        return False  # one point a step, and nothing that is drawn
    return section not in USED or settings.work in USED[section][1]
