"""Baselines of question answering: the sentence that shares most words with the question, and a part of it."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from dragoman.baselines.clock import timed
from dragoman.baselines.predicted import Baselines, Predicted

SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]*")
WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
MOST_DOCUMENTS = 20_000  # that rarities are counted in
LONGEST = 30  # words of an answer


@dataclass(frozen=True)
class Placed:
    """A word and where it stands."""

    text: str
    start: int
    end: int


def placed(text: str) -> list[Placed]:
    return [Placed(found.group().lower(), found.start(), found.end()) for found in WORD.finditer(text)]


class Overlap:
    """Words shared with a question, weighted by how rare they are."""

    def __init__(self, documents: Iterable[str], answers: Iterable[str]) -> None:
        known = list(dict.fromkeys(documents))[:MOST_DOCUMENTS]
        counts = Counter(word for text in timed(known) for word in {one.text for one in placed(text)})
        self.rarity = {word: math.log((1 + len(known)) / (1 + count)) for word, count in counts.items()}
        self.new = math.log(1 + len(known))
        self.length = min(LONGEST, max(1, round(median([len(placed(text)) for text in timed(answers)] or [3]))))

    def weight(self, word: str) -> float:
        return self.rarity.get(word, self.new)

    def sentence(self, question: str, document: str) -> str:
        """The sentence of a document with the heaviest shared words."""
        asked = {one.text for one in placed(question)}
        sentences = [found.group().strip() for found in SENTENCE.finditer(document)]
        scores = [sum(map(self.weight, asked & {one.text for one in placed(text)})) for text in sentences]
        return sentences[scores.index(max(scores))] if sentences else document

    def window(self, question: str, document: str) -> str:
        """As many words of that sentence as half of the training answers have at most, new to the question, beside
        words of the question."""
        asked, sentence = {one.text for one in placed(question)}, self.sentence(question, document)
        words = placed(sentence)
        best, found = -math.inf, sentence
        for start in timed(range(len(words))):
            for end in range(start + 1, min(len(words), start + self.length) + 1):
                some = words[start:end]
                if any(one.text in asked for one in some):
                    break
                around = words[max(0, start - 3) : start] + words[end : end + 3]
                score = sum(self.weight(one.text) for one in around if one.text in asked)
                score += sum(self.weight(one.text) for one in some)
                if score > best:
                    best, found = score, sentence[some[0].start : some[-1].end]
        return found


def span_baselines(train: Sequence[tuple[str, str, str]], test: Sequence[tuple[str, str]]) -> Baselines:
    """Of (question, document, answer) and (question, document)."""
    overlap = Overlap((document for _, document, _ in train), (answer for _, _, answer in train if answer))
    sentences = [overlap.sentence(*one) for one in timed(test)]
    yield Predicted("sentence", "sentence with the largest word overlap", sentences)
    yield Predicted("window", "short span of that sentence", [overlap.window(*one) for one in timed(test)])
