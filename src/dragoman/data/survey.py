"""What is in the data, before anything is learned from it: exact counts, each with the first places."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dragoman.data.chunk import Chunk, Numbers
from dragoman.data.encoding import Encoding
from dragoman.data.filters import SHORTEST_JUDGED
from dragoman.data.hashes import Hashes, repeats, several_targets, shared_pairs, shared_sources
from dragoman.data.lengths import Lengths
from dragoman.data.readers.lines import PLACES, place_of
from dragoman.data.readers.pairs import Conversations, Pair, Pairs, Problems, SplitName, blocks, read_split
from dragoman.data.tokenizers import UNKNOWN, Tokenizer
from dragoman.data.tokenizers.conversation import MOST_TURNS, SEPARATOR

SIDES = ("source", "target")
ODD_RATIO = 9.0  # of the longer side to the shorter, in characters
FILTERS = ("short", "long", "ratio", "identical", "duplicate")

SHOWN_FORMATS = 4

Summary = dict[str, Any]


class Tally:
    """How many lines were found, and the first of them."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[int] = []

    def add(self, lines: Numbers) -> None:
        self.count += len(lines)
        if len(lines):
            smallest = (
                np.sort(lines)[:PLACES] if len(lines) <= PLACES else np.sort(np.partition(lines, PLACES)[:PLACES])
            )
            self.first = sorted([*self.first, *smallest.tolist()])[:PLACES]


class Turns:
    """How many turns conversations have: as long as a history grows, it is of the same one."""

    def __init__(self) -> None:
        self.lengths, self.before, self.turns = Lengths(), 0, 0

    def see(self, histories: Sequence[str]) -> None:
        for history in histories:
            read = history.count(SEPARATOR) + 1
            if read <= self.before < MOST_TURNS or read < self.before:
                self.end()
            self.before, self.turns = read, self.turns + 1

    def end(self) -> None:
        if self.turns:
            self.lengths.add(np.array([self.turns + 1]))  # the first is answered, and is no answer itself
        self.before, self.turns = 0, 0

    def summary(self) -> Summary:
        self.end()
        return {"conversations": int(self.lengths.counts.sum()), "turns": self.lengths.as_json()}


class SplitSurvey:
    """One split, looked at block by block while it is read for whatever purpose."""

    def __init__(self, data: Pairs, problems: Problems) -> None:
        self.limits, self.problems = data, problems
        self.pairs = 0
        self.hashes = Hashes()
        self.characters = {side: Lengths() for side in SIDES}
        self.tokens = {side: Lengths() for side in SIDES}
        self.symbols: dict[str, set[str]] = {side: set() for side in SIDES}
        self.known = dict.fromkeys(SIDES, 0)
        self.all_tokens = dict.fromkeys(SIDES, 0)
        self.identical, self.odd, self.long = Tally(), Tally(), Tally()
        self.turns = Turns() if isinstance(data, Conversations) else None

    def see(self, block: Sequence[Pair]) -> None:
        """Pairs as they were read."""
        self.pairs += len(block)
        rows = self.hashes.add(block)
        texts = {"source": [pair.source for pair in block], "target": [pair.target for pair in block]}
        lengths = {side: np.fromiter(map(len, texts[side]), np.int64, len(block)) for side in SIDES}
        for side in SIDES:
            self.characters[side].add(lengths[side])
            self.symbols[side].update(*texts[side])
        longer = np.maximum(lengths["source"], lengths["target"])
        shorter = np.minimum(lengths["source"], lengths["target"])
        if not isinstance(self.limits, Conversations):  # whose sources are all that was said before
            self.odd.add(rows[:, 2][(longer >= SHORTEST_JUDGED) & (longer > ODD_RATIO * shorter)])
        self.identical.add(rows[:, 2][rows[:, 0] == rows[:, 1]])
        if self.turns is not None:
            self.turns.see(texts["source"])

    def see_tokens(self, examples: Chunk) -> None:
        """Examples before they are dropped or cut for their length."""
        lengths = {"source": examples.source_lengths, "target": examples.target_lengths}
        limits = {"source": self.limits.max_source_length, "target": self.limits.max_target_length}
        for side, ids in (("source", examples.source), ("target", examples.target)):
            self.tokens[side].add(lengths[side])
            self.all_tokens[side] += len(ids)
            self.known[side] += int(np.count_nonzero(ids != UNKNOWN))
        over = [lengths[side] > limits[side] for side in SIDES]
        self.long.add(examples.lines[over[0] | over[1]])

    def summary(self, train: "SplitSurvey | None") -> Summary:
        """The findings and lengths of the split; what it shares with the training data if that is given."""
        return {
            "lines": self.problems.lines,
            "pairs": self.pairs,
            "findings": [*self.bad_lines(), *self.found(train)],
            "lengths": {
                side: {"characters": self.characters[side].as_json(), "tokens": self.tokens[side].as_json()}
                for side in SIDES
            },
            "distinct_characters": {side: len(self.symbols[side]) for side in SIDES},
            "coverage": self.coverage(),
            "filtered": {name: self.problems.filtered[name] for name in FILTERS},
            **({} if self.turns is None else self.turns.summary()),
        }

    def coverage(self) -> dict[str, float] | None:
        """The share of tokens that the vocabulary knows."""
        if not all(self.all_tokens.values()):
            return None
        return {side: self.known[side] / self.all_tokens[side] for side in SIDES}

    def bad_lines(self) -> Iterator[Summary]:
        for reason, count in self.problems.reasons.most_common():
            yield finding(reason, count, self.problems.lines, self.problems.places[reason])

    def found(self, train: "SplitSurvey | None") -> Iterator[Summary]:
        tallies = {
            **self.repeated(train),
            f"odd length ratio (over {ODD_RATIO:g})": self.odd,
            "identical sides": self.identical,
            "longer than the limits in tokens": self.long,
        }
        for name, tally in tallies.items():
            if tally.count:
                places = [place_of(self.problems.files, line) for line in tally.first]
                yield finding(name, tally.count, self.pairs, places)

    def repeated(self, train: "SplitSurvey | None") -> dict[str, Tally]:
        names = ("pairs also in training", "sources also in training", "duplicate pairs", "same source, other target")
        tallies = {name: Tally() for name in names}
        others: Iterator[Any] = iter(()) if train is None else train.hashes.buckets()
        for rows in self.hashes.buckets():
            learned = next(others, rows[:0])
            for name, find in ((names[0], shared_pairs), (names[1], shared_sources)):
                tallies[name].add(find(rows, learned))
            tallies[names[2]].add(repeats(rows))
            tallies[names[3]].add(several_targets(rows))
        return tallies


