"""One output of a study, with its ratings and metric scores."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import fsum
from typing import Any

from django.db.models import Count, F, Q, QuerySet
from django.utils.translation import gettext

from annotate.kinds.base import Kind
from annotate.kinds.registry import counted, kind_of, tables_of
from annotate.models import Question, Slot, Study
from annotate.presentation.slot_view import shot_texts
from annotate.reports.output_marks import OutputMarks, output_marks
from annotate.reports.score_tables import ASKED, score_rows
from annotate.reports.study_scores import judged_units, named, scores_of
from annotate.reports.study_tables import AnswerRow
from evalcore.metrics import registry
from evalcore.metrics.identity import PARTS, Identity
from evalcore.models import Frame, MetricAbsence, Output, Story
from evalcore.scoring.identities import Identities

# The values of answers to one question for one output, with counts, by annotator.
Worths = dict[int, list[tuple[float, int]]]


@dataclass(frozen=True)
class PeopleMean:
    """People's mean for an output and a question."""

    question: Question
    mean: str
    people: int
    answers: int


def asked_of(study: Study, story: Story) -> list[Question]:
    return [question for question in study.asked if question.is_asked_of(story)]


def people_means(study: Study, output: Output) -> list[PeopleMean]:
    """Return people's mean for every question."""
    worths = _worths(study, output)
    shown = []
    for question in counted(asked_of(study, output.story)):
        own = worths[question.pk]
        answers = sum(times for rows in own.values() for _worth, times in rows)
        mean = _digits(_mean(kind_of(question), own)) if own else ""
        shown.append(PeopleMean(question, mean, len(own), answers))
    return shown


def _digits(value: float) -> str:
    """Return a number with enough digits to distinguish outputs."""
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def _worths(study: Study, output: Output) -> dict[int, Worths]:
    """Return the values of an output's counted answers by question."""
    units = judged_units(study).filter(story=output.story)
    places = {
        unit: outputs.index(output.pk)
        for unit, *outputs in units.values_list("pk", *study.output_paths())
        if output.pk in outputs
    }
    kinds = {question.pk: kind_of(question) for question in counted(study.asked)}
    found: dict[int, Worths] = defaultdict(lambda: defaultdict(list))
    for model in tables_of(study):
        answers: QuerySet[Any] = model.objects.filter(
            is_current=True,
            annotator=F("slot__annotator"),
            slot__study=study,
            slot__unit__in=places,
            question__in=kinds,
            slot__state=Slot.State.SUBMITTED,
            slot__ordinal__isnull=False,
        )
        rows = answers.order_by().values_list(
            "question", "slot__unit", "annotator", "value"
        )
        for question, unit, annotator, value, times in rows.annotate(n=Count("pk")):
            worth = kinds[question].worth(value, places[unit])
            found[question][annotator].append((worth, times))
    return found


def _mean(kind: Kind, given: Worths) -> float:
    if not kind.is_numeric:
        return _weighted(row for rows in given.values() for row in rows)
    return fsum(map(_weighted, given.values())) / len(given)


def _weighted(rows: Iterable[tuple[float, int]]) -> float:
    known = list(rows)
    total = sum(times for _worth, times in known)
    return fsum(worth * times for worth, times in known) / total


@dataclass(frozen=True)
class ShownScore:
    """A metric's score of an output."""

    name: str
    title: str
    higher_is_better: bool
    is_of_method: bool
    measures: list[str]
    score: str
    reason: str


