"""Greedy search: the most probable symbol at every step."""

from typing import Literal

from dragoman.config import Config


class Greedy(Config):
    """The most probable symbol at every step, as a beam of one: y_t = argmax_v p(v | y_<t, x) (Sutskever et al. 2014,
    §3.2)."""

    kind: Literal["greedy"] = "greedy"
