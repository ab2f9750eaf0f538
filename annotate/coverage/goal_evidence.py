"""Precision of a study's answers, which the worker computes for the snapshot."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from django.db.models import Sum

from analysis.inference import confidence_sequences as sequences
from analysis.inference.confidence_sequences import Contributions, Evidence
from analysis.pairwise.accuracy_contributions import accuracy_contributions
from annotate.kinds.registry import counted, counted_answers, kind_of
from annotate.models import Annotator, Purpose, Question, Study
from annotate.studies.goals import CHANCE, CONFIDENCE
from annotate.studies.parts import goals_of
from evalcore.metrics.identity import Identity
from evalcore.models import MetricScore
from evalcore.scoring.identities import used_scores

ALPHA = 1 - CONFIDENCE
# Intervals without a goal are tightest at differences of this share of the scale.
TIGHTEST = 0.05
# That of an accuracy is tightest this far from chance.
APART = 0.1
# A correlation needs so many complete items.
LEAST_ITEMS = 20
# Scores by story and method; higher is better.
Scores = dict[Identity, dict[tuple[str, str], float]]


def measure_goals(study: Study) -> list[dict[str, Any]]:
    """Return what is known of each question and goal, for the snapshot.

    A declared metric with scores has a goal of its own, to be apart from chance.
    """
    questions = [one for one in counted(study.asked) if goals_of(kind_of(one))]
    declared = {one.metric for one in questions if one.metric}
    scores: Scores = {}
    if declared or study.goals.get("correlation"):
        rows = MetricScore.everything.filter(
            benchmark=study.benchmark_id,
            story__in=study.units.filter(purpose=Purpose.REAL).values("story"),
            method__name__in=study.method_names,
            run__finished_at__isnull=False,
            posted_to__in=("", study.slug),
        )
        if not study.goals.get("correlation"):
            rows = rows.filter(metric__in=declared)
        scores = used_scores(rows)
    scored = declared & {identity.metric for identity in scores}
    n_tests = sum(one.metric in scored for one in questions)
    measured = []
    for question in questions:
        goals = goals_of(kind_of(question))
        asked = {goal: study.goals[goal] for goal in goals if study.goals.get(goal)}
        if question.metric in scored:
            asked["accuracy"] = CHANCE
        if not asked:
            continue
        answers = GoalAnswers(study, question, scores, n_tests)
        for goal, size in asked.items():
            about = {"question": question.key, "metric": question.metric}
            about |= {"goal": goal, "size": size}
            measured.append(about | _measure(answers, goal, size))
    return measured


class GoalAnswers:
    """The answers to a question, one row for each output that they are about."""

    def __init__(
        self, study: Study, question: Question, scores: Scores, n_tests: int
    ) -> None:
        self.scores, self.n_tests = scores, n_tests
        self.study, self.question, self.kind = study, question, kind_of(question)
        paths = study.output_paths("slot__unit__", "__method__name")
        rows = list(
            counted_answers(question).values_list(
                "slot__unit",
                "slot__unit__story__key",
                "annotator",
                "value",
                "slot__unit__redundancy",
                *paths,
            )
        )
        self.n = len(rows)
        sides = [
            (unit, story, who, wanted, method, self._value(value, place), answer)
            for answer, (unit, story, who, value, wanted, *methods) in enumerate(rows)
            for place, method in enumerate(methods)
            if method is not None
        ]
        columns = list(zip(*sides, strict=True)) or [()] * 7
        self.unit = _coded(columns[0])[1]
        self.stories, self.story = _coded(columns[1])
        self.people, self.person = _coded(columns[2])
        self.methods, self.method = _coded(columns[4])
        self.wanted = np.array(columns[3], int) * study.rounds
        self.value = np.array(columns[5], float)
        self.answer = np.array(columns[6], int)

    def _value(self, value: Any, place: int) -> float:
        return float(value) if self.kind.is_numeric else self.kind.worth(value, place)

    @property
    def ends(self) -> tuple[float, float]:
        if not self.kind.is_numeric:
            return 0.0, 1.0
        return float(self.question.scale_min or 0), float(self.question.scale_max or 0)

    @cached_property
    def plan(self) -> tuple[int, int]:
        """Return how many stories and ratings are planned."""
        units = self.study.units.filter(purpose=Purpose.REAL).order_by()
        wanted = units.aggregate(n=Sum("redundancy"))["n"] or 0
        return units.values("story").distinct().count(), wanted * self.study.rounds

    @cached_property
    def these_people(self) -> int:
        """Return how many people a study has, if too few to stand for others."""
        if self.study.is_open:
            return 0
        n = self.study.annotators.exclude(state=Annotator.State.REVOKED).count()
        return n if n < sequences.LEAST_PEOPLE else 0

    def of_methods(self) -> Contributions:
        """Return the mean of each method, or its win rate."""
        return sequences.mean_contributions(
            self.value,
            self.method,
            len(self.methods),
            *self.clusters(np.ones(len(self.value), bool)),
            self.ends,
            cells=self.unit,
        )

    def clusters(self, kept: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        """Return the stories and, unless only these people count, the people."""
        people = (self.person[kept], len(self.people))
        stories = (self.story[kept], len(self.stories))
        return stories, None if self.these_people else people

    def table(self, scores: dict[tuple[str, str], float]) -> np.ndarray[Any, Any]:
        """Return scores by story and method."""
        rows = [
            [scores.get((story, method), np.nan) for method in self.methods]
            for story in self.stories
        ]
        return np.array(rows, float)


def _coded(values: Sequence[Any]) -> tuple[list[Any], np.ndarray[Any, Any]]:
    names, codes = np.unique(np.array(values), return_inverse=True)
    return names.tolist(), codes.ravel()


def _unknown(reason: str, **numbers: int) -> dict[str, Any]:
    return {"state": "unknown", "reason": reason, "numbers": numbers}


def _measure(answers: GoalAnswers, goal: str, size: float) -> dict[str, Any]:
    """Return what is known of a goal, or why nothing is."""
    if not answers.n:
        return _unknown("none")
    if answers.study.adaptive and not answers.kind.is_numeric:
        return _unknown("adaptive")
    these, people = answers.these_people, len(answers.people)
    if not these and people < sequences.LEAST_PEOPLE:
        return _unknown("people", least=sequences.LEAST_PEOPLE, n=people)
    if goal == "correlation":
        found = _correlation(answers, size)
    elif goal == "accuracy":
        found = _accuracy(answers)
    else:
        rated = answers.of_methods()
        if len(answers.methods) < len(answers.study.method_names):
            return _missing_stories(answers, 0)
        if few := _few_stories(answers, rated):
            return few
        measure = _top if goal == "top" else _means
        found = measure(answers, rated, size)
    return found | {"these_people": these}


def _means(answers: GoalAnswers, rated: Contributions, size: float) -> dict[str, Any]:
    known = rated.evidence()
    alpha = ALPHA / len(known.value)
    halves = sequences.goal_half_widths(known.errors, size, alpha)
    wanted = sequences.goal_variances(known.errors, size, alpha)
    worst = int(np.argmax(halves))
    found = _decided(answers, known, halves / size, wanted, answers.n)
    names = {"method": answers.methods[worst]}
    return {"half": float(halves[worst]), "names": names, **found}


def _top(answers: GoalAnswers, rated: Contributions, size: float) -> dict[str, Any]:
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
    times = halves / np.maximum(known.value, 1e-9)
    worst = int(np.argmax(times))
    better, other = pairs[worst]
    best = sorted({answers.methods[i] for i, _other in pairs})
    return {
        "half": float(halves[worst]),
        "gap": float(known.value[worst]),
        "names": {
            "method": answers.methods[better],
            "other": answers.methods[other],
            "best": ", ".join(best),
        },
        **_decided(answers, known, times, known.errors.variance / times**2, answers.n),
    }


def _correlation(answers: GoalAnswers, size: float) -> dict[str, Any]:
    if not answers.scores:
        return _unknown("scores")
    found = []
    for identity, scores in answers.scores.items():
        score = answers.table(scores)[answers.story, answers.method]
        complete = np.bincount(answers.unit)[answers.unit] >= answers.wanted
        kept = complete & np.isfinite(score)
        cells, row, cell = np.unique(
            answers.unit[kept], return_index=True, return_inverse=True
        )
        if len(cells) < LEAST_ITEMS:
            return _unknown("items", least=LEAST_ITEMS, n=len(cells))
        value = answers.value[kept]
        human = np.bincount(cell, value) / np.bincount(cell)
        correlated = sequences.correlation_contributions(
            human, score[kept][row], cell, value, *answers.clusters(kept)
        )
        if not np.isfinite(correlated.value).all():
            return _unknown("constant")
        if few := _few_stories(answers, correlated):
            return few
        known, alpha = correlated.evidence(), ALPHA / len(answers.scores)
        halves = sequences.goal_half_widths(known.errors, size, alpha)
        wanted = sequences.goal_variances(known.errors, size, alpha)
        parts = identity.metric, identity.label, identity.backend
        names = {"metric": " ".join(filter(None, parts))}
        own = _decided(answers, known, halves / size, wanted, len(value))
        found.append({"half": float(halves[0]), "names": names, **own})
    return max(found, key=itemgetter("half"))


def _accuracy(answers: GoalAnswers) -> dict[str, Any]:
    """Return whether the accuracy of the declared metric is apart from chance."""
    (scores,) = (
        answers.table(own)
        for identity, own in answers.scores.items()
        if identity.metric == answers.question.metric
    )
    rated = accuracy_contributions(
        answers.value,
        answers.method,
        scores,
        (answers.story, len(answers.stories)),
        (answers.person, len(answers.people)),
        None if answers.kind.is_numeric else answers.answer,
    )
    if few := _few_stories(answers, rated):
        return few
    known = (replace(rated, people=None) if answers.these_people else rated).evidence()
    halves = sequences.mixture_half_widths(known.errors, APART, ALPHA / answers.n_tests)
    times = halves / np.maximum(np.abs(known.value - CHANCE), 1e-9)
    wanted = known.errors.variance / times**2
    return {
        "half": float(halves[0]),
        "value": float(known.value[0]),
        **_decided(answers, known, times, wanted, answers.n),
    }


def _few_stories(answers: GoalAnswers, rated: Contributions) -> dict[str, Any]:
    """Return that there are too few stories; empty if there are enough."""
    n = int(rated.n_stories.min())
    return {} if n >= sequences.LEAST_STORIES else _missing_stories(answers, n)


def _missing_stories(answers: GoalAnswers, n: int) -> dict[str, Any]:
    planned, least = answers.plan[0], sequences.LEAST_STORIES
    if planned < least:
        return _unknown("few stories", least=least, n=planned)
    return _unknown("stories", least=least, n=n)


def _decided(
    answers: GoalAnswers,
    known: Evidence,
    times: np.ndarray[Any, Any],
    wanted: np.ndarray[Any, Any],
    n: int,
) -> dict[str, Any]:
    """Return whether to stop, how much more is needed, and what the plan has left.

    The half-widths are so many `times` those that the goal needs.
    """
    stories, slots = answers.plan
    more = sequences.needed(
        known,
        wanted,
        answers=n,
        stories=(len(answers.stories), stories),
        people=len(answers.people),
    )
    return {
        "state": "stop" if times.max() <= 1 + 1e-9 else "not_yet",
        "answers": more.answers,
        "stories": more.stories,
        "people": more.people,
        "left": max(slots - answers.n, 0),
    }
