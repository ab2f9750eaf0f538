"""The REST API: the same functions, the same limits."""

import json

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.models import Study
from evalcore.models import MetricScore
from tests.factories import make_study
from tests.people import alice, answer_everything, program, rob

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study()


def test_api_serves_studies_coverage_and_exports(study):
    rob(study)
    client = program("rob")
    listed = client.get(reverse("api-studies")).json()["results"]
    assert [row["slug"] for row in listed] == [study.slug]
    answer_everything(study)
    cells = client.get(reverse("api-coverage", args=[study.slug])).json()
    assert cells["submitted"] == 12
    assert len(cells["cells"]) == 6


def test_token_gives_access_to_tables(study, subtests):
    rob(study)
    for table in ["ratings", "choices", "scores"]:
        with subtests.test(table):
            response = program("rob").get(
                reverse("api-table", args=[study.slug, table])
            )
            assert response.getvalue().startswith(b"story,method")


def test_posted_scores_are_stored(study):
    alice(study)
    url = reverse("api-scores", args=[study.slug])
    rows = [{"story": "01", "method": "Alder", "metric": "cids", "score": 0.5}]
    response = program("alice").post(url, {"scores": rows}, format="json")
    assert response.json() == {
        "rows": 1,
        "created": 1,
        "replaced": 0,
        "guessed": ["cids"],
        "turned": [],
    }
    stored = MetricScore.everything.get()
    assert (stored.value, stored.posted_to) == (0.5, study.slug)


def test_scores_of_another_studys_methods_are_refused(study):
    """The benchmark is shared; its other methods are not even named."""
    study.units.filter(output_a__method__name="Cedar").delete()
    alice(study)
    url = reverse("api-scores", args=[study.slug])
    for story in ("01", ""):
        row = {"story": story, "method": "Cedar", "metric": "cids", "score": 0.5}
        for body in ({"scores": [row]}, {"scores": [row], "replace": True}):
            response = program("alice").post(url, body, format="json")
            assert response.status_code == 400
            expected = (
                f"scores:1: {story} / Cedar: expected a story and method of this study"
            )
            (problem,) = response.json()["problems"]
            assert problem["text"] == expected
    near = {"story": "01", "method": "Ceda", "metric": "cids", "score": 0.5}
    response = program("alice").post(url, {"scores": [near]}, format="json")
    assert "Cedar" not in response.content.decode()
    assert not MetricScore.everything.exists()


def test_bad_scores_are_refused_with_every_problem(study):
    alice(study)
    rows = [
        {"story": "01", "method": "Alder", "metric": "cids", "score": 0.5},
        {"story": "01", "method": "Elm", "metric": "cids", "score": 0.5},
        {"story": "77", "method": "Alder", "metric": "cids", "score": 0.5},
    ]
    url = reverse("api-scores", args=[study.slug])
    response = program("alice").post(url, {"scores": rows}, format="json")
    assert response.status_code == 400
    assert len(response.json()["problems"]) == 2
    assert not MetricScore.everything.exists()


def post_score(study, score, **fields):
    """Post one score as it stands in JSON, where NaN and infinity are words."""
    row = {"story": "01", "method": "Alder", "metric": "occm", "score": score}
    body = json.dumps({"scores": [row | fields]})
    url = reverse("api-scores", args=[study.slug])
    return program("alice").post(url, body, content_type="application/json").json()


def test_posted_score_is_parsed_like_a_file(study, subtests):
    alice(study)
    for score, told in [
        ("\uff14", "\uff14 (U+FF14): expected a number such as 3 or 0.75"),
        ("\u22120.5", "\u22120.5 (U+2212): expected a number such as 3 or 0.75"),
        ("1_000", "1_000: expected a number such as 3 or 0.75"),
        (True, "True: expected a number: 1 for true, 0 for false"),
        (float("inf"), "inf: expected a number such as 3 or 0.75"),
    ]:
        with subtests.test(told):
            (problem,) = post_score(study, score)["problems"]
            assert problem["text"].startswith(f"scores:1: score: {told}")
            assert (problem["line"], problem["column"]) == (1, "score")
    assert not MetricScore.everything.exists()
    for score in (None, float("nan"), "nan", ""):
        with subtests.test(f"missing: {score}"):
            assert post_score(study, score)["created"] == 0
    for number, score in enumerate((0.5, "\u00a00.5")):
        assert post_score(study, score, metric=f"new{number}")["created"] == 1
    assert {row.value for row in MetricScore.everything.all()} == {0.5}


def test_refused_score_names_the_field_that_overwrites_it(study):
    alice(study)
    url = reverse("api-scores", args=[study.slug])
    client = program("alice")
    row = {"story": "01", "method": "Alder", "metric": "occm", "score": 0.5}
    client.post(url, {"scores": [row]}, format="json")
    other = {"scores": [row | {"score": 0.6}]}
    refused = client.post(url, other, format="json")
    (problem,) = refused.json()["problems"]
    assert problem["expected"] == "the stored value 0.5 (option replace overwrites it)"
    replaced = client.post(url, {**other, "replace": True}, format="json")
    assert replaced.json()["replaced"] == 1


def test_archived_study_takes_no_scores(study):
    alice(study)
    Study.objects.filter(pk=study.pk).update(state="closed", archived_at=timezone.now())
    url = reverse("api-scores", args=[study.slug])
    rows = [{"story": "01", "method": "Alder", "metric": "cids", "score": 0.5}]
    assert (
        program("alice").post(url, {"scores": rows}, format="json").status_code == 409
    )
    assert not MetricScore.everything.exists()
