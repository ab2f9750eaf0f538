"""Alerts for the manager of a study, the most important first."""

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
from annotate.quality_rules import findings

# A study is stalled after a day, or after three of its usual gaps between answers.
QUIET, QUIET_GAPS = timedelta(hours=24), 3
EXPIRIES = 3
SHOWN = 5  # names or units that an alert lists
# The first of these of a person's flags is the headline.
GRAVEST = (Flag.Action.EXCLUDE, Flag.Action.PAUSE, Flag.Action.WARN)
GRAVE = 70  # alerts of this weight are errors


@dataclass(frozen=True)
class Alert:
    """One alert; `weight` orders them, `evidence` is what a reader unfolds."""

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
    evidence: tuple[str, ...] = ()

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
    """Return the alerts of a study, the most important first."""
    now = now or timezone.now()
    unsorted = [
        *_set_aside(study),
        *_broken(study),
        *_flagged(study),
        *_expiring(study, counted.get("people", {})),
    ]
    if study.state == Study.State.OPEN and not study.adaptive.get("stopped"):
        if left > 0:
            unsorted += _stalled(study, counted, now)
        unsorted += _away(waits, left)
        unsorted += _not_begun(study, waits, now)
    if study.state != Study.State.CLOSED:
        unsorted += _blocked(study, counted.get("blocked", []))
    return _merge_by_person(sorted(unsorted, key=lambda alert: -alert.weight))


def _merge_by_person(ordered: Iterable[Alert]) -> list[Alert]:
    """Merge the alerts about one person into the most important of them."""
    merged: dict[object, Alert] = {}
    for alert in ordered:
        key = alert.annotator.pk if alert.annotator else object()
        first = merged.get(key)
        merged[key] = alert
        if first is not None:
            merged[key] = replace(
                first,
                flags=(*first.flags, *alert.flags),
                notes=(*first.notes, alert.brief),
                evidence=(*first.evidence, *alert.evidence),
            )
    return list(merged.values())


def _stalled(
    study: Study, counted: Mapping[str, Any], now: datetime
) -> Iterator[Alert]:
    """Yield an alert when a running study has had no answers for long."""

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
        text = _("No answers yet: the study was opened on %(since)s.")
    elif since == last:
        text = _("The study has stalled: no answers since %(since)s.")
    else:
        text = _(
            "The study has stalled: no answers since it was reopened on %(since)s."
        )
    todo = _(
        "Send the links again, or invite more people. If you are not collecting "
        "answers now, pause the study."
    )
    yield Alert("stalled", 100, text % {"since": _when(since)}, todo, since=since)


def usual_gap(counted: Mapping[str, Any], until: datetime) -> timedelta:
    """Return the mean time between answers in the two weeks before the last one."""
    hours = [(datetime.fromisoformat(at), n) for at, n in counted.get("hours", [])]
    hours = [(at, n) for at, n in hours if until - WINDOW <= at <= until]
    answers = sum(n for _at, n in hours)
    return (until - hours[0][0]) / answers if answers > 1 else timedelta(0)


def _set_aside(study: Study) -> Iterator[Alert]:
    """Yield an alert for each unit on hold because several people skipped it."""
    real = study.units.filter(purpose=Purpose.REAL, set_aside_at__isnull=False)
    real = real.select_related("story", *study.output_paths(below="__method"))
    for unit in real.prefetch_related("skips__annotator")[:SHOWN]:
        cell = {"method": unit.methods, "story": unit.story.key}
        text = _("On hold: %(unit)s. Several people skipped it.")
        yield Alert(
            "set aside",
            90,
            text % {"unit": _unit_name(unit)},
            _("Check its pictures. Once they are right, offer it to others again."),
            since=unit.set_aside_at,
            unit=unit.pk,
            query=urlencode(cell, doseq=True),
            notes=tuple(
                f"{skip.annotator.name}: {skip.comment or skip.get_reason_display()}"
                for skip in unit.skips.all()
            ),
        )


def _broken(study: Study) -> Iterator[Alert]:
    """Yield an alert for each picture and video reported as broken."""
    for report in broken_media.reported(study)[:SHOWN]:
        where = _("story %(story)s") % {"story": report.story}
        query = {"story": report.story}
        if report.output is not None:
            query["method"] = report.output.method.name
            where = f"{report.output.method.name} / {report.story}"
        if report.shot:
            where += ", " + _("shot %(shot)s") % {"shot": report.shot}
        text = ngettext(
            "%(n)s person reported a broken picture or video: %(where)s.",
            "%(n)s people reported a broken picture or video: %(where)s.",
            report.people,
        )
        yield Alert(
            "broken",
            85,
            text % {"n": report.people, "where": where},
            _("Check it. If it is broken, import it again."),
            since=report.since,
            query=urlencode(query),
            faults=report.faults,
        )


