"""Models that learn to read: the same bits after any interruption, both losses told, bad texts told, a toy learned."""

from pathlib import Path
from typing import Any

import pytest

from books import small, written
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import train
from dragoman.recipes import compose
from dragoman.training.events import Finished, Prepared, Resumed, Stepped, Validated
from tiny import Corpus, bits, metrics, of_kind, run_all, run_until, state

ALONE = {"model__sentences": "one", "model__head__learns": "masked_words"}
KINDS: dict[str, dict[str, Any]] = {
    "both": {"model__encoder__dropout": 0.2},
    "words": {"model__head__masks__unit": "word", "training__accumulate": 2, **ALONE},
    "sentences": {"model__head__learns": "next_sentence"},
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return written(tmp_path_factory.mktemp("books"))


@pytest.fixture(scope="module", params=KINDS)
def undisturbed(request: pytest.FixtureRequest, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty steps without a break, over several epochs."""
    out = tmp_path_factory.mktemp(request.param) / request.param
    run_all(small(corpus, **KINDS[request.param]), out)
    return out


def test_a_crash_leaves_no_trace(corpus: Corpus, undisturbed: Path, out: Path) -> None:
    settings = small(corpus, **KINDS[undisturbed.name])
    run_until(settings, out, lambda event: isinstance(event, Stepped) and event.step == 12)
    events = run_all(settings, out)
    assert of_kind(events, Resumed) == [Resumed(10)]
    assert bits(out, 20) == bits(undisturbed, 20)
    assert state(out, 20) == state(undisturbed, 20)
    assert metrics(out) == metrics(undisturbed)
    for name in ("source.bin", "target.bin"):
        assert (out / "data/train" / name).read_bytes() == (undisturbed / "data/train" / name).read_bytes()


def test_a_run_may_start_from_another(corpus: Corpus, undisturbed: Path, out: Path) -> None:
    """With its vocabulary, its masks and its way to cut texts."""
    files = (str(corpus.valid),)
    composed = compose(train=files, valid=files, start=str(undisturbed), settings={"training.steps": 2})
    assert of_kind(run_all(composed.settings, out), Finished)[-1].step == 2
    assert (out / "model/source.json").read_bytes() == (undisturbed / "model/source.json").read_bytes()


def test_losses_are_told_by_name(undisturbed: Path) -> None:
    rows = metrics(undisturbed)
    names = {"both": {"masked_words", "next_sentence"}, "words": {"masked_words"}, "sentences": {"next_sentence"}}
    wanted = names[undisturbed.name]
    told = {"masked_words": {"masked_word_accuracy", "perplexity"}, "next_sentence": {"next_sentence_accuracy"}}
    for row in rows:
        values = row.get("valid", row)
        assert wanted == {"masked_words", "next_sentence"} & set(values)
        if "valid" in row:
            assert set(values) == {"loss", *wanted, *(name for one in wanted for name in told[one])}
            assert values["loss"] == pytest.approx(sum(values[name] for name in wanted))


def test_the_loss_of_a_step_is_the_sum_of_both(corpus: Corpus, out: Path) -> None:
    events = run_all(small(corpus, training__steps=3, training__accumulate=2, training__log_every=1), out)
    for event in of_kind(events, Stepped):
        assert event.loss == pytest.approx(event.others["masked_words"] + event.others["next_sentence"])


def test_words_are_hidden_anew_in_each_epoch(corpus: Corpus, out: Path) -> None:
    """With a rate of next to nothing, the same examples give the same loss unless other words are hidden."""
    own = {"training__optimiser__rate": 1e-12, "training__batching__sentences": 1000, "training__log_every": 1}
    events = run_all(small(corpus, training__steps=2, training__batching__tokens=100_000, **own), out)
    first, second = of_kind(events, Stepped)
    assert (first.epoch, second.epoch) == (1, 2)
    assert first.others["masked_words"] != pytest.approx(second.others["masked_words"], abs=1e-6)


def test_a_toy_is_learned(corpus: Corpus, out: Path) -> None:
    """A document speaks of one animal: a hidden word is that of its neighbours, and a text follows if it is of the
    same."""
    own = {"training__steps": 200, "training__validate_every": 200, "training__optimiser__rate": 0.003}
    events = run_all(small(corpus, **own, model__head__passes=20), out)
    [values] = [event.values for event in of_kind(events, Validated)]
    assert values["masked_word_accuracy"] >= 75  # a full stop may be hidden as well
    assert values["next_sentence_accuracy"] >= 90


@pytest.mark.parametrize(
    ("text", "settings", "sentence"),
    [
        ("One book. It is alone.\nAnd ends.\n", {}, r"train.txt holds one document, .* give several files and set"),
        ("\n \n", {}, r"There is no text in .*train.txt: all lines are blank"),
        ("", {}, r"train.txt is empty. Give a file with at least a line of text"),
        ("a b.\n\nc\x00d.\n\ne f.\n", {}, r"1 bad lines among 5 .*(?s:.*)train.txt:3: holds a NUL"),
    ],
)
def test_bad_texts_are_told(tmp_path: Path, text: str, settings: dict[str, Any], sentence: str) -> None:
    (tmp_path / "train.txt").write_text(text)
    (tmp_path / "valid.txt").write_text("A b.\n\nC d.\n")
    with pytest.raises(DataError, match=sentence):
        list(train(small(Corpus(tmp_path / "train.txt", tmp_path / "valid.txt"), **settings), tmp_path / "run"))


def test_one_document_is_enough_for_words_alone(tmp_path: Path, out: Path) -> None:
    (tmp_path / "book.txt").write_text("One book. It is alone.\nAnd ends.\n" * 20)
    book = Corpus(tmp_path / "book.txt", tmp_path / "book.txt")
    events = run_all(small(book, training__steps=2, **ALONE), out)
    assert of_kind(events, Prepared)[0].passages


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"model__head__length": 25}, "head.length = 25 needs as many positions, and encoder.positions.length is 24"),
        ({"limits__source": 22}, r"limits.source = 22 lets through more than model.encoder.positions.length = 24"),
        ({"model__sentences": "one"}, "set sentences = 'two', or head.learns = 'masked_words'"),
        ({"data__kind": "labelled"}, "learns from whole texts: set data.kind = 'texts', not 'labelled'"),
        ({"objective__kind": "cross_entropy"}, "is learned with objective.kind = 'pretraining', not 'cross_entropy'"),
        ({"training__monitor": "bleu"}, "is nothing that model.head.kind = 'pretraining' is measured by"),
        ({"training__monitor": "next_sentence_acuracy"}, "Did you mean 'next_sentence_accuracy'"),
        ({"model__head__masks__hidden": 0.95}, "are shares of one whole"),
    ],
)
def test_settings_that_do_not_fit_are_told(corpus: Corpus, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        small(corpus, **settings)


def test_whole_words_need_a_tokenizer_that_marks_them(corpus: Corpus, out: Path) -> None:
    own = {"source__kind": "characters", "model__head__masks__unit": "word"}
    settings = small(corpus, source__size=None, source__lowercase=None, **own)
    with pytest.raises(ConfigError, match="of the kind characters does not say which pieces go on"):
        list(train(settings, out))


def test_a_kind_of_head_is_enough(corpus: Corpus) -> None:
    """Objective, data and model follow from it."""
    settings = compose(train=(str(corpus.train),), settings={"model.head.kind": "pretraining"}).settings
    assert (settings.data.kind, settings.objective.kind) == ("texts", "pretraining")
    assert (settings.model.kind, settings.model.sentences) == ("encoder_only", "two")
