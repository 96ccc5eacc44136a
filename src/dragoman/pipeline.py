"""The one door to a trained model: validation, command line, server and exports all come through it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal, overload

import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.config import read_sealed, validate
from dragoman.contracts import Answer, Batch, Hypothesis, Prediction, Request
from dragoman.data.collate import collate_pairs, collate_sources
from dragoman.data.pieces import join, split
from dragoman.data.tokenizers import END, PADDING, START, UNKNOWN, Tokenizer
from dragoman.devices import device_of
from dragoman.drawing.alignment import windows_within
from dragoman.errors import ConfigError, DataError, StorageError, choose, nearest
from dragoman.models import EncoderDecoderModel, ModelConfig, build_model
from dragoman.objectives.cross_entropy import target_log_probabilities
from dragoman.regimes import teacher
from dragoman.runs import FORMAT_VERSION, read_metadata
from dragoman.search import Beam, Greedy, scorer_of, search
from dragoman.served import Served
from dragoman.weights import load_weights

WINDOW = 4096  # lines that are read ahead and sorted by length
BATCH_TOKENS = 4096  # source tokens of a batch, times the width of the beam
BATCH_LINES = 256
ONE_CONTEXT = "one fixed context for all steps: it looks at nothing in particular"
NOTHING = Prediction("", 0.0, 0.0, ())  # what an empty text is answered
Longer = Literal["cut", "split", "refuse"]
LONGER: dict[str, Longer] = {"cut": "cut", "split": "split", "refuse": "refuse"}


@dataclass(frozen=True)
class Source:
    """A text as the model reads it: nothing, one row of tokens, or the rows of its pieces."""

    rows: list[list[int]]
    longer: Literal["", "cut", "split"] = ""
    whole: tuple[str, ...] = ()  # symbols of a text that was split


@dataclass(frozen=True)
class Scored:
    """How probable a target is, given its source: natural logarithms, END counted and last."""

    log_probability: float
    tokens: tuple[str, ...]
    token_log_probabilities: tuple[float, ...]


@dataclass(frozen=True)
class Replayed:
    """An answer fed once more: where each symbol looked, unless the model does not, and how probable it was."""

    weights: Float[Tensor, "T S"] | None
    log_probabilities: Float[Tensor, " T"]
    windows: Float[Tensor, "T 3"] | None = None  # where attention is local


def has_one_context(model: ModelConfig) -> bool:
    """Whether the decoder has the same context at every step (attention = fixed)."""
    return getattr(getattr(model.decoder, "attention", None), "kind", "") == "fixed"


class Pipeline:
    """A model with its tokenizers."""

    def __init__(
        self, model: EncoderDecoderModel, source: Tokenizer, target: Tokenizer, settings: Served, device: torch.device
    ) -> None:
        self.model, self.source, self.target, self.settings, self.device = model, source, target, settings, device

    @staticmethod
    def load(path: str | Path, device: str = "auto") -> "Pipeline":
        """Load RUN, or the model folder inside it."""
        folder = model_folder(Path(path))
        document = read_sealed(folder / "config.toml")
        settings = validate(Served, document.table, document)
        metadata = read_metadata(folder / "model.safetensors")
        refuse_newer(folder, metadata)
        source, target = (tokenizer_of(folder, side, metadata) for side in ("source", "target"))
        place = device_of(device)
        with torch.device("meta"):  # sizes are compared with the file before anything is allocated
            model = build_model(settings.model, source.size, target.size)
        load_weights(model, folder / "model.safetensors")
        return Pipeline(model.to(place).eval(), source, target, settings, place)

    def spec(self) -> dict[str, str]:
        """The kinds of input and output, from which an interface can draw its forms."""
        return {"source": "text", "target": "text"}

    @overload
    def predict(
        self, inputs: str, beam: int | None = None, n_best: int = 1, alignments: bool = True, longer: str | None = None
    ) -> Answer: ...
    @overload
    def predict(
        self,
        inputs: list[str],
        beam: int | None = None,
        n_best: int = 1,
        alignments: bool = True,
        longer: str | None = None,
    ) -> list[Answer]: ...
    def predict(
        self,
        inputs: str | list[str],
        beam: int | None = None,
        n_best: int = 1,
        alignments: bool = True,
        longer: str | None = None,
    ) -> Answer | list[Answer]:
        """Answer one text, or a list of them."""
        if isinstance(inputs, str):
            return next(self.stream([inputs], beam, n_best, alignments, longer=longer))
        return list(self.stream(inputs, beam, n_best, alignments, longer=longer))

    def stream(
        self,
        inputs: Iterable[str],
        beam: int | None = None,
        n_best: int = 1,
        alignments: bool = False,
        window: int = WINDOW,
        longer: str | None = None,
    ) -> Iterator[Answer]:
        """Answers in the order of the inputs; `window` lines are read ahead, so that a batch holds equals.

        `longer` says what becomes of a line above limits.source: "cut", "split" or "refuse"; None is limits.longer.
        """
        chosen = self.chosen_search(beam, n_best)
        policy = choose("way with longer lines", longer or self.settings.limits.longer, LONGER)
        lines, before = iter(inputs), 0
        while read := list(islice(lines, window)):
            sources = self.read_sources(read, policy, before)
            yield from self.answer(read, sources, chosen, n_best, alignments)
            before += len(read)

    def read_sources(self, texts: list[str], policy: Longer, before: int) -> list[Source]:
        """The tokens of each text; `before` texts stand before the first, for the error that names one."""
        limit = self.settings.limits.source
        sources = []
        for number, (text, row) in enumerate(zip(texts, self.source.encode(texts), strict=True), start=before + 1):
            if not text.strip() or len(row) <= limit:
                sources.append(Source([row] if row and text.strip() else []))
            elif policy == "cut":
                sources.append(Source([row[:limit]], "cut"))
            elif policy == "split":
                pieces = self.source.encode(split(text, limit, self.count_tokens))
                sources.append(Source([piece[:limit] for piece in pieces if piece], "split", self.source.symbols(row)))
            else:
                raise DataError(
                    f"Line {number:,} has {len(row):,} tokens; at most {limit:,} are read at once (limits.source). "
                    "Shorten it, or have it split or cut (--longer split, --longer cut)."
                )
        return sources

    def count_tokens(self, texts: list[str]) -> list[int]:
        return [len(row) for row in self.source.encode(texts)]

    def chosen_search(self, beam: int | None, n_best: int) -> Greedy | Beam:
        """The search of the settings, or a beam of another width (1 is greedy search)."""
        chosen = self.settings.search
        if beam is not None and beam < 1:
            raise ConfigError(f"A beam has a width of at least 1, not {beam}.")
        if beam is not None:
            chosen = Greedy() if beam == 1 else (chosen if isinstance(chosen, Beam) else Beam()).changed(width=beam)
        width = chosen.width if isinstance(chosen, Beam) else 1
        if not 1 <= n_best <= width:
            wider = f" Widen the beam as well: --beam {n_best}." if n_best > width else ""
            raise ConfigError(f"n_best must be between 1 and the width of the beam ({width}), not {n_best}.{wider}")
        return chosen

    @torch.inference_mode()
    def answer(
        self, texts: list[str], sources: list[Source], chosen: Greedy | Beam, n_best: int, alignments: bool
    ) -> list[Answer]:
        rows = [row for source in sources for row in source.rows]
        lengths = [len(row) for row in rows]
        width = chosen.width if isinstance(chosen, Beam) else 1
        found: dict[int, tuple[Prediction, ...]] = {}
        for numbers in batched(sorted(range(len(rows)), key=lengths.__getitem__), lengths, BATCH_TOKENS // width):
            found |= zip(numbers, self.decode([rows[n] for n in numbers], chosen, n_best, alignments), strict=True)
        parts = iter([found[number] for number in range(len(rows))])
        spaced = self.target.kind == "words"
        return [
            Answer(
                text,
                join([next(parts) for _ in source.rows], spaced, source.whole) if source.rows else (NOTHING,) * n_best,
                source.longer,
            )
            for text, source in zip(texts, sources, strict=True)
        ]

    def decode(
        self, rows: list[list[int]], chosen: Greedy | Beam, n_best: int, alignments: bool
    ) -> list[tuple[Prediction, ...]]:
        memory = self.model.encode(collate_sources(rows).to(self.device))
        lengths = [self.settings.limits.answer_length(len(row)) for row in rows]
        request = Request(
            start=torch.full((len(rows),), START, device=self.device),
            end=END,
            max_length=torch.tensor(lengths, device=self.device),
            forbidden=(PADDING, START),
        )
        found = search(chosen, self.model.step, self.model.start(memory), request, n_best)
        again: Sequence[Sequence[Replayed | None]] = [[None] * len(hypotheses) for hypotheses in found]
        if alignments:
            again = self.replay(rows, found)
        return [
            tuple(self.read(row, hypothesis, replayed) for hypothesis, replayed in zip(hypotheses, of_row, strict=True))
            for row, hypotheses, of_row in zip(rows, found, again, strict=True)
        ]

    def read(self, row: list[int], hypothesis: Hypothesis, replayed: Replayed | None) -> Prediction:
        weights, windows = (None, None) if replayed is None else (replayed.weights, replayed.windows)
        return Prediction(
            text=self.target.decode(hypothesis.tokens),
            score=hypothesis.score,
            log_probability=hypothesis.total,
            tokens=self.target.symbols(hypothesis.tokens),
            finished=hypothesis.finished,
            source_tokens=self.source.symbols([*row, END]),
            alignment=None if weights is None else tuple(map(tuple, weights.tolist())),
            token_log_probabilities=() if replayed is None else tuple(replayed.log_probabilities.tolist()),
            windows=None if windows is None else windows_within(windows.tolist(), len(row) + 1),
        )

    def replay(self, rows: list[list[int]], found: list[list[Hypothesis]]) -> list[list[Replayed]]:
        """Attention at full speed: search without it, then feed each answer once more and look."""
        sources = [row for row, hypotheses in zip(rows, found, strict=True) for _ in hypotheses]
        hypotheses = [hypothesis for of_source in found for hypothesis in of_source]
        batch = collate_pairs(sources, [hypothesis.tokens for hypothesis in hypotheses]).to(self.device)
        output = teacher(self.model, batch, attention=True)
        logs = target_log_probabilities(output, self.model.head, batch)
        weights = output.attention["source"].mean(1) if "source" in output.attention else None
        windows = None if weights is None else output.extras.get("attention.window")
        steps = [len(hypothesis.tokens) + hypothesis.finished for hypothesis in hypotheses]
        replayed = iter(
            Replayed(
                None if weights is None else weights[n, :length, : len(sources[n]) + 1],
                logs[n, :length],
                None if windows is None else windows[n, :length],
            )
            for n, length in enumerate(steps)
        )
        return [[next(replayed) for _ in of_source] for of_source in found]

    @cached_property
    def attends(self) -> bool:
        """Whether there is anything to look at: found by asking once, since only a decoder knows."""
        with torch.inference_mode():
            [[replayed]] = self.replay([[UNKNOWN]], [[Hypothesis((), 0.0, 0.0, finished=True)]])
        return replayed.weights is not None

    def require_attention(self) -> None:
        """A sentence where there is nothing to look at."""
        if not self.attends:
            if has_one_context(self.settings.model):
                raise ConfigError(
                    f"This model has {ONE_CONTEXT} (model.decoder.attention.kind = fixed), so there is no alignment. "
                    "Its answers and their scores come from `dragoman predict` and `dragoman score`."
                )
            raise ConfigError(
                "This model has no attention (model.decoder.attention), so there is no alignment and nothing to look "
                "at. Its answers and their scores come from `dragoman predict` and `dragoman score`; to look inside, "
                "train a model with attention."
            )

    @torch.inference_mode()
    def align(self, source: str, target: str) -> Prediction:
        """A given target as if the model had answered it: where each of its tokens looked, and how probable it was.

        Without attention there are the log-probabilities alone.
        """
        [row], [tokens] = self.source.encode([source]), self.target.encode([target])
        if not row or not source.strip():
            raise DataError("The source text is empty: there is nothing to look at.")
        forced = Hypothesis(tuple(tokens), 0.0, 0.0, finished=True)
        [[replayed]] = self.replay([row], [[forced]])
        total = replayed.log_probabilities.sum().item()
        return self.read(row, replace(forced, total=total, score=self.rank(total, len(tokens) + 1)), replayed)

    def rank(self, total: float, length: int) -> float:
        """The score that the search gives to a log-probability of so many symbols, END counted."""
        return scorer_of(self.settings.search).normalised(torch.tensor([total]), length).item()

    @torch.inference_mode()
    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Scored]:
        """The log-probability of each target, token by token, in the order of the pairs."""
        stream = iter(pairs)
        while window := list(islice(stream, WINDOW)):
            sources = self.source.encode([source for source, _ in window])
            targets = self.target.encode([target for _, target in window])
            lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
            scored: dict[int, Scored] = {}
            for numbers in batched(sorted(range(len(window)), key=lengths.__getitem__), lengths, BATCH_TOKENS):
                batch = collate_pairs([sources[n] for n in numbers], [targets[n] for n in numbers])
                rows = self.log_probabilities(batch).tolist()
                scored |= {n: self.read_score(targets[n], row) for n, row in zip(numbers, rows, strict=True)}
            yield from (scored[number] for number in range(len(window)))

    @torch.inference_mode()
    def log_probabilities(self, batch: Batch) -> Float[Tensor, "B T"]:
        """Of every target token, END counted; 0 on padding."""
        batch = batch.to(self.device)
        return target_log_probabilities(teacher(self.model, batch), self.model.head, batch)

    def read_score(self, target: list[int], values: list[float]) -> Scored:
        symbols = self.target.symbols([*target, END])
        real = tuple(values[: len(symbols)])
        return Scored(sum(real), symbols, real)


def batched(numbers: Sequence[int], lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Cut numbers sorted by length into batches within a budget of tokens, padding counted."""
    batch: list[int] = []
    for number in numbers:
        full = (len(batch) + 1) * (lengths[number] + 1) > tokens or len(batch) == BATCH_LINES
        if batch and full:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def refuse_newer(folder: Path, metadata: Mapping[str, str]) -> None:
    found = metadata.get("format_version", str(FORMAT_VERSION))
    if found != str(FORMAT_VERSION):
        raise StorageError(
            f"{folder} has format {found}, and this version of dragoman reads {FORMAT_VERSION}. "
            "Use the version of dragoman that trained it, or a newer one."
        )


