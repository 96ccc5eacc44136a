"""Greedy search: the most probable symbol at every step."""

from typing import Literal

from dragoman.config import Config


class Greedy(Config):
    """Take the most probable symbol at every step; the same as a beam of one (Sutskever et al. 2014, §3.2)."""

    kind: Literal["greedy"] = "greedy"
