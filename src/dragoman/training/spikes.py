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
    variance: float = 0.0  # of the fast mean around the slow one

    def see(self, loss: float) -> bool:
        """Take the loss of an update, and say whether the fast mean left; after an alarm all begins anew."""
        self.seen += 1
        if self.seen == 1:
            self.slow = self.fast = loss
        self.fast += (loss - self.fast) * max(1 / self.seen, 2 / (FAST + 1))
        away = self.fast - self.slow
        if self.seen > FIRST and away > DEVIATIONS * max(math.sqrt(self.variance), SMALLEST * abs(self.slow)):
            self.seen, self.slow, self.fast, self.variance = 0, 0.0, 0.0, 0.0
            return True
        share = max(1 / self.seen, 2 / (SLOW + 1))
        self.slow += (loss - self.slow) * share
        self.variance += (away * away - self.variance) * share
        return False
