"""Attention: a score (one file each), weights and the weighted sum that all share."""

from dragoman.nn.attention.additive import Additive, AdditiveAttention
from dragoman.nn.attention.attend import Score, attend

__all__ = ["Additive", "AdditiveAttention", "AttentionConfig", "Score", "attend", "build_attention"]

AttentionConfig = Additive


def build_attention(config: AttentionConfig, query_width: int, memory_width: int) -> AdditiveAttention:
    return AdditiveAttention(config, query_width, memory_width)
