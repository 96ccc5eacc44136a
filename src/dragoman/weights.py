"""Weights as safetensors: equal tensors give equal bytes, and nothing is read that does not fit or has changed."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as tensors_to_bytes
from torch import Tensor, nn

from dragoman.errors import StorageError
from dragoman.runs import changed, not_safetensors, read_header
from dragoman.storage import BLANK, parsed, sealed

# What safetensors calls the types of numbers; others do not occur in a model.
TYPES = {"F32": torch.float32, "F64": torch.float64, "F16": torch.float16, "BF16": torch.bfloat16} | {
    "I64": torch.int64,
    "BOOL": torch.bool,
}


def weight_bytes(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """Tensors as a safetensors file; equal tensors give equal bytes. Metadata make it one with a seal."""
    plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    blank = {} if metadata is None else {**metadata, "tensors": BLANK, "seal": BLANK}
    content: bytes = tensors_to_bytes(plain, blank or None)
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    tensors_ = memoryview(content)[end:]
    if blank:
        header["__metadata__"]["tensors"] = hashlib.sha256(tensors_).hexdigest()
    # The library writes the metadata in an order that changes from call to call; ours is alphabetical.
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode().ljust(end - 8)
    return b"".join([sealed(content[:8] + text) if blank else content[:8] + text, tensors_])


def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a safetensors file of our own (its manifest is verified by the caller)."""
    try:
        with safe_open(path, "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError) as error:
        raise not_safetensors(path) from error


def read_weights(path: Path, expected: Mapping[str, Tensor], others: bool = False) -> dict[str, Tensor]:
    """Weights whose names and shapes are those of the model, checked before any of them is read, and unchanged; whether
    there may be `others` beside them, which are not read."""
    header = read_header(path)
    try:
        with safe_open(path, "pt") as file:
            names = [name for name in file.keys() if not others or name in expected]  # noqa: SIM118
            slices = {name: file.get_slice(name) for name in names}
            found = {name: tuple(one.get_shape()) for name, one in slices.items()}
            wanted = {name: tuple(tensor.shape) for name, tensor in expected.items()}
            if found != wanted:
                mismatch = first_mismatch(found, wanted)
                raise StorageError(f"{path} does not fit its config: {mismatch}. Copy the whole model folder again.")
            refuse_types(path, {name: one.get_dtype() for name, one in slices.items()}, expected)
            parsed(path, header[8:])  # of a name that stands there twice, the library would take the last
            verify_tensors(path, len(header), (file.metadata() or {}).get("tensors"))
            tensors = {name: file.get_tensor(name) for name in found}
    except (OSError, SafetensorError) as error:
        raise not_safetensors(path) from error
    refuse_infinite(path, tensors)
    return tensors


def refuse_types(path: Path, found: Mapping[str, str], expected: Mapping[str, Tensor]) -> None:
    for name, kind in found.items():
        wanted = expected[name].dtype
        if TYPES.get(kind) != wanted:
            raise StorageError(
                f"{path} does not fit: '{name}' holds numbers of the type {kind}, not {wanted}. Copy the whole model "
                "folder again."
            )


def refuse_infinite(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """One number that is none spreads to every answer; training never writes one."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and tensor.numel() and not bool(torch.stack(tensor.aminmax()).isfinite().all()):
            raise StorageError(
                f"{path} cannot be used: '{name}' holds numbers that are not finite. No training of dragoman writes "
                "such weights. Get the model again from where it was trained."
            )


def verify_tensors(path: Path, start: int, digest: str | None) -> None:
    """A file that says what its tensors hash to holds them unchanged."""
    if digest is None:
        return
    with path.open("rb") as file:
        file.seek(start)
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise changed(path)


def first_mismatch(found: Mapping[str, tuple[int, ...]], wanted: Mapping[str, tuple[int, ...]]) -> str:
    for name, shape in wanted.items():
        if found.get(name) != shape:
            return f"'{name}' should have shape {shape} and has {found.get(name, 'none')}"
    return f"it holds '{next(name for name in found if name not in wanted)}', which the model has not"


def weights_of(module: nn.Module) -> dict[str, Tensor]:
    """All weights by name; what two parts share stands under its first name alone."""
    first: dict[int, str] = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        first.setdefault(id(tensor), name)
    plain = module.state_dict()
    return {name: plain[name] for name in first.values()}


def give_weights(module: nn.Module, weights: Mapping[str, Tensor], assign: bool = False) -> None:
    """Put back what `weights_of` gave; what two parts shared they still share."""
    first: dict[int, str] = {}
    held = module.state_dict(keep_vars=True)
    names = {name: first.setdefault(id(tensor), name) for name, tensor in held.items()}
    given = {
        name: nn.Parameter(weights[name], held[name].requires_grad)
        if isinstance(held[name], nn.Parameter)
        else weights[name]
        for name in first.values()
    }
    module.load_state_dict({name: given[kept] for name, kept in names.items()}, assign=assign)


def load_weights(module: nn.Module, path: Path) -> None:
    """Give a module, which may still be on the meta device, the weights of a file that fits it."""
    give_weights(module, read_weights(path, weights_of(module)), assign=True)
