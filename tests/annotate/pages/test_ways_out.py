"""Exits from annotators' pages: their texts and codes.

Codes begin with E- after partial work, S- after failed training, N- without consent
and W- where nothing was left; codes for complete work have no prefix.
"""

import re

import pytest
from django.urls import reverse

from annotate.assignment import choosing
from annotate.people import inviting, joining, outcomes
from annotate.quality import exclusion, follow_up
from annotate.responses import giving_back, leasing
from annotate.studies import lifecycle
from tests.cases import slow_cases
from tests.working import LIKERT, Browser, always, join, make_planned, work

pytestmark = pytest.mark.django_db

TRAINING = """
training:
  attempts: 1
  pass_mark: 0.6
  units:
    - {story: "01", method: Alder, expected: {character: 4, beauty: 4}}
"""
PLANNED, OPEN = LIKERT, f"{LIKERT}assignment: open\nsession_size: 7\n"


def code_on(page: str) -> str:
    found = re.search(r'class="completion-code"\s*>([^<]*)<', page)
    return found[1] if found else ""


def kind_of_code(page: str, person) -> str:
    """Return the kind of a page's code by its prefix."""
    code = code_on(page)
    if not code:
        return "none"
    if code == person.completion_code:
        return "completed"
    assert re.fullmatch(r"[ESNW]-[A-Z2-9]{8}", code)
    assert person.completion_code not in page
    return {"E": "stopped", "S": "failed", "N": "no consent", "W": "no work"}[code[0]]


def out(client, person) -> str:
    """Return the page that an annotator's link leads to."""
    return client.get(Browser(client, person).at, follow=True).content.decode()


def open_study(**plan):
    study = make_planned(OPEN, redundancy=2, **plan)
    return study, join(study)


def stop(client, person) -> str:
    """Press the finish button; return the next page."""
    browser = Browser(client, person)
    return client.post(browser.address("stop"), follow=True).content.decode()


def whole_plan(client):
    study = make_planned(PLANNED, annotators=2, redundancy=2)
    person = join(study, "A01")
    work(person, always("3"))
    return person, out(client, person)


def sitting_of_a_small_study(client):
    _study, person = open_study()
    work(person, always("3"), most=3)
    assert "Finish here" not in out(client, person)
    work(person, always("3"), most=1)  # one slot of each of four stories
    assert "Finish here and get the completion code" in out(client, person)
    return person, stop(client, person)


def all_with_others(client):
    study, person = open_study()
    work(person, always("3"), most=2)
    for other in (join(study), join(study)):
        for unit in study.units.all():
            free = unit.slots.filter(annotator=None).first()
            if free is not None:
                leasing.take(free, other)
    assert "You have rated 2 stories so far" in out(client, person)
    return person, stop(client, person)


def nothing_left(client):
    study, first = open_study()
    work(first, always("3"))
    work(join(study), always("3"))
    person = join(study)
    assert "There are no stories left for you" in out(client, person)
    return person, stop(client, person)


def paused_study(client):
    study, person = open_study()
    work(person, always("3"), most=1)
    lifecycle.pause(study)
    return person, out(client, person)


def closed_study(client):
    person, _page = paused_study(client)
    lifecycle.close(person.study)
    return person, out(client, person)


def study_closed_after_a_sitting(client):
    study, person = open_study()
    work(person, always("3"), most=4)
    lifecycle.close(study)
    return person, out(client, person)


def closed_before_anything(client):
    study = make_planned(OPEN, redundancy=2)
    person = inviting.invite_new(study).annotator
    lifecycle.close(study)
    return person, out(client, person)


def training_failed(client):
    study = make_planned(OPEN + TRAINING, redundancy=2)
    person = join(study)
    browser = Browser(client, person)
    browser.post(browser.address("pause"))
    browser.fill(character="4", beauty="1")
    told = browser.text()
    assert "Expected" in told, "what was expected is told of the last story, too"
    assert kind_of_code(told, person) == "failed"
    assert "There is nothing that you have to do" not in out(client, person)
    return person, out(client, person)


def withdrawn(client, wish="work"):
    _study, person = open_study()
    work(person, always("3"), most=1)
    address = Browser(client, person).address("withdraw")
    client.post(address, {"wish": wish, "sure": "1"})
    return person, client.get(Browser(client, person).at).content.decode()


def withdrawn_with_answers(client):
    return withdrawn(client, "answers")


def declined(client):
    study = make_planned(OPEN, redundancy=2)
    person = inviting.invite_new(study).annotator
    consent = Browser(client, person).address("consent")
    return person, client.post(consent, {"decline": "1"}, follow=True).content.decode()


def removed(client):
    _study, person = open_study()
    work(person, always("3"), most=1)
    inviting.revoke(person)
    return person, out(client, person)


def left_out_by_a_rule(client):
    _study, person = open_study()
    work(person, always("3"), most=1)
    exclusion.exclude_annotator(person, reason="asleep", author=None, rule="x")
    inviting.revoke(person)
    return person, out(client, person)


def removed_when_finished(client):
    person, _page = whole_plan(client)
    inviting.revoke(person)
    return person, out(client, person)


def held(client):
    _study, person = open_study()
    work(person, always("3"), most=1)
    follow_up.pause(person)
    return person, out(client, person)