def tokenizer_of(folder: Path, side: str, metadata: Mapping[str, str]) -> Tokenizer:
    """The tokenizer that the weights were trained with, which say what it hashes to."""
    path = folder / f"{side}.json"
    tokenizer = Tokenizer.load(path)
    if tokenizer.hash != metadata.get(f"{side}.json", tokenizer.hash):
        raise StorageError(
            f"{path} is damaged, or is not the tokenizer that model.safetensors was trained with. "
            "Copy the whole model folder again."
        )
    return tokenizer


def model_folder(path: Path) -> Path:
    """RUN/model, or the folder itself when it is one."""
    for folder in (path / "model", path):
        if (folder / "config.toml").is_file() and (folder / "model.safetensors").is_file():
            return folder
    if (path / "config.toml").is_file():
        missing = [name for name in ("config.toml", "model.safetensors") if not (path / "model" / name).is_file()]
        raise ConfigError(
            f"{path} holds a run that has no model yet (model/{missing[0]} is missing). Train it until its first "
            "validation, or copy the whole folder again."
        )
    raise ConfigError(f"{path} {no_run(path)}")


def no_run(path: Path) -> str:
    """Why a path is no run, and what to give instead."""
    if not path.exists():
        folders = [entry.name for entry in path.parent.iterdir() if entry.is_dir()] if path.parent.is_dir() else []
        return (
            f"is no run of dragoman: there is no such folder.{nearest(path.name, folders)} `dragoman runs` lists runs."
        )
    if path.is_file():
        return "is no run of dragoman but a file. Name the run folder first, which `dragoman train` made, then files."
    inside = sorted(entry.name for entry in path.iterdir() if (entry / "model" / "config.toml").is_file())
    if inside:
        return f"is no run of dragoman but a folder of runs. Name one of them: {', '.join(inside[:5])}."
    return "is no run of dragoman: it has no model/config.toml. `dragoman runs` lists runs."
