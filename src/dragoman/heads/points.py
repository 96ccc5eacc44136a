"""Hidden vectors → the next point, or how it is distributed."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Choices, Config
from dragoman.contracts import Output
from dragoman.nn.linear import linear

FED = "fed"  # in the extras of an output: the point that was fed at each step
Origin = Literal["nothing", "fed"]
ORIGINS: dict[Origin, str] = {
    "nothing": "y_t = W h_t + b",
    "fed": "y_t = y_(t−1) + W h_t + b, so that a step is said from the point before (Martinez et al. 2017)",
}
Own = Literal["best", "sampled"]
TINY = 1e-12


class Said(Config):
    """What heads of points have in common."""

    origin: Annotated[Origin, Choices(ORIGINS)] = "nothing"
    """from where a point is said: nothing, or fed"""


class Points(Said):
    """One point: the mean of what may come, as the least squared error is (Becker et al. 2018)."""

    kind: Literal["points"] = "points"


class Mixture(Said):
    """Several Gaussians, each with its weight, for when the future forks (Bishop 1994; Graves 2013, 4)."""

    kind: Literal["mixture"] = "mixture"
    components: Annotated[int, Field(ge=1, le=1000)] = 5
    """Gaussians at each step"""
    covariance: Literal["diagonal", "full"] = "diagonal"
    """diagonal: each feature varies by itself; full: two features vary together (Graves 2013, eq. 24)"""
    least: Annotated[float, Field(gt=0, le=1)] = 0.01
    """standard deviation of a Gaussian at least, in those of the training data"""


class PointsHead(nn.Module):
    """y_t = W h_t + b, from nothing or from the point before (Becker et al. 2018)."""

    def __init__(self, config: Points, width: int, size: int) -> None:
        super().__init__()
        self.origin = config.origin
        self.output = linear(width, size)
        if self.origin == "fed":
            quieten(self.output)

    def numbers(self, output: Output) -> Float[Tensor, "N L F"]:
        said: Tensor = self.output(output.hidden)
        return said + fed_to(output, said) if self.origin == "fed" else said

    def own(self, output: Output, how: Own) -> Float[Tensor, "N L F"]:
        """What the model is fed of its own."""
        return self.numbers(output)


@dataclass(frozen=True)
class Gaussians:
    """Mixtures of K Gaussians over F features, at each of L steps of N rows."""

    weights: Float[Tensor, "N L K"]  # logarithms, of which the exponentials sum to 1
    means: Float[Tensor, "N L K F"]
    deviations: Float[Tensor, "N L K F"]
    correlation: Float[Tensor, "N L K"] | None = None  # of two features

    def log_density(self, points: Float[Tensor, "N L F"]) -> Float[Tensor, "N L"]:
        """log p(y); features that are missing (NaN) are left out, as if nobody had asked for them."""
        known = ~points.isnan()[:, :, None]
        apart = torch.where(known, points.nan_to_num(0.0)[:, :, None] - self.means, 0.0) / self.deviations
        each = -0.5 * apart.square() - self.deviations.log() - 0.5 * math.log(2 * math.pi)
        logs = torch.where(known, each, 0.0).sum(-1)
        if self.correlation is not None:
            rho = torch.where(known.all(-1), self.correlation, 0.0)
            rest, (x, y) = 1 - rho.square(), apart.unbind(-1)
            square = x.square() + y.square()
            logs = logs + 0.5 * square - 0.5 * (square - 2 * rho * x * y) / rest - 0.5 * rest.log()
        return torch.logsumexp(self.weights + logs, -1)

    def height(self) -> Float[Tensor, "N L K"]:
        """log of each Gaussian's share of the density at its own mean."""
        logs = self.weights - self.deviations.log().sum(-1)
        return logs if self.correlation is None else logs - 0.5 * (1 - self.correlation.square()).log()

    def most_likely(self) -> Float[Tensor, "N L F"]:
        """The mean of the Gaussian that is highest: about the mode (Bishop 1994, eq. 38)."""
        return self.of(self.height().argmax(-1))

    def mean(self) -> Float[Tensor, "N L F"]:
        return (self.weights.exp()[..., None] * self.means).sum(-2)

    def of(self, component: Int[Tensor, "N L"], part: Tensor | None = None) -> Float[Tensor, "N L F"]:
        values = self.means if part is None else part
        places = component[:, :, None, None].expand(-1, -1, 1, values.shape[-1])
        return values.gather(2, places).squeeze(2)

    def drawn(
        self, choice: Float[Tensor, "N L"], noise: Float[Tensor, "N L F"], temperature: float = 1.0
    ) -> Float[Tensor, "N L F"]:
        """A point, from a number between 0 and 1 that chooses a Gaussian and normal ones for each feature."""
        weights = torch.log_softmax(self.weights / temperature, -1).exp()
        component = (weights.cumsum(-1) < choice[..., None]).sum(-1).clamp(max=weights.shape[-1] - 1)
        spread = self.of(component, self.deviations) * math.sqrt(temperature)
        if self.correlation is not None:
            rho = self.correlation.gather(2, component[..., None]).squeeze(2)
            x, y = noise.unbind(-1)
            noise = torch.stack([x, rho * x + (1 - rho.square()).sqrt() * y], -1)
        return self.of(component) + spread * noise


class MixtureHead(nn.Module):
    """p(y_t) = Σ_k π_k N(y_t; μ_k, Σ_k), with π = softmax(a), σ = exp(s), ρ = tanh(r), all of them W h_t + b (Bishop
    1994; Graves 2013, eq. 18 to 25)."""

    def __init__(self, config: Mixture, width: int, size: int) -> None:
        super().__init__()
        self.origin, self.components, self.least, self.size = config.origin, config.components, config.least, size
        self.full = config.covariance == "full"
        self.parts = [config.components, config.components * size, config.components * size]
        self.parts += [config.components] * self.full
        self.output = linear(width, sum(self.parts))
        if self.origin == "fed":
            quieten(self.output)
        with torch.no_grad():  # Gaussians that start in one place would stay there
            self.output.bias[self.components : sum(self.parts[:2])].uniform_(-0.5, 0.5)

    def gaussians(self, output: Output) -> Gaussians:
        weights, means, spread, *rest = self.output(output.hidden).split(self.parts, -1)
        means = means.unflatten(-1, (self.components, self.size))
        if self.origin == "fed":
            means = means + fed_to(output, means[:, :, 0])[:, :, None]
        deviations = spread.clamp(-10, 10).exp().unflatten(-1, (self.components, self.size)) + self.least
        correlation = 0.99 * torch.tanh(rest[0]) if rest else None
        return Gaussians(torch.log_softmax(weights, -1), means, deviations, correlation)

    def numbers(self, output: Output) -> Float[Tensor, "N L F"]:
        return self.gaussians(output).most_likely()

    def own(self, output: Output, how: Own) -> Float[Tensor, "N L F"]:
        """What the model is fed of its own: the most likely point, or one that is drawn."""
        found = self.gaussians(output)
        if how == "best":
            return found.most_likely()
        means = found.means[:, :, 0]
        return found.drawn(torch.rand_like(means[..., 0]), torch.randn_like(means))


def fed_to(output: Output, like: Tensor) -> Float[Tensor, "N L F"]:
    """The points that were fed; what was missing counts as nothing."""
    return output.extras[FED].to(like.dtype).nan_to_num(0.0)


def quieten(layer: nn.Linear) -> None:
    """Begin with no step at all: what was fed is said again."""
    with torch.no_grad():
        layer.weight.mul_(0.1)
        layer.bias.zero_()
