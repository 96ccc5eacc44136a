"""What is exported to CTranslate2 computes what torch does, for every Transformer that the engine can express."""

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import dragoman
from command_line import CommandLine
from dragoman.engines import tuning
from dragoman.errors import ConfigError, DataError, NumericalError, StorageError
from dragoman.experiment import train
from dragoman.export import Wanted, agreement, export
from dragoman.export.rounding import EIGHT_BITS, SEVEN_BITS, in_bytes
from dragoman.pipeline import Constraints, Pipeline
from dragoman.search import Beam, Greedy, Sampling
from dragoman.storage import write_record
from tiny import Corpus, tiny

pytest.importorskip("ctranslate2")

BOTH = ("encoder", "decoder")
VARIANTS = {
    "paper": {"norm_place": "after"},
    "before": {},
    "rms, gated": {"norm": "rms", "activation": "swiglu"},
    "gelu": {"activation": "gelu"},
    "learned": {"positions__kind": "learned", "positions__length": 401},
    "one-hot": {"positions__kind": "one_hot", "positions__length": 401},
    "rotary": {"positions__kind": "rotary"},
}


def trained(corpus: Corpus, out: Path, **settings: object) -> Path:
    """A few steps, so that weights are no longer as they began."""
    own = {"training__steps": 4, "training__save_every": 4, "training__validate_every": 4, "limits__source": 400}
    for _ in train(tiny(corpus, recipe="vaswani2017", **(own | settings)), out):
        pass
    return out


@pytest.fixture(scope="module", autouse=True)
def soon() -> Iterator[None]:
    """Nothing here needs to know which setting is fastest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "SECONDS", 0.01)
        patch.setattr(tuning, "LONGEST", 6)
        yield


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained until its answers differ from word to word."""
    settings = {"training__steps": 150, "training__optimiser__rate": 1e-2, "training__validate_every": 150}
    return trained(corpus, tmp_path_factory.mktemp("runs") / "run", **settings)


@pytest.fixture(scope="module")
def exported(run: Path) -> Path:
    return export(run, "ctranslate2", Wanted(lines=40)).out


def test_a_norm_before_the_first_layer(corpus: Corpus, tmp_path: Path) -> None:
    found = export(trained(corpus, tmp_path / "run", model__encoder__first_norm=True), "ctranslate2", Wanted(lines=20))
    assert found.facts["equal_texts"] == 20
    assert found.facts["largest_difference"] < agreement.LARGEST_DIFFERENCE


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_transformer_that_the_engine_has(variant: str, corpus: Corpus, tmp_path: Path) -> None:
    settings = {f"model__{part}__{name}": value for part in BOTH for name, value in VARIANTS[variant].items()}
    found = export(trained(corpus, tmp_path / "run", **settings), "ctranslate2", Wanted(lines=20))
    assert found.facts["equal_texts"] == 20
    assert found.facts["largest_difference"] < agreement.LARGEST_DIFFERENCE


def test_sides_that_differ_and_tables_apart(corpus: Corpus, tmp_path: Path) -> None:
    settings = {
        "target__kind": "words",
        "model__tie": "none",
        "model__source__width": 24,
        "model__source__scaled": False,
        "model__encoder__layers": 1,
        "model__encoder__heads": 3,
        "model__decoder__norm_place": "after",
        "model__head__bias": False,
    }
    found = export(trained(corpus, tmp_path / "run", **settings), "ctranslate2", Wanted(lines=20))
    assert found.facts["equal_texts"] == 20


def test_answers_and_scores_are_those_of_torch(run: Path, exported: Path, corpus: Corpus) -> None:
    ours, other = Pipeline.load(run), Pipeline.load(exported)
    texts = [line.split("\t")[0] for line in corpus.valid.read_text().splitlines()]
    for one, two in zip(ours.stream(texts, 1), other.stream(texts, 1), strict=True):
        assert (one.text, one.best.finished) == (two.text, two.best.finished)
        assert one.score == pytest.approx(two.score, abs=1e-5)
        assert one.best.log_probability == pytest.approx(two.best.log_probability, abs=1e-5)
    assert len({answer.text for answer in other.stream(texts, 1)}) > 5, "a model that says one thing proves little"


