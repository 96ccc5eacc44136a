"""The recurrent decoder beside one that is written down slowly; dropout and variational dropout by their patterns."""

import by_the_book
import pytest
import torch
from model_parts import ATTENTIONS, DECODERS, Leaves, close, label

from dragoman import decoders, encoders, frontends
from dragoman.contracts import Memory, Output, State
from dragoman.decoders import Rnn, RnnDecoder, build_decoder
from dragoman.errors import ConfigError
from dragoman.models import EncoderDecoder, build_model


@pytest.mark.parametrize("config", [*DECODERS, *ATTENTIONS[::2]], ids=label)
def test_the_fast_paths_are_the_slow_one(config: Rnn) -> None:
    encoder = Leaves(config)
    decoder, memory, words = (
        build_decoder(config, 2, encoder).eval(),
        encoder.memory(lengths=(3, 2)),
        torch.randn(2, 4, 2),
    )
    with torch.no_grad():
        found = decoder.run(words, decoder.start(memory))[0].hidden
        close(found, by_the_book.run(config, decoder, words, memory), 1e-5)


def trained(config: Rnn, steps: int = 4) -> tuple[RnnDecoder, Memory, Output, State]:
    encoder = Leaves(config)
    decoder, memory = build_decoder(config, 2, encoder).train(), encoder.memory(lengths=(3, 2))
    output, state = decoder.run(torch.randn(2, steps, 2), decoder.start(memory))
    return decoder, memory, output, state


def test_plain_dropout_differs_from_step_to_step() -> None:
    torch.manual_seed(2)
    zero = trained(Rnn(width=6, readout_width=50, dropout=0.5))[2].hidden == 0
    assert 0.3 < zero.float().mean() < 0.7
    assert not (zero[:, :1] == zero).all()


@pytest.mark.parametrize("placement", [{}, {"context": ("readout",), "query": "current"}], ids=["steps", "whole"])
def test_variational_dropout_leaves_out_the_same_at_every_step_and_differs_by_row(placement: dict[str, object]) -> None:
    torch.manual_seed(2)
    config = Rnn(width=6, readout_width=50, dropout=0.5, variational=True, layers=2, cell="lstm", **placement)
    _, _, output, state = trained(config)
    zero = output.hidden == 0
    assert 0.3 < zero.float().mean() < 0.7
    assert (zero[:, :1] == zero).all()
    assert not torch.equal(zero[0], zero[1])
    kept = state.moving["kept.hidden"]
    assert set(kept.unique().tolist()) == {0.0, 2.0}


def test_variational_dropout_holds_across_calls_and_reaches_the_recurrent_state() -> None:
    torch.manual_seed(3)
    config = Rnn(width=6, readout_width=5, dropout=0.5, variational=True, cell="tanh")
    encoder = Leaves(config)
    decoder, memory, words = build_decoder(config, 2, encoder).train(), encoder.memory(), torch.randn(2, 4, 2)
    state = decoder.start(memory)
    whole = decoder.run(words, state)[0].hidden
    first, middle = decoder.run(words[:, :2], state)
    second, _ = decoder.run(words[:, 2:], middle)
    close(torch.cat([first.hidden, second.hidden], 1), whole)
    without = State({**state.moving, "kept.hidden": torch.ones_like(state.moving["kept.hidden"])}, state.fixed)
    assert not torch.allclose(decoder.run(words, without)[0].hidden, whole)


def test_nothing_is_left_out_in_evaluation() -> None:
    config = Rnn(width=6, readout_width=5, dropout=0.5, variational=True)
    encoder = Leaves(config)
    decoder = build_decoder(config, 2, encoder).eval()
    assert not any(name.startswith("kept") for name in decoder.start(encoder.memory()).moving)


def test_cells_may_be_shared_only_where_they_are_alike() -> None:
    alike = {"cell": "gru", "layers": 2, "width": 6}
    plain = EncoderDecoder(
        source=frontends.Tokens(width=4),
        target=frontends.Tokens(width=4),
        encoder=encoders.Rnn(directions="one", **alike),
        decoder=decoders.Rnn(**alike),
        share="cells",
    )
    model = build_model(plain, 7, 8)
    assert all(mine is theirs[0] for mine, theirs in zip(model.decoder.cells, model.encoder.layers, strict=True))
    for change, name in [
        ({"encoder": plain.encoder.changed(directions="both")}, "encoder.directions must be 'one'"),
        ({"decoder": plain.decoder.changed(cell="lstm")}, "decoder.cell must be 'gru'"),
        ({"decoder": plain.decoder.changed(layers=1)}, "decoder.layers must be 2"),
        ({"decoder": plain.decoder.changed(width=5)}, "decoder.width must be 6"),
        ({"target": frontends.Tokens(width=5)}, "target.width must be 4"),
    ]:
        with pytest.raises(ConfigError, match=name):
            build_model(plain.changed(**change), 7, 8)
