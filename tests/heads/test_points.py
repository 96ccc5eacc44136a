import math

import pytest
import torch

from dragoman.contracts import Output
from dragoman.heads import Mixture, Points, build_points_head
from dragoman.heads.points import FED, Gaussians, MixtureHead, PointsHead

LOG_TWO_PI = math.log(2 * math.pi)
NAN = float("nan")


def mixture(correlation: float | None = None) -> Gaussians:
    """Two Gaussians: of weight ¾ around (0, 0) with deviations 1 and 2, of weight ¼ around (10, 10) with 1 and 1."""
    rho = None if correlation is None else torch.tensor([[[correlation, 0.0]]])
    return Gaussians(
        torch.tensor([[[0.75, 0.25]]]).log(),
        torch.tensor([[[[0.0, 0.0], [10.0, 10.0]]]]),
        torch.tensor([[[[1.0, 2.0], [1.0, 1.0]]]]),
        rho,
    )


def density(gaussians: Gaussians, *point: float) -> float:
    return gaussians.log_density(torch.tensor([[point]])).item()


def test_log_density_by_hand() -> None:
    """At (1, 2) the second is too far to count: log ¾ − ½ − ½ − log 2 − log 2π."""
    assert density(mixture(), 1.0, 2.0) == pytest.approx(math.log(0.75) - 1 - math.log(2) - LOG_TWO_PI, abs=1e-5)


def test_features_that_are_missing_are_left_out() -> None:
    expected = math.log(0.75) - 0.5 - 0.5 * LOG_TWO_PI
    assert density(mixture(), 1.0, NAN) == pytest.approx(expected, abs=1e-5)
    assert density(mixture(0.5), 1.0, NAN) == pytest.approx(expected, abs=1e-5)
    assert density(mixture(), NAN, NAN) == pytest.approx(0.0, abs=1e-6)


def test_two_features_that_vary_together_agree_with_torch() -> None:
    cov = torch.tensor([[1.0, 0.6 * 2], [0.6 * 2, 4.0]])
    other = torch.distributions.MultivariateNormal(torch.zeros(2), cov)
    point = torch.tensor([0.7, -1.1])
    expected = math.log(0.75) + other.log_prob(point).item()
    assert density(mixture(0.6), *point.tolist()) == pytest.approx(expected, abs=1e-4)


def test_most_likely_is_the_highest_and_not_the_heaviest() -> None:
    """Shares of the density at their means: ¾ / 2 and ¼ / 1; with a deviation of 4 the other is higher."""
    assert mixture().most_likely().tolist() == [[[0, 0]]]
    wide = Gaussians(mixture().weights, mixture().means, torch.tensor([[[[1.0, 4.0], [1.0, 1.0]]]]))
    assert wide.most_likely().tolist() == [[[10, 10]]]
    assert mixture().mean().tolist() == [[[2.5, 2.5]]]


def test_draws_choose_a_gaussian_and_a_point_of_it() -> None:
    noise = torch.tensor([[[1.0, -1.0]]])
    assert mixture().drawn(torch.tensor([[0.7]]), noise).tolist() == [[[1, -2]]]
    assert mixture().drawn(torch.tensor([[0.8]]), noise).tolist() == [[[11, 9]]]
    assert mixture().drawn(torch.tensor([[1.0]]), noise).tolist() == [[[11, 9]]]


def test_draws_have_the_moments_of_the_mixture() -> None:
    torch.manual_seed(1)
    one = Gaussians(
        torch.zeros(1, 1, 1), torch.tensor([[[[1.0, 2.0]]]]), torch.tensor([[[[0.5, 2.0]]]]), torch.tensor([[[0.8]]])
    )
    many = Gaussians(*(part.expand(4000, *part.shape[1:]) for part in (one.weights, one.means, one.deviations)))
    many = Gaussians(many.weights, many.means, many.deviations, one.correlation.expand(4000, 1, 1))
    drawn = many.drawn(torch.rand(4000, 1), torch.randn(4000, 1, 2))[:, 0]
    torch.testing.assert_close(drawn.mean(0), torch.tensor([1.0, 2.0]), atol=0.1, rtol=0)
    assert torch.corrcoef(drawn.T)[0, 1].item() == pytest.approx(0.8, abs=0.03)


def output(hidden: torch.Tensor, fed: list[float]) -> Output:
    return Output(hidden, extras={FED: torch.tensor([[fed]])})


def test_points_from_nothing_and_from_the_point_before() -> None:
    hidden = torch.ones(1, 1, 3)
    for origin, expected in (("nothing", [[[3.0, 1.0]]]), ("fed", [[[8.0, 1.0]]])):
        head = build_points_head(Points(origin=origin), 3, 2)
        assert isinstance(head, PointsHead)
        with torch.no_grad():
            head.output.weight.copy_(torch.tensor([[1.0, 1, 1], [0, 0, 0]]))
            head.output.bias.copy_(torch.tensor([0.0, 1]))
        assert head.numbers(output(hidden, [5.0, NAN])).tolist() == expected


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_gaussians_of_a_head_are_gaussians(covariance: str) -> None:
    head = build_points_head(Mixture(components=3, covariance=covariance, least=0.1), 4, 2)
    assert isinstance(head, MixtureHead)
    found = head.gaussians(Output(100 * torch.randn(2, 5, 4)))
    torch.testing.assert_close(found.weights.exp().sum(-1), torch.ones(2, 5))
    assert (found.deviations >= 0.1).all()
    assert (found.correlation is not None) == (covariance == "full")
    assert found.correlation is None or (found.correlation.abs() < 1).all()
    assert found.log_density(torch.randn(2, 5, 2)).isfinite().all()
