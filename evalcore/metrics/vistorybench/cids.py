"""CIDS and copy-paste rate: characters held against their references.

ViStoryBench, section 3.3 and appendix I; averages as in the program at 514cc31, where a
character that is missed costs nothing unless it is never found. The strict variants
count what was missed. Profiles differ in what AdaFace and FaceNet are given of
realistic humans: `vsb-code-2026.02` what the program gives them (faces placed as by
facexlib, FaceNet's in 112 x 112 BGR from 0 to 1), `vsb-paper` what they were trained
with. The paper leaves open how references, shots and characters enter its mean: both
average as the program does.
"""

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from evalcore.metrics.base import Ask, Floats, Lacks, Rendering, Scoring, Value
from evalcore.metrics.registry import declared
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.character_matching import (
    Cast,
    Identity,
    Profile,
    similarities,
    similarity,
)

Variant = Literal["cross", "self", "cross_strict", "self_strict", "matched"]
FINDER = "Grounding DINO tiny"
BACKEND = f"{FINDER}, CLIP ViT-L/14, ArcFace + AdaFace + FaceNet on SCRFD faces"
NOBODY_EXPECTED = "no shot with a picture expects a character"


def cross_consistency(with_references: Floats) -> float:
    """Return how like its references a character is: the mean over shots x references.

    0 where it was never found, as the reference program counts.
    """
    return float(with_references.mean()) if with_references.size else 0.0


def self_consistency(among_shots: Floats) -> float:
    """Return how like itself a character is, over the shots it was found in."""
    found = len(among_shots)
    if found < 2:
        return float(found)
    return float(among_shots[np.triu_indices(found, 1)].mean())


def strict_cross_consistency(with_references: Floats, expected: int) -> float:
    """Return the same with 0 for each expected shot where it was not found.

    `expected`: in how many shots the character was expected, at least 1.

    >>> strict_cross_consistency(np.array([[1.0, 0.5]]), 3)
    0.25
    """
    if not with_references.size:
        return 0.0
    return float(with_references.mean(axis=1).sum() / expected)


def strict_self_consistency(among_shots: Floats, expected: int) -> float | None:
    """Return the same with 0 for each pair of expected shots that lacks one."""
    if expected < 2:
        return None
    pairs = among_shots[np.triu_indices(len(among_shots), 1)].sum()
    return float(pairs / (expected * (expected - 1) / 2))


def of_character(cast: Cast, key: str, variant: Variant) -> float | None:
    """Return one character's share of a variant; None where it has none."""
    found = [m.identity for m in cast.found(key)]
    expected = cast.appearances(key)
    if variant == "cross":
        return cross_consistency(similarities(found, cast.references[key]))
    if variant == "self":
        return self_consistency(similarities(found, found))
    if not expected:
        return None
    if variant == "cross_strict":
        with_references = similarities(found, cast.references[key])
        return strict_cross_consistency(with_references, expected)
    if variant == "self_strict":
        return strict_self_consistency(similarities(found, found), expected)
    return len(found) / expected


class CharacterConsistency:
    """One variant of CIDS: a value an output.

    In the variants of the program all characters of the story count alike, those that
    never appear with 0, and the value is rounded to four places; in the others
    characters that no shot expects do not count.

    Parameters
    ----------
    variant
        What is averaged.
    profile
        Whose input AdaFace and FaceNet are given.
    """

    def __init__(self, variant: Variant, profile: Profile) -> None:
        self.variant, self.profile = variant, profile
        is_rate = variant == "matched"
        self.info = declared("matched_rate" if is_rate else f"cids_{variant}", profile)

    missing = staticmethod(character_matching.missing)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value, with each character's in the trace."""
        if (reason := why_no_cast(rendering)) is not None:
            return [Value(None, reason=reason)]
        eyes = character_matching.the_eyes(self.profile)
        cast = yield from character_matching.find_cast(rendering, eyes)
        return [scored(cast, self.variant)]


def why_no_cast(rendering: Rendering) -> str | None:
    """Say why characters cannot be compared at all; None: they can."""
    if not rendering.characters:
        return "the story names no characters"
    without = [c.key for c in rendering.characters.values() if not c.references]
    if without:
        return f"no reference picture of {', '.join(without)}"
    return None


def why_no_value(cast: Cast) -> str | None:
    """Say why an output has no value of any metric of its cast; None: it has."""
    if cast.nameless:
        return f"no reference of {', '.join(cast.nameless)} is recognised"
    if not cast.expected:
        return NOBODY_EXPECTED
    return None


