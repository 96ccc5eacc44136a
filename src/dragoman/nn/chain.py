"""Sums and maxima over all ways to tag a sentence, where neighbors count (a linear chain).

Letters: B sentences, W words, K tags. The sums go step by step over words, all sentences and tags at once, as
products of probabilities that are brought back to 1 at each word (Rabiner 1989, V.A), in double precision, which no
confident model leaves: a product (B, K) × (K, K) a word in place of a logarithm of sums over (B, K, K). Gradients are
the probabilities that the backward pass finds anyway, so that nothing goes through autograd word by word.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.devices import in_double


@dataclass(frozen=True)
class Chain:
    """Scores of sequences of tags: those of tags at words are added to those of tags behind one another."""

    transitions: Float[Tensor, "K K"]  # of a tag (column) behind a tag (row)
    start: Float[Tensor, " K"]  # of the first tag
    end: Float[Tensor, " K"]  # of the last tag

    def barred(self, follows: Bool[Tensor, "J K"] | None) -> "Chain":
        """The same, where some tags cannot follow others; the last row is that of the start."""
        if follows is None:
            return self
        never = float("-inf")
        return Chain(
            self.transitions.masked_fill(~follows[:-1], never), self.start.masked_fill(~follows[-1], never), self.end
        )


def path_scores(
    emissions: Float[Tensor, "B W K"], tags: Int[Tensor, "B W"], mask: Bool[Tensor, "B W"], chain: Chain
) -> Float[Tensor, " B"]:
    """The score of one way to tag each sentence."""
    at_words = emissions.gather(2, tags[:, :, None])[:, :, 0]
    between = chain.transitions[tags[:, :-1], tags[:, 1:]]
    last = tags.gather(1, mask.sum(1, keepdim=True) - 1)[:, 0]
    inside = at_words.masked_fill(~mask, 0.0).sum(1) + between.masked_fill(~mask[:, 1:], 0.0).sum(1)
    return inside + chain.start[tags[:, 0]] + chain.end[last]


def log_partition(emissions: Float[Tensor, "B W K"], mask: Bool[Tensor, "B W"], chain: Chain) -> Float[Tensor, " B"]:
    """log Σ exp(score) over all ways to tag each sentence."""
    found: Tensor = LogPartition.apply(emissions, mask, chain.transitions, chain.start, chain.end)  # type: ignore[no-untyped-call]
    return found


def marginals(emissions: Float[Tensor, "B W K"], mask: Bool[Tensor, "B W"], chain: Chain) -> Float[Tensor, "B W K"]:
    """The probability of each tag at each word, over all ways to tag the others."""
    scaled = Scaled.of(emissions, chain)
    mask = mask.to(scaled.emissions.device)
    alphas, sizes, _ = forwards(scaled, mask)
    return (alphas * backwards(scaled, mask, alphas, sizes)[0]).transpose(0, 1).to(emissions)


@dataclass(frozen=True)
class Scaled:
    """Scores as factors, the largest of each kind 1; word by word, so that a step is one piece of memory."""

    emissions: Float[Tensor, "W B K"]
    transitions: Float[Tensor, "K K"]
    start: Float[Tensor, " K"]
    end: Float[Tensor, " K"]
    largest: tuple[Tensor, Tensor, Tensor, Tensor]  # logarithms that were taken off: (B, W), and three numbers

    @staticmethod
    def of(emissions: Float[Tensor, "B W K"], chain: Chain) -> "Scaled":
        scores = [in_double(one) for one in (emissions, chain.transitions, chain.start, chain.end)]
        tops = [scores[0].amax(2), *(score.max() for score in scores[1:])]
        at_words = (scores[0] - tops[0][:, :, None]).exp_().transpose(0, 1).contiguous()
        others = [(score - top).exp_() for score, top in zip(scores[1:], tops[1:], strict=True)]
        return Scaled(at_words, others[0], others[1], others[2], (tops[0], tops[1], tops[2], tops[3]))


def forwards(
    scaled: Scaled, mask: Bool[Tensor, "B W"]
) -> tuple[Float[Tensor, "W B K"], Float[Tensor, "W B 1"], Float[Tensor, " B"]]:
    """Probabilities of each tag given the words so far, what each word's sum was brought back by, and log Z."""
    alpha = scaled.start * scaled.emissions[0]
    size = alpha.sum(1, keepdim=True)
    alphas, sizes = [alpha / size], [size]
    real = mask.t()[:, :, None]
    for word in range(1, mask.shape[1]):
        alpha = (alphas[-1] @ scaled.transitions).mul_(scaled.emissions[word])
        size = alpha.sum(1, keepdim=True)
        alphas.append(torch.where(real[word], alpha.div_(size), alphas[-1]))
        sizes.append(size)
    of_end = alphas[-1] @ scaled.end
    steps = torch.stack(sizes).masked_fill(~real, 1.0)
    lengths, tops = mask.sum(1), scaled.largest
    logs = steps.log().sum((0, 2)) + (tops[0] * mask).sum(1) + (lengths - 1) * tops[1] + tops[2] + tops[3]
    return torch.stack(alphas), steps, logs + of_end.log()


