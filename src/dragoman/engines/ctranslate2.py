"""CTranslate2: a Transformer and its search in one library of C++."""

import math
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dragoman.contracts import Hypothesis
from dragoman.data.tokenizers import END, PADDING, START, Tokenizer
from dragoman.devices import end_waiting_threads
from dragoman.engines.model_bin import check_weights
from dragoman.engines.tuning import Setting, Tuned, kept_or_measured
from dragoman.errors import ConfigError, DataError, StorageError
from dragoman.search import AnySearch, Beam, Greedy
from dragoman.storage import read_json

WEIGHTS = "model.bin"
# What the folder holds that the engine reads; a name beside these, or a link, is a stranger's.
FILES = (WEIGHTS, "config.json", "shared_vocabulary.json", "source_vocabulary.json", "target_vocabulary.json")
LARGEST = {WEIGHTS: 100e9, "config.json": 1e6}  # bytes
LARGEST_VOCABULARY = 500e6
FORBIDDEN = frozenset({PADDING, START})  # symbols that no answer has


def needed() -> None:
    """A sentence where the package is missing."""
    if find_spec("ctranslate2") is None:
        raise ConfigError("The engine CTranslate2 is not installed: pip install 'dragoman[fast]'.")


class CTranslate2:
    """Greedy search and beams over an exported folder; numbers of symbols in, hypotheses out."""

    def __init__(self, folder: Path, source: Tokenizer, target: Tokenizer) -> None:
        needed()
        self.positions: tuple[int | None, int | None] = (None, None)  # of the tables of both sides, if there are any
        refuse_strange(folder)
        check_weights(folder / WEIGHTS)
        self.folder = folder
        self.tell: Callable[[str], None] = lambda sentence: None  # what was measured, if somebody listens
        self.tuned: Tuned | None = None
        self.source, self.target = source.learned.vocabulary, target.learned.vocabulary
        refuse_other_symbols(folder, self.source, self.target)
        self.numbers = {symbol: number for number, symbol in enumerate(self.target)}
        # Barred only where they occur: the engine takes the probability of what is barred from nobody's share.
        self.forbidden = [[self.target[number]] for number in sorted(FORBIDDEN)]
        self.translators: dict[tuple[str, int], Any] = {}

    def find(
        self,
        sources: Sequence[Sequence[int]],
        search: AnySearch,
        n_best: int,
        longest: Sequence[int],
        shortest: Sequence[int],
        scores: bool = True,
    ) -> list[list[Hypothesis]]:
        """Answers to sources of like length; limits are in symbols, END counted. Greedy ones without scores need no
        logarithms of all symbols: batches of 64 take 0.95 of the time (two cores, 8,000 symbols)."""
        self.refuse_beyond(max(map(len, sources), default=0) + 1, max(longest, default=0))
        options = options_of(search, n_best, scores)
        words = [[self.source[number] for number in row] for row in sources]
        found: list[list[Hypothesis]] = [[] for _ in words]
        setting = self.setting_for(words)
        waiting = [(list(range(len(words))), max(longest), min(shortest), False)]
        while waiting:
            places, most, least, barred = waiting.pop()
            results = self.translator(setting).translate_batch(
                [words[place] for place in places],
                max_batch_size=setting.size,
                max_decoding_length=most,
                min_decoding_length=least - 1,
                suppress_sequences=self.forbidden if barred else None,
                **options,
            )
            for place, result in zip(places, results, strict=True):
                found[place] = self.hypotheses(result, search)
                own = (longest[place], shortest[place])
                strange = not barred and any(FORBIDDEN.intersection(one.tokens) for one in found[place])
                if strange or (own != (most, least) and not fits(found[place], *own)):
                    waiting.append(([place], *own, strange))  # alone: the limits of its neighbours are not its own
        return found

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """The log-probability of every symbol of each target, END counted."""
        self.refuse_beyond(*(max(map(len, side), default=0) + 1 for side in (sources, targets)))
        words = [[self.source[number] for number in row] for row in sources]
        wanted = [[self.target[number] for number in row] for row in targets]
        setting = self.setting_for(words)
        results = self.translator(setting).score_batch(words, wanted, max_batch_size=setting.size, max_input_length=0)
        return [list(result.log_probs) for result in results]

    def hypotheses(self, result: Any, search: AnySearch) -> list[Hypothesis]:
        """In numbers, best first."""
        found = []
        scores = result.scores or [math.nan] * len(result.hypotheses)
        for symbols, score in zip(result.hypotheses, scores, strict=True):
            tokens = [self.numbers[symbol] for symbol in symbols]
            finished = bool(tokens) and tokens[-1] == END
            length = max(1, len(tokens))
            total = score * length ** power_of(search)
            answer = tuple(tokens[:-1] if finished else tokens)
            found.append(Hypothesis(answer, total, rank_of(search, total, length), finished))
        return found

    def lacks(self, source: int, target: int) -> list[str]:
        """Positions that are wanted and not there, in words."""
        wanted = zip(("source", "target"), (source, target), self.positions, strict=True)
        return [
            f"{number:,} positions of the {side} (its table has {length:,})"
            for side, number, length in wanted
            if length is not None and number > length
        ]

    def refuse_beyond(self, source: int, target: int) -> None:
        if missing := self.lacks(source, target):
            raise DataError(
                f"{self.folder} was exported with limits that leave no room for {' and '.join(missing)}. Raise "
                "limits.source or limits.answer in the run and export it again, or choose --engine torch."
            )

    def setting_for(self, words: Sequence[Sequence[str]]) -> Setting:
        """What was fastest on this machine for one sentence, or for many."""
        if self.tuned is None:
            self.tuned = kept_or_measured(self.folder, words, self.positions[1], self.tell)
        return self.tuned.alone if len(words) == 1 else self.tuned.many

    def translator(self, setting: Setting) -> Any:
        """One with several threads alone, since those of another would not wait awake: see `end_waiting_threads`."""
        key = (setting.compute, setting.threads)
        if key not in self.translators:
            self.translators = {other: it for other, it in self.translators.items() if 1 in (other[1], key[1])}
            self.translators[key] = opened(self.folder, *key)
        end_waiting_threads()
        return self.translators[key]


