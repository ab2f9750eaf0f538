"""Pictures replaced in running studies: ratings, drafts, scores, log and pages."""

import re
from contextlib import suppress
from datetime import timedelta

import pytest
from django.core import signing
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from annotate import event_log
from annotate.assignment import choosing
from annotate.audit_log.verifying import problems
from annotate.kinds.base import AnswerError
from annotate.models import Event, Exclusion, Fault, Rating, Slot
from annotate.payment.table import work_of
from annotate.quality import exclusion, replacing
from annotate.quality.replacing import ReplacingError
from annotate.reports import downloads
from annotate.responses import giving_back, leasing, submission
from annotate.studies import lifecycle
from evalcore.models import Frame, MetricChunk, MetricRun, MetricScore, Output
from evalcore.perturbations import degraded_copies
from evalcore.perturbations.degrading import ImpossibleDegradationError
from evalcore.scoring import metric_runs, turns
from tests import answering
from tests.annotate.pages.test_videos import video_benchmark
from tests.annotate.test_concurrency import at_once, meet
from tests.clips import write_clip
from tests.factories import (
    make_benchmark,
    make_study,
    picture_bytes,
    store_picture,
)
from tests.people import alice, log_in
from tests.working import (
    LIKERT,
    PAIRWISE,
    Browser,
    always,
    answer,
    join,
    make_planned,
    save,
    work,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    text = f"{LIKERT}\nassignment: open\nredundancy: 3\n"
    benchmark = make_benchmark(stories=2, methods=["Birch", "Alder"])
    return make_planned(text, benchmark=benchmark)


def output_of(study, method="Birch", story="01") -> Output:
    return Output.objects.get(
        story__key=story, story__benchmark=study.benchmark, method__name=method
    )


def slots_of(study, output):
    return study.slots.filter(unit__in=replacing._showing(output))


def test_effects_name_outputs_with_expected_answers():
    gold = """
assignment: open
checks:
  kinds: [gold]
  gold: [{story: "03", method: Alder, expected: {character: 4}}]
"""
    benchmark = make_benchmark(stories=3, methods=["Birch", "Alder"])
    study = make_planned(LIKERT + gold, benchmark=benchmark, stories=["01", "02"])
    for story, expected in (("03", True), ("01", False)):
        (effect,) = replacing.effects(output_of(study, "Alder", story))
        assert effect.has_expected is expected


def owner(study):
    alice(study)
    return study.members.get(user__username="alice").user


def put_right(study, output, shot=2, label="right"):
    now = output.frames.get(number=shot).media_id or ""
    new = store_picture(picture_bytes(label)).pk
    return replacing.replace(output, shot, now=now, new=new, user=owner(study))


def take(study, person, output):
    """Let somebody open a rating of an output."""
    slot = slots_of(study, output).filter(state="open", annotator=None).first()
    return leasing.take(slot, person)


def address(person, slot) -> str:
    return Browser(None, person).address("slot", slot.code)


def test_copy_that_people_see_is_no_copy_of_the_new_picture(study):
    output = output_of(study)
    twin = degraded_copies.make_perturbation(output, "blurred", seed=1)
    study.units.filter(output_a=output_of(study, "Alder")).update(output_a=twin)
    assert degraded_copies.current_perturbations(study.benchmark) == [twin]
    put_right(study, output)
    assert Output.twins.filter(twin_of=output).exists()
    assert degraded_copies.current_perturbations(study.benchmark) == []
    with pytest.raises(ImpossibleDegradationError, match="earlier picture"):
        degraded_copies.make_perturbation(output, "blurred", seed=1)


def test_unseen_picture_is_simply_replaced(study):
    output = output_of(study)
    before = output.frames.get(number=2).media_id
    (effect,) = put_right(study, output)
    assert (effect.seen, effect.begun) == (0, 0)
    assert output.frames.get(number=2).media_id != before
    assert not Exclusion.objects.exists()
    assert problems(study) == []
    event = study.events.get(kind=Event.Kind.PICTURE_REPLACED)
    assert event.user.username == "alice"
    assert event.details["old"] == before
    assert event.details["new"] == output.frames.get(number=2).media_id
    # Any browser may have loaded it ahead, so no address stays.
    old = Slot.objects.filter(pk__in=event.details["closed"])
    assert set(old.values_list("state", flat=True)) == {"withdrawn"}


def test_seen_ratings_are_set_aside_asked_again_and_paid(study):
    output = output_of(study)
    people = [join(study), join(study)]
    for person in people:
        work(person, always("3"))
    assert slots_of(study, output).filter(state="submitted").count() == 2
    (effect,) = put_right(study, output)
    assert effect.seen == 2
    rows = Exclusion.objects.filter(slot__unit__in=replacing._showing(output))
    assert {row.rule for row in rows} == {"picture replaced"}
    assert sorted(row.replacement.ordinal for row in rows) == [4, 5]
    assert slots_of(study, output).filter(state="open").count() == 3
    assert problems(study) == []
    exported = "".join(downloads.csv_lines(study, "ratings"))
    for row in rows:
        lines = [line for line in exported.splitlines() if row.slot.code in line]
        assert len(lines) == 2
        assert all(",true" in line.lower() for line in lines)
    assert work_of(study)[people[0].pk].left_out == 0
    assert work_of(study)[people[0].pk].stories == 4
    with pytest.raises(exclusion.ExclusionError, match="picture was replaced"):
        exclusion.undo(rows[0], author=None)
    others = slots_of(study, output_of(study, "Alder"))
    assert others.filter(state="submitted").count() == 2


@pytest.mark.slow
def test_earlier_exclusion_cannot_be_undone_afterwards(study):
    output = output_of(study)
    work(join(study), always("3"))
    row = exclusion.exclude(
        slots_of(study, output).get(state="submitted"), reason="x", author=None
    )
    put_right(study, output)
    row.refresh_from_db()
    with pytest.raises(exclusion.ExclusionError, match="picture was replaced"):
        exclusion.undo(row, author=None)
    assert problems(study) == []


def test_draft_is_withdrawn_and_its_annotator_gets_the_page_again(study, client):
    output, person = output_of(study), join(study)
    held = take(study, person, output)
    page = address(person, held)
    assert save(client, page, key="1", character=1).json()["refused"] == {}
    (effect,) = put_right(study, output)
    assert (effect.seen, effect.begun) == (0, 1)
    draft = Rating.objects.get(annotator=person)
    assert (draft.slot.code, draft.slot.state) == (held.code, "withdrawn")
    late = save(client, page, key="2", character=4, beauty=4, submit=True)
    assert late.status_code == 404
    assert "picture of this story was replaced" in late.json()["error"]
    assert "old picture was wrong" in client.get(page).content.decode()
    fresh = choosing.next_for(person).slot
    assert fresh.unit == held.unit
    assert fresh.position == held.position
    assert fresh.code != held.code
    text = client.get(address(person, fresh)).content.decode()
    pictures = re.findall(r'/rate/[^" ]*/only/2/display/', text)
    assert pictures
    assert all(fresh.code in one for one in pictures)
    sent = client.get(pictures[0])
    assert not {"Last-Modified", "ETag"} & sent.headers.keys()
    answer(fresh, person, always("2"))
    assert Rating.objects.filter(annotator=person, slot=fresh).count() == 2
    assert problems(study) == []


def test_answer_to_an_old_page_is_no_rating_of_the_new_picture(study, client):
    """Ann loses her lease, Bob takes the slot; then the picture is replaced."""
    output, ann, bob = output_of(study), join(study), join(study)
    held = take(study, ann, output)
    Slot.objects.filter(pk=held.pk).update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )
    giving_back.release_expired()
    answer(take(study, bob, output), bob, always("3"))
    put_right(study, output)
    late = save(client, address(ann, held), key="2", character=4, beauty=4, submit=True)
    assert late.status_code == 404
    assert not Rating.objects.filter(annotator=ann).exists()


