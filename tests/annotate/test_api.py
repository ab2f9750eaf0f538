"""The REST API: the same functions, the same limits."""

import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from annotate.models import Annotator, Invitation, Rating, Slot, Study
from evalcore.models import MetricScore
from tests.factories import METHODS, make_study
from tests.people import alice, answer_everything, eve, program, rob

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study()


def seat(study, name="A01") -> APIClient:
    now = timezone.now()
    study.annotators.update(consented_at=now, instructed_at=now, state="active")
    client = APIClient()
    token = Invitation.objects.get(annotator__name=name, annotator__study=study).token
    client.credentials(HTTP_AUTHORIZATION=f"Invitation {token}")
    return client


def test_api_serves_studies_coverage_and_exports(study):
    rob(study)
    client = program("rob")
    listed = client.get(reverse("api-studies")).json()["results"]
    assert [row["slug"] for row in listed] == [study.slug]
    answer_everything(study)
    cells = client.get(reverse("api-coverage", args=[study.slug])).json()
    assert cells["submitted"] == 12
    assert len(cells["cells"]) == 6


@pytest.mark.parametrize("table", ["ratings", "choices", "scores"])
def test_token_gives_access_to_tables(study, table):
    rob(study)
    response = program("rob").get(reverse("api-table", args=[study.slug, table]))
    assert response.getvalue().startswith(b"story,method")


@pytest.mark.parametrize("name", ["api-study", "api-coverage", "api-scores"])
def test_api_hides_studies_from_other_users(study, name):
    eve()
    client = program("eve")
    url = reverse(name, args=[study.slug])
    send = client.post if name == "api-scores" else client.get
    assert send(url, {"scores": []}, format="json").status_code == 404
    assert APIClient().get(url).status_code == 401
    table = reverse("api-table", args=[study.slug, "ratings"])
    assert client.get(table).status_code == 404
    assert APIClient().get(table).status_code == 401


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


@pytest.mark.parametrize(
    ("score", "told"),
    [
        ("\uff14", "\uff14 (U+FF14): expected a number such as 3 or 0.75"),
        ("\u22120.5", "\u22120.5 (U+2212): expected a number such as 3 or 0.75"),
        ("1_000", "1_000: expected a number such as 3 or 0.75"),
        (True, "True: expected a number: 1 for true, 0 for false"),
        (float("inf"), "inf: expected a number such as 3 or 0.75"),
        ("\u00a00.5", None),
        (0.5, None),
    ],
)
def test_posted_score_is_parsed_like_a_file(study, score, told):
    alice(study)
    row = {"story": "01", "method": "Alder", "metric": "occm", "score": score}
    body = json.dumps({"scores": [row]})
    url = reverse("api-scores", args=[study.slug])
    response = program("alice").post(url, body, content_type="application/json")
    if told is None:
        assert MetricScore.everything.get().value == 0.5
    else:
        (problem,) = response.json()["problems"]
        assert problem["text"].startswith(f"scores:1: score: {told}")
        assert (problem["line"], problem["column"]) == (1, "score")


@pytest.mark.parametrize("score", [None, float("nan"), "nan", ""])
def test_posted_score_may_be_missing_as_in_files(study, score):
    alice(study)
    row = {"story": "01", "method": "Alder", "metric": "occm"}
    rows = [row | {"score": score}, row | {"story": "02", "score": 1}]
    body = json.dumps({"scores": rows})
    url = reverse("api-scores", args=[study.slug])
    response = program("alice").post(url, body, content_type="application/json")
    assert response.json()["created"] == 1


def test_researchers_cannot_post_scores(study):
    rob(study)
    url = reverse("api-scores", args=[study.slug])
    assert program("rob").post(url, {"scores": []}, format="json").status_code == 403


def test_archived_study_takes_no_scores(study):
    alice(study)
    Study.objects.filter(pk=study.pk).update(state="closed", archived_at=timezone.now())
    url = reverse("api-scores", args=[study.slug])
    rows = [{"story": "01", "method": "Alder", "metric": "cids", "score": 0.5}]
    assert (
        program("alice").post(url, {"scores": rows}, format="json").status_code == 409
    )
    assert not MetricScore.everything.exists()


