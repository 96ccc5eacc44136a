"""Which files a corpus has, how each is laid out, and whether they changed."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from dragoman.data.readers.conversations import ConversationLayout, conversation_layout
from dragoman.data.readers.formats import AUTO, Layout, Wanted, sniff
from dragoman.data.readers.lines import opened
from dragoman.errors import ConfigError, DataError

Corpus = str | tuple[str, str]  # a table, or a source and a target of parallel text; each a file or a pattern


Files = str | Path | Sequence[str | Path] | None


def paired(tables: Files, source: Files = None, target: Files = None) -> tuple[Corpus, ...]:
    """Tables as they are named, and the n-th source with the n-th target."""
    names, sources, targets = map(names_of, (tables, source, target))
    if len(sources) != len(targets):
        raise ConfigError(
            f"--source and --target belong together: give one --target for every --source (there are {len(sources)} "
            f"and {len(targets)})."
        )
    return (*names, *zip(sources, targets, strict=True))


def names_of(files: Files) -> tuple[str, ...]:
    if files is None:
        return ()
    return (str(files),) if isinstance(files, str | Path) else tuple(map(str, files))


@dataclass(frozen=True)
class Part:
    """Files that are read together: one table, or a source file and its target file."""

    files: tuple[str, ...]
    layout: Layout | ConversationLayout
    corpus: int  # which of the corpora it belongs to, from 0

    def __str__(self) -> str:
        return f"{' and '.join(self.files)}: {self.layout}{', in parallel' if len(self.files) == 2 else ''}"


def parts_of(corpora: Sequence[Corpus], wanted: Wanted = AUTO) -> list[Part]:
    """The files of corpora with their layouts; two names of plain text are a source and its target."""
    parts: list[Part] = []
    plain: list[tuple[str, list[str]]] = []
    for number, corpus in enumerate(corpora):
        if not isinstance(corpus, str):
            parts += parallel_parts(expanded(corpus[0]), expanded(corpus[1]), number)
            continue
        layout = conversation_layout if wanted.conversations else sniff
        found = [Part((file,), layout(file, wanted), number) for file in expanded(corpus)]
        texts = [part.files[0] for part in found if part.layout.kind == "text"]
        if texts:
            plain.append((corpus, texts))
        parts += [part for part in found if part.layout.kind != "text"]
    if not plain:
        return parts
    if len(plain) == 2 and not parts:
        return parallel_parts(plain[0][1], plain[1][1], 0)
    raise one_sided(plain, bool(parts))


def one_sided(plain: list[tuple[str, list[str]]], others: bool) -> DataError:
    names = ", ".join(texts[0] for _, texts in plain[:4])
    what = "hold" if len(plain) > 1 else "holds"
    between = " beside tables" if others else ""
    return DataError(
        f"{names} {what} lines of plain text without tabs{between}, so it is not clear what belongs together. Give "
        "parallel text as two files (--source and --target; --on twice), a table as source<TAB>target lines, or set "
        "data.format. For a language model of whole texts name its recipe: dragoman train gpt FILE."
    )


def parallel_parts(sources: list[str], targets: list[str], corpus: int) -> list[Part]:
    if len(sources) != len(targets):
        raise DataError(
            f"{len(sources)} source files and {len(targets)} target files do not belong together: "
            f"{', '.join(sources[:3])} … and {', '.join(targets[:3])} …. Give a target file for every source file."
        )
    return [Part(files, Layout("text"), corpus) for files in zip(sources, targets, strict=True)]


def files_of(patterns: Iterable[object]) -> list[str]:
    """All files that are named, or that fit patterns, in their order."""
    return [file for pattern in patterns for file in expanded(str(pattern))]


def expanded(name: str) -> list[str]:
    """The files of a pattern in the order of their names; a name that is there is no pattern."""
    if os.path.exists(name) or not has_magic(name):
        return [readable_name(name)]
    if found := sorted(path for path in glob(name, recursive=True) if not os.path.isdir(path)):
        return list(map(readable_name, found))
    raise DataError(f"No file matches {name}. Its folder is {Path(name).parent.resolve()}; see what is in it.")


def readable_name(file: str) -> str:
    """The name, if it can be written down: a run notes the names of its files."""
    try:
        file.encode("utf-8")
    except UnicodeEncodeError as error:
        shown = file.encode("utf-8", "backslashreplace").decode()
        raise DataError(f"The name of the file {shown} is not valid UTF-8. Rename the file.") from error
    return file


def files_in(corpora: Sequence[Corpus]) -> tuple[str, ...]:
    """Every file, source before target."""
    sides: Iterator[str] = (side for corpus in corpora for side in ((corpus,) if isinstance(corpus, str) else corpus))
    return tuple(file for side in sides for file in expanded(side))


def fingerprint(files: tuple[str, ...]) -> str:
    """A hash of what the files hold, whatever they are called."""
    contents = hashlib.sha256()
    for file in files:
        with opened(file) as stream:
            contents.update(hashlib.file_digest(stream, "sha256").digest())
    return contents.hexdigest()


def quick_signature(files: tuple[str, ...]) -> list[list[int]]:
    """Size and time of change (nanoseconds) of each file: while they stay, it need not be hashed again."""
    signature = []
    for file in files:
        with opened(file) as stream:
            facts = os.fstat(stream.fileno())
        signature.append([facts.st_size, facts.st_mtime_ns])
    return signature
