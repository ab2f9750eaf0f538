"""Tables of the dashboard as downloads: a header and a stream of rows."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime

from annotate.coverage import dashboard, snapshots
from annotate.coverage.completion import times
from annotate.coverage.counts import UnitCount, of_question, totals, units
from annotate.kinds.registry import counted, kind_of
from annotate.models import Event, Skip, StoryComment, Study
from annotate.payment.table import people_rows
from annotate.presentation import shot_comments
from annotate.responses.writing import of_holder

Rows = Callable[[Study], Iterator[tuple[object, ...]]]
# Columns of an annotator that are counted slot by slot.
COUNTED = ("submitted", "planned", "surplus", "session", "sessions", "seconds")


def _cells(study: Study) -> Iterator[tuple[object, ...]]:
    """Yield the numbers submitted and wanted of every unit and question."""
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
    """Yield the units of each question; a checklist counts as one question."""
    counts = units(study)
    questions = counted(study.questions.all())
    if any(kind_of(question).of_shots for question in questions):
        yield "", counts
    for question in questions:
        if not kind_of(question).of_shots:
            yield question.key, of_question(counts, study, question)


def _annotators(study: Study) -> Iterator[tuple[object, ...]]:
    """Yield each annotator's progress, speed, checks, agreement and flags."""
    counts = _figures(study).tallies.get("people", {})
    for row in people_rows(study):
        counted_slots = counts.get(str(row.annotator.pk), {})
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
            *(counted_slots.get(name, "") for name in COUNTED),
            *gold,
            *repeat,
            *twin,
            *rest,
            counted_slots.get("expired", ""),
            flags,
            row.last.isoformat() if row.last else "",
        )


def _arrivals(study: Study) -> Iterator[tuple[object, ...]]:
    """Yield the number of slots submitted each day, and the total so far."""
    total = 0
    for at, n in times(_figures(study).tallies.get("days", [])):
        total += n
        yield at.date().isoformat(), n, total


def _figures(study: Study) -> snapshots.Figures:
    return snapshots.current_figures(study, totals(study).wanted)


def _alerts(study: Study) -> Iterator[tuple[object, ...]]:
    """Return the alerts, the most important first."""
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
    # Researchers read this table, and pay is for managers only.
    events = study.events.exclude(kind=Event.Kind.PAYMENT_DECIDED)
    rows = events.order_by("id").values_list(
        "id", "at", "kind", "annotator__name", "user__username", "slot__code", "details"
    )
    for pk, at, *columns, details in rows.iterator(2000):
        yield pk, at.isoformat(), *columns, json.dumps(details)


def _comments(study: Study) -> Iterator[tuple[object, ...]]:
    """Yield comments on stories, and reasons for skipping stories."""
    outputs = study.output_paths("slot__unit__", "__method")
    related = ("annotator", "slot__unit__story", *outputs)
    written = of_holder(StoryComment.objects.filter(slot__study=study))
    for row in written.select_related(*related).order_by("slot"):
        yield _comment_row("comment", row, row.written_at, row.text)
    skips = Skip.objects.filter(slot__study=study).select_related(*related)
    for skip in skips.order_by("pk"):
        yield _comment_row(
            f"skipped: {skip.reason}", skip, skip.created_at, skip.comment
        )


def _comment_row(
    kind: str, comment: StoryComment | Skip, at: datetime, text: str
) -> tuple[object, ...]:
    slot, unit = comment.slot, comment.slot.unit
    methods, name = " / ".join(unit.methods), comment.annotator.name
    return kind, slot.code, unit.story.key, methods, name, at.isoformat(), text


# The header of each table, and the function that yields its rows.
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