def test_scores_that_nobody_reads(exported: Path, corpus: Corpus, dragoman: CommandLine) -> None:
    """Greedy answers are the same without them, and found sooner; all else has its scores."""
    pipeline, texts = Pipeline.load(exported), ["abc", "gfedcb", "", "aa"]
    wanted, found = (list(pipeline.stream(texts, 1, scores=scores)) for scores in (True, False))
    assert [(one.text, one.tokens, one.best.finished) for one in found] == [
        (one.text, one.tokens, one.best.finished) for one in wanted
    ]
    assert [math.isnan(one.score) for one in found] == [True, True, False, True]
    beams = pipeline.changed(["search.kind=beam", "search.normalisation=average"]).stream(texts, 2, scores=False)
    assert not any(math.isnan(one.score) for one in (*wanted, *beams))
    plain = dragoman("predict", exported, "--beam", "1", stdin="abc\naa\n")
    scored = dragoman("predict", exported, "--beam", "1", "--scores", stdin="abc\naa\n")
    assert "nan" not in scored.out
    assert plain.out.splitlines() == [line.split("\t")[0] for line in scored.out.splitlines()]


@pytest.mark.parametrize("normalisation", ["none", "average", "power"])
def test_beams_rank_by_the_same_score(normalisation: str, run: Path, exported: Path) -> None:
    """The rule by which a beam ends is the engine's own; of the same answer both have the same score."""
    changes = [f"search.normalisation={normalisation}", "search.kind=beam", "search.width=4", "search.alpha=0.7"]
    ours, other = (Pipeline.load(path).changed(changes) for path in (run, exported))
    for text in ("abc", "gfedcb", "aa"):
        mine = {one.text: one for one in ours.predict(text, n_best=4, alignments=False).predictions}
        theirs = [two for two in other.predict(text, n_best=4).predictions if two.finished]
        assert [two.score for two in theirs] == sorted((two.score for two in theirs), reverse=True)
        shared = [two for two in theirs if two.text in mine and mine[two.text].finished]
        assert shared
        for two in shared:
            assert two.score == pytest.approx(mine[two.text].score, abs=1e-5)


def test_a_limit_is_each_line_s_own(run: Path, exported: Path) -> None:
    """Lines of a batch have limits of their own, of which the engine knows one."""
    changes = ["limits.ratio=0.5", "limits.extra=1", "limits.answer=9"]
    ours, other = (Pipeline.load(path).changed(changes) for path in (run, exported))
    texts = ["a", "ab", "abcdef", "gfe", "gfedcbagfedc"]
    found = [(answer.text, answer.best.finished) for answer in other.stream(texts, 1)]
    assert found == [(answer.text, answer.best.finished) for answer in ours.stream(texts, 1)]
    longer = ["limits.least=3", "limits.least_ratio=1.5", "limits.ratio=3", "limits.extra=4", "limits.answer=50"]
    ours, other = ours.changed(longer), other.changed(longer)
    assert [answer.text for answer in other.stream(texts, 1)] == [answer.text for answer in ours.stream(texts, 1)]


def test_perplexity_is_that_of_torch(run: Path, exported: Path) -> None:
    pairs = [("abc", "c b a"), ("gg", "g g"), ("f", "")]
    ours, other = (list(Pipeline.load(path).score(pairs)) for path in (run, exported))
    for one, two in zip(ours, other, strict=True):
        assert one.tokens == two.tokens
        assert one.token_log_probabilities == pytest.approx(two.token_log_probabilities, abs=1e-5)


