"""Whole comparisons of data that is no pairs of texts: one page for each kind, on the same test items for all."""

import json
from pathlib import Path
from typing import Any

import pytest
from small import SMALL, compared, facts, run

from command_line import CommandLine
from dragoman.comparison import Began, Compared, Request
from dragoman.comparison.kinds import KINDS
from dragoman.data.gestures import write_gestures, write_streams
from dragoman.data.movements import write_clips
from dragoman.data.movers import write_movers
from dragoman.data.scenes import write_scenes
from dragoman.errors import ConfigError, DataError
from dragoman.training.events import Stepped
from frames import written as written_frames
from labels import written as written_texts
from talks import write_talks
from tiny import of_kind

OWN: dict[str, dict[str, Any]] = {
    "tracks": {"data.stride": 20, "data.predicts": ["x", "y"], "data.context": ["turn", "speed"]},
    "captions": {"limits.answer": 5},
}
RECIPES = {
    "tracks": ("trajectories-rnn", "trajectories-mixture"),
    "conversations": ("last-turn", "turns-joined"),
    "captions": ("xu2015-once", "xu2015-soft"),
    "frames": ("classify-frames-alone", "classify-frames-rnn"),
    "tags": ("tag-frames-alone", "tag-frames-rnn"),
    "numbers": ("classify-frames-alone", "classify-frames-rnn"),
    "clips": ("classify-clips-alone", "classify-clips-transformer"),
    "labelled": ("fasttext", "classify"),
    "tagged": ("tag-words", "tag-letters", "tag-crf"),
}
OWN["numbers"] = {"model.head.kind": "number", "objective.kind": "squared_error", "training.monitor": "pearson"}


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("kinds")
    write_movers(folder / "movers", {"train": 30})
    write_gestures(folder / "gestures", {"train": 40})
    write_streams(folder / "streams", {"train": 25})
    write_clips(folder / "clips", {"train": 25})
    (folder / "numbers").mkdir()
    written_frames(folder / "numbers", "numbers", 60)
    texts = {"labelled": "labels", "tagged": "chunks"}
    for name in texts:
        (folder / name).mkdir()
    return {
        **{name: str(written_texts(folder / name, maker, 100).train) for name, maker in texts.items()},
        "tracks": str(folder / "movers/train.csv"),
        "frames": str(folder / "gestures/train.csv"),
        "tags": str(folder / "streams/train.csv"),
        "clips": str(folder / "clips/train.tsv"),
        "numbers": str(folder / "numbers/train.npz"),
        "conversations": write_talks(folder / "talks.jsonl", range(60)),
        "captions": str(write_scenes(folder / "scenes", "train", 40)),
    }


def wanted(files: dict[str, str], kind: str, out: Path, *recipes: str, **options: Any) -> Request:
    short = {"training.steps": 2, "training.validate_every": 1, "training.log_every": 1, "training.save_every": 2}
    settings = SMALL | short | OWN.get(kind, {}) | options.pop("settings", {})
    options = {"scale": "tiny", "train": (files[kind],)} | options
    return Request(out=out, recipes=recipes or RECIPES[kind], settings=settings, **options)


class Each(dict[str, Compared]):
    """One comparison of each kind, made when it is asked for."""

    def __init__(self, files: dict[str, str], folder: Path) -> None:
        super().__init__()
        self.files, self.folder = files, folder

    def __missing__(self, kind: str) -> Compared:
        self[kind] = compared(wanted(self.files, kind, self.folder / kind))
        return self[kind]


@pytest.fixture(scope="session")
def done(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Compared]:
    return Each(files, tmp_path_factory.mktemp("compared"))


