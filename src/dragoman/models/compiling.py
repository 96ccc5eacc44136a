"""Machine code for the layers of a model."""

from torch import nn

from dragoman import decoders, encoders


def compile_stacks(*parts: nn.Module) -> None:
    """Each layer of a Transformer by torch.compile, for batches of any size; recurrent layers stay as they are."""
    from torch._dynamo import config  # takes seconds

    stacks = (encoders.TransformerEncoder, decoders.TransformerDecoder)
    inner = [part.words if isinstance(part, encoders.HierarchicalEncoder) else part for part in parts]
    layers = [layer for part in inner if isinstance(part, stacks) for layer in part.layers]
    # All layers are one function to torch, which gives up after so many versions of one.
    config.recompile_limit = max(config.recompile_limit, 8 * len(layers))
    for layer in layers:
        layer.compile(dynamic=True)
