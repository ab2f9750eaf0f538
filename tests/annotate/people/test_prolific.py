"""Prolific from link to code: outcomes, places and ways back."""

import pytest
from django.urls import reverse

from annotate.audit_log.verifying import problems
from annotate.models import Visit
from annotate.people import joining, ordering, platforms
from annotate.schema import DefinitionError
from annotate.studies.study_file import read_definition, write_definition
from tests.annotate.people.prolific import (
    RECRUITED,
    Participant,
    code_of,
    places_of,
    recruiting_study,
)
from tests.people import alice, rob

pytestmark = pytest.mark.django_db
TRAINING = """
training:
  attempts: 1
  pass_mark: 0.6
  units:
    - {story: "01", method: Alder, expected: {character: 4, beauty: 4}}
"""


def read(extra: str):
    return read_definition(RECRUITED + extra, file="s.yaml", name="s")


# Study file ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("https://app.prolific.com/submissions/complete?cc=X1", ""),
        ("https://evil.example/submissions/complete?cc=X1", "not to evil.example"),
        ("https://app.prolific.com.evil.example/", "not to app.prolific.com.evil"),
        ("https://app.prolific.com@evil.example/", "begins with https://"),
        ("http://app.prolific.com/submissions/complete", "begins with https://"),
        ("https://app.prolific.com:8443/", "begins with https://"),
        ("https://evil.example\\@app.prolific.com/", "begins with https://"),
        ("javascript:alert(1)", "begins with https://"),
        ("//app.prolific.com/", "begins with https://"),
        ("https://[", "write a web address"),
    ],
)
def test_completion_address_is_refused_on_foreign_hosts(address, reason):
    found = platforms.problem_of_address(platforms.PROLIFIC, address)
    assert (reason in found) if reason else found == ""
    data = f"  outcomes: {{completed: {{url: '{address}'}}}}\n"
    if not reason:
        assert read(data).recruitment.outcomes.completed.url == address
        return
    with pytest.raises(DefinitionError) as error:
        read(data)
    assert "recruitment.outcomes.completed.url" in str(error.value)
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ("  outcomes: {completed: {code: 'a b'}}", "letters, digits"),
        ("  outcomes: {completed: {code: X}, failed: {code: X}}", "another code"),
        ("  outcomes: {finished: {code: X}}", "expected completed"),
    ],
)
def test_wrong_codes_are_refused(extra, reason):
    with pytest.raises(DefinitionError, match=reason):
        read(extra + "\n")


def test_recruitment_survives_writing():
    definition = read("  outcomes: {completed: {code: C1}, no_consent: {code: N1}}\n")
    text = write_definition(definition)
    assert read_definition(text, file="s.yaml", name="s") == definition
    assert "no_work" not in text


# Outcomes -----------------------------------------------------------------------------


def test_completion_code_is_one_for_all_and_has_an_address():
    study, link = recruiting_study(3, redundancy=4)
    codes = set()
    for _number in range(2):
        person = Participant(link)
        person.join()
        person.agree()
        person.rate()
        assert "Return to Prolific" in person.page
        codes.add(person.handed_in)
    assert codes == {code_of(study, "completed")}
    assert len(set(study.recruitment["outcomes"])) == 5
    visit = Visit.objects.filter(annotator=person.annotator).get()
    assert (visit.session, visit.platform_study) == (person.session, "5e9")


def test_declining_ends_with_a_code_and_frees_the_place():
    study, link = recruiting_study(1, redundancy=4)
    ann = Participant(link)
    assert "I do not agree" in ann.join()
    ann.decline()
    assert ann.handed_in == code_of(study, "no_consent")
    assert (ann.status, ann.annotator.declined_at is not None) == (200, True)
    assert places_of(link) == (0, 0)
    ann.open()
    assert ann.handed_in == code_of(study, "no_consent")
    bob = Participant(link)
    bob.join()
    again = ann.browser.address("return")
    assert "Enough people" in ann.press(again) or "All places" in ann.page
    bob.decline()
    assert "I agree and continue" in ann.press(again)
    assert places_of(link) == (1, 1)
    assert problems(study) == []


