"""Recurrent cells, and layers of them over many steps."""

from dragoman.nn.recurrent.cells import CELLS, Cell, Joined, Kept, Recurrent, Rows, build_cell, cells_of
from dragoman.nn.recurrent.layers import beside, in_order, reversing, run_layer, unroll

__all__ = [
    "CELLS",
    "Cell",
    "Joined",
    "Kept",
    "Recurrent",
    "Rows",
    "beside",
    "build_cell",
    "cells_of",
    "in_order",
    "reversing",
    "run_layer",
    "unroll",
]