def test_small_weights(run: Path, exported: Path, corpus: Corpus, tmp_path: Path) -> None:
    found = export(run, "ctranslate2", Wanted(out=tmp_path / "small", quantize="int8", on=(str(corpus.valid),)))
    assert found.facts["equal_texts"] >= 0.97 * found.facts["lines"]
    tables = 2 * 401 * 16 * 4  # of positions, which are as long as limits allow and are not rounded
    small, large = ((folder / "model.bin").stat().st_size - tables for folder in (found.out, exported))
    assert small < 0.4 * large
    assert {row["compute"] for row in found.facts["tuned"]["speeds"]} == {"int8_float32", "float32"}


def test_bytes_by_hand() -> None:
    weight = np.array([[0.5, -1.0, 0.25], [0.0, 0.0, 0.0]], np.float32)
    small, scale = in_bytes(weight, SEVEN_BITS)
    assert small.tolist() == [[32, -63, 16], [0, 0, 0]]
    assert scale.tolist() == [63.0, 1.0]
    assert in_bytes(weight, EIGHT_BITS)[0].tolist() == [[64, -127, 32], [0, 0, 0]]
    assert 2 * 255 * SEVEN_BITS < 2**15 < 2 * 255 * EIGHT_BITS, "pairs of products are added in 16 bits"


def test_rounding_makes_good_what_it_loses() -> None:
    """Inputs that always come together: what one weight loses, the other can give. 0.3 + 0.4 of equal inputs is 0.7,
    which is 1 in whole numbers, though each of the two is nearest to 0."""
    weight = np.array([[0.3, 0.4, 63.0]], np.float32)
    together = torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert in_bytes(weight, SEVEN_BITS)[0].tolist() == [[0, 0, 63]]
    assert sorted(in_bytes(weight, SEVEN_BITS, together)[0].tolist()[0]) == [0, 1, 63]
    apart = torch.diag(torch.tensor([1.0, 2.0, 3.0]))
    assert in_bytes(weight, SEVEN_BITS, apart)[0].tolist() == [[0, 0, 63]], "nothing to make good with"


@pytest.mark.parametrize(("outputs", "inputs"), [(7, 24), (40, 300)])
def test_rounding_for_inputs_errs_less_than_to_the_nearest(outputs: int, inputs: int) -> None:
    rows = torch.randn(2000, 8) @ torch.randn(8, inputs) + 0.3 * torch.randn(2000, inputs)
    weight = torch.randn(outputs, inputs).numpy()
    errors = []
    for moments in (None, rows.t() @ rows):
        small, scale = in_bytes(weight, SEVEN_BITS, moments)
        assert np.abs(small).max() <= SEVEN_BITS
        lost = torch.from_numpy(small / scale[:, None] - weight)
        errors.append(float((rows @ lost.t().float()).square().mean()))
    assert errors[1] < 0.6 * errors[0]


PROBE = """
import json, sys
from dragoman.pipeline import Pipeline
pairs = [("abc", "c b a"), ("gfedcb", "b c d e f g"), ("dd", "d d")]
print(json.dumps([row.token_log_probabilities for row in Pipeline.load(sys.argv[1]).score(pairs)]))
"""


