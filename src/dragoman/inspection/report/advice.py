"""What to do next with a training that is over: continue it, or try something else."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.baselines.standing import Standing
from dragoman.baselines.training_data import DATA
from dragoman.inspection.report.curves import Curves
from dragoman.runs import LIMITS, OF_THE_DATA

LATE = 0.8  # share of the updates behind which the best validation must lie
GAIN = 0.005  # of the monitored value, relative to the best before: less is no improvement
LEAST = 4  # validations that a curve needs
TO_THE_END = ("cosine", "linear")  # schedules whose rate has fallen to its end, so that raising a limit is refused
FINE_TUNED = {
    "labelled": "classify",
    "tagged": "tag",
    "questions": "spans",
}  # kinds of data, and recipes
FLAGS = {"--steps": "steps", "--epochs": "epochs", "--minutes": "minutes"}


@dataclass(frozen=True)
class Over:
    """A training that has ended."""

    path: Path
    settings: dict[str, Any]
    reason: str  # why it ended; nothing, if it has not
    command: Sequence[str]

    def files(self) -> list[str]:
        """Its data in the words of a command."""
        data = self.settings.get("data", {})
        files = [*named(data.get("train", ())), *named(data.get("valid", ()), "--valid")]
        return [*files, *named(data.get("test", ()), "--test"), *reading(data)]


def still_improving(curves: Curves, monitor: str) -> bool:
    """Whether the best validation lies in the last fifth of the updates, and is better than all before that fifth."""
    points = curves.validation.get(monitor, ())
    if len(points) < LEAST or curves.best_step is None:
        return False
    values = dict(points)
    late = LATE * points[-1][0]
    best, before = values.get(curves.best_step), [value for step, value in points if step <= late]
    if best is None or not before or curves.best_step <= late:
        return False
    higher = best > points[0][1]
    last = max(before) if higher else min(before)
    gain = best - last if higher else last - best
    return gain > GAIN * max(abs(last), 1e-9)


def continuation(over: Over) -> str:
    """The command that continues a training which ended by a limit: from its weights where its rate has fallen to its
    end, else the same command with twice the limit; nothing where the command is not known."""
    training = over.settings.get("training", {})
    if training.get("schedule", {}).get("kind") in TO_THE_END:
        more = ["--from", str(over.path), "--out", f"{over.path}-continued"]
        return shlex.join(["dragoman", "train", *over.files(), *more])
    if over.command[1:2] != ["train"] or training.get(over.reason) is None:
        return ""
    return shlex.join(["dragoman", *raised(over.command[1:], over.reason, 2.0 * training[over.reason])])


def reading(data: dict[str, Any]) -> list[str]:
    """Settings of the files themselves that are not those by default."""
    fields = DATA[data.get("kind", "pairs")].model_fields
    usual = {name: field.get_default(call_default_factory=True) for name, field in fields.items()}
    own = {name: data[name] for name in OF_THE_DATA if name in data and name not in ("train", "valid", "test")}
    return [f"data.{name}={as_word(value)}" for name, value in own.items() if value != plain(usual.get(name))]


def plain(value: Any) -> Any:
    """As a TOML file has it."""
    return list(value) if isinstance(value, tuple) else value


def as_word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def named(corpora: Iterable[Any], option: str = "") -> list[str]:
    """Files as a command names them: parallel text by --source and --target, or by --valid twice."""
    words: list[str] = []
    for one in corpora:
        pair = not isinstance(one, str)
        for side, files in zip(("--source", "--target"), one, strict=False) if pair else [("", one)]:
            name = option or side
            words += [*([name] if name else []), files if isinstance(files, str) else " ".join(files)]
    return words


def raised(words: Sequence[str], reason: str, limit: float) -> list[str]:
    """A command with another limit in the place of the old one."""
    kept, skip = [], False
    for word in words:
        flag, _, value = word.partition("=")
        if skip or FLAGS.get(flag) == reason or flag == f"training.{reason}" or word == "--fresh":
            skip = not skip and not value and flag in FLAGS
        else:
            kept.append(word)
    shown = f"{limit:g}" if reason == "minutes" else str(int(limit))
    return [*kept, f"--{reason}", shown]


def advice(standing: Standing | None, over: Over, curves: Curves) -> str:
    """One sentence with a command: how a curve that still improves is continued, or what else may beat the baselines;
    nothing for a model that beats them and has leveled off."""
    monitor = str(over.settings.get("training", {}).get("monitor", "loss"))
    further = continuation(over) if over.reason in LIMITS else ""
    continued = f"continue with `{further}`" if further else f"raise training.{over.reason}"
    if over.reason in LIMITS and still_improving(curves, monitor):
        return f"Still improving: {continued}."
    if standing is None or standing.perfect or standing.outcome in (None, "better") or not over.reason:
        return ""
    if over.reason in LIMITS and len(curves.validation.get(monitor, ())) < LEAST:
        return f"Train longer: {continued}."
    return f"It has stopped improving: {something_else(over)}."


def something_else(over: Over) -> str:
    """A comparison of recipes; of texts alone the other kind of language model; of labels a bag of n-grams, or a
    pretrained encoder."""
    kind, files = over.settings.get("data", {}).get("kind", "pairs"), shlex.join(over.files())
    model = over.settings.get("model", {})
    one_label = model.get("head", {}).get("kind", "labels") == "labels" and model.get("sentences") != "two"
    if kind == "labelled" and one_label and model.get("encoder", {}).get("kind") != "identity":
        return f"try `dragoman train fasttext {files} --out {shlex.quote(f'{over.path}-fasttext')}`"
    if kind in FINE_TUNED:
        start = shlex.quote(str(over.path.parent / "pretrained"))
        tuned = (
            f"dragoman train {FINE_TUNED[kind]} {files} --from {start} --out {shlex.quote(f'{over.path}-pretrained')}"
        )
        first = f"dragoman train bert2018 TEXTS --out {start}"
        return f"start from an encoder pretrained on texts of this kind (`{first}`, then `{tuned}`)"
    if kind == "texts":
        attends = model.get("decoder", {}).get("kind") == "transformer"
        other = "zaremba2014" if attends else "gpt"
        return f"try `dragoman train {other} {files} --out {shlex.quote(f'{over.path}-{other}')}`"
    return f"find a better recipe with `dragoman compare {files}`"
