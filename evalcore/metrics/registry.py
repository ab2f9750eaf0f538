"""Which metrics there are; a module is imported when its metric is asked for.

A module of `baselines` or `proxies` is one metric: it has the metric's name, and names
the class as `METRIC`. Of a paper, which has modules beside its metrics, a metric is a
line below: where its class is, with which arguments it is made, and, where paper and
reference program differ, whose definitions there are, the default one first. A class
whose definition also has a number in it, how many trials or which grid, takes that
behind a profile: `Ending`.
"""

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from evalcore.metrics import baselines, proxies
from evalcore.metrics.base import Metric
from evalcore.metrics.envision.dimensions import PARTS
from evalcore.metrics.unobtainable import DECLARED, Unobtainable

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
    """What gives a metric's class, its arguments, and whose definitions it knows."""

    find: Callable[[], Any]
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

    def make(self, profile: str) -> Metric:
        """Import and make the metric, of the default profile where none is named."""
        chosen = profile or next(iter(self.profiles), "")
        metric: Metric = self.find()(*self.arguments, *([chosen] if chosen else ()))
        return metric


def _module(folder: str, name: str) -> Any:
    return import_module(f"evalcore.metrics.{folder}.{name}")


def _modules_of(folder: Any) -> dict[str, Entry]:
    """Return a metric for each module of a folder; none is imported."""
    names = [one.name for one in iter_modules(folder.__path__)]
    within = folder.__name__.rpartition(".")[2]
    return {name: Entry(partial(_only_metric, within, name)) for name in names}


def _only_metric(folder: str, name: str) -> Any:
    return _module(folder, name).METRIC


def _vistory(name: str) -> Any:
    return _module("vistorybench", name)


def _story(name: str) -> Any:
    return _module("storybench", name)


def _oneig(name: str) -> Any:
    return _module("oneig", name)


def _vistar(name: str) -> Any:
    return _module("vistar", name)


def _declared(family: str, ending: Ending | None = None) -> dict[str, Entry]:
    """Return the metrics of a paper that nobody can compute."""
    return {
        info.name: Entry(lambda: Unobtainable, (info, lacks), ending=ending)
        for info, lacks in DECLARED
        if info.family == family
    }


BASELINES = _modules_of(baselines)
METRICS: dict[str, Entry] = {
    **BASELINES,
    **_modules_of(proxies),
    "geometric_cues": Entry(lambda: _vistar("geometric_coherence").GeometricCues),
    # ViStoryBench
    **{
        name: Entry(lambda: _vistory("cids").CharacterConsistency, (variant,), VSB)
        for name, variant in (
            ("cids_cross", "cross"),
            ("cids_self", "self"),
            ("cids_cross_strict", "cross_strict"),
            ("cids_self_strict", "self_strict"),
            ("matched_rate", "matched"),
        )
    },
    "csd_cross": Entry(lambda: _vistory("csd").StyleFaithfulness, (), VSB),
    "csd_self": Entry(lambda: _vistory("csd").StyleConsistency, (), VSB),
    "aesthetic": Entry(lambda: _vistory("aesthetic").Aesthetic, (), VSB),
    "occm": Entry(
        lambda: _vistory("occm").CharacterCount,
        profiles=("vsb-code-2026.02", "vsb-code-2025.11"),
    ),
    "copy_paste": Entry(lambda: _vistory("copy_paste").CopyPaste, (), VSB),
    "inception_score": Entry(
        lambda: _vistory("inception_score").InceptionScore, (), VSB
    ),
    **{
        f"pa_{aspect}": Entry(
            lambda: _vistory("prompt_alignment").PromptAlignment, (aspect,), VSB
        )
        for aspect in ("scene", "camera", "interaction")
    },
    "pa_action": Entry(lambda: _vistory("prompt_alignment").IndividualAction, (), VSB),
    # StoryBench
    **{
        name: Entry(lambda: _story("distances").FrechetDistance, (features,), profiles)
        for name, features, profiles in (
            ("fid", "inception", ()),
            ("fid_clip", "clip", STORY),
            ("fvd", "i3d", ()),
        )
    },
    **{
        name: Entry(lambda: _story("sim").SimilarityOfImages, arguments, profiles)
        for name, arguments, profiles in (
            ("sim", ("inception", "pair"), ()),
            ("sim_clip", ("clip", "pair"), STORY),
            ("sim_pooled", ("inception", "run"), ()),
            ("sim_clip_pooled", ("clip", "run"), STORY),
        )
    },
    "vtm": Entry(lambda: _story("vtm").VideoTextMatching, ("output",), STORY),
    "vtm_pooled": Entry(lambda: _story("vtm").VideoTextMatching, ("run",), STORY),
    **_declared("StoryBench"),
    # Envision
    **{
        f"envision_{part}": Entry(
            lambda: _module("envision", "judged").EnvisionScore, (part,), EVENTS, TRIALS
        )
        for part in PARTS
    },
    # OneIG
    "oneig_alignment": Entry(lambda: _oneig("alignment").Alignment, ending=GRID),
    "oneig_text": Entry(lambda: _oneig("rendering").OneigText, ("output",), OCR, GRID),
    "oneig_text_pooled": Entry(
        lambda: _oneig("rendering").OneigText, ("run",), OCR, GRID
    ),
    **_declared("OneIG", GRID),
    # VISTAR
    "text_rendering": Entry(lambda: _vistar("text_rendering").TextRendering),
    "composition": Entry(lambda: _vistar("composition").Composition),
    "character_portrayal": Entry(
        lambda: _vistar("character_portrayal").CharacterPortrayal
    ),
    "physical_consistency": Entry(
        lambda: _vistar("physical_consistency").PhysicalConsistency
    ),
    "hwpq": Entry(
        lambda: _vistar("hwpq").Hwpq, profiles=("vistar-single", "vistar-batched")
    ),
    **_declared("VISTAR"),
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
    return [name for name in BASELINES if not load(name).missing()]


@lru_cache(maxsize=512)
def load(name: str) -> Metric:
    """Return the metric of that name, or `name@profile`.

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
    return entry.make(profile)
