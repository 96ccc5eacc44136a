import torch

from dragoman.frontends import Frames, FramesFrontend, build_frontend


def frontend() -> FramesFrontend:
    """Two numbers a step, vectors of three: W, U and b to be read off."""
    built = build_frontend(Frames(width=3), size=2).eval()
    with torch.no_grad():
        built.values.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [1, 1]]))
        built.values.bias.copy_(torch.tensor([0.0, 0, 10]))
        built.missing.weight.copy_(torch.tensor([[100.0, 0], [0, 100], [0, 0]]))
        built.absent.copy_(torch.tensor([5.0, 7]))
    return built


def test_numbers_become_vectors() -> None:
    vectors = frontend()(torch.tensor([[[1.0, 2]]]))
    assert vectors.tolist() == [[[1, 2, 13]]]


def test_what_is_missing_has_a_learnt_value_and_is_told() -> None:
    vectors = frontend()(torch.tensor([[[float("nan"), 2], [1, float("nan")]]]))
    assert vectors.tolist() == [[[105, 2, 17], [1, 107, 18]]]


def test_the_value_of_what_is_missing_is_learnt() -> None:
    built = frontend()
    built(torch.tensor([[[float("nan"), 2.0]]])).sum().backward()
    assert built.absent.grad.tolist() == [2, 0]
    assert all(part.grad.isfinite().all() for part in built.parameters())


def test_only_training_drops() -> None:
    built = build_frontend(Frames(width=64, dropout=0.5), size=2)
    values = torch.ones(1, 4, 2)
    assert (built(values) == 0).any()
    assert (built.eval()(values) != 0).all()
