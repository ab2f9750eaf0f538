"""What a rule found, as data that is stored and as a sentence in the reader's language.

A finding is kept with the flag and in the log; its sentence is made when it is shown.
"""

from collections.abc import Mapping
from typing import Any

from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.quality_rules.rules import CORRELATIONS, SPEEDS, Breach

Finding = Mapping[str, Any]

SENTENCES = {
    "seconds_per_unit": gettext_lazy(
        "%(value)s of %(n)s units took less than %(limit)s s"
    ),
    "seconds_per_shot": gettext_lazy(
        "%(value)s of %(n)s units took less than %(limit)s s per shot"
    ),
    "seconds_in_sight": gettext_lazy(
        "In %(value)s of %(n)s units shots were in sight for less than %(limit)s s each"
    ),
    "shots_seen": gettext_lazy(
        "%(value)s of %(n)s units were answered with less than %(limit)s of the shots "
        "seen"
    ),
    "straight_line": gettext_lazy(
        "%(value)s of %(n)s units were answered exactly like the one before"
    ),
    "same_answer": gettext_lazy(
        "%(value)s of %(n)s units had the same answer as the one before"
    ),
    "flat": gettext_lazy(
        "%(value)s of %(n)s units had one and the same answer to all questions"
    ),
    "side_bias": gettext_lazy(
        "The share of left is %(value)s away from one half in %(n)s units"
    ),
    "training": gettext_lazy(
        "%(value)s of the answers to %(n)s training units are within the tolerance"
    ),
    "gold": gettext_lazy(
        "%(value)s of the answers to %(n)s gold units are within the tolerance"
    ),
    "repeat": gettext_lazy(
        "Answers to %(n)s repeated units moved by %(value)s of the scale"
    ),
    "twin": gettext_lazy(
        "%(value)s of the answers to %(n)s degraded twins are below the original's"
    ),
    "agreement": gettext_lazy(
        "Ratings of %(n)s units correlate %(value)s with those of the others"
    ),
    "majority": gettext_lazy(
        "%(value)s of the choices in %(n)s units agree with a clear majority"
    ),
    "skips": gettext_lazy("%(value)s of %(n)s slots were skipped"),
    "no_time": gettext_lazy(
        "%(value)s of %(n)s units came without the time spent on them"
    ),
    "impossible_time": gettext_lazy(
        "%(value)s of %(n)s units came with a time that cannot be"
    ),
}


# What the same signals say of ticks, whose observations are shots.
OF_TICKS = {
    "flat": gettext_lazy("Nothing is ticked in %(value)s of %(n)s shots"),
    "repeat": gettext_lazy(
        "Of what was ticked in %(n)s repeated shots, %(value)s was ticked only once"
    ),
    "agreement": gettext_lazy(
        "Ticks in %(n)s shots correlate %(value)s with those of the others"
    ),
}


def finding(breach: Breach) -> dict[str, Any]:
    """Return what is stored of a breach: enough to say it in any language."""
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
    }
    return {key: value for key, value in known.items() if value is not None}


def brief(found: Finding) -> str:
    """Return what was found."""
    signal = found["signal"]
    said = OF_TICKS.get(signal) if found.get("of_ticks") else None
    return (said or SENTENCES[signal]) % {
        "value": _number(signal, found["value"]),
        "n": found["n"],
        "limit": _limit(signal, found.get("limit", 0)),
    }


def sentence(found: Finding) -> str:
    """Return what was found, what is expected, and how sure that is."""
    is_below = "below" in found
    bound = found["below"] if is_below else found["above"]
    texts = {"shown": brief(found), "bound": _number(found["signal"], bound)}
    if "p" in found:
        texts["times"] = _times(found["p"])
        text = (
            _(
                "%(shown)s; at least %(bound)s is expected (by accident in at most 1 "
                "of %(times)s)."
            )
            if is_below
            else _(
                "%(shown)s; at most %(bound)s is expected (by accident in at most 1 of "
                "%(times)s)."
            )
        )
    elif is_below:
        text = _("%(shown)s; at least %(bound)s is expected.")
    else:
        text = _("%(shown)s; at most %(bound)s is expected.")
    return text % texts


def in_english(found: Finding) -> str:
    """Return the sentence for tables and records, which have one language."""
    with translation.override("en"):
        return sentence(found)


def _number(signal: str, value: float) -> str:
    return f"{value:.2f}" if signal in CORRELATIONS else f"{100 * value:.0f} %"


def _limit(signal: str, value: float) -> str:
    return f"{value:g}" if signal in SPEEDS else f"{100 * value:.0f} %"


def _times(p: float) -> str:
    """Return of how many times p is at most one: 2 to 9, then powers of ten."""
    times = int(1 / p)
    return f"{10 ** (len(str(times)) - 1) if times >= 10 else times:,}"
