"""Engines beside one another with one trained Transformer: torch, CTranslate2 through dragoman and called directly, and
Hugging Face's `generate`, in one interleaved run.

Every column is a process of its own and has the weights of the harness's model (`ckpt/fast.pt` in the folder --lab, as
in `decoding.py --model transformer`; its Hugging Face form lies in `ckpt/hf`). The run and both exports are made first,
as a user would make them; what `dragoman export` proved of them is written down. All columns answer the same sentences
of Multi30k's test set in the same batches, one by one and 64 at once of like length, greedily and with beams of 5 whose
scores are divided by the length; answers have 60 symbols at most. A direct call is CTranslate2 as its documents show,
with the precision and threads that dragoman chose on this machine, and the same batches. What dragoman itself costs is
measured apart, in one process: the same translator, through it and without it, with scores and without, in turns.

Symbols are often nearly tied, so that `dragoman export --quantize int8` may refuse the model, as it would refuse exact
arithmetic of 8 bits; it is told not to here (`--equal 0`). How many texts stay the same by each is written down.

Quality is that of the whole test set, greedy and beam 5. How far int8 is from single precision is held against exact
arithmetic: the same model in torch with weights and inputs rounded to 8 bits, which nothing overflows.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import sacrebleu
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from decoding import LONGEST, RUN, train_one_step, transformer
from dragoman.devices import keep_freed_memory
from dragoman.engines.ctranslate2 import CTranslate2
from dragoman.engines.tuning import Setting
from dragoman.experiment.writing import export as write_weights
from dragoman.export import Wanted, export
from dragoman.pipeline import Pipeline
from dragoman.pipeline.rows import Row
from dragoman.regimes import teacher
from dragoman.runs import Run
from peers import called
from sets import HERE, machine, provenance, write_result

Decode = Callable[[list[list[str]], int], list[list[str]]]
EXPORTS = {"ctranslate2": RUN / "exports" / "ctranslate2", "int8": RUN / "exports" / "ctranslate2-int8"}
COLUMNS = ("torch", "ctranslate2", "ctranslate2-direct", "int8", "int8-direct", "huggingface")
LEAST_SHARE = 0.9  # of the speed of a direct call
SEARCH = [f"limits.answer={LONGEST}", f"limits.extra={LONGEST}", "search.normalisation=average"]
SCORED = 200  # sentences that int8 is held against exact arithmetic with


def make_exports(arguments: argparse.Namespace) -> dict[str, Any]:
    """A run with the harness's weights, and what is exported from it."""
    train_one_step(arguments)
    pipeline = transformer(arguments)
    known: Any = SimpleNamespace(tokenizers={"source": pipeline.source, "target": pipeline.target}, labels=None)
    write_weights(Run(RUN), pipeline.model, 1, known, "loss", None)
    found = {}
    for name, out in EXPORTS.items():
        quantize = "int8" if name == "int8" else "none"
        dev = (str(arguments.lab / "data" / "m30k" / "dev.src"),)
        wanted = Wanted(out=out, quantize=quantize, on=dev, equal=0.0 if quantize == "int8" else None)
        result = export(RUN, "ctranslate2", wanted)
        found[name] = {"megabytes": round(result.megabytes, 2), **dict(result.facts)}
        print(*result.sentences, sep="\n", file=sys.stderr)
    return found


def through_us(pipeline: Pipeline, scores: bool = True) -> Decode:
    def decode(rows: list[list[str]], beam: int) -> list[list[str]]:
        texts = [" ".join(row[:-1]) for row in rows]  # without the END that the columns are given
        return [list(answer.tokens) for answer in pipeline.stream(texts, beam, scores=scores)]

    return decode


def directly(translator: Callable[[Setting], Any], engine: CTranslate2, scores: bool = False) -> Decode:
    def decode(rows: list[list[str]], beam: int) -> list[list[str]]:
        words = [row[:-1] for row in rows]
        setting = engine.setting_for(words)
        results = translator(setting).translate_batch(
            words,
            beam_size=beam,
            length_penalty=1.0,
            max_decoding_length=LONGEST,
            max_batch_size=setting.size,
            max_input_length=0,
            return_scores=scores,
        )
        return [result.hypotheses[0] for result in results]

    return decode


