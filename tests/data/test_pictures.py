"""Pictures become pixels, and what is wrong with one is said in a few words."""

import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dragoman.data import pictures
from dragoman.data.pictures import BadPictureError, pixels_of, pixels_of_object, read_picture

RED, GREEN = (255, 0, 0), (0, 128, 0)


def encoded(image: Image.Image, kind: str, **how: Any) -> bytes:
    file = BytesIO()
    image.save(file, kind, **how)
    return file.getvalue()


def halves(mode: str = "RGB") -> Image.Image:
    """Red on the left, green on the right."""
    image = Image.new("RGB", (8, 8), RED)
    image.paste(GREEN, (4, 0, 8, 8))
    return image.convert(mode)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "GIF", "WEBP"])
def test_formats_without_loss_give_the_same_pixels(kind: str) -> None:
    found = pixels_of(encoded(halves(), kind, **({"lossless": True} if kind == "WEBP" else {})), 8)
    np.testing.assert_array_equal(found, np.asarray(halves()))


def test_a_jpeg_gives_about_the_same() -> None:
    found = pixels_of(encoded(halves().resize((64, 64), 0), "JPEG", quality=95), 8).astype(int)
    assert abs(found[:, 0] - RED).max() < 12
    assert abs(found[:, 7] - GREEN).max() < 12


def test_a_photograph_is_turned_upright() -> None:
    """Orientation 6: the right side of what the file holds is the bottom of the picture."""
    exif = Image.Exif()
    exif[0x0112] = 6
    found = pixels_of(encoded(halves(), "PNG", exif=exif), 8)
    np.testing.assert_array_equal(found[0], [RED] * 8)
    np.testing.assert_array_equal(found[7], [GREEN] * 8)


def test_a_photograph_with_others_behind_it_is_its_first() -> None:
    """As phones write JPEG, with a second picture for the screen."""
    colours = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    content = encoded(colours[0], "MPO", save_all=True, append_images=colours[1:])
    assert pixels_of(content, 4)[0, 0].tolist() == pytest.approx([255, 0, 0], abs=4)


def test_what_can_be_seen_through_lies_on_white() -> None:
    image = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    image.putpixel((0, 0), (0, 0, 0, 255))
    found = pixels_of(encoded(image, "PNG"), 4)
    assert found[0, 0].tolist() == [0, 0, 0]
    assert found[3, 3].tolist() == [255, 255, 255]
    palette = pixels_of(encoded(image.convert("P"), "GIF", transparency=image.convert("P").getpixel((3, 3))), 4)
    assert palette[3, 3].tolist() == [255, 255, 255]


def test_sixteen_bits_of_grey_are_scaled_to_eight() -> None:
    grey = Image.fromarray(np.full((4, 4), 257 * 100, np.uint16))
    assert pixels_of(encoded(grey, "PNG"), 4)[0, 0].tolist() == [100, 100, 100]


@pytest.mark.parametrize(
    ("fit", "left", "top"), [("pad", RED, (255, 255, 255)), ("crop", RED, RED), ("stretch", RED, RED)]
)
def test_a_broad_picture_is_padded_cropped_or_stretched(fit: Any, left: Any, top: Any) -> None:
    image = Image.new("RGB", (16, 8), RED)
    found = pixels_of(encoded(image, "PNG"), 8, fit)
    assert found.shape == (8, 8, 3)
    assert tuple(found[4, 0].tolist()) == left
    assert tuple(found[0, 4].tolist()) == top


def test_an_image_keeps_its_proportions_in_a_shape_like_its_own() -> None:
    found = pixels_of(encoded(Image.new("RGB", (64, 16), RED), "PNG"), (8, 32))
    assert found.shape == (8, 32, 3)
    assert (found == RED).all()
    padded = pixels_of(encoded(Image.new("RGB", (16, 16), RED), "PNG"), (8, 32))
    assert (padded[:, 12:20] == RED).all()
    assert (padded[:, :12] == 255).all()


def header(width: int, height: int) -> bytes:
    """A PNG that says how large it is, and holds nothing."""
    body = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    empty = [b"IDAT" + zlib.compress(b""), b"IEND"]
    chunks = [
        (len(part) - 4).to_bytes(4, "big") + part + zlib.crc32(part).to_bytes(4, "big") for part in [body, *empty]
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def moving(kind: str) -> bytes:
    frames = [halves(), halves().transpose(Image.Transpose.FLIP_LEFT_RIGHT)]
    return encoded(frames[0], kind, save_all=True, append_images=frames[1:])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "an empty file"),
        (b"no picture", "no picture in PNG, JPEG, WEBP, GIF or BMP"),
        (encoded(halves(), "TIFF"), "no picture in PNG, JPEG, WEBP, GIF or BMP"),
        (encoded(halves().resize((64, 64)), "PNG")[:90], "a broken picture"),
        (encoded(halves().resize((64, 64)), "JPEG")[:400], "a broken picture"),
        (header(20_000, 20_000), "a picture of more than 100,000,000 pixels"),
        (header(20_000, 6_000), "a picture of 20,000 × 6,000 pixels, more than 100,000,000"),
        (header(4, 4), "a broken picture"),
        (moving("GIF"), "an animation; take one of its frames"),
        (moving("PNG"), "an animation; take one of its frames"),
        (moving("WEBP"), "an animation; take one of its frames"),
    ],
    ids=["empty", "text", "tiff", "cut png", "cut jpeg", "bomb", "enormous", "hollow", "gif", "apng", "webp"],
)
def test_what_is_no_picture_is_said_in_words(content: bytes, words: str) -> None:
    with pytest.raises(BadPictureError) as caught:
        pixels_of(content, 8)
    assert str(caught.value) == words


def test_files_that_are_no_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(path: Path | str) -> str:
        with pytest.raises(BadPictureError) as caught:
            read_picture(path, 8)
        return str(caught.value)

    assert said(tmp_path / "gone.png") == "not there"
    assert said(tmp_path) == "a folder, a pipe or a device"
    assert said("a\0b.png") in ("no name of a file", "not there")
    monkeypatch.setattr(pictures, "MOST_BYTES", 20)
    (tmp_path / "large.png").write_bytes(encoded(halves(), "PNG"))
    assert said(tmp_path / "large.png") == "a file of more than 20 bytes"


def test_pictures_and_arrays_in_memory() -> None:
    np.testing.assert_array_equal(pixels_of_object(halves(), 8), np.asarray(halves()))
    np.testing.assert_array_equal(pixels_of_object(np.asarray(halves()), 8), np.asarray(halves()))
    assert pixels_of_object(np.full((4, 4), 9, np.uint8), 2)[0, 0].tolist() == [9, 9, 9]
    assert pixels_of_object(np.full((4, 4, 1), 9, np.uint8), 2)[0, 0].tolist() == [9, 9, 9]
    with pytest.raises(BadPictureError, match=r"an array of float64 of the shape \(4, 4, 3\); a picture is uint8"):
        pixels_of_object(np.zeros((4, 4, 3)), 2)
    with pytest.raises(BadPictureError, match="an array without pixels"):
        pixels_of_object(np.zeros((0, 4, 3), np.uint8), 2)
