"""CIDS: whether characters look like their references, and like themselves.

ViStoryBench, section 3.3 and appendix I. Averages are those of the reference program at
514cc31: a character that is missed costs nothing there unless it is never found. The
strict variants count what was missed, and `matched_rate` says how much that was.

Two profiles differ in what AdaFace and FaceNet are given of realistic humans:

- `vsb-code-2026.02`: what the program gives them: faces placed as facexlib does it, and
  FaceNet's in 112 x 112, BGR from 0 to 1, which it was not trained with.
- `vsb-paper`: what they were trained with; FaceNet 160 x 160, RGB from -1 to 1.

The paper writes the mean over "N matched pairs", and leaves open how references, shots
and characters enter it; so both profiles average as the program does. Its 512 numbers a
crop are not CLIP ViT-L/14's, which are 768; that network is used in both.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from evalcore.metrics.base import Floats, MetricInfo, Rendering, Scoring, Value
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.character_matching import Cast, Profile
from evalcore.metrics.vistorybench.identity_matching import similarities

Variant = Literal["cross", "self", "cross_strict", "self_strict", "matched"]
FINDER = "Grounding DINO tiny"
BACKEND = f"{FINDER}, CLIP ViT-L/14, ArcFace + AdaFace + FaceNet on SCRFD faces"
NOBODY_EXPECTED = "no shot with a picture expects a character"


def cross_consistency(with_references: Floats) -> float:
    """Return how like its references a character is, over the shots it was found in.

    `with_references`: shots x references, similarities from -1 to 1. Result: the mean
    of all of them; 0 where it was never found, as the reference program counts.

    >>> cross_consistency(np.array([[1.0, 0.5], [0.5, 0.0]]))
    0.5
    >>> cross_consistency(np.empty((0, 2)))
    0.0
    """
    return float(with_references.mean()) if with_references.size else 0.0


def self_consistency(among_shots: Floats) -> float:
    """Return how like itself a character is, over the shots it was found in.

    `among_shots`: shots x shots, similarities from -1 to 1. Result: the mean over pairs
    of shots; 1 where it was found once and 0 where never, as the reference program
    counts.

    >>> self_consistency(np.array([[1.0, 0.2], [0.2, 1.0]]))
    0.2
    >>> self_consistency(np.ones((1, 1))), self_consistency(np.ones((0, 0)))
    (1.0, 0.0)
    """
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
    """Return the same with 0 for each pair of expected shots that lacks one.

    `expected`: in how many shots the character was expected. Result: None where fewer
    than two shots expected it: there is no pair.

    >>> strict_self_consistency(np.array([[1.0, 0.75], [0.75, 1.0]]), 3)
    0.25
    >>> strict_self_consistency(np.ones((1, 1)), 1)
    """
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


# What a variant is called, and what its number tells.
TITLES: Mapping[Variant, tuple[str, str, str]] = {
    "cross": (
        "cids_cross",
        "CIDS, cross",
        "Whether characters look like their reference pictures. A character missed in "
        "some shots costs nothing.",
    ),
    "self": (
        "cids_self",
        "CIDS, self",
        "Whether characters look the same in all shots. A character found in one shot "
        "only counts as perfect.",
    ),
    "cross_strict": (
        "cids_cross_strict",
        "CIDS, cross, strict",
        "Whether characters look like their reference pictures; a shot without an "
        "expected character counts 0.",
    ),
    "self_strict": (
        "cids_self_strict",
        "CIDS, self, strict",
        "Whether characters look the same in all shots; a pair of shots one of which "
        "lacks the character counts 0.",
    ),
    "matched": (
        "matched_rate",
        "Characters found",
        "The share of expected characters that were found in the shots that expect "
        "them. It does not ask who they are.",
    ),
}


class CharacterConsistency:
    """One variant of CIDS: a value an output.

    In the variants of the reference program all characters of the story count alike,
    those that never appear with 0; the story's value is rounded to four places. In the
    strict ones and for `matched_rate` characters that no shot expects do not count.

    Parameters
    ----------
    variant
        What is averaged.
    profile
        Whose input AdaFace and FaceNet are given.
    """

    def __init__(self, variant: Variant, profile: Profile) -> None:
        name, title, measures = TITLES[variant]
        self.variant = variant
        self.info = MetricInfo(
            name=name,
            title=title,
            family="ViStoryBench",
            scores="output",
            low=0 if variant == "matched" else -1,
            source="ViStoryBench, section 3.3 and appendix I",
            measures=measures,
            backend=BACKEND,
            profile=profile,
            queue="gpu",
        )
        self.profile = profile

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
    """Say why an output has no value of any metric of its cast; None: it has.

    In the reference program a story without a recognisable reference of some character
    fails and drops out of the method's mean.
    """
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
