"""What migrations do to rows that are there."""

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from annotate.assignment import choosing
from annotate.models import Event, Slot, StoryComment
from annotate.people import inviting
from annotate.responses import leasing
from evalcore.models import Output
from tests.factories import make_benchmark
from tests.working import LIKERT, end_leases, join, make_planned, work

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]
OPEN = f"{LIKERT}\nredundancy: 1\nassignment: open\npresentation: {{comments: true}}\n"


@pytest.fixture
def go_back():
    """Undo migrations of `annotate` after the named one, and return a table then."""
    executor = MigrationExecutor(connection)

    def to(name, table="Slot"):
        target = [("annotate", name)]
        executor.migrate(target)
        state = executor.loader.project_state(target)
        return state.apps.get_model("annotate", table).objects.order_by("pk")

    yield to
    call_command("migrate", verbosity=0)


def test_the_comment_of_a_slot_goes_to_whoever_took_it_last(go_back):
    study = make_planned(OPEN, benchmark=make_benchmark(stories=1))
    ann, bob = join(study), join(study)
    [done] = work(ann, lambda *_given: 3, most=1)
    lost = choosing.next_for(ann).slot
    end_leases()
    leasing.take(lost, bob)
    held = choosing.next_for(ann).slot
    inviting.revoke(bob)
    assert Slot.objects.get(pk=lost.pk).annotator is None
    Event.objects.filter(slot=held).delete()  # as if nothing told whose it was before
    slots = go_back("0007_shot_comments")
    for slot in (done, lost, held):
        slots.filter(pk=slot.pk).update(comment=f"On {slot.code}.")
    call_command("migrate", verbosity=0)
    told = StoryComment.objects.order_by("pk").values_list("slot", "annotator", "text")
    expected = [(done, ann), (lost, bob), (held, ann)]
    expected.sort(key=lambda row: row[0].pk)
    assert list(told) == [(s.pk, p.pk, f"On {s.code}.") for s, p in expected]
    assert StoryComment.objects.get(slot=done).written_at == done.submitted_at


def test_going_back_puts_the_comment_of_the_holder_into_the_slot(go_back):
    study = make_planned(OPEN, benchmark=make_benchmark(stories=1))
    ann, bob = join(study), join(study)
    slot = choosing.next_for(ann).slot
    for person, text in [(ann, "Dark."), (bob, "Bright.")]:
        slot.story_comments.create(annotator=person, text=text)
    slots = go_back("0007_shot_comments")
    assert [row.comment for row in slots.exclude(comment="")] == ["Dark."]


def test_shots_of_examples_say_their_own_number(go_back):
    study = make_planned(OPEN, benchmark=make_benchmark(stories=1))
    question, other = study.questions.all()
    question.example, question.example_shots = Output.objects.first(), [[2, True, 5]]
    question.degradation = "shuffled"
    question.save()
    questions = go_back("0008_story_comments", "Question")
    assert questions.get(pk=question.pk).example_shots == [[2, True]]
    call_command("migrate", verbosity=0)
    question.refresh_from_db()
    other.refresh_from_db()
    assert (question.example_shots, other.example_shots) == ([[2, True, 2]], [])
