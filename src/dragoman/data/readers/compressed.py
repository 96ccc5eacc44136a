"""Compressed files, read as a stream: what is in memory is bounded, however much a file holds."""

import gzip
import zlib
from io import BufferedIOBase, BufferedReader, RawIOBase
from typing import Any

from dragoman.errors import DataError

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
FED = 256  # compressed bytes at a time: a block of zstd may grow to 32,000 times its size


class Damaged(Exception):
    """A compressed file that holds what its format does not know."""


DAMAGES = (Damaged, EOFError, OSError, zlib.error)


def decompressed(stream: BufferedReader, file: str) -> BufferedIOBase:
    """The content of a plain, gzip or zstd file; its first bytes decide, not its name."""
    start = stream.peek(len(ZSTD))[: len(ZSTD)]
    if start.startswith(GZIP):
        return gzip.GzipFile(fileobj=stream)
    if start == ZSTD:
        return BufferedReader(Zstd(stream, file))
    return stream


class Zstd(RawIOBase):
    """The content of a zstd file, frame after frame; one that ends too early is an error."""

    def __init__(self, stream: BufferedReader, file: str) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise DataError(
                f"{file} is compressed with zstd, which takes a package: pip install 'dragoman[zstd]'."
            ) from error
        self.stream = stream
        self.failure = zstandard.ZstdError
        self.library = zstandard.ZstdDecompressor()
        self.frame = self.library.decompressobj()
        self.begun = False  # whether the frame has got anything
        self.fed = b""
        self.found = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.found:
            self.fed = self.fed or self.stream.read(FED)
            if not self.fed:
                if self.begun:
                    raise EOFError
                return 0
            self.advance()
        count = min(len(buffer), len(self.found))
        buffer[:count] = self.found[:count]
        self.found = self.found[count:]
        return count

    def advance(self) -> None:
        try:
            self.found = memoryview(self.frame.decompress(self.fed))
        except self.failure as error:
            raise Damaged from error
        self.fed, self.begun = self.frame.unused_data, True
        if self.frame.eof:
            self.frame, self.begun = self.library.decompressobj(), False
