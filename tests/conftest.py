"""Every test starts from the same random numbers, on one thread; a tiny corpus and a command line that is warm."""

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest
import torch

from command_line import CommandLine
from tiny import Corpus


@pytest.fixture(autouse=True)
def same_start() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell leaves it for what it runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)


WHOLE = ("training", "faults", "learn", "comparison", "export")  # folders in which models are trained


@pytest.fixture(autouse=True, scope="session")
def quick_trainings() -> None:
    """Whole trainings go without the check of shapes, those of fixtures too: it takes a third of their time."""
    jaxtyping.config.update("jaxtyping_disable", True)


@pytest.fixture(autouse=True)
def shapes(request: pytest.FixtureRequest, quick_trainings: None) -> Iterator[None]:
    jaxtyping.config.update("jaxtyping_disable", request.path.parent.name in WHOLE)
    yield
    jaxtyping.config.update("jaxtyping_disable", True)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """600 words to learn from and 40 to validate on: spell them backwards."""
    folder = tmp_path_factory.mktemp("corpus")
    letters = random.Random(3)
    words = ["".join(letters.choices("abcdefg", k=letters.randint(2, 6))) for _ in range(640)]
    lines = [f"{word}\t{' '.join(reversed(word))}\n" for word in words]
    (folder / "train.tsv").write_text("".join(lines[:600]))
    (folder / "valid.tsv").write_text("".join(lines[600:]))
    return Corpus(folder / "train.tsv", folder / "valid.tsv")


@pytest.fixture(scope="session")
def dragoman() -> Iterator[CommandLine]:
    """dragoman("train", …): a real process each time, with its exit code, output and messages."""
    with CommandLine() as line:
        yield line


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"
