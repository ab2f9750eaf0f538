"""Mechanical Turk's external question and SONA, from the link to the end."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import User, Visit
from annotate.payment.table import people_rows
from tests.annotate.people.mturk import HIT, MTURK, SANDBOX, Worker
from tests.annotate.people.prolific import (
    RECRUITED,
    Participant,
    code_of,
    places_of,
    recruiting_study,
)
from tests.cases import slow
from tests.people import alice

pytestmark = pytest.mark.django_db
SONA = RECRUITED.replace("platform: prolific", "platform: sona") + (
    "  outcomes: {completed: {url: 'https://lab.sona-systems.com/webstudy_credit.aspx"
    "?experiment_id=12&credit_token=4e&survey_code=XXXX'}}\n"
)
FRAMES = (
    "https://www.mturk.com https://worker.mturk.com https://workersandbox.mturk.com"
)


def directive(response, name: str) -> str:
    policy = response.headers["Content-Security-Policy"]
    return re.search(rf"{name} ([^;]*)", policy)[1]


def finished_worker(link) -> Worker:
    worker = Worker(link)
    worker.join()
    worker.agree()
    worker.rate()
    return worker


# Preview and addresses ----------------------------------------------------------------


def test_preview_shows_instructions_and_takes_nothing():
    study, link = recruiting_study(3, MTURK, redundancy=4)
    study.instructions = {"en": "Look at the whole story first."}
    study.save()
    worker = Worker(link)
    page = worker.open(worker.preview)
    assert (worker.status, "This is a preview" in page) == (200, True)
    assert "Look at the whole story first." in page
    assert "about 12 minutes" in page
    assert "Take part" not in page
    worker.press(worker.preview)
    assert (study.annotators.count(), Visit.objects.count()) == (0, 0)
    assert places_of(link) == (0, 0)
    worker.join()
    other = Worker(link, worker.pid)
    assert "This is a preview" in other.open(other.preview)
    assert places_of(link) == (1, 1)


FORGED = (
    "https://evil.example",
    "https://www.mturk.com.evil.example",
    "https://www.mturk.com@evil.example",
    "http://www.mturk.com",
    "https://www.mturk.com:8443",
    "javascript:alert(1)",
    "//www.mturk.com",
    "https://evil.example\\@www.mturk.com",
    "https://[",
)


def test_forged_server_is_refused_and_takes_nothing():
    _study, link = recruiting_study(3, MTURK, redundancy=4)
    for server in FORGED:
        worker = Worker(link, server=server)
        for page in (worker.open(), worker.press()):
            assert worker.status == 409, server
            assert "which is not Mechanical Turk" in page
            assert 'action="https' not in page
    assert (places_of(link), Visit.objects.count()) == ((0, 0), 0)


@pytest.mark.parametrize("server", ["https://www.mturk.com/", *slow(SANDBOX)])
def test_completed_assignment_is_posted_back(server):
    study, link = recruiting_study(3, MTURK, redundancy=4)
    worker = Worker(link, server=server)
    worker.join()
    worker.agree()
    worker.rate(1)
    assert worker.posted == {}
    worker.rate()
    assert worker.posted == {
        "assignmentId": worker.session,
        "outcome": "completed",
        "code": code_of(study, "completed"),
    }
    assert f'action="{server.rstrip("/")}/mturk/externalSubmit"' in worker.page
    (row,) = [one for one in people_rows(study) if one.annotator == worker.annotator]
    assert row.visit == (HIT, worker.session)


@pytest.mark.slow
def test_worker_without_consent_or_work_posts_its_code():
    study, link = recruiting_study(1, MTURK, redundancy=4)
    finished_worker(link)
    late = Worker(link)
    late.join()
    assert late.posted["assignmentId"] == late.session
    assert late.handed_in == code_of(study, "no_work")
    link.__class__.objects.update(most=2)
    late.join()
    late.decline()
    assert late.handed_in == code_of(study, "no_consent")


# Assignments --------------------------------------------------------------------------


@pytest.mark.slow
def test_returned_assignment_is_replaced_by_the_next():
    study, link = recruiting_study(3, MTURK, redundancy=4)
    worker = Worker(link)
    worker.lose_reply()
    worker.open()
    worker.agree()
    worker.rate(1)
    worker.session = "3SECONDASSIGNMENT0000000000001"
    worker.open()
    worker.rate(1)
    assert worker.posted["assignmentId"] == worker.session
    assert places_of(link) == (1, 1)
    assert study.annotators.filter(external_id=worker.pid).count() == 1


@pytest.mark.slow
def test_second_task_is_not_handed_in_after_the_first():
    study, link = recruiting_study(3, MTURK, redundancy=4)
    worker = finished_worker(link)
    first, worker.session, worker.hit = worker.session, "3OTHER" + "0" * 24, "3HIT2"
    assert "already finished this study in another task" in worker.open()
    assert (worker.status, worker.posted) == (409, {})
    worker.open(worker.browser.address("entry"))
    assert worker.posted["assignmentId"] == first
    visits = {one.visit for one in people_rows(study) if one.visit[0]}
    assert visits == {(HIT, first)}


@pytest.mark.slow
def test_id_of_a_person_who_left_gives_no_place_in_another_browser(clock):
    _study, link = recruiting_study(1, MTURK, redundancy=4)
    ann, bob = Worker(link), Worker(link)
    ann.join()
    clock.move(31)
    bob.join()
    assert places_of(link) == (1, 1)
    bob.decline()
    thief = ann.on_another_device(session="3GUESSED")
    assert "already taking part in another browser" in thief.open()
    thief.press()
    assert (thief.status, places_of(link)) == (403, (0, 0))
    assert ann.browser.token not in thief.page
    assert "Your place went to somebody else" in ann.open()
    ann.press(ann.browser.address("return"))
    assert places_of(link) == (1, 1)


# Frames -------------------------------------------------------------------------------


def test_only_the_platform_frames_pages_of_its_study():
    study, link = recruiting_study(3, MTURK, redundancy=4)
    worker = finished_worker(link)
    framed = [worker.preview, Worker(link).address]
    framed += [worker.browser.address(one) for one in ("done", "withdraw", "consent")]
    for address in framed:
        answer = worker.client.get(address)
        assert directive(answer, "frame-ancestors") == FRAMES, address
        assert "X-Frame-Options" not in answer.headers
        at_end = address.endswith("/done/")
        form_action = f"'self' {FRAMES}" if at_end else "'self'"
        assert directive(answer, "form-action") == form_action, address
    others = [
        (alice(study), reverse("study-recruitment", args=[study.slug])),
        (Client(), reverse("login")),
    ]
    check_not_framed(others)
    study.recruitment = {"platform": "prolific"}
    study.save()
    check_not_framed((worker.client, address) for address in framed)


def check_not_framed(pages) -> None:
    for client, address in pages:
        answer = client.get(address)
        assert directive(answer, "frame-ancestors") == "'none'", address
        assert answer.headers["X-Frame-Options"] == "DENY"


def test_cookies_of_a_framed_study_survive_in_a_frame(settings):
    settings.SESSION_COOKIE_SECURE = True
    study, link = recruiting_study(3, MTURK, redundancy=4)
    for platform, is_framed in (("mturk", True), ("prolific", False)):
        study.recruitment = {"platform": platform}
        study.save()
        answer = Client().post(Worker(link).address)
        sent = [one.OutputString() for one in answer.cookies.values()]
        assert len(sent) == 2
        for cookie in sent:
            is_open = "SameSite=None" in cookie and cookie.endswith("; Partitioned")
            assert (is_open, "Secure" in cookie) == (is_framed, True), cookie


def test_form_without_cookies_is_accepted_from_own_pages_only():
    """Attack: another site posts a form; its browser says from where."""
    study, link = recruiting_study(3, MTURK, redundancy=4)
    for site in ("cross-site", "same-site", "none", ""):
        client = Client(enforce_csrf_checks=True, headers={"Sec-Fetch-Site": site})
        assert client.post(Worker(link).address).status_code == 403, site
    own = Client(enforce_csrf_checks=True, headers={"Sec-Fetch-Site": "same-origin"})
    assert not study.annotators.exclude(external_id="").exists()
    worker = Worker(link, client=own)
    answer = own.post(worker.address)
    own.cookies.clear()
    consent = own.get(answer.url).url
    assert own.post(consent).url.endswith("/instructions/")
    alice(study)
    own.force_login(User.objects.get(username="alice"))
    change = reverse("join-link-places", args=[study.slug, link.pk])
    assert own.post(change, {"most": "9"}).status_code == 403


# The manager's page, and SONA ---------------------------------------------------------


def test_manager_copies_the_external_question():
    study, link = recruiting_study(3, MTURK, redundancy=4)
    page = alice(study).get(reverse("study-recruitment", args=[study.slug]))
    text = page.content.decode()
    assert f"/join/{link.token}/&lt;/ExternalURL&gt;" in text
    assert "2006-07-14/ExternalQuestion.xsd" in text


@pytest.mark.slow
def test_sona_credits_the_person_by_their_survey_code():
    study, link = recruiting_study(3, SONA, redundancy=4)
    shown = alice(study).get(reverse("study-recruitment", args=[study.slug]))
    assert f"/join/{link.token}/?survey_code=%SURVEY_CODE%" in shown.content.decode()
    student = Participant(link, pid="4567", session="")
    address = reverse("join", args=[link.token], query={"survey_code": "4567"})
    student.press(address)
    student.agree()
    page = student.rate()
    credit = "/webstudy_credit.aspx?experiment_id=12&amp;credit_token=4e&amp;"
    assert f"https://lab.sona-systems.com{credit}survey_code=4567" in page
    other = Client().get(address)
    assert "already taking part in another browser" in other.content.decode()
