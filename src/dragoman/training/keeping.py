"""What a training leaves on disk, and how it comes back from there."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from dragoman.errors import StorageError
from dragoman.training.averaging import PREFIX, MovingAverage
from dragoman.training.checkpoints import Checkpoint, Checkpoints, refuse_misfit
from dragoman.training.events import Event, Saved, Warned
from dragoman.training.learner import Learner
from dragoman.training.optimisers import optimiser_tensors, restore_optimiser
from dragoman.training.progress import Progress
from dragoman.weights import give_weights, weights_of

CARRY = "carry."  # the names of what streams of a language model have left
FAILED_SAVES = 3  # in a row, before a full disk ends the training


class Keeper:
    """Checkpoints and the model that is handed out: the moving average of the weights, where there is one."""

    def __init__(
        self,
        learner: Learner,
        optimiser: torch.optim.Optimizer,
        average: MovingAverage | None,
        checkpoints: Checkpoints,
        export: Callable[[int, float | None], None],
    ) -> None:
        self.learner, self.optimiser, self.average = learner, optimiser, average
        self.checkpoints, self.export = checkpoints, export
        self.failed_saves = 0
        self.unwritten: float | None = None  # what was measured of the model that was to be handed out

    def as_measured(self) -> AbstractContextManager[None]:
        """Within, the model has the weights that are validated and handed out."""
        return nullcontext() if self.average is None else self.average.in_place()

    def hand_out(self, progress: Progress) -> None:
        with self.as_measured():
            self.export(progress.step, progress.best_value)

    def tensors(self) -> dict[str, Tensor]:
        """All that a checkpoint keeps beside the weights."""
        carry = {f"{CARRY}{name}": value for name, value in self.learner.carry.items()}
        return optimiser_tensors(self.optimiser) | carry | ({} if self.average is None else self.average.tensors())

    def not_finite(self) -> str | None:
        """The name of a weight or a moment that is not finite."""
        for name, tensor in [*weights_of(self.learner.model).items(), *self.tensors().items()]:
            if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
                return name
        return None

    def save(self, progress: Progress, export: bool, anchors: list[int]) -> Iterator[Event]:
        """A disk that is full stops the training only when it stays full; a save fails if any part of it does."""
        failure: StorageError | None = None
        try:
            if export:
                self.hand_out(progress)
        except StorageError as error:
            failure, self.unwritten = error, progress.best_value
            progress.best_step = progress.best_value = None  # what was not handed out cannot be beaten
        before, progress.anchors = progress.anchors, anchors
        model = weights_of(self.learner.model)
        checkpoint = Checkpoint(progress.step, model, self.tensors(), progress.as_state())
        try:
            self.checkpoints.save(checkpoint, progress.best_step, anchors)
        except StorageError as error:
            progress.anchors = before
            failure = failure or error
        else:
            yield Saved(progress.step)
        if failure is None:
            self.failed_saves = 0
        else:
            yield from self.bear(failure)

    def bear(self, error: StorageError) -> Iterator[Event]:
        self.failed_saves += 1
        if self.failed_saves >= FAILED_SAVES:
            raise error
        yield Warned(f"{error} Training goes on; the next save tries again.")

    def begin_with(self, weights: dict[str, Tensor]) -> None:
        """Weights that nothing was learned from yet: moments and streams begin anew as well."""
        give_weights(self.learner.model, weights)
        self.optimiser.state.clear()
        self.learner.carry = {}
        if self.average is not None:
            self.average.restore({PREFIX + name: weight for name, weight in self.learner.model.named_parameters()})

    def restore(self, checkpoint: Checkpoint) -> None:
        refuse_misfit(checkpoint, self.learner.model)
        give_weights(self.learner.model, checkpoint.model)
        found = checkpoint.optimiser.items()
        own = {name: tensor for name, tensor in found if not name.startswith((PREFIX, CARRY))}
        restore_optimiser(self.optimiser, own)
        self.learner.carry = {name.removeprefix(CARRY): value for name, value in found if name.startswith(CARRY)}
        if self.average is not None:
            self.average.restore(checkpoint.optimiser)