def test_failing_the_training_frees_the_place():
    study, link = recruiting_study(1, RECRUITED + TRAINING, redundancy=4)
    person = Participant(link)
    person.join()
    browser = person.browser
    browser.start()
    browser.fill(character="0", beauty="0")
    person.open()
    assert person.handed_in == code_of(study, "failed")
    assert places_of(link) == (0, 0)


def test_full_link_hands_in_that_no_work_is_left():
    study, link = recruiting_study(1, redundancy=4)
    Participant(link).join()
    late = Participant(link)
    late.join()
    assert late.handed_in == code_of(study, "no_work")
    assert late.annotator is None


# Places -------------------------------------------------------------------------------


@pytest.mark.slow
def test_place_of_a_person_who_left_half_way_goes_to_another(clock):
    study, link = recruiting_study(1, redundancy=4)
    ann, bob = Participant(link), Participant(link)
    ann.join()
    ann.agree()
    ann.rate(1)
    bob.join()
    assert bob.annotator is None, "Ann has just worked"
    clock.move(31)
    bob.join()
    assert bob.annotator is not None
    assert "Your place went to somebody else" in ann.open()
    assert ann.handed_in == code_of(study, "stopped")
    assert "All places are taken" in ann.press(ann.browser.address("return"))
    bob.decline()
    ann.press(ann.browser.address("return"))
    ann.rate(1)
    assert ann.handed_in == code_of(study, "completed")
    assert places_of(link) == (1, 1)
    assert problems(study) == []


@pytest.mark.slow
def test_place_of_a_person_who_finished_is_kept(clock):
    study, link = recruiting_study(1, redundancy=4)
    ann = Participant(link)
    ann.join()
    ann.agree()
    ann.rate()
    clock.move(24 * 60)
    bob = Participant(link)
    bob.join()
    assert (bob.annotator, bob.handed_in) == (None, code_of(study, "no_work"))
    args = [study.slug, ann.annotator.pk, "revoke"]
    alice(study).post(reverse("annotator-action", args=args))
    assert places_of(link) == (1, 1)


@pytest.mark.slow
def test_places_are_changed_without_another_address():
    study, link = recruiting_study(1, redundancy=4)
    Participant(link).join()
    change = reverse("join-link-places", args=[study.slug, link.pk])
    assert rob(study).post(change, {"most": "2"}).status_code == 403
    manager, token = alice(study), link.token
    manager.post(change, {"most": "2"})
    Participant(link).join()
    assert places_of(link) == (2, 2)
    refused = manager.post(change, {"most": "1"}, follow=True).content.decode()
    assert "Enter a number of places from 2" in refused
    link.refresh_from_db()
    assert (link.most, link.token) == (2, token)


# Ways back ----------------------------------------------------------------------------


def test_lost_reply_leads_back_to_the_same_place():
    _study, link = recruiting_study(2, redundancy=4)
    ann = Participant(link)
    ann.lose_reply()
    assert "I agree and continue" in ann.open()
    assert places_of(link) == (1, 1)


def test_same_attempt_is_known_in_another_browser_but_an_id_is_not():
    _study, link = recruiting_study(3, redundancy=4)
    ann = Participant(link)
    ann.join()
    ann.agree()
    assert ann.on_another_device().open().count("already taking part") == 0
    short = Participant(link, session="1")
    short.join()
    assert short.on_another_device().open().count("already taking part") > 0
    eve = ann.on_another_device(session="guessed")
    eve.open()
    assert (eve.status, "already taking part in another browser" in eve.page) == (
        403,
        True,
    )
    assert ann.browser.token not in eve.page
    eve.press()
    assert eve.status == 403
    assert places_of(link) == (2, 2)


