"""Words whose vectors training leaves out, so that a model learns what to do with words that it does not know."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from dragoman.data.tokenizers import SPECIALS


def hidden_words(values: Int[Tensor, "B S"], share: float) -> Bool[Tensor, "B S"]:
    """Which words are hidden this time, special tokens never (Iyyer et al. 2015; Kiperwasser and Goldberg 2016)."""
    return (torch.rand(values.shape, device=values.device) < share) & (values >= len(SPECIALS))
