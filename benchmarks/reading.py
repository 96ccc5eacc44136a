"""Training speed of GPT and BERT beside transformers and a plain torch loop of the same shapes, in one interleaved run.

Each measurement is a process of its own, and the columns take turns (A B C A B C …), so that a machine that slows down
slows all. dragoman is measured by the code path of its own command, with data, log and checkpoints. The others get
the same batches, collated in advance, and pay for nothing but the model: transformers' GPT2LMHeadModel and
BertForPreTraining, built from a config, with torch's own product of query, key and value; and nn.TransformerEncoder
between embeddings and a tied output layer, which of BERT is read at hidden words alone. All have learned positions, no
dropout, clipping at 1 and a fused AdamW. Real symbols that are read count, padding does not.

`gpt` is the recipe as it is (4 layers of 128, windows of 64 characters, 12 a batch), `gpt-mini` 4 layers of 256 over
windows of 128 pieces of words, 16 a batch, and `bert-mini` the recipe bert2018 at this scale, with the paper's
positions and norms. Norms stand before each part in GPT and behind it in BERT, in every column.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.contracts import Batch
from dragoman.data.collate import collate_windows
from dragoman.data.masking import Masking, collate_passages
from dragoman.data.order import Position, walk
from dragoman.data.store import Store
from dragoman.devices import keep_freed_memory
from dragoman.experiment import Experiment
from dragoman.experiment import train as train_experiment
from dragoman.heads import Pretraining
from dragoman.models import EncoderOnly
from dragoman.preparation.texts import prepare_texts
from dragoman.recipes import compose
from dragoman.runs import Run
from dragoman.training.events import Prepared, Stepped
from sets import WORK, machine, provenance, write_result
from speed import remove_runs

Step = Callable[[Batch], Tensor]  # the loss of a batch
LEARNED = {"model.decoder.positions": {"kind": "learned", "length": 64}}
PIECES = {
    "target.kind": "bpe",
    "target.size": 8000,
    "model.context": 128,
    "model.target.width": 256,
    "model.decoder.feed_forward": 1024,
    "model.decoder.positions": {"kind": "learned", "length": 128},
    "training.batching": {"sentences": 16, "tokens": 32768},
}
PAPER = {  # as in BERT's paper, and so in transformers
    "model.encoder.positions": {"kind": "learned", "length": 128},
    "model.encoder.norm_place": "after",
    "model.encoder.first_norm": True,
}
TASKS: dict[str, tuple[str, str | None, dict[str, Any]]] = {  # recipe, scale, settings
    "gpt": ("gpt", None, LEARNED),
    "gpt-mini": ("gpt", None, PIECES),
    "bert-mini": ("bert2018", "mini", PAPER),
}
SYSTEMS = ("dragoman", "transformers", "plain")
GOALS = {"transformers": 1.15, "plain": 0.95}
WARM_UP = 3  # steps that are not timed
BATCHES = 64  # that the others go through again and again
CLIP = 1.0


def settings_of(task: str, text: str, threads: int) -> Experiment:
    recipe, scale, own = TASKS[task]
    more = {"training.threads": threads, "training.steps": 10**6, "evaluation.report": 0}
    return compose(recipe, scale, (text,), settings=own | more).settings


def store_of(task: str, settings: Experiment) -> tuple[Store, Masking | None]:
    """The text encoded as the recipe says, kept for the next process."""
    run, model = Run(WORK / f"reading-{task}"), settings.model
    run.path.mkdir(parents=True, exist_ok=True)
    config, seed = settings.source if isinstance(model, EncoderOnly) else settings.target, settings.training.seed
    corpora = prepare_texts(run, settings.data, config, model, seed)
    head = model.head
    masking = Masking.of(head.masks, corpora.tokenizers["source"], seed) if isinstance(head, Pretraining) else None
    return corpora.train, masking


def batches_of(settings: Experiment, store: Store, masking: Masking | None) -> Iterator[Batch]:
    """Those that dragoman learns from, in its order."""
    for _, chunk, indices in walk(store, settings.training.batching, settings.training.seed, Position()):
        if isinstance(settings.model, EncoderOnly):
            yield collate_passages(chunk, indices, masking)
        else:
            yield collate_windows(chunk, indices)


def symbols_of(batch: Batch) -> int:
    """Real ones that are read."""
    read = batch.sources["source"] if "source" in batch.sources else batch.truth().inputs
    return int(read.mask.sum())


def train_dragoman(task: str, given: argparse.Namespace) -> dict[str, Any]:
    settings = settings_of(task, given.text, given.threads)
    run = WORK / f"reading-run-{task}"
    steps, parameters, loss = 0, 0, 0.0
    started_at = ended_at = 0.0
    events = train_experiment(settings, run, fresh=True)
    for event in events:
        if isinstance(event, Prepared):
            parameters = event.parameters
        if not isinstance(event, Stepped):
            continue
        ended_at, loss = time.perf_counter(), event.loss
        if event.step <= WARM_UP:
            started_at = ended_at
        else:
            steps += 1
        if event.step > WARM_UP and ended_at - started_at >= given.seconds:
            break
    events.close()  # type: ignore[attr-defined]
    remove_runs(run)
    store, masking = store_of(task, settings)
    counted = islice(batches_of(settings, store, masking), WARM_UP, WARM_UP + steps)
    return told(sum(map(symbols_of, counted)), ended_at - started_at, steps, parameters, loss)


def train_other(system: str, task: str, given: argparse.Namespace) -> dict[str, Any]:
    settings = settings_of(task, given.text, given.threads)
    store, masking = store_of(task, settings)
    batches = list(islice(batches_of(settings, store, masking), BATCHES))
    size = read_size(WORK / f"reading-{task}")
    torch.manual_seed(1)
    build = {"transformers": transformers_model, "plain": plain_model}[system]
    model, step = build(settings, size)
    optimiser = torch.optim.AdamW(model.parameters(), settings.training.optimiser.rate, fused=True)
    model.train()
    symbols = steps = 0
    started_at = ended_at = time.perf_counter()
    while steps <= WARM_UP or ended_at - started_at < given.seconds:
        batch = batches[steps % len(batches)]
        loss = step(batch)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        steps += 1
        ended_at = time.perf_counter()
        if steps == WARM_UP:
            started_at = ended_at
        elif steps > WARM_UP:
            symbols += symbols_of(batch)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return told(symbols, ended_at - started_at, steps - WARM_UP, parameters, loss.item())


def read_size(folder: Path) -> int:
    from dragoman.data.tokenizers import Tokenizer

    return Tokenizer.load(Run(folder).tokenizers / "source.json").size


def told(symbols: int, seconds: float, steps: int, parameters: int, loss: float) -> dict[str, Any]:
    found = {"tokens_per_second": symbols / seconds, "tokens": symbols, "seconds": seconds, "steps": steps}
    return found | {"parameters": parameters, "loss": loss, "torch": torch.__version__}


def transformers_model(settings: Experiment, size: int) -> tuple[nn.Module, Step]:
    import transformers

    model = settings.model
    if isinstance(model, EncoderOnly):
        stack = model.encoder
        config = transformers.BertConfig(
            vocab_size=size,
            hidden_size=model.source.width,
            num_hidden_layers=stack.layers,
            num_attention_heads=stack.heads,
            intermediate_size=stack.feed_forward,
            max_position_embeddings=stack.positions.length,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        bert = transformers.BertForPreTraining(config)
        return bert, lambda batch: bert(**bert_inputs(batch)).loss
    stack = model.decoder
    config = transformers.GPT2Config(
        vocab_size=size,
        n_embd=model.target.width,
        n_layer=stack.layers,
        n_head=stack.heads,
        n_inner=stack.feed_forward,
        n_positions=model.context,
        activation_function="gelu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,
        bos_token_id=None,
        eos_token_id=None,
    )
    gpt = transformers.GPT2LMHeadModel(config)

    def loss_of(batch: Batch) -> Tensor:
        target = batch.truth()
        logits = gpt(input_ids=target.inputs.values).logits
        expected = target.outputs.values.masked_fill(~target.outputs.mask, -100)
        return F.cross_entropy(logits.flatten(0, 1), expected.flatten())

    return gpt, loss_of


def bert_inputs(batch: Batch) -> dict[str, Tensor]:
    """[MASK] is the unknown symbol here: which one makes no difference to speed."""
    source, target = batch.sources["source"], batch.truth().outputs
    return {
        "input_ids": hidden_inputs(batch),
        "token_type_ids": batch.sources["segments"].values.clamp(max=1),
        "attention_mask": source.mask.long(),
        "labels": target.values.masked_fill(~target.mask, -100),
        "next_sentence_label": follows_of(batch).long(),
    }


def hidden_inputs(batch: Batch) -> Tensor:
    from dragoman.data.tokenizers import UNKNOWN

    return batch.sources["source"].values.masked_fill(batch.sources["masked"].values.bool(), UNKNOWN)


def follows_of(batch: Batch) -> Tensor:
    follows = batch.follows
    assert follows is not None
    return follows


class Plain(nn.Module):
    """Embeddings, nn.TransformerEncoder and an output layer whose rows are the embeddings."""

    def __init__(self, width: int, stack: Any, length: int, size: int, causal: bool) -> None:
        super().__init__()
        self.symbols, self.places = nn.Embedding(size, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(
            width, stack.heads, stack.feed_forward, 0.0, "gelu", batch_first=True, norm_first=causal
        )
        self.layers = nn.TransformerEncoder(layer, stack.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.segments = None if causal else nn.Embedding(2, width)
        self.transform = None if causal else nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.follows = None if causal else nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2))
        self.bias = None if causal else nn.Parameter(torch.zeros(size))
        for embedding in (self.symbols, self.places):
            nn.init.normal_(embedding.weight, std=0.02)

    def vectors(self, ids: Tensor, segments: Tensor | None = None) -> Tensor:
        found = self.symbols(ids) + self.places.weight[: ids.shape[1]]
        return found if segments is None or self.segments is None else self.norm(found + self.segments(segments))

    def gpt(self, batch: Batch) -> Tensor:
        target = batch.truth()
        ids = target.inputs.values
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        states = self.norm(self.layers(self.vectors(ids), mask=mask, is_causal=True))
        real = target.outputs.mask
        return F.cross_entropy(F.linear(states[real], self.symbols.weight), target.outputs.values[real])

    def bert(self, batch: Batch) -> Tensor:
        source, target = batch.sources["source"], batch.truth().outputs
        vectors = self.vectors(hidden_inputs(batch), batch.sources["segments"].values.clamp(max=1))
        states = self.layers(vectors, src_key_padding_mask=~source.mask)
        assert self.transform is not None and self.follows is not None  # noqa: PT018
        logits = F.linear(self.transform(states[target.mask]), self.symbols.weight, self.bias)
        words = F.cross_entropy(logits, target.values[target.mask])
        return words + F.cross_entropy(self.follows(states[:, 0]), follows_of(batch).long())


def plain_model(settings: Experiment, size: int) -> tuple[nn.Module, Step]:
    keep_freed_memory()  # as dragoman does
    model = settings.model
    if isinstance(model, EncoderOnly):
        found = Plain(model.source.width, model.encoder, model.encoder.positions.length, size, causal=False)
        return found, found.bert
    found = Plain(model.target.width, model.decoder, model.context, size, causal=True)
    return found, found.gpt


def measured(system: str, task: str, given: argparse.Namespace) -> dict[str, Any]:
    """One measurement in a process of its own."""
    words = ["--column", f"{system} {task}", "--text", given.text, "--seconds", str(given.seconds)]
    command = [sys.executable, __file__, *words, "--threads", str(given.threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{system} {task} gave no result:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def ratios(rounds: dict[str, list[dict[str, Any]]], tasks: list[str]) -> dict[str, Any]:
    """The median of each round's ratio, the ratios themselves, and the goal."""
    found: dict[str, Any] = {}
    for task in tasks:
        for system, goal in GOALS.items():
            ours, theirs = rounds[f"dragoman {task}"], rounds[f"{system} {task}"]
            each = [a["tokens_per_second"] / b["tokens_per_second"] for a, b in zip(ours, theirs, strict=True)]
            found[f"{task} / {system}"] = {"median": statistics.median(each), "rounds": each, "goal": goal}
    return found


