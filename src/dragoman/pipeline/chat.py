"""A conversation with a model: what was said, taken back and said anew."""

from dataclasses import replace
from typing import TYPE_CHECKING

from dragoman.contracts import Answer
from dragoman.data.readers.pair import UNREADABLE
from dragoman.data.tokenizers.conversation import MOST_TURNS, as_text
from dragoman.errors import ConfigError
from dragoman.search import Sampling
from dragoman.seeds import key
from dragoman.served import require_source

if TYPE_CHECKING:
    from dragoman.pipeline.pipeline import Pipeline

SEEDS = 2**62
READ = {"image": "pictures", "track": "tracks", "frames": "frames", "text": "texts"}


class Chat:
    """Turns, the user's and the model's in their order. A model that reads conversations sees as many of them as it was
    taught to; one that answers texts sees the last; a language model goes on behind all of them, a line each."""

    def __init__(self, pipeline: "Pipeline") -> None:
        if pipeline.labels is not None or pipeline.fills:
            require_source(pipeline.settings.model.kind, "A conversation")
        if pipeline.spec()["source"] != "text":
            raise ConfigError(f"One talks in texts, and this model reads {READ[pipeline.spec()['source']]}.")
        self.pipeline = pipeline
        self.turns: list[str] = []
        self.tries: dict[int, int] = {}  # answers that were not wanted, by how many turns there were with them

    def say(self, text: str) -> Answer:
        """What the model answers."""
        said = in_a_line(text).strip()
        if not said:
            raise ConfigError("There is nothing to answer: say something.")
        answer = self.answered([*self.turns, said])
        self.turns += [said, answer.text]
        return answer

    def retry(self) -> Answer:
        """Another answer to what was said last."""
        if not self.turns:
            raise ConfigError("Nothing was said yet, so there is nothing to try again.")
        tries = self.tries.get(len(self.turns), 0) + 1
        answer = self.answered(self.turns[:-1], tries)
        self.turns[-1], self.tries[len(self.turns)] = answer.text, tries
        return answer

    def undo(self) -> None:
        """As if the last turn of the user had never been said."""
        if not self.turns:
            raise ConfigError("Nothing was said yet, so there is nothing to take back.")
        self.tries.pop(len(self.turns), None)
        del self.turns[-2:]

    def new(self) -> None:
        self.turns, self.tries = [], {}

    def set(self, *changes: str) -> None:
        """Other settings of how it answers: "search.temperature=0.5"."""
        self.pipeline = self.pipeline.changed(changes)

    @property
    def draws(self) -> bool:
        """Whether another try may give another answer."""
        return isinstance(self.pipeline.settings.search, Sampling)

    @property
    def first_read(self) -> int:
        """The place of the first turn that is still read when something is said next, be it one symbol."""
        how = self.pipeline.settings.conversation
        if not self.pipeline.talks:
            return 0 if self.pipeline.alone else len(self.turns)
        first, room, more = len(self.turns), how.length - 1, how.turns - 1
        for row in reversed(self.pipeline.source.encoder(self.turns)):
            kept = min(len(row), how.turn_length)
            if kept and (not more or kept + 1 > room):
                break
            first, room, more = first - 1, room - kept - bool(kept), more - bool(kept)
        return first

    def answered(self, turns: list[str], tries: int = 0) -> Answer:
        """Every answer is drawn by a seed of its own, so that the same words said again are answered anew."""
        pipeline, search = self.pipeline, self.pipeline.settings.search
        if isinstance(search, Sampling):
            search = search.changed(seed=key(search.seed, "chat", len(turns), tries) % SEEDS)
        [answer] = pipeline.stream([self.read(turns)], search=search)
        answer = answer if not pipeline.alone else first_line(answer, self.read(turns))
        return replace(answer, predictions=(replace(answer.best, text=in_a_line(answer.text)),))

    def read(self, turns: list[str]) -> str:
        """What the model is given."""
        if self.pipeline.talks:
            return as_text(turns[-MOST_TURNS:])
        return "".join(f"{turn}\n" for turn in self.within(turns)) if self.pipeline.alone else turns[-1]

    def within(self, turns: list[str]) -> list[str]:
        """The last turns that a language model has positions for, with an answer behind them."""
        room = self.pipeline.positions
        if room is None:
            return turns[-MOST_TURNS:]
        lengths = [len(row) + 1 for row in self.pipeline.target.encode(turns)]
        left = room - 1 - min(self.pipeline.settings.limits.answer, room // 2)
        first = len(turns) - 1
        while first and sum(lengths[first - 1 :]) <= left:
            first -= 1
        return turns[first:]


def in_a_line(text: str) -> str:
    """A turn that is written to a file can be read again: without line ends and control characters."""
    return UNREADABLE.sub(" ", " ".join(text.splitlines()))


def first_line(answer: Answer, prompt: str) -> Answer:
    """What a language model wrote behind its prompt, up to the end of the line."""
    behind = answer.text[len(prompt) :] if answer.text.startswith(prompt) else answer.text.removeprefix(prompt.rstrip())
    text = behind.strip().partition("\n")[0].strip()
    return replace(answer, predictions=(replace(answer.best, text=text),))
