"""Which engine answers: torch, or CTranslate2 where an export lies beside a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dragoman.data.tokenizers import Tokenizer
from dragoman.engines.ctranslate2 import FILES, WEIGHTS, CTranslate2, beyond
from dragoman.errors import ConfigError, StorageError
from dragoman.pipeline.rows import Asked, Row
from dragoman.search import Greedy, Rules
from dragoman.storage import hash_file, read_record

Name = Literal["torch", "ctranslate2", "auto"]
ENGINES: dict[str, Name] = {"torch": "torch", "ctranslate2": "ctranslate2", "auto": "auto"}
RECORD = "export.json"
NO_RULES = Rules()  # to make settings takes longer than to compare them
EXPORTS = ("ctranslate2", "ctranslate2-int8")  # of a run, the first that there is


def is_export(path: Path) -> bool:
    """Whether a folder is a model for CTranslate2; what cannot be looked at is none, and is refused by who reads it."""
    try:
        return (path / WEIGHTS).is_file() and (path / RECORD).is_file()
    except (OSError, ValueError):
        return False


def export_of(run: Path, folder: Path) -> Path:
    """The folder that `dragoman export` made of a run, from the weights that it has now."""
    for name in EXPORTS:
        if is_export(found := run / "exports" / name):
            if read_record(found / RECORD).get("weights") != hash_file(folder / "model.safetensors"):
                raise ConfigError(
                    f"{found} was made of other weights than {run} has now. Export it again: dragoman export {run} "
                    "--to ctranslate2."
                )
            return found
    raise ConfigError(f"{run} has no export for CTranslate2: dragoman export {run} --to ctranslate2 makes one.")


@dataclass(frozen=True)
class Chosen:
    """An engine in place of torch, always or where it is proved to answer alike."""

    engine: CTranslate2
    facts: dict[str, Any]
    always: bool

    def takes(self, asked: Asked, rows: Sequence[Row], rules: Rules, longest: int) -> bool:
        """Whether it searches for answers of at most so many symbols; where it must and cannot, it says why."""
        missing = beyond_it(asked, rows, rules)
        if self.always and missing:
            raise ConfigError(
                f"CTranslate2 has not all of this search: {'; '.join(missing)}. Ask for what it has (--beam 1, or "
                "--beam 5 search.normalisation=average), or have torch answer from the run itself."
            )
        if self.always:
            return True
        lacks = self.engine.lacks(max((len(row.tokens) for row in rows), default=0) + 1, longest)
        return not (missing or lacks or self.unproved(asked))

    def unproved(self, asked: Asked) -> str:
        """Why equal answers are not proved, or not worth it; empty: they are."""
        if not isinstance(asked.search, Greedy):
            return "a beam of CTranslate2 stops by another rule"
        if self.facts.get("quantize") != "none":
            return "weights of one byte give other answers now and then"
        if self.facts.get("equal_texts") != self.facts.get("lines"):
            return "not all held-out texts were equal"
        faster = self.facts.get("faster")
        return "" if isinstance(faster, float) and faster > 1 else "torch was faster where it was exported"

    def sentence(self, asked: Asked, rules: Rules = NO_RULES, more: bool = False) -> str:
        """Who answers, and why; `more` is asked for than a search alone."""
        if self.always:
            return "CTranslate2 answers."
        if why := self.unproved(asked) or ("more is asked for than CTranslate2 has" * (more or rules != NO_RULES)):
            return f"torch answers: {why}."
        return f"CTranslate2 answers: greedy, and all {self.facts['lines']} held-out texts were those of torch."


def beyond_it(asked: Asked, rows: Sequence[Row], rules: Rules) -> list[str]:
    """What is asked for that the engine does not have, in the words of settings and options."""
    missing = [] if isinstance(asked.search, Greedy) else list(beyond(asked.search))
    if rules != NO_RULES:
        missing.append("rules")
    if any(row.constraints for row in rows):
        missing.append("words and phrases that are asked for or barred, a prefix")
    if asked.tracer is not None:
        missing.append("a trace")
    return missing


def engine_of(run: Path, folder: Path, name: Name, source: Tokenizer, target: Tokenizer) -> Chosen:
    """The engine by its name, which is not torch, from an export that was named itself or lies in the run."""
    exported = folder if is_export(folder) else export_of(run, folder)
    engine, facts = CTranslate2(exported, source, target), unchanged(exported)
    engine.positions = positions_in(exported, facts)
    return Chosen(engine, facts, name == "ctranslate2")


def positions_in(exported: Path, facts: dict[str, Any]) -> tuple[int | None, int | None]:
    """How many positions the tables of both sides have."""
    match facts.get("positions"):
        case [int() | None as source, int() | None as target]:
            return source, target
    raise StorageError(f"{exported / RECORD} does not say how many positions there are. Export the run again.")


def unchanged(exported: Path) -> dict[str, Any]:
    """What was proved of an export, whose files are still those of which it was proved."""
    facts = read_record(exported / RECORD)
    for name, wanted in as_table(exported, facts, "files").items():
        if name in FILES and hash_file(exported / name) != wanted:
            raise StorageError(f"{exported / name} is damaged: it has changed since it was exported. Export it again.")
    return facts


def as_table(exported: Path, facts: dict[str, Any], name: str) -> dict[str, Any]:
    found = facts.get(name)
    if not isinstance(found, dict):
        raise StorageError(f"{exported / RECORD} is no record of an export for CTranslate2: it has no {name}.")
    return found
