"""A new head upon what another model has learned to read."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import texts
from command_line import CommandLine
from dragoman import decoders, encoders, frontends, heads
from dragoman.contracts import Batch
from dragoman.data.labelled import collate_texts
from dragoman.errors import ConfigError
from dragoman.experiment import Experiment
from dragoman.models import DecoderOnly, EncoderDecoder, EncoderOnly, ModelConfig, build_model
from dragoman.nn.positions import Learned
from dragoman.recipes import compose
from dragoman.training.body import body_of, encoder_of, give_body, new_parts, reach_of
from dragoman.training.events import Finished, Resumed, Started, Validated
from dragoman.weights import weight_bytes, weights_of
from labels import SMALL, small, written
from tiny import Corpus, bits, of_kind, run_all, run_until, tiny

SIZE, WIDTH = 11, 6
STACK: dict[str, Any] = {"layers": 2, "heads": 2, "feed_forward": 7, "dropout": 0.0}
WORDS = frontends.Tokens(width=WIDTH, dropout=0.0)
SCALED = frontends.Tokens(width=WIDTH, dropout=0.0, scaled=True)
OLD: dict[str, ModelConfig] = {
    "bert": EncoderOnly(
        source=SCALED, encoder=encoders.Transformer(**STACK, positions=Learned(length=9)), sentences="two"
    ),
    "masked": EncoderOnly(
        source=WORDS,
        encoder=encoders.Transformer(**STACK),
        sentences="two",
        head=heads.Pretraining(length=32),
        matches="exact",
    ),
    "one": EncoderOnly(source=WORDS, encoder=encoders.Transformer(**STACK)),
    "gpt": DecoderOnly(target=WORDS, decoder=decoders.Transformer(**STACK), context=8, tie="target"),
    "lstm": DecoderOnly.model_validate(
        {
            "target": {"width": WIDTH, "dropout": 0.0},
            "decoder": {"kind": "rnn", "cell": "lstm", "layers": 2, "width": 5, "readout": "none", "dropout": 0.0},
        }
    ),
    "translator": EncoderDecoder(source=WORDS, encoder=encoders.Rnn(width=4, dropout=0.0)),
}


def made(name: str) -> Any:
    torch.manual_seed(3)
    return build_model(OLD[name], SIZE, SIZE).eval()


def upon(
    old: Any, name: str, folder: Path, sentences: Any = "one", matches: Any = "none"
) -> tuple[Any, tuple[str, ...]]:
    """A model with the body of an old one, whose weights lie in a file."""
    path = folder / "model.safetensors"
    path.write_bytes(weight_bytes(weights_of(old), {"step": "1"}))
    before = OLD[name]
    frontend = before.target if isinstance(before, DecoderOnly) else before.source
    torch.manual_seed(4)
    own = {"sentences": sentences, "matches": matches, "head": heads.Labels(dropout=0)}
    config = EncoderOnly(source=frontend, encoder=encoder_of(before), **own)
    model = build_model(config, SIZE, 3).eval()
    return model, give_body(model, before, path)


def states(model: Any, batch: Batch, segments: torch.Tensor | None = None) -> torch.Tensor:
    source = batch.sources["source"]
    vectors = model.source(source.values)
    if segments is not None:
        vectors = model.segments(vectors, segments)
    return model.encoder(vectors, source.mask).sequences["source"].states


BATCH = collate_texts([[5, 6, 7], [8, 4, 9, 10, 5]])


@torch.no_grad()
def test_one_text_is_the_first_of_two(tmp_path: Path) -> None:
    old = made("bert")
    new, taken = upon(old, "bert", tmp_path)
    first = torch.zeros_like(BATCH.sources["source"].values)
    torch.testing.assert_close(states(new, BATCH), states(old, BATCH, first))
    assert taken == ("the vectors of 11 symbols", "the vector of a first text", "2 layers of the encoder")
    assert new_parts(new, taken) == ("the head (21 weights)",)
    assert not new.source.embedding.weight[0].any()  # padding


@torch.no_grad()
def test_two_texts_stay_two(tmp_path: Path) -> None:
    old, batch = made("bert"), collate_texts([[5, 6, 2, 7]])
    new, taken = upon(old, "bert", tmp_path, "two")
    segments = batch.sources["segments"].values
    torch.testing.assert_close(states(new, batch, segments), states(old, batch, segments))
    assert "the vectors of both texts" in taken


def test_two_texts_upon_one_have_new_vectors(tmp_path: Path) -> None:
    old = made("one")
    new, taken = upon(old, "one", tmp_path, "two")
    assert torch.equal(new.source.embedding.weight, old.source.embedding.weight)
    assert new_parts(new, taken) == ("the head (21 weights)", "the vectors of first and second text")


@torch.no_grad()
def test_heads_of_pretraining_stay_behind(tmp_path: Path) -> None:
    old, batch = made("masked"), collate_texts([[5, 6, 2, 7]])
    new, taken = upon(old, "masked", tmp_path, "two", "exact")
    torch.testing.assert_close(
        new.encode(batch).sequences["source"].states, old.encode(batch).sequences["source"].states
    )
    assert taken[1:3] == ("the vectors of both texts", "the vector of matches")
    assert new_parts(new, taken) == ("the head (21 weights)",)
    one, taken = upon(old, "masked", tmp_path)
    assert (one.matches, len(taken)) == (None, 3)


def test_vectors_of_matches_may_be_new(tmp_path: Path) -> None:
    new, taken = upon(made("bert"), "bert", tmp_path, "two", "exact")
    assert new_parts(new, taken) == ("the head (21 weights)", "the vector of matches")


@torch.no_grad()
@pytest.mark.parametrize("name", ["gpt", "lstm"])
def test_a_language_model_reads_as_it_wrote(tmp_path: Path, name: str) -> None:
    old = made(name)
    new, taken = upon(old, name, tmp_path)
    source = BATCH.sources["source"]
    hidden = old.decode(source.values, old.begin(BATCH))[0].hidden * source.mask[:, :, None]
    torch.testing.assert_close(states(new, BATCH), hidden)
    assert taken == ("the vectors of 11 symbols", "2 layers of the encoder")


@torch.no_grad()
def test_the_encoder_of_a_translator_reads_as_it_read(tmp_path: Path) -> None:
    old = made("translator")
    new, _ = upon(old, "translator", tmp_path)
    torch.testing.assert_close(states(new, BATCH), old.encode(BATCH).sequences["source"].states)


@pytest.mark.parametrize(("name", "reach"), [("bert", 9), ("masked", 32), ("one", None), ("gpt", 8), ("lstm", 256)])
def test_how_far_a_body_reads(name: str, reach: int | None) -> None:
    assert reach_of(OLD[name]) == reach


LAYERS = {"kind": "transformer", "layers": 2, "heads": 2, "feed_forward": 12, "dropout": 0.1}
READER = {f"model__encoder__{name}": value for name, value in LAYERS.items()} | {
    "model__encoder__positions": {"kind": "learned", "length": 24},
    "model__source__width": 8,
    "data__max_length": 20,
    "limits__source": 20,
    "source__kind": "words",
}


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Transformer that has compared two texts for a while."""
    folder = tmp_path_factory.mktemp("old")
    run_all(small(written(folder, "pairs"), "pairs", **READER, training__steps=20), folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Corpus]:
    return {kind: written(tmp_path_factory.mktemp(kind), kind) for kind in ("labels", "pairs", "numbers", "tags")}


