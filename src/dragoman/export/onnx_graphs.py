"""Encoder and decoder step as ONNX graphs.

They are traced with gradients, though none is wanted: without, a model computes by prepared weights, of which a graph
would know nothing. The tracer is torch.export; the older one (torch.jit) is not developed any more.
"""

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.overrides import TorchFunctionMode

from dragoman.contracts import Batch, Padded, State
from dragoman.data.tokenizers import END, PADDING, START
from dragoman.models import EncoderDecoderModel
from dragoman.nn.positions import OneHotPositions, RotaryPositions, SinusoidalPositions, grown_table

OPSET = 18  # the oldest that torch's exporter writes, so that old runtimes read it
TRACED = {"batch": 2, "source_length": 3, "steps": 2}  # torch takes sizes of 0 and 1 for constants
Tensors = dict[str, Tensor]
Axes = dict[str, list[str | int]]  # of each tensor, names of those that may have any size


@dataclass(frozen=True)
class Graph:
    """One file: its inputs and outputs, in order, with their axes."""

    file: str
    inputs: Axes
    outputs: Axes


def tensors_of(state: State) -> Tensors:
    """A state by the names that graphs know it by. A Transformer's paths are left out: keys and values of one row a
    sentence stand one behind the other."""
    moving = {f"state.{name}": value for name, value in state.moving.items() if name != "path"}
    grown = {f"state.past.{name}": value for name, value in state.grown.items()}
    unread = {"source.mask"} if state.grown else set()  # which its attention has as scores
    fixed = {f"memory.{name}": value for name, value in state.fixed.items() if name not in unread}
    return {**moving, **grown, **fixed}


def state_of(tensors: Mapping[str, Tensor]) -> State:
    parts: dict[str, Tensors] = {"state.past.": {}, "state.": {}, "memory.": {}}
    for name, value in tensors.items():
        part = next(part for part in parts if name.startswith(part))
        parts[part][name.removeprefix(part)] = value
    grown, moving, fixed = parts.values()
    if grown:
        rows, _, steps = next(iter(grown.values())).shape[:3]
        moving["path"] = torch.arange(steps).expand(rows, -1)
    return State(moving, fixed, grown)


def begun(model: EncoderDecoderModel, source: Tensor) -> Tensors:
    batch = Batch(tuple(range(TRACED["batch"])), {"source": Padded(source, source != PADDING)})
    return tensors_of(model.begin(batch))


def stepped(model: EncoderDecoderModel, last: Tensor, tensors: Mapping[str, Tensor]) -> tuple[Tensor, Tensors]:
    """Log-probabilities, and what has changed of the state."""
    step = model.step(last, state_of(tensors))
    return step.log_probabilities, {
        name: value for name, value in tensors_of(step.state).items() if name.startswith("state.")
    }


class Reading(nn.Module):
    """Symbols of a source → all that the decoder starts from."""

    def __init__(self, model: EncoderDecoderModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor) -> Tensors:
        with RecurrentLayers():
            return begun(self.model, source)


class Writing(nn.Module):
    """The last symbols and the state → log-probabilities of the next ones, and the next state."""

    def __init__(self, model: EncoderDecoderModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, last: Tensor, tensors: Tensors) -> tuple[Tensor, Tensors]:
        with RecurrentLayers():
            return stepped(self.model, last, tensors)


class RecurrentLayers(TorchFunctionMode):
    """Layers over many steps become one operator of ONNX; torch would unroll them, for the traced length alone."""

    def __torch_function__(
        self, function: Any, types: Any, arguments: Sequence[Any] = (), named: Mapping[str, Any] | None = None
    ) -> Any:
        kinds: dict[Any, str] = {torch.gru: "GRU", torch.lstm: "LSTM", torch.rnn_tanh: "RNN"}
        if function not in kinds:
            return function(*arguments, **(named or {}))
        inputs, first, parameters, *_ = arguments
        return recurrent_layer(kinds[function], inputs, first if isinstance(first, tuple) else (first,), parameters)


