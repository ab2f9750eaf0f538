"""Precision of a study's answers, which the worker computes for the snapshot."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db.models import Avg, F, Sum

from annotate.kinds.registry import counted, kind_of
from annotate.models import Annotator, Purpose, Question, Slot, Study
from annotate.studies.goals import CONFIDENCE
from annotate.studies.parts import goals_of
from evalcore.models import MetricScore
from evalcore.scoring.identities import FIELDS, Identities, by_metric

if TYPE_CHECKING:
    from analysis.inference.confidence_sequences import Contributions, Evidence

ALPHA = 1 - CONFIDENCE
# Intervals without a goal are tightest at differences of this share of the scale.
TIGHTEST = 0.05
# A correlation needs so many complete items.
LEAST_ITEMS = 20
# Scores by metric and unit.
Scores = dict[str, dict[int, float]]


def measure_goals(study: Study) -> list[dict[str, Any]]:
    """Return what is known of each question and goal, for the snapshot."""
    scores = _scores(study) if study.goals.get("correlation") else {}
    measured = []
    for question in counted(study.asked):
        goals = goals_of(kind_of(question))
        asked = {goal: study.goals[goal] for goal in goals if study.goals.get(goal)}
        if not asked:
            continue
        answers = GoalAnswers(study, question, scores)
        for goal, size in asked.items():
            found = _measure(answers, goal, size)
            measured.append(
                {"question": question.key, "goal": goal, "size": size, **found}
            )
    return measured


class GoalAnswers:
    """The answers to a question, one row for each output that they are about."""

    def __init__(self, study: Study, question: Question, scores: Scores) -> None:
        self.scores = scores
        self.study, self.question, self.kind = study, question, kind_of(question)
        paths = study.output_paths("slot__unit__", "__method__name")
        rows = list(
            self.kind.model.objects.filter(
                question=question,
                is_current=True,
                annotator=F("slot__annotator"),
                slot__state=Slot.State.SUBMITTED,
                slot__ordinal__isnull=False,
                slot__purpose=Purpose.REAL,
            )
            .order_by()
            .values_list(
                "slot__unit",
                "slot__unit__story",
                "annotator",
                "value",
                "slot__unit__redundancy",
                *paths,
            )
        )
        self.n = len(rows)
        sides = [
            (unit, story, who, wanted, method, self._value(value, place))
            for unit, story, who, value, wanted, *methods in rows
            for place, method in enumerate(methods)
            if method is not None
        ]
        columns = list(zip(*sides, strict=True)) or [()] * 6
        self.unit_ids, self.unit = _coded(columns[0])
        self.story_ids, self.story = _coded(columns[1])
        self.people_ids, self.person = _coded(columns[2])
        self.methods, self.method = _coded(columns[4])
        self.wanted = np.array(columns[3], int) * study.rounds
        self.value = np.array(columns[5], float)

    def _value(self, value: Any, place: int) -> float:
        return float(value) if self.kind.is_numeric else self.kind.worth(value, place)

    @property
    def ends(self) -> tuple[float, float]:
        if not self.kind.is_numeric:
            return 0.0, 1.0
        return float(self.question.scale_min or 0), float(self.question.scale_max or 0)

    @property
    def these_people(self) -> int:
        """Return how many people a study has, if too few to stand for others."""
        from analysis.inference.confidence_sequences import LEAST_PEOPLE

        if self.study.is_open:
            return 0
        n = self.study.annotators.exclude(state=Annotator.State.REVOKED).count()
        return n if n < LEAST_PEOPLE else 0

    def of_methods(self) -> "Contributions":
        """Return the mean of each method, or its win rate."""
        from analysis.inference.confidence_sequences import mean_contributions

        return mean_contributions(
            self.value,
            self.method,
            len(self.methods),
            *self.clusters(np.ones(len(self.value), bool)),
            self.ends,
            cells=self.unit,
        )

    def clusters(self, kept: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        """Return the stories and, unless only these people count, the people."""
        people = (self.person[kept], len(self.people_ids))
        stories = (self.story[kept], len(self.story_ids))
        return stories, None if self.these_people else people

    def of_metrics(self) -> Iterator[tuple[str, int, "Contributions | None"]]:
        """Yield each metric, its complete items, and its correlation if defined."""
        from analysis.inference.confidence_sequences import correlation_contributions

        complete = np.bincount(self.unit)[self.unit] >= self.wanted
        for metric, scores in self.scores.items():
            score = np.array([scores.get(unit, np.nan) for unit in self.unit_ids])
            kept = complete & np.isfinite(score[self.unit])
            cells, cell = np.unique(self.unit[kept], return_inverse=True)
            if len(cells) < LEAST_ITEMS:
                yield metric, len(cells), None
                continue
            human = np.bincount(cell, self.value[kept]) / np.bincount(cell)
            yield (
                metric,
                len(cells),
                correlation_contributions(
                    human,
                    score[cells],
                    cell,
                    self.value[kept],
                    *self.clusters(kept),
                ),
            )


def _coded(values: Sequence[Any]) -> tuple[list[Any], np.ndarray[Any, Any]]:
    names, codes = np.unique(np.array(values), return_inverse=True)
    return names.tolist(), codes.ravel()


def _scores(study: Study) -> Scores:
    """Return the scores of each metric by unit, averaged over shots.

    Of a metric with several identities, the one that reports use counts.
    """
    of_output = {
        (story, method): unit
        for unit, story, method in study.units.filter(purpose=Purpose.REAL).values_list(
            "pk", "story", "output_a__method"
        )
    }
    found = MetricScore.everything.filter(
        benchmark=study.benchmark_id,
        story__isnull=False,
        posted_to__in=("", study.slug),
        run__finished_at__isnull=False,
    )
    rows = (
        found.order_by("posted_to")
        .values_list("posted_to", *FIELDS, "story", "method")
        .annotate(mean=Avg("value"))
    )
    scores: Scores = {}
    identities = Identities()
    used = {m: those[0].identity for m, those in by_metric(found).items()}
    for _posted, a, b, c, d, e, story, method, mean in rows:
        identity = identities.of((a, b, c, d, e))
        if used.get(identity.metric) != identity:
            continue
        name = " ".join(filter(None, (identity.metric, identity.label, d)))
        if (unit := of_output.get((story, method))) is not None:
            scores.setdefault(name, {})[unit] = mean  # those of the study come last
    return scores


def _unknown(reason: str, **numbers: int) -> dict[str, Any]:
    return {"state": "unknown", "reason": reason, "numbers": numbers}


def _measure(answers: GoalAnswers, goal: str, size: float) -> dict[str, Any]:
    """Return what is known of a goal, or why nothing is."""
    from analysis.inference.confidence_sequences import LEAST_PEOPLE, LEAST_STORIES

    if not answers.n:
        return _unknown("none")
    if answers.study.adaptive and not answers.kind.is_numeric:
        return _unknown("adaptive")
    these, people = answers.these_people, len(answers.people_ids)
    if not these and people < LEAST_PEOPLE:
        return _unknown("people", least=LEAST_PEOPLE, n=people)
    if goal == "correlation":
        found = _correlation(answers, size)
    else:
        rated = answers.of_methods()
        fewest = int(rated.n_stories.min())
        if fewest < LEAST_STORIES or len(answers.methods) < len(
            answers.study.method_names
        ):
            n = fewest if len(answers.methods) == len(answers.study.method_names) else 0
            return _unknown("stories", least=LEAST_STORIES, n=n)
        measure = _top if goal == "top" else _means
        found = measure(answers, rated, size)
    return found | {"these_people": these}


def _means(answers: GoalAnswers, rated: "Contributions", size: float) -> dict[str, Any]:
    from analysis.inference import confidence_sequences as sequences

    known = rated.evidence()
    alpha = ALPHA / len(known.value)
    halves = sequences.goal_half_widths(known.errors, size, alpha)
    wanted = sequences.goal_variances(known.errors, size, alpha)
    worst = int(np.argmax(halves))
    return {
        "half": float(halves[worst]),
        "state": "stop" if halves[worst] <= size * (1 + 1e-9) else "not_yet",
        "names": {"method": answers.methods[worst]},
        **_needed(answers, known, wanted, answers.n),
    }


def _top(answers: GoalAnswers, rated: "Contributions", size: float) -> dict[str, Any]:
    from analysis.inference import confidence_sequences as sequences

    pairs = sequences.top_pairs(rated.value, int(size))
    if not pairs:
        return _unknown("none")
    weights = np.zeros((len(pairs), len(answers.methods)))
    for row, (better, other) in enumerate(pairs):
        weights[row, better], weights[row, other] = 1, -1
    known = rated.evidence(weights)
    low, high = answers.ends
    halves = sequences.mixture_half_widths(
        known.errors, TIGHTEST * (high - low), ALPHA / len(pairs)
    )
    gaps = np.maximum(known.value, 1e-9)
    worst = int(np.argmax(halves / gaps))
    wanted = known.errors.variance * (gaps / halves) ** 2
    better, other = pairs[worst]
    best = sorted({answers.methods[i] for i, _other in pairs})
    return {
        "half": float(halves[worst]),
        "gap": float(known.value[worst]),
        "state": "stop" if (halves < gaps).all() else "not_yet",
        "names": {
            "method": answers.methods[better],
            "other": answers.methods[other],
            "best": ", ".join(best),
        },
        **_needed(answers, known, wanted, answers.n),
    }


def _correlation(answers: GoalAnswers, size: float) -> dict[str, Any]:
    from analysis.inference import confidence_sequences as sequences

    metrics = list(answers.of_metrics())
    if not metrics:
        return _unknown("scores")
    half, worst = 0.0, {}
    for metric, n, correlated in metrics:
        if correlated is None:
            return _unknown("items", least=LEAST_ITEMS, n=n)
        if not np.isfinite(correlated.value).all():
            return _unknown("constant")
        stories = int(correlated.n_stories[0])
        if stories < sequences.LEAST_STORIES:
            return _unknown("stories", least=sequences.LEAST_STORIES, n=stories)
        known, alpha = correlated.evidence(), ALPHA / len(metrics)
        (own,) = sequences.goal_half_widths(known.errors, size, alpha)
        if own <= half:
            continue
        half = float(own)
        wanted = sequences.goal_variances(known.errors, size, alpha)
        used = len(correlated.stories[0])
        worst = {"names": {"metric": metric}} | _needed(answers, known, wanted, used)
    state = "stop" if half <= size * (1 + 1e-9) else "not_yet"
    return {"half": half, "state": state, **worst}


def _needed(
    answers: GoalAnswers,
    known: "Evidence",
    wanted: np.ndarray[Any, Any],
    n: int,
) -> dict[str, Any]:
    """Return how much more is needed, and how many ratings the plan has left."""
    from analysis.inference.confidence_sequences import needed

    study = answers.study
    units = study.units.filter(purpose=Purpose.REAL).order_by()
    stories = units.values("story").distinct().count()
    more = needed(
        known,
        wanted,
        answers=n,
        stories=(len(answers.story_ids), stories),
        people=len(answers.people_ids),
    )
    slots = (units.aggregate(n=Sum("redundancy"))["n"] or 0) * study.rounds
    return {
        "answers": more.answers,
        "stories": more.stories,
        "people": more.people,
        "left": max(slots - answers.n, 0),
    }
