"""The most probable next symbols of each row."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.errors import NumericalError
from dragoman.search.beams import Beams

Proposals = tuple[Float[Tensor, "N P"], Int[Tensor, "N P"]]

MANY_ROWS = 32  # from which on `largest` looks for columns first
DEEP = 8  # symbols of a column


class MostProbable:
    """Every row proposes its best symbols."""

    def __init__(self, number: int, forbidden: tuple[int, ...]) -> None:
        self.number, self.forbidden = number, forbidden

    def __call__(self, scores: Float[Tensor, "N V"], beams: Beams) -> Proposals:
        return propose(scores, self.number, self.forbidden)


def propose(log_probabilities: Float[Tensor, "N V"], width: int, forbidden: tuple[int, ...]) -> Proposals:
    """Log-probabilities and symbols of the `width` best in each row, best first, the lower symbol first among equals.

    `topk` breaks ties as it pleases, so it is asked for a few more than needed. Where there is neither a tie nor a
    forbidden symbol among them, they are the best; else they are ranked, and only rows whose last place is tied with
    symbols that `topk` may have left out are ranked over the whole vocabulary.
    """
    if width == 1 and log_probabilities.shape[0] < MANY_ROWS:
        value, symbol = log_probabilities.max(1, keepdim=True)  # the first of equals
        if int(symbol.min()) > max(forbidden, default=-1):
            return value, symbol
    vocabulary = log_probabilities.shape[1]
    values, symbols = largest(log_probabilities, min(vocabulary, width + 1 + len(forbidden)))
    falling = (values[:, 1:] < values[:, :-1]).all()
    if bool(falling) and int(symbols.min()) > max(forbidden, default=-1):
        return values[:, :width], symbols[:, :width]
    best, chosen = rank(values, symbols, width, forbidden)
    unsure = (best[:, -1] == values[:, -1]) & best[:, -1].isfinite()
    if values.shape[1] < vocabulary and bool(unsure.any()):
        rows = log_probabilities[unsure]
        everything = torch.arange(vocabulary, device=rows.device).expand_as(rows)
        best[unsure], chosen[unsure] = rank(rows, everything, width, forbidden)
    return best, chosen


def largest(values: Float[Tensor, "N V"], number: int) -> Proposals:
    """The largest of each row, falling: in columns, of which those with the largest maxima hold all that is looked for.

    With 8,000 symbols and two cores the 8 best of 320 rows take 1.5 ms in place of 3.0, of 64 rows 0.4 in place of 0.6.
    Maxima of several columns are found at once, and `topk` looks at every symbol by itself.
    """
    rows, size = values.shape
    wide = size // DEEP
    if rows < MANY_ROWS or wide < 4 * number or values.device.type != "cpu":
        return values.topk(number)
    columns = values.as_strided((rows, DEEP, wide), (values.stride(0), wide * values.stride(1), values.stride(1)))
    best = largest(columns.amax(1), number)[1]
    found = columns.gather(2, best[:, None].expand(-1, DEEP, -1)).flatten(1)
    left = values[:, wide * DEEP :]  # what fills no row of columns
    found, places = torch.cat([found, left], 1).topk(number)
    symbols = best.gather(1, places % number).add_(places // number * wide)
    return found, symbols.where(places < number * DEEP, places + (wide - number) * DEEP)


def rank(
    values: Float[Tensor, "N C"], symbols: Int[Tensor, "N C"], width: int, forbidden: tuple[int, ...]
) -> Proposals:
    """The best `width` candidates in a fixed order; forbidden ones get -inf."""
    symbols, order = symbols.sort(dim=1)
    values = values.gather(1, order)
    if forbidden:
        barred = torch.isin(symbols, torch.tensor(forbidden, device=symbols.device))
        values = values.masked_fill(barred, -torch.inf)
    values, order = values.sort(dim=1, descending=True, stable=True)
    return values[:, :width], symbols.gather(1, order)[:, :width]


def dead_end() -> NumericalError:
    """No answer at all: NaN from the model, or every symbol forbidden."""
    return NumericalError("The model gave no allowed symbol a finite log-probability: the search has nowhere to go.")
