"""Speed of a search beside the peers', in one interleaved run, and the cost of a tracer that is not there.

Each measurement is a process of its own, and the columns take turns. The folders are those of `peers.py`; the peers'
columns here are `cols/decode_onmt.py` and so on, and `decode_common.py` beside them times all columns alike: the same
sentences of Multi30k's test set, in batches of 64 of like length and one by one, whole passes, of which the median
counts. A batch of ours is what the product makes of 64 lines.

`--model recurrent`: all columns have an LSTM of 256 in each direction, an LSTM of 512 with additive attention and input
feeding, the same vocabulary, random weights, and answers of 15 symbols (ours: END counted). JoeyNMT is handed pieces;
OpenNMT-py and dragoman go from text to text. `dragoman-int8` is the same model with `--quantize int8`, whose weights
are a quarter as large; the peers have no such thing for recurrent models.

`--model transformer`: all columns have the weights of one trained model of 3 + 3 layers, width 256, feed-forward 1,024
and 4 heads (`ckpt/fast.pt` in the folder --lab), scores divided by the length, and answers of 60 symbols at most.
Hugging Face is handed pieces and gives them. All columns stop a beam before it is proved that nothing better comes,
each by a rule of its own (ours: search.stop = "likely", which is content with one good answer where Hugging Face wants
as many as the beam is wide): how many answers are those of Hugging Face, and their mean length, are written down too.

A pass has 48 sentences one by one, or 4 batches of 64. Sentences to which the weights' first greedy or beam answer does
not end within 60 symbols are left out for all (`ckpt/exclude.json`).

`--tracing` compares the search's loop, in one process and in turns, with the same loop without the lines that ask
whether somebody watches.
"""

import argparse
import ast
import inspect
import json
import statistics
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import dragoman.search
from carried import carried, symbols_of
from dragoman.devices import keep_freed_memory
from dragoman.experiment import train as train_experiment
from dragoman.pipeline import Pipeline
from dragoman.search import loop
from peers import called, settings_of, write_vocabulary
from sets import WORK, machine, provenance, write_result
from speed import remove_runs

LENGTH = 15
LONGEST = 60
RUN = WORK / "decoding-run"
PEERS = {
    "recurrent": {
        "opennmt": ("onmt", "decode_onmt.py", "--arch", "rnn-bahdanau"),
        "joeynmt": ("joey", "decode_joey.py", "--arch", "rnn-bahdanau"),
    },
    "transformer": {
        "huggingface": ("hf", "decode_hf.py"),
        "opennmt": ("onmt", "decode_onmt.py"),
        "ctranslate2": ("hf", "decode_ct2.py", "float32"),
    },
}
GOALS: dict[str, dict[str, dict[str, float]]] = {  # ratios, by what is asked and whom we stand beside
    "recurrent": {
        "beam5 batch64": {"opennmt": 1.6, "joeynmt": 1.6},
        "beam5 batch1": {"opennmt": 3.0, "joeynmt": 3.0},
    },
    "transformer": {
        "beam1 batch1": {"huggingface": 3.0, "opennmt": 1.4},
        "beam5 batch1": {"huggingface": 3.0, "opennmt": 1.4},
        "beam1 batch64": {"huggingface": 1.5, "opennmt": 1.4},
        "beam5 batch64": {"huggingface": 2.2, "opennmt": 1.4},
    },
}
OURS = {"recurrent": ("dragoman", "dragoman-int8"), "transformer": ("dragoman",)}
RESULTS = {"recurrent": "decoding", "transformer": "decoding-transformer"}


def train_one_step(arguments: argparse.Namespace) -> None:
    """A run with a model of the peers' sizes."""
    remove_runs(RUN)
    write_vocabulary(arguments.lab)
    variant = {"recurrent": "additive-feeding", "transformer": "transformer"}[arguments.model]
    for _ in train_experiment(settings_of(variant, arguments.lab, 1, arguments.threads), RUN, fresh=True):
        pass


def recurrent() -> Pipeline:
    return Pipeline.load(RUN).changed([f"limits.least={LENGTH}", f"limits.answer={LENGTH}"])


def transformer(arguments: argparse.Namespace) -> Pipeline:
    """With the weights that the other columns have."""
    pipeline = Pipeline.load(RUN)
    theirs = torch.load(arguments.lab / "ckpt" / "fast.pt", weights_only=True)
    pipeline.model.load_state_dict(carried(theirs, *symbols_of(arguments.lab)))
    limits = [f"limits.answer={LONGEST}", f"limits.extra={LONGEST}"]
    return pipeline.changed([*limits, "search.normalisation=average", "search.stop=likely"])


