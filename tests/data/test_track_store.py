import json
from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.comparison.tracks import name_of, read
from dragoman.data.order import Batching, Position, walk
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.track import Feature
from dragoman.data.track_store import Cutting, Turning, build_tracks, collate_tracks
from dragoman.data.tracking import tracking_of
from dragoman.experiment import Experiment

X, Y = Feature("x"), Feature("y")


def built(folder: Path, content: str, **settings: object):
    file = folder / "a.csv"
    file.write_text(content)
    data = Futures(train=(str(file),), predicts=("x", "y"), past=2, future=2, missing="allow", **settings)
    tracking = tracking_of(data, (X, Y))
    cutting = Cutting(data, tracking)
    problems = cutting.problems
    store = build_tracks(folder / "s", cutting.stream("train"), tracking, "s", problems, lambda counts: None)
    return store, tracking, cutting


TRACKS = "id,x,y\na,0,0\na,1,0\na,2,0\na,3,\nb,5,5\nb,5,6\nb,5,7\nb,5,8\nb,5,9\nc,1,1\n"


def batch_of(store, how: Turning):
    _, chunk, indices = next(walk(store, Batching(), 1, Position()))
    return collate_tracks(chunk, np.sort(indices), how)


def test_a_batch_has_pasts_futures_and_what_is_fed(tmp_path: Path) -> None:
    store, tracking, cutting = built(tmp_path, TRACKS, frame="last")
    batch = batch_of(store, Turning(tracking))
    by = {line: row for row, line in enumerate(batch.examples)}
    assert sorted(by) == [2, 6, 7]  # the lines that the windows begin on
    row = by[2]
    assert batch.sources["source"].values[row].tolist() == [[-1, 0], [0, 0]]
    target = batch.truth()
    assert target.inputs.values[row].tolist() == [[0, 0], [1, 0]]
    np.testing.assert_array_equal(target.outputs.values[row].numpy(), [[1, 0], [2, np.nan]])
    assert cutting.left_out == {"tracks shorter than data.past + data.future = 4 steps": 1}
    assert list(cutting.places.values()) == [[f"{tmp_path / 'a.csv'}:11"]]


def test_pasts_of_different_lengths_stand_side_by_side(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(
        '{"past": [[0, 0], [1, 1], [2, 2]], "future": [[3, 3]]}\n{"past": [[5, 5]], "future": [[6, 6], [7, 7]]}\n'
    )
    data = Futures(train=(str(file),), predicts=("x", "y"), frame="last")
    tracking = tracking_of(data, (X, Y))
    cutting = Cutting(data, tracking)
    store = build_tracks(tmp_path / "s", cutting.stream("train"), tracking, "s", cutting.problems, lambda counts: None)
    batches = [store.chunk(0)]
    batch = collate_tracks(batches[0], np.arange(2), Turning(tracking))
    row = batch.examples.index(2)
    assert batch.sources["source"].mask[row].tolist() == [True, False, False]
    assert batch.truth().inputs.values[row].tolist() == [[0, 0], [1, 1]]
    assert batch.truth().outputs.mask.sum().item() == 3


@pytest.mark.parametrize("name", ["a.jsonl", "a.npz"])
def test_windows_of_a_track_that_is_one_line_have_numbers_of_their_own(tmp_path: Path, name: str) -> None:
    """Two tracks of five steps: the second window of the first is not the first of the second."""
    values = np.arange(20.0).reshape(2, 5, 2)
    np.savez(tmp_path / "a.npz", values=values, features=np.array(["x", "y"]))
    lines = [json.dumps({"x": one[:, 0].tolist(), "y": one[:, 1].tolist()}) for one in values]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    data = Futures(train=(str(tmp_path / name),), predicts=("x", "y"), past=2, future=2)
    tracking = tracking_of(data, (X, Y))
    cutting = Cutting(data, tracking)
    store = build_tracks(tmp_path / "s", cutting.stream("train"), tracking, "s", cutting.problems, lambda counts: None)
    numbers = sorted(store.chunk(0).lines.tolist())
    assert len(set(numbers)) == 4
    assert numbers[:2] == [1, 2]  # those of tracks that give one window are what they were
    assert [store.place(number).removeprefix(f"{tmp_path / name}:") for number in numbers] == ["1", "2", "1", "2"]
    settings = Experiment.model_construct(data=data)
    named = [(key, name_of(past)) for key, past, _ in read(settings, [str(tmp_path / name)], Problems())]
    assert [one for _, one in named] == ["1, line 1", "1, line 1, from step 2", "2, line 2", "2, line 2, from step 2"]
    assert len({key for key, _ in named}) == 4


def test_turns_and_noise_are_keyed_and_keep_lengths(tmp_path: Path) -> None:
    store, tracking, _ = built(tmp_path, TRACKS, frame="steps")
    plain = batch_of(store, Turning(tracking))
    for turns in ("any", "right"):
        how = Turning(tracking, turns, seed=1)
        first, again, other = (batch_of(store, one) for one in (how, how.in_epoch(0), how.in_epoch(1)))
        torch.testing.assert_close(first.truth().outputs.values, again.truth().outputs.values, equal_nan=True)
        assert not torch.equal(first.truth().outputs.values.nan_to_num(), other.truth().outputs.values.nan_to_num())
        lengths = [one.truth().outputs.values.norm(dim=-1) for one in (plain, first)]
        torch.testing.assert_close(lengths[0], lengths[1], equal_nan=True)
    noisy = batch_of(store, Turning(tracking, noise=0.5, seed=1))
    torch.testing.assert_close(noisy.truth().outputs.values, plain.truth().outputs.values, equal_nan=True)
    added = (noisy.sources["source"].values - plain.sources["source"].values)[:, 1]
    assert (added.abs() > 0).any()


def test_what_steps_sum_up_to_is_turned_with_them(tmp_path: Path) -> None:
    """Points 1 and 2 are the past; 3 is missing, and 4 is two to the right."""
    tracks = "id,x,y\na,0,0\na,0,0\na,,\na,2,0\n"
    store, tracking, _ = built(tmp_path, tracks, frame="steps")
    target = batch_of(store, Turning(tracking, "any", seed=1)).truth()
    assert target.path is not None
    assert target.outputs.values.isnan().all()
    assert target.path.values[0, 0].isnan().all()
    assert target.path.values[0, 1].norm().item() == pytest.approx(2)
    assert abs(target.path.values[0, 1, 1].item()) > 1e-3


def test_without_gaps_nothing_is_summed_up_beforehand(tmp_path: Path) -> None:
    store, tracking, _ = built(tmp_path, "id,x,y\na,0,0\na,0,0\na,1,1\na,2,0\n", frame="steps")
    assert batch_of(store, Turning(tracking)).truth().path is None


def test_noise_leaves_the_last_point_where_it_is(tmp_path: Path) -> None:
    store, tracking, _ = built(tmp_path, TRACKS, frame="last")
    noisy, plain = (batch_of(store, Turning(tracking, noise=n)) for n in (0.5, 0.0))
    assert torch.equal(noisy.sources["source"].values[:, -1], plain.sources["source"].values[:, -1])
    assert not torch.equal(noisy.sources["source"].values[:, 0], plain.sources["source"].values[:, 0])
