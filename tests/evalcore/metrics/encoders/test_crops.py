"""Where the middle of a picture is, held against the programs that are followed.

Of a side that is longer by 1, 3, 5 and 7 pixels the half that is left over is .5, 1.5,
2.5 and 3.5: rounded to an even number it is 0, 2, 2, 4, floored 0, 1, 2, 3.
"""

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from torchvision.transforms import v2
from transformers import CLIPImageProcessorPil

from evalcore.metrics.encoders import preprocessing as pre
from evalcore.metrics.encoders.clip import clip_image_encoder, csd_encoder
from evalcore.metrics.storybench import features
from tests.evalcore.metrics import tiny
from tests.evalcore.metrics.asking import noise
from tests.evalcore.metrics.encoders.test_networks import encoded

SIDE = 224
ODD = noise(1, (SIDE, SIDE + 3))  # width, height; the rounded middle is one pixel lower


SIZES = [
    (SIDE, SIDE),
    (SIDE + 1, SIDE),
    (SIDE, SIDE + 3),
    (SIDE + 5, SIDE + 2),
    (SIDE + 7, SIDE + 3),
    (SIDE + 100, SIDE + 11),
]


@pytest.mark.parametrize("size", SIZES)
def test_the_rounded_middle_is_torchvisions(size):
    picture = noise(2, size)
    theirs = np.asarray(v2.CenterCrop(SIDE)(Image.fromarray(picture)))
    np.testing.assert_array_equal(pre.centre_crop(picture, SIDE), theirs)


@pytest.mark.parametrize("size", SIZES)
def test_the_floored_middle_is_that_of_transformers(size):
    picture = noise(2, size)
    processor = CLIPImageProcessorPil(
        do_resize=False, do_rescale=False, do_normalize=False
    )
    (theirs,) = processor([picture], return_tensors="np")["pixel_values"]
    own = pre.centre_crop(picture, SIDE, "floored")
    np.testing.assert_array_equal(own, theirs.transpose(1, 2, 0))


@pytest.mark.parametrize("shape", [(2000, 1, 3), (1, 101, 3)])
def test_what_is_too_thin_is_not_blown_up(shape):
    with pytest.raises(ValueError, match="too thin to be looked at"):
        pre.short_side(np.zeros(shape, np.uint8), 224)


def test_the_longer_side_of_a_detectors_input_is_bounded():
    found = pre.short_side(np.zeros((1, 101, 3), np.uint8), 800, longest=1333)
    assert found.shape == (13, 1313, 3)


def by_hand(network, picture):
    """Features of the middle square as it is."""
    batch = torch.tensor((picture / 255 - pre.CLIP[0]) / pre.CLIP[1])
    with torch.no_grad():
        return network(batch.permute(2, 0, 1)[None].float())[0].numpy()


def test_clip_looks_where_it_is_told_to(weights):
    network = tiny.save_clip(weights)
    rounded = clip_image_encoder(tiny.CLIP, normalise=False, half="rounded")
    floored = clip_image_encoder(tiny.CLIP, normalise=False)
    seen = open_clip.image_transform(
        SIDE, is_train=False, mean=pre.CLIP[0], std=pre.CLIP[1]
    )
    with torch.no_grad():
        theirs = network.encode_image(seen(Image.fromarray(ODD))[None])[0].numpy()
    np.testing.assert_allclose(encoded(rounded, ODD)[0], theirs, atol=2e-5)
    (own,) = encoded(floored, ODD)
    wanted = by_hand(network.encode_image, ODD[1:225])
    np.testing.assert_allclose(own, wanted, atol=2e-5)
    assert not np.allclose(own, theirs, atol=1e-3)  # else it tests nothing
    assert rounded.id != floored.id


def test_csd_cuts_as_its_authors_do(weights):
    network = tiny.save_csd(weights)
    (own,) = encoded(csd_encoder("centercrop", tiny.CLIP), ODD)
    np.testing.assert_allclose(own, by_hand(network, ODD[2:226]), atol=2e-5)


def test_storybench_cuts_as_open_clip_does(weights, monkeypatch):
    network = tiny.save_clip(weights)
    monkeypatch.setitem(features.CLIP_NAMES, "storybench-code", tiny.CLIP)
    (own,) = encoded(features.SeenByNetwork("clip", "storybench-code").encoder, ODD)
    wanted = by_hand(network.encode_image, ODD[2:226])
    np.testing.assert_allclose(own, wanted, atol=2e-5)
