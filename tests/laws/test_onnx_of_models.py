"""Every model can be written as ONNX, and its graphs compute what it computes."""

from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest
from model_parts import MODELS, label, model_of

from dragoman.export.onnx_checks import Graphs, numbers_agree
from dragoman.export.onnx_graphs import write_graphs
from dragoman.models import EncoderDecoder
from dragoman.served import Limits


@pytest.fixture(autouse=True)
def _no_types_of_symbols() -> Iterator[None]:
    """Sizes of what is traced are symbols, which the checkers of annotations do not take for numbers."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "config", [one for one in MODELS if one.encoder.kind != "hierarchical" and one.ngrams.longest == 1], ids=label
)
def test_graphs_repeat_the_model(config: EncoderDecoder, tmp_path: Path) -> None:
    model = model_of(config)
    write_graphs(model, tmp_path, {"source": 12, "target": 12})
    assert numbers_agree(Graphs.load(tmp_path, 1), model, Limits(source=11, answer=12))["largest_difference"] < 1e-5
