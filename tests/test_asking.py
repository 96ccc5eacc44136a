"""Constraints, samples, ensembles and least risk, asked of a trained model."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from dragoman.contracts import Prediction
from dragoman.errors import ConfigError, DataError
from dragoman.pipeline import Constraints, Ensemble, Pipeline
from dragoman.pipeline.risk import chrf, least_risk, ngrams
from dragoman.pipeline.traces import Keeping, Telling
from dragoman.search import Beam, Exact, Greedy, Sampling
from tiny import Corpus, run_all, tiny

LINES = ["abc", "g", "fedcba", "", "aabb", "gfgfgf", "cab"]
SHORT = {"training__steps": 60, "training__save_every": 60, "training__validate_every": 60}
SEARCHES = [Greedy(), Beam(width=4), Beam(width=4, groups=2), Sampling(seed=3), Beam(width=3, coverage=0.2)]


@pytest.fixture(scope="module")
def runs(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two models of one vocabulary, half trained."""
    folder = tmp_path_factory.mktemp("asking")
    for seed in (1, 2):
        run_all(tiny(corpus, training__seed=seed, **SHORT), folder / f"{seed}")
    return folder / "1", folder / "2"


@pytest.fixture(scope="module")
def pipeline(runs: tuple[Path, Path]) -> Pipeline:
    return Pipeline.load(runs[0], "cpu")


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.kind)
def test_neighbours_do_not_matter_to_any_search(pipeline: Pipeline, search: Beam) -> None:
    together = pipeline.predict(LINES, search=search)
    for number, line in enumerate(LINES):
        lone = ["x"] * number + [line]  # a sample depends on the number of its line
        alone = pipeline.predict(lone if isinstance(search, Sampling) else [line], search=search)[-1]
        assert alone.text == together[number].text
        assert alone.score == pytest.approx(together[number].score, abs=1e-5)


@pytest.mark.parametrize("search", [*SEARCHES, Exact(budget=2000)], ids=lambda search: search.kind)
def test_scores_are_what_replaying_gives(pipeline: Pipeline, search: Beam) -> None:
    for answer in pipeline.predict(["abc", "gfg"], search=search):
        assert sum(answer.best.token_log_probabilities) == pytest.approx(answer.best.log_probability, abs=1e-4)


@pytest.mark.parametrize("search", [Greedy(), Beam(width=4), Sampling(), Exact(budget=500)], ids=lambda one: one.kind)
def test_a_prefix_begins_every_answer(pipeline: Pipeline, search: Beam) -> None:
    wanted = [Constraints(prefix=prefix) for prefix in ("g f", "", "a", "g f", "a", "b b b", "")]
    answers = pipeline.predict(LINES, search=search, constraints=wanted)
    for line, answer, constraint in zip(LINES, answers, wanted, strict=True):
        if line:
            assert answer.text.startswith(constraint.prefix)
            assert sum(answer.best.token_log_probabilities) == pytest.approx(answer.best.log_probability, abs=1e-4)
    free = pipeline.predict(LINES, search=search)
    assert [answers[n].text for n in (1, 6)] == [free[n].text for n in (1, 6)]


def test_a_prefix_of_the_own_answer_changes_nothing(pipeline: Pipeline) -> None:
    for answer in pipeline.predict(["fedcba", "aabb"], beam=1):
        prefix = " ".join(answer.text.split()[:2])
        again = pipeline.predict(answer.source, beam=1, constraints=Constraints(prefix=prefix))
        assert again.text == answer.text
        assert again.score == pytest.approx(answer.score, abs=1e-5)


@pytest.mark.parametrize("must", [("d",), ("d e",), ("a a", "g"), ("c b", "b a", "f")])
def test_phrases_occur(pipeline: Pipeline, must: tuple[str, ...]) -> None:
    for answer in pipeline.predict(["abc", "g", "fedcba"], beam=4, n_best=4, constraints=Constraints(must=must)):
        assert answer.best.finished
        for prediction in answer.predictions:
            if prediction.finished:
                assert all(f" {phrase} " in f" {prediction.text} " for phrase in must)


