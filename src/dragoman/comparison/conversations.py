"""Comparisons of models that say the next turn of a conversation."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.baselines.predicted import Found
from dragoman.baselines.training_data import Beside
from dragoman.comparison import texts
from dragoman.comparison.kind import Item, Items, Keyed, Words
from dragoman.comparison.texts import LOSS, PAIRS, sign, truths_cell
from dragoman.data.readers.pairs import Conversations, Problems, read_split
from dragoman.data.tokenizers.conversation import turns_of
from dragoman.drawing.conversation import STYLE
from dragoman.drawing.conversation import table as talk_table
from dragoman.errors import ConfigError
from dragoman.experiment import Experiment
from dragoman.inspection.report.page import Content, Html, element, foreign, join
from dragoman.inspection.report.quality import TEXT
from dragoman.pipeline import Pipeline
from dragoman.pipeline.teaching import Scored
from dragoman.pipeline.turns import look_at_turns


@dataclass(frozen=True)
class History:
    """What was said before a turn. Equal ones are one item, which belongs to the first conversation that has it."""

    text: str
    conversation: str  # a digest of its id, or of all its turns

    @property
    def turns(self) -> list[str]:
        return turns_of(self.text)


def read(settings: Experiment, files: Sequence[str], problems: Problems) -> Iterator[Keyed]:
    """Test files are a part of the settings, as those of training are."""
    assert isinstance(settings.data, Conversations)  # noqa: S101
    for pair in read_split(settings.data, "test", problems):
        digest = hashlib.blake2b(pair.together.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        yield pair.source, History(pair.source, digest), pair.target


def as_pairs(items: Items) -> Items:
    return [(history.text, targets) for history, targets in items]


def replies(pipeline: Pipeline, histories: Sequence[History], start: int) -> Iterator[tuple[str, bool]]:
    return texts.replies(pipeline, [history.text for history in histories], start)


def scores(pipeline: Pipeline, items: Items) -> Iterator[Scored]:
    return texts.scores(pipeline, as_pairs(items))


def beside(items: Items, pipeline: Pipeline, run: Beside) -> Found:
    """Replies alone: perplexities of n-grams are of the tokens of one model."""
    found = texts.beside(as_pairs(items), pipeline, run)
    return replace(found, predicted=tuple(one for one in found.predicted if one.name != "ngram"))


def look(pipeline: Pipeline, items: Items) -> list[tuple[str, str]]:
    """An answer, and the conversation as far as it was read, drawn."""
    answers = [answer.text for answer in pipeline.predict([one.text for one, _ in items], alignments=False)]
    return [(text, talk(pipeline, history.turns, text)) for (history, _), text in zip(items, answers, strict=True)]


def talk(pipeline: Pipeline, history: Sequence[str], answer: str) -> str:
    """With the share of all looks of each turn, and words shaded by theirs, if the model looks at anything."""
    try:
        looks = look_at_turns(pipeline, history, answer)
    except ConfigError:
        read_turns = history[-pipeline.settings.conversation.turns :]
        return talk_table([()] * len(read_turns), read_turns, None, None, answer)
    return talk_table(looks.turns, looks.texts, looks.shares(), looks.words(), answer, looks.between)


def history_cell(item: Item) -> Content:
    """The last turns, one below the other."""
    return join([element("div", foreign(turn, TEXT)) for turn in item[0].turns[-3:]])


CONVERSATIONS = replace(
    PAIRS,
    name="conversations",
    config=Conversations,
    learns_from="conversations",
    unit="conversations",
    words=Words(
        item="history",
        unit="conversations",
        tokens="target tokens",
        whys=("a short history", "of median length", "a long history"),
        by="number of turns before",
        axis="turns before the one that is answered, and number of histories",
        by_title="Quality by turns before",
        look_title="Next turns",
        look="The same histories, as far as each model reads them, and behind the arrow what it would say next. Bars "
        "are the share of all looks that a turn got, words are shaded by theirs.",
        curve=LOSS,
    ),
    read=read,
    replies=replies,
    lengths=lambda pipeline, items: [len(history.turns) for history, _ in items],
    identify=lambda history: history.text,
    name_of=lambda history: " / ".join(history.turns),
    look=look,
    given=lambda item: [element("p", "in truth: ", truths_cell(item), class_="said")],
    said=lambda look, item: sign(look[0] in item[1]),
    drawn=lambda look, item, settings: Html(look[1]),
    source=history_cell,
    same=("data.format", "data.turns_field", "data.id_field", "data.text_field", "data.speaker_field"),
    as_is=True,
    scores=scores,
    opens=True,
    beside=beside,
    likely_first=True,
    style=f"{STYLE}.maps .talk{{min-width:20rem}}",
    longest=1_000_000,
    together=lambda items: [history.conversation for history, _ in items],
)
