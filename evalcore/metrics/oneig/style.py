"""Style: whether a picture has the style that its prompt asks for."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Feature,
    Floats,
    MetricInfo,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.unobtainable import Unobtainable
from evalcore.metrics.oneig.grids import SeenInGrids, seen_pictures
from evalcore.metrics.oneig.prompt import told
from evalcore.metrics.weights import WeightsError, unobtainable

# Of a style: features of its reference pictures, by CSD and by OneIG's own encoder.
References = tuple[Feature, Feature]
MISSING = unobtainable(
    "OneIG-StyleEncoder", "it has no maintained package; OneIG's program runs it"
)


def style_scores(csd: Feature, own: Feature, references: References) -> Floats:
    """Return how much each picture has a style.

    `csd`, `own`: features of the pictures by CSD and by OneIG's style encoder: pictures
    x dimensions, of any lengths but 0. `references`: features of the style's reference
    pictures by the same encoders: references x dimensions. Result: by picture, from 0
    to 1: the mean of both encoders' largest cosine with a reference; a largest cosine
    below 0 counts 0.

    Source: OneIG-Bench, section on stylization, and its program, scripts/style.

    >>> one = np.array([[1.0, 0.0]])
    >>> style_scores(one, one, (np.array([[0.6, 0.8], [0.0, 1.0]]), -one))
    array([0.3])
    """
    return (_nearest(csd, references[0]) + _nearest(own, references[1])) / 2


def _nearest(features: Feature, references: Feature) -> Floats:
    a, b = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in (features.astype(np.float64), references.astype(np.float64))
    )
    nearest: Floats = np.maximum((a @ b.T).max(axis=1), 0.0)
    return nearest


class Style(SeenInGrids):
    """Style of the pictures of a prompt of OneIG."""

    info = MetricInfo(
        name="oneig_style",
        title="OneIG style",
        family="OneIG",
        scores="output",
        source="OneIG-Bench, section on stylization, and its program",
        measures=(
            "Whether a picture looks like one of a few pictures of the style that was "
            "asked for. It does not ask what is shown."
        ),
        backend="CSD ViT-L and OneIG's style encoder",
        queue="gpu",
    )
    own: Encoder = Unobtainable(MISSING)
    missing = staticmethod(lambda: MISSING)

    @cached_property
    def csd(self) -> Encoder:
        """Return CSD, with its authors' preprocessing."""
        from evalcore.metrics.encoders.csd import csd_encoder

        return csd_encoder("centercrop")

    @cached_property
    def references(self) -> Mapping[str, References]:
        """Say that the styles' references are lacking with the encoder.

        They would be keyed as OneIG does: `chinese_ink_painting`.
        """
        raise WeightsError(str(MISSING))

    def score(self, rendering: Rendering) -> Scoring:
        """Return the mean over the pictures; undefined where no style is asked for."""
        style = str(told(rendering).get("style") or "").strip()
        pictures = yield from seen_pictures(rendering, self.grid)
        if not style or not pictures:
            reason = "the prompt asks for no style, or no shot has a picture"
            return [Value(None, reason=reason)]
        references = self.references.get(style.lower().replace(" ", "_"))
        if references is None:
            known = ", ".join(sorted(self.references))
            raise ValueError(f"{style!r} is no style of OneIG; they are {known}")
        csd = yield Ask(self.csd, list(pictures.values()))
        own = yield Ask(self.own, list(pictures.values()))
        scores = style_scores(np.stack(csd), np.stack(own), references)
        by_picture = dict(zip(pictures, scores.tolist(), strict=True))
        return [Value(float(scores.mean()), trace={"pictures": by_picture})]
