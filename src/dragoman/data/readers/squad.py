"""SQuAD JSON: articles of paragraphs, each a document with its questions; one article at a time is in memory."""

import codecs
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from typing import Any

from dragoman.data.readers.compressed import DAMAGES, decompressed
from dragoman.data.readers.lines import opened
from dragoman.errors import DataError

BLOCK = 1 << 16  # bytes read at once
LARGEST = 32_000_000  # characters of an article; a longer one is a broken file, and must not fill the memory
SPACES = re.compile(r"[ \t\r\n]*")
DECODER = json.JSONDecoder()


class Broken(Exception):
    """What stands there is no JSON, or not that of SQuAD."""


class Scanner:
    """JSON value after JSON value from a stream of bytes."""

    def __init__(self, stream: BufferedIOBase) -> None:
        self.stream, self.decoder = stream, codecs.getincrementaldecoder("utf-8-sig")()
        self.text, self.place, self.ended = "", 0, False

    def more(self) -> None:
        """At least twice as much as is waiting, so that a long value is not begun again too often."""
        if len(self.text) - self.place > LARGEST:
            raise Broken(f"an article is longer than {LARGEST:,} characters, or not closed")
        raw = self.stream.read(max(BLOCK, 2 * (len(self.text) - self.place)))
        self.ended = not raw
        self.text, self.place = self.text[self.place :] + self.decoder.decode(raw, self.ended), 0

    def peek(self) -> str:
        """The next character that is no space; nothing at the end."""
        while True:
            self.place += len(SPACES.match(self.text, self.place)[0])  # type: ignore[index]
            if self.place < len(self.text) or self.ended:
                return self.text[self.place : self.place + 1]
            self.more()

    def take(self, wanted: str) -> None:
        if (found := self.peek()) != wanted:
            raise Broken(f"{wanted} is expected where {found or 'the end'} is")
        self.place += 1

    def goes_on(self, end: str) -> bool:
        """Whether another member follows, behind a comma."""
        if self.peek() == ",":
            self.place += 1
            return True
        self.take(end)
        return False

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                found, end = DECODER.raw_decode(self.text, self.place)
            except json.JSONDecodeError as error:
                if self.ended:
                    raise Broken(error.msg) from error
            else:
                if end < len(self.text) or self.ended:  # a number may go on
                    self.place = end
                    return found
            self.more()


@contextmanager
def scanned(file: str) -> Iterator[Scanner]:
    """A plain or compressed file; what is wrong with it is said in a sentence."""
    with opened(file) as stream:
        try:
            yield Scanner(decompressed(stream, file))
        except UnicodeDecodeError as error:
            raise DataError(f"{file} is not valid UTF-8. Convert it, e.g. with iconv -t UTF-8.") from error
        except DAMAGES as error:
            what = "it ends too early" if isinstance(error, EOFError) else "it cannot be read"
            raise DataError(f"{file} is damaged: {what}. Fetch or compress it again.") from error
        except (Broken, RecursionError) as error:
            why = str(error) if isinstance(error, Broken) else "values stand too deep within one another"
            raise DataError(
                f'{file} is no SQuAD JSON, {{"data": [{{"paragraphs": [{{"context": …, "qas": […]}}]}}]}}: '
                f"{why}. Fetch it again, or give JSON lines with question, document, answer and answer_start."
            ) from error


def seek_articles(scanner: Scanner) -> bool:
    """Go to the first article; whether there is a list of them."""
    if scanner.peek() != "{":
        return False
    scanner.take("{")
    while scanner.peek() == '"':
        name = scanner.value()
        scanner.take(":")
        if name == "data" and scanner.peek() == "[":
            scanner.take("[")
            return True
        scanner.value()
        if not scanner.goes_on("}"):
            return False
    return False


def is_squad(file: str) -> bool:
    """Whether a file begins as one object with a list `data`."""
    with opened(file) as stream:
        try:
            return seek_articles(Scanner(decompressed(stream, file)))
        except (Broken, RecursionError, UnicodeDecodeError, *DAMAGES):
            return False


def paragraphs(file: str) -> Iterator[Any]:
    """The paragraphs of all articles, as they are."""
    with scanned(file) as scanner:
        if not seek_articles(scanner):
            raise Broken("it has no list 'data'")
        more = scanner.peek() != "]"
        while more:
            article = scanner.value()
            found = article.get("paragraphs") if isinstance(article, dict) else None
            yield from found if isinstance(found, list) else [None]
            more = scanner.goes_on("]")
