"""Answer the lines of standard input with an export of `dragoman export RUN --to onnx`, without dragoman and torch.

python decode_onnx.py RUN/exports/onnx < lines.txt
"""

import json
import sys
from pathlib import Path

import numpy as np
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

folder = Path(sys.argv[1])
facts = json.loads((folder / "export.json").read_text("utf-8"))
limits, symbols = facts["limits"], facts["symbols"]
source, target = (Tokenizer.from_file(str(folder / facts["tokenizers"][side])) for side in ("source", "target"))
encoder, decoder = (InferenceSession(folder / facts[part]["file"]) for part in ("encoder", "decoder"))


def named(session, inputs):
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs), strict=True))


def answer(text):
    ids = source.encode(text).ids[: limits["source"]]
    tensors = named(encoder, {"source": np.array([[*ids, symbols["end"]]])})
    last, found = symbols["start"], []
    least = max(limits["least"], int(limits["least_ratio"] * len(ids)))
    for length in range(1, 1 + min(limits["answer"], int(limits["ratio"] * len(ids)) + limits["extra"])):
        outputs = named(decoder, {"last": np.array([last]), **tensors})
        barred = [symbols["padding"], symbols["start"]] + [symbols["end"]] * (length < least)
        outputs["log_probabilities"][0, barred] = -np.inf
        last = int(outputs["log_probabilities"][0].argmax())
        if last == symbols["end"]:
            break
        found.append(last)
        tensors |= {after: outputs[before] for before, after in facts["feeds"].items()}
    written = target.decode(found)
    return written.replace(target.id_to_token(symbols["unknown"]), "⁇") if symbols["unknown"] in found else written


for line in sys.stdin:
    print(answer(line.rstrip("\n")) if line.strip() else "", flush=True)
