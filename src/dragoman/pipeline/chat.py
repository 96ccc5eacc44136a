"""A conversation with a model: what was said, taken back and said anew."""

from typing import TYPE_CHECKING

from dragoman.contracts import Answer
from dragoman.data.tokenizers.conversation import MOST_TURNS, SEPARATOR, as_text
from dragoman.errors import ConfigError
from dragoman.search import Sampling
from dragoman.seeds import key
from dragoman.served import require_source

if TYPE_CHECKING:
    from dragoman.pipeline.pipeline import Pipeline

SEEDS = 2**62


class Chat:
    """Turns, the user's and the model's in their order. A model that reads conversations sees as many of them as it was
    taught to; one that answers texts sees the last; a language model goes on behind all of them, a line each."""

    def __init__(self, pipeline: "Pipeline") -> None:
        if pipeline.labels is not None or pipeline.fills:
            require_source(pipeline.settings.model.kind, "A conversation")
        if pipeline.spec()["source"] != "text":
            raise ConfigError(f"One talks in texts, and this model reads {pipeline.spec()['source']}.")
        self.pipeline = pipeline
        self.turns: list[str] = []
        self.tries = 0  # answers to the last turn that were not wanted

    def say(self, text: str) -> Answer:
        """What the model answers."""
        said = text.replace(SEPARATOR, " ").strip()
        if not said:
            raise ConfigError("There is nothing to answer: say something.")
        self.tries = 0
        answer = self.answered([*self.turns, said])
        self.turns += [said, answer.text]
        return answer

    def retry(self) -> Answer:
        """Another answer to what was said last."""
        if not self.turns:
            raise ConfigError("Nothing was said yet, so there is nothing to try again.")
        self.tries += 1
        answer = self.answered(self.turns[:-1])
        self.turns[-1] = answer.text
        return answer

    def undo(self) -> None:
        """As if the last turn of the user had never been said."""
        if not self.turns:
            raise ConfigError("Nothing was said yet, so there is nothing to take back.")
        del self.turns[-2:]
        self.tries = 0

    def new(self) -> None:
        self.turns, self.tries = [], 0

    def set(self, *changes: str) -> None:
        """Other settings of how it answers: "search.temperature=0.5"."""
        self.pipeline = self.pipeline.changed(changes)

    @property
    def draws(self) -> bool:
        """Whether another try may give another answer."""
        return isinstance(self.pipeline.settings.search, Sampling)

    def answered(self, turns: list[str]) -> Answer:
        """Every answer is drawn by a seed of its own, so that the same words said again are answered anew."""
        pipeline, search = self.pipeline, self.pipeline.settings.search
        if isinstance(search, Sampling):
            search = search.changed(seed=key(search.seed, "chat", len(turns), self.tries) % SEEDS)
        [answer] = pipeline.stream([self.read(turns)], search=search)
        return answer if not pipeline.alone else first_line(answer, self.read(turns))

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


def first_line(answer: Answer, prompt: str) -> Answer:
    """What a language model wrote behind its prompt, up to the end of the line."""
    from dataclasses import replace

    behind = answer.text[len(prompt) :] if answer.text.startswith(prompt) else answer.text.removeprefix(prompt.rstrip())
    text = behind.strip().partition("\n")[0].strip()
    return replace(answer, predictions=(replace(answer.best, text=text),))
