"""Stored statistics of a study that are slow to compute."""

import logging
import math
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from celery import current_app
from django.core.cache import cache
from django.utils import timezone
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError

from annotate.coverage import forecast
from annotate.coverage.slot_counts import tallies
from annotate.kinds.base import Kind
from annotate.kinds.registry import counted, counted_answers, kind_of, kinds_of
from annotate.models import Question, Snapshot, Study
from annotate.quality.monitoring import signals_of
from annotate.quality_rules.judged import Signal

if TYPE_CHECKING:
    from analysis.reliability.matrices import Reliability


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Topic:
    """A question, or all boxes of one category of a checklist."""

    key: str
    questions: tuple[Question, ...]

    @property
    def kind(self) -> Kind:
        return kind_of(self.questions[0])

    @property
    def is_of_shots(self) -> bool:
        """Return whether it is asked of every shot."""
        return self.kind.of_shots

    @property
    def title(self) -> str:
        """Return its title in the reader's language."""
        first = self.questions[0]
        if "|" not in self.key:
            return first.title
        return first.category or _("Labels")


def topics(study: Study) -> list[Topic]:
    """Return the topics whose agreement is shown; boxes are grouped by category."""
    single: list[Topic] = []
    by_category: dict[str, list[Question]] = {}
    for question in counted(study.asked):
        if kind_of(question).of_shots:
            name = question.categories.get("en") or question.category
            by_category.setdefault(f"{name}|", []).append(question)
        else:
            single.append(Topic(question.key, (question,)))
    return single + [Topic(key, tuple(boxes)) for key, boxes in by_category.items()]


RESAMPLES, CONFIDENCE, SEED = 400, 0.95, 1
REQUEST_SECONDS = 15  # between two requests to refresh the same study
SMALL = 20_000  # studies with at most so many slots are counted in the request
CHECKS = ("gold", "repeat", "twin")


@dataclass(frozen=True)
class Figures:
    """Counts and statistics of a study, and the time and event of the latter."""

    tallies: dict[str, Any]
    alphas: dict[str, Any]
    signals: dict[str, Any]
    at: datetime | None
    event: int
    counted_live: bool


def current_figures(
    study: Study, wanted: int, now: datetime | None = None, *, stored_only: bool = False
) -> Figures:
    """Return the latest figures; ask the worker for new ones if they are stale.

    Small studies are counted now, unless `stored_only`.
    """
    if is_stale(study):
        request_refresh(study)
    row = Snapshot.objects.filter(study=study).first()
    live = wanted <= SMALL and not stored_only
    stored = row.data if row else {}
    counted = tallies(study, now) if live else stored.get("tallies", {})
    return Figures(
        counted,
        stored.get("alphas", {}),
        stored.get("signals", {}),
        row.at if row else None,
        row.event if row else 0,
        live,
    )


def request_refresh(study: Study) -> None:
    """Ask the worker to refresh a study now; it refreshes every minute anyway."""
    if not cache.add(f"snapshot-asked-{study.pk}", 1, REQUEST_SECONDS):
        return
    try:
        current_app.send_task("annotate.tasks.refresh_snapshot", [study.pk])
    except (OperationalError, OSError):
        logger.warning(
            "broker unavailable; the figures of %s are not refreshed yet", study.slug
        )


def versions(study: Study) -> tuple[int, int]:
    """Return the ids of the latest event and of the snapshot's event."""
    latest = study.events.order_by("-id").values_list("id", flat=True).first() or 0
    taken = Snapshot.objects.filter(study=study).values_list("event", flat=True).first()
    return latest, -1 if taken is None else taken


def stale_studies() -> list[int]:
    """Return the ids of studies with events after their snapshot."""
    launched = Study.objects.exclude(state=Study.State.DRAFT).order_by("pk")
    return [study.pk for study in launched if is_stale(study)]


def is_stale(study: Study) -> bool:
    latest, taken = versions(study)
    return taken < latest


def refresh(study: Study, now: datetime | None = None) -> Snapshot:
    """Compute and store the snapshot of a study."""
    from annotate.coverage.goal_evidence import measure_goals

    began = time.monotonic()
    event, _taken = versions(study)
    before = Snapshot.objects.filter(study=study).first()
    data = {
        "tallies": tallies(study, now),
        "alphas": alphas(study),
        "enough": measure_goals(study),
        "signals": _signals(study, before.data.get("signals", {}) if before else {}),
    }
    row, _created = Snapshot.objects.update_or_create(
        study=study,
        defaults={
            "event": event,
            "at": now or timezone.now(),
            "seconds": time.monotonic() - began,
            "data": data,
        },
    )
    return row


