"""Randomness as a function: every random choice is keyed by what it is for, never by what came before it."""

import hashlib


def key(*parts: int | str) -> int:
    """A 63-bit seed for a purpose, e.g. key(seed, "dropout", step, micro_batch); equal on every machine."""
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
