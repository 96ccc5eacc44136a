"""A recurrent decoder written down slowly from its settings: one step, one layer, one row at a time, no fast path.

It takes its weights from the decoder that it stands beside, and nothing else.
"""

import torch
from torch import Tensor

from dragoman.contracts import Memory
from dragoman.decoders import Rnn, RnnDecoder
from dragoman.nn.recurrent import Recurrent


def cell_step(kind: str, cell: Recurrent, inputs: Tensor, state: list[Tensor]) -> list[Tensor]:
    """One step of one row, the equations of the cells' docstrings. `inputs` is Wx without its bias."""
    of_input, of_hidden = inputs + cell.of_input.bias, cell.of_hidden.weight @ state[0]
    if kind == "gru":
        of_hidden = of_hidden + cell.of_hidden.bias
        (xr, xz, xn), (hr, hz, hn) = of_input.chunk(3), of_hidden.chunk(3)
        reset, update = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
        return [(1 - update) * torch.tanh(xn + reset * hn) + update * state[0]]
    gates = of_input + of_hidden + cell.of_hidden.bias
    if kind == "lstm":
        enter, forget, candidate, leave = gates.chunk(4)
        memory = torch.sigmoid(forget) * state[1] + torch.sigmoid(enter) * torch.tanh(candidate)
        return [torch.sigmoid(leave) * torch.tanh(memory), memory]
    return [torch.tanh(gates) if kind == "tanh" else torch.sigmoid(gates)]


def run(config: Rnn, decoder: RnnDecoder, words: Tensor, memory: Memory) -> Tensor:
    """What the head sees, (B, T, R), of a decoder that is not in training."""
    return torch.stack([row(config, decoder, words[n], memory, n) for n in range(len(words))])


def row(config: Rnn, decoder: RnnDecoder, words: Tensor, memory: Memory, number: int) -> Tensor:
    source = memory.sequences["source"]
    states = source.states[number][source.mask[number]]
    final = memory.final.hidden[number, -1]
    fixed = None
    if config.attention.kind == "fixed":
        fixed = final = torch.tanh(decoder.attention.of_final.weight @ final)
    layers = first_states(config, decoder, memory, number, final)
    context, fed, found = fixed, torch.zeros(decoder.width), []
    if context is None and config.attention.kind != "none":
        context = torch.zeros(decoder.attention.width)  # the first context of a query that comes after its step
    for step, word in enumerate(words):
        before = layers[-1][0]
        asks = config.layers - 1 if config.query_layer == "top" else 0
        looks = config.attention.kind not in ("none", "fixed")
        if looks and config.query == "previous":
            context = looked(decoder, layers[asks][0], states, step)
        output = word
        for layer, cell in enumerate(decoder.cells):
            read = cell.of_input.weight @ output
            places = {"every_layer"} | ({"input"} if layer == 0 else {"next_layer"} if layer == 1 else set())
            if context is not None and places & set(config.context):
                read = read + decoder.of_context[str(layer)].weight @ context
            if layer == 0 and config.input_feeding:
                read = read + decoder.of_fed.weight @ fed
            layers[layer] = cell_step(config.cell, cell, read, layers[layer])
            output = layers[layer][0] + output if config.residual and layer else layers[layer][0]
            if looks and config.query == "current" and layer == asks:
                context = looked(decoder, layers[layer][0], states, step)
        parts = [before if config.readout_state == "previous" else output]
        parts += [word] if config.readout_word else []
        parts += [context] if context is not None and "readout" in config.context else []
        fed = read_out(config, decoder, torch.cat(parts), output)
        found.append(fed)
    return torch.stack(found)


def first_states(config: Rnn, decoder: RnnDecoder, memory: Memory, number: int, final: Tensor) -> list[list[Tensor]]:
    parts = 2 if config.cell == "lstm" else 1
    if config.bridge == "zeros":
        return [[torch.zeros(config.width) for _ in range(parts)] for _ in range(config.layers)]
    if config.bridge == "copy":
        finals = (memory.final.hidden, memory.final.cell)[:parts]
        return [[part[number, layer] for part in finals] for layer in range(config.layers)]
    if config.bridge == "mlp":
        final = torch.tanh(decoder.bridge.hidden.weight @ final + decoder.bridge.hidden.bias)
    every = torch.tanh(decoder.bridge.first.weight @ final + decoder.bridge.first.bias)
    shaped = every.view(parts, config.layers, config.width)
    return [[shaped[part, layer] for part in range(parts)] for layer in range(config.layers)]


def looked(decoder: RnnDecoder, state: Tensor, states: Tensor, step: int) -> Tensor:
    """The context of one query, through the attention itself, which has pencil tests of its own."""
    keys, values = decoder.attention.remember(states[None])
    mask = torch.ones(1, len(states), dtype=torch.bool)
    return decoder.attention(state[None, None], keys, values, mask, torch.tensor([[step]])).context[0, 0]


def read_out(config: Rnn, decoder: RnnDecoder, read: Tensor, output: Tensor) -> Tensor:
    if config.readout == "none":
        return output
    pieces = decoder.readout.of_all.weight @ read + decoder.readout.of_all.bias
    if config.readout == "maxout":
        return torch.maximum(pieces[0::2], pieces[1::2])
    return torch.tanh(pieces) if config.readout == "tanh" else pieces
