"""The way from invited people to analysed answers, in a study's report."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate import event_log
from annotate.audit_log import as_of_event
from annotate.models import Event, Invitation, User
from annotate.people import consenting, inviting, joining, places
from annotate.quality import exclusion
from annotate.reports.sample_flow import exclusion_reasons, people_rows
from annotate.reports.study_tables import answers_frame
from tests.annotate.reports.test_reproduced import answer, open_study
from tests.annotate.studies.test_extending import planned_study
from tests.factories import make_benchmark, make_study

pytestmark = pytest.mark.django_db


def steps(study, moment):
    return [
        (row["step"], row["reason"], row["n_annotators"])
        for row in people_rows(study, moment)
    ]


def test_people_without_answers_have_one_reason_each_as_of_the_moment(client):
    benchmark = make_benchmark(stories=3)
    study = make_study(benchmark=benchmark, annotators=5, session_size=20)
    people = [*study.annotators.order_by("name")]
    for person in people[:3]:
        client.get(reverse("rate-consent", args=[person.invitation.token]))
    unopened = reverse("rate-consent", args=[people[4].invitation.token])
    client.head(unopened)
    client.get(unopened, secure=True)  # the preview of a messenger
    prefetch = {"Sec-Fetch-Mode": "navigate", "Sec-Purpose": "prefetch"}
    client.get(unopened, secure=True, headers=prefetch)
    places.decline(people[0])
    consenting.agree(people[1], "en")
    consenting.begin(study.annotators.get(name="A02"))
    answer(study, "A02", 2)
    event_log.note(Event.Kind.ANNOTATOR_INVITED, study.pk, annotator=people[3])
    inviting.revoke(people[3], user=User.objects.create(username="alice"))
    before = as_of_event.now(study)
    expected = [
        ("invited", "", 5),
        ("left out", "consent page left without an answer", 1),
        ("left out", "consent refused", 1),
        ("left out", "no opening of the link recorded", 1),
        ("left out", "removed from the study", 1),
        ("consented", "", 1),
        ("answered", "", 1),
    ]
    assert steps(study, before) == expected
    client.get(unopened, secure=True, headers={"Sec-Fetch-Mode": "navigate"})
    places.come_back(people[0])
    assert steps(study, before) == expected
    assert steps(study, as_of_event.now(study))[1:3] == [
        ("left out", "consent page left without an answer", 3),
        ("left out", "removed from the study", 1),
    ]


@pytest.mark.slow
def test_excluded_answers_have_the_rule_that_left_them_out():
    study = open_study()
    for slot in study.slots.filter(state="submitted", annotator__name="A01")[:2]:
        exclusion.exclude(slot, reason="Too fast.", author=None, rule="too_fast")
    moment = as_of_event.now(study)
    frame = answers_frame(study, "ratings", as_of=moment)
    reasons = exclusion_reasons(study, "main", moment, frame["slot"])
    assert reasons[frame["excluded"].astype(bool)].tolist() == ["too fast"] * 4


def test_place_given_to_others_is_the_reason_after_the_person_came_back():
    study = planned_study(assignment="open")
    link = joining.make_link(study, most=1)
    person = joining.join(link)
    Invitation.objects.update(created_at=timezone.now() - timedelta(hours=1))
    other = joining.join(link)
    consenting.agree(other, "en")
    before = as_of_event.now(study)
    expected = [
        ("invited", "", 2),
        ("left out", "place given to others", 1),
        ("consented", "", 1),
        ("left out", "no rating submitted", 1),
        ("answered", "", 0),
    ]
    assert steps(study, before) == expected
    places.set_places(link, 2)
    person.refresh_from_db()
    places.come_back(person)
    inviting.revoke(person)
    assert steps(study, before) == expected
    now = steps(study, as_of_event.now(study))
    assert now[1] == ("left out", "removed from the study", 1)
