"""The parts that the laws of the model run over, at pencil size, and examples for them."""

from itertools import product

import torch
from torch import Tensor, nn

from dragoman import decoders, encoders, frontends
from dragoman.contracts import Batch, Final, Memory, Padded, Remembered, Target
from dragoman.models import EncoderDecoder, EncoderDecoderModel, build_model
from dragoman.nn.attention import Additive

ENCODERS = [
    encoders.Rnn(cell=cell, layers=layers, width=3, directions=directions, dropout=0.3)
    for cell, layers, directions in product(("gru", "lstm"), (1, 2), ("one", "both"))
]
DECODERS = [
    decoders.Rnn(
        cell=cell,
        layers=layers,
        width=6,
        attention=Additive(width=7),
        readout=readout,
        readout_width=4,
        dropout=0.3,
        bridge=bridge,
    )
    for cell, layers, readout, bridge in product(("gru", "lstm"), (1, 2), ("tanh", "maxout"), ("linear", "zeros"))
]
MODELS = [
    EncoderDecoder(source=frontends.Tokens(width=5), target=frontends.Tokens(width=2), encoder=encoder, decoder=decoder)
    for encoder, decoder in [
        *((encoder, DECODERS[0]) for encoder in ENCODERS),
        *((ENCODERS[1], decoder) for decoder in DECODERS[1:]),
    ]
]
SOURCE_SYMBOLS, TARGET_SYMBOLS = 7, 8


def label(config: object) -> str:
    """The test's name: every word and number that sets this member apart."""
    if isinstance(config, EncoderDecoder):
        return f"{label(config.encoder)} to {label(config.decoder)}"
    fields = ("kind", "cell", "layers", "directions", "readout", "bridge")
    return "-".join(str(getattr(config, name)) for name in fields if hasattr(config, name))


def model_of(config: EncoderDecoder) -> EncoderDecoderModel:
    return build_model(config, SOURCE_SYMBOLS, TARGET_SYMBOLS).eval()


def padded(*rows: list[int], length: int | None = None) -> Padded:
    length = length or max(map(len, rows))
    values = torch.tensor([row + [0] * (length - len(row)) for row in rows])
    return Padded(values, values != 0)


def batch_of(sources: list[list[int]], targets: list[list[int]], longer: int = 0) -> Batch:
    """START is 1 and END is 2; `longer` adds padding to both sides."""
    steps = max(map(len, targets)) + 1 + longer
    inputs = padded(*([1, *row] for row in targets), length=steps)
    outputs = padded(*([*row, 2] for row in targets), length=steps)
    real = outputs.mask.flatten().nonzero().squeeze(1)
    source = padded(*sources, length=max(map(len, sources)) + longer)
    return Batch(tuple(range(len(sources))), {"source": source}, Target(inputs, outputs, real))


def example(longer: int = 0) -> Batch:
    return batch_of([[3, 4, 5, 6], [5, 3], [6, 5, 4]], [[3, 4], [7, 5, 6, 3], [4]], longer)


def memory_of(width: int = 5, lengths: tuple[int, ...] = (3, 1), dtype: torch.dtype = torch.float32) -> Memory:
    """A memory of random numbers with sources of these lengths."""
    steps = max(lengths)
    mask = torch.arange(steps) < torch.tensor(lengths)[:, None]
    states = torch.randn(len(lengths), steps, width, dtype=dtype) * mask[:, :, None]
    final = torch.randn(len(lengths), 2, width, dtype=dtype)
    return Memory(len(mask), {"source": Remembered(states, mask)}, Final(final, final))


def without_gradient(module: nn.Module) -> list[str]:
    return [name for name, value in module.named_parameters() if value.grad is None or not value.grad.any()]


def close(one: Tensor, other: Tensor, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=tolerance)
