"""Models that read conversations: trained, resumed to the bit, asked and measured, from the command line and Python."""

import json
import math
import re
from copy import copy
from pathlib import Path

import pytest

import dragoman as dg
from command_line import CommandLine
from dragoman.config import validate
from dragoman.data.readers.formats import CONVERSATIONS, Wanted
from dragoman.data.tokenizers.conversation import Conversation, as_text
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import Experiment
from dragoman.inspection.search_report import Request, gather
from dragoman.pipeline import Ensemble
from dragoman.pipeline.pipeline import conversation_of
from dragoman.recipes import compose
from dragoman.training.averaging import average_run
from dragoman.training.events import Saved
from talks import talk, write_talks
from tiny import TINY, bits, metrics, run_all, run_until

SETTINGS = TINY | {"source.size": 60, "source.kind": "words", "training.batching.sentences": 64}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("talks")
    return write_talks(folder / "train.jsonl", range(100)), write_talks(folder / "valid.jsonl", range(100, 110))


def settings_of(files: tuple[str, str], **own: object) -> Experiment:
    changes = SETTINGS | {name.replace("__", "."): value for name, value in own.items()}
    return compose("hred", "tiny", (files[0],), (files[1],), settings=changes).settings


@pytest.fixture(scope="module")
def trained(files: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("conversations") / "run"
    run_all(settings_of(files), out)
    return out


def test_a_run_that_was_broken_off_goes_on_to_the_bit(files: tuple[str, str], trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run_until(settings_of(files), out, lambda event: isinstance(event, Saved) and event.step == 10)
    run_all(settings_of(files), out)
    assert bits(out, 20) == bits(trained, 20)
    assert metrics(out) == metrics(trained)


def test_all_that_is_said_is_learned_from_whatever_is_read_of_it(
    files: tuple[str, str], trained: Path, tmp_path: Path
) -> None:
    """So that perplexities can be compared: the same turns and symbols with one turn of history or many."""
    flat = {"model__encoder": {"kind": "rnn", "width": 16}, "model__decoder__looks_at": "words", "training__steps": 2}
    run_all(settings_of(files, conversation__turns=1, **flat), tmp_path / "last")
    run_all(settings_of(files, **flat), tmp_path / "joined")
    counts = [json.loads((run / "data.json").read_text())["valid"]["counts"] for run in
              (trained, tmp_path / "last", tmp_path / "joined")]  # fmt: skip
    assert {(one["pairs"], one["target_tokens"]) for one in counts} == {(70, counts[0]["target_tokens"])}
    assert counts[1]["source_tokens"] < counts[2]["source_tokens"] == counts[0]["source_tokens"]


def test_members_of_an_ensemble_read_their_own_history(files: tuple[str, str], trained: Path, tmp_path: Path) -> None:
    flat = {"model__encoder": {"kind": "rnn", "width": 16}, "model__decoder__looks_at": "words", "training__steps": 2}
    run_all(settings_of(files, conversation__turns=1, **flat), tmp_path / "last")
    members = [dg.load(trained), dg.load(tmp_path / "last")]
    pairs = [(as_text(["i am ann", "hello", "who am i ?"]), "you are ann"), ("hello", "good")]
    alone = [list(member.score(pairs)) for member in members]
    for order in (members, members[::-1]):
        both = Ensemble(order, "probabilities")
        for number, found in enumerate(both.score(pairs)):
            each = [one[number].token_log_probabilities for one in alone]
            means = [math.log((math.exp(a) + math.exp(b)) / 2) for a, b in zip(*each, strict=True)]
            assert found.token_log_probabilities == pytest.approx(means, abs=1e-5)
        assert both.predict([["i am ann", "hello"]])[0].alignment is None
        with pytest.raises(ConfigError, match=r"Run 2 of the ensemble reads other symbols than the first"):
            both.require_attention()
    deaf = copy(members[1])
    deaf.settings = deaf.settings.changed(conversation=Conversation())
    with pytest.raises(ConfigError, match=r"of models that read conversations or of models that read texts, not of"):
        Ensemble([members[0], deaf])


def test_conversations_are_answered_in_python(trained: Path) -> None:
    pipeline = dg.load(trained).changed(["search.kind=greedy"])
    said = ["i am ann", "hello", "who am i ?"]
    alone, *others = pipeline.predict([said, ["hello"], "hello"])
    assert alone.text == pipeline.predict([said])[0].text
    assert others[0].text == others[1].text
    assert alone.alignment is not None
    assert len(alone.alignment[0]) == len(alone.best.source_tokens) == 3 + 1 + 1 + 1 + 4 + 1
    with pytest.raises(DataError, match="Turn 2 of a conversation is int, and no text"):
        conversation_of(pipeline, ["a", 7])
    assert pipeline.predict([{"turns": said}])[0].text == alone.text
    with pytest.raises(DataError, match=r"A conversation: no field 'turns'\. A conversation is written"):
        pipeline.predict({"said": said})
    with pytest.raises(DataError, match="to be answered is a text, or a list of turns, and no NoneType"):
        pipeline.predict([None])


def test_a_short_turn_may_have_a_long_answer(trained: Path) -> None:
    """As long as limits.answer alone says: an answer is no translation of what was said."""
    pipeline = dg.load(trained).changed(["limits.ratio=0.1", "limits.extra=1", "limits.least=30", "limits.answer=40"])
    for search in ("greedy", "sampling"):
        [answer] = pipeline.changed([f"search.kind={search}"]).predict([["hello"]], alignments=False)
        assert 29 <= len(answer.tokens) <= 40
    assert pipeline.settings.answer_lengths(1) == (30, 40)


def test_neighbours_change_no_answer(trained: Path) -> None:
    pipeline = dg.load(trained).changed(["search.kind=beam", "search.width=3"])
    several = [talk(number)[: 1 + number % 7] for number in range(200, 212)]
    together = [(answer.text, round(answer.score, 4)) for answer in pipeline.predict(several)]
    assert together == [(answer.text, round(answer.score, 4)) for one in several for answer in pipeline.predict([one])]


def test_conversations_are_answered_from_files(trained: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    lines = '{"turns": ["i am ann", "hello", "who am i ?"]}\n\ni am ann\thello\twho am i ?\n'
    done = dragoman("predict", trained, "-", "search.kind=greedy", stdin=lines)
    first, empty, third = done.out.splitlines()
    assert (done.code, first, empty) == (0, third, "")
    table = tmp_path / "a.tsv"
    table.write_text("id\ttext\n1\ti am ann\n1\thello\n1\twho am i ?\n2\thello\n")
    of_table = dragoman("predict", trained, table, "search.kind=greedy")
    assert of_table.out.splitlines()[0] == first
    assert "a.tsv: conversations in TSV, id = 'id', text = 'text'" in of_table.err
    tabbed = tmp_path / "b.tsv"
    tabbed.write_text("i am ann\thello\twho am i ?\nhello\tgood\n")
    done = dragoman("predict", trained, tabbed, "search.kind=greedy")
    assert (done.out.splitlines()[0], len(done.out.splitlines())) == (first, 2)
    assert (
        "b.tsv: a conversation a line, with tabs between its turns. A table with a turn a row has a header" in done.err
    )
    told = json.loads(
        dragoman("predict", trained, "-", "--json", "search.kind=greedy", stdin=lines).out.splitlines()[0]
    )
    assert told["turns"] == ["i am ann", "hello", "who am i ?"]
    assert "holds a tab" not in dragoman("predict", trained, "-", stdin='{"turns": ["i am\\tann", "hello"]}\n').err
    bad = dragoman("predict", trained, "-", stdin='hello\n{"turns": [3]}\n')
    assert bad.code == 3
    assert "standard input:2: a turn that is no text" in bad.err


def test_perplexity_stands_beside_the_metrics(trained: Path, files: tuple[str, str], dragoman: CommandLine) -> None:
    found = json.loads(dragoman("evaluate", trained, "--on", files[1], "--json", "search.kind=greedy").out)
    perplexity = found["metrics"]["perplexity"]
    assert perplexity["low"] < perplexity["value"] < perplexity["high"]
    assert {one["signature"].rpartition("|")[2] for one in found["metrics"].values()} == {"drawn:conversation"}
    assert found["references"] == 70
    assert list(found["baselines"]["rows"]) == ["nearest", "ngram"]
    assert (found["baselines"]["metric"], found["baselines"]["best"]) == ("perplexity", "ngram")
    last = [record["valid"]["perplexity"] for record in metrics(trained) if "valid" in record]
    assert perplexity["value"] == pytest.approx(min(last), rel=1e-3)


def test_a_search_report_draws_whole_conversations(trained: Path, files: tuple[str, str]) -> None:
    facts = gather(dg.load(trained), (files[1],), Request((1, 2), 20, 20, beam=1))
    assert len(facts.items) == 20
    assert facts.widths[0].metrics[0].signature.endswith("|drawn:conversation")


def test_names_of_fields_are_kept_with_the_model_and_can_be_changed(
    trained: Path, tmp_path: Path, dragoman: CommandLine
) -> None:
    file, table = tmp_path / "a.jsonl", tmp_path / "a.tsv"
    file.write_text("".join(json.dumps({"talk": talk(number)}) + "\n" for number in range(60)))
    table.write_text("n\twhat\twhen\tx\n1\ti am ann\t9\t9\n1\thello\t9\t9\n")
    names = {"data.turns_field": "talk", "data.id_field": "n", "data.text_field": "what", "data.hold_out": 0.2}
    short = {"training.steps": 2, "training.validate_every": 1, "training.save_every": 1, "training.keep": 2}
    own = SETTINGS | names | short | {"search.kind": "greedy"}
    run_all(compose("hred", "tiny", (str(file),), settings=own).settings, tmp_path / "run")
    for folder in (tmp_path / "run", average_run(tmp_path / "run", last=2).out):
        assert dg.load(folder).wanted == Wanted("auto", (), "", True, "talk", "n", "what")
    assert dragoman("evaluate", tmp_path / "run", "--on", file).code == 0
    assert len(dragoman("predict", tmp_path / "run", file).out.splitlines()) == 60
    assert len(dragoman("predict", tmp_path / "run", table).out.splitlines()) == 1
    refused = dragoman("evaluate", trained, "--on", file)
    assert refused.code == 3
    assert "Set data.turns_field to the name of the field that holds the turns of a conversation." in refused.err
    assert dragoman("evaluate", trained, "--on", file, "search.kind=greedy", "data.turns_field=talk").code == 0
    told = dragoman("predict", trained, file, "data.turn_field=talk")
    assert told.code == 2
    assert "data.turn_field says nothing of how conversations are read. Did you mean 'turns_field'?" in told.err


def test_what_cannot_be_read_of_names_of_fields_is_nothing() -> None:
    assert Wanted.from_json("") == Wanted.from_json("{") == Wanted.from_json("[1]") == CONVERSATIONS
    assert Wanted.from_json(Wanted(conversations=True, id="3").as_json()) == Wanted(conversations=True, id="3")


def test_a_file_without_an_answer_measures_nothing(trained: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    (tmp_path / "one.jsonl").write_text('{"turns": ["alone"]}\n')
    done = dragoman("evaluate", trained, "--on", tmp_path / "one.jsonl")
    assert done.code == 3
    assert "There is no turn to be measured in" in done.err
    assert done.err.rstrip().endswith("or rows of a table with one id.")


def test_too_many_bad_conversations_stop_a_training(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"turns": ["a", "b"]}\n{"turns": ["alone"]}\n')
    with pytest.raises(DataError) as told:
        run_all(compose("hred", "tiny", (str(file),), settings=SETTINGS).settings, tmp_path / "run")
    assert "1 bad lines among 2 are more than data.max_bad = 0.01 allows" in str(told.value)
    assert "a conversation of one turn, with nothing to answer" in str(told.value)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"conversation": {"turns": 4}}, "conversation.turns = 4 is for conversations, and data.kind is 'pairs'"),
        ({"data": {"kind": "conversations"}, "conversation": {"turns": 0}}, "needs conversation.turns = 1 or more"),
        (
            {"data": {"kind": "conversations"}, "limits": {"source": 300}},
            "conversation.length = 400 is more than limits.source = 300 symbols are read",
        ),
        (
            {"data": {"kind": "conversations"}, "model": {"kind": "decoder_only"}},
            "is for a model that reads a conversation and writes the next turn",
        ),
        (
            {
                "data": {"kind": "conversations"},
                "model": {
                    "encoder": {
                        "kind": "hierarchical",
                        "words": {"kind": "transformer", "positions": {"kind": "learned", "length": 20}},
                    }
                },
            },
            "conversation.turn_length = 60 symbols and END need 61 positions, and the encoder has 20",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError) as told:
        validate(Experiment, settings)
    assert sentence in str(told.value)


def test_sampled_spellings_are_refused(files: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"for pairs of texts and not for the turns of conversations"):
        run_all(settings_of(files, source__kind="bpe", source__size=300, source__sampling=0.1), tmp_path / "run")


@pytest.mark.parametrize("to", ["onnx", "ctranslate2", "folder"])
def test_an_export_says_that_it_cannot(trained: Path, to: str, dragoman: CommandLine) -> None:
    done = dragoman("export", trained, "--to", to)
    assert done.code == 2
    assert "This model reads conversations" in done.err or "Transformer" in done.err


def test_a_list_of_turns_is_for_models_that_talk(corpus: object, tmp_path: Path) -> None:
    from tiny import Corpus, tiny

    assert isinstance(corpus, Corpus)
    run_all(tiny(corpus, training__steps=2), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"A list of turns is for a model that reads conversations"):
        dg.load(tmp_path / "run").predict([["a", "b"]])


def test_looks_at_turns_and_words_add_up(trained: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    turns = ["i am ann", "hello", "who am i ?"]
    done = dragoman("look", trained, *turns, "search.kind=greedy", "--json")
    told = json.loads(done.out)
    assert told["turns"] == turns
    assert sum(told["shares"]) == pytest.approx(1, abs=1e-4)
    assert [sum(row) for row in told["by_turn"]] == pytest.approx([1] * len(told["by_turn"]), abs=1e-4)
    assert len(told["alignment"][0]) == 3 + 1 + 1 + 1 + 4 + 1
    shown = dragoman("look", trained, *turns, "--target", "you are ann").out
    assert "Turns (how much each turn was looked at, symbol by symbol):" in shown
    assert "→ you are ann  (score" in shown
    page = tmp_path / "look.html"
    assert dragoman("look", trained, *turns, "--target", "you are ann", "--html", page).code == 0
    assert 'class="talk"' in page.read_text()
    for words, sentence in (
        (["--png", "a.png"], "--png is not for conversations"),
        (["--target", "a", "--target", "b"], "There are 1 texts and 2 targets"),
    ):
        refused = dragoman("look", trained, *turns, *words)
        assert refused.code == 2
        assert sentence in refused.err


def test_turns_of_flat_models_are_the_sums_of_their_words(files: tuple[str, str], tmp_path: Path) -> None:
    from dragoman.pipeline.turns import look_at_turns

    flat = {"model__encoder": {"kind": "rnn", "width": 16}, "model__decoder__looks_at": "words", "training__steps": 2}
    run_all(settings_of(files, **flat), tmp_path / "run")
    looks = look_at_turns(dg.load(tmp_path / "run"), ["i am ann", "hello"], "hello")
    assert not looks.direct
    assert looks.by_word is not None
    row = looks.by_word.weights[0]
    assert looks.by_turn.weights[0] == pytest.approx((sum(row[:4]), sum(row[4:])), abs=1e-5)
    none = {"model__decoder__attention": {"kind": "none"}, "model__decoder__looks_at": "words"}
    run_all(settings_of(files, **none, training__steps=2), tmp_path / "none")
    with pytest.raises(ConfigError, match="This model looks at nothing in particular"):
        look_at_turns(dg.load(tmp_path / "none"), ["i am ann"])


def test_the_report_shows_conversations(trained: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    page = tmp_path / "report.html"
    done = dragoman("report", trained, "--out", page)
    assert done.code == 0, done.err
    text = page.read_text()
    assert "<h2>Conversations</h2>" in text
    assert "In truth: " in text
    assert "\x1e" not in text
    assert re.search(
        r"Perplexity [\d.]+ a symbol of the next turn \([\d.]+ … [\d.]+\), over 50 validation turns\.", text
    )
    assert "<h2>Confusions</h2>" not in text


def test_conversations_are_surveyed(files: tuple[str, str], dragoman: CommandLine) -> None:
    done = dragoman("data", files[0], "data.kind=conversations")
    assert done.code == 0, done.err
    assert "conversations in JSON lines, turns = 'turns'" in done.out + done.err


def test_a_file_without_any_conversation_is_told_how_one_is_written(tmp_path: Path, dragoman: CommandLine) -> None:
    (tmp_path / "long.jsonl").write_text('{"turns": ["Hi", "' + "x" * 1_000_001 + '"]}\n')
    done = dragoman("train", "hred", tmp_path / "long.jsonl", "--out", tmp_path / "run", "training.steps=1")
    assert done.code == 3
    assert "None of the 1 lines is a conversation; nothing was done." in done.err
    assert 'A conversation is a line such as {"turns": ["Hi!", "Hello."]}, or rows of a table with one id.' in done.err
