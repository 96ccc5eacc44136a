"""The body of a model that reads, taken from another model: frontend, segments, matches and encoder, below a head."""

import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman import decoders, encoders, heads
from dragoman.config import Config, Table, difference, dotted, merge, nest
from dragoman.errors import ConfigError
from dragoman.frontends import of_symbols, symbols_in
from dragoman.models import DecoderOnly, EncoderOnly, EncoderOnlyModel, ModelConfig
from dragoman.nn.positions import longest
from dragoman.nn.transformer import Stack
from dragoman.served import Served
from dragoman.weights import read_weights, weights_of

PARTS_OF_A_BODY = ("source", "model.source", "model.encoder")  # settings that come with it
BODY = ("source.", "segments.", "matches.", "encoder.")  # how the names of its weights begin
SEGMENTS, MATCHES = "segments.table", "matches.vector"
POOLED = (None, "labels", "number")  # heads that see one vector a text
USUAL = 200  # data.max_length, where no recipe says otherwise


def encoder_of(model: ModelConfig) -> encoders.EncoderConfig:
    """What reads the source; of a language model its decoder, which as an encoder looks back only."""
    if not isinstance(model, DecoderOnly):
        if isinstance(model.encoder, encoders.Hierarchical):
            raise ConfigError(
                "This run reads conversations turn by turn (model.encoder.kind = 'hierarchical'), and a model that "
                "only reads has no turns. Start from a run that reads texts."
            )
        return model.encoder
    kind = encoders.Rnn if isinstance(model.decoder, decoders.Rnn) else encoders.Transformer
    shared = {name: value for name, value in dict(model.decoder).items() if name in kind.model_fields}
    return kind(**{**shared, "directions": "one"})


def parts_of(before: Served) -> dict[str, Config]:
    """What the weights of a body belong to, by the names that the settings have in a model that only reads."""
    model = before.model
    if isinstance(model, DecoderOnly):
        return {"source": before.target, "model.source": model.target, "model.encoder": encoder_of(model)}
    return {"source": before.source, "model.source": model.source, "model.encoder": model.encoder}


def body_of(before: Served) -> Table:
    """The same as a table."""
    return nest({dotted(name): part.model_dump() for name, part in parts_of(before).items()})


def reach_of(model: ModelConfig) -> int | None:
    """Symbols that it has learned to read at once, if that has an end."""
    encoder = encoder_of(model)
    ends = [longest(encoder.positions) if isinstance(encoder, Stack) else None]
    if isinstance(model, DecoderOnly):
        ends.append(model.context)
    elif isinstance(model.head, heads.Pretraining):
        ends.append(model.head.length)
    return min((end for end in ends if end is not None), default=None)


def upon_body(recipe: Table, before: Served, given: Table) -> Table:
    """A recipe with another model's body in the place of its own, and what is given. A text may be as long as the body
    can read, and one that is read in one direction is known by its last symbol alone."""
    model = {name: value for name, value in recipe.get("model", {}).items() if name not in ("source", "encoder")}
    own = {**{name: value for name, value in recipe.items() if name != "source"}, "model": model}
    table, fitted = merge(own, body_of(before), given), Table()
    if encoder_of(before.model).directions == "one" and value_at(table, "model", "head", "kind") in POOLED:
        fitted["model"] = {"head": {"pool": value_at(given, "model", "head", "pool") or "last"}}
    two = value_at(table, "model", "sentences") == "two"
    if two and has_matches(before.model) and value_at(given, "model", "matches") is None:
        fitted["model"] = {**fitted.get("model", {}), "matches": "exact"}
    if (reach := reach_of(before.model)) is not None:
        room = max(1, reach - (3 if two else 2))
        if value_at(given, "data", "max_length") is None:
            fitted["data"] = {"max_length": min(room, value_at(own, "data", "max_length") or USUAL)}
        if value_at(given, "limits", "source") is None:
            fitted["limits"] = {"source": min(room, value_at(own, "limits", "source") or room)}
    return merge(table, fitted)