def finding(name: str, count: int, of: int, places: Sequence[str]) -> Summary:
    return {"name": name, "count": count, "share": count / max(1, of), "places": list(places)}


def summaries(surveys: Mapping[SplitName, SplitSurvey]) -> dict[str, Summary]:
    """Each split on its own, validation and test beside what they share with training."""
    train = surveys.get("train")
    return {name: survey.summary(None if survey is train else train) for name, survey in surveys.items()}


def survey_split(
    data: Pairs, name: SplitName, tokenizers: Mapping[str, Tokenizer] | None, progress: Callable[[int], None]
) -> SplitSurvey:
    """Read a split for its survey alone."""
    problems = Problems()
    survey = SplitSurvey(data, problems)
    encoding = None
    if tokenizers is not None:
        encoding = Encoding(tokenizers["source"], tokenizers["target"], data, survey.see_tokens)
    for block in blocks(read_split(data, name, problems, survey.see)):
        if encoding is not None:
            encoding.encode(block)
        progress(survey.pairs)
    return survey


def doubt(finding: Mapping[str, Any]) -> str:
    """Nearly all sources are another's too: they are numbers or labels."""
    doubtful = finding["name"] == "same source, other target" and finding["share"] > 0.9
    return ". Are the sources in the right column (data.source_field)?" if doubtful else ""


def short_lines(summary: Mapping[str, Summary], formats: Sequence[str]) -> tuple[str, ...]:
    """The survey in a few lines: the formats, and what was found where; one line if that is nothing."""
    found = [
        f"{name}: {item['count']:,} × {item['name']} ({item['share']:.2%}), first at {item['places'][0]}{doubt(item)}"
        for name, split in summary.items()
        for item in split["findings"]
    ]
    filtered = [
        f"{name}: {count:,} left out by data.filters ({reason})"
        for name, split in summary.items()
        for reason, count in split["filtered"].items()
        if count
    ]
    shown = list(formats[:SHOWN_FORMATS])
    if len(formats) > SHOWN_FORMATS:
        shown.append(f"{len(formats) - SHOWN_FORMATS:,} more files")
    return (f"{'; '.join(shown)}{'' if found else '. Nothing odd in it.'}", *filtered, *found)
