"""Loss spikes: a fast mean of the loss that runs away from a slow one (two windows, as Marian watches divergence)."""

import math
from dataclasses import dataclass

SLOW, FAST = 1000, 10  # updates in either window, whose weights fall off exponentially
DEVIATIONS = 5.0
FIRST = 200  # updates before an alarm, which the means need to settle
SMALLEST = 0.01  # share of the loss that counts as a standard deviation even where the loss hardly moves


@dataclass
class Spikes:
    """Four numbers that remember all losses so far; they are part of a checkpoint."""

    seen: int = 0
    slow: float = 0.0
    fast: float = 0.0
    variance: float = 0.0  # of single losses around the slow mean, so that one odd batch is no alarm

    def see(self, loss: float) -> bool:
        """Take the loss of an update, and say whether the fast mean left; after an alarm all begins anew."""
        self.seen += 1
        if self.seen == 1:
            self.slow = self.fast = loss
        self.fast += (loss - self.fast) * max(1 / self.seen, 2 / (FAST + 1))
        deviation = max(math.sqrt(self.variance), SMALLEST * abs(self.slow))
        if self.seen > FIRST and self.fast - self.slow > DEVIATIONS * deviation:
            self.seen, self.slow, self.fast, self.variance = 0, 0.0, 0.0, 0.0
            return True
        share = max(1 / self.seen, 2 / (SLOW + 1))
        away = abs(loss - self.slow)
        if self.seen > FIRST:
            away = min(away, DEVIATIONS * deviation)  # or a leap would widen its own measure
        self.variance += (away * away - self.variance) * share
        self.slow += (loss - self.slow) * share
        return False
