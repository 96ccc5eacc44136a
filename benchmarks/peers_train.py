"""Train a peer for some minutes and let it answer the test file; `peers_quality.py` runs it in the peer's environment.

`peers_train.py PEER FOLDER MINUTES FIRST`; JoeyNMT answers that many first lines. The trainer and the search are the
peer's own; only the end is ours: when the minutes are over, it saves and stops.

JoeyNMT: the Transformer of its example for IWSLT 2014 (6 layers of 256, dropout 0.3, batches of 4,096 tokens), with
Adam at 1e-3 after a warm-up of 100 updates: its schedule by plateaus does not run on this torch, and 3e-4 is slower. It
decodes without a cache, which took more than eight minutes for a batch of 64 with a beam of 5 and outputs that did not
end: the first lines are answered greedily, with 100 pieces each at most.
OpenNMT-py: the recurrent model of its quickstart (two layers of 500, input feeding, batches of 64), with Adam at 1e-3
in place of SGD.
"""

import contextlib
import functools
import json
import shutil
import sys
import time
from pathlib import Path

LONGEST = 100  # pieces of each answer of JoeyNMT

peer, folder, minutes = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
first_lines = int(sys.argv[4])
limit = time.monotonic() + 60 * minutes


def joeynmt() -> int:
    from joeynmt import training

    side = {"level": "word", "lowercase": False, "max_length": 200, "voc_file": str(folder / "vocabulary.joey")}
    pieces = (folder / "vocabulary.txt").read_text("utf-8")
    (folder / "vocabulary.joey").write_text("<unk>\n<pad>\n<s>\n</s>\n" + pieces, "utf-8")
    vectors = {"embedding_dim": 256, "scale": True, "dropout": 0.0}
    part = {"type": "transformer", "num_layers": 6, "num_heads": 4, "hidden_size": 256, "ff_size": 1024, "dropout": 0.3}
    part |= {"embeddings": vectors, "layer_norm": "pre"}
    settings = {
        "name": "first-try",
        "model_dir": str(folder / "joeynmt"),
        "use_cuda": False,
        "fp16": False,
        "random_seed": 1,
        "data": {
            **{split: str(folder / split) for split in ("train", "dev", "test")},
            "dataset_type": "plain",
            "src": {**side, "lang": "src"},
            "trg": {**side, "lang": "tgt"},
        },
        "testing": {
            "beam_size": 1,
            "batch_size": 64,
            "batch_type": "sentence",
            "eval_metrics": [],
            "max_output_length": LONGEST,
        },
        "training": {
            "optimizer": "adam",
            "adam_betas": [0.9, 0.999],
            "learning_rate": 1e-3,
            "scheduling": "warmupinversesquareroot",
            "learning_rate_warmup": 100,
            "learning_rate_min": 1e-8,
            "label_smoothing": 0.1,
            "batch_size": 4096,
            "batch_type": "token",
            "normalization": "tokens",
            "epochs": 1000,
            "validation_freq": 10**6,
            "logging_freq": 100,
            "overwrite": True,
            "keep_best_ckpts": 1,
        },
        "model": {
            "initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": part,
            "decoder": part,
        },
    }
    written(settings)
    best = folder / "joeynmt" / "best.ckpt"
    if best.exists():
        done = int(best.resolve().stem)
        answer_first(settings, best)
        return done
    shutil.rmtree(folder / "joeynmt", ignore_errors=True)
    (folder / "joeynmt").mkdir()
    done = 0
    step = training.TrainManager._train_step

    def until_the_limit(self, batch):
        nonlocal done
        if time.monotonic() > limit:
            self.stats.best_ckpt_iter = self.stats.steps
            self._save_checkpoint(True, 0.0)
            raise TimeoutError
        done += 1
        return step(self, batch)

    training.TrainManager._train_step = until_the_limit
    with contextlib.suppress(TimeoutError):
        training.train(rank=0, world_size=None, cfg=settings, skip_test=True)
    answer_first(settings, best)
    return done


def answer_first(settings: dict, best: Path) -> None:
    """The first lines of the test file."""
    from joeynmt import prediction

    splits = {"dev": 1, "test": first_lines}  # it answers both
    for split, count in splits.items():
        for side in ("src", "tgt"):
            lines = (folder / f"{split}.{side}").read_text("utf-8").split("\n")[:count]
            (folder / f"first-{split}.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    settings["data"] |= {split: str(folder / f"first-{split}") for split in splits}
    settings["testing"]["load_model"] = str(best)
    prediction.test(settings, output_path=str(folder / "joey.out"))
    (folder / "joeynmt.answers").write_text((folder / "joey.out.test").read_text("utf-8"), "utf-8")


def opennmt() -> int:
    import torch
    import yaml
    from onmt import trainer
    from onmt.bin import train, translate

    pieces = (folder / "vocabulary.txt").read_text("utf-8").split("\n")
    (folder / "vocabulary.onmt").write_text("".join(f"{piece}\t1\n" for piece in pieces if piece), "utf-8")
    vocabulary = str(folder / "vocabulary.onmt")
    corpora = {
        name: {"path_src": str(folder / f"{split}.src"), "path_tgt": str(folder / f"{split}.tgt"), "transforms": []}
        for name, split in (("corpus_1", "train"), ("valid", "dev"))
    }
    settings = {
        "data": corpora,
        "src_vocab": vocabulary,
        "tgt_vocab": vocabulary,
        "share_vocab": True,
        "save_model": str(folder / "onmt"),
        "overwrite": True,
        "encoder_type": "brnn",
        "decoder_type": "rnn",
        "rnn_type": "LSTM",
        "layers": 2,
        "hidden_size": 500,
        "word_vec_size": 500,
        "global_attention": "general",
        "input_feed": 1,
        "dropout": [0.3],
        "dropout_steps": [0],
        "batch_type": "sents",
        "batch_size": 64,
        "bucket_size": 32768,
        "num_workers": 0,
        "optim": "adam",
        "learning_rate": 1e-3,
        "max_grad_norm": 5.0,
        "train_steps": 10**6,
        "valid_steps": 10**6,
        "save_checkpoint_steps": 10**6,
        "report_every": 100,
        "world_size": 1,
        "gpu_ranks": [],
        "model_dtype": "fp32",
        "seed": 1,
    }
    written(settings)
    (folder / "onmt.yaml").write_text(yaml.safe_dump(settings), "utf-8")
    done = 0
    step = trainer.Trainer._gradient_accumulation

    def until_the_limit(self, *words):
        nonlocal done
        if time.monotonic() > limit:
            self.model_saver.save(done)
            raise TimeoutError
        done += 1
        return step(self, *words)

    trainer.Trainer._gradient_accumulation = until_the_limit
    with contextlib.suppress(TimeoutError):
        train.train(train._get_parser().parse_known_args(["-config", str(folder / "onmt.yaml")])[0])
    torch.load = functools.partial(torch.load, weights_only=False)  # its own file, which it reads as older torch did
    words = ["-model", str(folder / f"onmt_step_{done}.pt"), "-src", str(folder / "test.src"), "-beam_size", "5"]
    words += ["-output", str(folder / "opennmt-py.answers"), "-batch_size", "32", "-max_length", "200"]
    translate.translate(translate._get_parser().parse_args(words))
    return done


def written(settings: dict) -> None:
    shown = json.dumps(settings, default=str).replace(f"{folder}/", "")
    (folder / f"{peer}.json").write_text(shown, "utf-8")


print(opennmt() if peer == "opennmt-py" else joeynmt())
