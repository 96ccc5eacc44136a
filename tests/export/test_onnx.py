"""Exports to ONNX: every kind of part is traced and answers as torch does; what does not is not kept."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper

from command_line import CommandLine
from dragoman import decoders, encoders, frontends
from dragoman.errors import ConfigError, NumericalError
from dragoman.export import Wanted, export
from dragoman.export import onnx as to_onnx
from dragoman.export.onnx_checks import Graphs, numbers_agree, texts_agree
from dragoman.export.onnx_graphs import write_graphs
from dragoman.models import EncoderDecoder, build_model
from dragoman.nn import attention as attentions
from dragoman.pipeline import Pipeline
from dragoman.served import Limits
from tiny import TRANSFORMER, Corpus, run_all, tiny

EXAMPLE = Path(__file__).parents[2] / "examples" / "decode_onnx.py"
LIMITS = Limits(source=11, answer=12)
LAYERS = {"heads": 2, "layers": 1, "feed_forward": 7}
PAPER = {"norm_place": "after"}
MODERN = {"norm": "rms", "activation": "swiglu", "positions": {"kind": "rotary"}}
LEARNED = {"activation": "gelu", "positions": {"kind": "learned", "length": 12}}
ONE_HOT = {"positions": {"kind": "one_hot", "length": 12}, "norm_place": "after"}


def reads(**settings: Any) -> encoders.Transformer:
    return encoders.Transformer(**LAYERS, **settings)


def writes(**settings: Any) -> decoders.Transformer:
    return decoders.Transformer(**LAYERS, **settings)


def recurrent(attention: object, **settings: Any) -> decoders.Rnn:
    return decoders.Rnn(**{"attention": attention, "width": 6, "readout_width": 4} | settings)


# Each kind of positions and norm place, and the rest where it costs nothing more; tests/laws has every kind of part.
MODELS = {
    "paper to rotary": (reads(**PAPER), writes(**MODERN)),
    "learned to one-hot": (reads(**LEARNED), writes(**ONE_HOT)),
    "rotary to recurrent": (
        reads(**MODERN),
        recurrent(
            attentions.Cosine(weights=attentions.Hard()),
            cell="sigmoid",
            width=4,
            context=("input",),
            query="current",
            readout="maxout",
            bridge="zeros",
        ),
    ),
    "recurrent to learned": (encoders.Rnn(cell="gru", layers=2, width=3, residual=True), writes(**LEARNED)),
    "lstm, local, fed": (
        encoders.Rnn(cell="lstm", layers=2, width=3, reverse=True),
        recurrent(
            attentions.General(weights=attentions.Local(position="monotonic", window=1)),
            cell="lstm",
            layers=2,
            context=("every_layer", "readout"),
            query="current",
            query_layer="bottom",
            input_feeding=True,
            bridge="copy",
        ),
    ),
}


@pytest.fixture(autouse=True)
def _no_types_of_symbols() -> Iterator[None]:
    """Sizes of what is traced are symbols, which the checkers of annotations do not take for numbers."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


OFTEN = ("paper to rotary", "lstm, local, fed")


@pytest.mark.parametrize("name", [n if n in OFTEN else pytest.param(n, marks=pytest.mark.slow) for n in MODELS])
def test_every_kind_of_part_computes_alike(name: str, tmp_path: Path) -> None:
    encoder, decoder = MODELS[name]
    width = frontends.Tokens(width=4, scaled=True)
    model = build_model(EncoderDecoder(source=width, target=width, encoder=encoder, decoder=decoder), 7, 8).eval()
    write_graphs(model, tmp_path, {"source": 12, "target": 12})
    facts = numbers_agree(Graphs.load(tmp_path, 1), model, LIMITS)
    assert facts["sizes"] == [(1, 3), (3, 12)]
    assert facts["largest_difference"] < 1e-5


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "transformer"
    # 120 steps: answers that differ from line to line. Limits that a few of the lines reach.
    steps = {"training__steps": 120, "training__validate_every": 120, "training__optimiser__rate": 0.01}
    limits = {"limits__source": 5, "limits__ratio": 1.0, "limits__extra": 1, "limits__least": 3}
    run_all(tiny(corpus, **TRANSFORMER, **steps, **limits), out)
    return out


@pytest.fixture(scope="module")
def exported(run: Path, dragoman: CommandLine) -> dict[str, Any]:
    done = dragoman("export", run, "--to", "onnx", "--json")
    assert done.code == 0, done.err
    return dict(json.loads(done.out))


