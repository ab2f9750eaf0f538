"""Inception v3, FID's and torchvision's, and MobileNetV2, a proxy from a package.

FID's weights come from TensorFlow's network of 2015: its blocks average without
counting the padding, its last block takes the maximum, and it has 1,008 classes. Both
Inceptions always run in fp32, since rounded features have a different covariance.

Source: Szegedy et al. (2016), Rethinking the Inception architecture for computer
vision.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torchvision.models import Inception3, mobilenet_v2

from evalcore.metrics.base import Picture
from evalcore.metrics.encoders.preprocessing import (
    BILINEAR,
    IMAGENET,
    middle,
    normalised,
)
from evalcore.metrics.encoders.published import (
    INCEPTION_FID,
    INCEPTION_IMAGENET,
    MOBILENET,
)
from evalcore.metrics.encoders.runtime import (
    Network,
    NetworkEncoder,
    load_weights,
)

SIDE = 299
FID_CLASSES, IMAGENET_CLASSES = 1008, 1000
Pool = Callable[[torch.Tensor, int, int, int], torch.Tensor]


# FID's network -----------------------------------------------------------------------


def fid_encoder() -> NetworkEncoder:
    """Return an encoder of pictures: the 2,048 features of the last pooling (pool3).

    Pictures are squashed to 299 x 299 (bilinear, on floats and without smoothing) and
    scaled to the range from -1 to 1.
    """
    return NetworkEncoder(
        "Inception v3 of FID, pool3",
        INCEPTION_FID,
        Network(load_fid_network, exact=True),
        squashed,
    )


def fid_network() -> nn.Module:
    """Return FID's network without weights."""
    network: nn.Module = Inception3(
        num_classes=FID_CLASSES, aux_logits=False, init_weights=False
    )
    averaging = ("5b", "5c", "5d", "6b", "6c", "6d", "6e", "7b")
    for block in averaging:
        mean = partial(functional.avg_pool2d, count_include_pad=False)
        _repool(getattr(network, f"Mixed_{block}"), mean)
    _repool(network.get_submodule("Mixed_7c"), functional.max_pool2d)
    return network


def load_fid_network() -> nn.Module:
    """Return FID's network with its weights, without its last layer."""
    network = fid_network()
    load_weights(network, INCEPTION_FID)
    network.fc = nn.Identity()
    return network


def squashed(picture: Picture) -> Any:
    """Return 3 x 299 x 299 numbers from -1 to 1."""
    pixels = torch.from_numpy(np.ascontiguousarray(picture)).permute(2, 0, 1)
    resized = functional.interpolate(
        pixels[None].float() / 255, (SIDE, SIDE), mode="bilinear", align_corners=False
    )
    return (2 * resized[0] - 1).numpy()


def _repool(block: nn.Module, pool: Pool) -> None:
    branch = block.get_submodule("branch_pool")
    channels = block.get_parameter("branch_pool.conv.weight").shape[0]

    def replaced(
        _block: nn.Module, inputs: tuple[torch.Tensor], output: torch.Tensor
    ) -> torch.Tensor:
        # The pooling branch is the last one.
        return torch.cat([output[:, :-channels], branch(pool(inputs[0], 3, 1, 1))], 1)

    block.register_forward_hook(replaced)


def imagenet_encoder(*, transform_input: bool) -> NetworkEncoder:
    """Return an encoder of pictures: the probabilities of ImageNet's 1,000 classes."""
    how = "inputs as trained" if transform_input else "inputs not transformed"
    return NetworkEncoder(
        f"Inception v3 of torchvision, probabilities, {how}",
        INCEPTION_IMAGENET,
        Network(
            partial(load_imagenet_network, transform_input),
            forward=_probabilities,
            exact=True,
        ),
        partial(middle, side=SIDE, how=BILINEAR),
    )


def imagenet_network(*, transform_input: bool) -> nn.Module:
    """Return torchvision's network without weights."""
    network: nn.Module = Inception3(
        num_classes=IMAGENET_CLASSES,
        aux_logits=True,
        transform_input=transform_input,
        init_weights=False,
    )
    return network


def load_imagenet_network(transform_input: bool) -> nn.Module:
    """Return torchvision's network with its weights.

    The file must also hold those of the auxiliary classifier, which only training
    needs; they are dropped.
    """
    network = imagenet_network(transform_input=transform_input)
    load_weights(network, INCEPTION_IMAGENET)
    network.register_module("AuxLogits", None)
    return network


def _probabilities(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    logits: torch.Tensor = network(normalised(batch, IMAGENET))
    return logits.softmax(dim=-1)


RESIZED, MOBILENET_SIDE = 256, 224


def mobilenet_encoder(what: Literal["features", "probabilities"]) -> NetworkEncoder:
    """Return an encoder of pictures: 1,280 unit features or 1,000 probabilities."""
    return NetworkEncoder(
        f"MobileNetV2 {what}",
        MOBILENET,
        Network(load_mobilenet, forward=_unit if what == "features" else _shares),
        partial(
            middle, side=MOBILENET_SIDE, how=BILINEAR, half="floored", short=RESIZED
        ),
    )


@cache
def load_mobilenet() -> nn.Module:
    network: nn.Module = mobilenet_v2(weights=None)
    load_weights(network, MOBILENET)
    return network


def _unit(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    maps = network.features(normalised(batch, IMAGENET))
    return nn.functional.normalize(maps.float().mean(dim=(2, 3)), dim=-1)


def _shares(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    logits: torch.Tensor = network(normalised(batch, IMAGENET))
    return logits.float().softmax(dim=-1)
