"""What the demos reach: each is run as a user runs it, and what it says last is kept.

    python benchmarks/demos.py captions trajectories frames chat

Run the same command again after an interruption: a training that was begun goes on, and what is measured stays.
"""

import argparse
import json
import subprocess
import sys
import time
from typing import Any

from sets import WORK, machine, provenance, write_result

NAMES = ("captions", "trajectories", "frames", "chat")
LEFT_OUT = ("event", "continued", "conversation")  # of what a demo says last: texts are no measurement


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(NAMES), help=", ".join(NAMES))
    parser.add_argument("--minutes", type=float, help="of training; default: that of the demo")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    if unknown := [name for name in given.names if name not in NAMES]:
        raise SystemExit(f"No demo is called '{unknown[0]}'. Known: {', '.join(NAMES)}.")
    for name in given.names:
        measured(name, given.minutes)


def measured(name: str, minutes: float | None) -> None:
    """Run one, and write down its last object with the facts of its last update."""
    command = [sys.executable, "-m", "dragoman", "demo", name, "--json", "--out", str(WORK / f"demo-{name}")]
    command += [] if minutes is None else ["--minutes", str(minutes)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    told: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    result = {key: value for key, value in told[-1].items() if key not in LEFT_OUT}
    finished = [one for one in told if one.get("event") == "finished"]
    facts = {
        "kind": "demo",
        "demo": name,
        "minutes": minutes or "as it is",
        "steps": [one.get("step") for one in finished],
        "result": result,
        "machine": machine(),
        **provenance(),
        "date": time.strftime("%Y-%m-%d"),
    }
    write_result(f"demo-{name}", facts)
    print(json.dumps(result, ensure_ascii=False)[:2000], flush=True)


if __name__ == "__main__":
    main()
