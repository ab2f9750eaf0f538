"""I3D, a network for actions in videos; FVD is defined by its 400 class scores.

Carreira and Zisserman (2017), Quo vadis, action recognition? It is published as one
TorchScript archive with network, scaling and resizing; it is loaded unchanged and runs
in fp32. Unlike other weights, an archive is a program: only the published one is run,
identified by its hash.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from evalcore.metrics.base import Picture
from evalcore.metrics.encoders.published import I3D
from evalcore.metrics.encoders.runtime import Network, NetworkEncoder
from evalcore.metrics.weights import Weights, WeightsError

STEP = 9  # frames per clip of the network
SWITCHES = ("rescale", "resize", "return_features")


def i3d_encoder() -> NetworkEncoder:
    """Return an encoder of clips: 400 numbers."""
    return NetworkEncoder(
        "I3D of StyleGAN-V",
        I3D,
        Network(load_i3d, batch=1, exact=True),
        chosen_frames,
    )


class VideoNetwork(nn.Module):
    """The archive, called with scaling, resizing and features switched on."""

    def __init__(self, archive: nn.Module) -> None:
        super().__init__()
        self.archive = archive

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the features of videos: frames x height x width x 3, 0 to 255."""
        videos = batch.permute(0, 4, 1, 2, 3).contiguous()
        features: torch.Tensor = self.archive(
            videos, rescale=True, resize=True, return_features=True
        )
        return features


def load_i3d(weights: Weights = I3D) -> nn.Module:
    """Return the network of the archive."""
    path = weights.need()
    try:
        archive: Any = torch.jit.load(str(path), map_location="cpu")
    except (OSError, RuntimeError, ValueError) as error:
        raise WeightsError(f"{path} is no TorchScript archive ({error})") from error
    known = {argument.name for argument in archive.forward.schema.arguments}
    lacking = [switch for switch in SWITCHES if switch not in known]
    if lacking:
        raise WeightsError(
            f"{path} is not the I3D of FVD: it takes no {', '.join(lacking)}"
        )
    return VideoNetwork(archive)


def choice(count: int) -> npt.NDArray[np.int_]:
    """Return the frames of a video that I3D receives.

    `count`: how many frames it has, at least one. Result: a multiple of 9 indices,
    evenly spread. In a video with fewer than 9 frames, each is repeated first.

    Source: StoryBench's program, metrics/fvd_i3d.
    """
    frames = np.repeat(np.arange(count), -(-STEP // count) if count < STEP else 1)
    length = len(frames)
    places = np.linspace(0, length - 1, length // STEP * STEP, dtype=np.int_)
    return frames[places]


def chosen_frames(clip: Picture) -> Picture:
    """Return frames x height x width x 3."""
    return np.ascontiguousarray(clip[choice(len(clip))])
