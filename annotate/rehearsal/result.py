"""Result of a rehearsal, as it is stored for its page."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.coverage import counts
from annotate.models import Flag, Study
from annotate.payment.costs import costs
from annotate.payment.rules import CENT
from annotate.payment.table import PersonRow, people_rows
from annotate.people.status import Status
from annotate.rehearsal.person import TROUBLE, PersonKind, SimulatedPerson
from annotate.rehearsal.walk import Walked

GAPS_SHOWN = 12
# Alerts about a state that a study has by itself.
STEPS = ("draft", "no links", "complete")


class Finding(models.TextChoices):
    """Agreement of the study with the truth about a simulated person."""

    FOUND = "found", gettext_lazy("found")
    MISSED = "missed", gettext_lazy("missed")
    ACCUSED = "accused", gettext_lazy("falsely accused")
    FINE = "fine", gettext_lazy("rightly trusted")


def result_of(walked: Walked) -> dict[str, Any]:
    """Return what the page of a rehearsal shows; texts are in the language in use."""
    study, last = walked.study, walked.seen[-1]
    total = last.standing.totals
    rows = people_rows(study, last.at, with_codes=False)
    people = list(_people(walked, rows))
    gaps = [one for one in counts.units(study) if one.done < one.wanted]
    return {
        "started": walked.started.isoformat(),
        "ended": walked.ended.isoformat(),
        "days": (walked.ended - walked.started).days + 1,
        "was_cut_short": walked.was_cut_short,
        "submitted": total.submitted,
        "wanted": total.wanted,
        "percent": total.percent,
        "per_item": sorted(Counter(one.done for one in counts.units(study)).items()),
        "redundancy": study.redundancy * study.rounds,
        "gaps": [
            {
                "story": one.story,
                "methods": " / ".join(one.methods),
                "done": one.done,
                "wanted": one.wanted,
            }
            for one in sorted(gaps, key=lambda one: one.done)[:GAPS_SHOWN]
        ],
        "n_gaps": len(gaps),
        "people": people,
        "findings": _counted(people),
        "pay": _pay(study, last.standing.figures.tallies.get("minutes")),
        "alerts": list(_alerts(walked)),
        "goals": list(_goals(walked)),
        "best_first": walked.best_first,
        "has_rules": bool(study.rules),
    }


def _people(walked: Walked, rows: list[PersonRow]) -> Iterator[dict[str, Any]]:
    """Yield each person with the true kind, and the verdict of the study."""
    kinds = {
        one.annotator.pk: one for one in walked.people if one.annotator is not None
    }
    named = _named_in_alerts(walked)
    for row in sorted(rows, key=lambda row: row.annotator.name):
        person = kinds.get(row.annotator.pk)
        kind = person.kind if person else PersonKind.NEVER
        is_accused = row.annotator.pk in named or _is_accused(row)
        yield {
            "name": row.annotator.name,
            "kind": kind.value,
            "kind_text": str(kind.label),
            "status": str(row.status.label),
            "verdict": row.verdict.value,
            "verdict_text": str(row.verdict.label),
            "reasons": row.reasons,
            "stories": row.work.stories,
            "minutes": row.work.minutes,
            "finding": _finding(kind, row, is_accused=is_accused).value,
        }
    for one in walked.people:
        if one.annotator is None:  # found no free place, or never opened the page
            yield _without_place(one)


def _without_place(person: SimulatedPerson) -> dict[str, Any]:
    return {
        "name": "–",
        "kind": person.kind.value,
        "kind_text": str(person.kind.label),
        "status": _("found no free place"),
        "verdict": "none",
        "verdict_text": "",
        "reasons": [],
        "stories": 0,
        "minutes": None,
        "finding": Finding.FINE.value,
    }


def _is_accused(row: PersonRow) -> bool:
    """Say whether more than a note stands against a person."""
    is_stopped = row.status in (Status.PAUSED, Status.FAILED)
    return is_stopped or any(flag.action != Flag.Action.NOTE for flag in row.flags)


def _named_in_alerts(walked: Walked) -> set[int]:
    """Return whom a line of *Progress* was about on some day."""
    alerts = (alert for seen in walked.seen for alert in seen.standing.alerts)
    return {alert.annotator.pk for alert in alerts if alert.annotator is not None}


def _finding(kind: PersonKind, row: PersonRow, *, is_accused: bool) -> Finding:
    """Return whether the study judged a person rightly."""
    if kind in TROUBLE:
        return Finding.FOUND if is_accused else Finding.MISSED
    if is_accused:
        return Finding.ACCUSED
    absent = {PersonKind.LEAVES: Status.LEFT, PersonKind.NEVER: Status.NOT_STARTED}
    if kind in absent:
        return Finding.FOUND if row.status == absent[kind] else Finding.MISSED
    return Finding.FINE


def _counted(people: list[dict[str, Any]]) -> dict[str, int]:
    found = Counter(one["finding"] for one in people)
    return {finding.value: found[finding.value] for finding in Finding}


def _pay(study: Study, minutes: float | None) -> dict[str, Any]:
    """Return the minutes of people, and what their work would have cost."""
    spent = costs(study)
    pay: dict[str, Any] = {"minutes": minutes}
    pay["advertised"] = study.recruitment.get("minutes")
    if spent is None:
        return pay
    hourly = Decimal(str(study.recruitment["pay_per_hour"]))
    paid_for = Decimal(str(study.recruitment.get("minutes") or minutes or 0))
    return pay | {
        "currency": spent.currency,
        "each": str((hourly * paid_for / 60).quantize(CENT)),
        "total": str(spent.committed),
        "to_finish": str(spent.to_finish),
    }


def _alerts(walked: Walked) -> Iterator[dict[str, Any]]:
    """Yield each line of *Do now*, with the days on which it stood there."""
    lines: dict[tuple[str, object], dict[str, Any]] = {}
    for seen in walked.seen:
        day = (seen.at - walked.started).days
        for alert in seen.standing.alerts:
            about = alert.annotator.pk if alert.annotator else alert.text[:20]
            if alert.kind in STEPS:
                continue
            line = lines.setdefault(
                (alert.kind, about), {"day": day, "level": alert.level}
            )
            line |= {"text": alert.text, "todo": alert.todo, "until": day}
    last = (walked.seen[-1].at - walked.started).days
    for line in sorted(lines.values(), key=lambda line: line["day"]):
        yield line | {"stays": line["until"] == last}


def _goals(walked: Walked) -> Iterator[dict[str, Any]]:
    """Yield each goal at the end, and the day on which it was seen as reached."""
    for row in walked.seen[-1].goals:
        days = (
            (seen.at - walked.started).days
            for seen in walked.seen
            for one in seen.goals
            if (one.question, one.goal, one.state) == (row.question, row.goal, "stop")
        )
        yield {
            "question": row.question.title,
            "goal": row.goal_text,
            "state": row.state,
            "now": row.now,
            "needed": row.needed,
            "sentence": row.sentence,
            "day": next(days, None),
        }
