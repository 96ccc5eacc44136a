"""Conversations whose last turn is answered, for `dragoman predict`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.contracts import Answer
    from dragoman.data.readers.formats import Wanted

TABLES = (".tsv", ".csv", ".tab")
TABBED = (
    "a conversation a line, with tabs between its turns. A table with a turn a row has a header (id and text), or an "
    "id that comes again in the next row."
)


def histories_in(file: str, wanted: "Wanted") -> Iterator[str]:
    """What was said in each conversation: a line each, JSON with turns or turns with tabs between them; or a table with
    an id in each row. Of a file that may be either, it is told which it was taken for."""
    from dragoman.data.readers.conversations import conversation_layout
    from dragoman.data.readers.histories import histories_of_table, history_in, is_table
    from dragoman.data.readers.pairs import read_lines

    name = Path(file).name.lower().removesuffix(".gz").removesuffix(".zst")
    if file != "-" and Path(name).suffix in TABLES:
        if is_table(file, wanted):
            print(f"{file}: {conversation_layout(file, wanted)}", file=sys.stderr)
            yield from histories_of_table(file, wanted)
            return
        print(f"{file}: {TABBED}", file=sys.stderr)
    shown = "standard input" if file == "-" else file
    for number, line in enumerate(read_lines(file), start=1):
        yield history_in(line, f"{shown}:{number}", wanted)


def as_json(answer: "Answer") -> str:
    """With a list of turns in the place of the source."""
    import json
    from dataclasses import asdict

    from dragoman.data.tokenizers.conversation import turns_of

    facts = asdict(answer)
    return json.dumps({"turns": turns_of(facts.pop("source"))} | facts, ensure_ascii=False)
