"""Which metrics there are; a module is imported when its metric is asked for.

Adding a metric: write a module with a class that has `info`, `missing` and `score`
(see `evalcore.metrics.base.Metric`), and add a line here. Where paper and reference
program define it differently the class takes the profile as its argument, and the line
names the profiles, the default one first. A class whose definition also has a number in
it, how many trials or which grid, takes that behind a profile: `Ending`.
"""

import difflib
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from evalcore.metrics.base import Metric
from evalcore.metrics.envision.dimensions import PARTS

VSB = ("vsb-code-2026.02", "vsb-paper")
EVENTS = ("envision-paper", "envision-code-05be960")
STORY = ("storybench-code", "storybench-paper")
OCR = ("oneig-judge", "rapidocr")


@dataclass(frozen=True)
class Ending:
    """What may stand behind a profile: a regular expression, and one example."""

    pattern: str
    example: str


TRIALS = Ending(r"k[1-9][0-9]?", "k3")
GRID = Ending(r"grid-[1-9]x[1-9]", "grid-2x2")


@dataclass(frozen=True)
class Entry:
    """Where a metric is made, with which arguments, and whose definitions it knows."""

    place: str
    arguments: tuple[Any, ...] = ()
    profiles: tuple[str, ...] = ()
    ending: Ending | None = None

    def has(self, profile: str) -> bool:
        """Say whether it knows a profile, or one with an ending."""
        if self.ending is None or profile in self.profiles:
            return profile in self.profiles
        known = "|".join(f"{re.escape(name)}-" for name in self.profiles)
        return bool(re.fullmatch(f"(?:{known})(?:{self.ending.pattern})", profile))

    @property
    def known(self) -> list[str]:
        """Return its profiles, and one with an ending if there may be one."""
        named = list(self.profiles)
        if self.ending is not None:
            named.append("-".join([*self.profiles[:1], self.ending.example]))
        return named


