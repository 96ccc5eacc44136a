"""Which kind of data a comparison is of: what was said, what the recipes learn from, or what a file looks like."""

from collections.abc import Sequence
from typing import Any

from dragoman.comparison.conversations import CONVERSATIONS
from dragoman.comparison.kind import Kind
from dragoman.comparison.labels import LABELS, TAGS
from dragoman.comparison.ladder import Contender, data_kind
from dragoman.comparison.pictures import CAPTIONS
from dragoman.comparison.series import CLIPS, FRAMES
from dragoman.comparison.texts import PAIRS
from dragoman.comparison.tracks import TRACKS
from dragoman.config import Table, merge
from dragoman.data.readers.recognising import looks_like
from dragoman.errors import ConfigError
from dragoman.experiment import Experiment
from dragoman.experiment.settings import value_at
from dragoman.recipes import read_recipe
from dragoman.served import require_source

KINDS = {kind.name: kind for kind in (PAIRS, CONVERSATIONS, CAPTIONS, LABELS, TAGS, TRACKS, FRAMES, CLIPS)}
LISTED = "pairs, conversations, captions, labelled or tagged texts, tracks, frames or clips"


def named_kind(given: Table, files: Sequence[Any]) -> str:
    """Where no recipe is named: as data.kind says, else as the first file looks."""
    said = value_at(given, ("data", "kind"))
    if said is not None:
        return str(said)
    return looks_like(files[0]) if files and isinstance(files[0], str) else PAIRS.name


def kind_of(found: Sequence[Contender], given: Table) -> Kind:
    """The one kind of data that all contenders learn from."""
    names = {one.name: data_kind(merge(read_recipe(one.recipe, one.scale).table, one.changes, given)) for one in found}
    for one in found:
        if names[one.name] not in KINDS:
            refuse(one, names[one.name])
    first = found[0].name
    other = next((name for name in names if names[name] != names[first]), None)
    if other is not None:
        raise ConfigError(
            f"{first} learns from {KINDS[names[first]].learns_from} (data.kind = '{names[first]}') and {other} from "
            f"{KINDS[names[other]].learns_from} ('{names[other]}'), and a comparison is of one kind of data. Name "
            "recipes of one kind, or say which it is for all: data.kind=…"
        )
    return KINDS[names[first]]


def refuse(contender: Contender, kind: str) -> None:
    """What cannot be compared by training."""
    model = read_recipe(contender.recipe, contender.scale).table.get("model", {})
    named = str(model.get("kind", "")) if isinstance(model, dict) else ""
    if named == "decoder_only":
        require_source(named, f"A comparison, in which {contender.name} would take part,")
    raise no_ladder(kind)


def no_ladder(kind: str) -> ConfigError:
    return ConfigError(
        f"A comparison is of {LISTED}, and data.kind is '{kind}'. Train models of it one by one, and set finished runs "
        "side by side with `dragoman compare --table`."
    )


def refuse_other_measures(kind: Kind, settings: dict[str, Experiment], chosen: Sequence[str] = ()) -> None:
    """All are measured on the same: what decides that must be equal, unless the data chooses it for all."""
    first, *others = settings
    dumped = {name: one.model_dump(mode="json") for name, one in settings.items()}
    for setting in [one for one in kind.same if one not in chosen]:
        path = setting.split(".")
        for other in others:
            values = [value_at(dumped[name], path) for name in (first, other)]
            if values[0] != values[1]:
                raise ConfigError(
                    f"{first} has {setting} = {values[0]!r} and {other} has {values[1]!r}, so that they would not be "
                    f"measured on the same. Give one for all: {setting}=…, or compare them one by one."
                )
