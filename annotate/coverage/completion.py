"""When a study will be complete, or in one sentence why nobody can tell."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotate.coverage.forecast import LEAST_ANSWERS, Forecast, forecast
from annotate.models import Annotator, Study
from annotate.people.presence import Calendar, Presence, calendar

NAMES_SHOWN = 5


@dataclass(frozen=True)
class Holder:
    """Somebody who is not at work, and how many slots wait for them."""

    presence: Presence
    slots: int

    @property
    def name(self) -> str:
        return self.presence.person.name


@dataclass(frozen=True)
class Waiting:
    """The slots that nobody will do as things are."""

    holders: tuple[Holder, ...] = ()
    stuck: int = 0
    free: int = 0

    @property
    def held(self) -> int:
        return sum(holder.slots for holder in self.holders)

    @property
    def slots(self) -> int:
        return self.held + self.stuck + self.free

    @property
    def are_missed(self) -> bool:
        """Say whether it is time to do something about anybody's absence."""
        return any(holder.presence.is_missed for holder in self.holders)


@dataclass(frozen=True)
class Outlook:
    """The forecast and what it leaves out; `text` says both in words."""

    forecast: Forecast
    waiting: Waiting
    text: str

    @property
    def has_date(self) -> bool:
        return not self.forecast.reason

    @property
    def date(self) -> str:
        """Return the expected end."""
        median = self.forecast.median
        return _day(median) if median else _("not in sight")

    @property
    def label(self) -> str:
        """Return what the date is the end of, and how sure it is."""
        n, early, late = self.waiting.slots, self.forecast.early, self.forecast.late
        end = _("expected end")
        if n:
            end = ngettext(
                "expected end without %(n)d slot", "expected end without %(n)d slots", n
            ) % {"n": n}
        if early is None:
            return end
        if late is None:
            sure = _("80 %%: from %(early)s, open end") % {"early": _day(early)}
        elif _day(early) == _day(late):
            sure = _("four times in five that day")
        else:
            both = {"early": _day(early), "late": _day(late)}
            sure = _("80 %%: %(early)s to %(late)s") % both
        return f"{end}; {sure}"


def _day(at: datetime) -> str:
    return date_format(localtime(at), "Y-m-d")


def waiting(
    study: Study, counted: Mapping[str, Any], left: int, now: datetime
) -> Waiting:
    """Return which of the slots that are left wait in vain."""
    if not counted or left <= 0:
        return Waiting()
    held, stuck = counted["left"]["held"], min(counted["left"]["stuck"], left)
    measure = calendar(study, counted["patience"])
    people = study.annotators.filter(pk__in=list(held)).select_related("invitation")
    found = [
        Holder(
            measure.presence(person, answered(counted, person.pk), now),
            held[str(person.pk)],
        )
        for person in people
    ]
    away = [holder for holder in found if not holder.presence.is_at_work]
    away.sort(key=lambda holder: (-holder.slots, holder.name))
    free = max(left - stuck - sum(held.values()), 0)
    if free and _somebody_comes(study, measure, counted, now):
        free = 0
    return Waiting(tuple(away), stuck, free)


def _somebody_comes(
    study: Study, measure: Calendar, counted: Mapping[str, Any], now: datetime
) -> bool:
    """Say whether anybody is at work, or may join, who may take a free slot."""
    if any(link.is_open for link in study.join_links.all()):
        return True
    people = study.annotators.exclude(state=Annotator.State.FINISHED)
    return any(
        measure.presence(person, answered(counted, person.pk), now).is_at_work
        for person in people.select_related("invitation")
        if _has_room(person, counted["people"].get(str(person.pk), {}))
    )


def _has_room(person: Annotator, counted: Mapping[str, Any]) -> bool:
    cap = person.most_slots
    return cap is None or counted.get("planned", 0) + counted.get("surplus", 0) < cap


def outlook(
    study: Study,
    counted: Mapping[str, Any],
    waits: Waiting,
    left: int,
    *,
    has_stalled: bool,
    now: datetime,
) -> Outlook:
    """Return when what does not wait will be done, and why it is not known if not."""
    reason = _reason(study, waits, left, has_stalled)
    if reason:
        found = Forecast(reason, left)
    else:
        found = forecast(times(counted.get("pace", [])), left - waits.slots, now)
    return Outlook(found, waits, _sentence(study, found, waits))


