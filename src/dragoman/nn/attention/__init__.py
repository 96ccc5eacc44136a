"""Attention: a score (one file each), weights (one file each) and the weighted sum that all share."""

from typing import Annotated

from pydantic import Field

from dragoman.nn.attention.additive import Additive, AdditiveAttention
from dragoman.nn.attention.attend import Attended, Score, attend
from dragoman.nn.attention.attention import SCORES, Attention
from dragoman.nn.attention.concat import Concat, ConcatAttention
from dragoman.nn.attention.cosine import Cosine, CosineAttention
from dragoman.nn.attention.dot import Dot, DotAttention, ScaledDot, ScaledDotAttention
from dragoman.nn.attention.fixed import Fixed, FixedContext, NoAttention
from dragoman.nn.attention.functions import Scored
from dragoman.nn.attention.general import General, GeneralAttention
from dragoman.nn.attention.hard import Hard, HardWeights
from dragoman.nn.attention.local import Local, LocalWeights
from dragoman.nn.attention.quick import Look, look_of
from dragoman.nn.attention.rbf import Rbf, RbfAttention
from dragoman.nn.attention.several import Attentions, looks_at, quick_look, remembered
from dragoman.nn.attention.soft import Softmax, SoftmaxWeights

__all__ = [
    "SCORES",
    "Additive",
    "AdditiveAttention",
    "Attended",
    "Attention",
    "AttentionConfig",
    "Attentions",
    "Concat",
    "ConcatAttention",
    "Cosine",
    "CosineAttention",
    "Dot",
    "DotAttention",
    "Fixed",
    "FixedContext",
    "General",
    "GeneralAttention",
    "Hard",
    "HardWeights",
    "Local",
    "LocalWeights",
    "Look",
    "NoAttention",
    "Rbf",
    "RbfAttention",
    "ScaledDot",
    "ScaledDotAttention",
    "Score",
    "Scored",
    "Softmax",
    "SoftmaxWeights",
    "attend",
    "look_of",
    "looks_at",
    "quick_look",
    "remembered",
]

AttentionConfig = Annotated[
    Additive | Concat | Cosine | Dot | Fixed | General | NoAttention | Rbf | ScaledDot, Field(discriminator="kind")
]
