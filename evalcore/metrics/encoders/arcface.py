"""ArcFace: who a face is, by the network of insightface's antelopev2.

Deng et al. (2019), ArcFace: additive angular margin loss for deep face recognition. The
network (`glintr100`, a residual network of 100 layers) was trained on Glint360K.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from evalcore.metrics.base import Feature, Picture
from evalcore.metrics.encoders.onnx_network import OnnxNetwork
from evalcore.metrics.weights import Weights, WeightsError

LENGTH = 512
BATCH = 16


class ArcFace:
    """An encoder of aligned faces, 112 x 112 RGB, into 512 numbers.

    `weights`: the ONNX file of `glintr100`.
    """

    batch = BATCH

    def __init__(self, weights: Weights) -> None:
        self.network = OnnxNetwork(weights, outputs=1)

    @cached_property
    def id(self) -> str:
        return f"ArcFace; {self.network.id}; fp32"

    def prepare(self, item: Picture) -> Picture:
        return item

    def encode(self, prepared: Sequence[Picture]) -> list[Feature]:
        """Return 512 numbers a face, of any length."""
        faces = np.stack(prepared).transpose(0, 3, 1, 2).astype(np.float32)
        inputs = (faces - 127.5) / 127.5
        size = self.network.fixed_batch or len(inputs)
        outputs = [
            self.network(inputs[start : start + size])[0]
            for start in range(0, len(inputs), size)
        ]
        vectors = np.concatenate(outputs)
        if vectors.shape != (len(inputs), LENGTH):
            raise WeightsError(
                f"{self.network.weights.path} is another network: {len(inputs)} faces "
                f"give an output of shape {vectors.shape}, not "
                f"{(len(inputs), LENGTH)}"
            )
        return list(vectors)
