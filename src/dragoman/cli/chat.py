"""dragoman chat: a conversation in the terminal."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.errors import ConfigError, DataError, StorageError, nearest

if TYPE_CHECKING:
    from dragoman.contracts import Answer
    from dragoman.pipeline import Chat

COMMANDS = {
    "/undo": "take back what you said last, and its answer",
    "/retry": "another answer to what you said last",
    "/history": "what was said so far, and how much of it is read",
    "/new": "a new conversation",
    "/set SECTION.KEY=VALUE": "how answers are found, e.g. /set search.temperature=0.5; /set alone shows it",
    "/save FILE": "add the conversation to a file, as a JSON line",
    "/help": "these commands",
    "/quit": "end; so do Ctrl-D and Ctrl-C",
}


def chat(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a model folder.")],
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SECTION.KEY=VALUE]...", help="Settings of search, rules and limits."),
    ] = None,
    quantize: Annotated[str, typer.Option(help="none, or int8: faster on a CPU where layers are large.")] = "none",
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each answer.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
) -> None:
    """\b
    dragoman chat runs/chat
    dragoman chat runs/chat search.kind=sampling search.temperature=0.7
    printf 'Hi!\\n/retry\\n' | dragoman chat runs/chat --json

    Talk to a model, line by line: what you say, and what it answered, is the history of what comes next.

    Models that read conversations (recipe hred, or any with data.kind = conversations) see the last conversation.turns
    turns; others see what you said last, and a language model goes on behind all of it. Lines that begin with a slash
    are commands: /undo, /retry, /history, /new, /set, /save FILE, /help, /quit; // says a slash. In a pipe every line
    that is said has one line of answer, and all else goes to stderr.
    """
    from dragoman.pipeline import Chat, Pipeline

    unknown = [word for word in settings or [] if "=" not in word]
    if unknown:
        raise ConfigError(
            f"'{unknown[0]}' is no setting: they are written search.temperature=0.7. A file of conversations is "
            f"answered by dragoman predict {run} {unknown[0]}"
        )
    pipeline = Pipeline.load(run, device).quantized(quantize).changed(settings or [])
    talk, typed = Chat(pipeline), sys.stdin.isatty() and sys.stdout.isatty()
    if typed:
        print(greeting(talk, run), file=sys.stderr)
    converse(talk, typed_lines() if typed else piped_lines(), Told(json, typed))


def greeting(talk: "Chat", run: Path) -> str:
    search = talk.pipeline.settings.search
    return f"{run} · {seen(talk)} · search.kind={search.kind} · /help lists commands, Ctrl-D ends."


def seen(talk: "Chat") -> str:
    """How much of a conversation the model reads."""
    reading = talk.pipeline.settings.conversation
    if reading.turns:
        turns = "the last turn" if reading.turns == 1 else f"the last {reading.turns} turns"
        return f"it reads {turns}, {reading.length} symbols at most"
    return "it goes on behind all that was said" if talk.pipeline.alone else "it reads what you said last"


def typed_lines() -> Iterator[str]:
    """Of a terminal, with line editing where there is any; Ctrl-C raises as it does in Python, so that the terminal is
    left as it was."""
    import contextlib
    import signal

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 (input edits lines with it)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    while True:
        try:
            yield input("> ")
        except EOFError:
            print(file=sys.stderr)
            return
        except KeyboardInterrupt:
            print(file=sys.stderr)
            raise typer.Exit(130) from None


def piped_lines() -> Iterator[str]:
    from dragoman.data.readers.pairs import read_lines

    return read_lines("-")


class Told:
    """What goes where: answers to stdout, remarks to stderr."""

    def __init__(self, json: bool, typed: bool) -> None:
        self.json, self.typed = json, typed

    def answer(self, talk: "Chat", answer: "Answer") -> None:
        if self.json:
            self.record({"turn": len(talk.turns), "said": talk.turns[-2], "answer": answer.text,
                         "log_probability": answer.best.log_probability, "finished": answer.best.finished})  # fmt: skip
        else:
            print(answer.text if answer.text or not self.typed else "…", flush=True)

    def record(self, facts: dict[str, Any]) -> None:
        import json

        print(json.dumps(facts, ensure_ascii=False), flush=True)

    def remark(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def converse(talk: "Chat", lines: Iterator[str], told: Told) -> None:
    """Until the lines end; a mistake is said, and the conversation goes on."""
    for line in lines:
        text = line.strip()
        try:
            if text.startswith("/") and not text.startswith("//"):
                if text.split()[0] in ("/quit", "/exit"):
                    return
                obey(talk, text, told)
            elif text:
                told.answer(talk, talk.say(text.removeprefix("/") if text.startswith("//") else text))
            elif not told.typed and not told.json:
                print(flush=True)  # a line for a line
        except (ConfigError, DataError, StorageError) as error:
            told.remark(f"dragoman: {error}")
        except KeyboardInterrupt:
            told.remark("")
            raise typer.Exit(130) from None


def obey(talk: "Chat", line: str, told: Told) -> None:
    """A command and what stands behind it."""
    name, _, rest = line.partition(" ")
    commands: dict[str, Callable[[str], None]] = {
        "/undo": lambda _: undo(talk, told),
        "/retry": lambda _: retry(talk, told),
        "/history": lambda _: show_history(talk, told),
        "/new": lambda _: talk.new(),
        "/set": lambda changes: change(talk, changes.split(), told),
        "/save": lambda file: save(talk, file.strip(), told),
        "/help": lambda _: told.remark("\n".join(f"{name:24}{what}" for name, what in COMMANDS.items())),
    }
    if name not in commands:
        known = [*commands, "/quit"]
        raise ConfigError(f"There is no command {name}.{nearest(name, known)} Known: {', '.join(known)}.")
    commands[name](rest)


def undo(talk: "Chat", told: Told) -> None:
    talk.undo()
    left = f"What stands last now: {talk.turns[-1]}" if talk.turns else "Nothing is said now."
    told.remark(left)


def retry(talk: "Chat", told: Told) -> None:
    if not talk.draws:
        kind = talk.pipeline.settings.search.kind
        told.remark(f"A search of the kind {kind} finds the same again; /set search.kind=sampling draws answers.")
    told.answer(talk, talk.retry())


def show_history(talk: "Chat", told: Told) -> None:
    if told.json:
        told.record({"turns": talk.turns})
        return
    first = talk.first_read
    for number, turn in enumerate(talk.turns):
        told.remark(f"{'  ' if number >= first else '· '}{'model' if number % 2 else 'you':6}{turn}")
    told.remark(f"{len(talk.turns)} turns; {seen(talk)}{' (· is read no more)' if first else ''}.")


def change(talk: "Chat", changes: list[str], told: Told) -> None:
    if changes:
        talk.set(*changes)
    search = talk.pipeline.settings.search
    told.remark("  ".join(f"search.{name}={value}" for name, value in search))


def save(talk: "Chat", file: str, told: Told) -> None:
    """A JSON line more in a file, which `dragoman train` and `dragoman predict` read."""
    import json

    if not file:
        raise ConfigError("Say where: /save conversations.jsonl")
    if not talk.turns:
        raise ConfigError("Nothing was said yet, so there is nothing to save.")
    try:
        with Path(file).open("a", encoding="utf-8") as to:
            to.write(json.dumps({"turns": talk.turns}, ensure_ascii=False) + "\n")
    except OSError as error:
        raise StorageError(f"Cannot write {file}: {error.strerror}.") from error
    except ValueError as error:
        raise ConfigError(f"{file!r} is no name of a file. Say where: /save conversations.jsonl") from error
    told.remark(f"{len(talk.turns)} turns were added to {file}.")
