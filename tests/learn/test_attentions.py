"""Every score and every kind of weights learns to reverse six symbols; hard ones choose the right positions."""

import random
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.pipeline import Pipeline

STEPS = 1000
SETTINGS = {
    "training.threads": 1,
    "training.steps": STEPS,
    "training.batching.sentences": 100,
    "training.optimiser.rate": 0.01,
    "training.schedule.warmup": 50,
    "training.save_every": STEPS,
    "training.validate_every": STEPS,
    "model.decoder.dropout": 0.0,
    "model.encoder.width": 32,
    "objective.smoothing": 0.0,
    "evaluation.report": 0,
}
SCORES: dict[str, dict[str, Any]] = {
    "additive": {"width": 32},
    "additive, two layers": {"kind": "additive", "width": 32, "layers": 2},
    "additive, shared": {"kind": "additive", "width": 32, "shared": True, "key": "linear"},
    "concat": {"width": 32},
    "dot": {"key": "linear"},
    "general": {},
    "cosine": {"key": "linear"},
    "rbf": {"key": "linear"},
    "scaled_dot": {"key": "linear"},
    "scaled_dot by width": {"kind": "scaled_dot", "key": "linear", "divisor": "width"},
}
WEIGHTS: dict[str, dict[str, Any]] = {
    "local-m": {"kind": "local", "position": "monotonic", "window": 6},
    "local-p": {"kind": "local", "position": "predictive", "window": 3},
    "closest": {"kind": "hard", "choice": "closest"},
    "sampled": {"kind": "hard", "choice": "sampled"},
}


def reversed_words(folder: Path) -> tuple[Path, list[str]]:
    letters = random.Random(1)
    words = sorted({"".join(letters.choices("abcdefgh", k=6)) for _ in range(3000)})
    letters.shuffle(words)
    pairs = folder / "pairs.tsv"
    pairs.write_text("".join(f"{word}\t{' '.join(word[::-1])}\n" for word in words[200:]), "utf-8")
    return pairs, words[:200]


def learned(folder: Path, attention: dict[str, Any], steps: int = STEPS) -> tuple[Pipeline, list[str]]:
    pairs, unseen = reversed_words(folder)
    settings = {**SETTINGS, "training.steps": steps, "model.decoder.attention": attention}
    for _ in dragoman.train("g2p", scale="tiny", pairs=pairs, out=folder / "run", settings=settings):
        pass
    model = dragoman.load(folder / "run", device="cpu")
    answers = model.predict(unseen, beam=1)
    right = sum(answer.text == " ".join(word[::-1]) for word, answer in zip(unseen, answers, strict=True))
    assert right >= 0.95 * len(unseen)
    return model, unseen


@pytest.mark.slow
@pytest.mark.parametrize("name", SCORES)
def test_a_score_learns(tmp_path: Path, name: str) -> None:
    learned(tmp_path, {"kind": name.split()[0].rstrip(","), **SCORES[name]})


@pytest.mark.slow
@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_learn(tmp_path: Path, name: str) -> None:
    steps = 2 * STEPS if name == "sampled" else STEPS  # by then the answers are right, but not all positions
    model, unseen = learned(tmp_path, {"kind": "additive", "width": 32, "weights": WEIGHTS[name]}, steps)
    if WEIGHTS[name]["kind"] != "hard":
        return
    chosen = [answer.alignment for answer in model.predict(unseen, beam=1)]
    assert all(sorted(row) == [0.0] * 6 + [1.0] for rows in chosen for row in rows)
    right = [rows[step][5 - step] == 1.0 for rows in chosen for step in range(6)]
    assert sum(right) >= 0.95 * len(right)
