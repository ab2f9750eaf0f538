"""The page that compares two reports of a study."""

import json

import pytest
from django.urls import reverse

from annotate.models import Report
from annotate.reports import building
from evalcore.scoring import metric_runs
from tests.factories import make_study
from tests.people import answer_everything, eve, rob

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study()


@pytest.fixture
def answered(study):
    answer_everything(study)
    metric_runs.run(
        metric_runs.queue_run(study.benchmark, ["sharpness", "shots_present"]).pk
    )
    return study


def finished(study, verdict=None):
    """Return a minimal finished report."""
    row = Report.objects.create(study=study, state=Report.State.DONE)
    rows = [verdict] if verdict else []
    content = {"tables": {"verdicts": rows, "run": []}}
    building.folder(row).mkdir(parents=True)
    (building.folder(row) / "report.json").write_text(json.dumps(content))
    return row


def built(study, **options):
    row = Report.objects.create(study=study, options={"resamples": 0} | options)
    return building.build_report(row.pk)


def page(client, study, before, after):
    url = reverse("report-comparison", args=[study.slug])
    return client.get(url, {"before": before, "after": after})


@pytest.mark.slow
def test_reports_can_be_compared_from_the_list(answered):
    study = answered
    client = rob(study)
    listed = reverse("report-list", args=[study.slug])
    first = built(study)
    assert "reports/compare/" not in client.get(listed).content.decode()
    alone = client.get(reverse("report-comparison", args=[study.slug]))
    assert "You need two finished reports" in alone.content.decode()
    excluded = [study.method_names[0]]
    second = built(study, exclude_methods=excluded, seed=5)
    assert "reports/compare/" in client.get(listed).content.decode()
    shown = page(client, study, first.pk, second.pk)
    text = shown.content.decode()
    assert shown.status_code == 200
    usual = client.get(reverse("report-comparison", args=[study.slug]))
    assert usual.context["before"] == first
    assert usual.context["after"] == second
    assert usual.context["shown"] == shown.context["shown"]
    (seed,) = [row for row in shown.context["shown"].comparison.run if row[0] == "seed"]
    assert seed == ("seed", "0", "5")
    assert f"Remarks in report {second.pk} only" in " ".join(text.split())
    same = page(client, study, first.pk, first.pk)
    assert "Data, filter and options are the same." in same.content.decode()
    assert same.context["shown"].comparison.n_changed == 0


@pytest.mark.parametrize(
    ("language", "statistic", "verdicts"),
    [
        (
            "en",
            "PPA half, ratings",
            ("better than chance", "not distinguishable from chance"),
        ),
        ("zh-Hans", "PPA half，评分", ("优于随机水平", "与随机水平无法区分")),
    ],
)
def test_changed_verdict_is_in_the_language_of_the_page(
    study, language, statistic, verdicts
):
    verdict = {
        "question": study.questions.first().key,
        "source": "ratings",
        "level": "pairs",
        "statistic": "ppa_half",
        "metric": "sharpness",
        "role": "declared",
        "leads": True,
        "value": 0.61,
        "low": 0.55,
        "high": 0.68,
    }
    for word in ("above chance", "cannot be told"):
        finished(study, verdict | {"verdict": word})
    address = reverse("report-comparison", args=[study.slug])
    shown = rob(study).get(address, headers={"Accept-Language": language})
    (row,) = shown.context["shown"].changed
    assert row["statistic"] == statistic
    assert (row["before"]["verdict"], row["after"]["verdict"]) == verdicts
    assert (row["before"]["value"], row["before"]["interval"]) == ("61 %", "[55, 68]")


@pytest.mark.parametrize("text", ["x", "0", "9" * 30, "²"])
def test_unknown_report_is_not_found(study, text):
    report, _other = finished(study), finished(study)
    assert page(rob(study), study, report.pk, text).status_code == 404


def test_reports_of_another_study_or_for_another_person_are_not_found(study):
    other = make_study(slug="other", benchmark=study.benchmark)
    report, _second, hidden = finished(study), finished(study), finished(other)
    assert page(rob(study), study, report.pk, hidden.pk).status_code == 404
    assert page(eve(), study, report.pk, report.pk).status_code == 404
    queued = Report.objects.create(study=study)
    assert page(rob(study), study, report.pk, queued.pk).status_code == 404


def test_report_whose_files_are_gone_is_not_found(study):
    report, _other = finished(study), finished(study)
    (building.folder(report) / "report.json").unlink()
    assert page(rob(study), study, report.pk, report.pk).status_code == 404


@pytest.mark.slow
def test_declarations_are_part_of_the_compared_inputs(answered):
    """Reports that differ only in the declared metric are different."""
    study = answered
    first = built(study)
    question = study.questions.first()
    question.metric = "sharpness"
    question.save()
    second = built(study)
    shown = page(rob(study), study, first.pk, second.pk).context["shown"]
    keys = [key for key, _old, _new in shown.comparison.run]
    assert "sha256 of hypotheses of the study" in keys
    assert "sha256 of composites of the study" not in keys
