"""Studies of every kind with all that a bundle carries, and empty servers."""

import random
from pathlib import Path

from django.apps import apps
from django.db import connection
from django.utils import timezone

from annotate.models import Annotator, Slot, StoryComment
from annotate.quality import exclusion
from annotate.responses import analysis_views
from annotate.responses.bulk import SlotAnswers, store_judgements
from evalcore.models import MetricScore, Output, TwinScore
from evalcore.perturbations import degraded_copies
from evalcore.scoring import metric_runs
from tests.factories import make_benchmark, make_study
from tests.working import join, make_planned, work

RANKING = """\
kind: ranking
outputs: 3
redundancy: 2
questions:
  - {key: quality, title: Quality, text: "Which is best?"}
"""
COMPOSITES = """\
kind: likert
redundancy: 2
questions:
  - {key: character, title: Character, scale: [0, 4], text: "Same?", metric: sharpness}
  - {key: aesthetics, title: Aesthetics, scale: [0, 4], text: "Nice?"}
composites:
  both: {over: questions, weights: {character: 1, aesthetics: 2}}
"""
METRICS = ["sharpness", "shots_present"]


def answered(kind, *, slug="trial"):
    """Return a study with varied answers, scores, exclusions and views."""
    benchmark = make_benchmark(stories=4, shots=2)
    for n, story in enumerate(benchmark.stories.order_by("key")):
        story.tags = {"genre": "myth" if n % 2 else "=fairy"}
        story.save()
    if kind == "ranking":
        study = make_planned(RANKING, benchmark=benchmark, annotators=2, slug=slug)
        for name in ("A01", "A02"):
            work(join(study, name), lambda slot, key: "2>1>3")
    elif kind == "composites":
        study = make_planned(COMPOSITES, benchmark=benchmark, annotators=2, slug=slug)
        people = study.annotators.all()
        people.update(state=Annotator.State.ACTIVE, consented_at=timezone.now())
        fill(study)
    else:
        study = make_study(
            kind=kind, benchmark=benchmark, annotators=2, slug=slug, consented=True
        )
        fill(study)
    metric_runs.run(metric_runs.queue_run(benchmark, METRICS).pk)
    done = study.slots.filter(state=Slot.State.SUBMITTED).order_by("pk")
    exclusion.exclude(done[1], reason="too quick", author=None)
    analysis_views.add_view(study, key="strict", title="Strict", author=None)
    exclusion.exclude(
        done[2],
        reason="asleep",
        author=None,
        views=study.analysis_views.filter(key="main"),
    )
    slot = done[3]
    StoryComment.objects.create(slot=slot, annotator=slot.annotator, text="=nice 好")
    study.annotators.filter(name="A01").update(external_id="5f00aa", language="zh")
    return study


def fill(study):
    """Submit every open slot with values of its questions."""
    dice = random.Random(5)
    kinds = {q: q.kind for q in study.questions.all()}
    rows = []
    for slot in study.slots.filter(state="open").order_by("pk"):
        values, boxes = {}, {}
        for question, kind in kinds.items():
            if kind == "checklist":
                for shot in slot.unit.story.shots.all():
                    boxes[shot.number, question] = dice.randrange(2)
            else:
                choices = ("a", "b", "tie") if kind == "choice" else range(5)
                values[question] = dice.choice(choices)
        rows.append(SlotAnswers(slot, values, timezone.now(), 20.0, boxes))
    store_judgements(rows)


def with_everything():
    """Return a study that also has degraded copies and posted scores."""
    study = answered("likert")
    for output in study.units.first().outputs:
        degraded_copies.make_perturbation(output, "blurred", 1)
    score = MetricScore.objects.filter(metric="sharpness").first()
    TwinScore.objects.create(
        twin=Output.twins.first(),
        metric=score.metric,
        metric_version=score.metric_version,
        backend=score.backend,
        identity=score.identity,
        value=0.5,
        original=1.5,
    )
    run = score.run
    run.pk, run.posted_to = None, study.slug
    run.save()
    score.pk, score.posted_to, score.run, score.value = None, study.slug, run, 0.25
    score.save()
    return study


def empty_server(settings, folder: Path):
    """Remove every row, and begin new folders."""
    with connection.constraint_checks_disabled():
        for model in apps.get_models(include_auto_created=True):
            if model._meta.app_label in ("annotate", "evalcore"):
                model._base_manager.all()._raw_delete(connection.alias)
    settings.MEDIA_ROOT = folder / "media"
    settings.REPORTS_ROOT = folder / "reports"
