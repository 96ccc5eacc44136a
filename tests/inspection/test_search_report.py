"""Search reports of a tiny run: numbers by hand, errors that are errors, and a page that is whole."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pages import Checked

from command_line import CommandLine
from dragoman.errors import ConfigError, StorageError
from dragoman.inspection.search_report import Facts, Request, as_json, gather, page, read_widths, verdict, write_page
from dragoman.inspection.search_report.asking import asked_of, check_page
from dragoman.inspection.search_report.errors import ROUNDING, Found, Share, best_of_each
from dragoman.inspection.search_report.widths import Width, find_curse, ratio_to
from dragoman.metrics import Measured, count, measure, wilson
from dragoman.pipeline import Pipeline
from dragoman.search import Beam, Exact
from tiny import Corpus, run_all, tiny

WIDTHS = (1, 2, 6)
LINES = 20
HOSTILE = "</td><script>alert(1)</script>\u202eabc"


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hardly trained, so that its search has something to miss."""
    out = tmp_path_factory.mktemp("runs") / "tiny"
    run_all(tiny(corpus, training__steps=40, training__save_every=40, training__validate_every=40), out)
    return out


@pytest.fixture(scope="module")
def pipeline(run: Path) -> Pipeline:
    return Pipeline.load(run, "cpu")


@pytest.fixture(scope="module")
def greedy(pipeline: Pipeline, corpus: Corpus) -> Facts:
    """The search looked at is the one that misses most."""
    return gather(pipeline, (str(corpus.valid),), Request(WIDTHS, LINES, 200, beam=1), "tiny")


@pytest.fixture(scope="module")
def plain(pipeline: Pipeline, corpus: Corpus) -> Facts:
    """Without normalisation, where proofs are within reach."""
    request = Request(WIDTHS, LINES, 50_000, beam=1)
    return gather(pipeline.changed(["search.normalisation=none"]), (str(corpus.valid),), request, "tiny")


def test_widths_are_what_the_pipeline_gives(pipeline: Pipeline, greedy: Facts) -> None:
    sources = [source for source, _ in greedy.items]
    references = [targets for _, targets in greedy.items]
    assert len(sources) == LINES
    for one in greedy.widths:
        texts = [answer.text for answer in pipeline.stream(sources, search=Beam(width=one.width))]
        names = pipeline.settings.evaluation.metrics
        known = measure(names, texts, references, pipeline.settings.evaluation.resamples)
        for own, value in zip(one.metrics, known, strict=True):
            assert (own.name, own.value) == (value.name, pytest.approx(value.value))
            assert (own.low, own.high) == pytest.approx((value.low, value.high))
        ratios = [len(text.split()) / len(targets[0].split()) for text, targets in zip(texts, references, strict=True)]
        assert one.ratios == pytest.approx(ratios)
        assert one.ratio.value == pytest.approx(sum(ratios) / LINES)
        assert one.ratio.low <= one.ratio.value <= one.ratio.high


def test_search_errors_really_score_higher(pipeline: Pipeline, greedy: Facts, plain: Facts) -> None:
    for facts, normalisation in ((greedy, "average"), (plain, "none")):
        errors = [one for one in facts.errors.sentences if one.search_error]
        assert errors
        for one in errors:
            source = facts.items[one.place][0]
            for found in one.better:
                [score] = pipeline.score([(source, found.text)])
                length = len(score.tokens) if normalisation == "average" else 1
                assert score.log_probability / length == pytest.approx(found.score, abs=1e-4)
                if one.answer.finished:
                    assert found.score > one.answer.score + ROUNDING


def test_no_beam_finds_what_is_not_counted(pipeline: Pipeline, greedy: Facts) -> None:
    """By hand: whatever a width or the exact search finds is in the report, and nothing else."""
    sources = [greedy.items[one.place][0] for one in greedy.errors.sentences]
    searches = [*(Beam(width=width) for width in WIDTHS[1:]), Exact(budget=200, normalisation="average")]
    answers = [pipeline.predict(sources, search=search, alignments=False) for search in searches]
    for place, one in enumerate(greedy.errors.sentences):
        found = max(row[place].score for row in answers if row[place].best.finished)
        by_search = [rival for rival in one.better if rival.finder != "reference"]
        assert bool(by_search) == (not one.answer.finished or found > one.answer.score + ROUNDING)


