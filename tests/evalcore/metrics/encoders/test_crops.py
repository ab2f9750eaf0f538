"""Position of the middle crop, compared with the reference programs.

For a side that is longer by 1, 3, 5 and 7 pixels, half of the excess is .5, 1.5, 2.5
and 3.5: rounded to an even number it is 0, 2, 2, 4, floored 0, 1, 2, 3.
"""

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import v2
from transformers import CLIPImageProcessorPil

from evalcore.metrics.encoders import preprocessing as pre
from tests.evalcore.metrics.asking import noise

SIDE = 224


SIZES = [
    (SIDE, SIDE),
    (SIDE + 1, SIDE),
    (SIDE, SIDE + 3),
    (SIDE + 5, SIDE + 2),
    (SIDE + 7, SIDE + 3),
    (SIDE + 100, SIDE + 11),
]


@pytest.mark.parametrize("size", SIZES)
def test_rounded_middle_matches_torchvision(size):
    picture = noise(2, size)
    theirs = np.asarray(v2.CenterCrop(SIDE)(Image.fromarray(picture)))
    np.testing.assert_array_equal(pre.centre_crop(picture, SIDE), theirs)


@pytest.mark.parametrize("size", SIZES)
def test_floored_middle_matches_transformers(size):
    picture = noise(2, size)
    processor = CLIPImageProcessorPil(
        do_resize=False, do_rescale=False, do_normalize=False
    )
    (theirs,) = processor([picture], return_tensors="np")["pixel_values"]
    own = pre.centre_crop(picture, SIDE, "floored")
    np.testing.assert_array_equal(own, theirs.transpose(1, 2, 0))


@pytest.mark.slow
def test_squashing_in_fractions_matches_torchvision_on_tensors():
    """ViStoryBench's program resizes numbers from 0 to 1; sharp edges overshoot."""
    picture = noise(3, (SIDE + 90, SIDE - 40))
    tensor = torch.from_numpy(picture.astype(np.float32) / 255).permute(2, 0, 1)
    how = v2.InterpolationMode.BICUBIC
    demanded = v2.Resize((SIDE, SIDE), interpolation=how)(tensor[None])[0]
    found = pre.resized_in_fractions(picture, (SIDE, SIDE))
    assert found.min() < 0 < 255 < found.max()
    assert found / 255 == pytest.approx(demanded.permute(1, 2, 0).numpy(), abs=1e-5)


@pytest.mark.parametrize("shape", [(2000, 1, 3), (1, 101, 3)])
def test_too_narrow_picture_is_refused(shape):
    with pytest.raises(ValueError, match="too narrow to be processed"):
        pre.short_side(np.zeros(shape, np.uint8), 224)
