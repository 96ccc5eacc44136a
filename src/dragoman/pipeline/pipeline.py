"""A trained model and its tokenizers: what is asked of it, and what it answers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.config import merge, parse_overrides, validate
from dragoman.contracts import Answer, Batch, Hypothesis, Prediction
from dragoman.data.captioning import Captioning
from dragoman.data.captions import collate_pictures
from dragoman.data.collate import collate_pairs, collate_sources
from dragoman.data.frames import Lay, NumberFrames, PictureFrames
from dragoman.data.labelling import Labelling
from dragoman.data.readers.formats import AUTO, CONVERSATIONS, Wanted
from dragoman.data.readers.histories import history_of
from dragoman.data.readers.jsonl import source_of
from dragoman.data.scales import Scale
from dragoman.data.tokenizers import END, UNKNOWN, Tokenizer
from dragoman.data.tokenizers.conversation import as_text
from dragoman.data.tracking import Tracking
from dragoman.devices import device_of
from dragoman.drawing.heads import Heads
from dragoman.errors import ConfigError, DataError, choose
from dragoman.frontends import ImageGrid
from dragoman.models import (
    EncoderOnly,
    EncoderOnlyModel,
    ForecasterModel,
    Model,
    ModelConfig,
    WritingModel,
)
from dragoman.nn.positions import longest
from dragoman.nn.quantized import quantized
from dragoman.nn.transformer import Stack
from dragoman.pipeline.answering import NOTHING, answer, prediction_of, read_sources
from dragoman.pipeline.changing import other_fields, refuse_unchangeable
from dragoman.pipeline.constraints import NO_CONSTRAINTS, Constraints, Target
from dragoman.pipeline.engine import ENGINES, Chosen, engine_of, is_export
from dragoman.pipeline.filling import Filler
from dragoman.pipeline.frames import FrameReader
from dragoman.pipeline.heads import Counts, counts_of, look_into, read_into
from dragoman.pipeline.labels import Reader
from dragoman.pipeline.loading import (
    Unread,
    export_folder,
    model_folder,
    read_captioning,
    read_folder,
    read_labels,
    read_scale,
    read_tracking,
    read_wanted,
    sizes_of,
)
from dragoman.pipeline.pictures import HELD, grid_of, name_of, read_pictures, tagged, without_tag
from dragoman.pipeline.risk import least_risk
from dragoman.pipeline.rows import LONGER, WINDOW, Asked, Row, live_rows
from dragoman.pipeline.scoring import scores_of
from dragoman.pipeline.spans import SpanReader
from dragoman.pipeline.teaching import Replayed, Scored, cut, taught
from dragoman.pipeline.together import Together
from dragoman.pipeline.tracks import Forecast, Forecasting
from dragoman.pipeline.vectors import POOL_NAMES, Embedder, Vector, Vectors, own_pool
from dragoman.search import WIDEST, AnySearch, Beam, Greedy, Sampling, Tracer, scorer_of
from dragoman.served import Served, Work, require_source

if TYPE_CHECKING:
    from PIL.Image import Image

    from dragoman.data.pictures import Pixels

ONE_CONTEXT = "one fixed context for all steps: it looks at nothing in particular"
GREEDY = Greedy()
QUANTIZED = {"none": False, "int8": True}


def conversation_of(pipeline: "Pipeline", turns: object) -> str:
    """A conversation, which is a text, a list of turns or an object that has one, as one text."""
    if isinstance(turns, str):
        return turns
    if isinstance(turns, bytes) or not isinstance(turns, Sequence | Mapping):
        wanted = "a text, or a list of turns" if pipeline.talks else "a text"
        raise DataError(f"What is to be answered is {wanted}, and no {type(turns).__name__}.")
    if isinstance(turns, Mapping) and pipeline.wanted.columns:
        return source_of(turns, pipeline.wanted.columns, "A source")
    if not pipeline.talks:
        raise ConfigError(
            "A list of turns is for a model that reads conversations, and this one reads texts (conversation.turns = "
            "0). Give a text, or train with the recipe hred."
        )
    if isinstance(turns, Mapping):
        return history_of(dict(turns), "A conversation", pipeline.wanted)
    for number, turn in enumerate(turns, start=1):
        if not isinstance(turn, str):
            raise DataError(f"Turn {number} of a conversation is {type(turn).__name__}, and no text.")
    return as_text(map(str, turns))


def has_one_context(model: ModelConfig) -> bool:
    """Whether the decoder has the same context at every step (attention = fixed)."""
    return getattr(getattr(getattr(model, "decoder", None), "attention", None), "kind", "") == "fixed"


class Pipeline:
    """A model with its tokenizers."""

    def __init__(
        self,
        model: Model | Together | Unread,
        source: Tokenizer | None,
        target: Tokenizer | None,
        settings: Served,
        device: torch.device,
        engine: Chosen | None = None,
        labels: Labelling | None = None,
        scale: Scale | None = None,
        captions: Captioning | None = None,
        tracking: Tracking | None = None,
        files: Wanted = CONVERSATIONS,
    ) -> None:
        self.held, self.settings, self.device = model, settings, device
        self.tokenizers = {"source": source, "target": target}
        self.engine = engine  # what searches in place of torch
        self.remark = ""  # why it is torch, where that was left open
        self.labels = labels  # of a model that only reads
        self.scale = scale  # of one that reads or writes numbers
        self.captions = captions  # of a model that describes pictures
        self.grid = grid_of(settings.model)  # how it reads them
        self.tracking = tracking  # of one that goes on with tracks
        self.files = files  # how files are read, of one that talks or reads several columns

    @property
    def source(self) -> Tokenizer:
        """What makes symbols of sources."""
        return self.tokenizer("source")

    @property
    def target(self) -> Tokenizer:
        """What makes symbols of targets."""
        return self.tokenizer("target")

    def tokenizer(self, side: str) -> Tokenizer:
        """That of a side; a sentence where it is no text."""
        if (found := self.tokenizers[side]) is None:
            doing = "reads" if side == "source" else "writes"
            raise ConfigError(f"This model {doing} no texts, so that it has no symbols. What was asked is for texts.")
        return found

    @property
    def model(self) -> WritingModel | Together:
        """What writes answers."""
        held = self.read_weights()
        if isinstance(held, EncoderOnlyModel | ForecasterModel):
            require_source(self.settings.model.kind, "What was asked")
            raise TypeError
        return held

    def read_weights(self) -> Model | Together:
        """They are read when they are first needed."""
        if isinstance(self.held, Unread):
            self.held = self.held.read()
        return self.held

    @property
    def forecasting(self) -> Forecasting:
        """A model of tracks."""
        model = self.read_weights()
        if self.tracking is None or not isinstance(model, ForecasterModel):
            raise ConfigError("This model is none of tracks. Train one with the recipe trajectories.")
        return Forecasting(model, self.tracking, self.settings.rollout, self.device)

    @property
    def known_labels(self) -> Labelling:
        """What a model that only reads may say."""
        if self.labels is None:
            raise ConfigError(
                "This model writes texts, and has no labels. Train one with the recipe classify, tag or spans."
            )
        return self.labels

    @property
    def reader(self) -> Reader:
        """A model that only reads."""
        labels, model, config = self.known_labels, self.read_weights(), self.settings.model
        assert isinstance(model, EncoderOnlyModel) and isinstance(config, EncoderOnly)  # noqa: S101, PT018
        return Reader.of(model, config, self.source, labels, self.settings.limits.source)

    @property
    def reading_model(self) -> EncoderOnlyModel:
        """The model of one that only reads."""
        model = self.read_weights()
        assert isinstance(model, EncoderOnlyModel)  # noqa: S101
        return model

    @property
    def work(self) -> Work:
        """What this model does."""
        return self.settings.work

    @property
    def reads_frames(self) -> bool:
        """Whether this model says what frames are, and reads no texts."""
        return self.work == "frames"

    @property
    def frame_reader(self) -> FrameReader:
        """A model that only reads, and reads frames."""
        labels, settings = self.known_labels, self.settings
        source = getattr(settings.model, "source", None)
        if not self.reads_frames:
            raise ConfigError("This model reads texts. Train one that reads frames: recipe classify-frames.")
        if isinstance(source, ImageGrid):
            lay: Lay = PictureFrames(source.size, source.fit)
        else:
            assert self.scale is not None  # noqa: S101 (numbers have one)
            lay = NumberFrames(self.scale)
        return FrameReader(self.reading_model, labels, lay, settings.limits.source, self.device)

    @property
    def fills(self) -> bool:
        """Whether this model was only taught to read, and fills gaps in texts."""
        return self.work == "gaps"

    @property
    def filler(self) -> Filler:
        """A pretrained model."""
        model, config = self.read_weights(), self.settings.model
        assert isinstance(model, EncoderOnlyModel) and isinstance(config, EncoderOnly)  # noqa: S101, PT018
        return Filler(model, self.source, config.sentences == "two", self.settings.limits.source, self.device)

    @property
    def span_reader(self) -> SpanReader:
        """A model that finds answers in documents."""
        settings, labels, reader = self.settings, self.known_labels, self.reader
        if labels.what != "spans":
            raise ConfigError(f"This model says {labels.what} of texts. Train one that finds answers: recipe spans.")
        how = (settings.extraction, settings.limits.source, labels.may_be_nothing, reader.device)
        return SpanReader(reader.model, self.source, *how)

    @staticmethod
    def load(path: str | Path, device: str = "auto", engine: str | None = None) -> "Pipeline":
        """Load RUN, the model folder inside it, or an export for CTranslate2; without a name the engine is torch, or
        that of the export."""
        run, place = Path(path), device_of(device)
        folder = export_folder(run) if is_export(run) else model_folder(run)
        name = choose("engine", engine or ("ctranslate2" if is_export(run) else "torch"), ENGINES)
        settings, tokenizers = read_folder(folder)
        source, target = (tokenizers.get(side) for side in ("source", "target"))
        labels, scale = read_labels(folder, settings.model), None if is_export(run) else read_scale(folder)
        tracking = read_tracking(folder, settings.model)
        answers = labels or target
        read = source.size if source is not None else 0 if scale is None else scale.size
        sizes = None if tracking is None else sizes_of(tracking)
        held = Unread(folder, settings.model, read, 0 if answers is None else answers.size, place, sizes)
        captions = read_captioning(folder, settings.model)
        known = (labels, scale, captions, tracking, read_wanted(folder))
        pipeline = Pipeline(held, source, target, settings, place, None, *known)
        try:
            if name != "torch":
                pipeline.engine = engine_of(run, folder, name, pipeline.source, pipeline.target)
        except ConfigError as error:
            if name != "auto":
                raise
            pipeline.remark = f"torch answers: {error}"
        if pipeline.engine is None:
            pipeline.held = pipeline.read_weights()
        return pipeline

    @cached_property
    def written(self) -> Target:
        """What answers are written in, as constraints need it."""
        return Target(self.target)

    @property
    def alone(self) -> bool:
        """Whether this is a language model, which has no source and goes on with prompts."""
        return self.work == "texts"

    @property
    def answers(self) -> bool:
        """Whether it reads a source and writes an answer to it."""
        return self.work in ("pairs", "conversations", "captions")

    @property
    def talks(self) -> bool:
        """Whether it reads conversations, and writes the next turn."""
        return self.work == "conversations"

    @property
    def wanted(self) -> Wanted:
        """How files of examples are read."""
        return self.files if self.talks or self.files.columns else AUTO

    def spec(self) -> dict[str, str]:
        """The kinds of input and output, from which an interface can draw its forms."""
        if self.tracking is not None:
            return {"source": "track", "target": "points"}
        source = "frames" if self.reads_frames else "text" if self.grid is None else "image"
        return {"source": source, "target": "text" if self.labels is None else self.labels.what}

    @overload
    def predict(
        self, inputs: "str | Path | Image | Pixels", beam: int | None = None, n_best: int = 1, **how: Any
    ) -> Answer: ...
    @overload
    def predict(self, inputs: Sequence[Any], beam: int | None = None, n_best: int = 1, **how: Any) -> list[Answer]: ...
    def predict(
        self, inputs: Any, beam: int | None = None, n_best: int = 1, **how: Any
    ) -> Answer | Forecast | list[Answer] | list[Forecast]:
        """Answer one text (or picture), or a list of them; of a model that talks, a conversation is a list of turns or
        {"turns": [...]}, and a text one turn. `how` is what `stream` takes, and alignments are made unless they are
        declined, or another engine than torch answers. A model that reads frames answers an array (frames, features), a
        list of them, or the name of a file, which holds several; one that goes on with tracks answers a Track, columns
        by name, rows of numbers, or the name of a file with `Forecast`s."""
        if self.tracking is not None:
            return self.forecasting.predict(inputs, n_best, **how)
        if self.reads_frames:
            return self.frame_reader.predict(inputs, how.get("longer") or self.settings.limits.longer)
        how = {"alignments": self.by_torch(beam, n_best)} | how
        several = isinstance(inputs, list | tuple)
        asked = inputs if several else [inputs]
        answers = list(
            self.stream(asked if self.grid else [conversation_of(self, one) for one in asked], beam, n_best, **how)
        )
        return answers if several else answers[0]

    def by_torch(self, beam: int | None, n_best: int) -> bool:
        """Whether torch answers, as far as is known before the texts are."""
        if self.engine is None or self.engine.always:
            return self.engine is None
        asked = Asked(self.chosen_search(beam, n_best), n_best, alignments=False)
        return bool(self.engine.unproved(asked))

    def stream(
        self,
        inputs: Iterable[Any],
        beam: int | None = None,
        n_best: int = 1,
        alignments: bool = False,
        window: int = WINDOW,
        longer: str | None = None,
        search: AnySearch | None = None,
        constraints: Constraints | Iterable[Constraints] = NO_CONSTRAINTS,
        tracer: Callable[[Sequence[Row]], Tracer] | None = None,
        scores: bool = True,
        tag: str = "",
    ) -> Iterator[Answer]:
        """Answers in the order of the inputs; `window` lines are read ahead, so that a batch holds equals.

        `longer` says what becomes of a line above limits.source: "cut", "split" or "refuse"; None is limits.longer.
        `search` takes the place of the run's; `constraints` are for all lines, or one for each. A model that only reads
        answers with all its labels, the most probable first, and searches nothing; one that finds answers in documents
        with the `n_best` most probable. Without `scores` CTranslate2 gives greedy answers sooner, and theirs are nan.
        One that describes pictures takes paths, pictures of pillow or arrays; `tag` is the tag of its answers.
        """
        if self.fills:
            yield from self.filler.stream(iter(inputs), n_best, window)
            return
        if self.labels is not None:
            way = choose("way with longer lines", longer or self.settings.limits.longer, LONGER)
            if self.reads_frames:
                yield from self.frame_reader.stream(inputs, way)
            elif self.labels.what == "spans":
                yield from self.span_reader.stream(iter(inputs), way, window, n_best)
            else:
                yield from self.reader.stream(iter(inputs), way, window)
            return
        chosen = self.chosen_search(beam, n_best, search)
        risk = self.settings.risk.utility
        candidates = n_best if risk == "none" else self.candidates(chosen, n_best)
        asked = Asked(chosen, candidates, alignments, tracer, scores or not isinstance(chosen, Greedy))
        policy = choose("way with longer lines", longer or self.settings.limits.longer, LONGER)
        each = repeat(constraints) if isinstance(constraints, Constraints) else iter(constraints)
        lines, before = iter(inputs), 0
        if self.grid is not None:  # pixels take more memory than lines
            window = min(window, max(1, HELD // self.grid.bytes))
        while read := list(islice(lines, window)):
            wanted = list(islice(each, len(read)))
            if len(wanted) < len(read):
                raise DataError(f"There are more lines than constraints: line {before + len(wanted) + 1:,} has none.")
            if self.grid is None:
                sources = read_sources(self, read, policy, before)
            else:
                sources, wanted = read_pictures(read, self.grid), tagged(self, read, wanted, tag)
                read = [name_of(given) for given in read]
            for one, limits in zip(answer(self, read, sources, asked, wanted, before), wanted, strict=True):
                one = one if self.grid is None else without_tag(self, one, limits)
                if risk == "none" or one.best is NOTHING:
                    yield one
                else:
                    found = least_risk(one.predictions, risk, isinstance(chosen, Sampling), n_best)
                    yield replace(one, predictions=found)
            before += len(read)

    def candidates(self, chosen: AnySearch, n_best: int) -> int:
        """How many answers the one of least risk is chosen from."""
        number = self.settings.risk.candidates if isinstance(chosen, Sampling) else live_rows(Asked(chosen, 1, False))
        if number < 2:
            raise ConfigError(
                f"risk.utility = {self.settings.risk.utility} chooses among several candidates, and a search of the "
                f"kind {chosen.kind} gives one. Set search.kind=sampling, or a beam of two or more."
            )
        if n_best > number:
            raise ConfigError(f"n_best is {n_best}, and there are {number} candidates (risk.candidates, or the beam).")
        return number

    def changed(self, overrides: Sequence[str]) -> "Pipeline":
        """The same model with other settings of how it answers: ["search.kind=sampling", "limits.answer=50"]; of one
        that talks, also of how files of conversations are read: ["data.turns_field=talk"]."""
        if not overrides:
            return self
        other, document = copy(self), parse_overrides(list(overrides))
        if self.talks and "data" in document.table:
            other.files = other_fields(self.files, document.table.pop("data"))
        refuse_unchangeable(self.settings, document.table)
        table = merge(self.settings.model_dump(mode="json", exclude_none=True), document.table)
        other.settings = validate(Served, table, document)
        return other

    def quantized(self, how: str = "int8") -> "Pipeline":
        """The same weights, read in whole numbers of one byte where that is faster: answers are not quite the same.

        "none" is the pipeline itself. It is for the CPU alone.
        """
        if not choose("quantisation", how, QUANTIZED):
            return self
        if self.engine is not None:
            raise ConfigError(
                "int8 of CTranslate2 is made when a run is exported: dragoman export RUN --to ctranslate2 --quantize "
                "int8. Leave it out here, or choose the engine torch."
            )
        other = copy(self)
        other.held = quantized(self.model)
        other.__dict__.pop("glimpse", None)  # what this one saw is its own
        return other

    def chosen_search(self, beam: int | None, n_best: int, wanted: AnySearch | None = None) -> AnySearch:
        """The search of the settings, or a beam of another width (1 is greedy search)."""
        chosen = wanted or self.settings.search
        if beam is not None and beam < 1:
            raise ConfigError(f"A beam has a width of at least 1, not {beam}.")
        if beam is not None and beam > WIDEST:
            raise ConfigError(f"A beam has a width of at most {WIDEST:,}, not {beam:,}.")
        if beam is not None:
            chosen = GREEDY if beam == 1 else (chosen if isinstance(chosen, Beam) else Beam()).changed(width=beam)
        if isinstance(chosen, Beam | Greedy):
            width = chosen.width if isinstance(chosen, Beam) else 1
            if not 1 <= n_best <= width:
                wider = f" Widen the beam as well: --beam {n_best}." if n_best > width else ""
                raise ConfigError(f"n_best must be between 1 and the width of the beam ({width}), not {n_best}.{wider}")
        elif not 1 <= n_best <= WIDEST:
            raise ConfigError(f"n_best must be between 1 and {WIDEST:,}, not {n_best}.")
        return chosen

    @property
    def positions(self) -> int | None:
        """Symbols that a language model can see, START counted; None: as many as one likes."""
        decoder = getattr(self.settings.model, "decoder", None)
        return longest(decoder.positions) if isinstance(decoder, Stack) else None

    def batch_of(self, rows: Sequence[Row], targets: Sequence[Sequence[int]] | None = None) -> Batch:
        """What the model reads, and the targets if there are any."""
        if self.grid is not None:
            pictures = np.stack([row.picture for row in rows if row.picture is not None])
            return collate_pictures(pictures, targets).to(self.device)
        sources = [row.tokens for row in rows]
        batch = collate_sources(sources) if targets is None else collate_pairs(sources, targets)
        return batch.to(self.device)

    def source_symbols(self, row: Sequence[int]) -> tuple[str, ...]:
        """The tokens that an answer may have looked at, END last; of a picture its cells, row by row from 1."""
        if self.grid is None:
            return self.source.symbols([*row, END])
        across = self.grid.cells_of_sides[1]
        return tuple(f"{cell // across + 1},{cell % across + 1}" for cell in row)

    def replay(self, rows: Sequence[Row], found: list[list[Hypothesis]], heads: bool = False) -> list[list[Replayed]]:
        """Attention at full speed: search without it, then feed each answer once more and look."""
        sources = [row for row, hypotheses in zip(rows, found, strict=True) for _ in hypotheses]
        hypotheses = [hypothesis for of_source in found for hypothesis in of_source]
        batch = self.batch_of(sources, [hypothesis.tokens for hypothesis in hypotheses])
        steps = [len(hypothesis.tokens) + hypothesis.finished for hypothesis in hypotheses]
        batch = replace(batch, target=batch.truth().until(max(steps, default=1)))  # what did not end has no END
        again = taught(self.model, batch, attention=True, heads=heads)
        replayed = iter(
            Replayed(
                None if again.weights is None else again.weights[n, :length, : len(sources[n].tokens) + 1],
                again.log_probabilities[n, :length],
                None if again.windows is None else again.windows[n, :length],
                {name: cut(name, each[n], length, len(sources[n].tokens) + 1) for name, each in again.heads.items()},
            )
            for n, length in enumerate(steps)
        )
        return [[next(replayed) for _ in of_source] for of_source in found]

    @cached_property
    def glimpse(self) -> Replayed:
        """Where the model looks in an empty answer to one token: what there is to look at, since only parts know."""
        with torch.inference_mode():
            nothing = Hypothesis((), 0.0, 0.0, finished=True)
            row = Row([UNKNOWN], "", 0)
            if self.grid is not None:
                row = Row(list(range(self.grid.cells)), "", 0, picture=np.zeros((*self.grid.shape, 3), np.uint8))
            [[replayed]] = self.replay([row], [[nothing]], heads=True)
        return replayed

    @property
    def attends(self) -> bool:
        """Whether there is an alignment."""
        return self.glimpse.weights is not None

    @property
    def head_counts(self) -> Counts:
        """How many heads each layer has, by kind: "source", "target", "encoder"; none without a Transformer."""
        if isinstance(self.settings.model, EncoderOnly):
            encoder = self.settings.model.encoder
            return {"encoder": (encoder.heads,) * encoder.layers} if isinstance(encoder, Stack) else {}
        return counts_of(self.glimpse)

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
        require_source(self.settings.model.kind, "An alignment")
        [row], [tokens] = self.source.encode([source]), self.target.encode([target])
        if not row or not source.strip():
            raise DataError("The source text is empty: there is nothing to look at.")
        forced = Hypothesis(tuple(tokens), 0.0, 0.0, finished=True)
        [[replayed]] = self.replay([Row(row, source, 0)], [[forced]])
        total = replayed.log_probabilities.sum().item()
        return prediction_of(self, row, replace(forced, total=total, score=self.rank(total, len(tokens) + 1)), replayed)

    @overload
    def heads(self, inputs: str, targets: str | None = None, beam: int | None = None, prefix: str = "") -> Heads: ...
    @overload
    def heads(
        self, inputs: list[str], targets: list[str] | None = None, beam: int | None = None, prefix: str = ""
    ) -> list[Heads]: ...
    @torch.inference_mode()
    def heads(
        self, inputs: str | list[str], targets: str | list[str] | None = None, beam: int | None = None, prefix: str = ""
    ) -> Heads | list[Heads]:
        """Where every head of every layer looked: in the best answer to one text or to each of a list, or in given
        targets. Language models and models that only read are looked at while they read the text."""
        if not self.answers:
            if targets is not None or beam is not None or prefix:
                require_source(self.settings.model.kind, "A target, a beam or a prefix")
            found = read_into(self, [inputs] if isinstance(inputs, str) else inputs)
            return found[0] if isinstance(inputs, str) else found
        if isinstance(inputs, str):
            return look_into(self, [inputs], None if targets is None else [str(targets)], beam, prefix)[0]
        return look_into(self, inputs, None if targets is None else list(targets), beam, prefix)

    def embed(self, inputs: Any, pool: str | None = None, normalise: bool = False) -> Vectors:
        """One text as a vector (D,), or a list of them as vectors (B, D): the states of its symbols, pooled by mean,
        max, first (cls) or last; by default as the model's head does it, else by mean. `normalise`: to length 1. Of a
        model that reads frames: one array (frames, features), or a list of them."""
        if self.reads_frames:
            return self.embed_frames(inputs, pool, normalise)
        texts = [inputs] if isinstance(inputs, str) else inputs
        found = [one.values for one in self.vectors(texts, pool, normalise)]
        made = np.stack(found) if found else np.zeros((0, self.embedder(pool).width), np.float32)
        return made[0] if isinstance(inputs, str) else made

    def embed_frames(self, inputs: Any, pool: str | None, normalise: bool) -> Vectors:
        """The same of frames."""
        reader, chosen = self.frame_reader, own_pool(self) if pool is None else choose("pooling", pool, POOL_NAMES)
        series = reader.given(inputs)
        made = reader.vectors([reader.laid(one) for one in series], chosen)
        made = made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-12) if normalise else made
        return made if reader.several(inputs) else made[0]

    def vectors(
        self,
        inputs: Iterable[str],
        pool: str | None = None,
        normalise: bool = False,
        longer: str | None = None,
        window: int = WINDOW,
    ) -> Iterator[Vector]:
        """The same for texts of any number, in their order. What is above limits.source is cut, or refused."""
        way = choose("way with longer lines", longer or self.settings.limits.longer, LONGER)
        return self.embedder(pool, normalise).stream(inputs, way == "refuse", window)

    def embedder(self, pool: str | None = None, normalise: bool = False) -> Embedder:
        """What makes vectors of texts."""
        return Embedder.of(self, pool, normalise)

    def rank(self, total: float, length: int) -> float:
        """The score that the search gives to a log-probability of so many symbols, END counted."""
        return scorer_of(self.settings.search).normalised(torch.tensor([total]), length).item()

    @torch.inference_mode()
    def score(self, pairs: Iterable[tuple[Any, str]]) -> Iterator[Scored]:
        """The log-probability of each target, token by token, in the order of the pairs."""
        require_source(self.settings.model.kind, "A score of pairs")
        yield from scores_of(self, pairs)

    @torch.inference_mode()
    def log_probabilities(self, batch: Batch) -> Float[Tensor, "B T"]:
        """Of every target token, END counted; 0 on padding."""
        return taught(self.model, batch.to(self.device)).log_probabilities
