"""Follow-up studies, which place a late method on the scale of a closed study.

People rate the late method and some outputs of the closed study again. The closed study
stays as it is, so that its reports can be made again.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Any

from django.utils.translation import gettext as _

from annotate.kinds.registry import counted, counted_answers, kind_of
from annotate.models import Purpose, Question, Slot, Study
from annotate.responses import timing
from annotate.studies import drafting
from annotate.studies.changing import names_now
from annotate.studies.late_units import LateEntry, LinkingUnit
from annotate.studies.parts import Goals
from annotate.studies.planning import Setup
from evalcore.models import Output

# Without ratings that tell how many linking items are needed, this many.
USUAL = 24
Key = tuple[str, str]
BETWEEN = " | "


class LateEntryError(ValueError):
    """A late method that cannot be added; the message says why."""


@dataclass(frozen=True)
class Choice:
    """A number of linking items with what it costs, and the error that it adds."""

    linking: int
    ratings: int
    minutes: float
    extra: float | None


@dataclass(frozen=True)
class Proposal:
    """A follow-up study as it would be set up, beside other numbers of linking items.

    `stories` of the closed study have an output of the late method.
    """

    setup: Setup
    method: str
    stories: int
    all_stories: int
    suggested: int
    chosen: Choice
    others: tuple[Choice, ...]

    @property
    def choices(self) -> list[Choice]:
        """Return every number of linking items, the smallest first."""
        return sorted((self.chosen, *self.others), key=lambda one: one.linking)


def check_closed(study: Study) -> None:
    """Refuse studies that have no late methods, and say what to do instead."""
    if not study.definition:
        raise LateEntryError(_("This study was imported, so it has no questions."))
    if study.outputs_at_once > 2:
        raise LateEntryError(_("Rankings have no late methods. Set up a new study."))
    if study.continues is not None:
        text = _("This study continues %(study)s. Add the method there.")
        raise LateEntryError(text % {"study": study.continues.slug})
    if study.state != Study.State.CLOSED:
        raise LateEntryError(
            _("This study is not closed. Use “Add people or items” while it runs.")
        )


def candidates(study: Study) -> list[str]:
    """Return methods with outputs of the study's stories that the study never had."""
    stories = study.units.filter(purpose=Purpose.REAL).values("story")
    names = Output.objects.filter(story__in=stories, degradation="").order_by()
    known = {*study.method_names}
    return sorted({*names.values_list("method__name", flat=True)} - known)