def measure_dragoman(arguments: argparse.Namespace) -> None:
    sys.path.insert(0, str(arguments.harness))
    import decode_common

    keep_freed_memory()  # as `dragoman predict` does
    pipeline = recurrent() if arguments.model == "recurrent" else transformer(arguments)
    pipeline = pipeline.quantized(arguments.quantize)

    def decode(rows: list[list[str]], beam: int) -> list[list[str]]:
        texts = [" ".join(row[:-1]) for row in rows]  # without the END that the peers are given
        return [list(answer.tokens) for answer in pipeline.stream(texts, beam)]

    decode_common.measure(decode, dump="dragoman", peer="dragoman", version="")


def measured(column: str, arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What one process found, by what was asked of it."""
    if column in OURS[arguments.model]:
        folders = ["--lab", str(arguments.lab), "--harness", str(arguments.harness)]
        options = ["--threads", str(arguments.threads), "--model", arguments.model]
        options += ["--quantize", "int8"] * (column == "dragoman-int8")
        command = [sys.executable, __file__, "--alone", *folders, *options]
    else:
        environment, script, *options = PEERS[arguments.model][column]
        python = arguments.lab / environment / "bin" / "python"
        command = [str(python), str(arguments.harness / "cols" / script), *options]
    found = called(column, command, arguments, {"BENCH_CONFIGS": arguments.only})
    return {row["label"]: row for row in found}


def result_of(rounds: dict[str, list[dict[str, dict[str, Any]]]], arguments: argparse.Namespace) -> dict[str, Any]:
    """Sentences a second, and the median of each round's ratios to the peers."""
    speeds: dict[str, dict[str, float]] = {}
    ratios: dict[str, dict[str, Any]] = {}
    for label in rounds["dragoman"][0]:
        speeds[label] = {
            column: statistics.median(one[label]["sents_s"] for one in rows) for column, rows in rounds.items()
        }
        ratios[label] = {}
        for own in OURS[arguments.model]:
            for peer in PEERS[arguments.model]:
                pairs = zip(rounds.get(own, []), rounds.get(peer, []), strict=False)
                each = [ours[label]["sents_s"] / theirs[label]["sents_s"] for ours, theirs in pairs]
                if each:
                    found = {"median": statistics.median(each), "rounds": each}
                    found["goal"] = GOALS[arguments.model].get(label, {}).get(peer)
                    ratios[label][peer if own == "dragoman" else f"int8 / {peer}"] = found
    result = {"kind": "decoding", "set": "multi30k-en-de", "model": arguments.model}
    result |= {"sentences_per_second": speeds, "ratios": ratios}
    result["peak_megabytes"] = {  # of a process that decodes all that it is asked for
        column: max(row["peak_megabytes"] for one in rows for row in one.values()) for column, rows in rounds.items()
    }
    if arguments.model == "transformer":
        result["as_huggingface"] = {label: as_huggingface(label, arguments.lab) for label in speeds}
    return result | {"rounds": rounds, "machine": machine(), **provenance(), "date": time.strftime("%Y-%m-%d")}


def as_huggingface(label: str, lab: Path) -> dict[str, float]:
    """The share of each column's answers that are Hugging Face's, by what the columns left in `hyps`."""
    columns = {"opennmt": "onmt-transformer", "ctranslate2": "ct2-float32", "dragoman": "dragoman"}
    files = {name: lab / "hyps" / f"{file}.{label.replace(' ', '_')}.json" for name, file in columns.items()}
    theirs = lab / "hyps" / f"hf.{label.replace(' ', '_')}.json"
    if not theirs.exists():
        return {}
    first = json.loads(theirs.read_text("utf-8"))
    read = {name: json.loads(file.read_text("utf-8")) for name, file in files.items() if file.exists()}
    return {name: sum(one[key] == first.get(key) for key in one) / len(one) for name, one in read.items()}


def without_tracer() -> Callable[..., Any]:
    """The loop as if nobody could ever watch it: the same lines but those that ask for a tracer."""

    class Blind(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if "plan.tracer" in ast.unparse(node.test) else self.generic_visit(node)

    tree = Blind().visit(ast.parse(textwrap.dedent(inspect.getsource(loop.run))))
    assert "tracer" not in ast.unparse(tree)
    names = dict(vars(loop))
    exec(compile(ast.fix_missing_locations(tree), "loop without a tracer", "exec"), names)  # noqa: S102 our own lines
    found: Callable[..., Any] = names["run"]
    return found


def measure_tracing(arguments: argparse.Namespace) -> dict[str, Any]:
    """The same batches by both loops, one right behind the other; which of them is first changes from batch to batch,
    and the median over all pairs bears a busy machine."""
    pipeline = recurrent()
    lines = (arguments.lab / "data" / "m30k" / "test.src").read_text("utf-8").split("\n")
    kinds = {"with": loop.run, "without": without_tracer()}
    found: dict[str, Any] = {}
    for beam, size, number in ((5, 64, 512), (5, 1, 32), (1, 64, 512)):
        rounds: list[float] = []
        pairs: list[float] = []
        texts = sorted(lines[:number], key=lambda line: len(line.split()))
        for turn in range(-1, arguments.rounds):  # the first warms up
            ratios = []
            for first in range(0, number, size):
                spent = dict.fromkeys(kinds, 0.0)
                order = list(kinds) if (turn + first // size) % 2 else list(kinds)[::-1]
                for kind in order:
                    dragoman.search.run = kinds[kind]
                    began = time.perf_counter()
                    list(pipeline.stream(texts[first : first + size], beam))
                    spent[kind] = time.perf_counter() - began
                ratios.append(spent["with"] / spent["without"])
            if turn >= 0:
                rounds.append(statistics.median(ratios))
                pairs += ratios
        low, high = interval_of_median(pairs)
        found[f"beam{beam} batch{size}"] = {"median": statistics.median(pairs), "low": low, "high": high}
        found[f"beam{beam} batch{size}"] |= {"pairs": len(pairs), "rounds": rounds}
    dragoman.search.run = loop.run
    result = {"kind": "tracing", "set": "multi30k-en-de", "with_over_without": found}
    return result | {"machine": machine(), **provenance(), "date": time.strftime("%Y-%m-%d")}


def interval_of_median(values: list[float]) -> tuple[float, float]:
    """95 %, by order statistics: whatever the values' distribution."""
    ordered, number = sorted(values), len(values)
    reach = int(0.98 * number**0.5) + 1
    return ordered[max(0, number // 2 - reach)], ordered[min(number - 1, number // 2 + reach)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness", type=Path, help="folder of the peers' columns")
    parser.add_argument("--lab", type=Path, required=True, help="folder of the peers' environments and prepared data")
    parser.add_argument("--model", choices=PEERS, default="recurrent")
    parser.add_argument("--columns", help="in this order; all, if not given")
    parser.add_argument("--only", help="a part of: beam1 batch1, beam5 batch1, … (recurrent: beam5)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tracing", action="store_true", help="measure the cost of a tracer that is not there")
    parser.add_argument("--quantize", choices=("none", "int8"), default="none", help=argparse.SUPPRESS)
    parser.add_argument("--alone", action="store_true", help="measure dragoman alone, in this process")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    arguments.lab = arguments.lab.resolve()
    if arguments.only is None:
        arguments.only = "beam5" if arguments.model == "recurrent" else ""
    if not arguments.alone:
        train_one_step(arguments)
    if arguments.tracing:
        result = measure_tracing(arguments)
        write_result("tracing", result)
        shown = {name: value["median"] for name, value in result["with_over_without"].items()}
        print(json.dumps(shown, indent=2))
        return
    if arguments.harness is None:
        raise SystemExit("--harness, the folder of the peers' columns, is needed.")
    if arguments.alone:
        measure_dragoman(arguments)
        return
    known = [*PEERS[arguments.model], *OURS[arguments.model]]
    columns = arguments.columns.split(",") if arguments.columns else known
    if strange := set(columns) - set(known):
        raise SystemExit(f"Unknown columns: {', '.join(sorted(strange))}. Known are {', '.join(known)}.")
    for left in (arguments.lab / "hyps").glob("*.json"):  # answers of another day
        left.unlink()
    rounds: dict[str, list[dict[str, dict[str, Any]]]] = {column: [] for column in columns}
    for number in range(arguments.rounds):
        for column in columns:
            rounds[column].append(found := measured(column, arguments))
            speeds = ", ".join(f"{label} {row['sents_s']:.1f}" for label, row in found.items())
            print(f"round {number + 1} {column}: {speeds} sentences/s", file=sys.stderr, flush=True)
        if "dragoman" in columns:
            write_result(RESULTS[arguments.model], result_of(rounds, arguments))
    if "dragoman" in columns:
        result = result_of(rounds, arguments)
        shown = ("sentences_per_second", "ratios", "as_huggingface")
        print(json.dumps({name: result[name] for name in shown if name in result}, indent=2))


if __name__ == "__main__":
    main()
