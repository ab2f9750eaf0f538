"""Findings of quality rules, as stored data and as sentences.

A finding is stored with the flag and in the log; its sentence is made for the reader.
"""

from collections.abc import Mapping
from typing import Any

from django.utils import translation
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.quality_rules.rules import CORRELATIONS, SPEEDS, Breach

Finding = Mapping[str, Any]

SENTENCES = {
    "seconds_per_unit": gettext_lazy(
        "%(count)s of %(n)s stories took less than %(limit)s s"
    ),
    "seconds_per_shot": gettext_lazy(
        "%(count)s of %(n)s stories took less than %(limit)s s per shot"
    ),
    "seconds_in_sight": gettext_lazy(
        "%(count)s of %(n)s stories had shots on screen for less than %(limit)s s on "
        "average"
    ),
    "shots_seen": gettext_lazy(
        "%(count)s of %(n)s stories were answered with less than %(limit)s of the "
        "shots seen"
    ),
    "straight_line": gettext_lazy(
        "%(count)s of %(n)s stories got exactly the same answers as the one before"
    ),
    "same_answer": gettext_lazy(
        "%(count)s of %(n)s stories got the same answer as the one before"
    ),
    "flat": gettext_lazy("%(count)s of %(n)s stories got one answer to all questions"),
    "side_bias": gettext_lazy(
        "the share of left choices is %(value)s away from one half in %(n)s stories"
    ),
    "training": gettext_lazy(
        "%(value)s of the answers to %(n)s training stories were right"
    ),
    "gold": gettext_lazy(
        "%(value)s of the answers to %(n)s known-answer checks were right"
    ),
    "repeat": gettext_lazy(
        "answers to %(n)s repeated stories changed by %(value)s of the scale"
    ),
    "twin": gettext_lazy("%(value)s of %(n)s degraded copies were spotted"),
    "agreement": gettext_lazy(
        "ratings of %(n)s stories correlate %(value)s with those of others"
    ),
    "majority": gettext_lazy(
        "%(value)s of the choices in %(n)s stories agree with a clear majority"
    ),
    "relative_agreement": gettext_lazy(
        "answers to %(n)s stories agree with others %(value)s as well as others do "
        "with each other"
    ),
    "skips": gettext_lazy("%(count)s of %(n)s stories were skipped"),
    "skips_one_method": gettext_lazy(
        "of %(n)s stories with method %(about)s, the share skipped is %(value)s higher "
        "than of other stories, and than others skip"
    ),
    "no_time": gettext_lazy("%(count)s of %(n)s stories have no recorded time"),
    "impossible_time": gettext_lazy(
        "%(count)s of %(n)s stories have an impossible time"
    ),
}

# The same signals of ticks, whose observations are shots.
OF_TICKS = {
    "flat": gettext_lazy("nothing is ticked in %(count)s of %(n)s shots"),
    "repeat": gettext_lazy(
        "%(value)s of what was ticked in %(n)s repeated shots was ticked only once"
    ),
    "agreement": gettext_lazy(
        "ticks in %(n)s shots correlate %(value)s with those of others"
    ),
}

RUSHED = gettext_lazy("%(name)s rushed")
REPEATED = gettext_lazy("%(name)s repeats the same answers")
DISAGREES = gettext_lazy("%(name)s disagrees with others")
HEADLINES = {
    "seconds_per_unit": RUSHED,
    "seconds_per_shot": RUSHED,
    "seconds_in_sight": RUSHED,
    "shots_seen": gettext_lazy("%(name)s did not look at all shots"),
    "straight_line": REPEATED,
    "same_answer": REPEATED,
    "flat": REPEATED,
    "side_bias": gettext_lazy("%(name)s favours one side"),
    "training": gettext_lazy("%(name)s did poorly in the training"),
    "gold": gettext_lazy("%(name)s misses known-answer checks"),
    "repeat": gettext_lazy("%(name)s is inconsistent"),
    "twin": gettext_lazy("%(name)s misses degraded copies"),
    "agreement": DISAGREES,
    "majority": DISAGREES,
    "relative_agreement": gettext_lazy("%(name)s may answer at random"),
    "skips": gettext_lazy("%(name)s skips many stories"),
    "skips_one_method": gettext_lazy("%(name)s skips one method more than others"),
    "no_time": gettext_lazy("%(name)s has no recorded times"),
    "impossible_time": gettext_lazy("%(name)s has impossible times"),
}


def finding(breach: Breach) -> dict[str, Any]:
    """Return the data of a breach that its sentence in any language needs."""
    rule = breach.rule
    known = {
        "signal": rule.signal,
        "value": breach.value,
        "n": breach.n,
        "above": rule.above,
        "below": rule.below,
        "limit": rule.limit,
        "p": breach.p,
        "of_ticks": True if breach.of_ticks else None,
        "about": breach.about or None,
    }
    return {key: value for key, value in known.items() if value is not None}


def headline(name: str, data: Finding) -> str:
    """Return in plain words what somebody did, with the numbers."""
    signal = data["signal"]
    # Where nothing is ticked, nothing is repeated.
    ticks_flat = signal == "flat" and data.get("of_ticks")
    said = _("%(name)s ticks little") if ticks_flat else HEADLINES[signal]
    texts = {"headline": said % {"name": name}, "finding": _finding_text(data)}
    return _("%(headline)s: %(finding)s.") % texts


def brief(data: Finding) -> str:
    """Return what was found, without what is expected."""
    return capfirst(_finding_text(data))


def _finding_text(data: Finding) -> str:
    signal = data["signal"]
    said = OF_TICKS.get(signal) if data.get("of_ticks") else None
    return (said or SENTENCES[signal]) % {
        "value": _number(signal, data["value"]),
        "count": round(data["value"] * data["n"]),
        "n": data["n"],
        "limit": _limit(signal, data.get("limit", 0)),
        "about": data.get("about", ""),
    }


def evidence(data: Finding) -> str:
    """Return what is expected, and how likely the finding is by chance."""
    is_below = "below" in data
    bound = _number(data["signal"], data["below"] if is_below else data["above"])
    expected = (
        _("At least %(bound)s is expected.")
        if is_below
        else _("At most %(bound)s is expected.")
    )
    texts = [expected % {"bound": bound}]
    if "p" in data:
        chance = _("The probability of this by chance is at most 1 in %(times)s.")
        texts.append(chance % {"times": _times(data["p"])})
    return " ".join(texts)


def sentence(data: Finding) -> str:
    """Return what was found, what is expected, and how likely it is by chance."""
    return _("%(finding)s. %(evidence)s") % {
        "finding": brief(data),
        "evidence": evidence(data),
    }


def in_english(data: Finding) -> str:
    """Return the English sentence, for tables and records."""
    with translation.override("en"):
        return sentence(data)


def _number(signal: str, value: float) -> str:
    return f"{value:.2f}" if signal in CORRELATIONS else f"{100 * value:.0f} %"


def _limit(signal: str, value: float) -> str:
    return f"{value:g}" if signal in SPEEDS else f"{100 * value:.0f} %"


def _times(p: float) -> str:
    """Return 1 / p rounded down: 2 to 9, then to a power of ten."""
    times = int(1 / p)
    return f"{10 ** (len(str(times)) - 1) if times >= 10 else times:,}"
