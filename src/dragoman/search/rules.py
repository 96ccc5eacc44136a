"""What no answer may do, whatever the search."""

from typing import Annotated

from pydantic import Field, NonNegativeInt

from dragoman.config import Config


class Rules(Config):
    """What is forbidden or made costly in every answer."""

    no_repeat_ngram: NonNegativeInt = 0
    """no n symbols in a row that the answer already has (Paulus et al. 2018, §2.5); 0: no such rule"""
    repetition_penalty: Annotated[float, Field(gt=0, le=100)] = 1.0
    """log-probabilities of symbols that the answer already has are multiplied by it (Keskar et al. 2019, §4.1)"""