def without_us(folder: Path) -> Decode:
    """As one writes it without dragoman, by the setting that it measured and kept."""
    import ctranslate2

    pipeline = Pipeline.load(folder, "cpu")
    assert pipeline.engine is not None

    @cache
    def opened(compute: str, threads: int) -> Any:
        return ctranslate2.Translator(str(folder), device="cpu", compute_type=compute, intra_threads=threads)

    return directly(lambda setting: opened(setting.compute, setting.threads), pipeline.engine.engine)


def huggingface(lab: Path) -> Decode:
    from transformers import PegasusForConditionalGeneration, logging

    logging.set_verbosity_error()
    model = PegasusForConditionalGeneration.from_pretrained(lab / "ckpt" / "hf", attn_implementation="sdpa").eval()
    symbols = (lab / "data" / "m30k" / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n")
    numbers, padding = {symbol: number for number, symbol in enumerate(symbols)}, len(symbols) - 1

    @torch.inference_mode()
    def decode(rows: list[list[str]], beam: int) -> list[list[str]]:
        longest = max(map(len, rows))
        padded = [[numbers.get(one, 1) for one in row] + [padding] * (longest - len(row)) for row in rows]
        source = torch.tensor(padded)
        found = model.generate(
            input_ids=source,
            attention_mask=(source != padding).long(),
            num_beams=beam,
            do_sample=False,
            max_new_tokens=LONGEST,
            length_penalty=1.0,
        )
        return [[symbols[number] for number in row[1:].tolist() if number not in (0, padding)] for row in found]

    return decode


def decoder_of(column: str, arguments: argparse.Namespace) -> Decode:
    if column == "torch":
        return through_us(Pipeline.load(RUN, "cpu").changed([*SEARCH, "search.stop=likely"]))
    if column == "huggingface":
        return huggingface(arguments.lab)
    name, _, direct = column.partition("-")
    return without_us(EXPORTS[name]) if direct else through_us(Pipeline.load(EXPORTS[name], "cpu").changed(SEARCH))


def measure(column: str, arguments: argparse.Namespace) -> None:
    """Whole passes over the harness's sample for some seconds; the median pass counts, and the time of every call."""
    sys.path.insert(0, str(arguments.harness))
    import common
    import decode_common

    keep_freed_memory()
    decode = decoder_of(column, arguments)
    for label, beam, size in decode_common.CONFIGS:
        sources, batches = decode_common.batches(decode_common.SAMPLE[size], size)
        calls = [[sources[number] for number in batch] for batch in batches]
        for call in calls[:2]:
            decode(call, beam)
        passes: list[float] = []
        latencies: list[float] = []
        while not passes or sum(passes) < arguments.seconds:
            began = time.perf_counter()
            for call in calls:
                called_at = time.perf_counter()
                decode(call, beam)
                latencies.append(time.perf_counter() - called_at)
            passes.append(time.perf_counter() - began)
        sentences = sum(map(len, calls))
        cuts = statistics.quantiles(latencies, n=100) if len(latencies) > 1 else latencies * 99
        found = {"label": label, "sentences_per_second": sentences / statistics.median(passes), "passes": len(passes)}
        found["milliseconds"] = {f"p{cut}": round(1e3 * cuts[cut - 1], 2) for cut in (50, 95, 99)}
        common.emit(found)


def quality(arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """BLEU of the whole test set, as texts."""
    folder = arguments.lab / "data" / "m30k"
    sources = [[*line.split(), "</s>"] for line in lines_of(folder / "test.src")]
    references = [as_text(line.split()) for line in lines_of(folder / "test.tgt")]
    found: dict[str, dict[str, float]] = {}
    for column in (name for name in COLUMNS if not name.endswith("-direct")):
        decode = decoder_of(column, arguments)
        found[column] = {}
        for beam in (1, 5):
            answers = [
                as_text(answer)
                for first in range(0, len(sources), 64)
                for answer in decode(sources[first : first + 64], beam)
            ]
            found[column][f"beam{beam}"] = round(sacrebleu.corpus_bleu(answers, [references]).score, 2)
    return found


def lines_of(path: Path) -> list[str]:
    return path.read_text("utf-8").rstrip("\n").split("\n")


def as_text(pieces: Sequence[str]) -> str:
    return "".join(pieces).replace("▁", " ").strip()


class EightBits(TorchFunctionMode):
    """Every affine layer with weights and inputs rounded to 8 bits, row by row, and added exactly."""

    def __torch_function__(self, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
        if function is not F.linear:
            return function(*arguments, **(named or {}))
        inputs, weight, *bias = arguments
        return function(rounded(inputs), rounded(weight), *bias, **(named or {}))


def rounded(values: Tensor) -> Tensor:
    scale = values.abs().amax(-1, keepdim=True).clamp(min=1e-30) / 127
    return (values / scale).round() * scale


def int8_errors(arguments: argparse.Namespace) -> dict[str, float]:
    """Mean and largest difference of log-probabilities to single precision: of the export, and of exact arithmetic."""
    folder = arguments.lab / "data" / "m30k"
    pairs = list(zip(lines_of(folder / "dev.src"), lines_of(folder / "dev.tgt"), strict=True))[:SCORED]
    ours, small = Pipeline.load(RUN, "cpu"), Pipeline.load(EXPORTS["int8"], "cpu")
    wanted, found = ([one.token_log_probabilities for one in pipeline.score(pairs)] for pipeline in (ours, small))
    exact = [exactly(ours, source, target) for source, target in pairs]
    result = {}
    for name, values in (("export", found), ("exact_arithmetic", exact)):
        gaps = [abs(a - b) for row, other in zip(wanted, values, strict=True) for a, b in zip(row, other, strict=True)]
        result |= {f"{name}_mean": statistics.mean(gaps), f"{name}_largest": max(gaps)}
    answers = ours.stream([source for source, _ in pairs], 1)
    result["exact_arithmetic_equal_texts"] = sum(stays(ours, answer.source, answer.text) for answer in answers)
    return result | {"ratio_of_means": result["export_mean"] / result["exact_arithmetic_mean"]}


def stays(pipeline: Pipeline, source: str, answer: str) -> bool:
    """Whether exact arithmetic of 8 bits gives the same greedy answer: fed with it, it prefers no other symbol."""
    logits, truth = exact_logits(pipeline, source, answer)
    logits[:, [0, 2]] = -torch.inf  # padding and START are no answer
    return bool((logits.argmax(-1) == truth).all())


def exactly(pipeline: Pipeline, source: str, target: str) -> list[float]:
    logits, truth = exact_logits(pipeline, source, target)
    return logits.log_softmax(-1).gather(1, truth[:, None]).flatten().tolist()


def exact_logits(pipeline: Pipeline, source: str, target: str) -> tuple[Tensor, Tensor]:
    tokens = pipeline.target.encode([target])[0]
    batch = pipeline.batch_of([Row(pipeline.source.encode([source])[0], source, 0)], [tokens])
    with torch.enable_grad(), EightBits():  # through the modules, layer by layer
        hidden = teacher(pipeline.model, batch).hidden[0]
        logits = F.linear(hidden, pipeline.model.head.weight, pipeline.model.head.bias)
    return logits.detach(), torch.tensor([*tokens, 3])


def shares_of_direct(arguments: argparse.Namespace) -> dict[str, dict[str, dict[str, float]]]:
    """The median of the time of a direct call over that of the same call through dragoman, one right behind the other,
    each of them first in turn; both with scores, as dragoman gives them unless nobody reads them, and both without."""
    import decode_common

    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, folder in EXPORTS.items():
        pipeline = Pipeline.load(folder, "cpu").changed(SEARCH)
        assert pipeline.engine is not None
        engine, found[name] = pipeline.engine.engine, {}
        ways = {
            (who, what): make(what == "with_scores")
            for what in ("with_scores", "without_scores")
            for who, make in (
                ("ours", partial(through_us, pipeline)),
                ("theirs", partial(directly, engine.translator, engine)),
            )
        }
        for label, beam, size in decode_common.CONFIGS:
            sources, batches = decode_common.batches(decode_common.SAMPLE[size], size)
            ratios: dict[str, list[float]] = {"with_scores": [], "without_scores": []}
            for number, batch in enumerate(batches * (4 if size == 1 else 12)):
                turn, spent = number % len(ways), {}
                for way in [*ways, *ways][turn : turn + len(ways)]:
                    began = time.perf_counter()
                    ways[way]([sources[place] for place in batch], beam)
                    spent[way] = time.perf_counter() - began
                for what, of in ratios.items():
                    of.append(spent["theirs", what] / spent["ours", what])
            found[name][label] = {what: statistics.median(of) for what, of in ratios.items()}
    return found


def result_of(rounds: dict[str, list[dict[str, dict[str, Any]]]]) -> dict[str, Any]:
    labels = list(rounds["torch"][0])
    speeds = {
        label: {
            column: statistics.median(one[label]["sentences_per_second"] for one in rows)
            for column, rows in rounds.items()
        }
        for label in labels
    }
    shares = {}
    for name in EXPORTS:
        pairs = list(zip(rounds[name], rounds[f"{name}-direct"], strict=True))
        each = {
            label: [a[label]["sentences_per_second"] / b[label]["sentences_per_second"] for a, b in pairs]
            for label in labels
        }
        shares[name] = {label: {"median": statistics.median(one), "rounds": one} for label, one in each.items()}
    latency = {
        label: {column: rows[len(rows) // 2][label]["milliseconds"] for column, rows in rounds.items()}
        for label in labels
    }
    peak = {
        column: max(row["peak_megabytes"] for one in rows for row in one.values()) for column, rows in rounds.items()
    }
    return {
        "sentences_per_second": speeds,
        "over_plain_call": shares,
        "goal": LEAST_SHARE,
        "milliseconds": latency,
        "peak_megabytes": peak,
        "rounds": rounds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness", type=Path, required=True, help="folder of the peers' columns")
    parser.add_argument("--lab", type=Path, required=True, help="folder of the peers' prepared data and weights")
    parser.add_argument("--rounds", type=int, default=3, help="0: speeds are those of the last time")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement, at least")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--alone", choices=COLUMNS, help="measure this column alone, in this process")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    arguments.lab, arguments.model = arguments.lab.resolve(), "transformer"
    if arguments.alone:
        measure(arguments.alone, arguments)
        return
    sys.path.insert(0, str(arguments.harness))
    os.environ["BENCH_LAB"] = str(arguments.lab)
    facts = {"exports": make_exports(arguments), "bleu": quality(arguments), "int8": int8_errors(arguments)}
    facts["share_of_direct"] = shares_of_direct(arguments)
    print(json.dumps({name: fact for name, fact in facts.items() if name != "exports"}, indent=2), file=sys.stderr)
    rounds: dict[str, list[dict[str, dict[str, Any]]]] = {column: [] for column in COLUMNS}
    if not arguments.rounds:  # only what is exported has changed
        rounds = json.loads((HERE / "results" / "engines.json").read_text("utf-8"))["rounds"]
    options = ["--lab", str(arguments.lab), "--harness", str(arguments.harness), "--threads", str(arguments.threads)]
    for number in range(arguments.rounds):
        for column in COLUMNS:
            command = [sys.executable, __file__, "--alone", column, *options, "--seconds", str(arguments.seconds)]
            rounds[column].append({row["label"]: row for row in called(column, command, arguments)})
            shown = (f"{label} {row['sentences_per_second']:.1f}" for label, row in rounds[column][-1].items())
            print(f"round {number + 1} {column}: {', '.join(shown)} sentences/s", file=sys.stderr, flush=True)
    result = {"kind": "engines", "set": "multi30k-en-de", **facts, **result_of(rounds)}
    write_result("engines", result | {"machine": machine(), **provenance(), "date": time.strftime("%Y-%m-%d")})
    print(json.dumps({name: result[name] for name in ("sentences_per_second", "over_plain_call")}, indent=2))


if __name__ == "__main__":
    main()