def recurrent_layer(
    kind: str, inputs: Tensor, first: Sequence[Tensor], parameters: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """One layer, in one direction or both: states (N, L, ·), and the last ones."""
    gates = {"GRU": (1, 0, 2), "LSTM": (0, 3, 1, 2), "RNN": (0,)}[kind]  # the order in which ONNX has torch's
    ways = [[turned(one, gates) for one in parameters[begin : begin + 4]] for begin in range(0, len(parameters), 4)]
    of_input, of_hidden = (torch.stack([way[part] for way in ways]) for part in (0, 1))
    biases = torch.stack([torch.cat(way[2:]) for way in ways])
    rows, steps, width, number = *inputs.shape[:2], first[0].shape[2], len(ways)
    options: dict[str, Any] = {"hidden_size": width, "direction": "forward" if number == 1 else "bidirectional"}
    if kind == "GRU":
        options["linear_before_reset"] = 1  # the reset gate holds back the product, not the state
    found = torch.onnx.ops.symbolic_multi_out(
        kind,
        [inputs.transpose(0, 1), of_input, of_hidden, biases, None, *first],
        options,
        dtypes=[inputs.dtype] * (1 + len(first)),
        shapes=[(steps, number, rows, width), *[(number, rows, width)] * len(first)],
    )
    return found[0].permute(2, 0, 1, 3).flatten(2), *found[1:]


def turned(parameter: Tensor, gates: Sequence[int]) -> Tensor:
    parts = parameter.chunk(len(gates))
    return torch.cat([parts[gate] for gate in gates])


def write_graphs(model: EncoderDecoderModel, folder: Path, longest: Mapping[str, int]) -> tuple[Graph, Graph]:
    """encoder.onnx and decoder.onnx; where positions are a table, it is as long as the `longest` source and answer."""
    most = {"source_length": positions_of(model.encoder, longest["source"])}
    target = positions_of(model.decoder, longest["target"])
    most["steps"] = target and target - 1
    tensors = advanced(model, TRACED)
    axes = axes_of(model, tensors)
    dimensions = {name: Dim(name, max=None if name == "batch" else most[name]) for name in TRACED}
    state = {name: found for name, found in axes.items() if name.startswith("state.")}
    after = {name.replace("state.", "next.", 1): found for name, found in state.items()}
    reading = Graph("encoder.onnx", {"source": ["batch", "source_length"]}, axes)
    symbols = model.head.weight.shape[0]
    writing = Graph("decoder.onnx", {"last": ["batch"], **axes}, {"log_probabilities": ["batch", symbols], **after})
    with torch.enable_grad(), quietly():
        save(Reading(model), (source_of(TRACED),), reading, dimensions, folder)
        save(Writing(model), (last_of(TRACED), tensors), writing, dimensions, folder)
    model.eval()  # forgets what was prepared, where torch has left stand-ins for weights
    return reading, writing


def save(
    module: nn.Module, arguments: tuple[Any, ...], graph: Graph, dimensions: Mapping[str, Any], folder: Path
) -> None:
    def varying(axes: Sequence[str | int]) -> dict[int, Any]:
        return {place: dimensions[str(axis)] for place, axis in enumerate(axes) if axis in dimensions}

    first, *others = ((name, varying(axes)) for name, axes in graph.inputs.items())
    shapes = (first[1], dict(others)) if others else (first[1],)
    traced = torch.export.export(module, arguments, dynamic_shapes=shapes)
    program = torch.onnx.export(
        traced,
        input_names=list(graph.inputs),
        output_names=list(graph.outputs),
        dynamic_shapes=shapes,  # for their names
        opset_version=OPSET,
        dynamo=True,
        verbose=False,
    )
    assert program is not None  # noqa: S101 (dynamo gives one)
    program.save(folder / graph.file)


def source_of(sizes: Mapping[str, int]) -> Tensor:
    """Sources of which all but the first are padded."""
    source = torch.full((sizes["batch"], sizes["source_length"]), END)
    source[1:, -1] = PADDING
    return source


def last_of(sizes: Mapping[str, int]) -> Tensor:
    return torch.full((sizes["batch"],), START)


@torch.no_grad()
def advanced(model: EncoderDecoderModel, sizes: Mapping[str, int]) -> Tensors:
    """All that a decoder reads after so many steps."""
    tensors = begun(model, source_of(sizes))
    for _ in range(sizes["steps"]):
        tensors |= stepped(model, last_of(sizes), tensors)[1]
    return tensors


def axes_of(model: EncoderDecoderModel, tensors: Tensors) -> Axes:
    """What each axis counts, which is seen when there is one more of it."""
    axes: Axes = {name: list(value.shape) for name, value in tensors.items()}
    for axis, size in TRACED.items():
        for name, value in advanced(model, {**TRACED, axis: size + 1}).items():
            for place, (one, other) in enumerate(zip(tensors[name].shape, value.shape, strict=True)):
                if one != other:
                    axes[name][place] = axis
    return axes


def positions_of(part: nn.Module, longest: int) -> int | None:
    """How many positions an encoder or decoder knows, None: any number; tables that grow are made long enough, since
    they cannot grow in a graph."""
    positions = getattr(part, "positions", None)
    if isinstance(positions, OneHotPositions):
        return positions.length
    if isinstance(positions, SinusoidalPositions | RotaryPositions):
        grown_table(positions, longest, torch.empty(0))
    return None if positions is None else int(positions.table.shape[0])


@contextmanager
def quietly() -> Iterator[None]:
    """Without what torch says of packages that nobody needs here, and to its own developers."""
    logs = [logging.getLogger(name) for name in ("torch.onnx", "torch.__trace", "onnxscript", "onnx_ir")]
    levels = [log.level for log in logs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for log in logs:
            log.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for log, level in zip(logs, levels, strict=True):
                log.setLevel(level)