def test_phrases_that_only_just_fit(pipeline: Pipeline) -> None:
    tight = pipeline.changed(["limits.ratio=0.01", "limits.extra=5"])
    [answer] = tight.predict(["abc"], beam=3, constraints=Constraints(must=("d e", "f g")))
    assert sorted(answer.text.split()) == ["d", "e", "f", "g"]
    with pytest.raises(ConfigError, match="need 6 symbols, END counted, and at most 5"):
        tight.predict(["abc"], beam=3, constraints=Constraints(must=("d e", "f g a")))


@pytest.mark.parametrize("search", [Greedy(), Beam(width=4), Sampling(seed=5)], ids=lambda one: one.kind)
def test_words_do_not_occur(pipeline: Pipeline, search: Beam) -> None:
    never = ("a", "b c", "zzz")
    for answer in pipeline.predict(LINES, search=search, constraints=Constraints(never=never)):
        assert "a" not in answer.text.split()
        assert "b c" not in answer.text


def test_rules_against_repetition(pipeline: Pipeline) -> None:
    ruled = pipeline.changed(["rules.no_repeat_ngram=1"])
    for answer in ruled.predict(["gfgfgf", "aabb"], beam=3):
        assert len(set(answer.tokens)) == len(answer.tokens)


def test_least_lengths(pipeline: Pipeline) -> None:
    long = pipeline.changed(["limits.least=9"])
    assert all(len(answer.tokens) >= 8 for answer in long.predict(["abc", "g"], beam=2))


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Constraints(prefix="q"), "no symbol for"),
        (Constraints(must=("a q",)), "no symbol for"),
        (Constraints(must=(" ",)), "is empty"),
        (Constraints(never=("",)), "is empty"),
        (Constraints(must=("a b",), never=("b",)), "no answer does both"),
        (Constraints(prefix="a b", never=("a",)), "no answer does both"),
    ],
)
def test_constraints_that_cannot_be_met_are_said_before(pipeline: Pipeline, wanted: Constraints, message: str) -> None:
    with pytest.raises((ConfigError, DataError), match=message):
        pipeline.predict(["abc"], beam=3, constraints=wanted)


def test_phrases_need_a_beam(pipeline: Pipeline) -> None:
    for search in (Greedy(), Sampling()):
        with pytest.raises(ConfigError, match="need a beam"):
            pipeline.predict(["abc"], search=search, constraints=Constraints(must=("a",)))
    with pytest.raises(ConfigError, match="log-probabilities alone"):
        pipeline.predict(["abc"], search=Exact(), constraints=Constraints(never=("a",)))