@pytest.mark.parametrize(
    ("kind", "metrics", "decisive", "said"),
    [
        ("conversations", ["perplexity", "bleu", "chrf"], "perplexity", ["Next turns", "in truth: ", "histories"]),
        (
            "captions",
            ["exact_match", "token_f1", "bleu", "chrf", "perplexity"],
            "",
            ["Captions side by side", "people"],
        ),
        ("tracks", ["ade", "fde", "rmse"], "", ["By horizon", "Futures over pasts", "ADE [m]", "over tracks"]),
        ("frames", ["accuracy", "macro_f1"], "", ["Sequences side by side", "each frame by itself", "over sequences"]),
        ("tags", ["accuracy", "macro_f1"], "", ["frames wrong", "macro F1"]),
        ("numbers", ["pearson", "spearman", "root_mean_squared_error"], "", ["Pearson", "sequences"]),
        ("clips", ["accuracy", "macro_f1"], "", ["clips", "a Transformer"]),
        (
            "labelled",
            ["accuracy", "macro_f1"],
            "",
            ["Texts side by side", "a bag of n-grams", "expected: ", "over texts"],
        ),
        (
            "tagged",
            ["span_f1", "accuracy"],
            "",
            ["Sentences side by side", "with a CRF", "words wrong", 'class="tagged"'],
        ),
    ],
)
def test_a_page_for_each_kind(
    done: dict[str, Compared], kind: str, metrics: list[str], decisive: str, said: list[str]
) -> None:
    page, found = done[kind].page.read_text(), json.loads(done[kind].json.read_text())
    for part in ("Quality", "Cost", "Learning", "Settings", *said):
        assert part in page
    assert not [word for word in ("<script", "http://", "https://") if word in page.replace("http://www.w3.org", "")]
    assert str(done[kind].page.parents[2]) not in page
    assert [one["name"] for one in found["models"]] == list(RECIPES[kind])
    assert found["metrics"] == metrics
    assert found["decisive"] == (decisive or found["decisive"]) in metrics
    for one in found["models"]:
        assert list(one["metrics"]) == metrics
        assert one["steps"] == 2
        assert one["parameters"] > 0
        assert all(value["low"] <= value["value"] <= value["high"] for value in one["metrics"].values())
        curve = one["validation_ade" if kind == "tracks" else "validation_loss"]
        assert len(curve) == 2
    assert sum(one["metrics"][metrics[0]]["p"] is None for one in found["models"]) == 1  # the leader
    assert found["test"]["held_out"]
    assert 3 < found["test"]["sources"] == len(done[kind].facts.climb.items)


def test_what_is_tested_on_was_never_learned_from(done: dict[str, Compared], files: dict[str, str]) -> None:
    """Whole tracks are held out, and so are whole conversations and pictures."""
    climb = done["tracks"].facts.climb
    tested = {past.windows.names[0] for past, _ in climb.items}
    every = {line.split(",")[0] for line in Path(files["tracks"]).read_text().splitlines()[1:]}
    record = json.loads((climb.folder.run("trajectories-rnn").path / "data.json").read_text())
    trained, validated = (record["summary"][name]["tracks"] for name in ("train", "valid"))
    assert 1 <= len(tested) == len(every) - trained - validated
    pictures = {picture.name for picture, _ in done["captions"].facts.climb.items}
    record = json.loads((done["captions"].page.parent / "runs/xu2015-soft/data.json").read_text())
    assert record["train"]["counts"]["pairs"] + record["valid"]["counts"]["pairs"] == 40 - len(pictures)


def test_what_a_recipe_leaves_open_is_chosen_from_the_data(done: dict[str, Compared]) -> None:
    for name in RECIPES["tracks"]:
        chosen = (done["tracks"].page.parent / "runs" / name / "defaults.toml").read_text()
        assert "position = " in chosen


def test_what_is_prepared_is_prepared_once(done: dict[str, Compared]) -> None:
    def inode(kind: str, run: str) -> int:
        return (done[kind].page.parent / "runs" / run / "data/train/target.bin").stat().st_ino

    for kind in ("captions", "frames"):  # recipes of tracks leave some settings of the data open
        first, second = (inode(kind, run) for run in RECIPES[kind])
        assert first == second
    last, joined = (inode("conversations", run) for run in RECIPES["conversations"])
    assert last != joined  # which read another number of turns


def test_symbols_are_the_same_for_all_systems_of_conversations(done: dict[str, Compared]) -> None:
    assert done["conversations"].facts.alike
    climbed = done["conversations"].facts.models
    assert climbed[0].answered.symbols == climbed[1].answered.symbols


def test_other_symbols_are_not_compared_by_perplexity(files: dict[str, str], out: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[data]\nkind = "conversations"\n[conversation]\nturns = 1\n[source]\nkind = "characters"\n'
        '[target]\nkind = "characters"\n[model]\nsource = { width = 4 }\ntarget = { width = 4 }\n'
        "encoder = { width = 4 }\ndecoder = { width = 4, readout_width = 4, attention = { width = 4 } }\n"
    )
    made = wanted(files, "conversations", out, "last-turn:tiny", str(tmp_path / "mine.toml"), scale=None)
    last = compared(made)
    assert not last.facts.alike
    found = facts(out)
    assert [one["metrics"]["perplexity"]["p"] for one in found["models"]] == [None, None]
    assert found["decisive"] in ("bleu", "chrf")  # and not by what cannot be compared
    assert any("Vocabularies differ" in note for note in found["notes"])


BASELINES = {
    "tracks": {"last velocity", "ridge regression on the history"},
    "captions": {"caption of the nearest image by pixels"},
    "conversations": {"reply to the nearest history"},
    "frames": {"most frequent label", "linear model over mean and deviation in time"},
    "tags": {"most frequent tag", "linear model over the frames around each"},
    "numbers": {"mean of the training data", "ridge regression over mean and deviation in time"},
    "clips": {"most frequent label", "linear model over mean and deviation in time"},
    "labelled": {"most frequent label", "linear model over words and letter n-grams"},
    "tagged": {"most frequent tag of each word", "linear model over a window of words"},
}


