"""The best symbols of many rows are those of each row alone, whatever way they are found."""

import pytest
import torch

from dragoman.search.proposals import DEEP, MANY_ROWS, largest, propose, rank


def of_every_symbol(values: torch.Tensor, width: int, forbidden: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """By sorting everything."""
    return rank(values, torch.arange(values.shape[1]).expand_as(values), width, forbidden)


@pytest.mark.parametrize("size", [DEEP * 40, DEEP * 40 + 1, DEEP * 41 - 1, DEEP * 33 + 7])
@pytest.mark.parametrize("number", [1, 2, 8])
@pytest.mark.parametrize("rows", [1, MANY_ROWS, MANY_ROWS + 3])
def test_the_largest_are_those_of_topk(size: int, number: int, rows: int) -> None:
    values = torch.randn(rows, size + 5, generator=torch.Generator().manual_seed(size + number))[:, 2 : size + 2]
    found, expected = largest(values, number), values.topk(number)
    assert torch.equal(found[0], expected.values)
    assert torch.equal(found[1], expected.indices)


@pytest.mark.parametrize("place", [0, 1, DEEP * 40, DEEP * 40 + 2])
def test_the_largest_is_found_wherever_it_stands(place: int) -> None:
    values = torch.zeros(MANY_ROWS, DEEP * 40 + 3)
    values[:, place] = 1.0
    assert largest(values, 1)[1].unique().tolist() == [place]


@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_many_rows_propose_the_first_of_equals(width: int, levels: int) -> None:
    """With few levels nearly everything is tied, and some symbols are barred."""
    values = torch.randint(levels, (MANY_ROWS + 8, DEEP * 50 + 3), generator=torch.Generator().manual_seed(1)).float()
    values[:, 7] = -torch.inf
    values[3] = -torch.inf
    values[3, 40] = 0.0
    found, expected = propose(values, width, (0, 2)), of_every_symbol(values, width, (0, 2))
    assert torch.equal(found[0], expected[0])
    finite = expected[0].isfinite()
    assert torch.equal(found[1][finite], expected[1][finite])