def output_scores(
    study: Study, output: Output, methods: Collection[str]
) -> list[ShownScore]:
    """Return the scores of an output by every metric, declared ones first."""
    known, reasons = _known(study), _reasons(output)
    several = Counter(identity.metric for identity in known)
    every = Counter(identity.metric for identity in known.keys() | reasons.keys())
    rows: dict[Identity, list[AnswerRow]] = {key: [] for key in reasons}
    for row in score_rows(study, story=output.story):
        texts = {name: row[name] for name in ("metric", *PARTS)}
        key = Identity(**texts | {"judge_version": ""})
        # A metric with scores of stories has none of whole methods.
        if row["method"] in methods and bool(row["story"]) == known[key]:
            own = rows.setdefault(key, [])
            if row["method"] == output.method.name:
                own.append(row)
    shown = []
    for key, own in rows.items():
        metric = key.metric
        name = named(key, several if key in known else every)
        info = registry.load(metric).info if metric in registry.METRICS else None
        shown.append(
            ShownScore(
                name,
                gettext(info.title) if info else "",
                all(row["higher_is_better"] for row in own),
                bool(own) and not own[0]["story"],
                [one.full_title for one in study.asked if one.metric in (metric, name)],
                _score(own),
                reasons.get(key, ""),
            )
        )
    return sorted(shown, key=lambda one: (not one.measures, one.name))


def _known(study: Study) -> dict[Identity, bool]:
    """Return every identity of a metric as asked, and whether it scores stories."""
    rows = scores_of(study).filter(run__finished_at__isnull=False).order_by()
    stories = rows.annotate(of_story=Q(story__isnull=False))
    found: dict[Identity, bool] = defaultdict(bool)
    identities = Identities()
    for a, b, c, d, of_story in stories.values_list(*ASKED, "of_story").distinct():
        found[identities.of((a, b, c, d, ""))] |= bool(of_story)
    return found


def _score(rows: list[AnswerRow]) -> str:
    """Return the score of the whole output, or else the mean of its shots."""
    used = [row for row in rows if row["shot"] == ""] or rows
    return _digits(fsum(row["score"] for row in used) / len(used)) if used else ""


def _reasons(output: Output) -> dict[Identity, str]:
    """Return why metrics have no value for an output, or for a shot of it."""
    rows = MetricAbsence.objects.filter(story=output.story, method=output.method)
    identities = Identities()
    return {
        identities.of((a, b, c, d, "")): reason
        for a, b, c, d, reason in rows.values_list(*ASKED, "reason")
    }


@dataclass(frozen=True)
class StoryShot:
    """A shot of the story with its texts, and its picture if there is one."""

    number: int
    texts: dict[str, str]
    frame: Frame | None


@dataclass(frozen=True)
class ShownOutput:
    """An output with its ratings and scores, and the story's other outputs."""

    output: Output
    frames: list[Frame]
    shots: list[StoryShot]
    methods: list[str]
    before: str
    after: str
    means: list[PeopleMean]
    scores: list[ShownScore]
    marks: OutputMarks | None


def shown_output(study: Study, story: str, method: str) -> ShownOutput | None:
    """Return a story by a method; None if the study does not rate that output."""
    outputs = _outputs(study, story)
    methods = [output.method.name for output in outputs]
    if method not in methods:
        return None
    at = methods.index(method)
    output = outputs[at]
    frames = list(output.frames.select_related("media"))
    return ShownOutput(
        output,
        frames,
        _shots(output, frames),
        methods,
        "".join(methods[max(at - 1, 0) : at]),
        "".join(methods[at + 1 : at + 2]),
        people_means(study, output),
        output_scores(study, output, methods),
        output_marks(study, output),
    )


def _outputs(study: Study, story: str) -> list[Output]:
    """Return the rated outputs of a story, by the names of their methods."""
    units = judged_units(study).filter(story__key=story)
    pairs = units.values_list(*study.output_paths())
    shown = {output for pair in pairs for output in pair if output is not None}
    rows = Output.objects.filter(pk__in=shown).select_related(
        "story", "method", "video"
    )
    return sorted(rows, key=lambda output: output.method.name)


def _shots(output: Output, frames: list[Frame]) -> list[StoryShot]:
    pictures = {frame.number: frame for frame in frames if frame.media_id}
    return [
        StoryShot(shot.number, shot_texts(shot), pictures.get(shot.number))
        for shot in output.story.shots.all()
    ]