BASELINES = "evalcore.metrics.baselines"
STANDINS = "evalcore.metrics.standins"
VISTORY = "evalcore.metrics.vistorybench"
CIDS = f"{VISTORY}.cids:CharacterConsistency"
STORYBENCH = "evalcore.metrics.storybench"
FRECHET = f"{STORYBENCH}.distances:FrechetDistance"
ONEIG = "evalcore.metrics.oneig"
VISTAR = "evalcore.metrics.vistar"
METRICS: dict[str, Entry] = {
    # Baselines and stand-ins
    "colourfulness": Entry(f"{BASELINES}.colourfulness:Colourfulness"),
    "palette_consistency": Entry(f"{BASELINES}.palette:PaletteConsistency"),
    "sharpness": Entry(f"{BASELINES}.sharpness:Sharpness"),
    "shots_present": Entry(f"{BASELINES}.presence:ShotsPresent"),
    "clip_consistency": Entry(f"{BASELINES}.clip_only:ClipConsistency"),
    "clip_score": Entry(f"{BASELINES}.clip_only:ClipScore"),
    "mobilenet_self": Entry(f"{STANDINS}.appearance:MobilenetConsistency"),
    "mobilenet_diversity": Entry(f"{STANDINS}.diversity:MobilenetDiversity"),
    "dlib_self": Entry(f"{STANDINS}.identity:FaceConsistency"),
    "geometric_cues": Entry(f"{VISTAR}.geometric_coherence:GeometricCues"),
    # ViStoryBench
    "cids_cross": Entry(CIDS, ("cross",), VSB),
    "cids_self": Entry(CIDS, ("self",), VSB),
    "cids_cross_strict": Entry(CIDS, ("cross_strict",), VSB),
    "cids_self_strict": Entry(CIDS, ("self_strict",), VSB),
    "matched_rate": Entry(CIDS, ("matched",), VSB),
    "csd_cross": Entry(f"{VISTORY}.csd:StyleFaithfulness", profiles=VSB),
    "csd_self": Entry(f"{VISTORY}.csd:StyleConsistency", profiles=VSB),
    "aesthetic": Entry(f"{VISTORY}.aesthetic:Aesthetic", profiles=VSB),
    "occm": Entry(
        f"{VISTORY}.occm:CharacterCount",
        profiles=("vsb-code-2026.02", "vsb-code-2025.11"),
    ),
    "copy_paste": Entry(f"{VISTORY}.copy_paste:CopyPaste", profiles=VSB),
    "inception_score": Entry(f"{VISTORY}.inception_score:InceptionScore", profiles=VSB),
    "pa_scene": Entry(f"{VISTORY}.prompt_alignment:PromptAlignment", ("scene",), VSB),
    "pa_camera": Entry(f"{VISTORY}.prompt_alignment:PromptAlignment", ("camera",), VSB),
    "pa_interaction": Entry(
        f"{VISTORY}.prompt_alignment:PromptAlignment", ("interaction",), VSB
    ),
    "pa_action": Entry(f"{VISTORY}.prompt_alignment:IndividualAction", profiles=VSB),
    # StoryBench
    "fid": Entry(FRECHET, ("inception",)),
    "fid_clip": Entry(FRECHET, ("clip",), STORY),
    "fvd": Entry(FRECHET, ("i3d",)),
    "fvd_internvideo": Entry(FRECHET, ("internvideo",)),
    "sim": Entry(f"{STORYBENCH}.sim:SimilarityOfImages", ("inception",)),
    "sim_clip": Entry(f"{STORYBENCH}.sim:SimilarityOfImages", ("clip", "pair"), STORY),
    "sim_pooled": Entry(f"{STORYBENCH}.sim:SimilarityOfImages", ("inception", "run")),
    "sim_clip_pooled": Entry(
        f"{STORYBENCH}.sim:SimilarityOfImages", ("clip", "run"), STORY
    ),
    "vtm": Entry(f"{STORYBENCH}.vtm:VideoTextMatching", ("output",), STORY),
    "vtm_pooled": Entry(f"{STORYBENCH}.vtm:VideoTextMatching", ("run",), STORY),
    "vtm_internvideo": Entry(f"{STORYBENCH}.vtm:InternVideoTextMatching"),
    "pqa": Entry(f"{STORYBENCH}.pqa:PerceptualQuality", ("overall",)),
    "pqa_aesthetic": Entry(f"{STORYBENCH}.pqa:PerceptualQuality", ("aesthetic",)),
    "pqa_technical": Entry(f"{STORYBENCH}.pqa:PerceptualQuality", ("technical",)),
    # Envision
    **{
        f"envision_{part}": Entry(
            "evalcore.metrics.envision.judged:EnvisionScore", (part,), EVENTS, TRIALS
        )
        for part in PARTS
    },
    # OneIG
    "oneig_alignment": Entry(f"{ONEIG}.alignment:Alignment", ending=GRID),
    "oneig_text": Entry(f"{ONEIG}.rendering:OneigText", ("output",), OCR, GRID),
    "oneig_text_pooled": Entry(f"{ONEIG}.rendering:OneigText", ("run",), OCR, GRID),
    "oneig_style": Entry(f"{ONEIG}.style:Style", ending=GRID),
    "oneig_diversity": Entry(f"{ONEIG}.diversity:Diversity", ending=GRID),
    "oneig_reasoning": Entry(f"{ONEIG}.reasoning:Reasoning", ending=GRID),
    # VISTAR
    "text_rendering": Entry(f"{VISTAR}.text_rendering:TextRendering"),
    "light_integrity": Entry(f"{VISTAR}.light_integrity:LightIntegrity"),
    "composition": Entry(f"{VISTAR}.composition:Composition"),
    "character_portrayal": Entry(f"{VISTAR}.character_portrayal:CharacterPortrayal"),
    "physical_consistency": Entry(f"{VISTAR}.physical_consistency:PhysicalConsistency"),
    "geometric_coherence": Entry(f"{VISTAR}.geometric_coherence:GeometricCoherence"),
    "hwpq": Entry(f"{VISTAR}.hwpq:Hwpq", profiles=("vistar-single", "vistar-batched")),
}


class UnknownMetricError(KeyError):
    """No metric of that name; the message names the nearest, or all."""

    def __str__(self) -> str:
        return str(self.args[0])


def names() -> list[str]:
    """Return the names of all metrics, those of one paper together."""
    return list(METRICS)


def ready() -> list[str]:
    """Return the names of the metrics that can be computed on this machine."""
    return [name for name in METRICS if not load(name).missing()]


def ready_baselines() -> list[str]:
    """Return those of them that every learned metric should beat."""
    return [name for name in ready() if load(name).info.family == "baseline"]


@lru_cache(maxsize=512)
def load(name: str) -> Metric:
    """Return the metric of that name, or `name@profile`.

    Raises
    ------
    UnknownMetricError
        There is none, or it has no such profile.

    Examples
    --------
    >>> load("sharpness").info.scores
    'shot'
    """
    plain, at, profile = name.partition("@")
    if plain not in METRICS:
        close = difflib.get_close_matches(plain, METRICS, n=1)
        hint = (
            f"Did you mean {close[0]!r}? manage.py metrics lists all."
            if close
            else f"Available: {', '.join(names())}."
        )
        raise UnknownMetricError(f"Unknown metric {plain!r}. {hint}")
    entry = METRICS[plain]
    if at and not entry.has(profile):
        known = ", ".join(entry.known) or "none"
        raise UnknownMetricError(
            f"Metric {plain!r} has no profile {profile!r}; it has: {known}."
        )
    module, _colon, attribute = entry.place.partition(":")
    make = partial(getattr(import_module(module), attribute), *entry.arguments)
    chosen = profile or next(iter(entry.profiles), "")
    metric: Metric = make(chosen) if chosen else make()
    return metric
