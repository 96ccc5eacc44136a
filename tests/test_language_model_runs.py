"""Language models from the command line and from Python: training, going on with prompts, measuring, and refusals."""

import json
from pathlib import Path

import pytest

from command_line import CommandLine
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import train
from dragoman.pipeline import Constraints, Ensemble, Pipeline
from dragoman.search import Beam, Exact, Greedy, Sampling
from texts import Books, command, small, written
from tiny import Corpus, words


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Books:
    return written(tmp_path_factory.mktemp("books"))


@pytest.fixture(scope="module", params=["gpt", "zaremba2014"])
def run(request: pytest.FixtureRequest, books: Books, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / request.param
    list(train(small(books, request.param, training__steps=60), out))
    return out


@pytest.fixture(scope="module")
def learned(books: Books, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With 24 positions, of which windows need 16."""
    out = tmp_path_factory.mktemp("learned") / "run"
    positions = {"model__decoder__positions__kind": "learned", "model__decoder__positions__length": 24}
    list(train(small(books, training__steps=10, **positions), out))
    return out


@pytest.mark.parametrize(
    "search",
    [Greedy(), Beam(width=3), Sampling(), Exact(budget=50), Beam(width=4, groups=2, diversity=0.5)],
    ids=lambda search: search.kind,
)
def test_every_search_goes_on_with_a_prompt(run: Path, search: object) -> None:
    pipeline = Pipeline.load(run).changed(["limits.answer=12"])
    answers = pipeline.predict(["to be", "", "that is\nthe"], search=search)
    assert [answer.text[: len(answer.source)] for answer in answers] == ["to be", "", "that is\nthe"]
    for answer in answers:
        assert len(answer.tokens) <= len(answer.source) + 12
        assert answer.score == pytest.approx(answer.best.score)
        total = sum(answer.best.token_log_probabilities)
        assert answer.best.log_probability == pytest.approx(total, abs=1e-3)


def test_neighbours_change_nothing(run: Path) -> None:
    pipeline = Pipeline.load(run).changed(["search.kind=beam", "limits.answer=10"])
    prompts = ["to be", "", "all the world", "that", "and all"]
    together = pipeline.predict(prompts)
    for prompt, answer in zip(prompts, together, strict=True):
        alone = pipeline.predict(prompt)
        assert (alone.text, alone.best.finished) == (answer.text, answer.best.finished)
        assert alone.score == pytest.approx(answer.score, abs=1e-5)


def test_constraints_hold(run: Path) -> None:
    pipeline = Pipeline.load(run).changed(["search.kind=beam", "limits.answer=20"])
    answer = pipeline.predict("to ", constraints=Constraints(must=("stage",)))
    assert "stage" in answer.text
    assert "t" not in pipeline.predict("", constraints=Constraints(never=("t",))).text.split()
    with pytest.raises(ConfigError, match="is what its answer begins with: leave the prefix out"):
        pipeline.predict("to be", constraints=Constraints(prefix="or"))


def test_an_answer_ends_with_the_positions(learned: Path) -> None:
    pipeline = Pipeline.load(learned).changed(["search.kind=greedy"])
    for prompt in ("", "to be or not", "to be or not to be, tha"):  # 23 symbols
        answer = pipeline.predict(prompt)
        assert len(answer.tokens) <= 24
    with pytest.raises(
        DataError, match=r"Line 2 has 24 symbols, and this model has 24 positions .*: 23 symbols at most"
    ):
        pipeline.predict(["to be", "to be or not to be, that"])


def test_pairs_are_not_scored_without_a_source(run: Path) -> None:
    pipeline = Pipeline.load(run)
    for ask in (pipeline.align, pipeline.heads, lambda *pair: list(pipeline.score([pair]))):
        with pytest.raises(ConfigError, match="is for models that answer a source"):
            ask("to be", "or not")


def test_an_ensemble_goes_on_together(run: Path, learned: Path) -> None:
    together = Ensemble.load_all([run, run]).changed(["search.kind=greedy", "limits.answer=8"])
    alone = Pipeline.load(run).changed(["search.kind=greedy", "limits.answer=8"])
    assert together.predict("to be").text == alone.predict("to be").text


def test_int8_goes_on_too(run: Path) -> None:
    pipeline = Pipeline.load(run).changed(["search.kind=greedy", "limits.answer=8"])
    assert pipeline.quantized().predict("to be").text.startswith("to be")


def test_prompts_are_lines_and_texts_are_whole(run: Path, dragoman: CommandLine) -> None:
    how = ("search.kind=greedy", "limits.answer=30")
    done = dragoman("predict", run, *how, stdin="to be\n\n")
    assert done.code == 0, done.err
    expected = [Pipeline.load(run).changed(list(how)).predict(prompt).text for prompt in ("to be", "")]
    assert done.out == "".join(f"{text}\n\n" for text in expected)
    nothing = dragoman("predict", run, *how, "--nothing")
    assert nothing.out == f"{expected[1]}\n\n"
    records = [json.loads(line) for line in dragoman("predict", run, *how, "--json", stdin="to be\n").out.splitlines()]
    assert records[0]["predictions"][0]["text"] == expected[0]
    columns = dragoman("predict", run, "limits.answer=30", "--beam", "2", "--n-best", "2", "--scores", stdin="to be\n")
    assert columns.out.count("\n") == 1
    assert len(columns.out.split("\t")) == 4


def test_unknown_characters_are_told(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", run, "limits.answer=3", stdin="to be\nto βe\n")
    assert done.code == 0
    assert "1 of the 10 symbols of the prompts are unknown to the model" in done.err
    assert "the first in line 2" in done.err
    assert "to ⁇e" in done.out


def test_a_text_is_measured(run: Path, books: Books, dragoman: CommandLine) -> None:
    done = dragoman("evaluate", run, books.valid, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert set(found["metrics"]) == {"loss", "perplexity", "bits_per_character"}
    assert found["documents"] == 6
    assert found["symbols"] == found["characters"] + 6  # an END each
    [ngram] = found["baselines"]["rows"].values()
    assert 1 < ngram["metrics"]["perplexity"]["value"] < 30  # of the same tokens, and no worse than chance
    assert found["baselines"]["model"] == pytest.approx(found["metrics"]["perplexity"]["value"])
    same = json.loads(dragoman("evaluate", run, "--on", books.valid, "--json").out)
    assert same["metrics"] == found["metrics"]
    table = dragoman("evaluate", run, books.valid).out
    assert f"{found['metrics']['loss']['value']:.4f}" in table
    assert "END of 6 documents counted" in table
    piped = dragoman("evaluate", run, "-", "--json", stdin=books.valid.read_text())
    assert json.loads(piped.out)["metrics"] == found["metrics"]


def test_a_text_of_one_symbol_is_measured(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    (tmp_path / "short.txt").write_text("t")
    done = dragoman("evaluate", run, tmp_path / "short.txt", "--json")
    assert (done.code, json.loads(done.out)["symbols"]) == (0, 2)


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        (["evaluate", "RUN"], 2, "There is nothing to measure on: name a file"),
        (["evaluate", "RUN", "BOOK", "--metric", "bleu"], 2, "--metric is about answers to sources"),
        (["evaluate", "RUN", "BOOK", "--beam", "3"], 2, "--beam is about answers to sources"),
        (["evaluate", "RUN", "EMPTY"], 3, "is empty. Give a file with at least a line of text"),
        (["evaluate", "RUN", "BLANK"], 3, "all lines are blank"),
        (["evaluate", "RUN", "no.txt"], 3, "There is no file no.txt"),
        (["look", "RUN", "to be", "--beam"], 2, "A search as a tree is for models that answer a source"),
        (
            ["look", "RUN", "to be", "--target", "x"],
            2,
            "A target, a beam or a prefix is for models that answer a source",
        ),
        (["score", "RUN", "BOOK"], 2, "A score of pairs is for models that answer a source"),
        (["export", "RUN", "--to", "folder"], 2, "An export is for models that answer a source"),
        (["export", "RUN", "--to", "onnx"], 2, "An export is for models that answer a source"),
        (["export", "RUN", "--to", "ctranslate2"], 2, "An export is for models that answer a source"),
        (["predict", "RUN", "--prefix", "x"], 2, "leave the prefix out"),
        (["predict", "RUN", "--alignments"], 2, "no attention"),
        (["predict", "RUN", "BOOK", "--nothing"], 2, "Leave one of them out"),
        (["predict", "RUN", "model.context=5"], 2, "model is part of what was trained"),
        (
            ["compare", "PAIRS", "gpt", "g2p"],
            2,
            "A comparison, in which gpt would take part, is for models that answer",
        ),
        (["train", "gpt"], 2, "There is nothing to train on: name a text file"),
        (["train", "gpt", "EMPTY"], 3, "is empty. Give a file with at least a line of text"),
        (["train", "gpt", "BLANK"], 3, "all lines are blank"),
        (["train", "gpt", "BOOK", "model.contxt=5"], 2, "Did you mean 'context'?"),
        (["train", "BOOK"], 3, "dragoman train gpt"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_what_makes_no_sense_is_a_sentence(
    books: Books, learned: Path, tmp_path: Path, dragoman: CommandLine, line: list[str], code: int, sentence: str
) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "blank.txt").write_text("\n \n")
    (tmp_path / "pairs.tsv").write_text("a\tb\n" * 60)
    names = {"RUN": learned, "BOOK": books.valid, "EMPTY": tmp_path / "empty.txt", "BLANK": tmp_path / "blank.txt"}
    names["PAIRS"] = tmp_path / "pairs.tsv"
    out = ["--out", tmp_path / "out"] if line[0] in ("train", "compare") else []
    done = dragoman(*(names.get(word, word) for word in line), *out, stdin="to be\n")
    assert (done.code, "Traceback" in done.err) == (code, False), done.err
    assert sentence in done.err


def test_nothing_is_for_language_models(corpus: Corpus, tmp_path: Path, dragoman: CommandLine) -> None:
    assert dragoman(*words(corpus, tmp_path / "pairs", training__steps=2)).code == 0
    done = dragoman("predict", tmp_path / "pairs", "--nothing")
    assert (done.code, "--nothing is for a language model" in done.err) == (2, True)


def test_checkpoints_have_a_mean(books: Books, tmp_path: Path, dragoman: CommandLine) -> None:
    out = tmp_path / "run"
    assert dragoman(*command(books, out)).code == 0
    done = dragoman("average", out, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["loss"] > 0


def test_a_kind_alone_is_enough(books: Books, tmp_path: Path, dragoman: CommandLine) -> None:
    """Without a recipe nothing is guessed; recurrent layers need no more than their name."""
    own = ["model.kind=decoder_only", "model.decoder.kind=rnn", "model.context=8", "target.kind=bytes"]
    done = dragoman("train", books.train, *own, "--steps", "2", "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert dragoman("predict", tmp_path / "run", "limits.answer=3", stdin="to be\n").out.startswith("to be")


def test_training_tells_what_it_learns(books: Books, tmp_path: Path, dragoman: CommandLine) -> None:
    done = dragoman(*command(books, tmp_path / "run", "zaremba2014"))
    assert done.code == 0, done.err
    assert "different symbols · " in done.err
    assert "bits_per_character" in done.err
    assert "pairs" not in done.err
    assert not (tmp_path / "run/report.html").exists()
