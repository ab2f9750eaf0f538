"""The report of a checklist, with its labels."""

import random

import pytest
from django.utils import timezone

from analysis.options import AlignOptions
from annotate.audit_log import as_of_event
from annotate.reports.writing import write_study_report
from annotate.responses.bulk import SlotAnswers, store_judgements
from evalcore.models import MetricRun, MetricScore
from tests.factories import METHODS, make_benchmark, make_study

pytestmark = pytest.mark.django_db

QUALITY = dict(zip(METHODS, (0.9, 0.6, 0.3), strict=True))


@pytest.fixture
def study():
    """Return a study whose better methods show more of the requested content."""
    benchmark = make_benchmark(stories=6, shots=2, pictures=False)
    study = make_study(kind="checklist", benchmark=benchmark, annotators=2)
    dice = random.Random(5)
    questions = {q.key: q for q in study.questions.all()}
    for slot in study.slots.select_related("unit__output_a__method", "unit__story"):
        quality = QUALITY[slot.unit.output_a.method.name]
        boxes = {}
        for shot in (1, 2):
            for label in ("pan", "people", "animals"):
                asked = int(label != "pan")
                shown = int(dice.random() < quality) if asked else 0
                boxes[shot, questions[f"{label}|text"]] = asked
                boxes[shot, questions[f"{label}|video"]] = shown
        store_judgements([SlotAnswers(slot, {}, timezone.now(), 60.0, boxes)])
    now = timezone.now()
    run = MetricRun.objects.create(
        benchmark=benchmark, source="imported", state="done", finished_at=now
    )
    for story in benchmark.stories.all():
        for output in story.outputs.select_related("method"):
            for shot in story.shots.all():
                MetricScore.objects.create(
                    run=run,
                    benchmark=benchmark,
                    story=story,
                    method=output.method,
                    shot=shot,
                    metric="vtm",
                    higher_is_better=True,
                    value=QUALITY[output.method.name] + dice.gauss(0, 0.1),
                )
    return study


@pytest.mark.slow
def test_checklist_study_has_a_report(study, tmp_path):
    import pandas as pd

    write_study_report(
        study,
        moment=as_of_event.now(study),
        options=AlignOptions(resamples=50),
        out=tmp_path,
    )
    labels = pd.read_csv(tmp_path / "tables" / "labels.csv")
    people = labels[labels["label"] == "people"].set_index("method")
    assert list(people.index) == list(METHODS)
    assert (people["n"] == 6 * 2 * 2).all()
    assert people["recall"].is_monotonic_decreasing
    assert (people["precision"] == 1).all()
    assert (people["recall_low"] < people["recall"]).all()
    pan = labels[labels["label"] == "pan"]
    assert pan["recall"].isna().all()
    found = pd.read_csv(tmp_path / "tables" / "correlations.csv")
    assert (found[found["dimension"] == "people|video"]["metric"] == "vtm").all()
    page = next(tmp_path.glob("*.html")).read_text(encoding="utf-8")
    assert "Requested and shown content" in page