@pytest.mark.slow  # two processes that import all of torch
def test_one_file_is_right_without_vnni(run: Path, tmp_path: Path) -> None:
    """The same log-probabilities where the processor has no instructions for products of bytes."""
    out = export(run, "ctranslate2", Wanted(out=tmp_path / "small", quantize="int8", lines=40)).out
    found = []
    for isa in ({}, {"ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "CT2_FORCE_CPU_ISA": "AVX2"}):
        command = [sys.executable, "-c", PROBE, str(out)]
        done = subprocess.run(command, env={"PATH": "/usr/bin:/bin", **isa}, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    for one, two in zip(*found, strict=True):
        assert one == pytest.approx(two, abs=1e-3)


def test_what_disagrees_is_not_left(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dragoman.export.ctranslate2 as exporting

    monkeypatch.setattr(exporting, "sinusoids", lambda length, width: torch.zeros(length, width))
    with pytest.raises(NumericalError, match=r"does not answer as the run does|does not compute what the run does"):
        export(run, "ctranslate2", Wanted(out=tmp_path / "out", lines=40))
    assert list(tmp_path.iterdir()) == []


def test_recurrent_models_and_hybrids_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    for number, settings in enumerate(({"recipe": "g2p"}, {"recipe": "g2p", "model__decoder__kind": "transformer"})):
        out = tmp_path / str(number)
        own = {"model__decoder__heads": 2} if number else {}
        for _ in train(tiny(corpus, training__steps=2, training__validate_every=2, **settings, **own), out):
            pass
        with pytest.raises(ConfigError, match=r"model.encoder.kind is 'rnn'"):
            export(out, "ctranslate2", Wanted())


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        ({"search": Sampling()}, "search.kind = sampling"),
        ({"search": Beam(normalisation="gnmt")}, "search.normalisation = gnmt"),
        ({"search": Beam(width=4, groups=2)}, "search.groups = 2"),
        ({"constraints": Constraints(never=("a",))}, "asked for or barred"),
    ],
)
def test_what_the_engine_does_not_have(ask: dict[str, object], why: str, exported: Path) -> None:
    with pytest.raises(ConfigError, match=why):
        Pipeline.load(exported).predict("abc", **ask)


def test_the_engine_of_a_run(run: Path, exported: Path, corpus: Corpus, tmp_path: Path) -> None:
    """By name, or by itself where equal answers are proved; weights that have changed since are noticed."""
    assert dragoman.load(run, engine="ctranslate2").predict("abc", beam=1).text
    chosen = dragoman.load(run, engine="auto")
    assert chosen.engine is not None
    assert not chosen.engine.always
    for text in ("abc", "gfe"):
        assert chosen.predict(text, beam=1).text == dragoman.load(run).predict(text, beam=1).text
        assert chosen.predict(text, constraints=Constraints(never=("a",))).text is not None, "torch has constraints"
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    other = trained(corpus, tmp_path / "other")
    shutil.copy(other / "model" / "model.safetensors", copy / "model" / "model.safetensors")
    with pytest.raises(ConfigError, match="made of other weights"):
        dragoman.load(copy, engine="ctranslate2")
    with pytest.raises(ConfigError, match="has no export for CTranslate2"):
        dragoman.load(other, engine="ctranslate2")
    assert dragoman.load(other, engine="auto").engine is None
    with pytest.raises(ConfigError, match="Did you mean 'ctranslate2'"):
        dragoman.load(run, engine="ctranslate")


def test_why_auto_stays_with_torch(run: Path, exported: Path) -> None:
    from dragoman.pipeline.engine import Chosen
    from dragoman.pipeline.rows import Asked

    facts = {"quantize": "none", "lines": 20, "equal_texts": 20, "faster": 2.0}
    engine = dragoman.load(exported).engine.engine
    greedy = Asked(Greedy(), 1, alignments=False)
    assert "all 20 held-out texts" in Chosen(engine, facts, always=False).sentence(greedy)
    assert "another rule" in Chosen(engine, facts, always=False).sentence(Asked(Beam(), 1, alignments=False))
    for change, why in (
        ({"quantize": "int8"}, "one byte"),
        ({"equal_texts": 19}, "not all"),
        ({"faster": 0.9}, "torch was faster"),
    ):
        assert why in Chosen(engine, facts | change, always=False).sentence(greedy)


def test_what_needs_torch_says_so(exported: Path) -> None:
    with pytest.raises(ConfigError, match="name the run that it was exported from"):
        Pipeline.load(exported).predict("abc", beam=1, alignments=True)
    with pytest.raises(ConfigError, match="name the run that it was exported from"):
        Pipeline.load(exported, engine="torch")


def test_damaged_exports(exported: Path, tmp_path: Path) -> None:
    def copied(name: str) -> Path:
        shutil.copytree(exported, tmp_path / name)
        return tmp_path / name

    cut = copied("cut")
    (cut / "model.bin").write_bytes((exported / "model.bin").read_bytes()[:1000])
    with pytest.raises(StorageError, match="damaged"):
        Pipeline.load(cut).predict("abc", beam=1)
    (cut / "model.bin").write_bytes(b"\x06\0\0\0" + (exported / "model.bin").read_bytes()[4:-3])
    with pytest.raises(StorageError, match="damaged"):
        Pipeline.load(cut)
    flipped = copied("flipped")
    content = bytearray((exported / "model.bin").read_bytes())
    content[-2000] ^= 1  # of a number: all sizes are as they were
    (flipped / "model.bin").write_bytes(content)
    with pytest.raises(StorageError, match="has changed since it was exported"):
        Pipeline.load(flipped)
    symbols = copied("symbols")
    names = json.loads((exported / "shared_vocabulary.json").read_text())
    (symbols / "shared_vocabulary.json").write_text(json.dumps([*names[:-2], names[-1], names[-2]]))
    with pytest.raises(StorageError, match="do not have the same symbols"):
        Pipeline.load(symbols)
    record = copied("record")
    write_record(record / "export.json", {"to": "ctranslate2"})
    with pytest.raises(StorageError, match="no record of an export"):
        Pipeline.load(record)
    linked = copied("linked")
    (linked / "model.bin").unlink()
    (linked / "model.bin").symlink_to(exported / "model.bin")
    with pytest.raises(StorageError, match="symbolic link"):
        Pipeline.load(linked)
    other = copied("other")
    symbols = json.loads((exported / "target.json").read_text())
    symbols["model"]["vocab"] = dict(
        zip(symbols["model"]["vocab"], reversed(symbols["model"]["vocab"].values()), strict=True)
    )
    (other / "target.json").write_text(json.dumps(symbols))
    with pytest.raises((StorageError, ConfigError), match=r"target\.json"):
        Pipeline.load(other)
    tuned = copied("tuned")
    (tuned / "tuning.json").write_text("{}")
    assert Pipeline.load(tuned).predict("abc", beam=1).text, "what was measured is measured again"


def test_the_verb(run: Path, corpus: Corpus, dragoman: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "model"
    done = dragoman("export", run, "--to", "ctranslate2", "--out", out, "--lines", 30)
    assert done.code == 0
    assert done.out.strip() == str(out)
    assert "30 of 30 greedy answers are those of torch" in done.err
    assert "One sentence: float32 on" in done.err
    facts = json.loads(dragoman("export", run, "--to", "ctranslate2", "--out", out, "--lines", 10, "--json").out)
    assert facts["equal_texts"] == facts["lines"] == 10
    lines = tmp_path / "lines.txt"
    lines.write_text("abc\n\ngf\n")
    asked = dragoman("predict", out, lines, "--beam", 1)
    assert asked.out == dragoman("predict", run, lines, "--beam", 1).out
    asking = ("--on", corpus.valid, "--beam", 1, "--metric", "exact_match", "--json")
    measured, ours = (json.loads(dragoman("evaluate", folder, *asking).out) for folder in (out, run))
    assert measured["metrics"]["exact_match"]["value"] == ours["metrics"]["exact_match"]["value"]
    assert measured["metrics"]["perplexity"]["value"] == pytest.approx(ours["metrics"]["perplexity"]["value"], rel=1e-4)
    for words, code, why in (
        (["--to", "ctranslate"], 2, "Did you mean 'ctranslate2'"),
        (["--to", "ctranslate2", "--quantize", "int4"], 2, "No quantisation is called 'int4'"),
        (["--to", "ctranslate2", "--out", corpus.train], 2, "is no export of dragoman"),
        (["--to", "ctranslate2", "--on", tmp_path / "none.tsv"], 3, "none.tsv"),
    ):
        refused = dragoman("export", run, *words)
        assert (refused.code, why in refused.err) == (code, True), refused.err


def test_one_precision_for_all_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """int8 is faster for one sentence and float for many: an answer must not depend on how many there are."""
    from dragoman.engines import tuning

    speeds = {("int8_float32", 1): 200.0, ("int8_float32", 16): 300.0, ("float32", 1): 100.0, ("float32", 16): 900.0}
    monkeypatch.setattr(tuning, "computes", lambda folder: ("int8_float32", "float32"))
    monkeypatch.setattr(tuning, "SIZES", (16,))
    monkeypatch.setattr("dragoman.engines.ctranslate2.opened", lambda folder, compute, threads: compute)
    monkeypatch.setattr(tuning, "speed_of", lambda compute, size, words, longest: speeds[compute, size])
    found = tuning.tune(tmp_path, [["a"]], 40)
    assert {found.alone.compute, found.many.compute} == {"float32"}, "100 · 900 is more than 200 · 300"
    write_record(
        tmp_path / "tuning.json", found.facts() | {"alone": {"compute": "int8_float32", "threads": 1, "size": 1}}
    )
    assert tuning.kept(tmp_path) is None


def test_more_positions_than_were_exported(run: Path, exported: Path, corpus: Corpus, tmp_path: Path) -> None:
    """A sentence; where torch may answer, it does."""
    longer = ["limits.source=900", "limits.answer=900", "limits.ratio=3"]
    text = "a" * 500
    assert Pipeline.load(run).changed(longer).predict(text, beam=1).text is not None
    with pytest.raises(DataError, match=r"no room for .* \(its table has 401\)"):
        Pipeline.load(exported).changed(longer).predict(text, beam=1)
    with pytest.raises(DataError, match="positions of the target"):
        list(Pipeline.load(exported).score([("abc", " ".join("abc" * 200))]))
    assert Pipeline.load(run, engine="auto").changed(longer).predict(text, beam=1).text is not None
    short = trained(corpus, tmp_path / "short", limits__source=20, limits__answer=12)
    assert export(short, "ctranslate2", Wanted(out=tmp_path / "out", on=(str(corpus.valid),), lines=20)).facts["lines"]


def test_rules_and_risk_are_left_out(corpus: Corpus, tmp_path: Path) -> None:
    ruled = trained(corpus, tmp_path / "run", rules__no_repeat_ngram=3, risk__utility="chrf", search={"kind": "beam"})
    found = export(ruled, "ctranslate2", Wanted(out=tmp_path / "out", on=(str(corpus.valid),), lines=20))
    assert any("rules" in sentence for sentence in found.sentences)


def test_auto_without_a_fitting_export_is_torch(run: Path, exported: Path, corpus: Corpus, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    other = trained(corpus, tmp_path / "other")
    shutil.copy(other / "model" / "model.safetensors", copy / "model" / "model.safetensors")
    pipeline = Pipeline.load(copy, engine="auto")
    assert pipeline.engine is None
    assert "made of other weights" in pipeline.remark
    by_torch = Pipeline.load(run, engine="auto").predict("abc", beam=3)
    assert by_torch.best.alignment is not None, "a beam is torch's, with all that it tells"


def test_places_that_are_not_written_over(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "export.json").write_text("{}")
    (foreign / "thesis.txt").write_text("years")
    shared = tmp_path / "shared"
    shutil.copytree(run / "model", shared)
    write_record(shared / "export.json", {"to": "folder"})
    monkeypatch.chdir(foreign)
    for source, out, why in (
        (run, foreign / ".." / "foreign", "in use"),
        (run, Path("."), "in use"),
        (shared, shared, "holds the model"),
        (run, run, "holds the model"),
        (run, run / "model", "holds the model"),
    ):
        with pytest.raises(ConfigError, match=why):
            export(source, "ctranslate2", Wanted(out=out, lines=10))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="no export of dragoman"):
        export(run, "ctranslate2", Wanted(out=foreign, lines=10))
    assert (foreign / "thesis.txt").read_text() == "years"
    assert (shared / "model.safetensors").is_file()
