"""States of a text of which words are hidden → those words; states of two texts → whether one follows the other."""

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Choices, Config
from dragoman.contracts import Memory, Output
from dragoman.data.masking import Masks
from dragoman.data.passages import Cutting
from dragoman.nn.linear import linear

Learns = Literal["both", "masked_words", "next_sentence"]
LEARNS: dict[Learns, str] = {
    "both": "masked words and whether a text follows another (Devlin et al. 2019, 3.1)",
    "masked_words": "masked words alone (Liu et al. 2019, 4.2)",
    "next_sentence": "whether a text follows another, alone; nothing is hidden (Devlin et al. 2019, 3.1)",
}


class Pretraining(Config):
    """Learns to read from texts without labels: to guess hidden words, and whether one text follows another (Devlin et
    al. 2019, 3.1)."""

    kind: Literal["pretraining"] = "pretraining"
    learns: Annotated[Learns, Choices(LEARNS)] = "both"
    """both, masked_words, or next_sentence; what follows is learned from two texts (model.sentences = "two")"""
    masks: Masks = Masks()
    """which words are hidden, anew in each epoch"""
    length: Annotated[int, Field(ge=8, le=1_000_000)] = 128
    """symbols of an example at most, START and END counted"""
    shorter: Annotated[float, Field(ge=0, le=1)] = 0.1
    """share of the examples that are filled to a random length only"""
    passes: Annotated[int, Field(ge=1, le=1000)] = 5
    """how often the texts of the training are cut into examples, each time elsewhere, with other texts side by side; an
    epoch has all of them"""
    documents: Literal["blank_lines", "files"] = "blank_lines"
    """what a document is: what stands between blank lines, or a whole file"""
    lines: Literal["split", "sentences"] = "split"
    """whether a line is split into sentences, or is one"""

    def cutting(self, two: bool, passes: int = 1, seed: int = 0) -> Cutting:
        """How texts become examples of one text or two; those that a model is measured on are cut once, and always in
        the same way."""
        beside = 3 if two else 2  # START, and END behind each text
        return Cutting(self.length - beside, two, self.shorter, self.lines == "split", passes, seed)


class MaskedWords(nn.Module):
    """p(x_i | text) = softmax(E norm(GELU(W h_i + b)) + c), where E is the table of the symbols' vectors."""

    def __init__(self, width: int, vectors: int, size: int) -> None:
        super().__init__()
        self.dense, self.norm = linear(width, vectors), nn.LayerNorm(vectors)
        self.output = linear(vectors, size)

    def forward(self, states: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows E"]:
        """What the output layer reads."""
        read: Tensor = self.norm(F.gelu(self.dense(states)))
        return read


class NextSentence(nn.Module):
    """p(second follows first) = softmax(V tanh(P h_START + q) + d)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.pooler, self.output = linear(width, width), linear(width, 2)

    def forward(self, states: Float[Tensor, "B S D"]) -> Float[Tensor, "B 2"]:
        """Logits of no and of yes."""
        logits: Tensor = self.output(torch.tanh(self.pooler(states[:, 0])))
        return logits


class PretrainingHead(nn.Module):
    """p(x_i | text) = softmax(E norm(GELU(W h_i + b)) + c), p(follows | texts) = softmax(V tanh(P h_START + q) + d)
    (Devlin et al. 2019, 3.1 and its code)."""

    def __init__(self, config: Pretraining, width: int, vectors: int, size: int) -> None:
        super().__init__()
        self.words = None if config.learns == "next_sentence" else MaskedWords(width, vectors, size)
        self.follows = None if config.learns == "masked_words" else NextSentence(width)

    def tie(self, embedding: nn.Embedding) -> None:
        if self.words is not None:
            self.words.output.weight = embedding.weight

    def gather(self, memory: Memory) -> Output:
        return Output(memory.sequences["source"].states)
