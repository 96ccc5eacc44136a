"""Settings of classifiers of texts, and of regressors, chosen from the training data and the budget."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from dragoman.baselines.labels import words_tell
from dragoman.baselines.texts import shortened
from dragoman.data.chunk import Numbers
from dragoman.data.labelling import number_in
from dragoman.data.readers.example import Example
from dragoman.data.readers.labelled import Labelled, columns_of, read_labelled_split
from dragoman.data.readers.lines import Problems
from dragoman.data.sides import Side
from dragoman.data.tokenizers.tokenizer import WHOLE_WORDS
from dragoman.data.tokenizers.wordpunct import Splitter
from dragoman.defaults.budget import Budget, validation_interval
from dragoman.defaults.choice import Choice, is_validated
from dragoman.errors import DataError
from dragoman.preparation.corpora import REPORTED, Preparing

SAMPLE = 50_000  # examples whose words are counted; of more, every second is let go
FEWEST = 20  # examples of which some can be held out
FEW_PAIRS = 20_000  # pairs of texts up to which their overlap tells more than their words
LEVELS = 20  # different whole numbers up to which labels that are numbers name classes
LONG = 100  # words of a text, from which on a convolution reads it
LETTERS, SHORTEST, LONGEST = 24, 3, 5  # of a word that are read, and of its n-grams
SEEN = 45_000  # examples of two classes that a training sees, all epochs together; more of them are learned by heart
WEIGHTS = 2**23  # of a linear model over n-grams, all labels together
FEW_EACH = 500  # examples of each of many labels, up to which two passes should agree
MANY = 5  # labels, beyond which the head sees n-grams beside the encoder's states
USUAL_LENGTH = 200  # data.max_length, where nothing else is said


@dataclass(frozen=True)
class Texts:
    """What the training data of a classifier is like."""

    examples: int
    two: bool  # texts come in pairs
    labels: Mapping[str, int]  # how often each occurs
    sample: tuple[str, ...]  # of the texts; the two of a pair stand behind each other
    share: float  # of the examples that are in the sample
    labelled: tuple[str, ...] = ()  # the label of each example in the sample
    tried: bool = True  # whether it is tried if words tell; not where the encoder is given

    @cached_property
    def side(self) -> Side:
        return Side(self.sample)

    @property
    def are_numbers(self) -> bool:
        """Whether labels are measurements: more numbers than classes would have, or fractions."""
        found = [number_in(label) for label in self.labels]
        if not found or any(value is None for value in found):
            return False
        fractions = any(value is not None and value != int(value) for value in found)
        return len(found) > LEVELS or (fractions and len(found) > 5)

    @property
    def few_pairs(self) -> bool:
        """Whether there are too few pairs of texts to learn from their words how they relate."""
        return self.two and self.examples < FEW_PAIRS

    @cached_property
    def words_tell(self) -> bool:
        """Whether the words of a text tell its label, as always but where too few pairs of texts are compared."""
        if not self.tried or not self.few_pairs or self.are_numbers or len(self.labels) < 2:
            return True
        pairs = list(zip(self.sample[::2], self.sample[1::2], strict=True))
        return words_tell(list(map(shortened, pairs)), self.labelled)

    @cached_property
    def rows(self) -> list[list[str]]:
        """The words of the sample, in small letters."""
        split = Splitter()
        return [split(text.lower()) for text in self.sample]

    @cached_property
    def lengths(self) -> Numbers:
        """Words of each text, or of both texts of a pair."""
        lengths = np.array([len(row) for row in self.rows], np.int64)
        return lengths.reshape(-1, 2).sum(1) if self.two else lengths

    @cached_property
    def words(self) -> Counter[str]:
        return Counter(word for row in self.rows for word in row)

    @cached_property
    def fresh(self) -> float:
        """Share of words that occur once, about as many as are new in other texts (Good 1953)."""
        return sum(count == 1 for count in self.words.values()) / max(1, self.words.total())

    @cached_property
    def letter_ngrams(self) -> int:
        """Different n-grams of letters."""
        return len({gram for word in self.words for gram in ngrams_of(word)})

    @cached_property
    def word_pairs(self) -> int:
        """Different pairs of neighboring words."""
        return len({pair for row in self.rows for pair in pairwise(row)})


def ngrams_of(word: str) -> Iterator[str]:
    marked = f"<{word}>"
    sizes = range(SHORTEST, LONGEST + 1)
    return (marked[place : place + size] for size in sizes for place in range(len(marked) - size + 1))


def survey_labels(data: Labelled, given: Mapping[str, Any], preparing: Preparing) -> Texts | None:
    """All training examples, of which a sample is kept; nothing where there is not one good example."""
    two = has_two(data, given)
    return described(read_labelled_split(data, "train", two, Problems()), two, preparing)


def described(examples: Iterable[Example], two: bool, preparing: Preparing = lambda what, done: None) -> Texts | None:
    labels, kept, size, stride = Counter[str](), list[tuple[tuple[str, ...], str]](), 0, 1
    for example in examples:
        labels.update(example.labels)
        if size % stride == 0:
            kept.append((example.texts, " ".join(example.labels)))
        if len(kept) > SAMPLE:
            kept, stride = kept[::2], stride * 2
        size += 1
        if size % REPORTED == 0:
            preparing("examples looked at", size)
    sample = tuple(text for texts, _ in kept for text in texts)
    labelled = tuple(label for _, label in kept)
    return Texts(size, two, labels, sample, len(kept) / size, labelled) if size else None


def has_two(data: Labelled, given: Mapping[str, Any]) -> bool:
    """Whether the files hold pairs of texts: where it is said, or where columns can be told for two texts alone."""
    if "model.sentences" in given:
        return bool(given["model.sentences"] == "two")
    if data.second_field or data.text_field:
        return bool(data.second_field)
    first = next(iter(data.files("train")), "")
    return not can_tell(first, data, two=False) and can_tell(first, data, two=True)


def can_tell(file: str, data: Labelled, two: bool) -> bool:
    try:
        columns_of(file, data, two)
    except DataError:
        return False
    return True


def choose_for_labels(found: Texts, given: Mapping[str, Any], budget: Budget) -> list[Choice]:
    """Everything that follows from number, length and kind of texts and labels, and from the budget. A pretrained body
    comes with its own tokenizer, parts and rates, and reads as much as it has learned to."""
    if given.get("training.start"):
        return [one for one in data_choices(found, given) if one.key == "data.hold_out"]
    measured = found.are_numbers or given.get("objective.kind") == "squared_error"
    head = given.get("model.head.kind", "number" if measured else "labels")
    if "model.encoder.kind" in given:
        found = replace(found, tried=False)
    spelled = found.side.spelt
    whole = given.get("source.kind", "characters" if spelled else "wordpunct") in WHOLE_WORDS
    plan = plan_of(found, budget, head)
    validated = is_validated(given, found.examples >= FEWEST)
    return [
        *data_choices(found, given),
        *(one for one in task_choices(found, head) if validated or one.key != "training.monitor"),
        *tokenizer_choices(found, spelled),
        *frontend_choices(found, plan, whole),
        *encoder_choices(found, plan),
        *wide_choices(found, whole),
        *bag_choices(found, whole),
        *dropout_choices(found, plan, whole),
        *consistency_choices(found, plan),
        *training_choices(found, plan, budget),
    ]


def data_choices(found: Texts, given: Mapping[str, Any]) -> Iterator[Choice]:
    if not given.get("data.valid") and "data.hold_out" not in given and found.examples >= FEWEST:
        share = 0.2 if found.examples < 1_000 else float(f"{min(0.1, 2_000 / found.examples):.2g}")
        kept = share * found.examples
        yield Choice("data.hold_out", share, f"no --valid: some {kept:,.0f} examples are kept to validate on")
    longest = int(np.quantile(found.lengths, 0.99))
    if longest > USUAL_LENGTH:
        limit = min(1_000, math.ceil(longest / 50) * 50)
        yield Choice("data.max_length", limit, f"99 of 100 texts have at most {longest:,} words; the rest is cut off")
        yield Choice("limits.source", limit, "the same when texts are classified")


def task_choices(found: Texts, head: str) -> Iterator[Choice]:
    if found.two:
        yield Choice("model.sentences", "two", "examples are pairs of texts")
        yield Choice("model.matches", "overlap", "what both texts have is marked and counted")
    number = len(found.labels)
    why = f"{number:,} different numbers" if found.are_numbers else f"{number:,} labels"
    yield Choice("model.head.kind", head, why)
    if head == "number":
        yield Choice("objective.kind", "squared_error", "labels are numbers")
        yield Choice("training.monitor", "pearson", "labels are numbers")
    else:
        yield Choice("objective.smoothing", 0.1, "the model is soon too sure of the examples it has seen")
        if found.few_pairs:
            yield Choice("training.monitor", "loss", "few pairs: the accuracy on some of them is mostly chance")
        else:
            yield Choice("training.monitor", "accuracy", why)


def tokenizer_choices(found: Texts, spelled: bool) -> Iterator[Choice]:
    side = found.side
    if spelled:
        kind = "single words" if side.words_a_text < 1.5 else "hardly a space between words"
        yield Choice("source.kind", "characters", f"{kind}, {side.characters_a_text:.0f} characters per text")
        return
    why = f"{side.words_a_text:.0f} words per text, {found.fresh:.0%} of them new in other texts: letters tell them"
    yield Choice("source.kind", "wordpunct", why)
    yield Choice("source.lowercase", True, "capital letters seldom change a label")


def frontend_choices(found: Texts, plan: "Plan", whole: bool) -> Iterator[Choice]:
    yield Choice("model.source.kind", "ngrams" if whole else "tokens", spelling(whole))
    yield Choice("model.source.width", plan.width, f"{found.examples:,} examples")
    if whole:
        count = round(found.letter_ngrams / found.share**0.5)
        yield Choice("model.source.letters", LETTERS, f"letter n-grams of {SHORTEST} to {LONGEST} letters")
        yield Choice("model.source.buckets", buckets_for(count), f"{count:,} different letter n-grams")


def spelling(whole: bool) -> str:
    return "word vectors with letter n-grams, for new words" if whole else "the tokenizer has parts of words"


def buckets_for(ngrams: int) -> int:
    """The power of two above, within bounds: n-grams may share a vector, and tables have to be saved."""
    return min(2**16, max(2**10, power_above(ngrams)))


def power_above(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()


def encoder_choices(found: Texts, plan: "Plan") -> Iterator[Choice]:
    mean = float(found.lengths.mean())
    if not found.words_tell:
        why = f"{found.examples:,} pairs, whose words did not improve a linear model in cross-validation"
        yield Choice("model.encoder.kind", "identity", why)
    elif mean > LONG:
        yield Choice("model.encoder.kind", "cnn", f"{mean:.0f} words per text: a convolution reads them at once")
        yield Choice("model.encoder.windows", [2, 3, 4], "words that a filter sees")
        yield Choice("model.encoder.filters", plan.width, f"of each window; {found.examples:,} examples")
    else:
        yield Choice("model.encoder.kind", "rnn", f"{mean:.0f} words per text")
        yield Choice("model.encoder.cell", "lstm", "did best in trials")
        yield Choice("model.encoder.layers", 1, "learns fastest")
        yield Choice("model.encoder.directions", "both", "every word is read in its context")
        yield Choice("model.encoder.width", plan.width, f"of each direction; {found.examples:,} examples")
    yield Choice("model.head.pool", "max", "the strongest signal of a text counts")


def wide_choices(found: Texts, whole: bool) -> Iterator[Choice]:
    """Vectors of words, their letter n-grams and pairs of words beside the encoder: of few labels they only learn the
    examples by heart sooner, and what words a pair of texts has tells little of how they relate."""
    if found.two or len(found.labels) <= MANY or found.are_numbers:
        return
    yield Choice("model.wide.kind", "ngrams", "the head sees words and n-grams beside what the encoder has read")
    yield Choice("model.wide.width", 64, "of its vectors")
    yield Choice("model.wide.letters", LETTERS if whole else 0, spelling(whole))
    yield Choice("model.wide.word_ngrams", *phrases(whole))
    count = round(max(found.letter_ngrams, found.word_pairs) / found.share**0.5)
    yield Choice("model.wide.buckets", buckets_for(count), f"{count:,} different n-grams")


def phrases(whole: bool) -> tuple[int, str]:
    """How long word n-grams are, and why."""
    return (2, "pairs of words") if whole else (4, "up to four tokens")


def bag_choices(found: Texts, whole: bool) -> Iterator[Choice]:
    """A linear model over words and n-grams; of pairs over the words that both texts have, and those of one alone."""
    classes = 1 if found.are_numbers else max(2, len(found.labels))
    if not found.words_tell:
        yield Choice("model.bag.kind", "bag", "a linear model of how much both texts have in common")
        yield Choice("model.bag.letters", 0, "words are compared, and not their letter n-grams")
        yield Choice("model.bag.word_ngrams", 1, "single words")
        yield Choice("model.bag.buckets", 1, "words are counted and not told apart")
        return
    if found.two:
        yield Choice("model.bag.kind", "bag", "a linear model of what both texts have has a say too")
        yield Choice("model.bag.letters", 0, "words are compared, and not their letter n-grams")
        yield Choice("model.bag.word_ngrams", 1, "single words, by whether both texts have them")
        count = round(4 * len(found.words) / found.share**0.5)
    else:
        yield Choice("model.bag.kind", "bag", "a linear model of words and n-grams has a say too")
        yield Choice("model.bag.letters", LETTERS if whole else 0, spelling(whole))
        yield Choice("model.bag.word_ngrams", *phrases(whole))
        count = round((len(found.words) + found.letter_ngrams + found.word_pairs) / found.share**0.5)
    buckets = min(2**18, max(2**10, power_above(count)), power_above(WEIGHTS // classes // 2 + 1))
    yield Choice("model.bag.buckets", buckets, f"{count:,} different words and n-grams, {classes:,} labels")


@dataclass(frozen=True)
class Plan:
    """How long the training is, as far as it can be told beforehand."""

    width: int
    batch: int  # examples
    updates: int  # an epoch
    epochs: int  # where the user set no limit
    seen: float  # how often each example will be seen
    consistent: bool  # whether there is time to read each example twice at a time
    asked: bool  # whether the user has set a number of epochs or updates

    @property
    def total(self) -> int:
        return max(1, round(self.updates * self.seen))

    @property
    def average(self) -> float:
        """The decay of a mean over the last third of a short training, and 1,000 updates at most."""
        return round(max(0.9, min(0.999, 1 - 3 / self.total)), 4)


def plan_of(found: Texts, budget: Budget, head: str) -> Plan:
    width = 8 if not found.words_tell else 32 if found.few_pairs else 64 if found.examples < 500 else 128
    batch = 8 if found.examples < 500 else 16 if found.examples < 4_000 else 32 if found.examples < 30_000 else 64
    updates = max(1, math.ceil(found.examples / batch))
    classes = 1 if found.are_numbers else len(found.labels)
    epochs = min(40, max(2, round(SEEN * (1 + min(2.0, classes / 16)) / found.examples)))
    if found.two:
        epochs = min(8, epochs)  # of two small sets of pairs, the words were learned by heart soon after
    operations = 6 * 8 * width * 2 * width * float(found.lengths.mean() + 2)
    few_each = len(found.labels) > MANY and found.examples < FEW_EACH * len(found.labels)
    consistent = (
        few_each
        and not found.two
        and head == "labels"
        and replace(budget, speed=None).epochs_of(found.examples, updates, 2 * operations) > epochs / 2
    )
    seen = budget.epochs_of(found.examples, updates, 2 * operations if consistent else operations)
    asked = budget.epochs is not None or budget.steps is not None
    return Plan(width, batch, updates, epochs, seen if asked else min(float(epochs), seen), consistent, asked)


def dropout_choices(found: Texts, plan: Plan, whole: bool) -> Iterator[Choice]:
    """Trained from scratch, words are soon learned by heart."""
    often = f"each example is seen about {max(1, round(plan.seen))} times"
    few = found.few_pairs
    yield Choice("model.source.dropout", 0.7 if few else 0.5, f"{often}; few pairs" if few else often)
    if whole:
        yield Choice("model.source.word_dropout", 0.2, "the letters of a word must do now and then")
    if not found.two and len(found.labels) > MANY and not found.are_numbers:
        yield Choice("model.wide.dropout", 0.2, often)
    many = len(found.labels) > MANY and not found.two
    yield Choice("model.bag.dropout", 0.1 if many else 0.3, "no word alone should decide")
    yield Choice("model.head.dropout", 0.2 if few else 0.5, often)


def consistency_choices(found: Texts, plan: Plan) -> Iterator[Choice]:
    """Accuracy on held-out requests: with 64 intents (7,130 examples) 89.4 % without it, and 89.9 % and 90.3 % with 6
    (two trainings); with 7 intents (10,584 examples) 98.6 % without it and 98.0 % with 6 (one training each)."""
    if plan.consistent:
        each = f"{found.examples / len(found.labels):,.0f} examples per label"
        yield Choice("objective.consistency", 6.0, f"{each}: R-Drop, two passes with different dropout should agree")


def training_choices(found: Texts, plan: Plan, budget: Budget) -> Iterator[Choice]:
    yield Choice("training.batching.sentences", plan.batch, f"about {plan.updates:,} updates per epoch")
    yield Choice("training.optimiser.rate", 2e-3, "did best in trials")
    yield Choice("training.schedule.kind", "cosine", "the rate falls to nothing at the end of the training")
    share = round(min(0.1, 100 / plan.total), 4)
    yield Choice("training.schedule.warmup_share", share, "of the training, and 100 updates at most")
    yield Choice("training.schedule.final", 0.02, "of the highest rate")
    yield Choice("training.average", plan.average, "the mean of the last weights does better than the last")
    yield Choice("training.epochs", plan.epochs, f"{found.examples:,} examples; 2 to 40 epochs")
    if not plan.asked and budget.minutes is not None:
        most = plan.updates * plan.epochs
        yield Choice("training.steps", most, f"{plan.epochs} epochs at most: more would learn the examples by heart")
    yield Choice("training.validate_every", validation_interval(plan.updates, plan.seen), "about 20 validations")
