import pytest
import torch
from torch import Tensor

from dragoman.config import validate
from dragoman.contracts import Padded
from dragoman.errors import ConfigError
from dragoman.frontends import ImageGrid, ImageGridFrontend, build_frontend, vectors_of

SMALL = ImageGrid(size=16, grid=4, width=12, channels=6, groups=4)


def pictures(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 256, (*shape, 16, 16, 3), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)


def built(config: ImageGrid = SMALL) -> ImageGridFrontend:
    torch.manual_seed(0)
    frontend = build_frontend(config, 0)
    assert isinstance(frontend, ImageGridFrontend)
    return frontend.eval()


@pytest.mark.parametrize("grid", [1, 2, 4, 8, 16])
def test_a_picture_is_a_grid_of_vectors(grid: int) -> None:
    frontend = built(SMALL.changed(grid=grid))
    assert frontend(pictures(2, 1)).shape == (2, grid * grid, 12)
    assert frontend.cells == grid * grid


def test_a_clip_is_the_pictures_of_its_frames() -> None:
    """Three frames of two clips: the cells of one frame stand behind those of the frame before."""
    frontend, clips = built(), pictures(2, 3)
    vectors, mask = vectors_of(frontend, Padded(clips, torch.tensor([[True, True, True], [True, False, False]])))
    assert vectors.shape == (2, 48, 12)
    torch.testing.assert_close(vectors[1, 16:32], frontend(clips[1:, 1:2])[0])
    assert mask.sum(1).tolist() == [48, 16]
    assert mask[1, :16].all()


def test_the_mean_of_a_frame_is_one_vector() -> None:
    whole, mean = built(), built(SMALL.changed(summary="mean"))
    clips = pictures(2, 3)
    torch.testing.assert_close(mean(clips), whole(clips).view(2, 3, 16, 12).mean(2))


def test_a_batch_equals_its_rows() -> None:
    frontend, many = built(), pictures(5, 1)
    for row in range(5):
        torch.testing.assert_close(frontend(many[row : row + 1]), frontend(many)[row : row + 1])


def test_cells_stand_row_by_row() -> None:
    """Of a picture that is black but for its upper right corner, the cell there changes most."""
    frontend, dark = built(SMALL.changed(positions="none")), torch.zeros(1, 1, 16, 16, 3, dtype=torch.uint8)
    light = dark.clone()
    light[0, 0, :4, 12:] = 255
    changes = (frontend(light) - frontend(dark)).norm(dim=2)[0]
    assert changes.view(4, 4).argmax().item() in (2, 3, 6, 7)


def test_positions_tell_cells_apart() -> None:
    """They are the sum of a row's vector and a column's."""
    frontend, bare = built(), built(SMALL.changed(positions="none"))
    bare.load_state_dict({name: value for name, value in frontend.state_dict().items() if name != "places"})
    added = (frontend(pictures(1, 1)) - bare(pictures(1, 1))).view(4, 4, 12)
    assert frontend.places is not None
    torch.testing.assert_close(added[3, 1], frontend.places[0, 3] + frontend.places[1, 1], rtol=1e-3, atol=1e-5)


def test_every_weight_gets_a_gradient() -> None:
    frontend = built(SMALL.changed(blocks=2))
    frontend(pictures(2, 1)).square().sum().backward()
    assert all(weight.grad is not None and weight.grad.any() for weight in frontend.parameters())


def test_a_grid_is_the_size_halved() -> None:
    with pytest.raises(ConfigError) as caught:
        validate(ImageGrid, {"size": 48, "grid": 7})
    assert "grid = 7 is not size = 48 halved some times; with this size it may be 48, 24, 12, 6, 3" in str(caught.value)


WIDE = SMALL.changed(size=(8, 32), grid=(2, 8), positions="none")


def test_a_wide_image_is_a_wide_grid() -> None:
    """Rows by columns of cells, row by row: what is bright at the right end changes the last columns most."""
    frontend, dark = built(WIDE), torch.zeros(1, 1, 8, 32, 3, dtype=torch.uint8)
    light = dark.clone()
    light[0, 0, :4, 28:] = 255
    changes = (frontend(light) - frontend(dark)).norm(dim=2)[0]
    assert changes.shape == (16,)
    assert changes.view(2, 8).sum(0).argmax().item() in (6, 7)
    assert built(WIDE.changed(positions="learned"))(light).shape == (1, 16, 12)
    assert (WIDE.cells, WIDE.cells_of_sides, WIDE.bytes) == (16, (2, 8), 768)


@pytest.mark.parametrize(
    ("size", "grid", "cells"), [([8, 32], 2, (2, 8)), ([8, 32], [8, 32], (8, 32)), (8, [4, 4], (4, 4))]
)
def test_rows_of_the_grid_decide_its_columns(size, grid, cells) -> None:
    assert validate(ImageGrid, {"size": size, "grid": grid}).cells_of_sides == cells


def test_a_grid_that_halves_both_sides_is_asked_for() -> None:
    with pytest.raises(ConfigError, match=r"grid = \[2, 4\] is not size = \[8, 32\] halved some times"):
        validate(ImageGrid, {"size": [8, 32], "grid": [2, 4]})
    with pytest.raises(ConfigError, match=r"it may be \[8, 32\], \[4, 16\], \[2, 8\], \[1, 4\]"):
        validate(ImageGrid, {"size": [8, 32], "grid": 3})


def test_a_column_is_one_vector_that_sees_its_rows() -> None:
    """One vector for each of eight columns; what lights up in either row of the last one changes it most."""
    frontend, dark = built(WIDE.changed(summary="columns")), torch.zeros(1, 1, 8, 32, 3, dtype=torch.uint8)
    assert (frontend.cells, frontend(dark).shape) == (8, (1, 8, 12))
    for row in (0, 4):
        light = dark.clone()
        light[0, 0, row : row + 4, 28:] = 255
        assert (frontend(light) - frontend(dark)).norm(dim=2)[0].argmax().item() in (6, 7)
    assert WIDE.changed(summary="columns").cells_of_sides == (1, 8)
