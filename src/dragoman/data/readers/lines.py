"""Lines of files from outside: only a line feed ends one, and what is wrong with one is counted and located."""

import json
import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from io import BufferedReader
from pathlib import Path
from typing import Protocol, TextIO, runtime_checkable

from dragoman.data.readers.compressed import DAMAGES, decompressed
from dragoman.errors import DataError

LONGEST_LINE = 1_000_000  # bytes; a longer line is a broken file, and must not fill the memory
KEPT = 1_000  # problems held in memory
SHOWN = 5  # problems in an error message
COUNTED = 10  # reasons in an error message, the most frequent ones
REASONS, OTHERS = 1_000, "other reasons"  # how many are told apart, and what the rest of them is counted as
PLACES = 3  # of each kind of problem that are remembered
# An example's number is its line; where one line gives many, so many times the place in its line more (below 2⁶³).
WITHIN = 2**38
MARK = b"\xef\xbb\xbf"  # byte order mark
# Vertical tab, form feed, lone carriage return and U+0085 occur in real corpora and stay in the text.
CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
PAIR = "a pair", "A pair is source<TAB>target on a line, or the same lines of two files: --source and --target."


@dataclass(frozen=True)
class Problem:
    """A line that cannot be used, and why."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True)
class FileStart:
    """A file of a corpus, and how many lines stand before it in the files that were read before."""

    file: str
    before: int
    corpus: int  # which of the corpora of a split it belongs to, from 0


@dataclass
class Problems:
    """The bad lines of a corpus: all counted, the first thousand kept, every one written to `path` as JSON lines."""

    path: Path | None = None
    lines: int = 0  # read so far, good and bad
    count: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    first: list[Problem] = field(default_factory=list)
    places: dict[str, list[str]] = field(default_factory=dict)  # the first few of each reason
    files: list[FileStart] = field(default_factory=list)  # in the order of reading
    filtered: Counter[str] = field(default_factory=Counter)  # good pairs that a filter left out
    stream: TextIO | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def begin(self, file: str, corpus: int) -> int:
        """A file is read from here on; the lines before it."""
        self.files.append(FileStart(file, self.lines, corpus))
        return self.lines

    def counted(self, lines: "Iterator[Line]") -> "Iterator[Line]":
        for line in lines:
            self.lines += 1
            yield line

    def add(self, file: str, line: int, reason: str, kind: str = "") -> None:
        """What is told with its place; `kind` is what is counted, where a reason has names and numbers of its own."""
        reason = reason.encode("utf-8", "backslashreplace").decode()  # it may quote halves of characters
        kind = kind or reason
        if kind not in self.reasons and len(self.reasons) >= REASONS:
            kind = OTHERS
        self.count += 1
        self.reasons[kind] += 1
        if self.reasons[kind] <= PLACES:
            self.places.setdefault(kind, []).append(f"{file}:{line}")
        if len(self.first) < KEPT:
            self.first.append(Problem(file, line, reason))
        if self.path is not None:
            self.stream = self.stream or self.path.open("a", encoding="utf-8", buffering=1)
            self.stream.write(json.dumps({"file": file, "line": line, "reason": reason}) + "\n")

    def close(self) -> None:
        if self.stream is not None:
            self.stream.close()
            self.stream = None

    def refuse_above(self, share: float, lines_read: int, good: tuple[str, str] = PAIR) -> None:
        """Stop before anything is trained when more than this share of the lines is bad; `good` is what a line should
        be, and how that is written."""
        if self.count <= share * lines_read:
            return
        if self.count == lines_read:
            raise DataError(
                f"None of the {lines_read:,} lines is {good[0]}; nothing was done.\n{self.summary()}\n{good[1]}"
            )
        raise DataError(
            f"{self.count:,} bad lines among {lines_read:,} are more than data.max_bad = {share:g} allows; "
            f"nothing was done.\n{self.summary()}\nMend these lines, or raise data.max_bad to go on without them."
        )

    def summary(self) -> str:
        """Counts by reason, the first few bad lines, and where the full list is."""
        counts = [f"  {count:,} × {reason}" for reason, count in self.reasons.most_common(COUNTED)]
        if (more := len(self.reasons) - COUNTED) > 0:
            counts.append(f"  and {more:,} more reason{'s' if more > 1 else ''}")
        places = [f"  {problem}" for problem in self.first[:SHOWN]]
        full = [f"All of them: {self.path}"] if self.path is not None else []
        return "\n".join([*counts, "The first:", *places, *full])


def place_of(files: Sequence[FileStart], line: int) -> str:
    """The file and line of a number that counts the lines of all files."""
    line %= WITHIN
    at = bisect_left(files, line, key=lambda start: start.before) - 1
    return f"{files[at].file}:{line - files[at].before}" if files else f"line {line}"


@dataclass(frozen=True)
class Line:
    """A line as read: its text, or the reason why it has none."""

    number: int  # 1-based
    text: str
    reason: str = ""


@runtime_checkable
class Stream(Protocol):
    """An open file or standard input, or what stands in for them."""

    def readline(self, size: int, /) -> bytes: ...


@contextmanager
def opened(file: str) -> Iterator[BufferedReader]:
    """A file for reading bytes; what stands in the way is said in a sentence."""
    path = Path(file)
    try:
        stream = path.open("rb")
    except FileNotFoundError as error:
        raise DataError(f"There is no file {file}.{neighbour(path)}") from error
    except IsADirectoryError as error:
        raise DataError(f"{file} is a folder, not a file. Name the text file inside it.") from error
    except (OSError, ValueError) as error:
        raise DataError(f"Cannot read {file}: {getattr(error, 'strerror', None) or error}.") from error
    with stream:
        yield stream


def neighbour(path: Path) -> str:
    """The sentence "Did you mean 'train.tsv'?", from the folder that the missing file should be in."""
    try:
        names = {
            entry.name.partition(".")[0]: entry.name for entry in sorted(path.parent.iterdir())
        }  # endings are alike
        close = get_close_matches(path.name.partition(".")[0], names, n=1)
        return f" Did you mean '{names[close[0]]}'?" if close else ""
    except OSError:
        return f" Its folder {path.parent} does not exist either."


def raw_lines(stream: Stream) -> Iterator[bytes | None]:
    """Lines without their end; None for one that is too long, of which no more than the limit is ever in memory."""
    raw = stream.readline(LONGEST_LINE + 2).removeprefix(MARK)
    while raw:
        line = raw.removesuffix(b"\n").removesuffix(b"\r")
        yield line if len(line) <= LONGEST_LINE else None
        while len(line) > LONGEST_LINE and raw and not raw.endswith(b"\n"):
            raw = stream.readline(LONGEST_LINE)
        raw = stream.readline(LONGEST_LINE + 2)


def checked_lines(file: str, wanted: str = "one pair") -> Iterator[Line]:
    """Every line of a file, good or bad, in order, so that two files stay aligned."""
    number = 0
    for number, raw in numbered_lines(file):
        yield checked(number, raw)
    if number == 0:
        raise DataError(f"{file} is empty. Give a file with at least {wanted}.")


def numbered_lines(file: str) -> Iterator[tuple[int, bytes | None]]:
    """The lines of a plain or compressed file; damage is said with the last line before it."""
    number = 0
    with opened(file) as stream:
        try:
            for number, raw in enumerate(raw_lines(decompressed(stream, file)), start=1):
                yield number, raw
        except DAMAGES as error:
            good = f"its last good line is {number:,}" if number else "not one line can be read"
            raise DataError(
                f"{file} is damaged: {'it ends too early' if isinstance(error, EOFError) else 'it cannot be read'}; "
                f"{good}. Fetch or compress it again."
            ) from error


def checked(number: int, raw: bytes | None) -> Line:
    if raw is None:
        return Line(number, "", f"longer than {LONGEST_LINE:,} bytes")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return Line(number, "", "not valid UTF-8")
    if CONTROL.search(text):
        return Line(number, "", "holds a NUL" if "\0" in text else "holds a control character")
    return Line(number, text)


def read_lines(path: str) -> Iterator[str]:
    """Stream the lines of a text file, or of standard input ('-'), for prediction; empty lines count."""
    if path == "-":
        yield from decoded_lines(enumerate(raw_lines(sys.stdin.buffer), start=1), "standard input")
    else:
        yield from decoded_lines(numbered_lines(path), path)


def decoded_lines(lines: Iterator[tuple[int, bytes | None]], name: str) -> Iterator[str]:
    for number, raw in lines:
        if raw is None:
            raise DataError(f"{name}:{number}: longer than {LONGEST_LINE:,} bytes. Split the line into sentences.")
        try:
            yield raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{name}:{number}: not valid UTF-8. Convert the file, e.g. with iconv -t UTF-8.") from error
