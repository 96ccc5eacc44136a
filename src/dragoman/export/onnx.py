"""ONNX: encoder.onnx and decoder.onnx (one step), for whatever runs such files; proved with ONNX Runtime."""

import importlib.util
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import torch

from dragoman.data.draft import draft_of
from dragoman.data.tokenizers import END, PADDING, START, UNKNOWN
from dragoman.errors import ConfigError
from dragoman.export import Exported, Wanted, place_for, refuse_ngrams, size_of
from dragoman.export.agreement import left_out, plain
from dragoman.export.held_out import held_out
from dragoman.models import EncoderDecoder, EncoderDecoderModel
from dragoman.pipeline import Pipeline, model_folder
from dragoman.served import require_source
from dragoman.storage import write_record

NEEDED = ("onnx", "onnxruntime", "onnxscript")


def export(run: Path, wanted: Wanted) -> Exported:
    """Write both graphs, the tokenizers and a description; nothing is left where they do not answer as torch does."""
    refuse_missing()
    if wanted.quantize != "none":
        raise ConfigError(
            f"An export to onnx keeps the weights as they are: leave out --quantize {wanted.quantize}, or export to "
            "ctranslate2."
        )
    out, trained = place_for(run, wanted, "onnx"), Pipeline.load(run, "cpu")
    require_source(trained.settings.model.kind, "An export")
    refuse_ngrams(trained.settings, "An export to onnx")
    pipeline, lines = plain(trained), held_out(run, wanted, trained)
    with draft_of(out) as draft:
        wanted.watch("tracing", 0.0)
        description = write(draft, pipeline, model_folder(run))
        checks = check(draft, pipeline, lines, wanted)
        write_record(draft / "export.json", {**description, "checks": checks})
    told = sentences(size_of(out), checks)
    return Exported("onnx", out, size_of(out), checks, [*told, *left_out(trained)])


def refuse_missing() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"An export to onnx needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not "
            "installed: pip install 'dragoman[onnx]'."
        )


def write(folder: Path, pipeline: Pipeline, model: Path) -> dict[str, Any]:
    """The graphs and the tokenizers; and what somebody has to know who uses them."""
    from dragoman.export.onnx_graphs import OPSET, write_graphs

    limits, parts = pipeline.settings.limits, pipeline.settings.model
    assert isinstance(parts, EncoderDecoder)  # noqa: S101 (see export)
    try:
        longest = {"source": limits.source + 1, "target": limits.answer}  # END and START counted
        encoder, decoder = write_graphs(cast(EncoderDecoderModel, pipeline.model), folder, longest)
    except RuntimeError as error:  # the exporter's errors are such
        raise ConfigError(
            f"torch cannot write this model as ONNX (model.encoder.kind = '{parts.encoder.kind}', model.decoder.kind = "
            f"'{parts.decoder.kind}'): {' '.join(str(error).split())[:300]}. Train with other parts, or export to "
            "another kind."
        ) from error
    for side in ("source", "target"):
        shutil.copyfile(model / f"{side}.json", folder / f"{side}.json")
    return {
        "to": "onnx",
        "opset": OPSET,
        "encoder": asdict(encoder),
        "decoder": asdict(decoder),
        "feeds": {name: name.replace("next.", "state.", 1) for name in decoder.outputs if name.startswith("next.")},
        "symbols": {"padding": PADDING, "unknown": UNKNOWN, "start": START, "end": END},
        "tokenizers": {"source": "source.json", "target": "target.json"},
        "limits": limits.model_dump(mode="json", exclude={"longer"}),
    }


def check(folder: Path, pipeline: Pipeline, lines: Sequence[str], wanted: Wanted) -> dict[str, Any]:
    """Numbers at several sizes, then texts of held-out lines; an error says what differs."""
    from dragoman.export.onnx_checks import Graphs, numbers_agree, texts_agree

    wanted.watch("checking numbers", 0.4)
    graphs = Graphs.load(folder, torch.get_num_threads())
    numbers = numbers_agree(graphs, cast(EncoderDecoderModel, pipeline.model), pipeline.settings.limits)
    wanted.watch("checking answers", 0.6)
    list(pipeline.stream(lines[:1], beam=1, longer="cut"))  # prepares the weights
    started_at = time.perf_counter()
    answers = [answer.text for answer in pipeline.stream(lines, beam=1, longer="cut")]
    seconds = time.perf_counter() - started_at
    texts = texts_agree(graphs, pipeline, lines, answers)
    wanted.watch("checking answers", 1.0)
    speed = {"torch": round(len(lines) / seconds, 1), "onnx": round(len(lines) / texts.pop("seconds"), 1)}
    return {**numbers, **texts, "lines_per_second": speed, "threads": torch.get_num_threads()}


def sentences(megabytes: float, checks: dict[str, Any]) -> list[str]:
    speed, ties, threads = checks["lines_per_second"], checks["ties"], checks["threads"]
    tied = f" (in the others two symbols are equally probable: {ties})" if ties else ""
    return [
        f"{megabytes:.1f} MB: encoder.onnx, decoder.onnx (one step), the tokenizers, and export.json, which says how "
        "they fit together.",
        f"Greedily, ONNX Runtime answers {checks['equal']:,} of {checks['lines']:,} lines as torch does{tied}; "
        f"log-probabilities differ by {checks['largest_difference']:.1g} at most.",
        f"It answers {speed['onnx']:,} lines a second, torch {speed['torch']:,}, on {threads} "
        f"thread{'s' * (threads > 1)}.",
    ]