def test_planned_person_keeps_their_place():
    study = make_planned(LIKERT + "\nredundancy: 2\n", annotators=2)
    output = output_of(study)
    before = set(
        slots_of(study, output).values_list("annotator", "session", "position")
    )
    put_right(study, output)
    unfinished = slots_of(study, output).filter(state="open")
    assert set(unfinished.values_list("annotator", "session", "position")) == before
    assert problems(study) == []


@pytest.mark.slow
def test_pairs_and_repeats_of_the_output_are_affected_too():
    text = f"{PAIRWISE}\nassignment: open\nredundancy: 2\nsession_size: 4\n"
    study = make_planned(text, benchmark=make_benchmark(stories=2))
    person = join(study)
    first, *_others = work(person, always("left"), most=4)
    place = {"annotator": person, "session": 2, "position": 9000}
    repeat = Slot.objects.create(
        study=study, unit=first.unit, purpose="repeat", repeat_of=first, **place
    )
    event_log.note_slot(Event.Kind.SLOT_OPENED, repeat, purpose="repeat")
    output = first.unit.output_a
    put_right(study, output)
    assert not slots_of(study, output).filter(state="submitted").exists()
    repeat.refresh_from_db()
    assert repeat.state == "withdrawn"
    assert not study.slots.filter(purpose="repeat", state="open").exists()
    assert problems(study) == []
    for one in (person, join(study), join(study)):
        work(one, always("left"))
    assert all(unit.submitted == 2 for unit in study.units.all())
    assert problems(study) == []