def test_what_is_proved_is_the_best_of_all(pipeline: Pipeline, plain: Facts) -> None:
    """A far wider beam finds nothing above a proof."""
    proved = [one for one in plain.errors.sentences if one.proved]
    assert proved
    wide = Beam(width=200, normalisation="none")
    for one in proved:
        best = one.better[0].score if one.better else one.answer.score
        assert pipeline.predict(plain.items[one.place][0], search=wide, alignments=False).score <= best + ROUNDING


def test_model_errors_by_hand(pipeline: Pipeline, greedy: Facts) -> None:
    for one in greedy.errors.sentences:
        source, targets = greedy.items[one.place]
        ranks = [score.log_probability / len(score.tokens) for score in pipeline.score((source, t) for t in targets)]
        answer = pipeline.predict(source, beam=1, alignments=False)
        wrong = answer.text not in targets and max(ranks) < answer.score - ROUNDING
        assert one.model_error == wrong
        assert one.reference_rank == pytest.approx(max(ranks), abs=1e-5)


def test_the_square_adds_up(greedy: Facts, plain: Facts) -> None:
    for facts in (greedy, plain):
        errors = facts.errors
        cells = [errors.share(search, model).count for search in (True, False) for model in (True, False)]
        assert sum(cells) == len(errors.sentences) == LINES
        assert errors.faultless + errors.open == errors.share(search_error=False).count
        assert errors.optimal <= errors.share(search_error=True).count
        for every, alone in errors.found_by.values():
            assert alone <= every <= LINES


def test_empty_sequences_are_counted_without_normalisation_alone(
    pipeline: Pipeline, greedy: Facts, plain: Facts
) -> None:
    assert greedy.errors.empty is None
    assert plain.errors.empty is not None
    exact = Exact(budget=50_000)
    answers = pipeline.predict([source for source, _ in plain.items], search=exact, alignments=False)
    proved = [answer for answer in answers if answer.best.bound == answer.score]
    assert plain.errors.empty == Share(sum(answer.text == "" for answer in proved), len(proved))


def width(value: float, number: int) -> Width:
    return Width(
        number, (Measured("exact_match", value, value, value, ""),), 1.0, 0, (), Measured("", 1.0, 1.0, 1.0, "")
    )


def matches(right: int) -> object:
    return count("exact_match", ["a"] * right + ["b"] * (40 - right), [("a",)] * 40)


def test_where_the_curse_begins() -> None:
    values = {1: 20, 2: 40, 4: 38, 8: 20, 16: 0}
    curse = find_curse(
        [width(100 * right / 40, number) for number, right in values.items()],
        [matches(right) for right in values.values()],  # type: ignore[misc]
    )
    assert (curse.best, curse.wider, curse.worse) == (2, (4, 8, 16), (True, True, True))
    assert curse.begins == 8
    flat = find_curse([width(50.0, 1), width(47.5, 2)], [matches(20), matches(19)])  # type: ignore[list-item]
    assert (flat.best, flat.begins) == (1, None)
    rising = find_curse([width(50.0, 1), width(75.0, 2)], [matches(20), matches(30)])  # type: ignore[list-item]
    assert (rising.best, rising.wider, rising.begins) == (2, (), None)


def test_shares_have_wilsons_interval() -> None:
    assert wilson(50.0, 10) == pytest.approx((23.66, 76.34), abs=0.01)  # as in any table
    assert wilson(0.0, 10) == pytest.approx((0, 27.75), abs=0.01)
    assert wilson(100.0, 10)[1] == 100


def test_pieces_by_hand() -> None:
    assert ratio_to(4, [8, 5]) == 4 / 5
    assert ratio_to(3, [0]) == 3
    one, other = Found("beam", 2, "a", -1.0), Found("beam", 4, "a", -1.0)
    exact = Found("exact", None, "b", -0.5)
    assert best_of_each([one, other, exact]) == (exact, one)


