"""Registry of metrics; a metric's module is imported on first use.

Baselines and proxies declare themselves, in one module each; the metrics of the papers
are declared in `papers.toml`, their default profile first. A profile may have a suffix
for trials or a grid: `ENDINGS`.
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from evalcore.metrics.base import (
    Metric,
    MetricInfo,
    MissingRequirement,
    MissingRequirements,
    Scoring,
)
from evalcore.metrics.weights import WeightsError

PAPERS = Path(__file__).with_name("papers.toml")
# Keys for the construction of a metric; the others are those of `MetricInfo`.
MAKING = {"class", "arguments", "profiles", "ending", "import_only", "differs", "like"}
UNBOUNDED = "none"  # TOML has no null


@cache
def declarations() -> dict[str, dict[str, Any]]:
    """Return the declarations by the metrics' names."""
    found: dict[str, dict[str, Any]] = {}
    for family, metrics in tomllib.loads(PAPERS.read_text("utf-8")).items():
        for name, said in metrics.items():
            shared = found[said["like"]] if "like" in said else {"family": family}
            found[name] = shared | said
    return found


def declared(name: str, profile: str = "", **other: Any) -> MetricInfo:
    """Return a metric's declaration; `other` has changes by its profile or judge."""
    said = declarations()[name].items()
    facts = {key: value for key, value in said if key not in MAKING}
    for bound in ("low", "high"):
        if facts.get(bound) == UNBOUNDED:
            facts[bound] = None
    facts["angles"] = tuple(facts.get("angles", ()))
    return MetricInfo(name=name, profile=profile, **facts | other)


def import_only(name: str) -> str:
    """Return where the values of a metric come from if it cannot be computed here."""
    return str(declarations().get(name, {}).get("import_only", ""))


# Suffixes of profiles: a regular expression, and one example.
ENDINGS = {
    "trials": (r"k[1-9][0-9]?", "k3"),
    "grid": (r"grid-[1-9]x[1-9]", "grid-2x2"),
    "": ("", ""),
}


class ImportOnly:
    """A metric that cannot be computed here, declared so that values can be imported.

    `papers.toml` says where values come from, and why.
    """

    def __init__(self, name: str, profile: str = "") -> None:
        self.info = declared(name, profile)
        self.lacks = MissingRequirements(
            [MissingRequirement("import only", import_only(name))]
        )

    def missing(self) -> MissingRequirements:
        return self.lacks

    def score(self, subject: object) -> Scoring:
        """Raise WeightsError."""
        yield from ()
        raise WeightsError(str(self.lacks))


@dataclass(frozen=True)
class Entry:
    """Factory of a metric, with its profiles."""

    make: Callable[..., Metric]
    profiles: tuple[str, ...] = ()
    ending: str = ""

    def has(self, profile: str) -> bool:
        if not self.ending or profile in self.profiles:
            return profile in self.profiles
        known = "|".join(f"{re.escape(name)}-" for name in self.profiles)
        return bool(re.fullmatch(f"(?:{known})(?:{ENDINGS[self.ending][0]})", profile))

    @property
    def known(self) -> list[str]:
        """Return its profiles, and an example with a suffix if it allows one."""
        example = ENDINGS[self.ending][1]
        return [
            *self.profiles,
            *(["-".join([*self.profiles[:1], example])] if example else []),
        ]


def _of_module(module: str) -> dict[str, Entry]:
    own = import_module(f"evalcore.metrics.{module}").METRICS
    return {metric.info.name: Entry(metric) for metric in own}


def _of_papers() -> dict[str, Entry]:
    return {
        name: Entry(
            partial(_made, name),
            tuple(said.get("profiles", ())),
            said.get("ending", ""),
        )
        for name, said in declarations().items()
    }


def _made(name: str, *profile: str) -> Metric:
    """Import and make a paper's metric, with the default profile if none is named."""
    said = declarations()[name]
    chosen = profile or tuple(said.get("profiles", ())[:1])
    if import_only(name):
        return ImportOnly(name, *chosen)
    module, _dot, what = said["class"].rpartition(".")
    found: Any = getattr(import_module(f"evalcore.metrics.{module}"), what)
    metric: Metric = found(*said.get("arguments", ()), *chosen)
    return metric


BASELINES = _of_module("baselines")
METRICS: dict[str, Entry] = {**BASELINES, **_of_module("proxies"), **_of_papers()}


class UnknownMetricError(KeyError):
    """Unknown name of a metric; the message names the nearest."""

    def __str__(self) -> str:
        return str(self.args[0])


def names() -> list[str]:
    """Return the names of all metrics, grouped by paper."""
    return list(METRICS)


def select(text: str) -> list[str]:
    """Return the metrics that a comma-separated list names, each once.

    `cids` stands for all named `cids_...`, and `cids@vsb-paper` for their profiles.

    Raises
    ------
    UnknownMetricError
        No metric has that name, beginning or profile.
    """
    chosen: list[str] = []
    for name in filter(None, map(str.strip, text.split(","))):
        plain, at, profile = name.partition("@")
        begins = [
            f"{one}{at}{profile}" for one in METRICS if one.startswith(f"{plain}_")
        ]
        chosen += [name] if plain in METRICS or not begins else begins
    for name in chosen:
        load(name)  # raises an error with the nearest name
    return list(dict.fromkeys(chosen))


def ready() -> list[str]:
    """Return the names of the metrics that can be computed on this machine."""
    return [name for name in METRICS if not load(name).missing()]


def computable() -> list[str]:
    """Return the names of the metrics that some machine can compute."""
    return [name for name in METRICS if not import_only(name)]


def ready_baselines() -> list[str]:
    """Return the ready baselines, which every learned metric should beat."""
    return [name for name in BASELINES if not load(name).missing()]


def needing(names: Iterable[str]) -> dict[MissingRequirement, list[str]]:
    """Return each thing that metrics lack here, with their names."""
    users: dict[MissingRequirement, list[str]] = {}
    for name in names:
        for lack in load(name).missing():
            users.setdefault(lack, []).append(name)
    return users


def lacking(names: Iterable[str]) -> list[str]:
    """Return `needing` in lines."""
    users = needing(names).items()
    return [f"{lack}, needed by {', '.join(own)}" for lack, own in users]


@lru_cache(maxsize=512)
def load(name: str) -> Metric:
    """Return the metric called `name` or `name@profile`.

    A suffix alone, as in `name@grid-2x2`, belongs to the default profile.
    """
    plain, at, profile = name.partition("@")
    if plain not in METRICS:
        close = difflib.get_close_matches(plain, METRICS, n=1)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        raise UnknownMetricError(
            f"Unknown metric {plain!r}. {hint}List all with plumbline metrics."
        )
    entry = METRICS[plain]
    usual = "-".join([*entry.profiles[:1], profile])
    if entry.ending and not entry.has(profile) and entry.has(usual):
        profile = usual
    if at and not entry.has(profile):
        known = ", ".join(entry.known) or "none"
        raise UnknownMetricError(
            f"Metric {plain!r} has no profile {profile!r}; it has: {known}."
        )
    return entry.make(*([profile] if profile else []))
