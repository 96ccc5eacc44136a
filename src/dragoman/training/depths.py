"""How deep a weight lies: by that some learn more slowly than others, and some not at all."""

import re
from collections.abc import Iterator
from typing import Any

from torch import nn

from dragoman.decoders import RnnDecoder
from dragoman.models import EncoderOnlyModel, Model
from dragoman.training.learner import Learner
from dragoman.training.settings import Training

LAYER = re.compile(r"^(?:encoder|decoder)\.(?:layers|cells)\.(\d+)\.")
INPUTS = re.compile(r"^(?:source|target|segments|mask|(?:encoder|decoder)\.(?:positions|first_norm))\.")


def layers_in(model: Model) -> int:
    """Of the one stack of a model."""
    if isinstance(model, EncoderOnlyModel):
        return len(model.encoder.layers)
    return len(model.decoder.cells if isinstance(model.decoder, RnnDecoder) else model.decoder.layers)


def depth_of(name: str, layers: int) -> int:
    """0 for the vectors of symbols, texts and positions, then a number a layer, and one more for the head and what else
    belongs to the task alone (matches, wide, bag, overlap); a norm behind the last layer is a part of it."""
    if INPUTS.match(name):
        return 0
    if found := LAYER.match(name):
        return int(found[1]) + 1
    return layers + 1 if name.startswith(("head.", "matches.", "wide.", "bag", "overlap.")) else layers


def frozen_below(settings: Training, layers: int) -> int:
    """The depth from which on weights are learned."""
    match settings.freeze:
        case "nothing":
            return 0
        case "embeddings":
            return 1
        case int(lowest):
            return lowest + 1
        case _:
            return layers + 1


def groups_of(learner: Learner, settings: Training) -> list[dict[str, Any]]:
    """The weights that are learned, those of one depth together with their share of the rate: decay ^ (depth of the
    head − depth) (Howard and Ruder 2018, 3.2; Clark et al. 2020, A.2). What is frozen asks for no gradient."""
    if settings.freeze == "nothing" and settings.layer_decay == 1:
        return [{"params": list(learner.parameters()), "share": 1.0}]
    model = learner.model
    layers = layers_in(model)
    first, depths = frozen_below(settings, layers), dict[int, list[nn.Parameter]]()
    for depth, weight in weights_by_depth(model, layers):
        weight.requires_grad_(depth >= first)
        if depth >= first:
            depths.setdefault(depth, []).append(weight)
    top = layers + 1
    return [{"params": depths[depth], "share": settings.layer_decay ** (top - depth)} for depth in sorted(depths)]


def weights_by_depth(model: Model, layers: int) -> Iterator[tuple[int, nn.Parameter]]:
    return ((depth_of(name, layers), weight) for name, weight in model.named_parameters())