def test_api_takes_and_submits_every_slot(study):
    client = seat(study)
    taken = 0
    while (response := client.post(reverse("api-slot"))).status_code == 200:
        slot = response.json()
        assert not any(name in response.content.decode() for name in METHODS)
        answers = {question["key"]: "3" for question in slot["questions"]}
        url = reverse("api-submit", args=[slot["code"]])
        done = client.post(url, {"answers": answers, "seconds": 5}, format="json")
        assert done.json()["state"] == "submitted"
        taken += 1
    assert response.status_code == 204
    assert taken == 6
    assert Rating.objects.count() == 12
    assert study.annotators.get(name="A01").state == "finished"
    assert study.annotators.get(name="A01").finished_at is not None


def test_repeated_request_returns_the_same_slot(study):
    client = seat(study)
    first = client.post(reverse("api-slot")).json()["code"]
    assert client.post(reverse("api-slot")).json()["code"] == first
    assert Slot.objects.filter(state="leased").count() == 1


def test_answer_off_the_scale_is_refused_and_nothing_is_stored(study):
    client = seat(study)
    code = client.post(reverse("api-slot")).json()["code"]
    url = reverse("api-submit", args=[code])
    for value in ("9", "--3", "3.0", "٣", "9" * 5000, "true"):
        answers = {"aesthetics": "3", "character": value}
        response = client.post(url, {"answers": answers}, format="json")
        assert response.status_code == 400, value
        assert response.json()["problems"][0]["column"] == "answers"
    assert not Rating.objects.exists()
    unknown = client.post(url, {"answers": {"colour": "1"}}, format="json")
    assert unknown.status_code == 400
    assert not Slot.objects.filter(state="submitted").exists()


def test_slot_of_another_annotator_is_not_found(study):
    code = seat(study).post(reverse("api-slot")).json()["code"]
    url = reverse("api-submit", args=[code])
    response = seat(study, "A02").post(url, {"answers": {}}, format="json")
    assert response.status_code == 404


def test_api_requires_consent_and_a_valid_link(study):
    client = seat(study)
    Annotator.objects.update(consented_at=None)
    assert client.post(reverse("api-slot")).status_code == 409
    Invitation.objects.update(revoked_at="2025-01-01T00:00Z")
    assert client.post(reverse("api-slot")).status_code == 401


def test_schema_has_no_warnings():
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=io.StringIO())


def test_checklist_is_submitted_by_shot():
    study = make_study(kind="checklist", consented=True)
    client = seat(study)
    slot = client.post(reverse("api-slot")).json()
    assert slot["ticked"] == {}
    assert slot["questions"][0]["options"] == ["0", "1"]
    url = reverse("api-submit", args=[slot["code"]])
    ticked = {"1": ["pan|text"], "2": []}
    response = client.post(url, {"ticked": ticked}, format="json")
    assert response.status_code == 409
    assert "shot 3" in str(response.json())
    assert not Rating.objects.exists()  # all or nothing
    refused = client.post(url, {"answers": {"pan|text": "1"}}, format="json")
    assert "send it shot by shot, under `ticked`" in str(refused.json())
    for wrong in (
        {"1": ["fish|text"]},
        {"9": []},
        {"one": []},
        {"9" * 5000: []},
        {"²": []},
    ):
        response = client.post(url, {"ticked": wrong}, format="json")
        assert response.status_code == 400, wrong
    ticked["3"] = ["people|video"]
    done = client.post(url, {"ticked": ticked}, format="json")
    assert done.json()["state"] == "submitted"
    assert Rating.objects.filter(value=1).count() == 2
    assert Rating.objects.count() == 18


def test_submission_requires_answers(study):
    client = seat(study)
    code = client.post(reverse("api-slot")).json()["code"]
    url = reverse("api-submit", args=[code])
    assert client.post(url, {"seconds": 3}, format="json").status_code == 400


def test_submission_refuses_more_answers_than_the_limit(study):
    client = seat(study)
    code = client.post(reverse("api-slot")).json()["code"]
    sent = {"ticked": {str(n): [] for n in range(1, 202)}}
    reply = client.post(reverse("api-submit", args=[code]), sent, format="json")
    assert reply.status_code == 413
    assert (
        "at most 200 answers and ticked shots in one request, not 201"
        in reply.json()["detail"]
    )
    assert not Rating.objects.exists()
