"""What a first try reaches: files and minutes on the command line, no settings, beside what needs no neural network.

The commands are those of the README, one process each; `first_try.toml` lists the sets. Test data is read once, after
training. A row whose result is there is not measured again; the same command goes on where it was interrupted. With
--valid the validation data takes the place of the test data, and the result is printed and not kept.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.config import flatten, read_toml
from dragoman.runs import Run, status_of
from sets import HERE, WORK, DataSet, find_set, machine, provenance, write_result

PAGE = HERE / "README.md"
BEGIN, END = "<!-- first try -->", "<!-- end of first try -->"
LOWER = ("sequence_error_rate", "perplexity", "ade")  # metrics of which less is better
SEEDS = 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help="names in first_try.toml; none: all")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--minutes", type=float, help="in place of those of the row")
    parser.add_argument("--busy", action="store_true", help="beside a process that keeps a core busy")
    parser.add_argument("--seeds", type=int, help="in place of those of the row")
    parser.add_argument("--valid", action="store_true", help="evaluate on validation data, to choose defaults by")
    parser.add_argument("--page", action="store_true", help="only write the table of all results into README.md")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    rows = tomllib.loads((HERE / "first_try.toml").read_text("utf-8"))
    if given.page:
        write_page(rows)
        return
    for name in given.rows or rows:
        for seed in range(1, 1 + (given.seeds or rows[name].get("seeds", SEEDS))):
            measure(given, name, rows[name], seed)
    if not given.valid:
        write_page(rows)


def measure(given: argparse.Namespace, name: str, row: dict[str, Any], seed: int) -> None:
    """Train and evaluate once, and write down what came of it."""
    minutes = given.minutes or row["minutes"]
    label = f"first-try-{name}-{minutes:g}-minutes{'-busy' if given.busy else ''}-seed-{seed}"
    if (HERE / "results" / f"{label}.json").exists() and not given.valid:
        return
    data, run = find_set(row.get("set", name), given.data), Run(WORK / label)
    recipe = [row["recipe"]] if row.get("recipe") else []
    began_at = time.monotonic()
    if not status_of(run).get("finished"):
        with busy_core(given.busy):
            call("train", *recipe, *split(data), "--minutes", str(minutes), "--seed", str(seed), "--out", str(run.path))
    wall = (time.monotonic() - began_at) / 60
    metrics = [word for one in data.metrics for word in ("--metric", one)]
    files = data.valid if given.valid else data.test
    facts = json.loads(call("evaluate", str(run.path), *files, *metrics, "--json"))
    result = result_of(name, row, seed, minutes, given.busy, run, wall, facts)
    if given.valid:
        print(line_of(row, [result]), result["steps"], result["wall_minutes"], result["chosen"])
    else:
        write_result(label, result)


def split(data: DataSet) -> list[str]:
    """The files of a command that trains."""
    return [*data.train, *(word for file in data.valid for word in ("--valid", file))]


def call(*words: str) -> str:
    command = [sys.executable, "-m", "dragoman", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@contextmanager
def busy_core(wanted: bool) -> Iterator[None]:
    """Somebody else's work on one core meanwhile."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None
    try:
        yield
    finally:
        if other is not None:
            other.kill()
            other.wait()


def result_of(
    name: str, row: dict[str, Any], seed: int, minutes: float, busy: bool, run: Run, wall: float, facts: dict[str, Any]
) -> dict[str, Any]:
    found, beside = facts["metrics"][row["metric"]], facts.get("baselines", {})
    settings = flatten(read_toml(run.config).table)
    log = [json.loads(line) for line in run.metrics.read_text("utf-8").splitlines()]
    return {
        "kind": "first-try",
        "row": name,
        "recipe": row.get("recipe", ""),
        "seed": seed,
        "minutes": minutes,
        "busy": busy,
        "cores": len(os.sched_getaffinity(0)),
        "metric": row["metric"],
        "value": found["value"],
        "low": found["low"],
        "high": found["high"],
        "metrics": {metric: one["value"] for metric, one in facts["metrics"].items()},
        "baselines": {
            one["title"]: one["metrics"][row["metric"]]["value"]
            for one in beside.get("rows", {}).values()
            if row["metric"] in one["metrics"]
        },
        "outcome": beside.get("outcome"),
        "p": beside.get("p"),
        "wall_minutes": round(wall, 2),
        "training_minutes": round(max((row["seconds"] for row in log if "seconds" in row), default=0.0) / 60, 2),
        "steps": status_of(run)["step"],
        "threads": settings.get("training.threads"),
        "chosen": flatten(read_toml(run.defaults).table) if run.defaults.exists() else {},
        "machine": machine(),
        **provenance(),
        "date": time.strftime("%Y-%m-%d"),
    }


def write_page(rows: dict[str, Any]) -> None:
    """The table between the two marks of the page."""
    results = [json.loads(path.read_text("utf-8")) for path in sorted((HERE / "results").glob("first-try-*.json"))]
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    peers = [json.loads(path.read_text("utf-8")) for path in sorted((HERE / "results").glob("peer-*.json"))]
    shown = "\n\n".join(filter(None, ("\n".join([table(rows, results), *elsewhere()]), beside_peers(results, peers))))
    PAGE.write_text(f"{before}{BEGIN}\n{shown}\n{END}{after}", "utf-8")