def test_the_command_writes_a_folder_that_describes_itself(run: Path, exported: dict[str, Any]) -> None:
    folder = Path(exported["out"])
    assert folder == run / "exports" / "onnx"
    names = {path.name for path in folder.iterdir()}
    assert names == {"encoder.onnx", "decoder.onnx", "source.json", "target.json", "export.json"}
    assert (exported["lines"], exported["equal"], exported["ties"]) == (40, 40, 0)
    facts = json.loads((folder / "export.json").read_text())
    for part in ("encoder", "decoder"):
        graph = onnx.load(folder / facts[part]["file"]).graph
        assert [one.name for one in graph.input] == list(facts[part]["inputs"])
        assert [one.name for one in graph.output] == list(facts[part]["outputs"])
    assert facts["feeds"] == {"next.past.0": "state.past.0"}
    assert set(facts["decoder"]["inputs"]) == {"last", *facts["encoder"]["outputs"]}
    assert facts["symbols"] == {"padding": 0, "unknown": 1, "start": 2, "end": 3}


def test_the_example_answers_as_dragoman_does(run: Path, exported: dict[str, Any], corpus: Corpus) -> None:
    texts = [line.split("\t")[0] for line in corpus.valid.read_text().splitlines()[:20]]
    texts += ["", "   ", "a?c", "abcdefgabcdefg"]
    command = [sys.executable, str(EXAMPLE), exported["out"]]
    done = subprocess.run(command, input="\n".join(texts) + "\n", capture_output=True, text=True, check=True)
    expected = [answer.text for answer in Pipeline.load(run, "cpu").stream(texts, beam=1, longer="cut")]
    assert done.stdout.split("\n")[:-1] == expected
    assert len(set(expected)) > 5


def tamper(folder: Path) -> None:
    """The largest tensor of the decoder is a tenth larger."""
    model = onnx.load(folder / "decoder.onnx")
    weights = [one for one in model.graph.initializer if one.data_type == onnx.TensorProto.FLOAT]
    largest = max(weights, key=lambda weight: int(np.prod(weight.dims)))
    largest.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(largest) * np.float32(1.1), largest.name))
    onnx.save(model, folder / "decoder.onnx")


def test_what_differs_is_told_and_not_kept(
    run: Path, exported: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_wrongly(folder: Path, *_: object) -> dict[str, Any]:
        shutil.copytree(exported["out"], folder, dirs_exist_ok=True)
        tamper(folder)
        return {}

    monkeypatch.setattr(to_onnx, "write", write_wrongly)
    with pytest.raises(
        NumericalError,
        match=r"does not compute what the run does: with 1 source of 3 symbols, log-probabilities .* at step 1",
    ):
        export(run, "onnx", Wanted(out=tmp_path / "there"))
    assert list(tmp_path.iterdir()) == []


def test_texts_that_differ_are_told(run: Path, exported: dict[str, Any]) -> None:
    pipeline, graphs = Pipeline.load(run, "cpu"), Graphs.load(Path(exported["out"]), 1)
    with torch.no_grad():  # torch is another model now
        pipeline.model.head.output.bias[4] += 10
    answers = [answer.text for answer in pipeline.stream(["abc"], beam=1)]
    with pytest.raises(NumericalError, match=r"to the line 'abc' ONNX Runtime answers '.*', and torch '.*'"):
        texts_agree(graphs, pipeline, ["abc"], answers)


def test_what_cannot_be_is_refused_before_anything_is_done(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="leave out --quantize int8"):
        export(run, "onnx", Wanted(out=tmp_path / "there", quantize="int8"))
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ConfigError, match=r"needs onnxscript, which is not installed: pip install 'dragoman\[onnx\]'"):
        export(run, "onnx", Wanted(out=tmp_path / "there"))
    assert list(tmp_path.iterdir()) == []


def test_what_torch_cannot_trace_is_refused_by_its_kind(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a part would be that looks at the numbers themselves to choose its way."""

    def forward(self: object, vectors: torch.Tensor, first: int) -> torch.Tensor:
        return vectors if vectors.sum() > 0 else -vectors

    monkeypatch.setattr("dragoman.nn.positions.SinusoidalPositions.forward", forward)
    with pytest.raises(ConfigError, match=r"cannot write this model as ONNX \(model.encoder.kind = 'transformer'"):
        export(run, "onnx", Wanted(out=tmp_path / "there"))
    assert list(tmp_path.iterdir()) == []