def replaced_link(client):
    _study, person = open_study()
    old = Browser(client, person).at
    inviting.reissue(person)
    return person, client.get(old).content.decode()


def full_join_link(client):
    study, person = open_study()
    link = joining.make_link(study, most=1)
    joining.join(link)
    return person, client.get(f"/join/{link.token}/").content.decode()


def skipped_nearly_all(client):
    study, person = open_study()
    kept = {unit.story_id: unit.pk for unit in study.units.all()}
    study.units.exclude(pk__in=kept.values()).delete()
    work(person, always("3"), most=1)
    for _ in range(3):
        giving_back.skip(choosing.next_for(person).slot, person, reason="unclear")
    return person, out(client, person)


@pytest.mark.parametrize(
    ("way", "kind", "says"),
    [
        (sitting_of_a_small_study, "completed", "you have rated 4 stories"),
        (paused_study, "stopped", "You have rated 1 story"),
        (closed_before_anything, "none", "It no longer accepts answers"),
        (training_failed, "failed", "In all, 1 of 2 answers were as expected"),
        (withdrawn_with_answers, "stopped", "None of your answers will count"),
        (declined, "no consent", "You have not agreed to take part"),
        (removed, "stopped", "This link is no longer valid"),
        (held, "stopped", "Your work is paused"),
        *slow_cases(
            (whole_plan, "completed", "you have rated"),
            (all_with_others, "no work", "You have rated 2 stories, which is part"),
            (nothing_left, "no work", "there was nothing left for you to rate"),
            (closed_study, "stopped", "It no longer accepts answers"),
            (study_closed_after_a_sitting, "completed", "you have rated 4 stories"),
            (withdrawn, "stopped", "Your submitted answers are kept"),
            (left_out_by_a_rule, "stopped", "You have rated 1 story"),
            (removed_when_finished, "completed", "This link is no longer valid"),
            (replaced_link, "none", "If it was replaced, ask"),
            (full_join_link, "none", "there is no code"),
            (skipped_nearly_all, "stopped", "You have rated 1 story"),
        ),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_exit_pages_show_the_right_code(client, way, kind, says):
    person, page = way(client)
    person.refresh_from_db()
    assert says in " ".join(page.split())
    assert kind_of_code(page, person) == kind


@pytest.mark.slow
def test_partial_code_depends_on_the_secret_key(client, settings):
    """Attack: an annotator who ended early tries all completion codes offline."""
    person, page = all_with_others(client)
    person.refresh_from_db()
    settings.SECRET_KEY = "another key, of at least 32 letters"
    worth = outcomes.current_code(person)
    assert worth.outcome == "no_work"
    assert worth.code != code_on(page)


def test_table_of_links_has_the_displayed_codes(client, django_user_model):
    person, page = paused_study(client)
    manager = django_user_model.objects.create_superuser("alice", password="x")
    client.force_login(manager)
    address = reverse("annotator-file", args=["trial", "people"])
    table = client.get(address).content.decode()
    assert f"{code_on(page)},stopped," in table
    lifecycle.launch(person.study)
    table = client.get(address).content.decode()
    assert code_on(page) not in table


# Skipping -----------------------------------------------------------------------------


def skip(browser, **given):
    return browser.client.post(f"{browser.at}skip/", given)


def test_second_skip_of_a_sitting_needs_an_explanation(client):
    _study, person = open_study()
    browser = Browser(client, person)
    browser.post(browser.address("pause"))
    assert "Comment (optional)" in browser.text()
    browser.at = skip(browser, reason="unclear")["Location"]
    assert "Skipping this story needs an explanation" in browser.text()
    refused = skip(browser, reason="other", comment="  ")
    page = " ".join(refused.content.decode().split())
    assert refused.status_code == 422
    assert "Please write in a few words why you are skipping this story." in page
    assert re.search(r'value="other"[^>]* checked', page), "what was chosen stays"
    assert '<details class="skip" open>' in page
    assert person.skips.count() == 1
    assert skip(browser, reason="other", comment="It is all black.").status_code == 302
    assert person.skips.get(reason="other").comment == "It is all black."


@pytest.mark.slow
def test_units_are_not_set_aside_by_people_who_skip_everything():
    study = make_planned(OPEN, redundancy=3)
    for person in [join(study) for _ in range(3)]:
        work(person, always("3"), most=1)
        for _ in range(11):
            giving_back.skip(choosing.next_for(person).slot, person, reason="broken")
    assert not study.units.filter(set_aside_at__isnull=False).exists()
    last = join(study)
    assert choosing.next_slot(last) is not None


@pytest.mark.parametrize(
    ("reason", "comment", "is_set_aside"),
    [
        ("broken", "", False),
        ("broken", "Shot 3 is black.", True),
        ("unclear", "", False),
        ("unclear", "The text is cut off.", True),
    ],
)
def test_unit_is_set_aside_after_three_explained_skips(reason, comment, is_set_aside):
    study = make_planned(PLANNED, annotators=3, redundancy=3)
    people = [join(study, f"A0{number}") for number in (1, 2, 3)]
    unit = study.units.first()
    for person in people:
        slot = leasing.take(person.slots.get(unit=unit), person)
        giving_back.skip(slot, person, reason=reason, comment=comment)
    unit.refresh_from_db()
    assert (unit.set_aside_at is not None) == is_set_aside
