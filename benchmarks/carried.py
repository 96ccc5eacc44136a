"""The weights of the harness's Transformer in a model of dragoman, so that all columns decode with the same numbers.

The harness keeps sines in the first half of a vector and cosines in the second; here they alternate, as in the paper.
All that lies along the residual stream is put into that order, which changes no score.

`python benchmarks/carried.py --lab DIR` trains such a model with dragoman and leaves it as `ckpt/fast.pt` in that
folder, in place of the one that the harness trains for minutes: 3 + 3 layers of 256, as in `peers.py`, with the
schedule, dropout and moving average of the recipe vaswani2017. The same command goes on after an interruption.
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

PARTS = {
    "sa.qkv": "attention.of_all",
    "sa.o": "attention.output",
    "f1": "feed_forward.wide",
    "f2": "feed_forward.output",
}
PARTS |= {"n1": "around_attention.norm", "n3": "around_feed_forward.norm", "n2": "around_cross.norm"}
PARTS |= {"ca.q": "cross.of_query", "ca.kv": "cross.of_memory", "ca.o": "cross.output"}
INTO_STREAM = ("sa.o", "ca.o", "f2", "n1", "n2", "n3", "ne", "nd")  # rows lie along it; columns of the others do
PLACES = 512  # that the harness has a table of
SYMBOLS = {"<pad>": "<pad>", "<s>": "<pad>"}  # their first symbol is the one of the padding


def carried(theirs: dict[str, Tensor], their_symbols: Sequence[str], our_symbols: Sequence[str]) -> dict[str, Tensor]:
    """By the names of our model."""
    width = theirs["emb.weight"].shape[1]
    order = torch.arange(width).view(2, -1).t().flatten()
    numbers = {symbol: number for number, symbol in enumerate(their_symbols)}
    vectors = theirs["emb.weight"][[numbers[SYMBOLS.get(symbol, symbol)] for symbol in our_symbols]][:, order]
    found = {f"{side}.embedding.weight": vectors for side in ("source", "target")} | {"head.output.weight": vectors}
    for side, name, norm in (("enc", "encoder", "ne"), ("dec", "decoder", "nd")):
        for key, value in theirs.items():
            part, _, kind = key.rpartition(".")
            if part == norm:
                found[f"{name}.last_norm.{kind}"] = value[order]
            elif part.startswith(f"{side}."):
                _, layer, inner = part.split(".", 2)
                found[f"{name}.layers.{layer}.{PARTS[inner]}.{kind}"] = turned(value, inner, order)
    return found


def turned(value: Tensor, part: str, order: Tensor) -> Tensor:
    if part in INTO_STREAM:
        return value[order]
    return value[:, order] if value.dim() == 2 else value


def brought(ours: dict[str, Tensor], our_symbols: Sequence[str], their_symbols: Sequence[str]) -> dict[str, Tensor]:
    """The way back. Their padding is our START, as theirs begins with it; ours is never read."""
    width = ours["source.embedding.weight"].shape[1]
    order = torch.arange(width).view(2, -1).t().flatten().argsort()
    numbers = {symbol: number for number, symbol in enumerate(our_symbols)} | {"<pad>": our_symbols.index("<s>")}
    found = {"emb.weight": ours["source.embedding.weight"][[numbers[symbol] for symbol in their_symbols]][:, order]}
    angles = torch.arange(PLACES)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width))
    found["pos"] = torch.cat([angles.sin(), angles.cos()], 1)
    names = {ours: theirs for theirs, ours in PARTS.items()}
    for side, name, norm in (("enc", "encoder", "ne"), ("dec", "decoder", "nd")):
        for key, value in ours.items():
            part, _, kind = key.removeprefix(f"{name}.").rpartition(".")
            if not key.startswith(f"{name}."):
                continue
            if part == "last_norm":
                found[f"{norm}.{kind}"] = value[order]
            else:
                _, layer, inner = part.split(".", 2)
                found[f"{side}.{layer}.{names[inner]}.{kind}"] = turned(value, names[inner], order)
    return found


def symbols_of(lab: Path) -> tuple[list[str], list[str]]:
    """Theirs, and ours of the same vocabulary."""
    listed = (lab / "data" / "m30k" / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n")
    return listed, ["<pad>", "<unk>", "<s>", "</s>", *(one for one in listed if one not in ("<pad>", "<unk>", "</s>"))]


def main() -> None:
    from dragoman.cli.progress import preparing, show
    from dragoman.experiment import train
    from dragoman.pipeline import Pipeline
    from dragoman.recipes import compose
    from peers import settings_of, write_vocabulary
    from sets import WORK

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lab", type=Path, required=True, help="folder of the peers' prepared data")
    parser.add_argument("--steps", type=int, default=3600)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    lab, run = given.lab.resolve(), WORK / "carried-run"
    write_vocabulary(lab)
    taught = settings_of("transformer", lab, given.steps, given.threads)
    recipe = compose("vaswani2017", train=(("-", "-"),)).settings.training
    dev = tuple(str(lab / "data" / "m30k" / f"dev.{side}") for side in ("src", "tgt"))
    data = taught.data.changed(valid=(dev,))
    stacks = {name: getattr(taught.model, name).changed(dropout=0.2) for name in ("encoder", "decoder")}
    training = taught.training.changed(
        batching=taught.training.batching.changed(tokens=2048),
        optimiser=recipe.optimiser,
        schedule=recipe.schedule,
        average=recipe.average,
        validate_every=400,
    )
    settings = taught.changed(data=data, model=taught.model.changed(**stacks), training=training)
    finished = show(train(settings, run, preparing=preparing), run)
    if finished is None or finished.signal is not None:
        raise SystemExit("Interrupted; the same command goes on.")
    listed, ours = symbols_of(lab)
    weights = brought(Pipeline.load(run, "cpu").model.state_dict(), ours, listed)
    (lab / "ckpt").mkdir(exist_ok=True)
    torch.save(weights, lab / "ckpt" / "fast.pt")


if __name__ == "__main__":
    main()
