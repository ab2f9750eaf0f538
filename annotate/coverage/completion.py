"""Expected finish of a study, or the reason why there is none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotate.coverage.alert_lines import day
from annotate.coverage.forecast import LEAST_ANSWERS, Forecast
from annotate.coverage.shares import Share, forecast_of
from annotate.models import Annotator, Study

NAMES_SHOWN = 5


@dataclass(frozen=True)
class Waiting:
    """Unfinished slots that nobody is working on."""

    holders: tuple[Share, ...] = ()
    stuck: int = 0
    free: int = 0

    @property
    def held(self) -> int:
        return sum(holder.held for holder in self.holders)

    @property
    def slots(self) -> int:
        return self.held + self.stuck + self.free

    @property
    def are_missed(self) -> bool:
        """Return whether anybody has been away for too long."""
        return any(holder.presence.is_missed for holder in self.holders)


@dataclass(frozen=True)
class Outlook:
    """A forecast and the slots it leaves out; `text` puts both in words."""

    forecast: Forecast
    waiting: Waiting
    text: str
    shares: tuple[Share, ...] = ()

    @property
    def has_date(self) -> bool:
        return not self.forecast.reason

    @property
    def date(self) -> str:
        """Return the expected finish."""
        median = self.forecast.median
        return day(median) if median else _("in over 10 years")

    @property
    def held(self) -> list[Share]:
        """Return the shares of people who hold ratings, those at work first."""
        return [one for one in self.shares if one.held]

    @property
    def label(self) -> str:
        """Return which ratings the date is for, and its interval."""
        n, early, late = self.waiting.slots, self.forecast.early, self.forecast.late
        end = _("expected finish")
        if n:
            left = self.forecast.remaining + n
            end = _("expected finish for %(part)d of %(left)d ratings") % {
                "part": self.forecast.remaining,
                "left": left,
            }
        if early is None:
            return end
        if late is None:
            sure = _("80 %% interval: %(early)s or later") % {"early": day(early)}
        elif day(early) == day(late):
            sure = _("80 %% interval: that day")
        else:
            both = {"early": day(early), "late": day(late)}
            sure = _("80 %% interval: %(early)s to %(late)s") % both
        return f"{end}; {sure}"


def waiting(
    study: Study, counted: Mapping[str, Any], people: Sequence[Share], left: int
) -> Waiting:
    """Return the unfinished slots that nobody is working on."""
    if not counted or left <= 0:
        return Waiting()
    stuck = min(counted["left"]["stuck"], left)
    away = [one for one in people if one.held and not one.is_counted]
    free = max(left - stuck - sum(one.held for one in people), 0)
    if free and _somebody_comes(study, people, counted):
        free = 0
    return Waiting(tuple(away), stuck, free)


def _somebody_comes(
    study: Study, people: Sequence[Share], counted: Mapping[str, Any]
) -> bool:
    """Say whether anybody working or joining may take a free slot."""
    if any(link.is_open for link in study.join_links.all()):
        return True
    for one in people:
        person = one.presence.person
        if one.is_counted and person.state != Annotator.State.FINISHED:
            n, cap = counted["people"].get(str(person.pk), {}), person.most_slots
            if cap is None or n.get("planned", 0) + n.get("surplus", 0) < cap:
                return True
    return False


def outlook(
    study: Study,
    counted: Mapping[str, Any],
    people: Sequence[Share],
    waits: Waiting,
    left: int,
    *,
    has_stalled: bool,
    now: datetime,
) -> Outlook:
    """Return the expected finish of the slots in work, or why there is none."""
    reason = _reason(study, waits, left, has_stalled)
    if reason:
        expected = Forecast(reason, left)
    else:
        expected = forecast_of(study, counted, people, left - waits.slots, now)
    return Outlook(expected, waits, _sentence(study, expected, waits), tuple(people))


def times(rows: list[list[Any]]) -> list[tuple[datetime, int]]:
    """Parse the times of stored arrivals."""
    return [(datetime.fromisoformat(at), n) for at, n in rows]


def _reason(study: Study, waits: Waiting, left: int, has_stalled: bool) -> str:
    """Return why there is no date at any pace; empty if nothing prevents one."""
    if left <= 0:
        return "complete"
    if study.state != Study.State.OPEN:
        return study.state
    if study.adaptive.get("stopped"):
        return "stopped"
    if waits.slots >= left:
        return "waiting"
    return "stalled" if has_stalled else ""


WHY_NO_DATE = {
    "complete": gettext_lazy("All ratings are collected."),
    "draft": gettext_lazy("No finish date yet: the study has not been launched."),
    "paused": gettext_lazy(
        "No finish date: the study is paused. Reopen it to get one."
    ),
    "closed": gettext_lazy("No finish date: the study is closed."),
    "stopped": gettext_lazy(
        "No finish date: the stopping rule was met, so no more answers are collected."
    ),
    "stalled": gettext_lazy(
        "No finish date: the study has stalled. A date appears when answers "
        "come in again."
    ),
    "none": gettext_lazy("No finish date yet: no answers have come in."),
    "none lately": gettext_lazy(
        "No finish date: nobody has submitted anything in the last 14 days."
    ),
    "few": gettext_lazy(
        "Too early to predict: %(n)d ratings were submitted in the last 14 days; "
        "%(least)d are needed."
    ),
    "leaving": gettext_lazy(
        "No finish date: if people leave as they did so far, nobody is left to do all "
        "%(left)d ratings. Invite more people."
    ),
    "young": gettext_lazy("Too early to predict (needs answers over 6 hours)."),
    "not begun": gettext_lazy(
        "No finish date yet: all %(n)d remaining ratings belong to people who "
        "have not started or may not continue (%(names)s)."
    ),
    "away": gettext_lazy(
        "No finish date: all %(n)d remaining ratings belong to people who are "
        "not working (%(names)s). Remind them, or give their work to others."
    ),
    "free": gettext_lazy(
        "No finish date: all %(n)d remaining ratings are unassigned, and nobody "
        "is working. Invite people, or remind the people you invited."
    ),
    "waiting": gettext_lazy(
        "No finish date: the people at work cannot do any of the %(n)d "
        "remaining ratings. See the alerts."
    ),
}


def _sentence(study: Study, expected: Forecast, waits: Waiting) -> str:
    """Return the pace behind the date, or why there is none and what helps."""
    if not expected.reason:
        return _pace(expected, waits)
    why, n = expected.reason, expected.answers
    if why == "waiting":
        n = waits.slots
        if waits.held == n:
            why = "away" if waits.are_missed else "not begun"
        elif waits.free == n:
            why = "free"
    elif why == "none lately":
        submitted = study.slots.filter(submitted_at__isnull=False)
        why = why if submitted.exists() else "none"
    values = {
        "n": n,
        "least": LEAST_ANSWERS,
        "names": _names(waits),
        "left": expected.remaining,
    }
    return str(WHY_NO_DATE[why]) % values


def _pace(expected: Forecast, waits: Waiting) -> str:
    """Return the pace, and what the date leaves out."""
    pace = ngettext(
        "%(pace)d ratings per day over the last %(days)d day; %(n)d to go.",
        "%(pace)d ratings per day over the last %(days)d days; %(n)d to go.",
        expected.days,
    )
    numbers = {
        "n": expected.remaining,
        "pace": round(expected.per_day),
        "days": expected.days,
    }
    parts = [pace % numbers]
    if waits.held:
        held = ngettext(
            "Not included: %(n)d rating of people who are not working (%(names)s).",
            "Not included: %(n)d ratings of people who are not working (%(names)s).",
            waits.held,
        )
        parts.append(held % {"n": waits.held, "names": _names(waits)})
    if others := waits.slots - waits.held:
        text = ngettext(
            "Not included: %(n)d rating that the people at work cannot do.",
            "Not included: %(n)d ratings that the people at work cannot do.",
            others,
        )
        parts.append(text % {"n": others})
    return " ".join(parts)


def _names(waits: Waiting) -> str:
    names = [holder.name for holder in waits.holders]
    return ", ".join(names[:NAMES_SHOWN]) + (" …" if names[NAMES_SHOWN:] else "")
