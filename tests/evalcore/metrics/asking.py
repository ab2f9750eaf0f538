"""Metrics in tests, run by the real engine on pictures in memory."""

import hashlib
from pathlib import Path

import numpy as np

from evalcore.metrics.base import (
    Image,
    Metric,
    RenderedCharacter,
    RenderedShot,
    Rendering,
    Source,
)
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_store import FeatureStore


def image_of(picture: np.ndarray) -> Image:
    """Return an image whose key is the hash of its pixels."""
    key = hashlib.sha256(picture.tobytes() + str(picture.shape).encode()).hexdigest()
    height, width = picture.shape[:2]
    return Image(Source(key, lambda: iter([picture]), (width, height)))


def noise(seed: int, size: tuple[int, int] = (64, 48)) -> np.ndarray:
    """Return a picture of width x height random pixels."""
    width, height = size
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (height, width, 3), dtype=np.uint8)


def rendering_of(
    pictures: list[np.ndarray | None],
    *,
    texts: list[dict[str, str]] | None = None,
    expected: list[tuple[str, ...]] | None = None,
    characters: list[RenderedCharacter] | None = None,
    method: str = "Alder",
    story: str = "01",
    **extra,
) -> Rendering:
    """Return a rendering with one picture per shot; None for a missing one."""
    shots = [
        RenderedShot(
            number,
            () if picture is None else (image_of(picture),),
            (texts or [{}] * len(pictures))[number - 1],
            (expected or [()] * len(pictures))[number - 1],
        )
        for number, picture in enumerate(pictures, start=1)
    ]
    by_key = {character.key: character for character in characters or []}
    return Rendering(story, method, tuple(shots), by_key, extra=extra)


def score(metric: Metric, subject, folder: Path):
    """Return the values of a metric, or raise its error."""
    (outcome,) = Engine(FeatureStore(folder)).run(
        [MetricJob("it", metric.score(subject))]
    )
    if outcome.error is not None:
        raise outcome.error
    return list(outcome.values)
