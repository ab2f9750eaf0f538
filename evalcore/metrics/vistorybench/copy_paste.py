"""Copy-paste rate: whether a character is copied from its reference picture."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evalcore.metrics.base import Ask, MetricInfo, Rendering, Scoring, Value
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.character_matching import Cast, Profile
from evalcore.metrics.vistorybench.cids import BACKEND, why_no_cast, why_no_value
from evalcore.metrics.vistorybench.identity_matching import Identity, similarity

TAU = 0.01  # the temperature of the softmax


def copy_paste_rate(anchor: float, others: Sequence[float]) -> float:
    """Return how much nearer a figure is to one reference than to the alternatives.

    `anchor`: cosine of the figure with the reference that may have been copied.
    `others`: cosines with the alternatives, at least one. Result: the softmax share of
    the anchor, from 0 to 1: 1 / (1 + number of alternatives) where all are as near.
    Cosines are clamped to -1 to 1 first.

    Source: ViStoryBench, equation S1; temperature 0.01.

    >>> copy_paste_rate(0.7, [0.7])
    0.5
    >>> round(copy_paste_rate(0.72, [0.70]), 2)
    0.88
    """
    if not others:
        raise ValueError("a copy-paste rate needs an alternative to the anchor")
    cosines = np.clip([anchor, *others], -1, 1) / TAU
    shares = np.exp(cosines - cosines.max())
    return float(shares[0] / shares.sum())


class CopyPaste:
    """Copy-paste rate of an output: mean over a character's crops, then characters.

    In profile `vsb-paper` the alternatives are the other references of the same
    character, and characters with one reference are passed over; in
    `vsb-code-2026.02` the only alternative is the mirrored anchor. Faces are seen as in
    the same profile of CIDS. An output without any crop has no value (the reference
    program writes 0, as if nothing were copied).
    """

    def __init__(self, profile: Profile) -> None:
        self.info = MetricInfo(
            name="copy_paste",
            title="Copy-paste rate",
            family="ViStoryBench",
            scores="output",
            higher_is_better=False,
            version="2",
            source="ViStoryBench, equation S1 and appendix L",
            measures=(
                "Whether characters are copied from a reference picture instead of "
                "drawn anew. Chance is 1 divided by the number of references compared."
            ),
            backend=BACKEND,
            profile=profile,
            queue="gpu",
        )
        self.profile = profile

    missing = staticmethod(character_matching.missing)

    def score(self, rendering: Rendering) -> Scoring:
        if (reason := why_no_cast(rendering)) is not None:
            return [Value(None, reason=reason)]
        eyes = character_matching.the_eyes(self.profile)
        cast = yield from character_matching.find_cast(rendering, eyes)
        if (reason := why_no_value(cast)) is not None:
            return [Value(None, reason=reason)]
        if self.profile == "vsb-paper":
            alternatives = {key: who[1:] for key, who in cast.references.items()}
        else:
            alternatives = yield from mirrored_anchors(cast, rendering, eyes)
        return [scored(cast, alternatives)]


def mirrored_anchors(
    cast: Cast, rendering: Rendering, eyes: character_matching.Eyes
) -> Generator[Ask, list[Any], dict[str, list[Identity]]]:
    """Return how each character's anchor looks with left and right exchanged."""
    mirrored: dict[str, list[Identity]] = {}
    for key, anchor in cast.anchors.items():
        encoders = eyes.of(rendering.characters[key])
        flipped = replace(anchor, mirrored=not anchor.mirrored)
        (seen,) = yield from character_matching.identities(
            [flipped], encoders, cast.tallies
        )
        mirrored[key] = [seen] if seen else []
    return mirrored


def scored(cast: Cast, alternatives: dict[str, list[Identity]]) -> Value:
    """Return the mean over each character's crops, then over the characters."""
    rates = {}
    for key, others in alternatives.items():
        crops = [match.identity for match in cast.found(key)]
        if not crops or not others:
            continue
        anchor = cast.references[key][0]
        rates[key] = float(
            np.mean(
                [
                    copy_paste_rate(
                        similarity(crop, anchor), [similarity(crop, o) for o in others]
                    )
                    for crop in crops
                ]
            )
        )
    if not rates:
        return Value(None, reason="no character was found that has an alternative")
    trace = {"characters": rates, **cast.errors}
    return Value(float(np.mean(list(rates.values()))), trace=trace)
