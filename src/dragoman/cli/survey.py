"""How a survey of data looks in a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

TALLEST = "▁▂▃▄▅▆▇█"
SIDES = ("source", "target")


def print_survey(summary: Mapping[str, Any], console: Console) -> None:
    for name, split in summary.items():
        known = split["coverage"]
        console.print(f"\n{name}: {split['pairs']:,} pairs on {split['lines']:,} lines", style="bold")
        for line in findings_lines(split["findings"]) if split["findings"] else ["  nothing odd"]:
            console.print(line, soft_wrap=True)
        for reason, count in split["filtered"].items():
            if count:
                console.print(f"  {count:,} pairs are left out by data.filters: {reason}")
        if split.get("turns") is not None:
            console.print(f"\n  {split['conversations']:,} conversations")
            for line in picture(split["turns"], "turns"):
                console.print(f"  {line}", soft_wrap=True)
        for side in SIDES:
            shown = f"{side}: {split['distinct_characters'][side]:,} different characters"
            vocabulary = f", {known[side]:.2%} of the tokens in the vocabulary" if known else ""
            console.print(f"\n  {shown}{vocabulary}")
            for unit in ("characters", "tokens"):
                if (lengths := split["lengths"][side][unit]) is not None:
                    for line in picture(lengths, unit):
                        console.print(f"  {line}", soft_wrap=True)


def findings_lines(findings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How many, what, and where first."""
    counts = [f"{item['count']:,}" for item in findings]
    width = max(map(len, counts))
    for item, count in zip(findings, counts, strict=True):
        more = " …" if item["count"] > len(item["places"]) else ""
        yield f"  {count:>{width}} {item['share']:>7.2%}  {item['name']}: {shortened(item['places'])}{more}"


def shortened(places: Sequence[str]) -> str:
    """a.tsv:3, a.tsv:7, b.tsv:1 → a.tsv:3, 7, b.tsv:1"""
    shown, last = [], ""
    for place in places:
        file, _, line = place.rpartition(":")
        shown.append(line if file == last else place)
        last = file
    return ", ".join(shown)


def picture(lengths: Mapping[str, Any], unit: str) -> list[str]:
    """A histogram a line high, a block a bar, and the numbers that describe it."""
    numbers = f"median {lengths['median']:,} · mean {lengths['mean']:,.1f} · 99 % up to {lengths['p99']:,} · longest"
    edges = lengths["edges"]
    return [
        f"{unit:<10} {bars(lengths['counts'])}  {edges[0]:,} … {edges[-1] - 1:,}",
        f"{'':<10} {numbers} {lengths['longest']:,}",
    ]


def bars(counts: Sequence[int]) -> str:
    """A block for each count, as high as its share of the largest; what is there at all is seen."""
    most = max(counts, default=0)
    return "".join(TALLEST[min(7, count * 8 // most)] if count else " " for count in counts)
