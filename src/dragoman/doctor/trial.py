"""A tiny model, once forwards and backwards: does the arithmetic work at all?"""

import math
import time

from dragoman.doctor.findings import Finding


def trial_finding() -> Finding:
    """Whatever breaks in here is what the user wants to hear of, in a line."""
    started_at = time.monotonic()
    try:
        loss, finite = trial()
    except Exception as error:
        advice = "Reinstall torch, and report it with this line if that does not help."
        return Finding("trial", "problem", f"{type(error).__name__}: {error}".splitlines()[0], advice)
    seconds = time.monotonic() - started_at
    if not finite:
        advice = "This torch computes wrongly here; try another version of it."
        return Finding("trial", "problem", f"numbers that are not finite (loss {loss})", advice)
    return Finding("trial", "ok", f"a tiny model learns: loss {loss:.3f}, {seconds:.1f} s")


def trial() -> tuple[float, bool]:
    """The loss, and whether it and all gradients are finite numbers."""
    import torch

    from dragoman import decoders, encoders, frontends
    from dragoman.data.collate import collate_pairs
    from dragoman.models import EncoderDecoder, build_model
    from dragoman.nn.attention import Additive
    from dragoman.objectives import CrossEntropy, build_objective
    from dragoman.regimes import teacher

    settings = EncoderDecoder(
        source=frontends.Tokens(width=8),
        target=frontends.Tokens(width=8),
        encoder=encoders.Rnn(width=8),
        decoder=decoders.Rnn(width=8, readout_width=8, attention=Additive(width=8)),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = build_model(settings, source_size=9, target_size=9)
        batch = collate_pairs([[5, 6, 7], [8]], [[7, 6, 5], [8]])
        [loss] = build_objective(CrossEntropy())(teacher(model, batch), model.head, batch).values()
        torch.autograd.backward(loss.total)
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    value = loss.total.item() / loss.count
    return value, math.isfinite(value) and all(bool(gradient.isfinite().all()) for gradient in gradients)
