"""How fast a training is, as a trial found it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Speed:
    """The number of threads that was fastest, and what an update takes on it."""

    threads: int
    seconds_per_update: float
    updates_per_epoch: int
    others: tuple[tuple[int, float], ...] = ()  # numbers of threads that were tried, and seconds per update

    @property
    def seconds_per_epoch(self) -> float:
        return max(1e-9, self.seconds_per_update * self.updates_per_epoch)

    @property
    def reason(self) -> str:
        rates = [f"{1 / seconds:,.3g} updates/s on {threads}" for threads, seconds in self.others]
        return f"in a trial {' and '.join(rates)}"
