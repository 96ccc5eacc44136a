"""The one door to a trained model."""

from pathlib import Path

import pytest

from dragoman import load
from dragoman.errors import ConfigError
from dragoman.nn import int8, quantized
from dragoman.pipeline import Ensemble, Pipeline, batched
from dragoman.served import Limits
from tiny import Corpus, run_all, tiny

in_int8 = pytest.mark.skipif(not int8.int8_works(), reason="FBGEMM is for Intel's and AMD's processors")
LINES = ["abc", "g", "fedcba", "", "aabb", "zzz", "gfgfgf", " ", "cab"]


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half trained, so that its answers differ and its beams are wide open."""
    out = tmp_path_factory.mktemp("pipeline") / "run"
    run_all(tiny(corpus, training__steps=60, training__save_every=60, training__validate_every=60), out)
    return out


@pytest.fixture(scope="module")
def pipeline(run: Path) -> Pipeline:
    return load(run, device="cpu")


@pytest.mark.parametrize("beam", [1, 4])
def test_neighbours_do_not_change_an_answer(pipeline: Pipeline, beam: int) -> None:
    together = pipeline.predict(LINES, beam)
    for line, answer in zip(LINES, together, strict=True):
        alone = pipeline.predict(line, beam)
        assert alone.source == answer.source == line
        assert alone.text == answer.text
        assert alone.score == pytest.approx(answer.score, abs=1e-5)
    backwards = pipeline.predict(LINES[::-1] * 40, beam)
    assert [answer.text for answer in backwards[: len(LINES)]] == [answer.text for answer in together[::-1]]


@pytest.fixture
def rounded(run: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """Every layer of it, however small."""
    monkeypatch.setattr(int8, "WORTH_ROUNDING", 1)
    return load(run, device="cpu", quantize="int8")


@in_int8
def test_int8_answers_nearly_alike(pipeline: Pipeline, rounded: Pipeline, corpus: Corpus) -> None:
    """Half trained, a model is of two minds about some lines. Rounding moves no token by more than a tenth."""
    pairs = [tuple(line.split("\t")) for line in corpus.valid.read_text().splitlines()]
    exact, found = (list(one.score(pairs)) for one in (pipeline, rounded))
    tokens = [[value for one in scored for value in one.token_log_probabilities] for scored in (exact, found)]
    assert 0 < max(abs(a - b) for a, b in zip(*tokens, strict=True)) < 0.1
    texts = [[answer.text for answer in one.predict([source for source, _ in pairs])] for one in (pipeline, rounded)]
    assert sum(a == b for a, b in zip(*texts, strict=True)) >= 0.9 * len(pairs)


@in_int8
@pytest.mark.parametrize("beam", [1, 4])
def test_neighbours_do_not_change_an_answer_in_int8(rounded: Pipeline, beam: int) -> None:
    """Where rounding of single precision falls between two whole numbers, it is seen: hence a larger tolerance."""
    together = rounded.predict(LINES * 3, beam)
    for line, answer in zip(LINES * 3, together, strict=True):
        alone = rounded.predict(line, beam)
        assert alone.text == answer.text
        assert alone.score == pytest.approx(answer.score, abs=5e-3)


@in_int8
def test_a_pipeline_in_int8_leaves_the_other_as_it_was(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8, "WORTH_ROUNDING", 1)
    pipeline = load(run, device="cpu")
    before = pipeline.predict(LINES)
    other = pipeline.quantized()
    assert other.predict(LINES) != before
    assert pipeline.predict(LINES) == before
    assert pipeline.quantized("none") is pipeline
    assert other.changed(["search.width=2"]).predict("abc").score == pytest.approx(
        other.predict("abc", beam=2).score, abs=5e-3
    )


@in_int8
def test_an_ensemble_in_int8(run: Path, rounded: Pipeline) -> None:
    twins = Ensemble.load_all([run, run], device="cpu")
    before = twins.predict(LINES)
    answers = twins.quantized().predict(LINES)
    assert twins.predict(LINES) == before
    for answer, exact, alone in zip(answers, before, rounded.predict(LINES), strict=True):
        assert answer.score == pytest.approx(alone.score, abs=5e-3)
        assert (answer.score != exact.score) == bool(answer.text)


def test_what_int8_refuses(run: Path, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ConfigError, match=r"No quantisation is called 'int9'\. Did you mean 'int8'\? Known: int8, none"
    ):
        load(run, device="cpu", quantize="int9")
    monkeypatch.setattr(quantized, "int8_works", lambda: False)
    with pytest.raises(ConfigError, match="no int8 products for this processor"):
        pipeline.quantized()


def test_nothing_gives_nothing(pipeline: Pipeline) -> None:
    assert pipeline.predict([]) == []
    empty = pipeline.predict("")
    assert (empty.text, empty.tokens, empty.score) == ("", (), 0.0)


def test_a_model_folder_is_a_run(run: Path, pipeline: Pipeline) -> None:
    """Save → load → same output, from either folder."""
    again = load(run / "model", device="cpu")
    assert again.predict(LINES) == pipeline.predict(LINES)
    assert again.spec() == {"source": "text", "target": "text"}


def test_alignment_rows_are_distributions(pipeline: Pipeline) -> None:
    for answer in pipeline.predict(["abc", "fedcba"], n_best=3):
        for prediction in answer.predictions:
            assert prediction.alignment is not None
            assert len(prediction.alignment) == len(prediction.tokens) + prediction.finished  # END last
            assert prediction.source_tokens[:-1] == tuple(answer.source)
            for row in prediction.alignment:
                assert len(row) == len(prediction.source_tokens)
                assert sum(row) == pytest.approx(1, abs=1e-5)


def test_alignments_are_left_out_when_not_wanted(pipeline: Pipeline) -> None:
    assert pipeline.predict("abc", alignments=False).alignment is None


def test_n_best_are_different_and_in_order(pipeline: Pipeline) -> None:
    predictions = pipeline.predict("abc", beam=5, n_best=5).predictions
    assert len({prediction.tokens for prediction in predictions}) == len(predictions) == 5
    scores = [prediction.score for prediction in predictions]
    assert scores == sorted(scores, reverse=True)


def test_a_long_source_is_cut_and_says_so(pipeline: Pipeline) -> None:
    limits = Limits(source=4)
    short = Pipeline(
        pipeline.model, pipeline.source, pipeline.target, pipeline.settings.changed(limits=limits), pipeline.device
    )
    cut, whole = short.predict(["abcdefg", "abcd"], longer="cut")
    assert (cut.longer, whole.longer) == ("cut", "")
    assert cut.text == whole.text
    assert cut.source == "abcdefg"


def test_the_answer_has_a_limit(pipeline: Pipeline) -> None:
    limits = Limits(ratio=0.1, extra=2)
    short = Pipeline(
        pipeline.model, pipeline.source, pipeline.target, pipeline.settings.changed(limits=limits), pipeline.device
    )
    answer = short.predict("fedcba", beam=1)
    assert not answer.best.finished
    assert len(answer.tokens) == 2
    assert Limits(ratio=2, extra=10, answer=15).answer_length(1) == 12
    assert Limits(ratio=2, extra=10, answer=15).answer_length(9) == 15


def test_scores_agree_with_predictions(pipeline: Pipeline) -> None:
    predictions = [(line, pipeline.predict(line, n_best=2).predictions) for line in ("abc", "gfgfgf")]
    pairs = [(line, prediction.text) for line, both in predictions for prediction in both if prediction.finished]
    totals = [prediction.log_probability for _, both in predictions for prediction in both if prediction.finished]
    scored = list(pipeline.score(pairs))
    assert len(totals) >= 2
    assert [score.log_probability for score in scored] == pytest.approx(totals, abs=1e-4)
    for (_, text), score in zip(pairs, scored, strict=True):
        assert score.tokens[:-1] == tuple(text.split(" "))
        assert sum(score.token_log_probabilities) == pytest.approx(score.log_probability, abs=1e-5)


def test_scores_keep_their_order(pipeline: Pipeline) -> None:
    pairs = [("abcdef", "f e d c b a"), ("a", "a"), ("abc", "c b a")]
    forwards, backwards = list(pipeline.score(pairs)), list(pipeline.score(pairs[::-1]))
    expected = [score.log_probability for score in forwards]
    assert [score.log_probability for score in backwards[::-1]] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("beam", "n_best", "said"),
    [
        (0, 1, "A beam has a width of at least 1, not 0."),
        (3, 4, "n_best must be between 1 and the width of the beam .3., not 4."),
        (None, 0, "n_best must be between 1"),
    ],
)
def test_impossible_searches(pipeline: Pipeline, beam: int | None, n_best: int, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        pipeline.predict("abc", beam, n_best)


def test_batches_stay_within_their_budget() -> None:
    lengths = [1, 1, 2, 3, 3, 9]
    assert list(batched(range(6), lengths, 8)) == [[0, 1], [2, 3], [4], [5]]
    assert list(batched([], [], 8)) == []


def test_a_run_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no run of dragoman"):
        load(tmp_path)
    (tmp_path / "config.toml").write_text("")
    with pytest.raises(ConfigError, match="has no model yet"):
        load(tmp_path)
