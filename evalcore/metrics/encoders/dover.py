"""DOVER, a network that rates the quality of a video in two views.

The aesthetic view is the whole picture, reduced; the technical view is made of small
fragments in full resolution. The networks are those of the package `dover`; the views
are built here, as StoryBench's program builds them (metrics/models/dover/datasets),
without a decoder of its own. Source: Wu et al. (2023), Exploring video quality
assessment on user generated contents from aesthetic and technical perspectives.
"""

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from evalcore.metrics.base import Feature, Picture
from evalcore.metrics.encoders.published import DOVER
from evalcore.metrics.encoders.runtime import Network, NetworkEncoder, load_weights

SIDE = 224
FRAGMENT, PER_SIDE = 32, 7  # pixels of a fragment, fragments per side
CLIP, CLIPS, STEP = 32, 3, 2  # frames per clip, technical clips, every second frame
MEAN = np.array([123.675, 116.28, 103.53], np.float32)
DEVIATION = np.array([58.395, 57.12, 57.375], np.float32)
# The program draws other starts and fragments in each run. Here all videos share one
# seed, so that a value can be repeated.
SEED = 0
HEAD = {"in_channels": 768, "hidden_channels": 64}
TECHNICAL = {"type": "swin_tiny_grpb", "checkpoint": True, "pretrained": None}


def sampled_frames(
    count: int, length: int, parts: int, rng: np.random.Generator
) -> npt.NDArray[np.int_]:
    """Return the frames of a view: `length` from each of the video's `parts`.

    A part starts at a random place if it is longer than it must be. In a short video,
    frames beyond the end are counted again from its start.
    """
    part = count // parts
    free = part - length * STEP
    starts = rng.integers(0, free, parts) if free > 0 else np.zeros(parts, int)
    wanted = np.arange(length) * STEP + (starts + np.arange(parts) * part)[:, None]
    return wanted.ravel() % count


def aesthetic_view(frames: Picture) -> Feature:
    """Return frames x 224 x 224 x 3: the picture squashed, without smoothing."""
    pictures = torch.from_numpy(frames).permute(0, 3, 1, 2).float()
    small = functional.interpolate(pictures, (SIDE, SIDE), mode="bilinear")
    view: Feature = small.round().permute(0, 2, 3, 1).numpy()
    return view


def technical_view(frames: Picture, rng: np.random.Generator) -> Feature:
    """Return frames x 224 x 224 x 3: a fragment of each of 7 x 7 fields.

    The fragments of 32 successive frames have one place. A video with less than 224
    pixels on a side is enlarged first; the fields keep their old size, as in the
    program, so that they cover its upper left part only.
    """
    height, width = frames.shape[1:3]
    if min(height, width) < FRAGMENT:
        raise ValueError(f"{width} x {height} pixels, DOVER needs {FRAGMENT} a side")
    scale = SIDE / min(height, width)
    pictures = frames
    if scale > 1:
        floats = torch.from_numpy(frames).permute(0, 3, 1, 2).float() / 255
        large = functional.interpolate(floats, scale_factor=scale, mode="bilinear")
        pictures = (large * 255).byte().permute(0, 2, 3, 1).numpy()
    blocks = len(frames) // CLIP
    rows, columns = (
        _places(length, rng, (PER_SIDE, PER_SIDE, blocks)) for length in (height, width)
    )
    view = np.zeros((len(frames), SIDE, SIDE, 3), np.float32)
    for i, j, block in np.ndindex(PER_SIDE, PER_SIDE, blocks):
        at = slice(block * CLIP, (block + 1) * CLIP)
        top = _start(height, i) + rows[i, j, block]
        left = _start(width, j) + columns[i, j, block]
        view[
            at, i * FRAGMENT : (i + 1) * FRAGMENT, j * FRAGMENT : (j + 1) * FRAGMENT
        ] = pictures[at, top : top + FRAGMENT, left : left + FRAGMENT]
    return view


def _start(length: int, number: int) -> int:
    return min(length // PER_SIDE * number, length - FRAGMENT)


def _places(
    length: int, rng: np.random.Generator, shape: tuple[int, ...]
) -> npt.NDArray[np.int_]:
    """Return random places within the fields; 0 if a field is no larger."""
    free = length // PER_SIDE - FRAGMENT
    return rng.integers(0, free, shape) if free > 0 else np.zeros(shape, int)


def views(clip: Picture) -> Feature:
    """Return 4 x 3 x 32 x 224 x 224: one aesthetic clip, then three technical ones."""
    rng = np.random.default_rng(SEED)
    technical = clip[sampled_frames(len(clip), CLIP, CLIPS, rng)]
    aesthetic = clip[sampled_frames(len(clip), 1, CLIP, rng)]
    both = np.concatenate([aesthetic_view(aesthetic), technical_view(technical, rng)])
    clips = ((both - MEAN) / DEVIATION).reshape(1 + CLIPS, CLIP, SIDE, SIDE, 3)
    return np.ascontiguousarray(clips.transpose(0, 4, 1, 2, 3))


def load_dover() -> nn.Module:
    """Return the network with its weights.

    The package would fetch weights of ConvNeXt to start the aesthetic part from, which
    the published file replaces; so that part is added without them.
    """
    package: Any = import_module("dover.models")
    network: nn.Module = package.DOVER(
        backbone={"technical": TECHNICAL},
        backbone_preserve_keys="technical",
        divide_head=True,
        vqa_head=HEAD,
    )
    backbone = package.convnext_3d_tiny(pretrained=False)
    network.add_module("aesthetic_backbone", backbone)
    network.add_module("aesthetic_head", package.VQAHead(pre_pool=False, **HEAD))
    load_weights(network, DOVER)
    return network


def _ratings(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    parts = {"aesthetic": batch[0, :1], "technical": batch[0, 1:]}
    return torch.stack([one.mean() for one in network(parts)])[None]


@cache
def dover_encoder() -> NetworkEncoder:
    """Return an encoder of clips: the aesthetic and the technical rating, raw."""
    return NetworkEncoder(
        f"DOVER, views of seed {SEED}",
        DOVER,
        Network(load_dover, batch=1, forward=_ratings, exact=True),
        views,
    )