def test_scores_of_the_old_picture_are_gone_and_running_work_is_lost(study):
    output, other = output_of(study), output_of(study, "Alder")
    for source in ("imported", "computed"):
        run = MetricRun.objects.create(benchmark=study.benchmark, source=source)
        for one in (output, other):
            MetricScore.objects.create(
                run=run,
                benchmark=study.benchmark,
                method=one.method,
                story=one.story,
                metric=f"m {source}",
                value=1.0,
            )
    running = metric_runs.queue_run(study.benchmark, ["sharpness"])
    metric_runs.plan(running)
    chunk = turns.take(["cpu"], running.pk)
    put_right(study, output)
    left = set(MetricScore.everything.values_list("method__name", flat=True))
    assert left == {"Alder"}
    assert MetricChunk.objects.get(pk=chunk.pk).worker != chunk.worker
    metric_runs._work_on(chunk, None, None)
    assert not MetricScore.objects.filter(metric="sharpness").exists()
    metric_runs.run(running.pk)
    scored = MetricScore.objects.filter(metric="sharpness", method=output.method)
    assert scored.filter(story=output.story).exists()


def test_report_of_a_broken_picture_is_settled(study):
    output, person = output_of(study), join(study)
    held = take(study, person, output)
    Fault.objects.create(slot=held, annotator=person, side="only", shot=2)
    Fault.objects.create(slot=held, annotator=person, side="only", shot=1)
    put_right(study, output)
    assert list(Fault.objects.filter(resolved_at=None).values_list("shot")) == [(1,)]


def test_studies_that_the_user_does_not_manage_are_named(study):
    make_study(slug="other", benchmark=study.benchmark)
    with pytest.raises(ReplacingError, match="do not manage them: other"):
        put_right(study, output_of(study))


def test_closed_study_with_ratings_keeps_its_pictures(study):
    work(join(study), always("3"))
    lifecycle.close(study)
    with pytest.raises(ReplacingError, match=r"closed or imported .*: trial"):
        put_right(study, output_of(study))


def test_second_manager_sees_that_it_was_replaced(study):
    output = output_of(study)
    now = output.frames.get(number=2).media_id
    put_right(study, output)
    new = store_picture(picture_bytes("third")).pk
    with pytest.raises(ReplacingError, match="Somebody else"):
        replacing.replace(output, 2, now=now, new=new, user=owner(study))


# Pages


def page(study, output) -> str:
    return reverse("output-replace", args=[study.slug, output.pk])


def send(client, study, output, data, shot="2"):
    file = SimpleUploadedFile("Birch secret.png", data)
    return client.post(page(study, output), {"shot": shot, "file": file})


def offer_of(response) -> str:
    return re.search(r'name="offer" value="([^"]+)"', response.content.decode())[1]


