"""A Transformer for CTranslate2: its weights by the names of that engine, and a proof that both answer alike."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from dragoman import decoders, encoders, heads
from dragoman.data.draft import draft_of
from dragoman.data.tokenizers import END, START, UNKNOWN
from dragoman.engines.ctranslate2 import FILES, beyond, needed
from dragoman.engines.tuning import Tuned, kept_or_measured
from dragoman.errors import ConfigError
from dragoman.export import Exported, Wanted, place_for, refuse_ngrams, size_of
from dragoman.export.agreement import compared, left_out
from dragoman.export.held_out import held_out, within_limits
from dragoman.export.rounding import EIGHT_BITS, SEVEN_BITS, Moments, in_bytes, moments_of
from dragoman.models import EncoderDecoder, EncoderDecoderModel
from dragoman.nn.positions import LearnedPositions, OneHotPositions, SinusoidalPositions, sinusoids
from dragoman.nn.transformer import Around, FeedForward, Stack
from dragoman.pipeline import Pipeline, model_folder
from dragoman.pipeline.engine import RECORD
from dragoman.search import Greedy
from dragoman.served import Served, require_source
from dragoman.storage import hash_file, write_record

LEARNT_FROM = 300  # further held-out lines that int8 is rounded for
ENOUGH = 50  # of them; with fewer, those that it is checked on as well
KEPT = ("config.toml", "source.json", "target.json")  # of a model folder: how texts become symbols, and answers


def export(run: Path, wanted: Wanted) -> Exported:
    """Write the folder, have both engines answer held-out lines, and leave nothing where they disagree."""
    needed()
    folder, pipeline = model_folder(run), Pipeline.load(run, "cpu")
    require_source(pipeline.settings.model.kind, "An export")
    refuse_others(pipeline.settings)
    out = place_for(run, wanted, "ctranslate2" + ("-int8" if wanted.quantize == "int8" else ""))
    texts, others = chosen_lines(run, wanted, pipeline)
    before = (folder / "model.safetensors").stat().st_size / 1e6
    out.parent.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {"to": "ctranslate2", "quantize": wanted.quantize, **made_of(folder, pipeline)}
    with draft_of(out) as draft:
        wanted.watch("writing", 0.0)
        facts["positions"] = write(pipeline, draft, others, lambda share: wanted.watch("rounding", 0.3 * share))
        for name in KEPT:
            (draft / name).write_bytes((folder / name).read_bytes())
        facts["files"] = {name: hash_file(draft / name) for name in FILES if (draft / name).is_file()}
        write_record(draft / RECORD, facts)  # it says what the engine may do with the weights
        other = Pipeline.load(draft, "cpu")
        chosen = tuned(other, texts)
        found = compared(pipeline, other, texts, wanted, lambda share: wanted.watch("comparing", share))
        write_record(draft / RECORD, facts | found.facts())
    size = size_of(out)
    sentences = [
        *found.sentences("CTranslate2"),
        *chosen.sentences(),
        f"{size:.1f} MB; the run's model: {before:.1f} MB.",
        *left_out(pipeline),
        *other_search(pipeline),
    ]
    if set(others) & set(texts):
        sentences.append("There were few lines: int8 was rounded for those that it was then checked on.")
    return Exported("ctranslate2", out, size, facts | found.facts() | {"tuned": chosen.facts()}, sentences)


def chosen_lines(run: Path, wanted: Wanted, pipeline: Pipeline) -> tuple[list[str], list[str]]:
    """Held-out lines to check an export on, and others that weights are rounded for, if they are."""
    if wanted.quantize == "none":
        return within_limits(held_out(run, wanted, pipeline), pipeline), []
    texts = within_limits(held_out(run, replace(wanted, lines=wanted.lines + LEARNT_FROM), pipeline), pipeline)
    checked, others = texts[: wanted.lines], texts[wanted.lines :]
    return checked, others if len(others) >= ENOUGH else texts


def other_search(pipeline: Pipeline) -> list[str]:
    """What to ask for, where the engine does not have the search of the run."""
    search = pipeline.settings.search
    missing = [] if isinstance(search, Greedy) else list(beyond(search))
    if not missing:
        return []
    return [
        f"CTranslate2 has not the search of this run ({'; '.join(missing)}): ask with --beam 1, or with --beam 5 "
        "search.normalisation=average."
    ]


def made_of(folder: Path, pipeline: Pipeline) -> dict[str, Any]:
    """What an export can be held against: the weights that it has, and the tokenizers that belong to them."""
    tokenizers = {f"{side}.json": getattr(pipeline, side).hash for side in ("source", "target")}
    return {"weights": hash_file(folder / "model.safetensors"), "tokenizers": tokenizers}


def tuned(other: Pipeline, texts: Sequence[str]) -> Tuned:
    """What is fastest here, measured with held-out lines and kept in the folder."""
    assert other.engine is not None  # noqa: S101 (an export has one)
    engine = other.engine.engine
    rows = [[engine.source[number] for number in row] for row in other.source.encode(list(texts))]
    engine.tuned = kept_or_measured(engine.folder, rows, engine.positions[1], engine.tell)
    return engine.tuned


def refuse_others(settings: Served) -> None:
    """What the engine has no layers for."""
    refuse_ngrams(settings, "CTranslate2")
    for name in ("encoder", "decoder"):
        part = getattr(settings.model, name)
        if not isinstance(part, Stack):
            raise ConfigError(
                f"CTranslate2 has Transformers alone, and model.{name}.kind is {part.kind!r}. Recurrent models and "
                "hybrids go to other places with --to onnx or --to folder."
            )
    if getattr(settings.model, "encoder").directions != "both":  # noqa: B009
        raise ConfigError(
            "An encoder of CTranslate2 looks both ways, and this one looks back only (model.encoder.directions = "
            "'one'). It goes to other places with --to onnx or --to folder."
        )
    if not isinstance(settings.model.head, heads.Tokens):
        raise ConfigError(f"CTranslate2 has no head of the kind {settings.model.head.kind!r}.")


def write(pipeline: Pipeline, folder: Path, texts: Sequence[str], watch: Callable[[float], None]) -> list[int | None]:
    """model.bin, config.json and the vocabularies, as the engine reads them; in bytes where there are texts to round
    for. How many positions the tables of both sides have, where there are tables."""
    model = pipeline.model
    assert isinstance(model, EncoderDecoderModel)  # noqa: S101 (an ensemble is no run)
    spec = spec_of(model, pipeline.settings, moments_of(pipeline, texts, watch))
    source, target = (list(side.learned.vocabulary) for side in (pipeline.source, pipeline.target))
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    config = spec.config
    config.unk_token, config.eos_token, config.bos_token = target[UNKNOWN], target[END], target[START]
    config.decoder_start_token, config.add_source_eos = target[START], True
    if texts:
        make_small(spec)
    positions = [positions_of(side) for side in (spec.encoder, spec.decoder)]
    spec.validate()
    spec.optimize()  # equal tables are written once
    spec.save(str(folder))
    return positions


def positions_of(spec: Any) -> int | None:
    table = getattr(getattr(spec, "position_encodings", None), "encodings", None)
    return None if table is None else int(table.shape[0])


def spec_of(model: EncoderDecoderModel, settings: Served, moments: Moments) -> Any:
    from ctranslate2.specs import TransformerDecoderSpec, TransformerEncoderSpec, TransformerSpec

    config = settings.model
    assert isinstance(config, EncoderDecoder)  # noqa: S101 (see export)
    encoder, decoder = model.encoder, model.decoder
    assert isinstance(encoder, encoders.TransformerEncoder)  # noqa: S101 (see refuse_others)
    assert isinstance(decoder, decoders.TransformerDecoder)  # noqa: S101
    longest = max(settings.limits.source, settings.limits.answer) + 1
    first, second = (TransformerEncoderSpec(**layout(config.encoder)), TransformerDecoderSpec(**layout(config.decoder)))
    for spec, part, frontend in ((first, encoder, model.source), (second, decoder, model.target)):
        embeddings = spec.embeddings[0] if spec is first else spec.embeddings
        set_embeddings(spec, embeddings, part.positions, frontend, longest)
        if not isinstance(part.last_norm, nn.Identity):
            set_norm(spec.layer_norm, part.last_norm)
        for layer, of in zip(spec.layer, list[Any](part.layers), strict=True):
            set_around(layer.self_attention, of.around_attention)
            set_linear(layer.self_attention.linear[0], of.attention.of_all, moments)
            set_linear(layer.self_attention.linear[1], of.attention.output, moments)
            set_feed_forward(layer.ffn, of.feed_forward, of.around_feed_forward, moments)
    for layer, of in zip(second.layer, list[Any](decoder.layers), strict=True):
        set_around(layer.attention, of.around_cross)
        for place, linear in enumerate((of.cross.of_query, of.cross.of_memory, of.cross.output)):
            set_linear(layer.attention.linear[place], linear, moments)
    if not isinstance(encoder.first_norm, nn.Identity):
        set_norm(first.layernorm_embedding, encoder.first_norm)
    set_linear(second.projection, model.head.output, moments)
    return TransformerSpec(first, second)


def layout(config: Any) -> dict[str, Any]:
    """What kind of layers there are."""
    from ctranslate2.specs import Activation

    activations = {"relu": Activation.RELU, "gelu": Activation.GELU, "swiglu": Activation.SWISH}
    return {
        "num_layers": config.layers,
        "num_heads": config.heads,
        "pre_norm": config.norm_place == "before",
        "activation": activations[config.activation],
        "ffn_glu": config.activation == "swiglu",
        "rms_norm": config.norm == "rms",
        "rotary_dim": 0 if config.positions.kind == "rotary" else None,
        "rotary_interleave": True,  # elements 2i and 2i + 1 are a pair
        "layernorm_embedding": getattr(config, "first_norm", False),  # of an encoder
    }


def set_embeddings(spec: Any, embeddings: Any, positions: nn.Module, frontend: Any, longest: int) -> None:
    """Vectors of symbols, and those of positions; a one-hot position is a column of a matrix that also turns the
    vectors, which is done here once for all of them."""
    vectors, spec.scale_embeddings = frontend.embedding.weight, frontend.scale != 1
    table: Tensor | None = None
    match positions:
        case SinusoidalPositions():
            table = sinusoids(longest, frontend.width).float()
        case LearnedPositions():
            table = positions.table
        case OneHotPositions():
            weight, width = positions.projected.weight, frontend.width
            vectors, spec.scale_embeddings = frontend.scale * vectors @ weight[:, :width].t(), False
            table = weight[:, width:].t() + positions.projected.bias
    embeddings.weight = array(vectors)
    if table is not None:
        spec.position_encodings.encodings = array(table)
    elif hasattr(spec, "position_encodings"):
        delattr(spec, "position_encodings")


def set_feed_forward(spec: Any, part: FeedForward, around: Around, moments: Moments) -> None:
    set_around(spec, around)
    if part.activation == "swiglu":
        halves = (spec.linear_0, spec.linear_0_noact), part.wide.weight.chunk(2), part.wide.bias.chunk(2)
        for half, weight, bias in zip(*halves, strict=True):
            set_weight(half, weight, moments.get(part.wide))
            half.bias = array(bias)
    else:
        set_linear(spec.linear_0, part.wide, moments)
    set_linear(spec.linear_1, part.output, moments)


def set_around(spec: Any, around: Around) -> None:
    set_norm(spec.layer_norm, around.norm)


def set_norm(spec: Any, norm: Any) -> None:
    spec.gamma = array(norm.weight)
    if isinstance(norm, nn.LayerNorm):
        spec.beta = array(norm.bias)


def set_weight(spec: Any, weight: Tensor, moments: Tensor | None) -> None:
    """In 7 bits where it is known what is multiplied with them: a processor without VNNI adds pairs of products in 16
    bits, which overflow with 8 (errors of 0.15 to 0.9 nats were measured)."""
    spec.weight = array(weight)
    if moments is not None:
        spec.weight, spec.weight_scale = in_bytes(spec.weight, SEVEN_BITS, moments)


def set_linear(spec: Any, layer: nn.Linear, moments: Moments) -> None:
    set_weight(spec, layer.weight, moments.get(layer))
    if layer.bias is not None:
        spec.bias = array(layer.bias)


def array(tensor: Tensor) -> Any:
    return np.ascontiguousarray(tensor.detach().cpu().numpy())


def make_small(spec: Any) -> None:
    """All that is still to be rounded: vectors that are looked up, in 8 bits."""
    from ctranslate2.specs.common_spec import EmbeddingsSpec

    for layer in parts_of(spec):
        if isinstance(layer, EmbeddingsSpec):
            layer.weight, layer.weight_scale = in_bytes(layer.weight, EIGHT_BITS)


def parts_of(spec: Any) -> Iterator[Any]:
    """A layer of the engine and all within it."""
    from ctranslate2.specs.model_spec import LayerSpec

    if isinstance(spec, LayerSpec):
        yield spec
        for value in vars(spec).values():
            for part in value if isinstance(value, list) else [value]:
                yield from parts_of(part)
