"""The parts that the laws of the model run over, at pencil size, and examples for them."""

from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from dragoman import decoders, encoders, frontends
from dragoman.contracts import Batch, Final, FinalShape, Memory, Padded, Remembered, Target
from dragoman.data.turns import turns_in
from dragoman.models import EncoderDecoder, EncoderDecoderModel, build_model
from dragoman.nn import attention as attentions
from dragoman.nn.attention import Additive
from dragoman.training.optimisers import values_of

CELLS = ("tanh", "sigmoid", "gru", "lstm")
ENCODERS = [
    *(
        encoders.Rnn(cell=cell, layers=layers, width=3, directions=directions, dropout=0.3)
        for cell, (layers, directions) in product(CELLS, ((1, "both"), (2, "one")))
    ),
    *(
        encoders.Rnn(cell=cell, layers=2, width=3, directions=directions, dropout=0.3, **options)
        for cell, directions, options in [
            ("lstm", "one", {"reverse": True}),
            ("gru", "both", {"reverse": True, "residual": True}),
            ("tanh", "both", {"residual": True, "variational": True}),
            ("lstm", "both", {"residual": True, "variational": True}),
            ("gru", "one", {"variational": True}),
        ]
    ),
]

IDENTITY = encoders.Identity()
CNN = encoders.Cnn(windows=(1, 2, 3), filters=2)

TRANSFORMER = {"heads": 2, "layers": 2, "feed_forward": 7, "dropout": 0.3}
STACKS = {
    "paper": {"norm_place": "after"},
    "before": {},
    "rms": {"norm": "rms", "activation": "swiglu", "positions": {"kind": "rotary"}, "layers": 1},
    "learned": {"activation": "gelu", "positions": {"kind": "learned", "length": 12}, "attention_dropout": 0.2},
    "one-hot": {"positions": {"kind": "one_hot", "length": 12}, "feed_forward_dropout": 0.2, "heads": 1},
}
TRANSFORMER_ENCODERS = [encoders.Transformer(**(TRANSFORMER | options)) for options in STACKS.values()]
LOOKING_BACK = encoders.Transformer(**TRANSFORMER, directions="one")
TRANSFORMER_DECODERS = [decoders.Transformer(**(TRANSFORMER | options)) for options in STACKS.values()]

SOFT, MONOTONIC, PREDICTIVE, CLOSEST, SAMPLED = WEIGHTS = (
    attentions.Softmax(),
    attentions.Local(position="monotonic", window=1),
    attentions.Local(position="predictive", window=1),
    attentions.Hard(choice="closest"),
    attentions.Hard(choice="sampled"),
)
SCORES = {
    "additive": Additive(width=7),
    "deep": Additive(width=7, layers=3),
    "shared": Additive(width=7, shared=True),
    "concat": attentions.Concat(width=7),
    "dot": attentions.Dot(),
    "general": attentions.General(),
    "cosine": attentions.Cosine(),
    "rbf": attentions.Rbf(gamma=0.5),
    "scaled": attentions.ScaledDot(),
    "scaled by width": attentions.ScaledDot(divisor="width"),
    "linear functions": attentions.Dot(query="linear", key="linear", value="linear", key_width=4, value_width=3),
    "gated": Additive(width=7, gate="scalar"),
    "sigmoid functions": attentions.General(query="sigmoid", key="sigmoid", value="sigmoid"),
}
PLACEMENTS = {
    "bahdanau": {"context": ("input", "readout"), "query": "previous"},
    "luong": {"context": ("readout",), "query": "current"},
    "feeding": {"context": ("readout",), "query": "current", "input_feeding": True},
    "next input": {"context": ("input",), "query": "current"},
    "next layer": {"context": ("next_layer",), "query": "current", "query_layer": "bottom", "layers": 2},
    "gnmt": {"context": ("every_layer", "readout"), "query": "previous", "query_layer": "bottom", "layers": 2},
    "all": {
        "context": ("every_layer", "readout"),
        "query": "current",
        "query_layer": "bottom",
        "layers": 3,
        "input_feeding": True,
        "residual": True,
    },
}
MEMORY_WIDTH = 6  # that of the decoder, for scores that compare vectors of one width


