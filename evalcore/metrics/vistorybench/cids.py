"""CIDS, copy-paste rate and OCCM: characters compared with their references.

ViStoryBench, section 3.3 and appendix I; averages as in the program at 514cc31, where a
missed character costs nothing unless it is never found. The strict variants count
missed characters. Profiles differ in the input of AdaFace and FaceNet for realistic
humans: `vsb-code-2026.02` has the program's input (faces aligned as by facexlib,
FaceNet's in 112 x 112 BGR from 0 to 1), `vsb-paper` that of their training. The paper
does not specify how references, shots and characters enter its mean: both profiles
average as the program does.
"""

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Floats,
    MissingRequirements,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import DETECTOR
from evalcore.metrics.registry import declared
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.character_matching import (
    Cast,
    Identity,
    Profile,
    similarities,
    similarity,
)
from evalcore.metrics.weights import Weights

Variant = Literal["cross", "self", "cross_strict", "self_strict", "matched"]
FINDER = "Grounding DINO tiny"
BACKEND = f"{FINDER}, CLIP ViT-L/14, ArcFace + AdaFace + FaceNet on SCRFD faces"
NOBODY_EXPECTED = "no shot with a picture expects a character"


def cross_consistency(with_references: Floats) -> float:
    """Return a character's mean similarity over shots x references.

    0 if it was never found, as in the reference program.
    """
    return float(with_references.mean()) if with_references.size else 0.0


def self_consistency(among_shots: Floats) -> float:
    """Return a character's mean similarity over the shots in which it was found."""
    count = len(among_shots)
    if count < 2:
        return float(count)
    return float(among_shots[np.triu_indices(count, 1)].mean())


def strict_cross_consistency(with_references: Floats, expected: int) -> float:
    """Return `cross_consistency` with 0 for each expected shot without the character.

    `expected`: in how many shots the character was expected, at least 1.

    >>> strict_cross_consistency(np.array([[1.0, 0.5]]), 3)
    0.25
    """
    if not with_references.size:
        return 0.0
    return float(with_references.mean(axis=1).sum() / expected)


def strict_self_consistency(among_shots: Floats, expected: int) -> float | None:
    """Return `self_consistency` with 0 for each pair of expected shots lacking one."""
    if expected < 2:
        return None
    pairs = among_shots[np.triu_indices(len(among_shots), 1)].sum()
    return float(pairs / (expected * (expected - 1) / 2))


def of_character(cast: Cast, key: str, variant: Variant) -> float | None:
    """Return one character's value of a variant; None if it has none."""
    matches = [m.identity for m in cast.found(key)]
    expected = cast.appearances(key)
    if variant == "cross":
        return cross_consistency(similarities(matches, cast.references[key]))
    if variant == "self":
        return self_consistency(similarities(matches, matches))
    if not expected:
        return None
    if variant == "cross_strict":
        with_references = similarities(matches, cast.references[key])
        return strict_cross_consistency(with_references, expected)
    if variant == "self_strict":
        return strict_self_consistency(similarities(matches, matches), expected)
    return len(matches) / expected


class CharacterConsistency:
    """One variant of CIDS, with one value per output.

    In the program's variants all characters of the story count equally, those that
    never appear with 0, and the value is rounded to four places. In the others,
    characters that no shot expects do not count.

    Parameters
    ----------
    variant
        Quantity to average.
    profile
        Input of AdaFace and FaceNet.
    """

    def __init__(self, variant: Variant, profile: Profile) -> None:
        self.variant, self.profile = variant, profile
        is_rate = variant == "matched"
        self.info = declared("matched_rate" if is_rate else f"cids_{variant}", profile)

    weights = character_matching.WEIGHTS
    missing = staticmethod(character_matching.missing)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value, with each character's value in the trace."""
        if (reason := why_no_cast(rendering)) is not None:
            return [Value(None, reason=reason)]
        figure_encoders = character_matching.load_figure_encoders(self.profile)
        cast = yield from character_matching.find_cast(rendering, figure_encoders)
        return [scored(cast, self.variant)]


def why_no_cast(rendering: Rendering) -> str | None:
    """Return why characters cannot be compared at all; None if they can."""
    if not rendering.characters:
        return "the story names no characters"
    without = [c.key for c in rendering.characters.values() if not c.references]
    if without:
        return f"no reference picture of {', '.join(without)}"
    return None


def why_no_value(cast: Cast) -> str | None:
    """Return why an output has no value of any cast metric; None if it has."""
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
    values = [share for share in shares.values() if share is not None]
    if not values:
        return Value(None, reason="no character is expected in two shots")
    value = float(np.mean(values))
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


