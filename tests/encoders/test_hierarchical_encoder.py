"""An encoder over the words of each turn, and one over the turns."""

import pytest
import torch

from dragoman import decoders, encoders, frontends
from dragoman.config import validate
from dragoman.data.collate import collate_sources
from dragoman.data.tokenizers import END
from dragoman.errors import ConfigError
from dragoman.models import EncoderDecoder, build_model

CONFIG = encoders.Hierarchical(words=encoders.Rnn(width=3), turns=encoders.Rnn(width=5, directions="one"))


def test_each_turn_is_read_by_itself_and_all_of_them_in_order() -> None:
    encoder = encoders.HierarchicalEncoder(CONFIG, 4).eval()
    source = collate_sources([[5, 6, END, 7], [8]]).sources["source"]
    vectors = torch.randn(2, source.values.shape[1], 4)
    memory = encoder(vectors, source.mask, turns=source.turns)
    own = [encoder.words(part, torch.ones(part.shape[:2], dtype=torch.bool)) for part in
           (vectors[:1, :3], vectors[:1, 3:], vectors[1:, :2])]  # fmt: skip
    words = torch.cat([one.sequences["source"].states for one in own[:2]], 1)
    torch.testing.assert_close(memory.sequences["source"].states[:1], words)
    torch.testing.assert_close(memory.sequences["source"].states[1:, :2], own[2].sequences["source"].states)
    assert not memory.sequences["source"].states[1:, 2:].any()
    said = torch.stack([one.final.hidden[0, -1] for one in own[:2]])[None]
    above = encoder.turns(said, torch.ones(1, 2, dtype=torch.bool))
    torch.testing.assert_close(memory.sequences["turns"].states[:1], above.sequences["source"].states)
    torch.testing.assert_close(memory.final.hidden[:1], above.final.hidden)
    assert memory.sequences["turns"].mask.tolist() == [[True, True], [True, False]]


def test_the_order_of_turns_and_of_words_counts() -> None:
    encoder = encoders.HierarchicalEncoder(CONFIG, 4).eval()
    table = torch.randn(9, 4)

    def final(row: list[int]) -> torch.Tensor:
        source = collate_sources([row]).sources["source"]
        return encoder(table[source.values], source.mask, turns=source.turns).final.hidden

    one = final([5, 6, END, 7])
    for other in ([7, END, 5, 6], [6, 5, END, 7], [5, 6, 7], [5, END, 6, 7]):
        assert not torch.allclose(one, final(other), atol=1e-4)


@pytest.mark.parametrize(
    ("decoder", "sentence"),
    [
        ({"kind": "transformer"}, "which a Transformer has no place for"),
        ({"bridge": "zeros"}, "the decoder sees nothing of what reads the turns"),
        ({"looks_at": "both", "attention": {"kind": "none"}}, "needs an attention with soft weights"),
        ({"looks_at": "turns", "attention": {"weights": {"kind": "hard"}}}, "needs an attention with soft weights"),
    ],
)
def test_decoders_that_would_not_see_the_turns_are_refused(decoder: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError) as told:
        validate(EncoderDecoder, {"encoder": {"kind": "hierarchical"}, "decoder": decoder})
    assert sentence in str(told.value)


def test_turns_are_looked_at_where_an_encoder_leaves_some() -> None:
    with pytest.raises(ConfigError, match=r"this encoder leaves none. Set model.encoder.kind = 'hierarchical'"):
        build_model(EncoderDecoder(decoder=decoders.Rnn(looks_at="turns")), 7, 8)


def test_looks_are_told_by_the_name_of_what_was_looked_at() -> None:
    batch = collate_sources([[5, 6, END, 7], [8]])
    for looks_at, names in {"words": {"source"}, "turns": {"turns"}, "both": {"source", "turns"}}.items():
        config = EncoderDecoder(
            source=frontends.Tokens(width=4), encoder=CONFIG, decoder=decoders.Rnn(width=6, looks_at=looks_at)
        )
        model = build_model(config, 9, 9).eval()
        output, _ = model.decode(torch.tensor([[1, 3], [1, 4]]), model.begin(batch), attention=True)
        assert set(output.attention) == names
        for name, weights in output.attention.items():
            assert weights.shape == (2, 1, 2, {"source": 5, "turns": 2}[name])
            torch.testing.assert_close(weights.sum(3), torch.ones(2, 1, 2))
