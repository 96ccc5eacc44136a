"""Which files are learned from and validated on, where they hold no pairs."""

from typing import Annotated, Any

from pydantic import Field, field_validator

from dragoman.config import Config, practical
from dragoman.data.readers.corpora import files_of
from dragoman.data.readers.pairs import SplitName, split_of


class Files(Config):
    """Files of each split."""

    train: tuple[str, ...] = practical(())
    """files or patterns (train-*.gz) to learn from"""
    valid: tuple[str, ...] = practical(())
    """the same to validate on"""
    max_bad: Annotated[float, Field(ge=0, le=1)] = practical(0.01)
    """share of bad lines (of questions: of bad questions) above which training refuses to start"""

    @field_validator("train", "valid", mode="before")
    @classmethod
    def _files(cls, given: Any) -> Any:
        """A file, or several."""
        names = (given,) if isinstance(given, str) else given
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name for name in names):
            raise ValueError(
                f'must be files, e.g. ["one.txt", "more-*.gz"], not {given!r}; a source and a target file are '
                "for data.kind = 'pairs'"
            )
        return names

    @property
    def holds_out(self) -> bool:
        """Whether a part of the training data is validated on."""
        return False

    def has(self, name: SplitName) -> bool:
        return bool(getattr(self, name, ())) or (name == "valid" and self.holds_out)

    def files(self, name: SplitName) -> tuple[str, ...]:
        """All files that a split is read from; what is held out comes from the training files."""
        names = self.train if name == "valid" and self.holds_out else getattr(self, name, ())
        return tuple(files_of(names))


class FilesWithAnswers(Files):
    """Files of examples that are told what is true of them, of which a part may be held out."""

    hold_out: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """share of the training examples to validate on instead, where valid is empty; equal texts stay together, as do the
    questions of a document"""
    hold_out_test: Annotated[float, Field(ge=0, le=0.4)] = 0.0
    """share of the training examples that are neither learned from nor validated on, as `dragoman compare` sets it for
    its test"""

    @property
    def holds_out(self) -> bool:
        return self.hold_out > 0 and not self.valid

    @property
    def holds_out_test(self) -> bool:
        return self.hold_out_test > 0

    def keeps(self, key: str, name: SplitName) -> bool:
        """Whether an example of a split's files belongs to the split; what is held out depends on `key` alone."""
        if (name == "valid" and self.valid) or not (self.holds_out or self.holds_out_test):
            return True
        return split_of(key, self.hold_out if self.holds_out else 0.0, self.hold_out_test) == name
