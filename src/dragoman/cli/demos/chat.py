"""Small talk, from a corpus of conversations that comes with a package."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.demos.playing import Given, learn

if TYPE_CHECKING:
    from dragoman.evaluation.pairs import Evaluated
    from dragoman.pipeline import Pipeline

SAID = ("Hi! How are you doing today?", "What do you do for fun?", "Do you like music?", "Have a nice day!")
SHOWN = 3  # conversations of the test set whose next turn is said
BEFORE = 3  # turns of each that are shown
Exchange = tuple[str, str]  # what was said, and what was answered


def play(given: Given, started_at: float) -> None:
    """Train, measure on conversations never seen, and talk."""
    from dragoman.data.readers.chitchat import write_splits
    from dragoman.evaluation.pairs import evaluate
    from dragoman.pipeline import Pipeline
    from dragoman.recipes import compose

    data, run = given.data, given.run
    counts = write_splits(data)
    print(f"{counts['train']:,} conversations to learn from, {counts['test']:,} never seen.", file=sys.stderr)
    settings = {"training.minutes": given.minutes, "training.schedule.warmup": 50, "evaluation.report": 200}
    settings |= {"conversation.turns": 4, "conversation.turn_length": 30, "conversation.length": 100}
    files = (str(data / "train.jsonl"),), (str(data / "valid.jsonl"),)
    learn(compose("hred", None, *files, settings=settings), given)
    pipeline = Pipeline.load(run)
    result = evaluate(pipeline, (str(data / "test.jsonl"),))
    exchanges, continued = talk(pipeline), go_on(pipeline, data / "test.jsonl")
    seconds = time.monotonic() - started_at
    if given.as_json:
        print_json(result, exchanges, continued, seconds)
    else:
        print_story(result, exchanges, continued)
    print(f"\nDone in {seconds / 60:.1f} minutes. A few minutes of talk are little to learn from:", file=sys.stderr)
    print(f"  dragoman chat {run}", file=sys.stderr)
    print(f'  dragoman look {run} "Hi!" "Hello, how are you?" "Fine. And you?"', file=sys.stderr)
    print(f"  {run}/report.html", file=sys.stderr)


def talk(pipeline: "Pipeline") -> list[Exchange]:
    """A few words, each answered with what was said before in mind."""
    from dragoman.pipeline import Chat

    chat = Chat(pipeline)
    return [(said, chat.say(said).text) for said in SAID]


def go_on(pipeline: "Pipeline", tests: Path) -> list[tuple[list[str], str, str]]:
    """(the last turns of a conversation never seen, what is said next, what the model would say)"""
    from dragoman.data.readers.formats import CONVERSATIONS
    from dragoman.data.readers.pairs import Problems, read_references
    from dragoman.data.tokenizers.conversation import turns_of

    items = read_references((str(tests),), Problems(), CONVERSATIONS)
    chosen = [items[len(items) * (2 * number + 1) // (2 * SHOWN)] for number in range(SHOWN)]
    answers = pipeline.stream([source for source, _ in chosen])
    return [
        (turns_of(source)[-BEFORE:], targets[0], answer.text)
        for (source, targets), answer in zip(chosen, answers, strict=True)
    ]


def print_story(result: "Evaluated", exchanges: list[Exchange], continued: list[tuple[list[str], str, str]]) -> None:
    from dragoman.cli.evaluate import print_table

    print("\nOn conversations it never saw (many answers are good, so that few are like the one that was given):")
    print_table(result)
    print("\nHow some of them go on:")
    for turns, truth, answer in continued:
        for turn in turns:
            print(f"    {turn}")
        print(f"  → {answer}\n    (in truth: {truth})\n")
    print("A conversation with it:")
    for said, answer in exchanges:
        print(f"  you    {said}\n  model  {answer}")


def print_json(
    result: "Evaluated", exchanges: list[Exchange], continued: list[tuple[list[str], str, str]], seconds: float
) -> None:
    """One last object behind the events."""
    import json

    from dragoman.cli.evaluate import facts_of

    told = [{"turns": turns, "truth": truth, "answer": answer} for turns, truth, answer in continued]
    said = [{"said": one, "answer": answer} for one, answer in exchanges]
    facts = {"event": "result", **facts_of(result), "continued": told, "conversation": said, "seconds": seconds}
    print(json.dumps(facts, ensure_ascii=False))