def backwards(
    scaled: Scaled, mask: Bool[Tensor, "B W"], alphas: Float[Tensor, "W B K"], sizes: Float[Tensor, "W B 1"]
) -> tuple[Float[Tensor, "W B K"], Float[Tensor, "W B K"]]:
    """What makes of the probabilities so far those given all words; and the same times what its word says."""
    beta = scaled.end / (alphas[-1] @ scaled.end)[:, None]
    betas, heard = [beta], list[Tensor]()
    said, real, back = scaled.emissions / sizes, mask.t()[:, :, None], scaled.transitions.t()
    for word in range(mask.shape[1] - 1, 0, -1):
        heard.append(betas[-1] * said[word])
        betas.append(torch.where(real[word], heard[-1] @ back, betas[-1]))
    heard.append(betas[-1] * said[0])
    return torch.stack(betas[::-1]), torch.stack(heard[::-1])


class LogPartition(torch.autograd.Function):
    """∂ log Z / ∂ score of a tag at a word, or behind another, is its probability."""

    @staticmethod
    def forward(
        ctx: Any, emissions: Tensor, mask: Tensor, transitions: Tensor, start: Tensor, end: Tensor
    ) -> Float[Tensor, " B"]:
        scaled = Scaled.of(emissions, Chain(transitions, start, end))
        mask = mask.to(scaled.emissions.device)
        alphas, sizes, logs = forwards(scaled, mask)
        ctx.scaled = scaled
        ctx.save_for_backward(mask, alphas, sizes)
        return logs.to(emissions)

    @staticmethod
    def backward(ctx: Any, *weights: Float[Tensor, " B"]) -> tuple[Tensor | None, ...]:
        mask, alphas, sizes = ctx.saved_tensors
        betas, heard = backwards(ctx.scaled, mask, alphas, sizes)
        weight = in_double(weights[0])[None, :, None]
        real = mask.t()[:, :, None]
        at_words = alphas * betas * weight
        pairs = (alphas[:-1] * real[1:] * weight).flatten(0, 1).t() @ heard[1:].flatten(0, 1)
        of_start, of_end = at_words[0].sum(0), at_words[-1].sum(0)  # behind the last word its probabilities stay
        found = ((at_words * real).transpose(0, 1), None, pairs * ctx.scaled.transitions, of_start, of_end)
        return tuple(None if one is None else one.to(weights[0]) for one in found)


def best_path(emissions: Float[Tensor, "B W K"], mask: Bool[Tensor, "B W"], chain: Chain) -> Int[Tensor, "B W"]:
    """The way to tag each sentence that has the highest score (Viterbi 1967); behind its last word, its last tag."""
    best = chain.start + emissions[:, 0]
    from_where = list[Tensor]()
    stay = torch.arange(emissions.shape[2], device=emissions.device)
    for word in range(1, mask.shape[1]):
        value, before = (best[:, :, None] + chain.transitions).max(1)
        real = mask[:, word, None]
        best = torch.where(real, value + emissions[:, word], best)
        from_where.append(torch.where(real, before, stay))
    tags = [(best + chain.end).argmax(1)]
    for before in reversed(from_where):
        tags.append(before.gather(1, tags[-1][:, None])[:, 0])
    return torch.stack(tags[::-1], 1)