@pytest.mark.parametrize("kind", BASELINES)
def test_baselines_have_rows(done: dict[str, Compared], kind: str) -> None:
    found = json.loads(done[kind].json.read_text())
    assert set(found["baselines"]) == BASELINES[kind]
    if kind != "conversations":  # which are told apart by perplexity
        assert any("beat the best baseline (" in line or "beats the best" in line for line in found["verdict"])
        assert any(row["p"] is not None and 0 < row["p"] <= 1 for row in found["baselines"].values())
    assert all(what in done[kind].page.read_text("utf-8") for what in BASELINES[kind])


def test_the_data_decides_what_a_recipe_leaves_open(done: dict[str, Compared]) -> None:
    """Each contender has choices of its own, which the page lists; what is measured is the same for all."""
    settings = done["tagged"].facts.climb.settings
    sources = [one.model.source for one in settings.values()]
    assert [one.kind for one in sources] == ["tokens", "spelled", "spelled"]
    assert [one.model.head.kind for one in settings.values()] == ["tags", "tags", "crf"]
    assert {one.training.monitor for one in settings.values()} == {"span_f1"}
    chosen = (done["tagged"].page.parent / "runs/tag-crf/defaults.toml").read_text()
    assert "objective" in chosen
    assert 'monitor = "span_f1"' in chosen
    classify = done["labelled"].facts.climb.settings["classify"].model
    assert classify.bag is not None  # which the recipe does not name
    assert 'kind = "labels" # 2 labels' in (done["labelled"].page.parent / "defaults.toml").read_text()


def test_other_settings_than_the_data_chose_are_refused(done: dict[str, Compared], files: dict[str, str]) -> None:
    other = wanted(files, "tagged", done["tagged"].page.parent, settings={"model.encoder.width": 5})
    with pytest.raises(
        ConfigError, match=r"tag-words was trained with other settings:\n  model\.encoder\.width: 6 → 5"
    ):
        run(other)


def test_labels_that_are_numbers_or_of_two_texts_are_so_for_all(out: Path, tmp_path: Path) -> None:
    rows = [f"{'a b' if n % 3 else 'a c'} {n}\tb {n % 5}\t{n / 10}\n" for n in range(60)]
    (tmp_path / "similar.tsv").write_text("sentence1\tsentence2\tscore\n" + "".join(rows))
    files = {"similar": str(tmp_path / "similar.tsv")}
    last = compared(wanted(files, "similar", out, "fasttext", "classify"))
    for one in last.facts.climb.settings.values():
        assert (one.model.sentences, one.model.head.kind, one.training.monitor) == ("two", "number", "pearson")
    assert json.loads(last.json.read_text())["metrics"][0] == "pearson"


def test_the_last_velocity_stands_beside(done: dict[str, Compared]) -> None:
    found = json.loads(done["tracks"].json.read_text())
    still = found["baselines"]["last velocity"]["metrics"]
    assert still["ade"]["low"] <= still["ade"]["value"] <= still["ade"]["high"] < still["fde"]["high"]
    assert [bucket["shortest"] for bucket in found["lengths"]["ade"]] == [3, 6, 9, 12]


@pytest.mark.parametrize("kind", ["tracks", "tags", "captions", "labelled", "tagged"])
def test_the_same_again_measures_nothing_anew(done: dict[str, Compared], files: dict[str, str], kind: str) -> None:
    out = done[kind].page.parent
    before, kept = facts(out), out / "answers" / f"{RECIPES[kind][1]}.json"
    written = kept.stat().st_mtime_ns
    events = run(wanted(files, kind, out))
    assert not of_kind(events, Stepped)
    assert [event.is_trained for event in of_kind(events, Began)] == [True] * len(RECIPES[kind])
    assert facts(out) == before
    assert kept.stat().st_mtime_ns == written


def test_a_test_file_of_ones_own(files: dict[str, str], out: Path, tmp_path: Path) -> None:
    write_movers(tmp_path / "more", {"test": 3, "more": 1, "valid": 3})
    test, more, valid = (str(tmp_path / "more" / f"{name}.csv") for name in ("test", "more", "valid"))
    two = ((test, more),)  # as --test twice comes from the command line
    last = compared(wanted(files, "tracks", out, "trajectories-rnn", test=two, valid=(valid,)))
    found = json.loads(last.json.read_text())
    assert found["test"]["files"] == [test, more]
    assert not found["test"]["held_out"]
    names = {past.windows.names[0] for past, _ in last.facts.climb.items}
    assert names == {"test-1", "test-2", "test-3", "more-1"}
    record = json.loads((out / "runs/trajectories-rnn/data.json").read_text())
    assert record["summary"]["train"]["tracks"] == 30


