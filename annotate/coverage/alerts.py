"""What needs the manager's attention, the most important first."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.coverage.completion import Holder, Waiting
from annotate.coverage.counts import leases
from annotate.coverage.forecast import WINDOW
from annotate.models import Annotator, Flag, Purpose, Slot, Study, Unit
from annotate.people.presence import NOT_BEGUN, openings
from annotate.presentation import broken_media

# A study is stalled after a day, or after three of its usual gaps between answers.
QUIET, QUIET_GAPS = timedelta(hours=24), 3
EXPIRIES = 3
SHOWN = 5  # names or units that an alert lists
# Of several flags of one person the first of these speaks.
GRAVEST = (Flag.Action.EXCLUDE, Flag.Action.PAUSE, Flag.Action.WARN)
GRAVE = 70  # alerts of this weight are errors


@dataclass(frozen=True)
class Alert:
    """One thing to look at; `weight` orders them."""

    kind: str
    weight: int
    text: str
    todo: str
    since: datetime | None = None
    query: str = ""
    unit: int | None = None
    flags: tuple[int, ...] = ()
    faults: tuple[int, ...] = ()
    annotator: Annotator | None = None
    answers: int = 0
    brief: str = ""
    notes: tuple[str, ...] = ()

    @property
    def level(self) -> str:
        return "error" if self.weight >= GRAVE else "warning"


def alerts(
    study: Study,
    counted: Mapping[str, Any],
    *,
    waits: Waiting,
    left: int,
    now: datetime | None = None,
) -> list[Alert]:
    """Return everything that needs attention."""
    now = now or timezone.now()
    found = [
        *_set_aside(study),
        *_broken(study),
        *_flagged(study),
        *_expiring(study, counted.get("people", {})),
    ]
    if study.state == Study.State.OPEN and not study.adaptive.get("stopped"):
        if left > 0:
            found += _stalled(study, counted, now)
        found += _away(waits, left)
        found += _not_begun(study, waits, now)
    if study.state != Study.State.CLOSED:
        found += _blocked(study, counted.get("blocked", []))
    return _one_a_person(sorted(found, key=lambda alert: -alert.weight))


def _one_a_person(found: Iterable[Alert]) -> list[Alert]:
    """Put what is to be said of one person into the gravest of their alerts."""
    kept: dict[object, Alert] = {}
    for alert in found:
        key = alert.annotator.pk if alert.annotator else object()
        first = kept.get(key)
        kept[key] = alert
        if first is not None:
            flags, notes = (*first.flags, *alert.flags), (*first.notes, alert.brief)
            kept[key] = replace(first, flags=flags, notes=notes)
    return list(kept.values())


def _stalled(
    study: Study, counted: Mapping[str, Any], now: datetime
) -> Iterator[Alert]:
    """Yield whether nothing has come in for long although the study is open."""

    def is_long(since: datetime) -> bool:
        return now - since > max(QUIET, QUIET_GAPS * usual_gap(counted, since))

    answered = study.slots.filter(submitted_at__isnull=False).order_by("-submitted_at")
    last = answered.values_list("submitted_at", flat=True).first()
    since = last or study.created_at
    if is_long(since):
        since = max(since, openings(study)[0] or since)
    if not is_long(since) or leases(study).filter(lease_until__gt=now).exists():
        return
    if last is None:
        text = _("The study has not begun: it was opened %(since)s and has no answer.")
    elif since == last:
        text = _("The study has stalled: no answer since %(since)s.")
    else:
        text = _("The study has stalled: no answer since it was opened %(since)s.")
    todo = _("Send the links again, or invite more people; a paused study takes none.")
    yield Alert("stalled", 100, text % {"since": _when(since)}, todo, since=since)


def usual_gap(counted: Mapping[str, Any], until: datetime) -> timedelta:
    """Return the mean time between two answers in the two weeks before the last one."""
    hours = [(datetime.fromisoformat(at), n) for at, n in counted.get("hours", [])]
    hours = [(at, n) for at, n in hours if until - WINDOW <= at <= until]
    answers = sum(n for _at, n in hours)
    return (until - hours[0][0]) / answers if answers > 1 else timedelta(0)


def _set_aside(study: Study) -> Iterator[Alert]:
    """Yield the units that several people would not judge, and said why."""
    real = study.units.filter(purpose=Purpose.REAL, set_aside_at__isnull=False)
    real = real.select_related("story", *study.output_paths(below="__method"))
    for unit in real.prefetch_related("skips__annotator")[:SHOWN]:
        cell = {"method": unit.methods, "story": unit.story.key}
        text = _("%(unit)s is handed out no more: several people skipped it.")
        yield Alert(
            "set aside",
            90,
            text % {"unit": _unit_name(unit)},
            _("Look at it; when its pictures are right again, hand it out again."),
            since=unit.set_aside_at,
            unit=unit.pk,
            query=urlencode(cell, doseq=True),
            notes=tuple(
                f"{skip.annotator.name}: {skip.comment or skip.get_reason_display()}"
                for skip in unit.skips.all()
            ),
        )


def _broken(study: Study) -> Iterator[Alert]:
    """Yield the pictures and videos that annotators report as broken."""
    for found in broken_media.reported(study)[:SHOWN]:
        where = _("story %(story)s") % {"story": found.story}
        query = {"story": found.story}
        if found.output is not None:
            query["method"] = found.output.method.name
            where = f"{found.output.method.name} / {found.story}"
        if found.shot:
            where += ", " + _("shot %(shot)s") % {"shot": found.shot}
        text = ngettext(
            "%(n)s person reports as broken: %(where)s.",
            "%(n)s people report as broken: %(where)s.",
            found.people,
        )
        yield Alert(
            "broken",
            85,
            text % {"n": found.people, "where": where},
            _("Look at it, and import it again if it is."),
            since=found.since,
            query=urlencode(query),
            faults=found.faults,
        )


def _blocked(study: Study, blocked: list[int]) -> Iterator[Alert]:
    """Yield the units that nobody who is left may judge."""
    if not blocked:
        return
    units = study.units.filter(pk__in=blocked).select_related(
        "story", *study.output_paths(below="__method")
    )
    text = ngettext(
        "Nobody can fill %(n)d cell: whoever may still work has judged or skipped it.",
        "Nobody can fill %(n)d cells: whoever may still work has judged or skipped "
        "them.",
        len(blocked),
    )
    yield Alert(
        "cannot be filled",
        80,
        text % {"n": len(blocked)},
        _("Add a person, or resume somebody who is paused."),
        notes=_first(_unit_name(unit) for unit in units),
        query=urlencode({"state": Slot.State.OPEN, "part": "wanted"}),
    )


def _flagged(study: Study) -> Iterator[Alert]:
    """Yield the annotators whom a rule has found, unless it only took a note."""
    flags = Flag.objects.filter(annotator__study=study, resolved_at__isnull=True)
    flags = flags.exclude(action=Flag.Action.NOTE).select_related("annotator")
    of_person: dict[int, list[Flag]] = defaultdict(list)
    for flag in flags:
        of_person[flag.annotator_id].append(flag)
    # An exclusion can still leave out these slots of theirs.
    slots = study.slots.filter(
        annotator__in=list(of_person),
        purpose=Purpose.REAL,
        state=Slot.State.SUBMITTED,
    )
    answers = Counter(slots.values_list("annotator", flat=True) if of_person else ())
    for pk, found in of_person.items():
        for flag in sorted(found, key=lambda flag: GRAVEST.index(flag.action)):
            person = flag.annotator
            said = {"action": flag.get_action_display(), "text": flag.sentence}
            yield Alert(
                "annotator",
                60 if flag.action == Flag.Action.WARN else GRAVE,
                _("Look at %(name)s (%(action)s): %(text)s")
                % (said | {"name": person.name}),
                _what_next(person, answers[pk]),
                since=flag.created_at,
                query=urlencode({"annotator": person.name}),
                flags=(flag.pk,),
                annotator=person,
                answers=answers[pk],
                brief=_("Before (%(action)s): %(text)s") % said,
            )


def _what_next(person: Annotator, answers: int) -> str:
    """Return what a manager can do about somebody whom a rule has found."""
    if person.state == Annotator.State.PAUSED and not answers:
        return _(
            "Their work stands still and no answer counts. Resume, or revoke the link "
            "so that others get the slots."
        )
    if person.state == Annotator.State.PAUSED:
        return _(
            "Their work stands still until you decide: read some answers, then resume, "
            "exclude the answers, or revoke the link so that others get the slots."
        )
    if person.state != Annotator.State.REVOKED:
        return _("Read some of the answers; then pause, or settle the flag.")
    if answers:
        return _(
            "The link is revoked, but the answers count. Exclude them, or settle the "
            "flag to keep them."
        )
    return _("The link is revoked and no answer counts; settle the flag.")


def _expiring(study: Study, people: Mapping[str, Any]) -> Iterator[Alert]:
    """Yield who opens slots again and again without answering."""
    often = {int(k): n for k, p in people.items() if (n := p["expired"]) >= EXPIRIES}
    working = study.annotators.exclude(state__in=Annotator.STOPPED)
    for row in working.filter(pk__in=often):
        text = _("%(name)s has let %(n)d leases run out since the last answer.")
        text %= {"name": row.name, "n": often[row.pk]}
        yield Alert(
            "leases expire",
            50,
            text,
            _("Ask whether the page works for them; revoke to free their slots."),
            query=urlencode({"annotator": row.name}),
            annotator=row,
            brief=text,
        )


def _away(waits: Waiting, left: int) -> Iterator[Alert]:
    """Yield who holds slots and has stayed away for longer than people do."""
    missed = [holder for holder in waits.holders if holder.presence.is_missed]
    if not missed:
        return
    slots = sum(holder.slots for holder in missed)
    text = ngettext(
        "%(n)d of the %(left)d slots that are left wait for %(people)d person who has "
        "stayed away for long.",
        "%(n)d of the %(left)d slots that are left wait for %(people)d people who have "
        "stayed away for long.",
        len(missed),
    )
    yield Alert(
        "away",
        95 if slots >= left else 65,
        text % {"n": slots, "left": left, "people": len(missed)},
        _("Remind them with their links, or give their open work to others."),
        since=min(holder.presence.since for holder in missed),
        notes=_first(map(_held_since, missed)),
    )


def _held_since(holder: Holder) -> str:
    """Say how many slots somebody holds, and since when nothing was seen of them."""
    presence, person = holder.presence, holder.presence.person
    if presence.has_begun and person.state in Annotator.STOPPED:
        text = _("%(name)s: %(n)d (%(state)s; last seen %(at)s)")
    elif presence.has_begun:
        text = _("%(name)s: %(n)d (last seen %(at)s)")
    elif person.state == Annotator.State.PLANNED:
        text = _("%(name)s: %(n)d (not invited)")
    else:
        text = _("%(name)s: %(n)d (invited %(at)s, not begun)")
    return text % {
        "name": person.name,
        "n": holder.slots,
        "at": _when(presence.since),
        "state": person.get_state_display(),
    }


def _not_begun(study: Study, waits: Waiting, now: datetime) -> Iterator[Alert]:
    """Yield who has no slots yet, was invited some days ago and has not begun."""
    waiting = study.annotators.filter(
        state=Annotator.State.INVITED, invitation__created_at__lt=now - NOT_BEGUN
    ).exclude(pk__in=[holder.presence.person.pk for holder in waits.holders])
    names = list(waiting.values_list("name", flat=True))
    if not names:
        return
    text = ngettext(
        "%(n)d person was invited more than %(days)d days ago and has not begun: "
        "%(names)s.",
        "%(n)d people were invited more than %(days)d days ago and have not begun: "
        "%(names)s.",
        len(names),
    )
    told = {"n": len(names), "days": NOT_BEGUN.days, "names": ", ".join(_first(names))}
    todo = _("Remind them with their link, or revoke it so that others get the slots.")
    yield Alert("not begun", 40, text % told, todo)


def _first(lines: Iterable[str]) -> tuple[str, ...]:
    """Return as many as an alert lists, and whether there are more."""
    listed = tuple(lines)
    return listed if len(listed) <= SHOWN else (*listed[:SHOWN], "…")


def _unit_name(unit: Unit) -> str:
    return _("story %(story)s, %(methods)s") % {
        "story": unit.story.key,
        "methods": " / ".join(unit.methods),
    }


def _when(at: datetime) -> str:
    return date_format(timezone.localtime(at), "Y-m-d H:i T")