def test_manager_compares_and_accepts(study):
    client, output = alice(study), output_of(study)
    work(join(study), always("3"))
    compared = send(client, study, output, picture_bytes("right", (120, 64)))
    text = compared.content.decode()
    assert "1 rating of the old one is set aside" in text
    assert "120 x 64 pixels, the old one 96 x 64" in text
    assert "Its shape differs" in text
    assert not Exclusion.objects.exists()
    offer = offer_of(compared)
    shown = reverse("output-offered", args=[study.slug, output.pk, offer])
    assert client.get(shown)["Content-Type"] == "image/webp"
    done = client.post(page(study, output), {"offer": offer}, follow=True)
    assert "1 rating of the old one is set aside and asked again" in (
        done.content.decode()
    )
    again = client.post(page(study, output), {"offer": offer})
    assert "Somebody else has replaced it" in again.content.decode()
    assert Exclusion.objects.count() == 1


def test_unusable_file_changes_nothing(study, subtests):
    output = output_of(study)
    for data, shot, why in [
        (b"no picture", "2", "This file cannot be used"),
        (picture_bytes("01 Birch 2"), "2", "This is the same picture"),
        (picture_bytes("01 Birch 2", fmt="BMP"), "2", "This is the same picture"),
        (picture_bytes("right"), "9", "no such picture"),
        (picture_bytes("right"), "", "Choose the picture"),
        (b"", "2", "This file cannot be used"),
    ]:
        with subtests.test(why):
            refused = send(alice(study), study, output, data, shot)
            assert refused.status_code == 422
            assert why in refused.content.decode()
            assert "offer" not in refused.context


def test_forged_offer_is_refused(study):
    client, output = alice(study), output_of(study)
    hidden = store_picture(picture_bytes("of another lab")).pk
    now = output.frames.get(number=2).media_id
    for forged in (
        signing.dumps([output.pk, 2, now, hidden], salt="other"),
        "x" * 40,
    ):
        assert client.post(page(study, output), {"offer": forged}).status_code == 422
        shown = reverse("output-offered", args=[study.slug, output.pk, forged])
        assert client.get(shown).status_code == 404
    assert Frame.objects.get(output=output, number=2).media_id == now


def test_manager_who_does_not_own_the_benchmark_is_refused(study):
    client = log_in("carol", study, "manager")
    assert client.get(page(study, output_of(study))).status_code == 403


def test_missing_picture_can_be_added(study):
    output = output_of(study)
    Frame.objects.filter(output=output, number=2).update(media=None)
    client = alice(study)
    offer = offer_of(send(client, study, output, picture_bytes("right")))
    client.post(page(study, output), {"offer": offer})
    assert output.frames.get(number=2).media is not None


@pytest.mark.slow
def test_video_is_replaced_and_its_length_compared(tmp_path):
    study = make_study(
        benchmark=video_benchmark(tmp_path), kind="choice", consented=True
    )
    output, client = output_of(study, "Alder"), alice(study)
    old = output.video_id
    clip = write_clip(tmp_path / "new.mp4", frames=48).read_bytes()
    compared = send(client, study, output, clip)
    assert "The new video takes" in compared.content.decode()
    shown = reverse("output-offered", args=[study.slug, output.pk, offer_of(compared)])
    assert client.get(shown)["Content-Type"] == "video/mp4"
    client.post(page(study, output), {"offer": offer_of(compared)})
    output.refresh_from_db()
    assert output.video_id != old
    refused = send(client, study, output, picture_bytes("a picture"))
    assert "This file cannot be used" in refused.content.decode()


@pytest.mark.django_db(transaction=True)
def test_rating_submitted_meanwhile_is_of_the_old_picture(study, monkeypatch):
    output, person = output_of(study), join(study)
    user, held = owner(study), take(study, person, output)
    for question in held.questions:
        answering.record_answer(
            slot=held, annotator=person, question=question, value="3"
        )
    new = store_picture(picture_bytes("right")).pk
    now = output.frames.get(number=2).media_id
    meet(monkeypatch, submission, "own_locked_slot", 2)
    meet(monkeypatch, replacing, "effects", 2)

    def submit():
        with suppress(AnswerError):
            answering.submit(slot=held, annotator=person)
            return "submitted"
        return "too late"

    def change():
        replacing.replace(output, 2, now=now, new=new, user=user)
        return "replaced"

    outcomes = at_once(lambda job: job(), [submit, change])
    assert outcomes[1] == "replaced"
    held.refresh_from_db()
    is_late = outcomes[0] != "submitted"
    assert held.state == ("withdrawn" if is_late else "excluded")
    assert not slots_of(study, output).filter(state="submitted").exists()
    assert problems(study) == []
