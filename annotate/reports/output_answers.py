"""What people said of one output, each by each and on average."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import fsum
from typing import Any

from django.db.models import Count, F, Q, QuerySet

from annotate.kinds.base import Kind
from annotate.kinds.registry import asks_of_shots, kind_of, tables_of
from annotate.models import Answer, Purpose, Question, ShotComment, Slot, Study
from annotate.presentation import shot_comments
from annotate.presentation.checklist_sheets import ToldShot, told_by_slot
from annotate.reports.story_ranks import RankedValue, ranked
from annotate.reports.study_scores import judged_units
from annotate.responses import writing
from evalcore.models import Output, Story

# Means of equal sums may differ in the last bit.
DECIMALS = 9
# What answers to one question are worth for one output, each with how often that was
# said, by annotator.
Worths = dict[int, list[tuple[float, int]]]


@dataclass(frozen=True)
class PeopleMean:
    """The mean of what people said of an output in answer to a question."""

    question: Question
    ranked: RankedValue | None
    people: int
    answers: int


@dataclass(frozen=True)
class ToldSlot:
    """What somebody said of an output, beside the others that it was compared with."""

    slot: Slot
    others: list[Output]
    answers: list[str]
    shots: list[ToldShot]
    comment: str
    comments: list[ShotComment]
    counted: bool


def asked_of(study: Study, story: Story) -> list[Question]:
    return [question for question in study.asked if question.is_asked_of(story)]


def people_means(study: Study, output: Output) -> list[PeopleMean]:
    """Return the mean of people for every question, and its rank in the story."""
    worths = _worths(study, output.story)
    method = output.method.name
    shown = []
    for question in asked_of(study, output.story):
        kind, of_methods = kind_of(question), worths[question.pk]
        means = {
            name: round(_mean(kind, given), DECIMALS)
            for name, given in of_methods.items()
        }
        own = of_methods.get(method, {})
        answers = sum(times for rows in own.values() for _worth, times in rows)
        shown.append(PeopleMean(question, ranked(means, method), len(own), answers))
    return shown


def _worths(study: Study, story: Story) -> dict[int, dict[str, Worths]]:
    """Return by question and method what people said that counts."""
    units = judged_units(study).filter(story=story)
    named = units.values_list("pk", *study.output_paths(below="__method__name"))
    methods = {unit: names for unit, *names in named}
    kinds = {question.pk: kind_of(question) for question in study.asked}
    found: dict[int, dict[str, Worths]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for model in tables_of(study):
        said = _current(model, slot__study=study, slot__unit__in=methods).filter(
            slot__state=Slot.State.SUBMITTED,
            slot__ordinal__isnull=False,
        )
        rows = said.order_by().values_list(
            "question", "slot__unit", "annotator", "value"
        )
        for question, unit, annotator, value, times in rows.annotate(n=Count("pk")):
            for place, method in enumerate(methods[unit]):
                worth = kinds[question].worth(value, place)
                found[question][method][annotator].append((worth, times))
    return found


def _current(model: type[Answer], **of: object) -> QuerySet[Any]:
    """Return the newest answers of those who hold the slots."""
    return model.objects.filter(is_current=True, annotator=F("slot__annotator"), **of)


def _mean(kind: Kind, given: Worths) -> float:
    if kind.table != "ratings":
        return _weighted(row for rows in given.values() for row in rows)
    return fsum(map(_weighted, given.values())) / len(given)


def _weighted(rows: Iterable[tuple[float, int]]) -> float:
    known = list(rows)
    total = sum(times for _worth, times in known)
    return fsum(worth * times for worth, times in known) / total


def told_slots(study: Study, output: Output) -> list[ToldSlot]:
    """Return who said what of an output, by what it was compared with and by name."""
    slots = list(_slots(study, output))
    whole = [one for one in asked_of(study, output.story) if not kind_of(one).of_shots]
    said = _in_words(study, output, slots)
    shots = told_by_slot(slots) if asks_of_shots(study) else {}
    of_stories = writing.by_slot(slots)
    comments = shot_comments.about(output, slots)
    told = [
        ToldSlot(
            slot,
            [other for other in slot.unit.outputs if other.pk != output.pk],
            [said.get((slot.pk, question.pk), "") for question in whole],
            [
                shot
                for shot in shots.get(slot.pk, [])
                if shot.annotator.pk == slot.annotator_id
            ],
            of_stories.get(slot.pk, ""),
            comments.get(slot.pk, []),
            slot.state == Slot.State.SUBMITTED and slot.ordinal is not None,
        )
        for slot in slots
    ]
    return sorted(told, key=_order)


def _order(told: ToldSlot) -> tuple[list[str], str, int]:
    name = told.slot.annotator.name if told.slot.annotator else ""
    return [other.method.name for other in told.others], name, told.slot.round


def _slots(study: Study, output: Output) -> QuerySet[Slot]:
    shown = Q()
    for path in study.output_paths("unit__"):
        shown |= Q(**{path: output})
    return (
        study.slots.filter(shown, submitted_at__isnull=False)
        .exclude(purpose=Purpose.TRAINING)
        .select_related(
            "annotator", "unit", *study.output_paths("unit__", below="__method")
        )
    )


def _in_words(
    study: Study, output: Output, slots: Collection[Slot]
) -> dict[tuple[int, int], str]:
    """Return each answer as what it says of the output, by slot and question."""
    held = {slot.pk: slot for slot in slots}
    questions = {question.pk: question for question in study.asked}
    words = {}
    for model, kinds in tables_of(study).items():
        whole = [kind.name for kind in kinds if not kind.of_shots]
        said = _current(model, slot__in=held, question__kind__in=whole)
        for pk, asked, value in said.values_list("slot", "question", "value"):
            slot, question = held[pk], questions[asked]
            place = [one.pk for one in slot.unit.outputs].index(output.pk)
            about = kind_of(question).text_about(slot, question, value, place)
            words[pk, asked] = about
    return words
