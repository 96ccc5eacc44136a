"""Weights as safetensors: equal tensors give equal bytes, and nothing is read that does not fit."""

import json
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as tensors_to_bytes
from torch import Tensor, nn

from dragoman.errors import StorageError
from dragoman.runs import not_safetensors


def weight_bytes(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """Tensors as a safetensors file; equal tensors give equal bytes."""
    plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    content: bytes = tensors_to_bytes(plain, dict(metadata) if metadata else None)
    # The library writes the metadata in an order that changes from call to call; ours is alphabetical.
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8:end]), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return content[:8] + header.encode().ljust(end - 8) + content[end:]


def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a safetensors file of our own (its manifest is verified by the caller)."""
    try:
        with safe_open(path, "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError) as error:
        raise not_safetensors(path) from error


def read_weights(path: Path, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights whose names, shapes and types are those of the model, checked before any of them is read."""
    try:
        with safe_open(path, "pt") as file:
            found = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            wanted = {name: tuple(tensor.shape) for name, tensor in expected.items()}
            if found != wanted:
                raise StorageError(f"{path} does not fit its config: {first_mismatch(found, wanted)}.")
            return {name: file.get_tensor(name) for name in found}
    except (OSError, SafetensorError) as error:
        raise not_safetensors(path) from error


def first_mismatch(found: Mapping[str, tuple[int, ...]], wanted: Mapping[str, tuple[int, ...]]) -> str:
    for name, shape in wanted.items():
        if found.get(name) != shape:
            return f"'{name}' should have shape {shape} and has {found.get(name, 'none')}"
    return f"it holds '{next(name for name in found if name not in wanted)}', which the model has not"


def load_weights(module: nn.Module, path: Path) -> None:
    """Give a module, which may still be on the meta device, the weights of a file that fits it."""
    module.load_state_dict(read_weights(path, module.state_dict()), assign=True)
