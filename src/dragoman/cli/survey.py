"""How a survey of data looks in a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

TALLEST = "▁▂▃▄▅▆▇█"
SIDES = ("source", "target")


def print_survey(summary: Mapping[str, Any], console: Console) -> None:
    for name, split in summary.items():
        known = split["coverage"]
        console.print(f"\n{name}: {split['pairs']:,} pairs on {split['lines']:,} lines", style="bold")
        console.print(findings_table(split["findings"]) if split["findings"] else "  nothing odd", soft_wrap=True)
        for reason, count in split["filtered"].items():
            if count:
                console.print(f"  {count:,} pairs are left out by data.filters: {reason}")
        for side in SIDES:
            shown = f"{side}: {split['distinct_characters'][side]:,} different characters"
            vocabulary = f", {known[side]:.2%} of the tokens in the vocabulary" if known else ""
            console.print(f"\n  {shown}{vocabulary}")
            for unit in ("characters", "tokens"):
                if (lengths := split["lengths"][side][unit]) is not None:
                    for line in picture(lengths, unit):
                        console.print(f"  {line}", soft_wrap=True)


def findings_table(findings: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading, justify in (("  found", "left"), ("count", "right"), ("share", "right"), ("first places", "left")):
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for item in findings:
        places = ", ".join(item["places"]) + (" …" if item["count"] > len(item["places"]) else "")
        table.add_row(f"  {item['name']}", f"{item['count']:,}", f"{item['share']:.2%}", places)
    return table


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