@pytest.mark.slow
def test_manager_lets_one_browser_in():
    study, link = recruiting_study(2, redundancy=4)
    ann = Participant(link)
    ann.join()
    ann.agree()
    new, eve = (ann.on_another_device(session=s) for s in ("second", "guessed"))
    for browser in (new, eve):
        browser.press(ask="1")
        assert "Your request" in browser.page
    progress = alice(study).get(reverse("study-detail", args=[study.slug]))
    assert "2 people ask to continue" in progress.content.decode()
    page = alice(study).get(reverse("study-recruitment", args=[study.slug]))
    wanted, _other = Visit.objects.filter(admitted_at=None).order_by("pk")
    assert [wanted.code in one.page for one in (new, eve)] == [True, False]
    assert wanted.code in page.content.decode()
    admit = reverse("visit-admit", args=[study.slug, wanted.pk])
    assert rob(study).post(admit).status_code == 403
    alice(study).post(admit)
    for browser in (new, eve):
        browser.open()
    assert (new.status, eve.status) == (200, 403)
    assert study.events.filter(kind="way back given").count() == 1
    assert places_of(link) == (1, 1)
    for number in range(9):
        ann.on_another_device(session=f"more{number}").press(ask="1")
    assert Visit.objects.filter(admitted_at=None).count() == 5


def test_page_without_an_id_says_what_to_do_and_the_manager_learns_the_name():
    study, link = recruiting_study(2, redundancy=4)
    visitor = Participant(link)
    page = visitor.open(
        reverse("join", args=[link.token], query={"participantId": "7"})
    )
    assert "Your participant ID is missing" in page
    assert "Take part" not in page
    visitor.press(reverse("join", args=[link.token]))
    assert study.annotators.count() == 0
    told = alice(study).get(reverse("study-recruitment", args=[study.slug]))
    words = " ".join(told.content.decode().split())
    assert "People came with participantId=…, which is not read as an ID." in words
    assert "?PROLIFIC_PID={{%PROLIFIC_PID%}}&amp;STUDY_ID={{%STUDY_ID%}}" in words


# The manager's page -------------------------------------------------------------------


@pytest.mark.slow
def test_order_counts_people_places_and_cost():
    study, link = recruiting_study(9, redundancy=10)
    # 12 items of 10 ratings, 2 for each person: 60 people, and 6 in reserve.
    first = ordering.order(study)
    assert (first.people, first.places, first.minutes) == (60, 66, 12)
    assert first.cost == 66 * 12 / 60 * 9
    page = alice(study).get(reverse("study-recruitment", args=[study.slug]))
    words = " ".join(page.content.decode().split())
    assert "Order 66 places (60 people for the ratings that nobody has, and 6" in words
    assert "At 9.00 GBP an hour this costs 118.80 GBP" in words
    for _number in range(3):
        person = Participant(link)
        person.join()
        person.agree()
        person.rate()
    later = ordering.order(study)
    assert (later.people, later.measured, later.minutes) == (57, 3, 1)


@pytest.mark.slow
def test_platform_and_codes_are_changed_while_the_study_runs():
    study, _link = recruiting_study(2, redundancy=4)
    before = code_of(study, "no_work")
    address = reverse("study-recruitment", args=[study.slug])
    form = {
        "recruitment.platform": "prolific",
        "recruitment.outcomes.completed.code": "CABC123",
        "recruitment.outcomes.no_work.code": before,
        "recruitment.outcomes.failed.url": "http://app.prolific.com/",
    }
    manager = alice(study)
    refused = manager.post(address, form)
    assert refused.status_code == 422
    assert "begins with https://" in refused.content.decode()
    form["recruitment.outcomes.failed.url"] = ""
    assert manager.post(address, form).status_code == 302
    study.refresh_from_db()
    assert code_of(study, "completed") == "CABC123"
    assert code_of(study, "no_work") == before
    assert "CABC123" in study.definition
    assert not study.recruitment.get("require_id")
    assert manager.post(address, {"recruitment.platform": "codes"}).status_code == 302
    study.refresh_from_db()
    assert study.recruitment == {"platform": "codes"}
    assert joining.find_joined(study, "x") is None
