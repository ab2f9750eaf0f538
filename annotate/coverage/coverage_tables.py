"""The dashboard's tables, as they are downloaded: a header, and rows one by one."""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from django.utils import timezone

from annotate.coverage import dashboard, snapshots
from annotate.coverage.completion import times
from annotate.coverage.counts import UnitCounts, of_question, totals, units
from annotate.kinds.registry import kind_of
from annotate.models import Skip, Slot, Study

CsvTable = tuple[tuple[str, ...], Iterable[tuple[object, ...]]]


def cells(study: Study) -> CsvTable:
    """Return every unit and question with what was submitted and what is wanted."""
    header = (
        "methods",
        "story",
        "dimension",
        "submitted",
        "quality_adjusted",
        "leased",
        "wanted",
        "set_aside",
    )
    return header, _cells(study)


def _cells(study: Study) -> Iterator[tuple[object, ...]]:
    for dimension, counted in _by_question(study):
        for unit in counted:
            yield (
                " / ".join(unit.methods),
                unit.story,
                dimension,
                unit.done,
                unit.done - unit.doubted,
                unit.leased,
                unit.wanted,
                int(unit.aside),
            )


def _by_question(study: Study) -> Iterator[tuple[str, UnitCounts]]:
    """Yield the units of each question; a checklist is answered as a whole."""
    found = units(study)
    questions = list(study.questions.all())
    if any(kind_of(question).of_shots for question in questions):
        yield "", found
    for question in questions:
        if kind_of(question).of_shots:
            continue
        yield question.key, of_question(found, study, question)


def annotators(study: Study) -> CsvTable:
    """Return everybody's progress, speed, checks, agreement and flags."""
    header = (
        "annotator",
        "state",
        "simulated",
        "submitted",
        "planned",
        "surplus",
        "sessions_begun",
        "sessions",
        "median_seconds",
        "gold_right",
        "gold_n",
        "repeat_difference",
        "repeat_n",
        "twin_lower",
        "twin_n",
        "agreement_with_rest",
        "agreement_n",
        "leases_expired",
        "flags",
        "last_seen",
    )
    return header, _annotators(study)


def _annotators(study: Study) -> Iterator[tuple[object, ...]]:
    known = _known(study)
    for row in dashboard.person_rows(study, known):
        checks = row.signals.get("checks", {})
        gold, repeat, twin = (
            checks.get(kind, ["", 0]) for kind in ("gold", "repeat", "twin")
        )
        rest = row.signals.get("rest", ["", 0])
        flags = "; ".join(f"{flag.action}: {flag.sentence}" for flag in row.flags)
        yield (
            row.annotator.name,
            row.annotator.state,
            int(row.annotator.is_simulated),
            row.counted.get("submitted", ""),
            row.counted.get("planned", ""),
            row.counted.get("surplus", ""),
            row.counted.get("session", ""),
            row.counted.get("sessions", ""),
            row.counted.get("seconds", ""),
            *gold,
            *repeat,
            *twin,
            *rest,
            row.counted.get("expired", ""),
            flags,
            row.last.isoformat() if row.last else "",
        )


def arrivals(study: Study) -> CsvTable:
    """Return how many slots were submitted each day, and how many there were then."""
    return ("day", "submitted", "total"), _arrivals(study)


def _arrivals(study: Study) -> Iterator[tuple[object, ...]]:
    total = 0
    for at, n in times(_known(study).tallies.get("days", [])):
        total += n
        yield at.date().isoformat(), n, total


def _known(study: Study) -> snapshots.KnownFigures:
    return snapshots.known(study, totals(study, surplus=0).wanted)


def alerts(study: Study) -> CsvTable:
    """Return what needs attention, the most important first."""
    rows = (
        (
            alert.kind,
            alert.level,
            alert.text,
            alert.todo,
            alert.since.isoformat() if alert.since else "",
            "; ".join(alert.notes),
        )
        for alert in dashboard.attention(study, timezone.now())
    )
    return ("kind", "level", "text", "to_do", "since", "notes"), rows


def events(study: Study) -> CsvTable:
    """Return the whole log, oldest first."""
    header = ("event", "at", "kind", "annotator", "user", "slot", "details")
    rows = study.events.order_by("id").values_list(
        "id", "at", "kind", "annotator__name", "user__username", "slot__code", "details"
    )
    return header, (
        (pk, at.isoformat(), kind, name, user, slot, json.dumps(details))
        for pk, at, kind, name, user, slot, details in rows.iterator(2000)
    )


def comments(study: Study) -> CsvTable:
    """Return what annotators wrote about stories, and why they skipped some."""
    header = ("kind", "slot", "story", "methods", "annotator", "at", "text")
    return header, _comments(study)


def _comments(study: Study) -> Iterator[tuple[object, ...]]:
    related = (
        "annotator",
        "unit__story",
        *study.output_paths("unit__", "__method"),
    )
    written = study.slots.exclude(comment="").select_related(*related).order_by("pk")
    for slot in written:
        yield _said("comment", slot, slot, slot.submitted_at, slot.comment)
    skips = Skip.objects.filter(slot__study=study).select_related(*related, "slot")
    for skip in skips.order_by("pk"):
        kind = f"skipped: {skip.reason}"
        yield _said(kind, skip, skip.slot, skip.created_at, skip.comment)


def _said(
    kind: str, said: Slot | Skip, slot: Slot, at: datetime | None, text: str
) -> tuple[object, ...]:
    unit = said.unit
    methods = " / ".join(unit.methods)
    name = said.annotator.name if said.annotator else ""
    moment = at.isoformat() if at else ""
    return kind, slot.code, unit.story.key, methods, name, moment, text


TABLES: dict[str, Callable[[Study], CsvTable]] = {
    "cells": cells,
    "annotators": annotators,
    "arrivals": arrivals,
    "alerts": alerts,
    "comments": comments,
    "events": events,
}