@pytest.mark.parametrize(
    ("beam", "n_best", "message"),
    [(0, 1, "at least 1"), (10**9, 1, "at most 10,000"), (3, 4, "between 1 and the width"), (3, 0, "between 1")],
)
def test_widths_that_mean_nothing(pipeline: Pipeline, beam: int, n_best: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        pipeline.predict("abc", beam, n_best)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("search.width=0", "search.width"),
        ("search.widht=3", "width"),
        ("limits.answer=-1", "limits.answer"),
        ("model.encoder.width=3", "stays as it is"),
        ("search.kind=baem", "beam"),
    ],
)
def test_settings_that_do_not_fit(pipeline: Pipeline, override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        pipeline.changed([override])


def test_an_ensemble_of_one_twice_is_that_one(pipeline: Pipeline) -> None:
    for mean in ("logarithms", "probabilities"):
        twice = Ensemble([pipeline, pipeline], mean)
        for one, both in zip(pipeline.predict(LINES, 3), twice.predict(LINES, 3), strict=True):
            assert both.text == one.text
            assert both.score == pytest.approx(one.score, abs=1e-5)


def test_an_ensemble_is_the_mean_of_its_members(runs: tuple[Path, Path]) -> None:
    both = Ensemble.load_all(runs, "probabilities", "cpu")
    members = [Pipeline.load(run, "cpu") for run in runs]
    for answer in both.predict(["abc", "fedcba"], beam=1):
        replayed = [member.align(answer.source, answer.text) for member in members]
        for n, log in enumerate(answer.best.token_log_probabilities):
            import math

            mean = sum(math.exp(one.token_log_probabilities[n]) for one in replayed) / 2
            assert math.log(mean) == pytest.approx(log, abs=1e-5)
    scored = list(both.score([("abc", "c b a")]))
    assert scored[0].log_probability == pytest.approx(sum(scored[0].token_log_probabilities))


def test_an_ensemble_of_other_symbols_is_refused(runs: tuple[Path, Path], tmp_path: Path) -> None:
    words = tmp_path / "other.tsv"
    words.write_text("".join(f"{w}\t{w[::-1]} x\n" for w in ("abc", "cab", "bca", "aab", "bbc", "cca") * 20))
    other = Corpus(words, words)
    run_all(tiny(other, training__steps=2, training__save_every=2, training__validate_every=2), tmp_path / "run")
    with pytest.raises(ConfigError, match="other symbols"):
        Ensemble.load_all([runs[0], tmp_path / "run"], device="cpu")


def candidate(text: str, log: float) -> Prediction:
    return Prediction(text, log, log, tuple(text.split()))


def test_least_risk_by_hand() -> None:
    drawn = [candidate("a b c", -1.0), candidate("a b d", -2.0), candidate("a b d", -2.0), candidate("x", -0.5)]
    found = least_risk(drawn, "edit_distance", sampled=True, n_best=3)
    assert [one.text for one in found] == ["a b d", "a b c", "x"]
    assert found[0].utility == pytest.approx((1 + 1 + 2 / 3 + 0) / 4)
    assert [one.text for one in least_risk(drawn, "exact_match", sampled=True, n_best=1)] == ["a b d"]
    assert [one.text for one in least_risk(drawn[:2], "exact_match", sampled=False, n_best=1)] == ["a b c"]


@given(st.text("ab cd", max_size=14), st.text("ab cd", max_size=14))
def test_the_likeness_chrf_is_that_of_sacrebleu(one: str, other: str) -> None:
    assert chrf(ngrams(one), ngrams(other)) == pytest.approx(CHRF().sentence_score(one, [other]).score / 100, abs=1e-9)


@pytest.mark.parametrize("utility", ["chrf", "bleu", "edit_distance", "exact_match"])
def test_least_risk_over_samples_and_beams(pipeline: Pipeline, utility: str) -> None:
    drawn = pipeline.changed(["search.kind=sampling", f"risk.utility={utility}", "risk.candidates=8"])
    beams = pipeline.changed(["search.width=6", f"risk.utility={utility}"])
    for asked in (drawn, beams):
        for line, answer in zip(LINES, asked.predict(LINES, n_best=2), strict=True):
            if line:
                assert answer.best.utility is not None
                assert 0 <= answer.best.utility <= 1.0001
                assert answer.best.utility >= answer.predictions[-1].utility
    with pytest.raises(ConfigError, match="several candidates"):
        pipeline.changed([f"risk.utility={utility}"]).predict("abc", beam=1)


def test_a_trace_of_a_text_ends_in_its_answers(pipeline: Pipeline) -> None:
    keeping = Keeping(pipeline.target)
    answers = pipeline.predict(LINES, 4, 2, tracer=Telling(keeping), constraints=Constraints(prefix="a"))
    traces = dict(keeping.traces)
    for number, (line, answer) in enumerate(zip(LINES, answers, strict=True)):
        if not line:
            continue
        trace = traces[number]
        for place, prediction in zip(trace.answers, answer.predictions, strict=True):
            path = trace.path(place)
            symbols = ["a", *(node.symbol for node in path if node.symbol != "END")]
            assert tuple(symbols) == prediction.tokens
            assert path[-1].total == pytest.approx(prediction.log_probability, abs=1e-5)
            assert path[-1].score == pytest.approx(prediction.score, abs=1e-5)
