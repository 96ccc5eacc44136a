"""Settings that cannot be, and the sentence for each: what, where, what is allowed, what is nearest, what to do."""

import time
from pathlib import Path
from typing import Any

import pytest

from command_line import CommandLine
from dragoman.config import validate
from dragoman.errors import ConfigError
from dragoman.recipes import compose
from dragoman.served import Served

MEANING = "It means: Updates after which training ends."
SENTENCES = {
    "training.stepps=5": "No setting is called 'training.stepps' (command line). Did you mean 'steps'?",
    "trainning.steps=5": "No setting is called 'trainning' (command line). Did you mean 'training'? Known here: "
    "conversation, data, ",
    "source.widht=5": "No setting is called 'source.widht' (command line). Known here: kind, lowercase, minimum_count",
    "training.steps=many": f"training.steps must be a whole number, not 'many' (command line). {MEANING}",
    "training.steps=1.5": f"training.steps must be a whole number, not 1.5 (command line). {MEANING}",
    "training.steps=true": f"training.steps must be a whole number, not 'true' (command line). {MEANING}",
    "training.steps=[1]": f"training.steps must be a whole number, not [1] (command line). {MEANING}",
    "training.steps.per_epoch=1": "training.steps must be a whole number, not {'per_epoch': 1} (command line).",
    "training.steps=0": "training.steps must be more than 0, not 0 (command line).",
    "training.steps=1e400": "training.steps must be a finite number, not inf (command line).",
    "training.minutes=soon": "training.minutes must be a number, not 'soon' (command line).",
    "training.clip=-1": "training.clip must be at least 0, not -1 (command line). It means: Largest norm of the grad",
    "training.clip=nan": "training.clip must be a finite number, not nan (command line).",
    "model.encoder.dropout=1.5": "model.encoder.dropout must be less than 1, not 1.5 (command line).",
    "model.encoder.width=-5": "model.encoder.width must be at least 1, not -5 (command line).",
    "model.encoder.width=100000": "model.encoder.width must be at most 65536, not 100000 (command line).",
    "model.encoder.layers=1000000000": "model.encoder.layers must be at most 1000, not 1000000000 (command line).",
    "source.size=1000000000000": "source.size must be at most 10000000, not 1000000000000 (command line).",
    "source.size=٣٠٠": "source.size must be a whole number, not '٣٠٠' (command line).",
    "data.max_bad=2": "data.max_bad must be at most 1, not 2 (command line). It means: share of bad lines above which",
    "data.longer=cut": "data.longer must be 'drop' or 'truncate', not 'cut' (command line).",
    "data.longer=drip": "data.longer must be 'drop' or 'truncate', not 'drip' (command line). Did you mean 'drop'?",
    "data.train=5": 'data.train: must be files, e.g. ["a.tsv", "b.csv.gz"], or pairs of a source and a target file',
    "training.monitor=5": 'training.monitor must be a text, e.g. "abc", not 5 (command line).',
    "training.optimiser.kind=adamm": "called 'adamm' (command line). Did you mean 'adam'? Known: adadelta, adam,",
    "training.optimiser=5": "training.optimiser is a table of settings, not 5 (command line). Write one of them, e.g. ",
    "training.optimiser=sgd": "not 'sgd' (command line). Write one of them, e.g. training.optimiser.kind=sgd.",
    "model=[]": "model is a table of settings, not [] (command line).",
    "training.optimiser.betas=3": "training.optimiser.betas must be a list",
    "training.optimiser.betas=[0.9]": "training.optimiser.betas must be a list of more values, not [0.9]",
    "training.optimiser.betas=[0.9, 2]": "betas must be less than 1, not 2 (value 2) (command line).",
    "training.optimiser.betas=[0, 0, 0]": "must be a list of 2 values at most, not [0, 0, 0] (command line).",
    "evaluation.metrics=[3]": 'evaluation.metrics must be a text, e.g. "abc", not 3 (value 1) (command line).',
    "training.steps": "'training.steps' is no setting. Write section.key=value, e.g. model.encoder.width=256.",
    "=5": "'=5' is no setting. Write section.key=value",
}


@pytest.mark.parametrize(("setting", "said"), SENTENCES.items(), ids=SENTENCES)
def test_a_bad_setting(setting: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        compose(overrides=[setting])
    sentence = str(raised.value)
    assert said in sentence
    assert "\n" not in sentence
    for words in ("Input should be", "valid integer", "unable to parse", "pydantic", "instance of", "after validation"):
        assert words not in sentence


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("this is no TOML", "own.toml is not valid TOML: Expected '=' after a key in a key/value pair (at line 1, col"),
        ("[training]\nsteps = 5\nsteps = 6\n", "own.toml is not valid TOML: Cannot overwrite a value (at line 3"),
        ("[training]\nsteps = 1e400\n", "training.steps must be a finite number, not inf (own.toml, line 2)."),
        ("[training]\nsteps = 'x'\n", "training.steps must be a whole number, not 'x' (own.toml, line 2)."),
        ("training = 5\n", "training is a table of settings, not 5 (own.toml, line 1)."),
        ("[training.optimiser]\nbetas = [0.9, 2]\n", "must be less than 1, not 2 (value 2) (own.toml, line 2)."),
        ("[training]\nsteps = \0\n", "own.toml is not valid TOML: "),
        ("[scales]\ntiny = 3\n", "own.toml, line 1: a scale is a table of settings, [scales.tiny] for one."),
        ("scales = 3\n", "own.toml, line 1: a scale is a table of settings"),
        ("[scales.tiny]\n", "No scale of "),
    ],
)
def test_a_bad_file(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(ConfigError) as raised:
        compose(str(tmp_path / "own.toml"), "big" if "scales" in text else None)
    assert said in str(raised.value)


HUGE = {
    "model.encoder.layers": 10**9,
    "model.encoder.width": 10**12,
    "model.decoder.readout_width": -1,
    "source.size": 10**12,
    "limits.source": float("inf"),
    "search.width": 0,
}


@pytest.mark.parametrize(("name", "value"), HUGE.items(), ids=HUGE)
def test_a_model_of_impossible_size_is_refused_before_it_is_built(name: str, value: Any) -> None:
    table: Any = value
    for part in reversed(name.split(".")):
        table = {part: table}
    started_at = time.process_time()
    with pytest.raises(ConfigError, match=name):
        validate(Served, table)
    assert time.process_time() - started_at < 0.2


def test_names_that_are_not_known(out: Path, corpus: Any, dragoman: CommandLine) -> None:
    """Recipe, scale, metric and two recipes, as a user meets them."""
    train = ("train", corpus.train, "--out", out)
    for words, said in (
        (
            ("recipes", "g2q"),
            "No recipe is called 'g2q'. Did you mean 'g2p'? Known: bahdanau2015, bert2018, caption,",
        ),
        ((*train, "g2p", "--scale", "tinny"), "No scale of g2p is called 'tinny'. Did you mean 'tiny'?"),
        (
            (*train, 'evaluation.metrics=["blue"]'),
            "No metric is called 'blue'. Did you mean 'bleu'? Known: bleu, bleu_",
        ),
        ((*train, "g2p", "translate"), "One training has one recipe, not 2: g2p, translate."),
    ):
        done = dragoman(*words)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
        assert "Traceback" not in done.err
    assert not out.exists()