def decoder(score: str, weights: object, placement: str, **options: object) -> decoders.Rnn:
    attention = SCORES[score].changed(weights=weights)
    settings = {"width": 6, "readout_width": 4, "dropout": 0.3, "cell": "gru", **PLACEMENTS[placement], **options}
    return decoders.Rnn(attention=attention, **settings)


def grid() -> list[decoders.Rnn]:
    """Every score in every place; every pair of score, place, cell and kind of weights stands together somewhere."""
    return [
        decoder(score, WEIGHTS[(s + 2 * p) % len(WEIGHTS)], placement, cell=CELLS[(s + p) % len(CELLS)])
        for (s, score), (p, placement) in product(enumerate(SCORES), enumerate(PLACEMENTS))
        if possible(WEIGHTS[(s + 2 * p) % len(WEIGHTS)], placement)
    ]


def possible(weights: object, placement: str) -> bool:
    """A drawn position is rewarded by the next word, which a context for the next input does not reach."""
    return (weights, placement) != (SAMPLED, "next input")


ATTENTIONS = grid()
# Every score, placement, cell and kind of weights at least once.
SAMPLE = [decoder(name, WEIGHTS[s % 5], list(PLACEMENTS)[s % 7], cell=CELLS[s % 4]) for s, name in enumerate(SCORES)]
WITHOUT = [
    decoders.Rnn(attention=attention, width=6, readout_width=4, dropout=0.3, **options)
    for attention, options in [
        (attentions.NoAttention(), {"cell": "lstm", "layers": 2, "readout": "none", "residual": True}),
        (attentions.NoAttention(), {"cell": "tanh", "input_feeding": True, "bridge": "mlp"}),
        (attentions.NoAttention(), {"cell": "sigmoid", "readout": "none", "input_feeding": True}),
        (attentions.Fixed(), {"cell": "gru", "readout": "linear"}),
        (
            attentions.Fixed(width=3),
            {"cell": "gru", "readout": "maxout", "layers": 2, "context": ("every_layer", "readout")},
        ),
        (attentions.Fixed(), {"cell": "lstm", "input_feeding": True, "readout_word": False, "bridge": "zeros"}),
    ]
]
DECODERS = [
    *(
        decoders.Rnn(
            cell=cell,
            layers=layers,
            width=6,
            attention=Additive(width=7),
            readout=("tanh", "maxout")[layers - 1],
            readout_state=("current", "previous")[layers - 1],
            readout_width=4,
            dropout=0.3,
            bridge=bridge,
            variational=bridge == "copy",
        )
        for place, cell in enumerate(CELLS)
        for layers, bridge in (((1, "linear"), (2, "copy")), ((2, "zeros"), (1, "mlp")))[place % 2]
    ),
    *WITHOUT,
    *SAMPLE,
]
EVERY_DECODER = [*DECODERS, *TRANSFORMER_DECODERS]


