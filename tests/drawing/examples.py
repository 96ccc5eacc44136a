"""Alignments to draw."""

from dragoman.drawing.alignment import Alignment, Weights


def alignment(source: tuple[str, ...], target: tuple[str, ...], weights: Weights | None = None) -> Alignment:
    """All weights 1 unless given; log-probabilities of -0.5, -1, -1.5 …"""
    full = ((1.0,) * len(source),) * len(target) if weights is None else weights
    return Alignment(source, target, full, tuple(-0.5 * (number + 1) for number in range(len(target))))


def large(side: int) -> Alignment:
    """Words of growing length on a blurred diagonal."""
    words = tuple("w" * (number % 30 + 1) for number in range(side - 1))
    weights = tuple(
        tuple(0.6 if row == column else 0.2 if abs(row - column) == 1 else 0.0 for column in range(side))
        for row in range(side)
    )
    return alignment((*words, "</s>"), (*words, "END"), weights)
