"""Weights from a stranger: whatever the header claims, it is refused at once and without the memory it asks for."""

import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from dragoman.errors import StorageError
from dragoman.runs import read_metadata
from dragoman.weights import load_weights, weight_bytes


def module() -> nn.Module:
    with torch.device("meta"):
        return nn.Linear(3, 2)


def file_of(header: dict[str, Any] | bytes, data: bytes = b"", claimed: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if claimed is None else claimed).to_bytes(8, "little") + text + data


def tensor(shape: list[Any], start: Any, end: Any, kind: str = "F32") -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [start, end]}


WEIGHTS = {"weight": tensor([2, 3], 0, 24), "bias": tensor([2], 24, 32)}
HOSTILE: dict[str, Callable[[], bytes]] = {
    "a trillion elements": lambda: file_of({"weight": tensor([10**12], 0, 4 * 10**12)}),
    "a trillion elements in eight bytes": lambda: file_of({"weight": tensor([10**12], 0, 8)}, bytes(8)),
    "a hundred thousand tensors": lambda: file_of(
        {f"weight{n}": tensor([1], 4 * n, 4 * n + 4) for n in range(100_000)}
    ),
    "overlap": lambda: file_of(WEIGHTS | {"bias": tensor([2], 16, 24)}, bytes(24)),
    "a hole": lambda: file_of(WEIGHTS | {"bias": tensor([2], 28, 36)}, bytes(36)),
    "another shape": lambda: file_of({"weight": tensor([3, 2], 0, 24), "bias": tensor([2], 24, 32)}, bytes(32)),
    "another type": lambda: file_of({"weight": tensor([2, 3], 0, 12, "F16"), "bias": tensor([2], 12, 20)}, bytes(20)),
    "one too many": lambda: file_of(WEIGHTS | {"more": tensor([1], 32, 36)}, bytes(36)),
    "one too few": lambda: file_of({"weight": tensor([2, 3], 0, 24)}, bytes(24)),
    "bytes behind": lambda: file_of(WEIGHTS, bytes(33)),
    "not a number": lambda: file_of(b'{"weight":{"dtype":"F32","shape":[NaN],"data_offsets":[0,NaN]}}'),
    "negative": lambda: file_of({"weight": tensor([-2, 3], -24, 0)}),
    "a huge number": lambda: file_of(b'{"weight":{"dtype":"F32","shape":[1e400],"data_offsets":[0,4]}}'),
    "nested": lambda: file_of(b'{"a":' + b"[" * 100_000),
    "a header longer than the file": lambda: file_of(WEIGHTS, claimed=10**6),
    "a header of exabytes": lambda: file_of(WEIGHTS, claimed=2**62),
    "no header": lambda: b"",
    "seven bytes": lambda: bytes(7),
    "only a length": lambda: bytes(8),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_weights_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(HOSTILE[name]())
    before, started_at = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(StorageError, match=r"model\.safetensors"):
        load_weights(module(), path)
    assert time.process_time() - started_at < 0.5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes


def test_sound_weights_are_not(tmp_path: Path) -> None:
    """The same file with nothing wrong, so that the refusals above are for their reasons."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(file_of(WEIGHTS, bytes(32)))
    linear = module()
    load_weights(linear, path)
    assert linear(torch.ones(1, 3)).tolist() == [[0, 0]]


def test_sealed_weights_say_what_they_are_without_reading_them(tmp_path: Path) -> None:
    """A list of runs reads headers only; loading reads and checks all."""
    path = tmp_path / "model.safetensors"
    content = weight_bytes({"weight": torch.ones(2, 3), "bias": torch.zeros(2)}, {"step": "7"})
    path.write_bytes(content[:-1] + b"\1")
    assert read_metadata(path)["step"] == "7"
    with pytest.raises(StorageError, match=r"has changed since it was written. Copy it again, or train on"):
        load_weights(module(), path)
    path.write_bytes(content.replace(b'"step":"7"', b'"step":"6"'))
    with pytest.raises(StorageError, match="has changed since it was written"):
        read_metadata(path)


def test_equal_weights_give_equal_bytes() -> None:
    tensors = {"b": torch.ones(2), "a": torch.zeros(3)}
    assert len({weight_bytes(tensors, {"x": "1", "y": "2", "z": "3"}) for _ in range(20)}) == 1
