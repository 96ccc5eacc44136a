"""The baseline of captioning: the caption of the nearest training image by pixels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.baselines.clock import check_time
from dragoman.baselines.predicted import Baselines, Predicted, Skipped

BLOCK = 64  # test images that are compared at once
NEAREST = "caption of the nearest image by pixels"
Pixels = NDArray[np.uint8]  # (channels, height, width) of one image


def nearest_images(train: NDArray[np.uint8], test: NDArray[np.uint8]) -> list[int]:
    """The place of the training image with the least squared difference of pixels; of equals the first."""
    known = train.reshape(len(train), -1).astype(np.float32)
    squares = (known**2).sum(1)
    found: list[int] = []
    for start in range(0, len(test), BLOCK):
        check_time()
        asked = test[start : start + BLOCK].reshape(-1, known.shape[1]).astype(np.float32)
        found += (squares[:, None] - 2 * known @ asked.T).argmin(0).tolist()
    return found


def caption_baselines(
    train: Sequence[Pixels], captions: Sequence[dict[str, str]], test: NDArray[np.uint8], tags: Sequence[str]
) -> Baselines:
    """`captions` are those of each training image by their tags, and `tags` those that the test asks for."""
    if not train:
        yield Skipped(NEAREST, "none of the training images can be read")
        return
    usual = {tag: text for one in captions for tag, text in one.items()}
    near = nearest_images(np.stack(train), test)
    said = [captions[place].get(tag, usual.get(tag, "")) for place, tag in zip(near, tags, strict=True)]
    yield Predicted("nearest", NEAREST, said, len(train))
