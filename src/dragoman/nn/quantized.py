"""Models that answer in int8: which products are rounded, and what is refused."""

from copy import deepcopy
from typing import TypeVar

import torch
from torch import nn

from dragoman.errors import ConfigError
from dragoman.nn.int8 import int8_works
from dragoman.nn.linear import Prepared
from dragoman.nn.quick import Quick

Model = TypeVar("Model", bound=nn.Module)


def quantize(model: nn.Module) -> None:
    """From now on, products in evaluation mode and without gradients are int8 where that pays; all else stays as it is.

    What pays is a matter of weights alone, never of rows: a sentence would have another answer in a larger batch.
    Recurrent encoders stay in single precision: torch runs all their steps in one call, and int8 has none for rows with
    scales of their own. Step by step, an LSTM of 256 takes twice as long (and one of 512 0.6 of the time).
    """
    refuse_elsewhere(model)
    for part in model.modules():
        if isinstance(part, Prepared):
            part.int8, part.made = True, None
        elif isinstance(part, Quick):
            part.layers = None


def quantized(model: Model) -> Model:
    """A model that answers in int8, beside one that goes on as before; they share their weights."""
    with torch.inference_mode(False):
        other = deepcopy(model, {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())})
    quantize(other)
    return other


def refuse_elsewhere(model: nn.Module) -> None:
    for weight in model.parameters():
        if weight.device.type != "cpu":
            raise ConfigError(
                f"int8 is for models on the CPU, and this one is on '{weight.device}'. Load it there (device = 'cpu', "
                "--device cpu), or leave int8 out."
            )
    if not int8_works():
        raise ConfigError(
            "This torch has no int8 products for this processor (FBGEMM, for Intel's and AMD's). Leave int8 out."
        )
