"""What the parts hand to one another has the shapes that it says."""

import pytest
import torch

from dragoman.contracts import Output


def test_shapes_are_checked_here() -> None:
    """The suite checks shapes at run time, but for whole trainings; a wrong one must not pass."""
    with pytest.raises(Exception, match="hidden"):
        Output(hidden=torch.zeros(2, 3))