def alphas(study: Study) -> dict[str, Any]:
    """Return alpha of every topic, or the reason why it is undefined."""
    return {topic.key: _alpha(study, topic) for topic in topics(study)}


def _matrix(study: Study, topic: Topic) -> "tuple[Reliability, int] | None":
    """Return the submitted answers of a topic as a matrix, with its number of parts."""
    from analysis.reliability.matrices import Reliability

    place = ["slot__unit", "slot__round"]
    if topic.is_of_shots:
        place += ["shot", "question"]
    answers = counted_answers(*topic.questions)
    rows = list(answers.values_list(*place, "annotator", "value"))
    if not rows:
        return None
    judgements = [
        (*where, part, who, topic.kind.agreement_value(judgement))
        for *where, who, value in rows
        for part, judgement in enumerate(topic.kind.judgements("", value).values())
    ]
    values, codes = np.unique([row[-1] for row in judgements], return_inverse=True)
    table = np.array([row[:-1] for row in judgements])
    units, places = np.unique(table[:, :-1], axis=0, return_inverse=True)
    people, who = np.unique(table[:, -1], return_inverse=True)
    data = Reliability(
        values,
        places.ravel(),
        who,
        codes,
        len(units),
        tuple(map(str, people)),
        {"units": np.unique(units[:, 0], return_inverse=True)[1].reshape(-1, 1)},
    )
    return data, int(table[:, -2].max()) + 1


def _alpha(study: Study, topic: Topic) -> dict[str, Any]:
    """Return alpha and the reliability of means, or why they are undefined."""
    from analysis.reliability.agreement import agreement as statistics

    matrix = _matrix(study, topic)
    if matrix is None:
        return {"reason": "none"}
    data, parts = matrix
    name = "alpha_nominal" if topic.kind.is_nominal else "alpha_ordinal"
    (result,) = statistics(
        data,
        (name,),
        parts=("units",),
        resamples=RESAMPLES,
        confidence=CONFIDENCE,
        seed=SEED,
        question=topic.key,
    )
    estimate = result.estimate
    row: dict[str, Any] = {
        "n_units": estimate.n // parts,
        "n_answers": (result.n_answers or 0) // parts,
        "mean_k": round(float(data.per_unit.mean()), 2),
    }
    if not math.isfinite(estimate.value):
        return row | {"reason": "undefined"}
    row["alpha"] = round(estimate.value, 4)
    if math.isfinite(estimate.low) and math.isfinite(estimate.high):
        row |= {"low": round(estimate.low, 4), "high": round(estimate.high, 4)}
    if not study.is_side_by_side:
        row["reliability"] = forecast.spearman_brown(estimate.value, row["mean_k"])
    return row


def _signals(study: Study, before: dict[str, Any]) -> dict[str, Any]:
    """Return the agreement and checks of each annotator."""
    name = kinds_of(study)[0].compares
    done = Counter(
        study.slots.filter(submitted_at__isnull=False)
        .order_by()
        .values_list("annotator", flat=True)
    )
    total = done.total()
    by_annotator = {}
    for annotator in study.annotators.filter(pk__in=done).select_related("study"):
        old = before.get(str(annotator.pk))
        if old and old["own"] == done[annotator.pk] and total < 1.1 * old["all"]:
            by_annotator[str(annotator.pk)] = old
            continue
        signals = signals_of(annotator)
        by_annotator[str(annotator.pk)] = {
            "own": done[annotator.pk],
            "all": total,
            "rest": _value_and_n(signals, name),
            "checks": {
                check: row
                for check in CHECKS
                if (row := _value_and_n(signals, check))[1]
            },
        }
    return by_annotator


def _value_and_n(signals: Mapping[str, Signal], name: str) -> list[Any]:
    """Return a signal of whole units, or that of ticks if it has no observations."""
    ticks = signals.get(f"ticks_{name}")
    signal = ticks if ticks and not signals[name].n else signals[name]
    return [None if signal.value is None else round(signal.value, 3), signal.n]