def test_falls_score_higher_and_are_worse(greedy: Facts) -> None:
    for fall in greedy.falls:
        assert fall.after.score > fall.before.score
        assert fall.goodness[1] < fall.goodness[0]
        assert fall.narrow < fall.wide


def test_the_page_is_whole_and_needs_nothing_else(greedy: Facts, plain: Facts) -> None:
    for facts in (greedy, plain):
        text = page(facts)
        closed = Checked(text)
        assert not {"script", "link", "img", "iframe", "object"} & set(closed.tags)
        assert "http" not in text.replace("http-equiv", "")
        assert "url(" not in text
        assert closed.names == ["width", "errors", "length", "falls", "missed"]
        assert closed.links == [f"#{name}" for name in closed.names]
        assert closed.tags.count("svg") == closed.tags.count("desc") == len(facts.widths[0].metrics) + 2 + len(WIDTHS)
        for one in facts.widths:
            assert f"{one.metrics[0].value:.2f}" in closed.text
        for sentence in verdict(facts):
            assert sentence in closed.text


def test_hostile_texts_are_escaped(pipeline: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("".join(f"{word}\t{HOSTILE} {word}\n" for word in ("abc", "fedcba", "gfg")))
    facts = gather(pipeline, (str(tmp_path / "test.tsv"),), Request((1, 3), budget=20, beam=1), HOSTILE)
    write_page(facts, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "script" not in Checked(text).tags
    assert "\u202e" not in text
    assert json.loads((tmp_path / "page.json").read_text("utf-8"))["run"] == HOSTILE


def test_one_pair_and_several_references(pipeline: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "one.tsv").write_text("abc\tc b a\n")
    facts = gather(pipeline, (str(tmp_path / "one.tsv"),), Request((1, 2), budget=20))
    assert len(facts.errors.sentences) == 1
    assert Checked(page(facts)).names
    [answer] = pipeline.predict(["abc"], alignments=False)
    (tmp_path / "two.tsv").write_text(f"abc\tg g g g\nabc\t{answer.text}\n")
    facts = gather(pipeline, (str(tmp_path / "two.tsv"),), Request((1, 2), budget=20))
    [sentence] = facts.errors.sentences
    assert sentence.right
    assert not sentence.model_error
    assert sentence.reference == answer.text


def test_lines_are_drawn_the_same_each_time(pipeline: Pipeline, corpus: Corpus) -> None:
    request = Request((1,), 5, 5)
    one, again = (gather(pipeline, (str(corpus.valid),), request) for _ in range(2))
    assert one.items == again.items
    assert one.curse.begins is None
    assert "One width was measured" in verdict(one)[0]


@pytest.mark.parametrize(
    ("overrides", "width_of", "said"),
    [
        (["search.kind=sampling"], 5, "draws its answers at random"),
        (["search.kind=exact", "search.normalisation=none"], 5, "has no width"),
        (["search.kind=greedy"], 1, ""),
        (["search.width=4", "search.groups=2"], 4, "divided into 2 groups"),
        (["search.width=4", "risk.utility=chrf"], 4, "risk.utility"),
        (["rules.no_repeat_ngram=2"], 5, "exact search knows neither"),
        (["search.coverage=0.2"], 5, "exact search knows neither"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_other_searches_are_said(
    pipeline: Pipeline, corpus: Corpus, overrides: list[str], width_of: int, said: str
) -> None:
    changed = pipeline.changed([one for one in overrides if "kind" not in one or "exact" not in one])
    if "search.kind=exact" in overrides:
        changed.settings = changed.settings.changed(search=Exact(normalisation="none"))
    facts = gather(changed, (str(corpus.valid),), Request((1, 3), 4, 20))
    assert facts.own == width_of
    assert said in " ".join(facts.asked.notes)
    assert bool(facts.asked.notes) == bool(said)
    assert (facts.errors.budget is None) == ("knows neither" in said)
    assert Checked(page(facts)).text.count(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0", "between 1 and 10,000, not 0"),
        ("1,x", "'x' is none"),
        ("", "'' is none"),
        ("1,,2", "'' is none"),
        ("-1", "'-1' is none"),
        ("1.5", "'1.5' is none"),
        ("1000000000", "between 1 and 10,000, not 1000000000"),
        ("9" * 5000, "between 1 and 10,000"),
        ("2,4,2", "names 2 twice"),
        (",".join(map(str, range(1, 40))), "at most 20"),
    ],
)
def test_widths_that_are_none(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_widths(text)


def test_widths_are_sorted() -> None:
    assert read_widths("8, 1,4") == (1, 4, 8)


@pytest.mark.parametrize("request_", [Request(lines=0), Request(budget=0), Request(beam=0), Request(beam=10**9)])
def test_requests_that_mean_nothing(pipeline: Pipeline, request_: Request) -> None:
    with pytest.raises(ConfigError):
        asked_of(pipeline, request_)


def test_pages_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"should end in \.html"):
        check_page(tmp_path / "page.json")
    with pytest.raises(StorageError, match="no folder"):
        check_page(tmp_path / "missing" / "page.html")
    (tmp_path / "page.json").mkdir()
    with pytest.raises(StorageError, match="is a folder"):
        check_page(tmp_path / "page.html")


def test_the_command(run: Path, corpus: Corpus, tmp_path: Path, dragoman: CommandLine) -> None:
    words = ["evaluate", run, "--on", corpus.valid, "--lines", 6, "--budget", 30, "--device", "cpu"]
    words += ["--search-report", tmp_path / "p.html", "--widths", "4,1", "--metric", "exact_match"]
    done = dragoman(*words)
    assert done.code == 0, done.err
    assert "ascending order: 1, 4" in done.err
    assert done.out.splitlines()[-2:] == [f"Page: {tmp_path / 'p.html'}", f"Facts: {tmp_path / 'p.json'}"]
    facts = json.loads((tmp_path / "p.json").read_text("utf-8"))
    assert [one["width"] for one in facts["widths"]] == [1, 4]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.html", "p.json"]
    told = json.loads(dragoman(*words, "--json").out)
    clocks = ("made_at", "widths", "page")
    assert {k: v for k, v in told.items() if k not in clocks} == {k: v for k, v in facts.items() if k not in clocks}
    assert [one["metrics"] for one in told["widths"]] == [one["metrics"] for one in facts["widths"]]
    assert list(facts["widths"][0]["metrics"]) == ["exact_match"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--widths", "1,2"], "--widths is for a search report. Give --search-report PAGE.html as well."),
        (["--search-report", "p.txt"], "p.txt should end in .html"),
        (["--search-report", "p.html", "--widths", "0"], "between 1 and 10,000, not 0"),
        (["--search-report", "p.html", "--lines", "0"], "--lines must be at least 1, not '0'"),
        (["--search-report", "p.html", "search.normalisation=avrage"], "average"),
        (["model.encoder.width=3"], "stays as it is"),
        (["--search-report", "p.html", "--metric", "blue"], "Did you mean 'bleu'?"),
    ],
)
def test_options_that_mean_nothing(
    words: list[str], said: str, run: Path, corpus: Corpus, tmp_path: Path, dragoman: CommandLine
) -> None:
    words = [str(tmp_path / word) if word.startswith("p.") else word for word in words]
    done = dragoman("evaluate", run, "--on", corpus.valid, *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert list(tmp_path.iterdir()) == []


def test_control_c_writes_nothing(run: Path, corpus: Corpus, tmp_path: Path) -> None:
    """Once standard input was read and its copy is gone, the search goes on for hours."""
    spool, page_of = tmp_path / "spool", tmp_path / "pages"
    spool.mkdir()
    page_of.mkdir()
    words = ["evaluate", str(run), "--on", "-", "--search-report", str(page_of / "p.html"), "--budget", "100000000"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TMPDIR": str(spool)}
    process = subprocess.Popen([sys.executable, "-m", "dragoman", *words], stdin=subprocess.PIPE, env=environment)
    assert process.stdin is not None
    deadline = time.monotonic() + 120
    for there in (True, False):
        while bool(list(spool.iterdir())) != there:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.01)
        if there:
            process.stdin.write(corpus.valid.read_bytes())
            process.stdin.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert list(page_of.iterdir()) == []


def test_json_is_finite(greedy: Facts) -> None:
    json.dumps(as_json(greedy), allow_nan=False)
