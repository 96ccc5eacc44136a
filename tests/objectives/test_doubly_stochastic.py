import pytest
import torch

from dragoman.contracts import Batch, Padded, Target
from dragoman.errors import ConfigError
from dragoman.models import EncoderDecoder, build_model
from dragoman.objectives import CrossEntropy, build_objective
from dragoman.objectives.doubly_stochastic import unevenness
from dragoman.recipes import compose
from dragoman.regimes import Teacher, build_regime
from dragoman.training.learner import Learner

YES, NO = True, False


def batch_of(source: list[list[bool]], target: list[list[bool]]) -> Batch:
    sides = [
        Padded(torch.zeros(len(mask), len(mask[0]), dtype=torch.int64), torch.tensor(mask)) for mask in (source, target)
    ]
    return Batch((0, 1), {"source": sides[0]}, Target(sides[1], sides[1], sides[1].mask.flatten().nonzero().squeeze(1)))


def test_sums_over_words_that_are_not_one() -> None:
    """First row: sums 1.5 and 0.5, so 0.25 + 0.25. Second: a word and a position are padding; (1 − 1)² is left."""
    weights = torch.tensor([[[0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [0.3, 0.7]]])
    batch = batch_of([[YES, YES], [YES, NO]], [[YES, YES], [YES, NO]])
    torch.testing.assert_close(unevenness(weights, batch), torch.tensor(0.5))


def test_a_picture_has_several_positions() -> None:
    """Four cells of one picture, one word: (1 − 1/4)² four times."""
    batch = batch_of([[YES], [NO]], [[YES], [YES]])
    torch.testing.assert_close(unevenness(torch.full((2, 1, 4), 0.25), batch), torch.tensor(4 * 0.75**2))


@pytest.mark.parametrize(("looks_at", "seen"), [("turns", "looks at turns"), ("both", "looks at turns too")])
def test_looks_at_turns_are_refused(looks_at: str, seen: str) -> None:
    """One weight a turn has no place beside the words of the source."""
    given = {"model.decoder.looks_at": looks_at, "objective.doubly_stochastic": 1}
    with pytest.raises(ConfigError, match=f"looks_at = '{looks_at}' {seen}. Set model.decoder.looks_at = 'words', or"):
        compose("hred", "tiny", ("talks.jsonl",), settings=given)
    compose("hred", "tiny", ("talks.jsonl",), settings=given | {"model.decoder.looks_at": "words"})
    compose("hred", "tiny", ("talks.jsonl",), settings=given | {"objective.doubly_stochastic": 0})


def test_a_model_without_such_a_look_is_told() -> None:
    model = build_model(EncoderDecoder(decoder={"kind": "transformer"}, encoder={"kind": "transformer"}), 8, 8)
    with pytest.raises(ConfigError, match=r"objective\.doubly_stochastic is about where a recurrent decoder looks"):
        Learner(model, build_regime(Teacher()), build_objective(CrossEntropy(doubly_stochastic=1.0)))