def table(rows: dict[str, Any], results: list[dict[str, Any]]) -> str:
    lines = [
        "| data | command | minutes | metric | reached | best baseline | least | aim |",
        "|---|---|---|---|---|---|---|---|",
    ]
    kinds = {(one["row"], one["minutes"], one["busy"]) for one in results}
    for name, row in rows.items():
        for kind in sorted(kind for kind in kinds if kind[0] == name):
            lines.append(line_of(row, [one for one in results if (one["row"], one["minutes"], one["busy"]) == kind]))
    return "\n".join(lines)


def elsewhere() -> list[str]:
    """Rows of what has a benchmark of its own."""
    lines, folder = [], HERE / "results"
    if (path := folder / "strips.json").exists():
        facts = json.loads(path.read_text("utf-8"))
        lines.append(captions_line("strips", facts, facts["metrics"], facts["nearest_image"], 95.0))
    if (path := folder / "emoji-captions-minutes.json").exists():
        facts = json.loads(path.read_text("utf-8"))
        found = facts["splits"]["test"]
        lines.append(captions_line("emoji-captions", facts, found["metrics"], found["nearest_picture"]))
    paths = [folder / "eth-ucy.json", folder / "eth-ucy-baselines.json"]
    if all(path.exists() for path in paths):
        facts, beside = (json.loads(path.read_text("utf-8")) for path in paths)
        reached, ridge = facts["variants"]["with"]["ade"], beside["baselines"]["ridge"]["ade"]
        marks = [f"{limit:.2f}{mark('ade', reached, limit)}" for limit in (ridge, 0.5)]
        command = f"`pedestrians.py`, {facts['updates']} updates, mean of {facts['seeds']} seeds"
        lines.append(f"| eth-ucy | {command} | | ade (m) | {reached:.3f} | {ridge:.3f} ridge | {' | '.join(marks)} |")
    return lines


def captions_line(
    name: str,
    facts: dict[str, Any],
    metrics: dict[str, list[float]],
    nearest: dict[str, float],
    aim: float | None = None,
) -> str:
    (value, low, high), least = metrics["exact_match"], nearest["exact_match"]
    marks = ["" if limit is None else f"{limit:.1f}{mark('exact_match', value, limit)}" for limit in (least, aim)]
    reached = f"{value:.1f} ({low:.1f} … {high:.1f})"
    minutes = f"{facts['minutes']:.0f}{', one core' if facts['machine']['threads'] == 1 else ''}"
    told = f"{minutes} | exact_match | {reached} | {least:.1f} caption of the nearest image"
    return f"| {name} | `train caption` | {told} | {' | '.join(marks)} |"


def beside_peers(results: list[dict[str, Any]], peers: list[dict[str, Any]]) -> str:
    """BLEU of others in the same minutes."""
    if not peers:
        return ""
    lines = ["| data | minutes | who | BLEU | updates |", "|---|---|---|---|---|"]
    for peer in peers:
        first = f", first {peer['answers']:,} lines, greedy" if peer["peer"] == "joeynmt" else ""
        lines.append(peer_line(peer, f"{peer['peer']}{first}"))
    asked = {(peer["row"], peer["minutes"], peer["cores"]) for peer in peers}
    lines += [
        peer_line(one, f"dragoman {one['recipe']}".strip())
        for one in results
        if (one["row"].removesuffix("-vaswani"), one["minutes"], one["cores"]) in asked and not one["busy"]
    ]
    return "\n".join([*lines[:2], *sorted(lines[2:])])


def peer_line(one: dict[str, Any], who: str) -> str:
    interval = f"{one['value']:.1f} ({one['low']:.1f} … {one['high']:.1f})"
    minutes = f"{one['minutes']:g}{', one core' if one['cores'] == 1 else ''}"
    return f"| {one['row']} | {minutes} | {who} | {interval} | {one['steps']:,} |"


def line_of(row: dict[str, Any], seeds: list[dict[str, Any]]) -> str:
    first, newest = seeds[0], max(seeds, key=lambda one: (one["date"], one["seed"]))
    mean = statistics.fmean(one["value"] for one in seeds)
    reached = f"{mean:.1f} ({first['low']:.1f} … {first['high']:.1f})"
    if len(seeds) > 1:
        reached = f"{mean:.1f} (seeds {', '.join(format(one['value'], '.1f') for one in seeds)})"
    least, best = least_of(row, newest)
    command = f"`train {first['recipe']}`" if first["recipe"] else "`train`"
    where = f"{', beside a busy core' if first['busy'] else ''}{', one core' if first['cores'] == 1 else ''}"
    minutes = f"{first['minutes']:g}{where}"
    marked = [
        "" if limit is None else f"{limit:.1f}{mark(first['metric'], mean, limit)}" for limit in (least, row.get("aim"))
    ]
    beside = "" if best is None else f"{best[1]:.1f} {best[0]}"
    return (
        f"| {first['row']} | {command} | {minutes} | {first['metric']} | {reached} | {beside} | {' | '.join(marked)} |"
    )


def least_of(row: dict[str, Any], result: dict[str, Any]) -> tuple[float | None, tuple[str, float] | None]:
    """What must be reached, and the best baseline."""
    lower = result["metric"] in LOWER
    best = (min if lower else max)(result["baselines"].items(), key=lambda one: one[1], default=None)
    if "least" in row:
        return row["least"], best
    return (None if best is None else best[1] + (-1 if lower else 1) * row.get("over", 0.0)), best


def mark(metric: str, value: float, limit: float) -> str:
    return " ✓" if (value <= limit if metric in LOWER else value >= limit) else " ✗"


if __name__ == "__main__":
    main()
