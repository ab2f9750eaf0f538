"""The log as people read it: folded, in words, without what says little."""

import pytest
from django.urls import reverse

from annotate.assignment import choosing
from annotate.audit_log.log_lines import details
from annotate.models import Event
from annotate.quality import exclusion
from annotate.responses import leasing
from tests.factories import make_study
from tests.people import alice, answer_everything

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study(consented=True)


def note(study, kind, **details):
    """An event of the first annotator's next slot, or of the study."""
    slot = details.pop("slot", None)
    return Event.objects.create(
        study=study,
        kind=kind,
        slot=slot,
        annotator=slot and slot.annotator,
        details=details,
    )


def words(study, kind=Event.Kind.STUDY_EDITED, **told):
    return details(note(study, kind, **told))


def page(study, **query):
    return alice(study).get(reverse("event-list", args=[study.slug]), query)


def test_routine_events_are_listed_on_request(study):
    ann = study.annotators.first()
    slot = leasing.take(choosing.next_slot(ann), ann)
    note(study, Event.Kind.SLOT_OPENED, slot=slot, purpose="repeat")
    note(study, Event.Kind.SLOT_OPENED, slot=slot, instead_of="abc")

    def kinds(**query):
        return [event.kind for event, _words in page(study, **query).context["lines"]]

    assert kinds() == ["slot opened", "slots listed"]
    assert kinds(kind="slot taken") == ["slot taken"]
    assert len(kinds(kind="everything")) == 4


def test_event_details_are_readable(study):
    assert words(study, before="finished") == ["state before: finished"]
    assert words(study, purpose="twin") == ["purpose: degraded copy"]
    assert words(study, reason="broken") == ["reason: A picture is missing or broken"]
    assert words(study, reason="asleep") == ["reason: asleep"]
    assert words(study, cap={"before": None, "after": 7}) == ["most stories: – → 7"]
    assert words(study, shares={"A01": 3, "A02": 4}) == [
        "ratings received: A01 3, A02 4"
    ]
    assert words(study, hidden=[[1, ["main"]], [2, []]]) == ["exclusions set again: 2"]
    assert words(study, methods=[], stories=["01", "02"]) == ["stories: 01, 02"]
    assert words(study, lease=3, holder=4, ordinal=None) == []
    assert words(study, on_the_device_of="A02") == ["on the device of: A02"]
    assert words(study, free=0) == ["free ratings: 0"]
    assert words(study, probability=0.123456) == ["probability: 0.123"]
    assert words(study, something_new="x") == ["something_new: x"]


def test_exclusion_of_an_annotator_is_named_in_the_log(study):
    answer_everything(study)
    person = study.annotators.first()
    exclusion.exclude_annotator(person, reason="a bot", author=None)
    found = page(study, kind="slot excluded").context["lines"]
    assert [words for _event, words in found] == 6 * [
        [
            "reason: a bot",
            "hidden from the filters: main",
            "with all ratings of the annotator",
        ]
    ]