def test_the_command_finds_out_the_kind(dragoman: CommandLine, files: dict[str, str], out: Path) -> None:
    words = [f"{name}={str(value).lower()}" for name, value in SMALL.items() if name != "training.steps"]
    own = ["data.stride=30", 'data.predicts=["x","y"]', 'data.context=["turn","speed"]']
    told = dragoman("compare", files["tracks"], "--scale", "tiny", "--steps", 1, "--out", out, *words, *own)
    assert told.code == 0, told.err
    assert told.out == f"{out}/report.html\n"
    assert "model 2 of 3 · trajectories-transformer · a Transformer" in told.err
    assert "data.hold_out_test = 0.2" in told.err
    assert "train.csv looks like it; its ladder is compared" in told.err
    assert "test pasts answered" in told.err
    assert "ADE [m]" in told.err
    assert "last velocity" in told.err


@pytest.mark.parametrize(
    ("kind", "recipes", "options", "sentence"),
    [
        (
            "frames",
            (),
            {},
            r"may be learned in several ways \(data\.kind = 'frames'\): classify-frames or tag-frames\.",
        ),
        (
            "conversations",
            ("last-turn", "g2p"),
            {},
            r"last-turn learns from conversations \(data\.kind = 'conversations'\) and g2p from pairs of texts "
            r"\('pairs'\), and a comparison is of one kind of data\. Name recipes of one kind, or say which it is for "
            r"all: data\.kind=…",
        ),
        (
            "frames",
            ("classify-frames-rnn", "tag-frames-rnn"),
            {},
            r"classify-frames-rnn has model\.head\.kind = 'labels' and tag-frames-rnn has 'tags', so that they would "
            r"not be measured on the same\. Give one for all: model\.head\.kind=…, or compare them one by one\.",
        ),
        (
            "conversations",
            (),
            {"settings": {"data.kind": "questions"}},
            r"A comparison is of pairs, conversations, captions, labelled or tagged texts, tracks, frames or clips, "
            r"and data\.kind is 'questions'\. Train models of it one by one, and set finished runs side by side with "
            r"`dragoman compare --table`\.",
        ),
        ("tracks", RECIPES["tracks"], {"train": ()}, r"trajectories-rnn: There is nothing to train on: name a file of"),
        ("captions", RECIPES["captions"], {"test": ("absent.tsv",)}, r"absent\.tsv"),
    ],
)
def test_what_cannot_be_compared(
    files: dict[str, str], out: Path, kind: str, recipes: tuple[str, ...], options: dict[str, Any], sentence: str
) -> None:
    given = {"training.steps": 1} | options.get("settings", {})
    others = {name: value for name, value in options.items() if name != "settings"}
    with pytest.raises((ConfigError, DataError), match=sentence):
        run(Request(out=out, recipes=recipes, settings=given, **({"train": (files[kind],)} | others)))


def test_data_that_cannot_be_parted(files: dict[str, str], out: Path, tmp_path: Path) -> None:
    few = write_talks(tmp_path / "few.jsonl", range(9))
    with pytest.raises(
        DataError, match=r"9 conversations are too few to have some of them held out for the test\. Give"
    ):
        run(wanted(files, "conversations", out, train=(few,)))
    with pytest.raises(DataError, match=r"9 conversations are too few to have some of them held out to validate on\. "):
        run(wanted(files, "conversations", out, train=(few,), test=(few,)))
    write_movers(tmp_path / "one", {"train": 1})
    with pytest.raises(DataError, match=r"The data is one of tracks, of which no part can be held out for the test\."):
        run(wanted(files, "tracks", out / "one", train=(str(tmp_path / "one/train.csv"),)))
    (tmp_path / "none.csv").write_text("id,x [m],y [m],turn [degrees],speed [m/s]\n1,0,0,0,0\n")
    with pytest.raises(DataError, match=r"There is no good past to test on in .*none\.csv\."):
        run(wanted(files, "tracks", out / "none", test=(str(tmp_path / "none.csv"),)))


def test_a_comparison_that_lost_its_test_data(done: dict[str, Compared], files: dict[str, str], out: Path) -> None:
    valid = {"valid": (files["tracks"],)}
    compared(wanted(files, "tracks", out, "trajectories-rnn", test=(files["tracks"],), **valid))
    with pytest.raises(ConfigError, match=r"There is no test data any more: give --test as when the comparison was"):
        run(wanted(files, "tracks", out, "trajectories-rnn", **valid))


def test_every_kind_has_words_and_names_settings_that_exist() -> None:
    for name, kind in KINDS.items():
        assert kind.name == name == kind.config.model_fields["kind"].default
        assert {one.removeprefix("data.") for one in kind.same if one.startswith("data.")} <= {
            *kind.config.model_fields
        }
