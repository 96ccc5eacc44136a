"""Linear models without a training loop to tune: squared hinge and squared error with an L2 penalty, solved by Newton's
method with conjugate gradients."""

import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.baselines.clock import check_time
from dragoman.baselines.sparse import Sparse

NEWTON_STEPS = 12
GRADIENT_STEPS = 12  # of conjugate gradients, within one step of Newton
ENOUGH = 0.001  # of the first gradient, most of which is the constant: a smaller one ends the search
STEPS = tuple(0.5**power for power in range(8))  # of the line search


def squared_hinge(
    features: Sparse, signs: Float[Tensor, "N K"], strength: float, steps: int = NEWTON_STEPS
) -> Float[Tensor, "D K"]:
    """W with least ½‖w_k‖² + C Σ_i max(0, 1 − y_ik x_i·w_k)² in each column: a linear support vector machine per label,
    one against the rest (Fan et al. 2008). C = `strength`."""
    weights = torch.zeros(features.width, signs.shape[1])
    scores = torch.zeros_like(signs)
    first: Tensor | None = None
    for _ in range(steps):
        slack = (1 - signs * scores).clamp_(min=0)
        gradient = weights - 2 * strength * (features.transposed @ (signs * slack))
        size = gradient.norm(dim=0)
        first = size if first is None else first
        if bool((size <= ENOUGH * first + 1e-12).all()):
            break
        step = conjugate_gradients(features, (slack > 0).float(), strength, -gradient)
        ahead = features.matrix @ step
        share = line_search(weights, step, scores, ahead, signs, strength)
        weights += share * step
        scores += share * ahead
    return weights


def conjugate_gradients(
    features: Sparse,
    active: Float[Tensor, "N K"] | float,
    strength: float,
    wanted: Float[Tensor, "D K"],
    steps: int = 0,
) -> Float[Tensor, "D K"]:
    """s with (I + 2C Xᵀ A X) s = wanted, in each column by itself."""
    found, rest = torch.zeros_like(wanted), wanted.clone()
    direction, before = rest.clone(), rest.square().sum(0)
    enough = 0.01 * before if steps == 0 else 1e-8 * before
    for _ in range(steps or GRADIENT_STEPS):
        check_time()
        turned = direction + 2 * strength * (features.transposed @ (active * (features.matrix @ direction)))
        share = before / (direction * turned).sum(0).clamp(min=1e-20)
        found += share * direction
        rest -= share * turned
        now = rest.square().sum(0)
        if bool((now <= enough + 1e-20).all()):
            break
        direction = rest + now / before.clamp(min=1e-20) * direction
        before = now
    return found


def line_search(
    weights: Tensor, step: Tensor, scores: Tensor, ahead: Tensor, signs: Tensor, strength: float
) -> Float[Tensor, " K"]:
    """The share of a step that lowers each column most."""
    square, mixed, ahead_square = (weights * weights).sum(0), (weights * step).sum(0), (step * step).sum(0)
    losses = [
        0.5 * (square + 2 * share * mixed + share * share * ahead_square)
        + strength * (1 - signs * (scores + share * ahead)).clamp_(min=0).square().sum(0)
        for share in STEPS
    ]
    best = torch.stack(losses).argmin(0)
    return torch.tensor(STEPS)[best]


def ridge(features: Sparse, targets: Float[Tensor, "N K"], strength: float, steps: int = 60) -> Float[Tensor, "D K"]:
    """W with least ½‖w_k‖² + C Σ_i (t_ik − x_i·w_k)² in each column (Hoerl and Kennard 1970). C = `strength`."""
    wanted = 2 * strength * (features.transposed @ targets)
    return conjugate_gradients(features, 1.0, strength, wanted, steps)
