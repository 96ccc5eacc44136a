"""Pictures → pixels, by pillow: known formats, bounded sizes, upright, on white."""

import warnings
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import ConfigError, DataError

if TYPE_CHECKING:
    from PIL.Image import Image

Pixels = NDArray[np.uint8]  # rows × columns × red, green, blue
Size = int | tuple[int, int]  # pixels: of a square, or rows and columns
Fit = Literal["pad", "crop", "stretch"]  # with white, to its middle, or without regard to its proportions

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
MOST_BYTES = 64_000_000  # of a file
MOST_PIXELS = 100_000_000  # of a picture: they take four bytes each while it is read
WHITE = (255, 255, 255)
ORIENTATION, TURNED = 0x0112, (5, 6, 7, 8)  # the field of EXIF, and its values that swap rows and columns


class BadPictureError(DataError):
    """A picture that cannot be used; its message is what stands behind "is", in a few words."""


def require_pillow() -> None:
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise ConfigError(
            "Pictures are read by pillow, which is not installed: pip install 'dragoman[image]'."
        ) from None


def shape_of(size: Size) -> tuple[int, int]:
    """Rows and columns."""
    return (size, size) if isinstance(size, int) else size


def read_picture(file: str | Path, size: Size, fit: Fit = "pad") -> Pixels:
    """A file as so many pixels."""
    return pixels_of(read_file(Path(file)), size, fit)


def read_file(path: Path) -> bytes:
    """The bytes of a plain file; a pipe or device, or what is too large, is not opened to its end."""
    try:
        if not path.is_file():
            raise BadPictureError("a folder, a pipe or a device" if path.exists() else "not there")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadPictureError(f"a file that cannot be read: {error.strerror}") from error
    except ValueError as error:  # a NUL in its name
        raise BadPictureError("no name of a file") from error
    return content


def pixels_of(content: bytes, size: Size, fit: Fit = "pad") -> Pixels:
    """The bytes of a file as so many pixels. What is wrong is found in its header, before anything is decoded."""
    require_pillow()
    from PIL import Image, UnidentifiedImageError

    if not content:
        raise BadPictureError("an empty file")
    if len(content) > MOST_BYTES:
        raise BadPictureError(f"a file of more than {MOST_BYTES:,} bytes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pillow's bounds are not ours, and metadata does not matter
        try:
            with Image.open(BytesIO(content), formats=FORMATS) as image:
                refuse_unfit(image)
                most = 2 * max(shape_of(size))
                image.draft("RGB", (most, most))  # a large JPEG is decoded at a fraction of its size
                return fitted(image, size, fit)
        except UnidentifiedImageError as error:
            raise BadPictureError(f"no picture in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}") from error
        except Image.DecompressionBombError as error:
            raise BadPictureError(f"a picture of more than {MOST_PIXELS:,} pixels") from error
        except BadPictureError:
            raise
        except Exception as error:  # decoders of damaged files raise errors of any kind
            raise BadPictureError("a broken picture") from error


def shape_in(content: bytes) -> tuple[int, int]:
    """Rows and columns of the image in a file, upright, by its header alone."""
    require_pillow()
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(BytesIO(content), formats=FORMATS) as image:
                turned = image.getexif().get(ORIENTATION, 1) in TURNED
                return (image.width, image.height) if turned else (image.height, image.width)
        except Exception as error:  # decoders of damaged files raise errors of any kind
            raise BadPictureError("a broken picture") from error


def refuse_unfit(image: "Image") -> None:
    if image.width * image.height > MOST_PIXELS:
        raise BadPictureError(f"a picture of {image.width:,} × {image.height:,} pixels, more than {MOST_PIXELS:,}")
    if getattr(image, "is_animated", False) and image.format != "MPO":  # a photo with others behind it, no animation
        raise BadPictureError("an animation; take one of its frames")


def pixels_of_object(given: Any, size: Size, fit: Fit = "pad") -> Pixels:
    """A picture of pillow, or an array (rows, columns) or (rows, columns, 1, 3 or 4 colours) of bytes."""
    require_pillow()
    from PIL import Image

    if isinstance(given, Image.Image):
        refuse_unfit(given)
        return fitted(given, size, fit)
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise BadPictureError("a list of rows that are not equally long") from error
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 3, 4)):
        raise BadPictureError(
            f"an array of {array.dtype} of the shape {array.shape}; a picture is uint8, (rows, columns) or (rows, "
            "columns, 3), or (rows, columns, 4) with opacity"
        )
    if not array.size:
        raise BadPictureError("an array without pixels")
    image = Image.fromarray(array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array)
    refuse_unfit(image)
    return fitted(image, size, fit)


def fitted(image: "Image", size: Size, fit: Fit) -> Pixels:
    """Upright, on white, of this size."""
    from PIL import Image, ImageOps

    upright = on_white(ImageOps.exif_transpose(image))
    sizes, smooth = shape_of(size)[::-1], Image.Resampling.LANCZOS
    if fit == "pad":
        made = ImageOps.pad(upright, sizes, smooth, color=WHITE)
    else:
        made = ImageOps.fit(upright, sizes, smooth) if fit == "crop" else upright.resize(sizes, smooth)
    return np.asarray(made, np.uint8)


def on_white(image: "Image") -> "Image":
    """Red, green and blue; what can be seen through is seen upon white."""
    from PIL import Image

    if image.mode.startswith("I"):  # 16 bits of grey
        grey = np.asarray(image).astype(np.float64) / 257
        return Image.fromarray(np.clip(grey.round(), 0, 255).astype(np.uint8)).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    opaque = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", opaque.size, (*WHITE, 255)), opaque).convert("RGB")
