"""A picture and a box in it: what a segmenter is asked about."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from evalcore.metrics.base import Image, Picture, Source

ShareOfBox = tuple[
    float, ...
]  # centre x, centre y, width, height as shares of the picture


@dataclass(frozen=True)
class Boxed:
    """A whole picture in which a box points at something."""

    image: Image
    box: ShareOfBox  # centre x, centre y, width, height, as shares of the picture

    @cached_property
    def key(self) -> str:
        """Name its content."""
        sides = ",".join(f"{side:.6f}" for side in self.box)
        return f"{self.image.key}<{sides}>"

    @property
    def source(self) -> Source:
        """Return where the picture comes from."""
        return self.image.source

    @property
    def indices(self) -> range:
        """Return which pictures of the source it needs."""
        return self.image.indices

    def cut(self, pictures: Sequence[Picture]) -> tuple[Picture, ShareOfBox]:
        """Return the picture and the box."""
        return self.image.cut(pictures), self.box
