"""What ONNX Runtime says beside what torch says."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.data.collate import collate_sources
from dragoman.data.tokenizers import END, PADDING, START, UNKNOWN
from dragoman.errors import NumericalError
from dragoman.frontends import of_symbols
from dragoman.models import EncoderDecoderModel
from dragoman.pipeline import Pipeline, batched
from dragoman.pipeline.rows import BATCH_TOKENS
from dragoman.served import Limits

TOLERANCE = 1e-4  # of a log-probability
SIZES = ((1, 3), (3, 140))  # rows and source symbols, END counted; above 128 torch computes otherwise
STEPS = 5
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Graphs:
    """Both files in ONNX Runtime."""

    encoder: Any
    decoder: Any

    @staticmethod
    def load(folder: Path, threads: int) -> "Graphs":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3  # errors alone
        encoder, decoder = (
            onnxruntime.InferenceSession(folder / file, options, providers=["CPUExecutionProvider"])
            for file in ("encoder.onnx", "decoder.onnx")
        )
        return Graphs(encoder, decoder)

    def read(self, source: NDArray[np.int64]) -> Arrays:
        return self.named(self.encoder, {"source": source})

    def step(self, last: NDArray[np.int64], arrays: Arrays) -> tuple[NDArray[np.float32], Arrays]:
        """Log-probabilities, and all that the next step reads."""
        found = self.named(self.decoder, {"last": last, **arrays})
        logs = found.pop("log_probabilities")
        return logs, {**arrays, **{name.replace("next.", "state.", 1): value for name, value in found.items()}}

    @staticmethod
    def named(session: Any, inputs: Arrays) -> Arrays:
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, inputs), strict=True))


def numbers_agree(graphs: Graphs, model: EncoderDecoderModel, limits: Limits) -> dict[str, Any]:
    """Log-probabilities after random sources and words, at several sizes."""
    largest, steps = 0.0, min(STEPS, limits.answer)
    sizes = [(rows, min(length, limits.source + 1)) for rows, length in SIZES]
    for rows, length in sizes:
        for step, difference in enumerate(differences(graphs, model, rows, length, steps)):
            if not difference <= TOLERANCE:
                raise NumericalError(
                    f"The export does not compute what the run does: with {rows} source{'s' * (rows > 1)} of {length} "
                    f"symbols, log-probabilities of ONNX Runtime and torch differ by {difference:.2g} at step "
                    f"{step + 1}; {TOLERANCE:g} is allowed. Nothing was left. Try other versions of onnx and "
                    "onnxruntime."
                )
            largest = max(largest, difference)
    return {"sizes": sizes, "steps": steps, "largest_difference": largest}


@torch.inference_mode()
def differences(graphs: Graphs, model: EncoderDecoderModel, rows: int, length: int, steps: int) -> list[float]:
    """The largest one of each step."""
    draw = np.random.default_rng(0)
    source_size = of_symbols(model.source, "An export to ONNX").embedding.num_embeddings
    target_size = model.target.embedding.num_embeddings
    lengths = [max(1, (length - 1) // (row + 1)) for row in range(rows)]
    sources = [draw.integers(UNKNOWN, source_size, some).tolist() for some in lengths]
    batch = collate_sources(sources)
    state = model.begin(batch)
    arrays = graphs.read(batch.sources["source"].values.numpy())
    last, found = np.full(rows, START), []
    for _ in range(steps):
        step = model.step(torch.from_numpy(last), state)
        logs, arrays = graphs.step(last, arrays)
        found.append(float(np.abs(logs - step.log_probabilities.numpy()).max()))
        state, last = step.state, draw.integers(UNKNOWN, target_size, rows)
    return found


def texts_agree(graphs: Graphs, pipeline: Pipeline, lines: Sequence[str], answers: Sequence[str]) -> dict[str, Any]:
    """Whether greedy answers are the same; where two symbols are equally probable, either will do."""
    started_at, limit = time.perf_counter(), pipeline.settings.limits.source
    sources = [row[:limit] for row in pipeline.source.encode(lines)]
    found = decode(graphs, pipeline, sources)
    texts = [pipeline.target.decode(symbols) for symbols in found]
    seconds = time.perf_counter() - started_at
    other = [n for n, (one, answer) in enumerate(zip(texts, answers, strict=True)) if one != answer]
    for number in other:
        if not tied(pipeline, sources[number], found[number]):
            raise NumericalError(
                f"The export does not answer as the run does: to the line {lines[number]!r} ONNX Runtime "
                f"answers {texts[number]!r}, and torch {answers[number]!r}. Nothing was left. Try other "
                "versions of onnx and onnxruntime."
            )
    return {"lines": len(lines), "equal": len(lines) - len(other), "ties": len(other), "seconds": seconds}


def decode(graphs: Graphs, pipeline: Pipeline, sources: Sequence[list[int]]) -> list[list[int]]:
    """The most probable symbol at every step, as the pipeline's own greedy search; END is kept."""
    lengths = list(map(len, sources))
    order = sorted((number for number, length in enumerate(lengths) if length), key=lengths.__getitem__)
    found: list[list[int]] = [[] for _ in sources]
    for numbers in batched(order, lengths, BATCH_TOKENS):
        decode_batch(graphs, pipeline, sources, numbers, found)
    return found


def decode_batch(
    graphs: Graphs, pipeline: Pipeline, sources: Sequence[list[int]], numbers: list[int], found: list[list[int]]
) -> None:
    limits, going = pipeline.settings.limits, np.array(numbers)
    longest = np.array([limits.answer_length(len(sources[number])) for number in numbers])
    shortest = np.array([limits.least_length(len(sources[number])) for number in numbers])
    arrays = graphs.read(collate_sources([sources[number] for number in numbers]).sources["source"].values.numpy())
    last, step = np.full(len(numbers), START), 0
    while len(going):
        logs, arrays = graphs.step(last, arrays)
        step += 1
        logs[:, [PADDING, START]] = -np.inf
        logs[step < shortest, END] = -np.inf
        last = logs.argmax(1)
        for number, symbol in zip(going.tolist(), last.tolist(), strict=True):
            found[number].append(symbol)
        live = (last != END) & (step < longest)
        if not live.all():
            arrays = {name: value[live] for name, value in arrays.items()}
            going, last, longest, shortest = going[live], last[live], longest[live], shortest[live]


@torch.inference_mode()
def tied(pipeline: Pipeline, source: list[int], symbols: list[int]) -> bool:
    """Whether no symbol of an answer is less probable than the best by more than rounding."""
    state = pipeline.model.begin(collate_sources([source]))
    logs = pipeline.model.logs(torch.tensor([[START, *symbols[:-1]]]), state)[0][0]
    logs[:, [PADDING, START]] = -torch.inf
    logs[: pipeline.settings.limits.least_length(len(source)) - 1, END] = -torch.inf
    chosen = logs.gather(1, torch.tensor(symbols)[:, None])[:, 0]
    return bool((logs.amax(1) - chosen <= TOLERANCE).all())
