"""The page of disagreements: rows of the report, pictures of the study."""

import pytest
from django.urls import reverse

from annotate.models import Report
from annotate.reports import building
from evalcore.models import Frame, Output
from evalcore.scoring import metric_runs
from tests.factories import make_benchmark, make_study
from tests.people import answer_everything, rob

pytestmark = pytest.mark.django_db

HEADER = (
    "question,metric,value,story,method,other_method,human,human_other,score,"
    "score_other,kind\n"
)


@pytest.fixture
def study():
    row = make_study()
    answer_everything(row)
    metric_runs.run(metric_runs.queue_run(row.benchmark, ["sharpness"]).pk)
    return row


@pytest.fixture
def report(study):
    """A finished report whose table each test writes."""
    row = Report.objects.create(study=study, state="done")
    (building.folder(row) / "tables").mkdir(parents=True)
    return row


def rewrite(report, rows):
    path = building.folder(report) / "tables" / "disagreement.csv"
    path.write_text(HEADER + rows, encoding="utf-8")


def page(client, report, **query):
    url = reverse("report-disagreements", args=[report.study.slug, report.pk])
    return client.get(url, query)


def test_it_works(study):
    row = Report.objects.create(study=study, options={"resamples": 0})
    report = building.build_report(row.pk)
    answer = page(rob(study), report)
    assert answer.status_code == 200
    rows = answer.context["rows"]
    assert rows
    assert {row.metric for row in rows} == {"sharpness"}
    first = rows[0].outputs[0].frames[0]
    thumb = reverse("frame-thumb", args=[study.slug, first.pk])
    assert thumb in answer.content.decode()
    assert rob(study).get(thumb).status_code == 200


def test_question_and_metric_are_chosen_and_unknown_ones_fall_back(study, report):
    rewrite(
        report,
        "a,m1,0.9,01,Alder,,1,,0.8,,cell\na,m2,0.5,02,Birch,,1,,0.8,,cell\n"
        "b,m2,-0.5,02,Cedar,,1,,0.8,,cell\n",
    )
    rows = page(rob(study), report, question="a", metric="m2").context["rows"]
    assert [row.outputs[0].method for row in rows] == ["Birch"]
    rows = page(rob(study), report, question="nothing", metric="m2").context["rows"]
    assert [row.outputs[0].method for row in rows] == ["Birch"]
    rows = page(rob(study), report, question="b", metric="m1").context["rows"]
    assert [row.outputs[0].method for row in rows] == ["Cedar"]


def test_names_are_text_and_not_markup(study, report):
    rewrite(report, "<b>a</b>,'=m,0.9,01,<script>x</script>,,1,,0.8,,cell\n")
    text = page(rob(study), report).content.decode()
    assert "<script>x" not in text
    assert "&lt;script&gt;x" in text
    assert ">=m<" in text.replace("&#x27;", "'")


def test_outputs_of_another_study_are_not_shown(study, report):
    make_study(benchmark=make_benchmark(slug="lake"), slug="other")
    foreign = Frame.objects.filter(output__story__benchmark__slug="lake")
    rewrite(report, "a,m,0.9,01,Alder,,1,,0.8,,cell\n")
    frames = page(rob(study), report).context["rows"][0].outputs[0].frames
    assert frames
    assert not {f.pk for f in frames} & set(foreign.values_list("pk", flat=True))


def test_pictures_of_a_degraded_twin_are_not_mixed_in(study, report):
    kept = study.units.first().output_a
    twin = Output.twins.create(
        story=kept.story,
        method=kept.method,
        twin_of=kept,
        degradation=Output.Degradation.REPEATED_SHOT,
    )
    first = kept.frames.first()
    Frame.objects.create(output=twin, shot=first.shot, number=first.number)
    rewrite(report, f"a,m,0.9,{kept.story.key},{kept.method.name},,1,,0.8,,cell\n")
    frames = page(rob(study), report).context["rows"][0].outputs[0].frames
    assert [frame.output_id for frame in frames] == [kept.pk] * len(frames)
