"""The weights of the harness's Transformer in a model of dragoman, so that all columns decode with the same numbers.

The harness keeps sines in the first half of a vector and cosines in the second; here they alternate, as in the paper.
All that lies along the residual stream is put into that order, which changes no score.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

PARTS = {
    "sa.qkv": "attention.of_all",
    "sa.o": "attention.output",
    "f1": "feed_forward.wide",
    "f2": "feed_forward.output",
}
PARTS |= {"n1": "around_attention.norm", "n3": "around_feed_forward.norm", "n2": "around_cross.norm"}
PARTS |= {"ca.q": "cross.of_query", "ca.kv": "cross.of_memory", "ca.o": "cross.output"}
INTO_STREAM = ("sa.o", "ca.o", "f2", "n1", "n2", "n3", "ne", "nd")  # rows lie along it; columns of the others do
SYMBOLS = {"<pad>": "<pad>", "<s>": "<pad>"}  # their first symbol is the one of the padding


def carried(theirs: dict[str, Tensor], their_symbols: Sequence[str], our_symbols: Sequence[str]) -> dict[str, Tensor]:
    """By the names of our model."""
    width = theirs["emb.weight"].shape[1]
    order = torch.arange(width).view(2, -1).t().flatten()
    numbers = {symbol: number for number, symbol in enumerate(their_symbols)}
    vectors = theirs["emb.weight"][[numbers[SYMBOLS.get(symbol, symbol)] for symbol in our_symbols]][:, order]
    found = {f"{side}.embedding.weight": vectors for side in ("source", "target")} | {"head.output.weight": vectors}
    for side, name, norm in (("enc", "encoder", "ne"), ("dec", "decoder", "nd")):
        for key, value in theirs.items():
            part, _, kind = key.rpartition(".")
            if part == norm:
                found[f"{name}.last_norm.{kind}"] = value[order]
            elif part.startswith(f"{side}."):
                _, layer, inner = part.split(".", 2)
                found[f"{name}.layers.{layer}.{PARTS[inner]}.{kind}"] = turned(value, inner, order)
    return found


def turned(value: Tensor, part: str, order: Tensor) -> Tensor:
    if part in INTO_STREAM:
        return value[order]
    return value[:, order] if value.dim() == 2 else value
