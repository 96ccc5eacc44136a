"""dragoman chat: a conversation in the terminal, and in a pipe."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dragoman as dg
from command_line import CommandLine
from dragoman.cli.chat import Told, converse, show_history
from dragoman.data.readers.histories import history_in
from dragoman.data.tokenizers import END, Tokenizer
from dragoman.data.tokenizers.conversation import as_text
from dragoman.errors import ConfigError
from dragoman.pipeline import Chat
from dragoman.recipes import compose
from talks import write_talks
from texts import small, written
from tiny import TINY, Corpus, run_all, tiny

SAMPLING = ("search.kind=sampling", "search.temperature=1.5", "search.top_p=1.0")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chat")
    own = TINY | {"source.kind": "words", "source.size": 60, "training.steps": 10, "training.validate_every": 10}
    files = (write_talks(folder / "a.jsonl", range(60)),)
    run_all(compose("hred", "tiny", files, settings=own | {"data.hold_out": 0.2}).settings, folder / "run")
    return folder / "run"


def test_every_line_has_an_answer_and_all_else_goes_elsewhere(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("chat", run, "search.kind=greedy", stdin="i am ann\n\nwho am i ?\n/history\n")
    first, empty, second = done.out.splitlines()
    assert (done.code, empty) == (0, "")
    assert "you   i am ann" in done.err
    assert "4 turns; it reads the last 8 turns, 200 symbols at most." in done.err
    greedy = dg.load(run).changed(["search.kind=greedy"])
    assert first == greedy.predict("i am ann").text
    assert second == greedy.predict([["i am ann", first, "who am i ?"]])[0].text


def test_answers_are_drawn_anew_and_the_same_again_in_another_start(run: Path, dragoman: CommandLine) -> None:
    lines = "i am ann\n" + "/retry\n" * 6
    one, other = (dragoman("chat", run, *SAMPLING, "--json", stdin=lines) for _ in range(2))
    assert one.out == other.out
    found = [json.loads(line) for line in one.out.splitlines()]
    assert {(each["turn"], each["said"]) for each in found} == {(2, "i am ann")}
    assert len({each["answer"] for each in found}) > 2
    again = dragoman("chat", run, *SAMPLING, "search.seed=7", "--json", stdin=lines)
    assert again.out != one.out


def test_what_was_said_is_taken_back(run: Path) -> None:
    talk = Chat(dg.load(run).changed(["search.kind=greedy"]))
    first = talk.say("i am ann").text
    second = talk.say("who am i ?").text
    talk.undo()
    assert talk.turns == ["i am ann", first]
    assert talk.say("who am i ?").text == second
    assert talk.retry().text == second  # nothing is drawn
    talk.new()
    assert talk.turns == []
    for act, sentence in ((talk.undo, "nothing to take back"), (talk.retry, "nothing to try again")):
        with pytest.raises(ConfigError, match=sentence):
            act()
    with pytest.raises(ConfigError, match="There is nothing to answer"):
        talk.say(" \x1e ")


def test_another_try_is_another_one_behind_what_was_taken_back(run: Path) -> None:
    """A try is known by its number, which stays with its turn."""
    talk = Chat(dg.load(run).changed(list(SAMPLING)))
    talk.say("i am ann")
    found = [talk.retry().text for _ in range(3)]
    talk.say("who am i ?")
    talk.retry()
    talk.undo()
    assert talk.turns == ["i am ann", found[-1]]
    again = talk.retry().text
    other = Chat(dg.load(run).changed(list(SAMPLING)))
    other.say("i am ann")
    fourth = [other.retry().text for _ in range(4)]
    assert (fourth[:3], fourth[3]) == (found, again)
    assert found[0] != again  # what came when numbers began anew


def test_what_is_said_and_saved_can_be_read_again(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Chat(dg.load(run).changed(["search.kind=greedy"]))
    monkeypatch.setattr(Tokenizer, "decode", lambda tokenizer, tokens: "you\u2028are\x01\r\nann\ud800")
    assert talk.say("i\x0bam\x07 \x1e ann\nor bob").text == "you are  ann "
    assert talk.turns == ["i am    ann or bob", "you are  ann "]
    told, file = Told(json=False, typed=False), tmp_path / "said.jsonl"
    converse(talk, iter([f"/save {file}", "/save a\0b"]), told)
    assert history_in(file.read_text(), "x:1") == as_text(["i am    ann or bob", "you are  ann"])
    assert "'a\\x00b' is no name of a file. Say where: /save conversations.jsonl" in capsys.readouterr().err


def test_what_is_read_no_more_is_marked(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = dg.load(run)
    talk, told = Chat(pipeline), Told(json=False, typed=True)

    def marked(turns: int, turn_length: int, length: int) -> str:
        how = pipeline.settings.conversation.changed(turns=turns, turn_length=turn_length, length=length)
        pipeline.settings = pipeline.settings.changed(conversation=how)
        show_history(talk, told)
        *lines, last = capsys.readouterr().err.splitlines()
        assert ("· is read no more" in last) == any(line[0] == "·" for line in lines)
        read = pipeline.source.of_conversations(how).encode([as_text([*talk.turns, "hello"])])[0].count(END)
        assert read == sum(line[0] == " " for line in lines)  # so many turns stand before what is said next
        return "".join(line[0] for line in lines)

    talk.turns = ["i am ann", "hello", "i like red", "good"]  # 3, 1, 3 and 1 symbols
    assert marked(8, 40, 200) == "    "
    assert marked(4, 40, 200) == "·   "
    assert marked(8, 5, 1 + 2 + 4) == "··  "  # one symbol to be said, and END before each
    assert marked(8, 5, 1 + 2 + 4 + 1) == "··  "
    assert marked(8, 5, 1 + 2 + 4 + 2) == "·   "
    assert marked(8, 2, 1 + 2 + 3 + 2 + 3) == "    "


def test_mistakes_are_said_and_the_conversation_goes_on(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    lines = [
        "/rety",
        "/retry",
        "/undo",
        "/set model.tie=none",
        "/set search.temperatur=1",
        "/save",
        f"/save {tmp_path}/a",
    ]
    done = dragoman("chat", run, "search.kind=greedy", stdin="\n".join([*lines, "i am ann", "//x", "/retry"]))
    assert done.code == 0
    assert len(done.out.splitlines()) == 3
    for sentence in (
        "There is no command /rety. Did you mean '/retry'? Known: /undo, /retry, /history, /new, /set, /save, /help",
        "Nothing was said yet, so there is nothing to try again.",
        "Nothing was said yet, so there is nothing to take back.",
        "model is part of what was trained and stays as it is.",
        "No setting is called 'search.temperatur'",
        "Say where: /save conversations.jsonl",
        "Nothing was said yet, so there is nothing to save.",
        "A search of the kind greedy finds the same again; /set search.kind=sampling draws answers.",
    ):
        assert sentence in done.err, sentence


def test_a_conversation_is_saved_as_data_and_settings_change(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    file = tmp_path / "said.jsonl"
    lines = f"i am ann\n/save {file}\n/new\nhello\n/save {file}\n/set search.temperature=0.25\n/help\n/quit\nno more\n"
    done = dragoman("chat", run, stdin=lines)
    assert len(done.out.splitlines()) == 2
    assert [json.loads(line)["turns"][0] for line in file.read_text().splitlines()] == ["i am ann", "hello"]
    assert "search.temperature=0.25" in done.err
    assert "take back what you said last" in done.err
    assert len(dragoman("predict", run, file).out.splitlines()) == 2


def test_models_of_pairs_see_the_last_turn_and_language_models_go_on(
    corpus: Corpus, tmp_path: Path, dragoman: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all(tiny(corpus, training__steps=2), tmp_path / "pairs")
    done = dragoman("chat", tmp_path / "pairs", stdin="abc\nabc\n/history\n")
    one, other = done.out.splitlines()
    assert one == other
    assert "it reads what you said last (· is read no more)" in done.err
    books = written(tmp_path, 10)
    run_all(small(books, training__steps=2, limits__answer=12), tmp_path / "alone")
    talk = Chat(dg.load(tmp_path / "alone"))
    assert "\n" not in talk.say("abc").text
    show_history(talk, Told(json=False, typed=True))
    assert "·" not in capsys.readouterr().err
    talk.turns = ["some words that were said"] * 200
    assert talk.say("abc").text == talk.turns[-1]
    assert len(talk.turns) == 202


def test_models_that_only_read_are_no_company(labelled_run: Path) -> None:
    with pytest.raises(ConfigError, match="this one only reads"):
        Chat(dg.load(labelled_run))


@pytest.fixture(scope="module")
def labelled_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labelled")
    (folder / "a.tsv").write_text("".join(f"{word} one\t{label}\n" for word, label in (("a", "x"), ("b", "y")) * 20))
    limits = {"training.steps": 1, "evaluation.report": 0, "training.threads": 1, "training.monitor": "loss"}
    run_all(compose("classify", "tiny", (str(folder / "a.tsv"),), settings=limits).settings, folder / "run")
    return folder / "run"


def test_a_file_in_the_place_of_settings_is_told(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("chat", run, "talks.jsonl")
    assert done.code == 2
    assert "'talks.jsonl' is no setting" in done.err


@pytest.mark.parametrize("end", ["ctrl-d", "ctrl-c"])
def test_a_terminal_is_left_in_peace(run: Path, end: str) -> None:
    """A prompt, an answer, and an end without a traceback."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dragoman", "chat", str(run), "search.kind=greedy"]
    talk = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    shown = until(ours, "> ")
    assert "/help lists commands, Ctrl-D ends." in shown
    os.write(ours, b"i am ann\n")
    until(ours, "> ")
    assert ended(talk, ours, end) == {"ctrl-d": 0, "ctrl-c": 130}[end]
    assert "Traceback" not in until(ours, "")
    os.close(ours)


def ended(talk: subprocess.Popen[bytes], terminal: int, end: str) -> int:
    """The exit code after Ctrl-D or Ctrl-C. Ctrl-C is pressed again where nothing happens: Python's readline looks for
    signals before it waits for a key, and one that comes in between stays unseen until the next."""
    for _ in range(5):
        if end == "ctrl-d":
            os.write(terminal, b"\x04")
        else:
            os.kill(talk.pid, signal.SIGINT)
        try:
            return talk.wait(10)
        except subprocess.TimeoutExpired:
            if end == "ctrl-d":
                raise
    raise AssertionError("Ctrl-C does not end it.")


def until(terminal: int, text: str) -> str:
    """What a terminal shows up to a text, or to its end."""
    shown, limit = "", time.monotonic() + 60
    while time.monotonic() < limit and not (text and shown.endswith(text)):
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 1000).decode()
            except OSError:  # nobody is at the other end
                break
        elif not text:
            break
    return shown
