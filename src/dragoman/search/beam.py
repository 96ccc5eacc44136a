"""Beam search: the k best beginnings go on together."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveInt, model_validator

from dragoman.config import Config
from dragoman.search.scorers import Normalisation

WIDEST = 10_000  # a wider beam than anybody's memory holds is a slip of the finger


class Beam(Config):
    """The k most probable beginnings go on together, and those that end are set aside: Y_t = the k best of
    {y v : y ∈ Y_{t−1}, v one of the k best symbols behind y} by Σ log p (Graves 2012; Sutskever et al. 2014, §3.2)."""

    kind: Literal["beam"] = "beam"
    width: Annotated[int, Field(ge=1, le=WIDEST)] = 5
    """hypotheses that go on at each step, and symbols that each of them proposes"""
    stop: Literal["proved", "likely"] = "proved"
    """when a sentence is done: proved: no live hypothesis can still win (Huang et al. 2017); likely: none would win if
    its next symbol were END and certain, which takes fewer steps and seldom changes the answer"""
    finished: PositiveInt | None = None
    """stop a sentence when so many hypotheses have ended, even bad ones, whatever the others might become"""
    normalisation: Normalisation = "average"
    """what a log-probability of n symbols, END counted, is divided by before answers are ranked: 1 (none), n (average),
    n^α (power), ((5 + n) / 6)^α (gnmt: Wu et al. 2016, §7)"""
    alpha: Annotated[float, Field(ge=0, le=10)] = 1.0
    """the α of power and gnmt"""
    coverage: Annotated[float, Field(ge=0, le=100)] = 0.0
    """the β of the coverage penalty, which asks that every source position was looked at (Wu et al. 2016, §7)"""
    groups: PositiveInt = 1
    """the beam is divided into so many groups that keep away from one another (Vijayakumar et al. 2018)"""
    diversity: NonNegativeFloat = 0.5
    """what a group pays for a symbol that an earlier group chose at the same step"""

    @model_validator(mode="after")
    def _whole_groups(self) -> "Beam":
        if self.width % self.groups:
            raise ValueError(f"a beam of {self.width} cannot be divided into {self.groups} equal groups")
        return self
