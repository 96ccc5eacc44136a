"""The affine layer as every part starts it."""

from torch import nn


def linear(inputs: int, outputs: int, bias: bool = True) -> nn.Linear:
    """W x + b with W uniform (Glorot and Bengio 2010, eq. 16) and b zero."""
    layer = nn.Linear(inputs, outputs, bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer
