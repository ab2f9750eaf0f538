"""CSD: whether the shots keep one style, and keep the style of the references."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Image,
    MetricInfo,
    RenderedShot,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import CLIP_PACKAGES, CSD
from evalcore.metrics.formulas import consistency
from evalcore.metrics.weights import needing

Profile = Literal["vsb-code-2026.02", "vsb-paper"]


def references_of(rendering: Rendering, shot: RenderedShot) -> list[tuple[str, Image]]:
    """Return the first reference picture of each of a shot's characters.

    Of a character without pictures, and of a shot without characters, it is the first
    picture of the first character of the story that has one (appendix J leaves that
    open; so does the reference program at 514cc31).
    """
    having = [c for c in rendering.characters.values() if c.references]
    if not having:
        return []
    keys = [key for key in shot.characters if key in rendering.characters]
    chosen = []
    for key in keys or [having[0].key]:
        own = rendering.characters[key].references
        chosen.append((key, (own or having[0].references)[0]))
    return chosen


class _SeenByCsd:
    """What both metrics share."""

    declared: Mapping[str, Any]
    missing = needing(CLIP_PACKAGES, (CSD,))

    def __init__(self, profile: Profile) -> None:
        self.info = MetricInfo(
            family="ViStoryBench",
            low=-1,
            source="ViStoryBench, section 3.3 and appendix J",
            backend="CSD ViT-L",
            profile=profile,
            queue="gpu",
            **self.declared,
        )

    @cached_property
    def encoder(self) -> Encoder:
        """Return what sees style: squashed as the program, cropped as CSD's."""
        from evalcore.metrics.encoders.csd import csd_encoder

        is_cropped = self.info.profile == "vsb-paper"
        return csd_encoder("centercrop" if is_cropped else "squash")


class StyleConsistency(_SeenByCsd):
    """CSD of an output: mean cosine over pairs of its shots (`csd_self`)."""

    declared = {
        "name": "csd_self",
        "title": "CSD, self",
        "scores": "output",
        "measures": "Whether all shots keep one style. Copies of one picture score 1; "
        "what the shots show hardly matters.",
    }

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for fewer than two shots."""
        return (yield from consistency(self.encoder, rendering.images))


class StyleFaithfulness(_SeenByCsd):
    """CSD of each shot with its characters' first references (`csd_cross`)."""

    declared = {
        "name": "csd_cross",
        "title": "CSD, cross",
        "scores": "shot",
        "measures": "Whether a shot has the style of the reference pictures of its "
        "characters, taken whole.",
    }

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot; undefined where no character has a picture."""
        shots = rendering.rendered
        wanted = {s.number: references_of(rendering, s) for s in shots}
        if not any(wanted.values()):
            reason = "no character of the story has a reference picture"
            return [Value(None, reason=reason)]
        images = dict.fromkeys(i for refs in wanted.values() for _key, i in refs)
        styles = yield Ask(self.encoder, [*rendering.images, *images])
        style = dict(zip([*rendering.images, *images], styles, strict=True))
        values = []
        for shot in shots:
            own = style[shot.frames[0]]
            cosines = {key: float(own @ style[i]) for key, i in wanted[shot.number]}
            mean = float(np.mean(list(cosines.values())))
            values.append(Value(mean, shot.number, trace={"characters": cosines}))
        return values