def propose(
    study: Study,
    method: str,
    *,
    linking: int | None = None,
    annotators: int | Mapping[str, int] | None = None,
) -> Proposal:
    """Return the follow-up study of a late method, with or without a chosen number.

    Raises
    ------
    LateEntryError
        The study has no late methods, the method is none, or a number is impossible.
    """
    check_closed(study)
    if method not in candidates(study):
        raise LateEntryError(
            _("%(method)s has no outputs of these stories. Choose another method.")
            % {"method": method or "–"}
        )
    answers = _Answers(study)
    if not answers.units:
        raise LateEntryError(_("This study has no answers to link to."))
    before = drafting.as_judged(study, drafting.setup_of(study))
    people = before.annotators if annotators is None else annotators
    outputs = Output.objects.filter(method__name=method, degradation="")
    own = outputs.filter(
        story__benchmark=study.benchmark, story__key__in=before.stories
    )
    stories = sorted(own.values_list("story__key", flat=True))
    size = _Size(study, answers, len(stories), _number(people))
    number = size.suggested() if linking is None else linking
    if not 1 <= number <= len(answers.units):
        raise LateEntryError(
            _("Write a number of linking items from 1 to %(most)d.")
            % {"most": len(answers.units)}
        )
    setup = _setup(study, before, method, answers.linking(number, stories), people)
    others = {number // 2, number * 2, size.suggested()} - {number}
    return Proposal(
        setup,
        method,
        len(stories),
        len(before.stories),
        size.suggested(),
        size.choice(number),
        tuple(size.choice(n) for n in others if 3 <= n <= len(answers.units)),
    )


def _number(people: int | Mapping[str, int]) -> int:
    return people if isinstance(people, int) else sum(people.values())


def _setup(
    study: Study,
    before: Setup,
    method: str,
    linking: list[LinkingUnit],
    people: int | Mapping[str, int],
) -> Setup:
    """Return the closed study's texts, rules and people with other items."""
    old = sorted({*before.methods})
    late = LateEntry(method=method, against=_against(study), linking=tuple(linking))
    title = _("%(title)s: %(method)s") % {"title": study.title, "method": method}
    definition = before.definition.with_changes(
        title=title[: Study._meta.get_field("title").max_length],
        late_entry=late,
        stories=None,
        subset=None,
        pairs=None,
        adaptive=None,
        deadline=None,
        goals=Goals(),
    )
    return replace(
        before,
        slug=drafting.next_slug(study.slug),
        definition=definition,
        annotators=people,
        methods=(*old, method),
        continues=study,
    )


def _against(study: Study) -> int | None:
    """Return how many others a method met in a story, of comparisons."""
    if study.outputs_at_once == 1:
        return None
    units = study.units.filter(purpose=Purpose.REAL)
    stories = units.values("story").distinct().count()
    return max(round(2 * units.count() / stories / len(study.method_names)), 1)


class _Answers:
    """Counted answers of a closed study, one table for each question."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self.tables = {q.key: self._rows(q) for q in counted(study.asked)}
        sums: dict[Key, list[float]] = defaultdict(list)
        for rows in self.tables.values():
            if not rows:
                continue
            values = [row[-1] for row in rows]
            low, span = min(values), (max(values) - min(values)) or 1.0
            for story, method, _person, value in rows:
                sums[story, method].append((value - low) / span)
        methods, stories = names_now(study)
        self.units = {
            key: sum(values) / len(values)
            for key, values in sums.items()
            if key[0] in stories and methods >= {*key[1].split(BETWEEN)}
        }

    def _rows(self, question: Question) -> list[tuple[str, str, int, float]]:
        kind = kind_of(question)
        paths = self._study.output_paths("slot__unit__", "__method__name")
        rows = counted_answers(question).order_by("pk")
        return [
            (
                story,
                BETWEEN.join(methods),
                person,
                float(value) if kind.is_numeric else kind.worth(value, 0),
            )
            for story, person, value, *methods in rows.values_list(
                "slot__unit__story__key", "annotator", "value", *paths
            )
        ]

    def linking(self, number: int, stories: list[str]) -> list[LinkingUnit]:
        """Choose units to judge again, of these stories if possible."""
        from analysis.planning.linking import choose_linking  # loads numpy

        chosen = choose_linking(self.units, number, self._study.seed, stories)
        return [
            LinkingUnit(story=story, methods=tuple(methods.split(BETWEEN)))
            for story, methods in chosen
        ]


@dataclass(frozen=True)
class _Size:
    """Costs and errors by the number of linking items."""

    study: Study
    answers: _Answers
    stories: int
    people: int

    @cached_property
    def _spreads(self) -> list[Any]:
        """The spread of ratings of each question, where it is known."""
        import numpy as np

        from analysis.planning.linking import spread_of

        found = []
        for rows in self.answers.tables.values():
            if rows and self.study.outputs_at_once == 1:
                story, method, person, value = map(np.array, zip(*rows, strict=True))
                codes = [
                    np.unique(one, return_inverse=True)[1]
                    for one in (person, story, method)
                ]
                found.append(spread_of(value, *codes))
        return [one for one in found if one is not None]

    @property
    def _wave(self) -> Any:
        from analysis.planning.linking import Wave

        people = self.people
        if self.study.is_open:  # as many as before
            people = (
                self.study.annotators.filter(slots__state=Slot.State.SUBMITTED)
                .distinct()
                .count()
            )
        return Wave(self.stories, self.study.redundancy * self.study.rounds, people)

    def suggested(self) -> int:
        from analysis.planning.linking import suggested

        known = len(self.answers.units)
        if not self._spreads:
            return min(USUAL, known)
        return max(suggested(one, self._wave, known) for one in self._spreads)

    def choice(self, number: int) -> Choice:
        """Return what a number of linking items costs, and the error that it adds."""
        from analysis.planning.linking import extra_error

        own = self.stories * (_against(self.study) or 1)
        ratings = (own + number) * self.study.redundancy * self.study.rounds
        extra = [extra_error(one, self._wave, number) for one in self._spreads]
        minutes = ratings * self._seconds / 60
        return Choice(number, ratings, minutes, max(extra, default=None))

    @cached_property
    def _seconds(self) -> float:
        """The usual time for a rating of the closed study."""
        slots = self.study.slots.filter(
            state=Slot.State.SUBMITTED, purpose=Purpose.REAL
        ).annotate(measured=timing.measured())
        times = [t for t in slots.values_list("measured", flat=True) if t]
        return float(median(times)) if times else 0.0
