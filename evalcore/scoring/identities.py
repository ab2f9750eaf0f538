"""Identities of stored rows: reading, storing, and choosing one of several."""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Avg, Count, Max, Q, QuerySet
from django.db.models.functions import Coalesce

from analysis.tables import UNVERSIONED
from evalcore.metrics import registry
from evalcore.metrics.identity import Identity, from_label
from evalcore.metrics.weights import weights_of
from evalcore.models import MetricRun, MetricScore, ScoreIdentity, most_letters

# The columns of a row that say which identity it has.
FIELDS = ("identity", "metric", "metric_version", "backend", "judge_version")
# Sort order of a table of identities.
ORDER = ("metric", "metric_version", "backend", "identity__key", "judge_version")
# What they contain. Rows without an identity come from programs of an earlier version.
IdentityCells = tuple[int | None, str, str, str, str]
LONGEST_LABEL = most_letters(MetricScore, "metric_version")
_TEXTS = (
    "metric",
    "metric_version",
    "profile",
    "backend",
    "weights",
    "precision",
    "judge",
    "settings",
)


def described(row: ScoreIdentity, judge_version: str = "") -> Identity:
    """Return what a stored identity says, with the name a judge answered under."""
    return Identity(
        **{name: getattr(row, name) for name in _TEXTS},
        judge_version=judge_version,
        weight_files=row.files.get("weights", {}),
        prompt_files=row.files.get("prompts", {}),
    )


class Identities:
    """Identities of rows by what their columns say, read in one query."""

    def __init__(self) -> None:
        self._asked: dict[int, Identity] | None = None
        self._known: dict[IdentityCells, Identity] = {}

    def of(self, cells: IdentityCells) -> Identity:
        """Return the identity that the cells of `FIELDS` name."""
        if cells not in self._known:
            key, metric, label, backend, answered = cells
            asked = from_label(metric, label, backend)
            if key is not None:
                if self._asked is None or key not in self._asked:
                    rows = ScoreIdentity.objects.all()
                    self._asked = {row.pk: described(row) for row in rows}
                asked = self._asked[key]
            self._known[cells] = replace(asked, judge_version=answered)
        return self._known[cells]

    def of_row(self, row: Any) -> Identity:
        """Return the identity of a stored value or absence."""
        return self.of(
            (
                row.identity_id,
                row.metric,
                row.metric_version,
                row.backend,
                row.judge_version,
            )
        )

    def computed_at(self, score: MetricScore) -> datetime | None:
        """Return when a value was computed; None for imports that do not say it."""
        if score.computed_at or score.run.source != MetricRun.Source.COMPUTED:
            return score.computed_at
        return score.run.finished_at


def words(identity: Identity) -> str:
    """Return what makes an identity in words, without the metric's name."""
    parts = [
        identity.metric_version,
        identity.profile,
        identity.backend if identity.backend != identity.judge else "",
        f"weights {identity.weights}" if identity.weights else "",
        identity.precision,
        identity.judge,
        identity.judge_version,
        identity.settings,
    ]
    if not knows_weights(identity):
        parts.insert(3, "unknown weights")
    return ", ".join(filter(None, parts)) or UNVERSIONED


def store(identity: Identity) -> int:
    """Store an identity as asked, and the hashes of its files; return its key."""
    asked = replace(identity, judge_version="")
    files = {
        name: found
        for name, found in (
            ("weights", dict(asked.weight_files)),
            ("prompts", dict(asked.prompt_files)),
        )
        if found
    }
    row, _is_new = ScoreIdentity.objects.get_or_create(
        key=asked.key,
        defaults={**{name: getattr(asked, name) for name in _TEXTS}, "files": files},
    )
    if files and not row.files:
        row.files = files
        row.save(update_fields=["files"])
    return row.pk


def columns_of(identity: Identity) -> dict[str, Any]:
    """Return the cells of a new row that name its metric and identity."""
    return {
        "metric": identity.metric,
        "metric_version": identity.label[:LONGEST_LABEL],
        "backend": identity.backend,
        "judge_version": identity.judge_version,
    }


def knows_weights(identity: Identity) -> bool:
    """Return whether the weights are known, or the metric has none."""
    if identity.weights or identity.metric not in registry.METRICS:
        return True
    return not weights_of(registry.load(identity.metric))


@dataclass(frozen=True)
class MetricIdentity:
    """An identity of a metric, and how much there is of it.

    `outputs` counts the outputs with a value, or the methods with one of their own;
    `newest` is when the last one was stored.
    """

    identity: Identity
    outputs: int
    newest: datetime


def by_metric(scores: QuerySet[MetricScore]) -> dict[str, list[MetricIdentity]]:
    """Return the identities of each metric, best first.

    The best is the newest of those that cover the most outputs; first answers come
    before repetitions. The scores belong to runs that have ended.
    """
    rows: QuerySet[Any] = scores.order_by().values_list(*FIELDS, "method")
    counts = rows.annotate(
        at=Max(Coalesce("computed_at", "run__finished_at")),
        stories=Count("story", distinct=True),
        whole=Count("pk", filter=Q(story=None)),
    )
    known = Identities()
    newest: dict[Identity, datetime] = {}
    outputs: Counter[Identity] = Counter()
    for a, b, c, d, e, _method, latest, stories, whole in counts:
        identity = known.of((a, b, c, d, e))
        newest[identity] = max(latest, newest.get(identity, latest))
        outputs[identity] += stories + bool(whole)
    found: dict[str, list[MetricIdentity]] = defaultdict(list)
    for identity, latest in newest.items():
        one = MetricIdentity(identity, outputs[identity], latest)
        found[identity.metric].append(one)
    for those in found.values():
        those.sort(key=lambda one: one.identity.key)
        those.sort(
            key=lambda one: (one.outputs, not one.identity.repeat, one.newest),
            reverse=True,
        )
    return found


def used_scores(
    scores: QuerySet[MetricScore],
) -> dict[Identity, dict[tuple[str, str], float]]:
    """Return the values of each metric's best identity, by story and method.

    Higher is better. Values of shots are averaged where the output has no own one, and
    what was posted to a study comes before what the benchmark has.
    """
    used = {those[0].identity for those in by_metric(scores).values()}
    rows: QuerySet[Any] = scores.order_by("posted_to").values_list(
        *FIELDS, "story__key", "method__name", "higher_is_better", "posted_to"
    )
    means = rows.annotate(
        whole=Avg("value", filter=Q(shot__isnull=True)), shots=Avg("value")
    )
    known = Identities()
    values: dict[Identity, dict[tuple[str, str], float]] = {one: {} for one in used}
    higher: dict[Identity, bool] = {}
    for a, b, c, d, e, story, method, is_higher, _posted, whole, shots in means:
        identity = known.of((a, b, c, d, e))
        if identity in used:
            values[identity][story, method] = shots if whole is None else whole
            higher[identity] = is_higher
    for identity, own in values.items():
        if not higher[identity]:
            values[identity] = {place: -value for place, value in own.items()}
    return values
