"""What is asked of a comparison."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.config import Document, Table, dotted, merge, nest, parse_overrides
from dragoman.data.readers.pairs import Corpus
from dragoman.recipes import refuse_other_encodings

LINES = 10_000  # test sources that are answered at most


@dataclass(frozen=True)
class Request:
    """What is to be compared, on what, and how long each may train."""

    out: Path
    recipes: tuple[str, ...] = ()
    train: tuple[Corpus, ...] = ()
    valid: tuple[Corpus, ...] = ()
    test: tuple[Corpus, ...] = ()
    scale: str | None = None
    overrides: tuple[str, ...] = ()  # key=value, for all
    settings: Mapping[str, Any] = field(default_factory=dict)  # the same as values
    as_is: bool = False
    lines: int = LINES
    fresh: bool = False

    def given(self) -> tuple[Table, Document]:
        """Files and settings that were given, and where the latter stand."""
        splits = {"train": self.train, "valid": self.valid, "test": self.test}
        files = {
            name: [one if isinstance(one, str) else list(one) for one in corpora]
            for name, corpora in splits.items()
            if corpora
        }
        refuse_other_encodings(files, None)
        own = parse_overrides(list(self.overrides))
        named = nest({dotted(name): value for name, value in self.settings.items() if value is not None})
        return merge({"data": files} if files else {}, named, own.table), own
