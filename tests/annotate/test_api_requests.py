"""Shared parts of the API: problems, repeated requests, pages."""

import threading

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from annotate.api.idempotency import KEPT
from annotate.models import AnalysisView, KeptAnswer, Study
from evalcore import members
from tests.factories import make_benchmark, make_study
from tests.people import alice, log_in, program, rob

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study()


def problem(answer) -> dict:
    assert answer["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body.keys() >= {"type", "title", "status", "detail"}
    assert body["status"] == answer.status_code
    return body


# Problems -----------------------------------------------------------------------------


def test_refusals_without_a_view_are_problem_documents(study):
    alice(study)
    client = program("alice")
    url = reverse("api-scores", args=[study.slug])
    answers = [
        client.get("/api/v1/nothing/"),
        client.put(url, {}, format="json"),
        client.post(url, "x", content_type="text/plain"),
        client.post(url, "{", content_type="application/json"),
        client.get(reverse("api-studies"), {"limit": "\0"}),
        client.get(reverse("api-studies"), HTTP_HOST="evil.example"),
        client.post(
            url, "", content_type="application/json", CONTENT_LENGTH="30000000"
        ),
        APIClient(enforce_csrf_checks=True).get(url),
    ]
    statuses = [problem(answer)["status"] for answer in answers]
    assert statuses == [404, 405, 415, 400, 400, 400, 413, 401]
    assert answers[1]["Allow"]


def test_forged_request_is_a_problem_document(study):
    session = alice(study).cookies
    client = APIClient(enforce_csrf_checks=True)
    client.cookies = session
    answer = client.post(reverse("api-state", args=[study.slug]), {"do": "pause"})
    assert "CSRF" in problem(answer)["detail"]


def test_failure_of_the_server_is_a_problem_document(study, monkeypatch):
    rob(study)
    monkeypatch.setattr("annotate.api.progress.units", None)
    token = program("rob")._credentials["HTTP_AUTHORIZATION"]
    client = Client(raise_request_exception=False, headers={"Authorization": token})
    answer = client.get(reverse("api-coverage", args=[study.slug]))
    assert problem(answer)["status"] == 500
    assert answer["X-Request-ID"]


def test_problems_name_line_and_path(study):
    alice(study)
    client = program("alice")
    url = reverse("api-studies")
    body = {
        "benchmark": "woods",
        "slug": "new",
        "study_file": "title: A\nhue: red\n",
    }
    problems = problem(client.post(url, body, format="json"))["problems"]
    (one,) = (one for one in problems if one["column"] == "hue")
    assert one["line"] == 2
    assert "unknown key" in one["expected"]
    body = {"benchmark": "woods", "slug": 7, "dry_run": "yes", "colour": "red"}
    problems = problem(client.post(url, body, format="json"))["problems"]
    assert {one["column"] for one in problems} == {"slug", "dry_run", "colour"}


# Repeated requests --------------------------------------------------------------------


def add_filter(client, study, name, **body):
    url = reverse("api-views", args=[study.slug])
    given = {"key": "strict", "title": "Strict", **body}
    return client.post(url, given, format="json", headers={"Idempotency-Key": name})


def test_repeated_request_is_carried_out_once(study):
    alice(study)
    client = program("alice")
    first, again = (add_filter(client, study, "a") for _n in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert first["Location"] == again["Location"]
    assert again["Idempotency-Replayed"] == "true"
    assert AnalysisView.objects.filter(key="strict").count() == 1
    assert add_filter(client, study, "b").status_code == 400  # it exists
    other = add_filter(client, study, "a", title="Other")
    assert problem(other)["type"].endswith("#key-of-another-request")
    assert other.status_code == 422
    log_in("bert", study, "manager")
    assert add_filter(program("bert"), study, "a", key="own").status_code == 201


def test_refused_request_may_be_mended_under_its_key(study):
    alice(study)
    client = program("alice")
    assert add_filter(client, study, "a", title="").status_code == 400
    assert add_filter(client, study, "a").status_code == 201


def test_key_is_free_after_a_day(study):
    alice(study)
    client = program("alice")
    add_filter(client, study, "a")
    KeptAnswer.objects.update(created_at=timezone.now() - KEPT)
    assert add_filter(client, study, "a", key="more").status_code == 201


def test_request_in_work_is_not_carried_out_again(study):
    alice(study)
    client = program("alice")
    add_filter(client, study, "a")
    KeptAnswer.objects.update(status=None, body="")  # as while it is in work
    assert add_filter(client, study, "a").status_code == 409


@pytest.mark.django_db(transaction=True)
def test_simultaneous_requests_with_one_key_act_once():
    study = make_study()
    alice(study)
    tokens = [program("alice") for _n in range(3)]
    statuses: list[int] = []

    def send(client):
        statuses.append(add_filter(client, study, "a").status_code)

    threads = [threading.Thread(target=send, args=[client]) for client in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 201 in statuses
    assert set(statuses) <= {201, 409}
    assert AnalysisView.objects.filter(key="strict").count() == 1


def test_operation_with_a_secret_takes_no_key(study):
    answer = Client().post(
        reverse("api-token"),
        {"username": "alice", "password": "x"},
        "application/json",
        headers={"Idempotency-Key": "a"},
    )
    assert answer.status_code == 400
    assert not KeptAnswer.objects.exists()


# Pages --------------------------------------------------------------------------------


def test_pages_of_a_list_are_linked(study):
    rob(study)
    client = program("rob")
    url = reverse("api-slots", args=[study.slug])
    first = client.get(url, {"limit": 5})
    assert first.json()["count"] == 12
    assert 'rel="next"' in first["Link"]
    seen, page = [], first.json()
    while True:
        seen += [row["code"] for row in page["results"]]
        if page["next"] is None:
            break
        page = client.get(page["next"]).json()
    assert sorted(seen) == sorted(study.slots.values_list("code", flat=True))
    for wrong in ({"limit": 0}, {"limit": "x"}, {"offset": -1}, {"colour": "red"}):
        assert client.get(url, wrong).status_code == 400, wrong


# A study by the API alone -------------------------------------------------------------

FILE = """\
title: By a script
assignment: planned
redundancy: 2
session_size: 3
questions:
  - key: style
    kind: likert
    scale: [0, 4]
    text: How well does the style fit?
"""


@pytest.mark.slow
def test_script_sets_up_runs_and_ends_a_study():
    benchmark = make_benchmark()
    log_in("alice")
    members.add(benchmark, members.account("alice"))
    client = program("alice")

    def post(name, body=None, *args):
        answer = client.post(reverse(name, args=args), body or {}, format="json")
        assert answer.status_code in (200, 201, 202), answer.content
        return answer

    body = {"benchmark": "woods", "slug": "script", "annotators": 4, "study_file": FILE}
    outline = post("api-studies", {**body, "dry_run": True}).json()
    assert (outline["items"], outline["ratings"]) == (6, 12)
    assert not Study.objects.exists()
    made = post("api-studies", body)
    assert client.get(made["Location"]).json()["state"] == "draft"
    invited = post("api-invite", {"count": 2}, "script").json()["made"]
    assert all("/rate/" in one["link"] for one in invited)
    assert post("api-state", {"do": "launch"}, "script").json()["state"] == "open"
    address = reverse("api-study", args=["script"])
    changed = client.patch(
        address, {"title": "Renamed", "deadline": None}, format="json"
    )
    assert changed.json()["title"] == "Renamed"
    progress = client.get(reverse("api-progress", args=["script"])).json()
    assert (progress["submitted"], progress["wanted"]) == (0, 12)
    people = client.get(reverse("api-people", args=["script"])).json()["results"]
    assert [one["status"] for one in people] == ["not_started"] * 4
    paused = post("api-annotator-state", {"do": "pause"}, "script", people[0]["id"])
    assert paused.json()["state"] == "paused"
    withdrawn = post("api-withdraw", {"methods": ["Alder"]}, "script").json()
    assert withdrawn["ratings"] == 4
    assert post("api-reports", {"resamples": 0}, "script").json()["state"] == "queued"
    post("api-state", {"do": "close"}, "script")
    assert client.delete(f"{address}?confirm=script").status_code == 403
    members.add(benchmark, members.account("alice"), members.Role.OWNER)
    assert client.delete(address).status_code == 400
    assert client.delete(f"{address}?confirm=script").status_code == 204
    assert not Study.objects.exists()