def result_of(rounds: dict[str, list[dict[str, Any]]], tasks: list[str]) -> dict[str, Any]:
    import transformers

    speeds = {name: statistics.median(one["tokens_per_second"] for one in rows) for name, rows in rounds.items()}
    facts = {"kind": "reading-speed", "tokens_per_second": speeds, "ratios": ratios(rounds, tasks), "rounds": rounds}
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    return facts | {"versions": versions, "machine": machine(), **provenance(), "date": time.strftime("%Y-%m-%d")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", required=True, help="a text file of some megabytes, blank lines between documents")
    parser.add_argument("--tasks", default=",".join(TASKS), help="in this order")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="that each measurement takes at least")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--name", default="reading", help="of the file in results/")
    parser.add_argument("--column", help="measure this system and task alone, in this process: 'plain gpt'")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.column:
        system, task = given.column.split()
        found = train_dragoman(task, given) if system == "dragoman" else train_other(system, task, given)
        print(json.dumps(found))
        return
    tasks = given.tasks.split(",")
    if strange := set(tasks) - set(TASKS):
        raise SystemExit(f"Unknown tasks: {', '.join(sorted(strange))}. Known are {', '.join(TASKS)}.")
    for task in tasks:  # vocabularies are learned and texts encoded once, before anything is timed
        store_of(task, settings_of(task, given.text, given.threads))
    rounds: dict[str, list[dict[str, Any]]] = {f"{system} {task}": [] for task in tasks for system in SYSTEMS}
    for number in range(given.rounds):
        for name, rows in rounds.items():
            rows.append(found := measured(*name.split(), given))  # type: ignore[arg-type]
            rate, seconds = found["tokens_per_second"], found["seconds"]
            said = f"round {number + 1} {name}: {rate:,.0f} tokens/s ({found['steps']} steps in {seconds:.1f} s)"
            print(said, file=sys.stderr, flush=True)
        write_result(given.name, result_of({name: rows for name, rows in rounds.items() if rows}, tasks))
    print(json.dumps({name: result_of(rounds, tasks)[name] for name in ("tokens_per_second", "ratios")}, indent=2))


if __name__ == "__main__":
    main()
