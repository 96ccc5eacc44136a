"""The numbers of sacrebleu's own command line."""

import json
import random
import subprocess
import sys

import pytest

from dragoman.metrics import measure

TEXT = "the cat sat on a mat and ate small red fish while dogs, birds and bees looked on ."


def corpus(items: int) -> tuple[list[str], list[tuple[str, ...]]]:
    generator = random.Random(5)
    references = [" ".join(generator.choices(TEXT.split(), k=generator.randint(5, 15))) for _ in range(items)]
    others = [" ".join(generator.choices(TEXT.split(), k=9)) for _ in range(items)]
    hypotheses = [" ".join(word for word in text.split() if generator.random() < 0.85) for text in references]
    return hypotheses, list(zip(references, others, strict=True))


def test_command_line(tmp_path):
    hypotheses, references = corpus(60)
    (tmp_path / "hypotheses").write_text("\n".join(hypotheses) + "\n")
    names = []
    for number, stream in enumerate(zip(*references, strict=True)):
        (tmp_path / f"{number}").write_text("\n".join(stream) + "\n")
        names.append(str(tmp_path / f"{number}"))
    options = ["-i", str(tmp_path / "hypotheses"), "-m", "bleu", "chrf", "ter", "--confidence", "-w", "6", "-f", "json"]
    command = [sys.executable, "-m", "sacrebleu", *names, *options]
    theirs = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    for mine, their in zip(measure(["bleu", "chrf", "ter"], hypotheses, references), theirs, strict=True):
        assert mine.value == pytest.approx(their["score"], abs=2e-6)
        assert (mine.high - mine.low) / 2 == pytest.approx(their["confidence_var"], abs=1e-4)
        assert mine.low < mine.value < mine.high
        assert mine.signature == their["signature"]


def test_capital_letters_may_count_as_small_ones():
    hypotheses, references = corpus(20)
    loud = [text.upper() for text in hypotheses]
    [plain], [found] = measure(["bleu"], hypotheses, references), measure(["bleu_lowercase"], loud, references)
    assert found.value == pytest.approx(plain.value)
    assert "case:lc" in found.signature
    assert measure(["bleu"], loud, references)[0].value < plain.value / 2


@pytest.mark.parametrize("name", ["bleu", "chrf", "ter"])
def test_different_numbers_of_references(name):
    hypotheses, references = corpus(20)
    fewer = [both[: 1 + number % 2] for number, both in enumerate(references)]
    repeated = [both if number % 2 else (both[0], both[0]) for number, both in enumerate(references)]
    [measured], [expected] = (measure([name], hypotheses, known, resamples=5) for known in (fewer, repeated))
    assert measured.value == pytest.approx(expected.value)
    assert "nrefs:var" in measured.signature


@pytest.mark.parametrize("name", ["bleu", "chrf", "ter"])
def test_empty_answers_have_a_score(name):
    [measured] = measure([name], ["", ""], [("a b c d",), ("e f g h", "")], resamples=5)
    assert 0 <= measured.low <= measured.value <= 100
