"""WordPiece as in BERT (Schuster and Nakajima 2012; Devlin et al. 2019): the longest pieces of words, from the left."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from pydantic import Field, PositiveInt
from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, pre_tokenizers, trainers

from dragoman.config import Config
from dragoman.data.tokenizers.base import (
    LARGEST,
    SPECIALS,
    UNKNOWN,
    Encode,
    Kind,
    Learned,
    Normalisation,
    Normaliser,
    Texts,
    engine_of,
    numbered,
)
from dragoman.data.tokenizers.remembering import remembering

CONTINUED = "##"  # begins a piece that is not the first of its word
LONGEST_WORD = 100  # characters; a longer word is unknown
MOST_CHARACTERS = 1_000  # of the alphabet; a word with any other character is unknown


class WordPiece(Config):
    """Words and signs in pieces (Schuster and Nakajima 2012); what is between them comes back as one space, so that
    `Hund.` becomes `Hund .`"""

    kind: Literal["wordpiece"] = "wordpiece"
    size: Annotated[int, Field(gt=len(SPECIALS) + 2, le=LARGEST)] = 8_000
    """symbols at most, the four special ones counted"""
    minimum_count: PositiveInt = 2
    """rarer pairs of pieces are not merged"""
    normalisation: Normalisation = "nfc"
    """Unicode normal form that the text is brought into"""
    lowercase: bool = False
    """capital letters become small ones, for good"""
    sample: PositiveInt = 2_000_000
    """lines at most that the vocabulary is learned from, spread over the corpus"""


def learn(config: WordPiece, texts: Texts) -> Learned:
    """The alphabet is counted first: the library would number it in another order in every process."""
    normaliser = Normaliser(config.normalisation, config.lowercase)
    counts: Counter[str] = Counter()
    for text in normaliser.apply(texts()):
        counts.update(text)
    most = min(MOST_CHARACTERS, (config.size - len(SPECIALS)) // 2)
    frequent = sorted((-count, character) for character, count in counts.items() if not character.isspace())
    characters = sorted(character for _, character in frequent[:most])
    trainer = trainers.WordPieceTrainer(
        vocab_size=config.size,
        min_frequency=config.minimum_count,
        special_tokens=[*SPECIALS, *characters, *(CONTINUED + character for character in characters)],
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        continuing_subword_prefix=CONTINUED,
        show_progress=False,
    )
    library = engine(Learned(SPECIALS), normaliser)
    library.train_from_iterator(texts(), trainer)
    vocabulary = json.loads(library.to_str())["model"]["vocab"]
    return Learned(tuple(sorted(vocabulary, key=vocabulary.__getitem__)))


def encoder(learned: Learned, normaliser: Normaliser) -> Encode:
    return remembering(engine(learned, normaliser), lambda text: text.split(" "))


def engine(learned: Learned, normaliser: Normaliser) -> Engine:
    """Signs are words of their own, so that no word can spell a special symbol."""
    model = models.WordPiece(
        numbered(learned),
        unk_token=SPECIALS[UNKNOWN],
        max_input_chars_per_word=LONGEST_WORD,
        continuing_subword_prefix=CONTINUED,
    )
    library = engine_of(model, normaliser.library())
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece(prefix=CONTINUED, cleanup=False)
    return library


def text(_: Learned) -> Callable[[Sequence[str]], str]:
    return joined


def joined(symbols: Sequence[str]) -> str:
    """A space before every piece that begins a word, and before every sign."""
    parts = [symbol.removeprefix(CONTINUED) if symbol.startswith(CONTINUED) else f" {symbol}" for symbol in symbols]
    return "".join(parts).removeprefix(" ")


WORDPIECE = Kind(learn, encoder, engine, text, readable=lambda _: str)
