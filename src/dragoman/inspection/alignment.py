"""Which source tokens an output symbol looked at: a prediction's alignment, drawn."""

from dragoman.contracts import Prediction
from dragoman.drawing import svg, terminal


def alignment_text(
    prediction: Prediction,
    colours: terminal.Colours = "plain",
    width: int | None = None,
    values: bool = False,
    entropies: bool = False,
) -> str:
    """For a terminal of so many columns; log-probabilities (`values`) and `entropies` stand beside the symbols."""
    return terminal.text(prediction.aligned(), colours, width, values, terminal.is_light(), entropies)


def alignment_svg(prediction: Prediction, title: str = "", values: bool = False, entropies: bool = False) -> str:
    """One <svg> element in the colours of the page around it."""
    return svg.svg(prediction.aligned(), title, values, entropies)