def has_matches(model: ModelConfig) -> bool:
    return isinstance(model, EncoderOnly) and model.matches != "none"


def value_at(table: Table, *path: str) -> Any:
    here: Any = table
    for name in path:
        here = here.get(name) if isinstance(here, dict) else None
    return here


def refuse_other_body(before: Served, now: Served, path: str) -> None:
    """The body must be the one that the weights belong to; dropout and noise have none."""
    assert isinstance(now.model, EncoderOnly)  # noqa: S101
    parts = parts_of(before)
    here: dict[str, Config] = {
        "source": now.source,
        "model.source": now.model.source,
        "model.encoder": now.model.encoder,
    }
    changes = [f"{name}.{change}" for name, part in parts.items() for change in difference(part, here[name])]
    changes = [change for change in changes if not change.partition(":")[0].endswith(("dropout", "noise"))]
    if changes:
        listed = "\n".join(f"  {change}" for change in changes)
        raise ConfigError(
            f"What {path} has learned to read fits its own vocabulary, frontend and encoder only:\n{listed}\n"
            "Leave these settings out, or train without --from."
        )


def name_before(model: ModelConfig, name: str) -> str:
    """What a weight of the body is called in the model that it comes from."""
    if not isinstance(model, DecoderOnly):
        return name
    if isinstance(model.decoder, decoders.Rnn):
        name = re.sub(r"^encoder\.layers\.(\d+)\.0\.", r"encoder.cells.\1.", name)
    return re.sub(r"^encoder\.", "decoder.", re.sub(r"^source\.", "target.", name))


def give_body(model: EncoderOnlyModel, before: ModelConfig, path: Path) -> tuple[str, ...]:
    """Give the body the weights of a model folder; what was taken, in words.

    Where the old model read two texts and the new one reads one, that is the first of two, as in BERT: the vector of
    the first text, which would be added to that of every symbol, is added once and for all. Where it is the other way
    round, both vectors are new.
    """
    two = isinstance(before, EncoderOnly) and before.sentences == "two"
    body = {name: tensor for name, tensor in weights_of(model).items() if name.startswith(BODY)}
    for name, known in ((SEGMENTS, two), (MATCHES, has_matches(before))):
        if not known:
            body.pop(name, None)
    wanted = {name_before(before, name): tensor for name, tensor in body.items()}
    if two and model.segments is None:
        wanted[SEGMENTS] = torch.empty(2, model.source.width)
    found = read_weights(path, wanted, others=True)
    give(body, {name: found[name_before(before, name)] for name in body})
    if two and model.segments is None:
        with torch.no_grad():
            source = of_symbols(model.source, "A body that was pretrained")
            source.embedding.weight[1:] += found[SEGMENTS][0].to(source.embedding.weight) / source.scale
    return taken_words(model, two, MATCHES in body)


@torch.no_grad()
def give(body: dict[str, Tensor], found: dict[str, Tensor]) -> None:
    for name, tensor in body.items():
        tensor.copy_(found[name])


def taken_words(model: EncoderOnlyModel, two: bool, matches: bool) -> tuple[str, ...]:
    segments = (
        ["the vectors of both texts" if model.segments is not None else "the vector of a first text"] if two else []
    )
    layers = len(model.encoder.layers)
    return (
        f"the vectors of {symbols_in(model.source, 'A pretrained body'):,} symbols",
        *segments,
        *(["the vector of matches"] if matches else []),
        f"{layers} layer{'s' if layers > 1 else ''} of the encoder",
    )


def new_parts(model: EncoderOnlyModel, taken: tuple[str, ...]) -> tuple[str, ...]:
    """What starts from random weights, in words."""
    head = f"the head ({sum(weight.numel() for weight in model.head.parameters()):,} weights)"
    if not taken:
        return ("all weights",)
    segments = model.segments is not None and not any("both texts" in one for one in taken)
    matches = model.matches is not None and "the vector of matches" not in taken
    found = {"the vectors of first and second text": segments, "the vector of matches": matches}
    return (head, *(what for what, new in found.items() if new))