def _blocked(study: Study, blocked: list[int]) -> Iterator[Alert]:
    """Yield an alert about the units that need another annotator."""
    if not blocked:
        return
    units = study.units.filter(pk__in=blocked).select_related(
        "story", *study.output_paths(below="__method")
    )
    text = ngettext(
        "%(n)d item needs somebody new: everybody still working has rated or "
        "skipped it.",
        "%(n)d items need somebody new: everybody still working has rated or "
        "skipped them.",
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
    """Yield an alert for each flag that is more than a note."""
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
    for pk, raised in of_person.items():
        for flag in sorted(raised, key=lambda flag: GRAVEST.index(flag.action)):
            person, finding = flag.annotator, flag.finding
            action = flag.get_action_display()
            yield Alert(
                "annotator",
                60 if flag.action == Flag.Action.WARN else GRAVE,
                findings.headline(person.name, finding)
                if finding
                else f"{person.name}: {flag.text}",
                _what_next(person, answers[pk]),
                since=flag.created_at,
                query=urlencode({"annotator": person.name}),
                flags=(flag.pk,),
                annotator=person,
                answers=answers[pk],
                brief=_("Also (%(action)s): %(text)s")
                % {"action": action, "text": flag.brief},
                evidence=(
                    _("Rule %(rule)s (%(action)s). %(evidence)s")
                    % {
                        "rule": flag.rule,
                        "action": action,
                        "evidence": findings.evidence(finding),
                    },
                )
                if finding
                else (),
            )


def _what_next(person: Annotator, answers: int) -> str:
    """Return what a manager can do about a flagged annotator."""
    if person.state == Annotator.State.PAUSED and not answers:
        return _(
            "They are paused and none of their answers count. Resume them, or "
            "remove them so that others can take over."
        )
    if person.state == Annotator.State.PAUSED:
        return _(
            "They are paused until you decide. Read some answers, then resume them, "
            "leave the answers out, or remove them from the study."
        )
    if person.state != Annotator.State.REVOKED:
        return _("Read some answers, then pause them or mark this as handled.")
    if answers:
        return _(
            "They were removed, but their answers count. Leave the answers out, or "
            "mark this as handled to keep them."
        )
    return _("They were removed and none of their answers count. Mark this as handled.")


def _expiring(study: Study, people: Mapping[str, Any]) -> Iterator[Alert]:
    """Yield an alert for each annotator who keeps letting leases expire."""
    often = {int(k): n for k, p in people.items() if (n := p["expired"]) >= EXPIRIES}
    working = study.annotators.exclude(state__in=Annotator.STOPPED)
    for row in working.filter(pk__in=often):
        text = _("%(name)s has let %(n)d stories time out since their last answer.")
        text %= {"name": row.name, "n": often[row.pk]}
        yield Alert(
            "leases expire",
            50,
            text,
            _(
                "Ask whether the page works for them. If you remove them, others can "
                "take over."
            ),
            query=urlencode({"annotator": row.name}),
            annotator=row,
            brief=text,
        )


def _away(waits: Waiting, left: int) -> Iterator[Alert]:
    """Yield an alert about people who hold slots and have been away for too long."""
    missed = [holder for holder in waits.holders if holder.presence.is_missed]
    if not missed:
        return
    slots = sum(holder.slots for holder in missed)
    text = ngettext(
        "%(people)d person has been away for long and holds %(n)d of the "
        "%(left)d remaining ratings.",
        "%(people)d people have been away for long and hold %(n)d of the "
        "%(left)d remaining ratings.",
        len(missed),
    )
    yield Alert(
        "away",
        95 if slots >= left else 65,
        text % {"n": slots, "left": left, "people": len(missed)},
        _("Send them their links again, or give their work to others."),
        since=min(holder.presence.since for holder in missed),
        notes=_first(map(_held_since, missed)),
    )


def _held_since(holder: Holder) -> str:
    """Return how many slots somebody holds, and when they were last seen."""
    presence, person = holder.presence, holder.presence.person
    if presence.has_begun and person.state in Annotator.STOPPED:
        text = _("%(name)s: %(n)d (%(state)s; last seen %(at)s)")
    elif presence.has_begun:
        text = _("%(name)s: %(n)d (last seen %(at)s)")
    elif person.state == Annotator.State.PLANNED:
        text = _("%(name)s: %(n)d (not invited)")
    else:
        text = _("%(name)s: %(n)d (invited %(at)s, not started)")
    return text % {
        "name": person.name,
        "n": holder.slots,
        "at": _when(presence.since),
        "state": person.get_state_display(),
    }


def _not_begun(study: Study, waits: Waiting, now: datetime) -> Iterator[Alert]:
    """Yield an alert about people invited some days ago who have not started."""
    waiting = study.annotators.filter(
        state=Annotator.State.INVITED, invitation__created_at__lt=now - NOT_BEGUN
    ).exclude(pk__in=[holder.presence.person.pk for holder in waits.holders])
    names = list(waiting.values_list("name", flat=True))
    if not names:
        return
    text = ngettext(
        "%(n)d person was invited more than %(days)d days ago and has not "
        "started: %(names)s.",
        "%(n)d people were invited more than %(days)d days ago and have not "
        "started: %(names)s.",
        len(names),
    )
    values = {
        "n": len(names),
        "days": NOT_BEGUN.days,
        "names": ", ".join(_first(names)),
    }
    todo = _("Send them their link again, or remove them so that others can take over.")
    yield Alert("not begun", 40, text % values, todo)


def _first(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the first lines, with an ellipsis if there are more."""
    listed = tuple(lines)
    return listed if len(listed) <= SHOWN else (*listed[:SHOWN], "…")


def _unit_name(unit: Unit) -> str:
    return _("story %(story)s, %(methods)s") % {
        "story": unit.story.key,
        "methods": " / ".join(unit.methods),
    }


def _when(at: datetime) -> str:
    return date_format(timezone.localtime(at), "Y-m-d H:i T")
