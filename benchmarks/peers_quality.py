"""BLEU of OpenNMT-py and JoeyNMT beside dragoman's first try: same data, same machine, same minutes, one at a time.

Each peer trains with the settings that its own examples have for little data (`peers_train.py`), on pieces of one BPE
of 8,000 for both sides, until the minutes are over, and answers with a beam of 5 (OpenNMT-py) or greedily and the first
300 lines only (JoeyNMT, whose decoder has no cache). Pieces are joined and scored by sacrebleu, as dragoman's answers
are. `--lab` is a folder with an environment for each peer (`onmt`, `joey`). A result
that is there is not measured again.
"""

import argparse
import gzip
import json
import os
import subprocess
import time
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from dragoman.metrics import measure
from sets import HERE, WORK, DataSet, find_set, machine, provenance, write_result

PEERS = {"opennmt-py": "onmt", "joeynmt": "joey"}
PIECES = 8000
FIRST = 300  # test lines that JoeyNMT answers


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--lab", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--peers", default=",".join(PEERS))
    return parser.parse_args()


def main() -> None:
    given = arguments()
    for name in given.sets:
        data = find_set(name, given.data)
        for peer in given.peers.split(","):
            measure_peer(given, data, peer)


def measure_peer(given: argparse.Namespace, data: DataSet, peer: str) -> None:
    label = f"peer-{peer}-{data.name}-{given.minutes:g}-minutes"
    if (HERE / "results" / f"{label}.json").exists():
        return
    folder = WORK / "peers" / f"{data.name}-{given.minutes:g}-minutes"
    pieces = in_pieces(data, folder)
    began_at = time.monotonic()
    python = given.lab / PEERS[peer] / "bin" / "python"
    words = [str(python), str(HERE / "peers_train.py"), peer, str(folder), str(given.minutes), str(FIRST)]
    steps = int(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1])
    answers = [joined(pieces, line) for line in (folder / f"{peer}.answers").read_text("utf-8").splitlines()]
    references = [[line] for line in lines_of(data.test[1])[: FIRST if peer == "joeynmt" else None]]
    found = {one.name: one for one in measure(("bleu", "chrf"), answers, references)}
    result = {
        "kind": "peer",
        "peer": peer,
        "row": data.name,
        "minutes": given.minutes,
        "cores": len(os.sched_getaffinity(0)),
        "value": found["bleu"].value,
        "low": found["bleu"].low,
        "high": found["bleu"].high,
        "chrf": found["chrf"].value,
        "answers": len(answers),
        "steps": steps,
        "wall_minutes": round((time.monotonic() - began_at) / 60, 2),
        "settings": json.loads((folder / f"{peer}.json").read_text("utf-8")),
        "machine": machine(),
        **provenance(),
        "date": time.strftime("%Y-%m-%d"),
    }
    write_result(label, result)
    print(
        f"{label}: BLEU {found['bleu'].value:.1f} ({found['bleu'].low:.1f} … {found['bleu'].high:.1f}), {steps} updates"
    )


def in_pieces(data: DataSet, folder: Path) -> Tokenizer:
    """Files of pieces with a space between two: train.src, train.tgt, … and the vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = Tokenizer(models.BPE(unk_token="<unk>"))  # noqa: S106
    pieces.pre_tokenizer, pieces.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=PIECES, special_tokens=["<unk>"], show_progress=False)
    pieces.train_from_iterator((spaced(line) for file in data.train for line in lines_of(file)), trainer)
    for split, files in (("train", data.train), ("dev", data.valid), ("test", data.test)):
        for side, file in zip(("src", "tgt"), files, strict=True):
            rows = (" ".join(pieces.encode(spaced(line)).tokens) for line in lines_of(file))
            (folder / f"{split}.{side}").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    vocabulary = sorted(pieces.get_vocab(), key=pieces.get_vocab().__getitem__)
    (folder / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in vocabulary if piece != "<unk>"), "utf-8")
    return pieces


def spaced(line: str) -> str:
    """With plain spaces alone: OpenNMT-py takes others, as before French colons, for ends of tokens."""
    return " ".join(line.split())


def joined(pieces: Tokenizer, line: str) -> str:
    return str(pieces.decoder.decode(line.split()))


def lines_of(file: str) -> list[str]:
    path = Path(file)
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text("utf-8")
    return text.removesuffix("\n").split("\n")


if __name__ == "__main__":
    main()
