"""The dashboard's tables, as they are downloaded: a header, and rows one by one."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime

from annotate.coverage import dashboard, snapshots
from annotate.coverage.completion import times
from annotate.coverage.counts import UnitCount, of_question, totals, units
from annotate.kinds.registry import counted, kind_of
from annotate.models import Skip, StoryComment, Study
from annotate.presentation import shot_comments
from annotate.responses.writing import of_holder

Rows = Callable[[Study], Iterator[tuple[object, ...]]]
# What is told of an annotator as it was counted.
COUNTED = ("submitted", "planned", "surplus", "session", "sessions", "seconds")


def _cells(study: Study) -> Iterator[tuple[object, ...]]:
    """Yield every unit and question with what was submitted and what is wanted."""
    for dimension, unit_counts in _by_question(study):
        for unit in unit_counts:
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


def _by_question(study: Study) -> Iterator[tuple[str, list[UnitCount]]]:
    """Yield the units of each question; a checklist is answered as a whole."""
    found = units(study)
    questions = counted(study.questions.all())
    if any(kind_of(question).of_shots for question in questions):
        yield "", found
    for question in questions:
        if not kind_of(question).of_shots:
            yield question.key, of_question(found, study, question)


def _annotators(study: Study) -> Iterator[tuple[object, ...]]:
    """Yield everybody's progress, speed, checks, agreement and flags."""
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
            *(row.counted.get(name, "") for name in COUNTED),
            *gold,
            *repeat,
            *twin,
            *rest,
            row.counted.get("expired", ""),
            flags,
            row.last.isoformat() if row.last else "",
        )


def _arrivals(study: Study) -> Iterator[tuple[object, ...]]:
    """Yield how many slots were submitted each day, and how many there were then."""
    total = 0
    for at, n in times(_known(study).tallies.get("days", [])):
        total += n
        yield at.date().isoformat(), n, total


def _known(study: Study) -> snapshots.KnownFigures:
    return snapshots.known(study, totals(study, surplus=0).wanted)


def _alerts(study: Study) -> Iterator[tuple[object, ...]]:
    """Return what needs attention, the most important first."""
    return (
        (
            alert.kind,
            alert.level,
            alert.text,
            alert.todo,
            alert.since.isoformat() if alert.since else "",
            "; ".join(alert.notes),
        )
        for alert in dashboard.standing(study).alerts
    )


def _events(study: Study) -> Iterator[tuple[object, ...]]:
    rows = study.events.order_by("id").values_list(
        "id", "at", "kind", "annotator__name", "user__username", "slot__code", "details"
    )
    for pk, at, *told, details in rows.iterator(2000):
        yield pk, at.isoformat(), *told, json.dumps(details)


def _comments(study: Study) -> Iterator[tuple[object, ...]]:
    """Yield what annotators wrote about stories, and why they skipped some."""
    outputs = study.output_paths("slot__unit__", "__method")
    related = ("annotator", "slot__unit__story", *outputs)
    written = of_holder(StoryComment.objects.filter(slot__study=study))
    for row in written.select_related(*related).order_by("slot"):
        yield _said("comment", row, row.written_at, row.text)
    skips = Skip.objects.filter(slot__study=study).select_related(*related)
    for skip in skips.order_by("pk"):
        yield _said(f"skipped: {skip.reason}", skip, skip.created_at, skip.comment)


def _said(
    kind: str, said: StoryComment | Skip, at: datetime, text: str
) -> tuple[object, ...]:
    slot, unit = said.slot, said.slot.unit
    methods, name = " / ".join(unit.methods), said.annotator.name
    return kind, slot.code, unit.story.key, methods, name, at.isoformat(), text


# Of each table its header, and what yields its rows.
TABLES: dict[str, tuple[tuple[str, ...], Rows]] = {
    "cells": (
        (
            "methods",
            "story",
            "dimension",
            "submitted",
            "quality_adjusted",
            "leased",
            "wanted",
            "set_aside",
        ),
        _cells,
    ),
    "annotators": (
        (
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
        ),
        _annotators,
    ),
    "arrivals": (("day", "submitted", "total"), _arrivals),
    "alerts": (("kind", "level", "text", "to_do", "since", "notes"), _alerts),
    "comments": (
        ("kind", "slot", "story", "methods", "annotator", "at", "text"),
        _comments,
    ),
    "shot_comments": (shot_comments.HEADER, shot_comments.rows),
    "events": (
        ("event", "at", "kind", "annotator", "user", "slot", "details"),
        _events,
    ),
}
