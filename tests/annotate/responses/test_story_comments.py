"""Comments on stories, visible to their author only."""

import re

import pytest
from django.urls import reverse

from annotate.assignment import choosing
from annotate.coverage.coverage_tables import TABLES
from annotate.kinds.base import BadAnswerError
from annotate.models import StoryComment, Study
from annotate.people import inviting
from tests import answering
from tests.cases import slow
from tests.factories import make_benchmark
from tests.people import alice
from tests.working import LIKERT, end_leases, join, make_planned, work

pytestmark = pytest.mark.django_db
TEXT = f"{LIKERT}\nredundancy: 1\nassignment: open\npresentation: {{comments: true}}\n"


@pytest.fixture
def study():
    benchmark = make_benchmark(stories=1, methods=["Alder"])
    return make_planned(TEXT, benchmark=benchmark)


@pytest.fixture
def ann(study):
    return join(study)


@pytest.fixture
def bob(study):
    return join(study)


@pytest.fixture
def slot(ann):
    """Return the only slot, with a comment by Ann."""
    slot = choosing.next_for(ann).slot
    answering.record_comment(slot=slot, annotator=ann, text=" Dark. ")
    return slot


def address(name, person, slot):
    return reverse(name, args=[person.invitation.token, slot.code])


def shown(client, person, slot):
    """Return the comment on an annotator's page, and whether its field is open."""
    text = client.get(address("rate-slot", person, slot)).content.decode()
    _before, fold, field = re.split(
        r'<details class="small" ?(\w*)>\s*<summary>Comment<', text
    )
    told = re.search(r'<textarea name="comment"[^>]*>([^<]*)<', field)
    return told[1], fold == "open"


def exported(study):
    header, rows = TABLES["comments"]
    said = [dict(zip(header, row, strict=True)) for row in rows(study)]
    return [(row["slot"], row["annotator"], row["text"]) for row in said]


def written():
    rows = StoryComment.objects.order_by("annotator", "slot")
    return [(row.slot.code, row.annotator.name, row.text) for row in rows]


def test_story_comments_are_refused_when_disabled(study, ann, slot):
    Study.objects.update(presentation={"shot_comments": True})
    with pytest.raises(BadAnswerError, match="takes no comments"):
        answering.record_comment(slot=slot, annotator=ann, text="Bright.")
    assert StoryComment.objects.get().text == "Dark."


@pytest.mark.parametrize("how", ["expired", *slow("revoked")])
def test_story_comment_is_visible_to_its_author_only(
    client, study, ann, bob, slot, how
):
    if how == "expired":
        end_leases()
    else:
        inviting.revoke(ann)
    assert exported(study) == []
    assert choosing.next_for(bob).slot == slot
    assert shown(client, bob, slot) == ("", False)
    assert exported(study) == []
    work(bob, lambda *_given: 3)
    for text in ("Dark.", "", "Bright."):
        answering.record_comment(slot=slot, annotator=bob, text=text)
    assert exported(study) == [(slot.code, bob.name, "Bright.")]
    both = [(slot.code, ann.name, "Dark."), (slot.code, bob.name, "Bright.")]
    assert written() == both
    page = alice(study).get(reverse("slot-detail", args=[study.slug, slot.code]))
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.content.decode()))
    for _code, name, text in both:
        assert f"Comment: {name} {text}" in words
