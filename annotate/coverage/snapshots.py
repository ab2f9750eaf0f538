"""What takes long to compute about a study, kept with the event it stands at."""

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
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError

from annotate.coverage import forecast
from annotate.coverage.slot_counts import tallies
from annotate.kinds.base import Kind
from annotate.kinds.registry import counted, kind_of, kinds_of
from annotate.models import Purpose, Question, Slot, Snapshot, Study
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
        """Say whether it is asked of every shot by itself."""
        return self.kind.of_shots

    @property
    def title(self) -> str:
        """Return what it is called, in the reader's language."""
        first = self.questions[0]
        if "|" not in self.key:
            return first.title
        return first.category or _("Labels")


def topics(study: Study) -> list[Topic]:
    """Return what agreement is told of; a checklist has too many boxes for one each."""
    found: list[Topic] = []
    by_category: dict[str, list[Question]] = {}
    for question in counted(study.asked):
        if kind_of(question).of_shots:
            name = question.categories.get("en") or question.category
            by_category.setdefault(f"{name}|", []).append(question)
        else:
            found.append(Topic(question.key, (question,)))
    return found + [Topic(key, tuple(boxes)) for key, boxes in by_category.items()]


RESAMPLES, CONFIDENCE, SEED = 400, 0.95, 1
BELL_SECONDS = 15  # between two rings for the same study
SMALL = 20_000  # slots that are counted while one waits
CHECKS = ("gold", "repeat", "twin")


@dataclass(frozen=True)
class KnownFigures:
    """What is known of a study: counts, statistics, and when they were taken."""

    tallies: dict[str, Any]
    alphas: dict[str, Any]
    signals: dict[str, Any]
    at: datetime | None
    event: int
    counted_live: bool


def known(study: Study, wanted: int, now: datetime | None = None) -> KnownFigures:
    """Return what is known now; ring the worker's bell when that is behind."""
    if is_behind(study):
        ring(study)
    row = Snapshot.objects.filter(study=study).first()
    live = wanted <= SMALL
    stored = row.data if row else {}
    counted = tallies(study, now) if live else stored.get("tallies", {})
    return KnownFigures(
        counted,
        stored.get("alphas", {}),
        stored.get("signals", {}),
        row.at if row else None,
        row.event if row else 0,
        live,
    )


def ring(study: Study) -> None:
    """Ask the worker to refresh a study soon; it looks every minute anyway."""
    if not cache.add(f"snapshot-asked-{study.pk}", 1, BELL_SECONDS):
        return
    try:
        current_app.send_task("annotate.tasks.refresh_snapshot", [study.pk])
    except (OperationalError, OSError):
        logger.warning("the broker is away; the figures of %s wait", study.slug)


def versions(study: Study) -> tuple[int, int]:
    """Return the ids of the latest event and of the one the snapshot stands at."""
    latest = study.events.order_by("-id").values_list("id", flat=True).first() or 0
    taken = Snapshot.objects.filter(study=study).values_list("event", flat=True).first()
    return latest, -1 if taken is None else taken


def behind() -> list[int]:
    """Return the studies whose log has moved on since their snapshot."""
    launched = Study.objects.exclude(state=Study.State.DRAFT).order_by("pk")
    return [study.pk for study in launched if is_behind(study)]


def is_behind(study: Study) -> bool:
    latest, taken = versions(study)
    return taken < latest


def refresh(study: Study, now: datetime | None = None) -> Snapshot:
    """Compute everything anew and store it with the event it stands at."""
    began = time.monotonic()
    event, _taken = versions(study)
    before = Snapshot.objects.filter(study=study).first()
    data = {
        "tallies": tallies(study, now),
        "alphas": alphas(study),
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
    """Return alpha of every topic, or why there is none."""
    return {topic.key: _alpha(study, topic) for topic in topics(study)}


def _laid_out(study: Study, topic: Topic) -> "tuple[Reliability, int] | None":
    """Lay out the submitted answers of one topic within the redundancy."""
    from analysis.reliability.matrices import Reliability

    place = ["slot__unit", "slot__round"]
    if topic.is_of_shots:
        place += ["shot", "question"]
    rows = list(
        topic.kind.model.objects.filter(
            Q(slot__state=Slot.State.SUBMITTED, slot__ordinal__isnull=False),
            question__in=topic.questions,
            is_current=True,
            annotator=F("slot__annotator"),
            slot__purpose=Purpose.REAL,
        )
        .order_by()
        .values_list(*place, "annotator", "value")
    )
    if not rows:
        return None
    judged = [
        (*where, part, who, topic.kind.agreement_value(judgement))
        for *where, who, value in rows
        for part, judgement in enumerate(topic.kind.judgements("", value).values())
    ]
    values, codes = np.unique([row[-1] for row in judged], return_inverse=True)
    table = np.array([row[:-1] for row in judged])
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
    """Return alpha now and the reliability of means, or why there is none."""
    from analysis.reliability.agreement import agreement as statistics

    laid_out = _laid_out(study, topic)
    if laid_out is None:
        return {"reason": "none"}
    data, parts = laid_out
    name = "alpha_nominal" if topic.kind.is_nominal else "alpha_ordinal"
    (found,) = statistics(
        data,
        (name,),
        parts=("units",),
        resamples=RESAMPLES,
        confidence=CONFIDENCE,
        seed=SEED,
        question=topic.key,
    )
    estimate = found.estimate
    result: dict[str, Any] = {
        "n_units": estimate.n // parts,
        "n_answers": (found.n_answers or 0) // parts,
        "mean_k": round(float(data.per_unit.mean()), 2),
    }
    if not math.isfinite(estimate.value):
        return result | {"reason": "undefined"}
    result["alpha"] = round(estimate.value, 4)
    if math.isfinite(estimate.low) and math.isfinite(estimate.high):
        result |= {"low": round(estimate.low, 4), "high": round(estimate.high, 4)}
    if not study.is_side_by_side:
        result["reliability"] = forecast.spearman_brown(
            estimate.value, result["mean_k"]
        )
    return result


def _signals(study: Study, before: dict[str, Any]) -> dict[str, Any]:
    """Return what each annotator's answers say, as `quality.monitoring` measures it."""
    name = kinds_of(study)[0].compares
    done = Counter(
        study.slots.filter(submitted_at__isnull=False)
        .order_by()
        .values_list("annotator", flat=True)
    )
    total = done.total()
    found = {}
    for annotator in study.annotators.filter(pk__in=done).select_related("study"):
        old = before.get(str(annotator.pk))
        if old and old["own"] == done[annotator.pk] and total < 1.1 * old["all"]:
            found[str(annotator.pk)] = old
            continue
        signals = signals_of(annotator)
        found[str(annotator.pk)] = {
            "own": done[annotator.pk],
            "all": total,
            "rest": _told(signals, name),
            "checks": {
                check: told for check in CHECKS if (told := _told(signals, check))[1]
            },
        }
    return found


def _told(signals: Mapping[str, Signal], name: str) -> list[Any]:
    """Return what answers to whole units say, or ticks where those say nothing."""
    ticks = signals.get(f"ticks_{name}")
    signal = ticks if ticks and not signals[name].n else signals[name]
    return [None if signal.value is None else round(signal.value, 3), signal.n]