def from_old(old: Path, corpus: Corpus, recipe: str = "classify", out: Path | None = None, **own: Any) -> Experiment:
    settings = SMALL | {name.replace("__", "."): value for name, value in own.items()}
    files = (str(corpus.train),), (str(corpus.valid),)
    return compose(recipe, None, *files, settings=settings, start=str(old), out=out).settings


@pytest.mark.parametrize(
    ("kind", "recipe", "own"),
    [
        ("labels", "classify", {}),
        ("pairs", "classify", {"model__sentences": "two"}),
        ("numbers", "classify", {"model__head__kind": "number", "training__monitor": "pearson"}),
        ("tags", "tag", {}),
    ],
)
def test_every_head_stands_on_it(
    old: Path, corpora: dict[str, Corpus], out: Path, kind: str, recipe: str, own: dict[str, Any]
) -> None:
    settings = from_old(old, corpora[kind], recipe, **own, training__steps=4, training__validate_every=4)
    assert (settings.training.take, settings.source.kind, settings.model.source.width) == ("body", "words", 8)
    assert settings.data.max_length == settings.limits.source == (21 if kind == "pairs" else 22)
    events = run_all(settings, out)
    [started] = of_kind(events, Started)
    assert started.path == str(old)
    assert started.taken[-1] == "2 layers of the encoder"
    assert started.new[0].startswith("the head (")
    assert (out / "tokenizers/source.json").read_bytes() == (old / "tokenizers/source.json").read_bytes()
    assert len(of_kind(events, Validated)) == 1