def answered(counted: Mapping[str, Any], annotator: int) -> datetime | None:
    """Return when somebody last answered, as it was counted."""
    last = counted.get("people", {}).get(str(annotator), {}).get("last")
    return datetime.fromisoformat(last) if last else None


def times(rows: list[list[Any]]) -> list[tuple[datetime, int]]:
    """Return stored arrivals with their times."""
    return [(datetime.fromisoformat(at), n) for at, n in rows]


def _reason(study: Study, waits: Waiting, left: int, has_stalled: bool) -> str:
    """Return what forbids a date whatever the pace is; empty where nothing does."""
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
    "complete": gettext_lazy("Every slot is done."),
    "draft": gettext_lazy("No date yet: the study has not been launched."),
    "paused": gettext_lazy("No date: the study is paused. Open it again to get one."),
    "closed": gettext_lazy("No date: the study is closed."),
    "stopped": gettext_lazy(
        "No date: the stop rule was met, and nothing more is asked."
    ),
    "stalled": gettext_lazy(
        "No date: the study has stalled. There is one when answers come in again."
    ),
    "none": gettext_lazy("No date yet: no answer has come in."),
    "none lately": gettext_lazy(
        "No date: whoever goes on has submitted nothing in the last 14 days."
    ),
    "few": gettext_lazy(
        "No date yet: whoever goes on has submitted %(n)d slots in the last 14 days; "
        "it takes %(least)d."
    ),
    "young": gettext_lazy("No date yet: it takes answers over at least six hours."),
    "not begun": gettext_lazy(
        "No date yet: all %(n)d slots that are left wait for people who have not begun "
        "or may not go on (%(names)s)."
    ),
    "away": gettext_lazy(
        "No date: all %(n)d slots that are left wait for people who are not at work "
        "(%(names)s). Remind them, or give their open work to others."
    ),
    "free": gettext_lazy(
        "No date: all %(n)d slots that are left are free, and nobody is at work. "
        "Invite people, or remind those whom you invited."
    ),
    "waiting": gettext_lazy(
        "No date: nobody who is at work may do any of the %(n)d slots that are left. "
        "See what needs attention."
    ),
}


def _sentence(study: Study, found: Forecast, waits: Waiting) -> str:
    """Say by which pace the end is expected, or why it is not and what helps."""
    if not found.reason:
        return _pace(found, waits)
    why, n = found.reason, found.answers
    if why == "waiting":
        n = waits.slots
        if waits.held == n:
            why = "away" if waits.are_missed else "not begun"
        elif waits.free == n:
            why = "free"
    elif why == "none lately":
        submitted = study.slots.filter(submitted_at__isnull=False)
        why = why if submitted.exists() else "none"
    told = {"n": n, "least": LEAST_ANSWERS, "names": _names(waits)}
    return str(WHY_NO_DATE[why]) % told


def _pace(found: Forecast, waits: Waiting) -> str:
    """Say until when, by which pace, and what the date leaves out."""
    pace = ngettext(
        "%(pace)d slots a day over the last %(days)d day, %(n)d to go.",
        "%(pace)d slots a day over the last %(days)d days, %(n)d to go.",
        found.days,
    )
    numbers = {"n": found.remaining, "pace": round(found.per_day), "days": found.days}
    parts = [pace % numbers]
    if waits.held:
        held = ngettext(
            "Without %(n)d slot of people who are not at work: %(names)s.",
            "Without %(n)d slots of people who are not at work: %(names)s.",
            waits.held,
        )
        parts.append(held % {"n": waits.held, "names": _names(waits)})
    if others := waits.slots - waits.held:
        text = ngettext(
            "Without %(n)d slot that nobody at work may do.",
            "Without %(n)d slots that nobody at work may do.",
            others,
        )
        parts.append(text % {"n": others})
    return " ".join(parts)


def _names(waits: Waiting) -> str:
    names = [holder.name for holder in waits.holders]
    return ", ".join(names[:NAMES_SHOWN]) + (" …" if names[NAMES_SHOWN:] else "")
