"""Trainings with sub-word sampling, with one vocabulary for both sides, and with a tokenizer of the user's own."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.data.tokenizers import Tokenizer
from dragoman.errors import ConfigError
from dragoman.pipeline import Pipeline
from dragoman.training.events import Event, Stepped
from tiny import Corpus, bits, metrics, of_kind, run_all, run_until, tiny

SAMPLED: dict[str, Any] = {
    "source": {"kind": "bpe", "size": 280, "sampling": 0.3},
    "target": {"kind": "unigram", "size": 280, "sampling": 0.1},
    "training__steps": 16,
}


def test_resuming_gives_the_same_bits(corpus: Corpus, tmp_path: Path) -> None:
    """An epoch has twelve updates, so that the second one is in it."""
    settings = tiny(corpus, **SAMPLED)
    run_all(settings, tmp_path / "whole")

    def broken(event: Event) -> bool:
        return isinstance(event, Stepped) and event.step == 13

    run_until(settings, tmp_path / "broken", broken)
    run_all(settings, tmp_path / "broken")
    assert bits(tmp_path / "broken", 15) == bits(tmp_path / "whole", 15)
    assert metrics(tmp_path / "broken") == metrics(tmp_path / "whole")


def test_sampling_changes_what_is_learned_but_not_the_store(corpus: Corpus, tmp_path: Path) -> None:
    few = SAMPLED | {"training__steps": 2}
    plain = few | {"source": {"kind": "bpe", "size": 280}, "target": {"kind": "unigram", "size": 280}}
    events = [run_all(tiny(corpus, **each), tmp_path / name) for name, each in (("a", few), ("b", plain))]
    tokens = [[event.target_tokens for event in of_kind(found, Stepped)] for found in events]
    assert tokens[0] != tokens[1]
    stores = [(tmp_path / name / "data" / "train" / "target.bin").read_bytes() for name in "ab"]
    assert stores[0] == stores[1]
    with pytest.raises(ConfigError, match=r"source.sampling: 0.0 → 0.3"):
        run_all(tiny(corpus, **few | {"training__steps": 3}), tmp_path / "b")


def test_a_shared_vocabulary_is_learned_from_both_sides(corpus: Corpus, tmp_path: Path) -> None:
    out = tmp_path / "run"
    lines = [f"{number} eins\t{number} two\n" for number in range(60)]
    (tmp_path / "pairs.tsv").write_text("".join(lines))
    pairs = Corpus(tmp_path / "pairs.tsv", tmp_path / "pairs.tsv")
    shared: dict[str, Any] = {"source": {"kind": "words"}, "target": {"kind": "shared"}, "training__steps": 2}
    run_all(tiny(pairs, **shared), out)
    source, target = (Tokenizer.load(out / "tokenizers" / f"{side}.json") for side in ("source", "target"))
    assert source == target
    assert source.hash == target.hash
    assert {"eins", "two"} < set(source.learned.vocabulary)
    model = Pipeline.load(out, "cpu")
    assert model.source == model.target == source
    run_all(tiny(pairs, **shared | {"target": {"kind": "words"}}), tmp_path / "apart")
    apart = Tokenizer.load(tmp_path / "apart" / "tokenizers" / "source.json")
    assert apart.hash != source.hash
    assert "two" not in apart.learned.vocabulary


def test_the_source_has_nobody_to_share_with(corpus: Corpus) -> None:
    with pytest.raises(
        ConfigError, match=r"No source is called 'shared'.*Known: bpe, bytes, characters, features, file"
    ):
        tiny(corpus, source={"kind": "shared"})


def test_a_file_is_not_needed_once_the_run_has_begun(corpus: Corpus, tmp_path: Path) -> None:
    run_all(tiny(corpus, **SAMPLED | {"training__steps": 2}), tmp_path / "first")
    own = tmp_path / "own.json"
    own.write_bytes((tmp_path / "first" / "tokenizers" / "source.json").read_bytes())
    settings = {"source": {"kind": "file", "path": str(own), "sampling": 0.3}, "target": {"kind": "words"}}
    run_all(tiny(corpus, **settings, training__steps=5), tmp_path / "second")
    own.unlink()
    run_all(tiny(corpus, **settings, training__steps=7), tmp_path / "second")
    assert Pipeline.load(tmp_path / "second", "cpu").source.kind == "bpe"
    with pytest.raises(ConfigError, match=r"Cannot read .*own.json: No such file"):
        run_all(tiny(corpus, **settings), tmp_path / "third")