def test_the_shape_alone_has_weights_of_its_own(old: Path, corpora: dict[str, Corpus], tmp_path: Path) -> None:
    own = {"model__sentences": "two", "training__steps": 1, "training__optimiser__rate": 1e-9}
    own |= {"training__seed": 9}
    body = run_all(from_old(old, corpora["pairs"], **own), tmp_path / "body")
    shape = run_all(from_old(old, corpora["pairs"], **own, training__take="shape"), tmp_path / "shape")
    [taken], [bare] = of_kind(body, Started), of_kind(shape, Started)
    assert (bare.taken, bare.new) == ((), ("all weights",))
    assert taken.taken
    vectors = [weights(tmp_path / name)["source.embedding.weight"] for name in ("body", "shape")]
    before = weights(old)["source.embedding.weight"]
    torch.testing.assert_close(vectors[0], before, atol=1e-6, rtol=0)
    assert not torch.allclose(vectors[1], before, atol=0.1)


def weights(run: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(run / "model/model.safetensors")


def test_the_same_bits_after_a_crash_without_the_old_run(old: Path, corpora: dict[str, Corpus], tmp_path: Path) -> None:
    mine, whole, broken = tmp_path / "mine", tmp_path / "whole", tmp_path / "broken"
    shutil.copytree(old, mine)
    own = {"training__steps": 12, "training__freeze": 1, "training__layer_decay": 0.5}
    run_all(from_old(mine, corpora["labels"], **own), whole)
    run_until(from_old(mine, corpora["labels"], **own), broken, lambda event: getattr(event, "step", 0) == 8)
    shutil.rmtree(mine)
    events = run_all(from_old(mine, corpora["labels"], out=broken, **own), broken)
    assert len(of_kind(events, Resumed)) == 1
    assert of_kind(events, Finished) == [Finished(12, "steps")]
    assert bits(broken, 12) == bits(whole, 12)


def test_a_language_model_gets_a_head(corpora: dict[str, Corpus], tmp_path: Path) -> None:
    books = texts.written(tmp_path)
    for recipe in ("gpt", "zaremba2014"):
        run_all(texts.small(books, recipe, training__steps=2), tmp_path / recipe)
        settings = from_old(tmp_path / recipe, corpora["labels"], training__steps=2)
        assert settings.model.encoder.directions == "one"
        assert settings.model.head.pool == "last"
        assert len(of_kind(run_all(settings, tmp_path / f"{recipe}-labels"), Validated)) == 1
        other = from_old(tmp_path / recipe, corpora["labels"], model__head__pool="mean")
        assert other.model.head.pool == "mean"


def test_a_translator_lends_its_encoder(corpus: Corpus, corpora: dict[str, Corpus], tmp_path: Path) -> None:
    run_all(tiny(corpus, training__steps=1, training__validate_every=1), tmp_path / "old")
    settings = from_old(tmp_path / "old", corpora["labels"], training__steps=1, training__freeze="body")
    assert body_of(settings)["model"]["encoder"]["kind"] == "rnn"
    assert of_kind(run_all(settings, tmp_path / "new"), Finished) == [Finished(1, "steps")]


@pytest.mark.parametrize(
    ("recipe", "own", "said"),
    [
        ("classify", {"model__encoder__layers": 3}, r"model\.encoder\.layers: 2 → 3"),
        ("classify", {"model__source__width": 16}, r"model\.source\.width: 8 → 16"),
        ("tag", {"source__kind": "bpe"}, r"source\.kind: words → bpe"),
        ("classify", {"training__take": "all"}, "goes on with the whole model, under its own settings"),
        ("g2p", {}, "no recipe of a model that only reads.* leave the recipe g2p out"),
        ("classify", {"data__max_length": 30}, r"data\.max_length = 30 lets through more than .*length = 24"),
    ],
)
def test_what_does_not_fit_is_refused(
    old: Path, corpora: dict[str, Corpus], recipe: str, own: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        from_old(old, corpora["labels"], recipe, **own)
    assert from_old(old, corpora["labels"], model__encoder__dropout=0.3).model.encoder.dropout == 0.3


def test_what_is_taken_needs_a_recipe_and_a_run(old: Path, corpora: dict[str, Corpus]) -> None:
    with pytest.raises(ConfigError, match=r"training\.take = 'body' puts a new head .*name the recipe of the new task"):
        compose(train=(str(corpora["labels"].train),), start=str(old), settings={"training.take": "body"})
    with pytest.raises(ConfigError, match=r"take = 'shape' needs a run to take it from: give --from"):
        small(corpora["labels"], "labels", training__take="shape")


def test_the_command_says_what_is_taken(
    old: Path, corpora: dict[str, Corpus], out: Path, dragoman: CommandLine
) -> None:
    corpus = corpora["labels"]
    options = ["--valid", corpus.valid, "--from", old, "--out", out, "--steps", "1", "training.threads=1"]
    done = dragoman("train", "classify", corpus.train, *options)
    assert done.code == 0
    assert "taken: the vectors of " in done.err
    assert "the vector of a first text, 2 layers of the encoder · new: the head (18 weights)" in done.err