def opened(folder: Path, compute: str, threads: int) -> Any:
    import ctranslate2

    try:
        found = ctranslate2.Translator(str(folder), device="cpu", compute_type=compute, intra_threads=threads)
    except (RuntimeError, ValueError) as error:
        raise StorageError(f"CTranslate2 cannot read {folder}: {error}. Export the run again.") from error
    end_waiting_threads()  # reading the weights leaves some, too
    return found


def refuse_strange(folder: Path) -> None:
    """Links lead elsewhere, and what is larger than any model fills the memory."""
    for name in FILES:
        path = folder / name
        if path.is_symlink():
            raise StorageError(f"{path} is a symbolic link; a model's files lie in its folder. Copy the folder again.")
        if path.exists() and (not path.is_file() or path.stat().st_size > LARGEST.get(name, LARGEST_VOCABULARY)):
            raise StorageError(f"{path} is no file of a model, or too large for one. Export the run again.")
    if not (folder / WEIGHTS).is_file():
        raise ConfigError(f"{folder} holds no model for CTranslate2: dragoman export RUN --to ctranslate2 makes one.")


def refuse_other_symbols(folder: Path, source: Sequence[str], target: Sequence[str]) -> None:
    """The engine and the tokenizers must mean the same by a symbol."""
    for side, wanted in (("source", source), ("target", target)):
        files = [folder / f"{name}_vocabulary.json" for name in (side, "shared")]
        found = next((read_json(file, int(LARGEST_VOCABULARY)) for file in files if file.is_file()), None)
        if found != list(wanted):
            raise StorageError(
                f"{folder}: {side}.json and the vocabulary of CTranslate2 do not have the same symbols. Export the run "
                "again, or copy the whole folder again."
            )


def options_of(search: AnySearch, n_best: int, scores: bool = True) -> dict[str, Any]:
    """A search in the words of the engine; what it does not have is refused."""
    found = {"return_scores": scores, "return_end_token": True, "num_hypotheses": n_best, "max_input_length": 0}
    if isinstance(search, Greedy):
        return found | {"beam_size": 1, "length_penalty": 0.0}
    if why := "; ".join(beyond(search)):
        raise ConfigError(f"CTranslate2 has no such search: {why}. Choose --engine torch, or another search.")
    return found | {"beam_size": getattr(search, "width", 1), "length_penalty": power_of(search)}


def beyond(search: AnySearch) -> Iterator[str]:
    """What the engine cannot do."""
    if not isinstance(search, Beam):
        yield f"search.kind = {search.kind} (it has greedy and beam)"
        return
    if search.normalisation == "gnmt":
        yield "search.normalisation = gnmt (it has none, average and power)"
    for name, off in (("coverage", 0), ("groups", 1), ("finished", None)):
        if getattr(search, name) != off:
            yield f"search.{name} = {getattr(search, name)}"


def power_of(search: AnySearch) -> float:
    """The power of the length that a log-probability is divided by."""
    if not isinstance(search, Beam):
        return 0.0
    return {"none": 0.0, "average": 1.0, "power": search.alpha}[search.normalisation]


def rank_of(search: AnySearch, total: float, length: int) -> float:
    """As torch's search ranks: a greedy answer by its mean."""
    return float(total / length ** (power_of(search) if isinstance(search, Beam) else 1.0))


def fits(found: Sequence[Hypothesis], longest: int, shortest: int) -> bool:
    """Whether a search with these limits could have given these hypotheses."""
    lengths = [len(one.tokens) + one.finished for one in found]
    return all(shortest <= length <= longest for length in lengths) and not any(
        not one.finished and len(one.tokens) < longest for one in found
    )