def scored(cast: Cast, variant: Variant) -> Value:
    """Return the value of one output."""
    if (reason := why_no_value(cast)) is not None:
        return Value(None, reason=reason)
    shares = {key: of_character(cast, key, variant) for key in cast.references}
    counted = [share for share in shares.values() if share is not None]
    if not counted:
        return Value(None, reason="no character is expected in two shots")
    value = float(np.mean(counted))
    if variant in ("cross", "self"):
        value = round(value, 4)
    return Value(value, trace=_trace(cast, shares))


def _trace(cast: Cast, shares: Mapping[str, float | None]) -> dict[str, Any]:
    return {
        **cast.errors,
        "characters": {
            key: {
                "value": share,
                "found": len(cast.found(key)),
                "expected": cast.appearances(key),
            }
            for key, share in shares.items()
        },
        "shots": {
            str(number): {
                key: {"box": list(one.box), "cross": round(one.cross, 4)}
                for key, one in matches.items()
            }
            for number, matches in cast.matches.items()
        },
    }


# Copy-paste rate ----------------------------------------------------------------------


TAU = 0.01  # the temperature of the softmax


def copy_paste_rate(anchor: float, others: Sequence[float]) -> float:
    """Return how much nearer a figure is to one reference than to the alternatives.

    The softmax share of the anchor's cosine (clamped to -1 to 1) at temperature 0.01: 1
    / (1 + number of alternatives) where all are as near.

    Source: ViStoryBench, equation S1.
    """
    if not others:
        raise ValueError("a copy-paste rate needs an alternative to the anchor")
    cosines = np.clip([anchor, *others], -1, 1) / TAU
    shares = np.exp(cosines - cosines.max())
    return float(shares[0] / shares.sum())


class CopyPaste:
    """Copy-paste rate of an output: mean over a character's crops, then characters.

    Alternatives are, in profile `vsb-paper`, the other references of the character
    (those with one are passed over), in `vsb-code-2026.02` the mirrored anchor alone.
    Without any crop there is no value (the program writes 0).
    """

    def __init__(self, profile: Profile) -> None:
        self.info = declared("copy_paste", profile)
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
        return [copy_paste_value(cast, alternatives)]


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


def copy_paste_value(cast: Cast, alternatives: dict[str, list[Identity]]) -> Value:
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


# OCCM ---------------------------------------------------------------------------------


CountProfile = Literal["vsb-code-2026.02", "vsb-code-2025.11"]
SMOOTHING = 1e-6


def occm(detected: int, expected: int) -> float:
    """Return how well a count matches: 100 exp(-|D - E| / (1e-6 + E)).

    Source: ViStoryBench, equation 1.
    """
    return 100 * math.exp(-abs(detected - expected) / (SMOOTHING + expected))


class CharacterCount:
    """OCCM of each shot that has a picture and expects anybody.

    `vsb-code-2026.02`, as the paper's text says, counts all boxes of the detector and
    asks no other network: a story with a character whose references are not recognised,
    which fails in the program, has an OCCM here. `vsb-code-2025.11` counts, as the
    program up to version 1.2, only expected characters that received a box; shots and
    matches are as in CIDS. The published tables may stem from either.

    Parameters
    ----------
    profile
        What is counted.
    """

    def __init__(self, profile: CountProfile) -> None:
        self.profile = profile
        backend = FINDER if profile == "vsb-code-2026.02" else BACKEND
        self.info = declared("occm", profile, backend=backend)

    def missing(self) -> Lacks:
        """Return what is lacking of the detector, and of encoders if they are asked."""
        if self.profile == "vsb-code-2026.02":
            return character_matching.missing_detector()
        return character_matching.missing()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot; undefined as CIDS is, save for what is said above.

        A shot without a box counts 0 figures.
        """
        if (reason := why_no_cast(rendering)) is not None:
            return [Value(None, reason=reason)]
        if self.profile == "vsb-code-2026.02":
            return (yield from _boxes(rendering))
        return (yield from _matched(rendering))


def _boxes(rendering: Rendering) -> Scoring:
    shots = character_matching.expecting(rendering)
    if not shots:
        return [Value(None, reason=NOBODY_EXPECTED)]
    figures = yield from character_matching.find_figures(
        shots, character_matching.the_detector()
    )
    return [
        Value(occm(len(figures[shot.number]), len(shot.characters)), shot.number)
        for shot in shots
    ]


def _matched(rendering: Rendering) -> Scoring:
    eyes = character_matching.the_eyes("vsb-code-2026.02")
    cast = yield from character_matching.find_cast(rendering, eyes)
    if (reason := why_no_value(cast)) is not None:
        return [Value(None, reason=reason)]
    return [
        Value(
            occm(len(cast.matches[number]), len(expected)),
            number,
            trace=cast.errors or None,
        )
        for number, expected in cast.expected.items()
    ]
