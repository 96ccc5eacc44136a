"""Where numbers stop being finite: which part of the model, and which line of the data."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from dragoman.contracts import Batch
from dragoman.seeds import key
from dragoman.training.learner import Learner
from dragoman.training.optimisers import values_of
from dragoman.training.update import Draw

LOSS = "the loss"
MOST_ALONE = 1000  # examples that are tried one by one


@dataclass(frozen=True)
class Diagnosis:
    """What is not finite first, and in which examples."""

    part: str  # "model.encoder", "the gradient of model.decoder", "the parameter model.head.output.weight", "the loss"
    line: int | None  # of the one example that is enough for it
    lines: tuple[int, ...]  # of the whole batch

    def sentence(self, place: Callable[[int], str]) -> str:
        """model.encoder, with train.tsv:12"""
        if self.line is not None:
            return f"{self.part}, with {place(self.line)}"
        return f"{self.part}, with the {len(self.lines)} lines of a batch, from {place(min(self.lines))} on"


def diagnose(
    learner: Learner, draws: Sequence[Draw], seed: int, step: int, parts: int, device: torch.device
) -> Diagnosis:
    """Run the update again, watching every operation; the gradients of it are dropped."""
    batches = [batch for draw in draws for batch in draw.batches(parts)]
    everything = tuple(line for batch in batches for line in batch.examples)
    try:
        for name, parameter in learner.named_parameters():
            if not is_finite(parameter):
                return Diagnosis(f"the parameter {name}", None, everything)
        for number, batch in enumerate(batches):
            torch.manual_seed(key(seed, "dropout", step, number))
            if part := first_bad_part(learner, batch.to(device), step):
                return Diagnosis(part, guilty_line(learner, draws, step, device), batch.examples)
        return Diagnosis("the loss or its gradient", None, everything)
    finally:
        learner.zero_grad(set_to_none=True)


def first_bad_part(learner: Learner, batch: Batch, step: int) -> str | None:
    """The part whose operation gave the first number that is not finite, forwards or else backwards."""
    watch = Watch({module: name for name, module in learner.named_modules()})
    with watch:
        loss = torch.stack([loss.total / max(1, loss.count) for loss in learner(batch, step).values()]).sum()
    if watch.found is None and not is_finite(loss):
        watch.found = LOSS
    if watch.found is not None:
        return watch.found
    with watch.backwards() as found:
        loss.backward()  # type: ignore[no-untyped-call]
    if found:
        return f"the gradient of {found[0]}"
    for name, parameter in learner.named_parameters():
        if parameter.grad is not None and not is_finite(values_of(parameter.grad)):
            return f"the gradient of {name}"
    return None


class Watch(TorchFunctionMode):
    """Looks at the result of every operation, and at who asked for it."""

    def __init__(self, names: Mapping[nn.Module, str]) -> None:
        super().__init__()
        self.names = names
        self.found: str | None = None
        self.asked: list[tuple[Any, str]] = []  # each step of the backward pass, and the part it belongs to

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        result = function(*arguments, **(named or {}))
        for tensor in tensors_in(result):
            if tensor.grad_fn is not None:
                self.asked.append((tensor.grad_fn, self.owner()))
            if self.found is None and not is_finite(tensor):
                self.found = self.owner()
        return result

    def owner(self) -> str:
        """The innermost module with a method under way; parts are entered by other methods than forward, too."""
        frame = sys._getframe(1)
        while frame is not None:
            module = frame.f_locals.get("self")
            if isinstance(module, nn.Module) and module in self.names:
                return self.names[module] or LOSS
            frame = frame.f_back  # type: ignore[assignment]
        return LOSS

    @contextmanager
    def backwards(self) -> Iterator[list[str]]:
        """Collects the parts whose gradients are not finite though what they were given is."""
        found: list[str] = []

        def look(name: str) -> Callable[[Any, Any], None]:
            def looked(to_inputs: Any, to_outputs: Any) -> None:
                if all(map(is_finite, tensors_in(to_outputs))) and not all(map(is_finite, tensors_in(to_inputs))):
                    found.append(name)

            return looked

        handles = [node.register_hook(look(name)) for node, name in dict(self.asked).items()]
        try:
            yield found
        finally:
            for handle in handles:
                handle.remove()
            self.asked.clear()


def guilty_line(learner: Learner, draws: Sequence[Draw], step: int, device: torch.device) -> int | None:
    """The line of the first example that gives numbers that are not finite all by itself."""
    if sum(len(draw.indices) for draw in draws) > MOST_ALONE:
        return None
    for draw in draws:
        for batch in draw.batches(len(draw.indices)):
            learner.zero_grad(set_to_none=True)
            loss = torch.stack([loss.total for loss in learner(batch.to(device), step).values()]).sum()
            loss.backward()  # type: ignore[no-untyped-call]
            gradients = [values_of(weight.grad) for weight in learner.parameters() if weight.grad is not None]
            if not is_finite(loss) or not all(map(is_finite, gradients)):
                return batch.examples[0]
    return None


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors of a result: itself, or those within a tuple or list."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from tensors_in(item)


def is_finite(tensor: Tensor) -> bool:
    """Negative infinity is no fault in scores that are masked, but our masks use the lowest number instead."""
    with torch._C.DisableTorchFunction():
        plain = not tensor.is_floating_point() or tensor.is_meta
        return plain or bool(torch.isfinite(tensor).all())
