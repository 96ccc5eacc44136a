"""Our searches beside `generate` of Hugging Face's transformers, on the log-probabilities of a model of theirs."""

import os

import pytest
import torch
from torch import Tensor

from dragoman.contracts import Hypothesis, Request, State, Step
from dragoman.search import Beam, Greedy, search
from search.toy import Prefix, readable_beam, same

os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = pytest.importorskip("transformers")

INPUTS, VOCABULARY, LONGEST, WIDTH = 500, 12, 20, 4
PADDING, START, END = 0, 0, 1


class Ending(transformers.T5ForConditionalGeneration):
    """END becomes more probable with every step, so that answers end, at different lengths."""

    def forward(self, *inputs, **named):
        found = super().forward(*inputs, **named)
        steps = torch.arange(found.logits.shape[1])
        found.logits[:, :, END] += 0.7 * steps - 3
        return found


@pytest.fixture(scope="module")
def model():
    """A few thousand random weights, sharp enough to have opinions."""
    torch.manual_seed(11)
    config = transformers.T5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, dropout_rate=0.0,
        decoder_start_token_id=START, eos_token_id=END, pad_token_id=PADDING, tie_word_embeddings=False,
    )  # fmt: skip
    found = Ending(config).eval()
    with torch.no_grad():
        for name, weights in found.named_parameters():
            if weights.dim() == 2:
                weights.normal_(0, 0.6 if name == "lm_head.weight" else 0.5)
    return found


@pytest.fixture(scope="module")
def sources() -> Tensor:
    torch.manual_seed(12)
    return torch.randint(2, VOCABULARY, (INPUTS, 5))


class Wrapped:
    """Their model as a step function; the prefix is kept in the state and read anew at every step."""

    def __init__(self, model, sources: Tensor) -> None:
        self.model, self.sources = model, sources

    def start(self) -> State:
        rows = torch.arange(len(self.sources))
        with torch.no_grad():
            encoded = self.model.encoder(self.sources).last_hidden_state
        return State({"prefix": rows.new_zeros(len(rows), 0)}, {"encoded": encoded})

    def __call__(self, last: Tensor, state: State) -> Step:
        prefix = torch.cat([state.moving["prefix"], last[:, None]], 1)
        encoded = state.fixed["encoded"].repeat_interleave(len(last) // len(state.fixed["encoded"]), 0)
        outputs = transformers.modeling_outputs.BaseModelOutput(encoded)
        with torch.no_grad():
            logits = self.model(encoder_outputs=outputs, decoder_input_ids=prefix).logits[:, -1]
        return Step(logits.log_softmax(-1), State({"prefix": prefix}, state.fixed))


def ours(model, sources: Tensor, config: Greedy | Beam) -> list[Hypothesis]:
    wrapped = Wrapped(model, sources)
    limits = torch.full((len(sources),), LONGEST)
    request = Request(torch.full((len(sources),), START), END, limits, forbidden=(START,))
    return [found[0] for found in search(config, wrapped, wrapped.start(), request, 1)]


def theirs(model, sources: Tensor, **how: object) -> list[Prefix]:
    """`generate`, with START barred as a symbol, as in our request."""
    with torch.no_grad():
        found = model.generate(
            sources,
            max_new_tokens=LONGEST,
            do_sample=False,
            suppress_tokens=[START],
            length_penalty=1.0,
            use_cache=False,
            **how,
        )
    return [tuple(row[1:]) for row in found.tolist()]


def written(tokens: Prefix) -> Prefix:
    return tokens[: tokens.index(END)] if END in tokens else tokens


def table_of(model, source: Tensor):
    """Log-probabilities by prefix, for searches that one can read."""
    known: dict[Prefix, list[float]] = {}

    def table(sentence: int, prefix: Prefix) -> list[float]:
        if prefix not in known:
            fed = torch.tensor([[START, *prefix]])
            with torch.no_grad():
                known[prefix] = model(source[None], decoder_input_ids=fed).logits[0, -1].log_softmax(-1).tolist()
        return known[prefix]

    return table


def readable_generate(table) -> Prefix:
    """Their rule: of the 2k best continuations of all rows together, one that ends is set aside only if it is among the
    first k, and the k best others go on; scores are averages over the symbols, END counted."""
    live: list[tuple[Prefix, float]] = [((), 0.0)]
    ended: list[tuple[float, Prefix]] = []
    for length in range(1, LONGEST + 1):
        grown = [
            ((*prefix, symbol), total + value)
            for prefix, total in live
            for symbol, value in enumerate(table(0, prefix))
            if symbol != START
        ]
        best = sorted(grown, key=lambda one: -one[1])[: 2 * WIDTH]
        ended += [(total / length, prefix[:-1]) for prefix, total in best[:WIDTH] if prefix[-1] == END]
        ended = sorted(ended, key=lambda one: -one[0])[:WIDTH]
        live = [one for one in best if one[0][-1] != END][:WIDTH]
        if len(ended) == WIDTH and max(total for _, total in live) / LONGEST <= ended[-1][0]:
            break
    return ended[0][1] if ended else live[0][0]


def test_greedy_is_theirs(model, sources: Tensor) -> None:
    expected = [written(tokens) for tokens in theirs(model, sources)]
    assert [one.tokens for one in ours(model, sources, Greedy())] == expected
    assert len({len(tokens) for tokens in expected}) > 3  # they end at different lengths


def test_a_beam_is_theirs_but_for_the_rule(model, sources: Tensor) -> None:
    """Row by row: equal; or each is what its own rule says, read word for word."""
    expected = [written(tokens) for tokens in theirs(model, sources, num_beams=WIDTH, early_stopping="never")]
    found = ours(model, sources, Beam(width=WIDTH))
    different = [n for n in range(INPUTS) if found[n].tokens != expected[n]]
    assert len(different) < INPUTS / 10
    for n in different:
        table = table_of(model, sources[n])
        assert same([found[n]], readable_beam(table, 0, LONGEST, Beam(width=WIDTH), 1), 1e-5)
        assert expected[n] == readable_generate(table)