def encoder_for(config: decoders.Rnn) -> encoders.Rnn:
    """One whose final state can be copied and whose states can be compared with those of this decoder."""
    return encoders.Rnn(cell=config.cell, layers=config.layers, width=config.width // 2, dropout=0.3)


MODELS = [
    EncoderDecoder(source=frontends.Tokens(width=5), target=frontends.Tokens(width=2), encoder=encoder, decoder=decoder)
    for encoder, decoder in [
        *((encoder, DECODERS[0]) for encoder in ENCODERS),
        *((encoder_for(decoder), decoder) for decoder in DECODERS[1:]),
    ]
]
MODELS += [
    EncoderDecoder(
        source=frontends.Tokens(width=4),
        target=frontends.Tokens(width=4),
        encoder=encoders.Rnn(cell=cell, layers=2, width=6, directions="one"),
        decoder=decoders.Rnn(cell=cell, layers=2, width=6, readout_width=4, bridge="copy"),
        share="cells",
    )
    for cell in CELLS
]
MODELS += [
    EncoderDecoder(
        source=frontends.Tokens(width=4, scaled=True),
        target=frontends.Tokens(width=8, scaled=True),
        encoder=encoder,
        decoder=decoder,
        tie=tie,
    )
    for encoder, decoder, tie in [
        *zip(TRANSFORMER_ENCODERS, TRANSFORMER_DECODERS, ["target", "none", "target", "none", "none"], strict=True),
        (TRANSFORMER_ENCODERS[0], decoders.Rnn(width=6, readout_width=8, bridge="zeros", dropout=0.3), "target"),
        (ENCODERS[0], TRANSFORMER_DECODERS[2], "none"),
        (LOOKING_BACK, TRANSFORMER_DECODERS[1], "none"),
        (IDENTITY, decoders.Rnn(cell="lstm", width=6, readout_width=8, bridge="mlp", dropout=0.3), "target"),
        (IDENTITY, decoders.Rnn(cell="gru", width=6, layers=2, readout_width=8, bridge="linear", dropout=0.3), "none"),
        (IDENTITY, TRANSFORMER_DECODERS[1], "none"),
        (CNN, decoders.Rnn(cell="gru", width=6, readout_width=8, bridge="mlp", dropout=0.3), "none"),
    ]
]
# Two turns are read and looked at in every way; turns of several conversations are rows of one batch.
TURNS = encoders.Rnn(cell="gru", width=5, directions="one", dropout=0.3)
HIERARCHICAL = [
    encoders.Hierarchical(words=encoders.Rnn(width=3, dropout=0.3), turns=TURNS),
    encoders.Hierarchical(words=encoders.Rnn(cell="lstm", layers=2, width=3), turns=TURNS.changed(cell="lstm")),
    encoders.Hierarchical(words=TRANSFORMER_ENCODERS[1], turns=TURNS.changed(cell="tanh", directions="both", layers=2)),
]
MODELS += [
    EncoderDecoder(source=frontends.Tokens(width=4), target=frontends.Tokens(width=2), encoder=encoder, decoder=decoder)
    for encoder, decoder in [
        (HIERARCHICAL[0], decoder("additive", SOFT, "bahdanau", looks_at="both")),
        (HIERARCHICAL[1], decoder("general", SOFT, "gnmt", looks_at="turns", cell="lstm")),
        (HIERARCHICAL[2], decoder("concat", SOFT, "feeding", looks_at="both", cell="lstm", bridge="mlp")),
        (HIERARCHICAL[0], decoder("shared", MONOTONIC, "luong")),
        (HIERARCHICAL[1], WITHOUT[1]),
        (HIERARCHICAL[2], WITHOUT[3]),
    ]
]
# With vectors of n-grams; their decoders stand nowhere else, so that searches and feeding run over them too.
NGRAMS = frontends.RecentNgrams(longest=3, width=5, buckets=11, dropout=0.2)
MODELS += [
    EncoderDecoder(
        source=frontends.Tokens(width=4), target=frontends.Tokens(width=4), encoder=one, decoder=other, ngrams=NGRAMS
    )
    for one, other in [
        (ENCODERS[0], decoders.Rnn(cell="lstm", width=6, readout_width=4, readout="linear", dropout=0.3)),
        (ENCODERS[0], decoders.Transformer(**(TRANSFORMER | {"activation": "swiglu"}))),
    ]
]
SOURCE_SYMBOLS, TARGET_SYMBOLS = 7, 8


def with_dropout(part: Any, share: float) -> Any:
    """The same with another dropout; of a hierarchical encoder, both its parts; identity has none."""
    if isinstance(part, encoders.Hierarchical):
        return part.changed(words=part.words.changed(dropout=share), turns=part.turns.changed(dropout=share))
    return part.changed(dropout=share) if hasattr(part, "dropout") else part


def label(config: object) -> str:
    """The test's name: every word and number that sets this member apart."""
    if isinstance(config, EncoderDecoder):
        tied = f" tied {config.tie}" * (config.tie != "none")
        tied += " ngrams" * (config.ngrams.longest > 1)
        return f"{label(config.encoder)} to {label(config.decoder)}" + " shared" * (config.share != "none") + tied
    if isinstance(config, decoders.Rnn):
        return f"{differences(config)} {differences(config.attention)}"
    return differences(config)


def differences(config: object) -> str:
    """The settings that are not the default, without widths."""
    default, words = type(config)(), [config.kind]
    for name, value in config:
        if value != getattr(default, name) and "width" not in name and name not in ("attention", "dropout"):
            shown = (
                differences(value)
                if hasattr(value, "kind")
                else "+".join(map(str, value))
                if isinstance(value, tuple)
                else value
            )
            words.append(name if shown is True else str(shown))
    return "-".join(words)


def model_of(config: EncoderDecoder) -> EncoderDecoderModel:
    return build_model(config, SOURCE_SYMBOLS, TARGET_SYMBOLS).eval()


def padded(*rows: list[int], length: int | None = None) -> Padded:
    length = length or max(map(len, rows))
    values = torch.tensor([row + [0] * (length - len(row)) for row in rows])
    return Padded(values, values != 0)


def batch_of(sources: list[list[int]], targets: list[list[int]], longer: int = 0) -> Batch:
    """START is 1 and END is 2; `longer` adds padding to both sides."""
    steps = max(map(len, targets)) + 1 + longer
    inputs = padded(*([1, *row] for row in targets), length=steps)
    outputs = padded(*([*row, 2] for row in targets), length=steps)
    real = outputs.mask.flatten().nonzero().squeeze(1)
    source = padded(*sources, length=max(map(len, sources)) + longer)
    source = replace(source, turns=turns_in(source.values.numpy(), source.mask.numpy()))
    return Batch(tuple(range(len(sources))), {"source": source}, Target(inputs, outputs, real))


def example(longer: int = 0) -> Batch:
    return batch_of([[3, 2, 5, 6], [5, 3], [6, 2, 4]], [[3, 4], [7, 5, 6, 3], [4]], longer)


class Leaves:
    """Stands for an encoder that leaves what this decoder can start from."""

    width = MEMORY_WIDTH

    def __init__(self, config: decoders.Rnn | decoders.Transformer) -> None:
        cells = 2 if getattr(config, "cell", "") == "lstm" else 1
        self.final = FinalShape(cells, config.layers, MEMORY_WIDTH)

    def __call__(self, vectors: Tensor, mask: Tensor, attention: bool = False) -> Memory:
        raise NotImplementedError

    def memory(self, lengths: tuple[int, ...] = (3, 1), dtype: torch.dtype = torch.float32) -> Memory:
        """Random numbers with sources of these lengths."""
        steps = max(lengths)
        mask = torch.arange(steps) < torch.tensor(lengths)[:, None]
        states = torch.randn(len(lengths), steps, self.width, dtype=dtype) * mask[:, :, None]
        final = (torch.randn(len(lengths), self.final.layers, self.width, dtype=dtype) for _ in range(self.final.parts))
        return Memory(len(mask), {"source": Remembered(states, mask)}, Final(*final))


def without_gradient(module: nn.Module) -> list[str]:
    return [name for name, value in module.named_parameters() if value.grad is None or not values_of(value.grad).any()]


def close(one: Tensor, other: Tensor, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=tolerance)


def tolerance_of(config: object) -> float:
    """What rounding may do: norms over a few elements make it larger."""
    parts = (config, getattr(config, "encoder", None), getattr(config, "decoder", None))
    return 1e-5 if any(getattr(part, "kind", "") == "transformer" for part in parts) else 1e-6
