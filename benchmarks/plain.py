"""The yardstick: the cells and sizes of dragoman's recurrent model in torch's own modules, with nothing around them.

Batches come collated in advance, so this loop pays for no data, no log and no checkpoint.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.contracts import Batch
from dragoman.data.tokenizers import END, PADDING, START
from dragoman.models.encoder_decoder import EncoderDecoder, EncoderDecoderModel


class PlainModel(nn.Module):
    """Embeddings, nn.LSTM or nn.GRU both ways over packed sources, a cell loop with additive attention, a readout."""

    def __init__(self, config: EncoderDecoder, source_size: int, target_size: int) -> None:
        super().__init__()
        encoder, decoder = config.encoder, config.decoder
        self.gated = encoder.cell == "lstm"
        self.source = nn.Embedding(source_size, config.source.width)
        self.target = nn.Embedding(target_size, config.target.width)
        recurrent = nn.LSTM if self.gated else nn.GRU
        both = encoder.directions == "both"
        self.encoder = recurrent(
            config.source.width,
            encoder.width,
            encoder.layers,
            batch_first=True,
            bidirectional=both,
            dropout=encoder.dropout if encoder.layers > 1 else 0.0,
        )
        memory = encoder.width * (2 if both else 1)
        cell = nn.LSTMCell if self.gated else nn.GRUCell
        self.cell = cell(config.target.width + memory, decoder.width)
        self.bridge = nn.Linear(memory, decoder.width * (2 if self.gated else 1))
        self.keys = nn.Linear(memory, decoder.attention.width, bias=False)
        self.query = nn.Linear(decoder.width, decoder.attention.width)
        self.energy = nn.Linear(decoder.attention.width, 1, bias=False)
        self.readout = nn.Linear(decoder.width + config.target.width + memory, decoder.readout_width)
        self.output = nn.Linear(decoder.readout_width, target_size)
        self.drop = nn.Dropout(config.target.dropout)
        self.drop_readout = nn.Dropout(decoder.dropout)

    def encode(self, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        packed = nn.utils.rnn.pack_padded_sequence(
            self.drop(self.source(values)), mask.sum(1), batch_first=True, enforce_sorted=False
        )
        states, final = self.encoder(packed)
        states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
        hidden = final[0] if self.gated else final
        last = torch.cat([hidden[-2], hidden[-1]], 1) if self.encoder.bidirectional else hidden[-1]
        return states, self.keys(states), torch.tanh(self.bridge(last)).chunk(2 if self.gated else 1, 1)

    def step(self, word: Tensor, state: tuple[Tensor, ...], states: Tensor, keys: Tensor, padding: Tensor):
        scores = self.energy(torch.tanh(keys + self.query(state[0])[:, None])).squeeze(-1)
        weights = scores.masked_fill(padding, float("-inf")).softmax(-1)
        context = torch.bmm(weights[:, None], states).squeeze(1)
        after = self.cell(torch.cat([word, context], 1), state if self.gated else state[0])
        return context, after if self.gated else (after,)

    def logits(self, tops: Tensor, words: Tensor, contexts: Tensor) -> Tensor:
        return self.output(self.drop_readout(torch.tanh(self.readout(torch.cat([tops, words, contexts], -1)))))

    def loss(self, batch: Batch, smoothing: float) -> Tensor:
        source, target = batch.sources["source"], batch.target
        states, keys, state = self.encode(source.values, source.mask)
        words, padding = self.drop(self.target(target.inputs.values)), ~source.mask
        tops, contexts = [], []
        for word in words.unbind(1):
            context, state = self.step(word, state, states, keys, padding)
            tops.append(state[0])
            contexts.append(context)
        logits = self.logits(torch.stack(tops, 1), words, torch.stack(contexts, 1))
        truth = target.outputs.values.masked_fill(~target.outputs.mask, -100)
        return F.cross_entropy(logits.flatten(0, 1), truth.flatten(), label_smoothing=smoothing)

    @torch.inference_mode()
    def greedy(self, batch: Batch, steps: int) -> Tensor:
        """The most probable symbol at every step until every row has ended."""
        source = batch.sources["source"]
        states, keys, state = self.encode(source.values, source.mask)
        last = torch.full((batch.size,), START)
        ended = torch.zeros(batch.size, dtype=torch.bool)
        found = []
        for _ in range(steps):
            word = self.target(last)
            context, state = self.step(word, state, states, keys, ~source.mask)
            last = self.logits(state[0], word, context).argmax(-1).masked_fill(ended, PADDING)
            found.append(last)
            ended |= last == END
            if bool(ended.all()):
                break
        return torch.stack(found, 1)


def train_steps(model: PlainModel, batches: list[Batch], rate: float, smoothing: float, clip: float) -> None:
    """The plain loop itself."""
    optimiser = torch.optim.Adam(model.parameters(), rate, fused=True)
    for batch in batches:
        optimiser.zero_grad(set_to_none=True)
        model.loss(batch, smoothing).backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()


def same_weights(model: EncoderDecoderModel, config: EncoderDecoder, sizes: tuple[int, int]) -> PlainModel:
    """A plain model with the weights of a trained one, which must then give the same answers."""
    plain = PlainModel(config, *sizes).eval()
    state: dict[str, Tensor] = {
        "source.weight": model.source.embedding.weight,
        "target.weight": model.target.embedding.weight,
        "keys.weight": model.decoder.attention.of_memory.weight,
        "energy.weight": model.decoder.attention.energy.weight,
    }
    cell = model.decoder.cells[0]
    state["cell.weight_ih"] = torch.cat([cell.of_input.weight, model.decoder.of_context.weight], 1)
    state |= {"cell.bias_ih": cell.of_input.bias, "cell.weight_hh": cell.of_hidden.weight}
    state["cell.bias_hh"] = cell.of_hidden.bias
    for number, layer in enumerate(model.encoder.layers):
        for direction, part in zip(("", "_reverse"), layer, strict=False):
            for side, linear in (("ih", part.of_input), ("hh", part.of_hidden)):
                state[f"encoder.weight_{side}_l{number}{direction}"] = linear.weight
                state[f"encoder.bias_{side}_l{number}{direction}"] = linear.bias
    pairs = {
        "bridge": model.decoder.bridge,
        "query": model.decoder.attention.of_query,
        "readout": model.decoder.readout.of_all,
        "output": model.head.output,
    }
    for name, linear in pairs.items():
        state |= {f"{name}.weight": linear.weight, f"{name}.bias": linear.bias}
    plain.load_state_dict(state)
    return plain
