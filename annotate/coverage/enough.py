"""Precision of a study against its goals, valid however often one looks."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.kinds.registry import counted, kind_of
from annotate.models import Question, Snapshot, Study
from annotate.setup_form.fields import Field
from annotate.studies.goals import CHANCE
from annotate.studies.parts import Goals, goals_of

# What is truly needed, divided by the estimate: the middle 80 % of simulated studies
# (benchmarks/results/stopping.md).
RANGES = {
    "mean": (0.2, 1.8),
    "win_rate": (0.2, 1.6),
    "top": (0.1, 1.6),
    "correlation": (0.2, 0.5),
    "accuracy": (0.1, 1.6),
}


@dataclass(frozen=True)
class GoalRow:
    """One goal of one question: what is known, and what is still needed."""

    question: Question
    goal: str
    size: float
    found: Mapping[str, Any]

    @property
    def state(self) -> str:
        """Return stop, not_yet, unknown or waiting."""
        return str(self.found.get("state", "waiting"))

    @property
    def goal_text(self) -> str:
        texts = {
            "mean": _("means within ±%(size)s"),
            "win_rate": _("win rates within ±%(size)s"),
            "top": _("best %(size)s separated"),
            "correlation": _("correlation within ±%(size)s"),
            "accuracy": _("%(metric)s against chance"),
        }
        values = {"size": f"{self.size:g}", "metric": self.question.metric}
        return texts[self.goal] % values

    @property
    def now(self) -> str:
        """Return what is known now, in numbers."""
        half = self.found.get("half")
        if half is None:
            return "–"
        if self.goal == "top":
            gap = self.found["gap"]
            return _("difference %(gap)s ± %(half)s") % {
                "gap": f"{gap:.2f}",
                "half": _shown(half),
            }
        if self.goal == "accuracy":
            return _("accuracy %(value)s ± %(half)s") % {
                "value": f"{self.found['value']:.2f}",
                "half": _shown(half),
            }
        return f"±{_shown(half)}"

    @property
    def needed(self) -> str:
        """Return how much more is needed: the middle 80 % of simulated studies."""
        found = self.found
        if self.state == "stop":
            return _("none")
        if answers := found.get("answers"):
            text = _("%(low)s to %(high)s comparisons")
            if kind_of(self.question).is_numeric:
                text = _("%(low)s to %(high)s ratings")
            low, high = (ceil(answers * share) for share in RANGES[self.goal])
            return text % {"low": _about(low), "high": _about(high)}
        for key, text in (
            ("stories", _("about %(n)s stories in all")),
            ("people", _("about %(n)s people in all")),
        ):
            if n := found.get(key):
                return text % {"n": _about(n)}
        return "–"

    @property
    def is_beyond_plan(self) -> bool:
        """Return whether the plan has fewer ratings than are probably needed."""
        found = self.found
        if self.state != "not_yet":
            return False
        answers, low = found.get("answers"), RANGES[self.goal][0]
        return answers is None or ceil(answers * low) > found["left"]

    @property
    def sentence(self) -> str:
        """Return what stopping means, or why nothing is known."""
        if self.state in ("unknown", "waiting"):
            return self._reason
        values = {
            "size": f"{self.size:g}",
            "half": _shown(self.found["half"]),
            "who": self._population,
            "metric": self.question.metric,
            **self.found.get("names", {}),
        }
        state = self.state
        if state == "stop" and self.found.get("value", 1) < CHANCE:
            state = "below"
        return _SENTENCES[self.goal, state]() % values

    @property
    def _population(self) -> str:
        n = self.found.get("these_people")
        if n:
            return ngettext(
                "for new stories and this %(n)d person",
                "for new stories and these %(n)d people",
                n,
            ) % {"n": n}
        return _("for new stories and new people")

    @property
    def _reason(self) -> str:
        found = self.found
        texts = {
            "": _("The numbers are being computed."),
            "none": _("There is no rating yet."),
            "stories": _("Every method needs %(least)s rated stories; one has %(n)s."),
            "few stories": _("This needs %(least)s stories; the study has %(n)s."),
            "people": _("Ratings of %(least)s people are needed; there are %(n)s."),
            "adaptive": _(
                "The pairs were chosen by earlier answers, so that shares of "
                "them are no estimate."
            ),
            "scores": _("No metric has scores for these items."),
            "items": _(
                "A metric needs %(least)s items with scores and all their ratings; "
                "there are %(n)s."
            ),
            "constant": _("All ratings, or all scores of a metric, are the same."),
        }
        return str(texts[found.get("reason", "")] % found.get("numbers", {}))


_SENTENCES = {
    ("mean", "stop"): lambda: _(
        "Every mean is within ±%(size)s of its true value, %(who)s."
    ),
    ("mean", "not_yet"): lambda: _(
        "The mean of %(method)s is known to ±%(half)s only, %(who)s."
    ),
    ("win_rate", "stop"): lambda: _(
        "Every win rate is within ±%(size)s of its true value, %(who)s."
    ),
    ("win_rate", "not_yet"): lambda: _(
        "The win rate of %(method)s is known to ±%(half)s only, %(who)s."
    ),
    ("top", "stop"): lambda: _("The best %(size)s are known, %(who)s: %(best)s."),
    ("top", "not_yet"): lambda: _(
        "%(method)s and %(other)s may be in either order, %(who)s."
    ),
    ("correlation", "stop"): lambda: _(
        "Every metric's correlation is within ±%(size)s of its true value, %(who)s."
    ),
    ("correlation", "not_yet"): lambda: _(
        "The correlation of %(metric)s is known to ±%(half)s only, %(who)s."
    ),
    ("accuracy", "stop"): lambda: _(
        "%(metric)s prefers the same output as people more often than chance, %(who)s."
    ),
    ("accuracy", "below"): lambda: _(
        "%(metric)s prefers the same output as people less often than chance, %(who)s."
    ),
    ("accuracy", "not_yet"): lambda: _(
        "The accuracy of %(metric)s is not distinguishable from chance, %(who)s."
    ),
}


def _shown(half: float) -> str:
    return f"{half:.2f}" if half >= 0.1 else f"{half:.3f}"


def _about(n: int) -> str:
    """Round a number to two digits; it is only an estimate."""
    step = 10 ** max(len(str(n)) - 2, 0)
    return f"{-(-n // step) * step:,}"


def enough(study: Study) -> list[GoalRow]:
    """Return a row for each question and goal, from the latest snapshot."""
    goals = {key: size for key, size in study.goals.items() if size is not None}
    questions = counted(study.asked)
    if not goals and not any(one.metric for one in questions):
        return []
    rows = Snapshot.objects.filter(study=study).values_list("data__enough", flat=True)
    stored = {
        (one["question"], one["goal"], one["size"]): one for one in rows.first() or ()
    }
    found = []
    for question in questions:
        for goal in goals_of(kind_of(question)):
            if size := goals.get(goal):
                known = stored.get((question.key, goal, size), {})
                found.append(GoalRow(question, goal, size, known))
        known = stored.get((question.key, "accuracy", CHANCE), {})
        if known and known["metric"] == question.metric:
            found.append(GoalRow(question, "accuracy", CHANCE, known))
    return found


def goal_fields(study: Study) -> list[Field]:
    """Return the fields of the goals that the study's questions can have."""
    possible = {goal for one in counted(study.asked) for goal in goals_of(kind_of(one))}
    return [
        Field(
            key,
            _(str(info.title)),
            "number",
            [f"{study.goals[key]:g}"] if study.goals.get(key) else [],
            _(str(info.description)),
            least=0,
            step="1" if key == "top" else "any",
        )
        for key, info in Goals.model_fields.items()
        if key in possible
    ]