TAU = 0.01  # temperature of the softmax


def copy_paste_rate(anchor: float, others: Sequence[float]) -> float:
    """Return the softmax share of one reference against the alternatives.

    Cosines are clamped to -1 to 1; the temperature is 0.01. The share is 1 / (1 +
    number of alternatives) if all are equally similar.

    Source: ViStoryBench, equation S1.
    """
    if not others:
        raise ValueError("a copy-paste rate needs an alternative to the anchor")
    cosines = np.clip([anchor, *others], -1, 1) / TAU
    shares = np.exp(cosines - cosines.max())
    return float(shares[0] / shares.sum())


class CopyPaste:
    """Copy-paste rate of an output: mean over each character's crops, then characters.

    Alternatives are the character's other references in profile `vsb-paper` (characters
    with one reference are skipped), and only the mirrored anchor in `vsb-code-2026.02`;
    one without a recognisable face counts as the anchor itself, a share of one half.
    Without any crop the value is undefined (the program writes 0).
    """

    def __init__(self, profile: Profile) -> None:
        self.info = declared("copy_paste", profile)
        self.profile = profile

    weights = character_matching.WEIGHTS
    missing = staticmethod(character_matching.missing)

    def score(self, rendering: Rendering) -> Scoring:
        if (reason := why_no_cast(rendering)) is not None:
            return [Value(None, reason=reason)]
        figure_encoders = character_matching.load_figure_encoders(self.profile)
        cast = yield from character_matching.find_cast(rendering, figure_encoders)
        if (reason := why_no_value(cast)) is not None:
            return [Value(None, reason=reason)]
        if self.profile == "vsb-paper":
            alternatives = {key: who[1:] for key, who in cast.references.items()}
        else:
            alternatives = yield from mirrored_anchors(cast, rendering, figure_encoders)
        return [copy_paste_value(cast, alternatives)]


def mirrored_anchors(
    cast: Cast, rendering: Rendering, figure_encoders: character_matching.FigureEncoders
) -> Generator[Ask, list[Any], dict[str, list[Identity]]]:
    """Return the identity of each character's mirrored anchor, or else the anchor's.

    Source: ViStoryBench's program at 514cc31, cids_evaluator.py, lines 736 to 745.
    """
    mirrored: dict[str, list[Identity]] = {}
    for key, anchor in cast.anchors.items():
        encoders = figure_encoders.of(rendering.characters[key])
        flipped = replace(anchor, mirrored=not anchor.mirrored)
        (seen,) = yield from character_matching.identities(
            [flipped], encoders, cast.tallies
        )
        mirrored[key] = [seen or cast.references[key][0]]
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
    """OCCM of each shot with a picture and an expected character.

    `vsb-code-2026.02` follows the paper's text and counts all boxes of the detector,
    without another network. So a story with an unrecognised reference, on which the
    program fails, has an OCCM here. `vsb-code-2025.11` follows the program up to
    version 1.2 and counts only expected characters with a box; shots and matches are as
    in CIDS. The published tables may use either.

    Parameters
    ----------
    profile
        Definition of the count.
    """

    def __init__(self, profile: CountProfile) -> None:
        self.profile = profile
        by_boxes = profile == "vsb-code-2026.02"
        self.exact = by_boxes  # its detector never rounds to bf16
        self.info = declared(
            "occm",
            profile,
            backend=FINDER if by_boxes else BACKEND,
            version="1" if by_boxes else "2",
        )

    @property
    def weights(self) -> tuple[Weights, ...]:
        """Return the detector, and the encoders if it needs them."""
        if self.profile == "vsb-code-2026.02":
            return (DETECTOR,)
        return character_matching.WEIGHTS

    def missing(self) -> MissingRequirements:
        """Return missing requirements of the detector, and of encoders if needed."""
        if self.profile == "vsb-code-2026.02":
            return character_matching.missing_detector()
        return character_matching.missing()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value per shot; undefined as CIDS is, with the exception above.

        A shot without a box has 0 figures.
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
        shots, character_matching.load_figure_detector()
    )
    return [
        Value(occm(len(figures[shot.number]), len(shot.characters)), shot.number)
        for shot in shots
    ]


def _matched(rendering: Rendering) -> Scoring:
    figure_encoders = character_matching.load_figure_encoders("vsb-code-2026.02")
    cast = yield from character_matching.find_cast(rendering, figure_encoders)
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
