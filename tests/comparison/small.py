"""Recipes of a few hundred weights, and comparisons of them."""

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from dragoman.comparison import Compared, Request, compare
from dragoman.comparison.climbing import Told
from tiny import Corpus

SMALL: dict[str, Any] = {
    "training.threads": 1,
    "training.device": "cpu",
    "training.steps": 6,
    "training.save_every": 2,
    "training.validate_every": 3,
    "training.log_every": 2,
    "training.estimate": False,
    "evaluation.resamples": 50,
}
MODEL = """
[training]
batching = { tokens = 100 }
optimiser = { kind = "sgd", rate = 0.5 }

[model]
source = { width = 6 }
target = { width = 6 }
encoder = { width = 5 }
decoder = { width = 8, readout_width = 6, attention = { width = 4 } }

[scales.tiny.model]
encoder = { width = 3 }
"""
VARIANTS = """
[[ladder]]
rung = 2.5
title = "LSTM cells"
settings = { model = { decoder = { cell = "lstm" } } }

[[ladder]]
rung = 1.5
title = "No cells: GRU"
name = "gated"
"""
CLOCK = (
    "minutes",
    "seconds",
    "tokens_per_second",
    "sentences_per_second",
    "made_at",
    "validation_loss",
    "run",
    "files",
)


def write_recipes(folder: Path) -> tuple[str, str]:
    """One recipe of one model, and one of two variants."""
    (folder / "plain.toml").write_text(f"# A plain one: small\n{MODEL}")
    (folder / "several.toml").write_text(f"# Several\n{VARIANTS}{MODEL}")
    return str(folder / "plain.toml"), str(folder / "several.toml")


def request(corpus: Corpus, out: Path, *recipes: str, **options: Any) -> Request:
    """settings={"training.steps": 9} wins over what is small."""
    settings = SMALL | options.pop("settings", {})
    return Request(out=out, recipes=recipes, train=(str(corpus.train),), settings=settings, **options)


def run(wanted: Request) -> list[Told | Compared]:
    return list(compare(wanted))


def compared(wanted: Request) -> Compared:
    last = run(wanted)[-1]
    assert isinstance(last, Compared)
    return last


def timeless(value: Any) -> Any:
    """Facts without what the clock and the place say."""
    if isinstance(value, dict):
        return {name: timeless(inside) for name, inside in value.items() if name not in CLOCK}
    return [timeless(inside) for inside in value] if isinstance(value, list) else value


def facts(out: Path) -> Any:
    return timeless(json.loads((out / "report.json").read_text()))


def folder_of(done: Compared) -> Path:
    return done.page.parent


def copied(done: Compared, out: Path, *without: str) -> Path:
    """A finished comparison in another place, as if some models had not had their turn."""
    shutil.copytree(folder_of(done), out)
    for name in without:
        shutil.rmtree(out / "runs" / name)
        (out / "answers" / f"{name}.json").unlink()
    (out / "report.html").unlink()
    (out / "report.json").unlink()
    return out


class Page(HTMLParser):
    """Its text, and whether it needs anything from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.names = "", []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        known = dict(attributes)
        assert tag not in ("script", "img", "link", "iframe")
        assert not [name for name in known if name.startswith("on") or name in ("src", "xlink:href")]
        self.names += [known["id"]] if "id" in known else []

    def handle_data(self, data: str) -> None:
        self.text += data
