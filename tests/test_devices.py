"""Devices are settings; one that is not there is an error, never a silent fallback."""

import os
import sys

import pytest
import torch

from dragoman.devices import (
    describe,
    device_of,
    end_waiting_threads,
    is_out_of_memory,
    keep_freed_memory,
    seed_draws,
    use_fast_products,
    use_threads,
)
from dragoman.errors import ConfigError


def test_auto_is_something_that_is_there() -> None:
    assert torch.ones(1, device=device_of("auto")).sum() == 1


def test_an_unknown_device_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="No device is called 'cdua'"):
        device_of("cdua")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has the device")
def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="has no 'cuda' device"):
        device_of("cuda:0")


def test_out_of_memory_is_told_from_other_failures() -> None:
    assert is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"))
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert not is_out_of_memory(RuntimeError("shapes do not match"))


def test_threads_and_allocator_are_set_in_one_place() -> None:
    assert use_threads(1) == 1
    assert describe(torch.device("cpu"))["threads"] == 1
    assert isinstance(keep_freed_memory(), bool)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
def test_threads_that_wait_are_ended_and_come_back() -> None:
    torch.set_num_threads(2)
    try:
        numbers = torch.ones(400, 400)
        expected = numbers @ numbers
        waiting = len(os.listdir("/proc/self/task"))
        if end_waiting_threads():
            assert len(os.listdir("/proc/self/task")) < waiting
        assert torch.equal(numbers @ numbers, expected)
    finally:
        torch.set_num_threads(1)


def test_what_is_drawn_is_what_torch_draws() -> None:
    torch.manual_seed(2**62 + 3)
    wanted = torch.rand(4).tolist()
    seed_draws(2**62 + 3, torch.device("cpu"))
    assert torch.rand(4).tolist() == wanted


def test_fast_products_round_as_others_do() -> None:
    try:
        use_fast_products()
        one, other = torch.randn(64, 512), torch.randn(512, 96)
        torch.testing.assert_close((one @ other).double(), one.double() @ other.double(), rtol=0, atol=1e-3)
    finally:
        torch.set_float32_matmul_precision("highest")
