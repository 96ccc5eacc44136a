from pathlib import Path

import numpy as np
import pytest

from dragoman.data.gallery import PIXELS, SUMS, Gallery, hanging
from dragoman.errors import DamagedStoreError


def filled(folder: Path) -> Gallery:
    """Three pictures of 2 × 2, of which all bytes are 0, 1 and 2."""
    with hanging(folder, 2) as gallery:
        assert [gallery.add(np.full((2, 2, 3), number, np.uint8)) for number in range(3)] == [0, 1, 2]
    found = Gallery.open(folder)
    assert found is not None
    return found


def test_pictures_are_read_by_number(tmp_path: Path) -> None:
    gallery = filled(tmp_path / "gallery")
    assert (gallery.shape, gallery.count) == ((2, 2), 3)
    found = gallery.read([2, 0, 2])
    assert found.shape == (3, 2, 2, 3)
    assert found[:, 0, 0, 0].tolist() == [2, 0, 2]


def test_wide_images_hang_as_they_are(tmp_path: Path) -> None:
    with hanging(tmp_path / "wide", (2, 4)) as gallery:
        gallery.add(np.arange(24, dtype=np.uint8).reshape(2, 4, 3))
    found = Gallery.open(tmp_path / "wide")
    assert found is not None
    assert found.read([0])[0, 1, 3].tolist() == [21, 22, 23]


def test_a_changed_byte_is_noticed_where_it_is_read(tmp_path: Path) -> None:
    gallery = filled(tmp_path / "gallery")
    content = bytearray((gallery.folder / PIXELS).read_bytes())
    content[13] = 9
    (gallery.folder / PIXELS).write_bytes(content)
    assert gallery.read([0, 2]).shape[0] == 2
    with pytest.raises(DamagedStoreError, match=r"pixels\.bin is damaged: picture 1 has changed since it was written"):
        gallery.read([1])


def test_a_gallery_that_is_not_whole_is_none(tmp_path: Path) -> None:
    assert Gallery.open(tmp_path / "none") is None
    for name in (PIXELS, SUMS, "gallery.json"):
        gallery = filled(tmp_path / name)
        content = (gallery.folder / name).read_bytes()
        (gallery.folder / name).write_bytes(content[:-1])
        assert Gallery.open(gallery.folder) is None


def test_pictures_of_another_size_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="gallery of 2 × 2"), hanging(tmp_path / "gallery", 2) as gallery:
        gallery.add(np.zeros((3, 3, 3), np.uint8))
    assert Gallery.open(tmp_path / "gallery") is None
