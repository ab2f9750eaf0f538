"""What people and metrics say of one output, and its rank in the story."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import fsum
from typing import Any

from django.db.models import Count, F, Q, QuerySet
from django.utils.translation import gettext

from annotate.kinds.base import Kind
from annotate.kinds.registry import (
    asks_of_shots,
    counted,
    kind_of,
    tables_of,
    whole_tables,
)
from annotate.models import Answer, Purpose, Question, ShotComment, Slot, Study
from annotate.presentation import shot_comments
from annotate.presentation.checklist_sheets import ToldShot, told_by_slot
from annotate.reports.study_scores import (
    METRIC,
    MetricKey,
    judged_units,
    scores_of,
    versioned_name,
)
from annotate.reports.study_tables import AnswerRow, score_rows
from annotate.responses import writing
from evalcore.metrics import registry
from evalcore.models import MetricAbsence, Output, Story


@dataclass(frozen=True)
class RankedValue:
    """A value of an output, and the ranks it shares with equal ones."""

    value: float
    first: int
    last: int
    n: int
    lowest: float
    highest: float

    @property
    def shown(self) -> str:
        return _digits(self.value)

    @property
    def rank(self) -> str:
        return "–".join(dict.fromkeys((str(self.first), str(self.last))))

    @property
    def span(self) -> str:
        """Return the lowest and the highest value of the story's outputs."""
        return f"{_digits(self.lowest)} – {_digits(self.highest)}"


def _digits(value: float) -> str:
    """Return a number with the digits that tell outputs apart."""
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def ranked(
    values: Mapping[str, float], method: str, *, higher_is_better: bool = True
) -> RankedValue | None:
    """Return where a method stands by values of all; None if it has none."""
    if method not in values:
        return None
    own, turn = values[method], 1 if higher_is_better else -1
    above = sum(turn * value > turn * own for value in values.values())
    equal = sum(value == own for value in values.values())
    return RankedValue(
        values[method],
        above + 1,
        above + equal,
        len(values),
        min(values.values()),
        max(values.values()),
    )


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
    for question in counted(asked_of(study, output.story)):
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
    kinds = {question.pk: kind_of(question) for question in counted(study.asked)}
    found: dict[int, dict[str, Worths]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for model in tables_of(study):
        said = _current(
            model, slot__study=study, slot__unit__in=methods, question__in=kinds
        ).filter(slot__state=Slot.State.SUBMITTED, slot__ordinal__isnull=False)
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
    if not kind.is_numeric:
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
    for model, names in whole_tables(study).items():
        said = _current(model, slot__in=held, question__kind__in=names)
        for pk, asked, value in said.values_list("slot", "question", "value"):
            slot, question = held[pk], questions[asked]
            place = [one.pk for one in slot.unit.outputs].index(output.pk)
            about = kind_of(question).text_about(slot, question, value, place)
            words[pk, asked] = about
    return words


# Scores by method, each with the shot it is of.
Scores = dict[str, list[tuple[str, float]]]


@dataclass(frozen=True)
class ShownScore:
    """What a metric says of an output."""

    name: str
    title: str
    higher_is_better: bool
    is_of_method: bool
    measures: list[str]
    ranked: RankedValue | None
    reason: str


def output_scores(
    study: Study, output: Output, methods: Collection[str]
) -> list[ShownScore]:
    """Return what every metric says of an output, the declared ones first."""
    known, reasons = _known(study), _reasons(output)
    versions = Counter(metric for metric, *_told in known)
    every = Counter(metric for metric, *_told in known.keys() | reasons.keys())
    rows: dict[MetricKey, list[AnswerRow]] = {key: [] for key in reasons}
    rows |= {
        key: own
        for key, own in _rows(study, output, methods).items()
        if bool(own[0]["story"]) == known[key]
    }
    shown = [
        _shown(
            study,
            output,
            key,
            own,
            versioned_name(key, versions if key in known else every),
            reasons,
        )
        for key, own in rows.items()
    ]
    return sorted(shown, key=lambda one: (not one.measures, one.name))


def _known(study: Study) -> dict[MetricKey, bool]:
    """Return every version of a metric, and whether it has scores of stories."""
    rows = scores_of(study).filter(run__finished_at__isnull=False).order_by()
    stories = rows.annotate(of_story=Q(story__isnull=False))
    found: dict[MetricKey, bool] = {}
    for *key, of_story in stories.values_list(*METRIC, "of_story").distinct():
        metric = (key[0], key[1], key[2])
        found[metric] = found.get(metric, False) or bool(of_story)
    return found


def _rows(
    study: Study, output: Output, methods: Collection[str]
) -> dict[MetricKey, list[AnswerRow]]:
    found: dict[MetricKey, list[AnswerRow]] = defaultdict(list)
    for row in score_rows(study, story=output.story):
        if row["method"] in methods:
            found[row["metric"], row["metric_version"], row["backend"]].append(row)
    return {
        key: [row for row in rows if row["story"]] or rows
        for key, rows in found.items()
    }


def _shown(
    study: Study,
    output: Output,
    key: MetricKey,
    rows: list[AnswerRow],
    name: str,
    reasons: dict[MetricKey, str],
) -> ShownScore:
    higher = all(row["higher_is_better"] for row in rows)
    method = output.method.name
    return ShownScore(
        name,
        _title(key[0]),
        higher,
        bool(rows) and not rows[0]["story"],
        [one.full_title for one in study.asked if one.metric in (key[0], name)],
        ranked(_means(rows), method, higher_is_better=higher),
        reasons.get(key, ""),
    )


def _title(metric: str) -> str:
    if metric not in registry.METRICS:
        return ""
    return gettext(registry.load(metric).info.title)


def _means(rows: Iterable[AnswerRow]) -> dict[str, float]:
    """Return each method's score; the mean of shots where the whole has none."""
    of_methods: Scores = defaultdict(list)
    for row in rows:
        of_methods[row["method"]].append((row["shot"], row["score"]))
    means = {}
    for method, scores in of_methods.items():
        whole = [score for shot, score in scores if shot == ""]
        kept = whole or [score for _shot, score in scores]
        means[method] = fsum(kept) / len(kept)
    return means


def _reasons(output: Output) -> dict[MetricKey, str]:
    """Return why metrics have no value of an output, or of a shot of it."""
    rows = MetricAbsence.objects.filter(story=output.story, method=output.method)
    return {
        (metric, version, backend): reason
        for metric, version, backend, reason in rows.values_list(*METRIC, "reason")
    }
