"""What the weights of a model that describes pictures know of its captions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Captioning:
    """What is known of the captions that a model was taught: the tags of answers, and how the files were read."""

    tags: tuple[str, ...]
    reading: Mapping[str, Any]

    def as_json(self) -> str:
        return json.dumps({"tags": self.tags, "reading": self.reading}, ensure_ascii=False, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Captioning":
        try:
            found = json.loads(text)
            return Captioning(tuple(map(str, found["tags"])), dict(found["reading"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            return Captioning((), {})
