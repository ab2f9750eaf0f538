"""A whole annotation session by the API, as the client sends it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotate.models import Annotator, Fault, Flag, Rating, Slot
from annotate.people.joining import make_link
from annotate.people.outcomes import code_of
from annotate.quality import follow_up
from annotate.studies import lifecycle
from plumbline.client import (
    ConflictError,
    InvalidError,
    NotAllowedError,
    NotFoundError,
    Session,
)
from tests.annotate.blinding.test_check_blinding import CHECKED
from tests.factories import METHODS, make_benchmark, make_study
from tests.robots import ADDRESS, InProcess, good_answers, ready, robot, visitor
from tests.working import LIKERT, PAIRWISE, make_planned

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study()


@pytest.fixture
def person(study) -> Annotator:
    return study.annotators.get(name="A01")


def taken(session: Session) -> dict:
    ready(session)
    return session.take()["story"]


def test_session_goes_from_consent_to_the_code(person):
    session = robot(person)
    first = session.standing()
    assert (first["next"], first["text"]) == ("consent", "You agree to take part.")
    read = session.consent(first["consent_version"])
    assert (read["next"], read["text"]) == ("instructions", "Look at all shots.")
    explained = session.instructions()
    assert [one["key"] for one in explained["questions"]] == ["character", "aesthetics"]
    assert explained["questions"][0]["options"][4] == {"value": "4", "label": "perfect"}
    following = session.confirm_instructions()
    seen = []
    while following["next"] in ("story", "break"):
        seen.append((following["next"], following["progress"]["session"]))
        story = session.take()["story"]
        assert story["shots"][0]["texts"]["setting"] == "A wood, part 1"
        picture = session.picture(story["shots"][0]["pictures"]["only"])
        assert picture.startswith(b"RIFF")
        following = session.submit(story["code"], good_answers(story), seconds=5)
        assert following["state"] == "submitted"
    assert seen == [("story", 1)] * 3 + [("break", 2)] + [("story", 2)] * 2
    assert following["next"] == "done"
    assert following["completion"]["code"] == person.completion_code
    assert Rating.objects.count() == 12


def test_declining_ends_the_session_with_the_code_for_it(person):
    session = robot(person)
    ended = session.decline()
    assert (ended["next"], ended["reason"]) == ("stopped", "declined")
    person.refresh_from_db()
    assert ended["completion"]["code"] == code_of(person, "no_consent")
    assert ended["may_return"]
    with pytest.raises(ConflictError):
        session.take()
    assert session.come_back()["next"] == "consent"


def test_story_requires_consent_and_instructions(person):
    session = robot(person)
    for first in ("consent", "instructions"):
        for action in (
            session.take,
            session.finish,
            lambda: session.submit("x", {}),
            lambda: session.draft("x", {}),
            lambda: session.heartbeat("x"),
            lambda: session.skip("x", "other"),
            lambda: session.story("x"),
        ):
            with pytest.raises(ConflictError) as refused:
                action()
            assert refused.value.next == first
        if first == "consent":
            with pytest.raises(ConflictError, match="agree to take part"):
                session.instructions()
            session.consent(session.standing()["consent_version"])
    assert not Slot.objects.filter(state="leased").exists()


def test_consent_to_a_corrected_text_is_refused(person):
    with pytest.raises(ConflictError, match="corrected") as refused:
        robot(person).consent("0")
    assert refused.value.next == "consent"
    person.refresh_from_db()
    assert person.consented_at is None


@pytest.mark.slow
def test_training_shows_feedback_and_opens_the_study():
    study = make_planned(
        LIKERT + CHECKED,
        benchmark=make_benchmark(stories=5),
        annotators=3,
        stories=["01", "02", "03"],
    )
    session = robot(study.annotators.first())
    assert ready(session)["next"] == "training"
    story = session.take()["story"]
    assert not story["can_skip"]
    with pytest.raises(ConflictError, match="cannot be skipped"):
        session.skip(story["code"], "other")
    answers = {"character": 4, "beauty": 4}
    following = session.submit(story["code"], answers)
    feedback = following["feedback"]
    assert [mark["question"] for mark in feedback["marks"]] == ["character"]
    assert "See how it keeps the hat." in feedback["explanation"]
    assert feedback["is_over"]
    assert feedback["passed"] == feedback["marks"][0]["is_right"]
    assert following["next"] == ("story" if feedback["passed"] else "training")


@pytest.mark.slow
def test_pairs_are_rated_by_side_without_names():
    study = make_planned(PAIRWISE, benchmark=make_benchmark(stories=2), annotators=3)
    session = robot(study.annotators.first())
    story = taken(session)
    assert set(story["shots"][0]["pictures"]) == {"left", "right"}
    options = [one["value"] for one in story["questions"][0]["options"]]
    assert options == ["left", "tie", "right"]
    assert not any(name in str(story) for name in METHODS)
    assert (
        session.work(lambda _story: {"quality": "left", "text": "tie"})["next"]
        == "done"
    )


def test_checklist_is_submitted_by_shot():
    study = make_study(kind="checklist")
    session = robot(study.annotators.first())
    story = taken(session)
    assert story["ticked"] == {}
    ticked = {"1": ["pan|text"], "2": []}
    with pytest.raises(ConflictError, match="shot 3"):
        session.submit(story["code"], ticked=ticked)
    assert not Rating.objects.exists()  # all or nothing
    with pytest.raises(InvalidError, match="send it shot by shot, under `ticked`"):
        session.submit(story["code"], {"pan|text": 1})
    for wrong in ({"1": ["fish|text"]}, {"9": []}, {"one": []}, {"²": []}):
        with pytest.raises(InvalidError):
            session.submit(story["code"], ticked=wrong)
    session.draft(story["code"], ticked={"3": ["people|video"]})
    session.submit(story["code"], ticked=ticked)
    assert Rating.objects.filter(value=1).count() == 2
    assert Rating.objects.count() == 18


def test_draft_comes_back_until_it_is_submitted(person):
    session = robot(person)
    code = taken(session)["code"]
    session.draft(code, {"character": 2})
    answers = {one["key"]: one["answer"] for one in session.story(code)["questions"]}
    assert answers == {"character": "2", "aesthetics": ""}
    with pytest.raises(ConflictError, match="Aesthetics"):
        session.submit(code, {})
    session.draft(code, {"character": None, "aesthetics": 1})
    with pytest.raises(ConflictError, match="Character"):
        session.submit(code, {})
    assert session.take()["story"]["code"] == code
    session.submit(code, {"character": 3})
    assert session.submit(code, {"character": 3})["state"] == "submitted"
    assert Slot.objects.filter(state="submitted").count() == 1


def test_answer_off_the_scale_is_refused_and_nothing_is_stored(person, subtests):
    session = robot(person)
    code = taken(session)["code"]
    for value in ["9", "--3", "3.0", "٣", "9" * 5000, "true"]:
        with subtests.test(value[:9]):
            with pytest.raises(InvalidError):
                session.submit(code, {"aesthetics": 3, "character": value})
            with pytest.raises(InvalidError, match="Unknown question colour"):
                session.submit(code, {"colour": 1})
            assert not Rating.objects.exists()


def test_story_of_another_annotator_is_not_found(study, person):
    code = taken(robot(person))["code"]
    other = robot(study.annotators.get(name="A02"))
    ready(other)
    for action in (
        lambda: other.submit(code, {"character": 1}),
        lambda: other.draft(code, {"character": 1}),
        lambda: other.skip(code, "other", "No."),
        lambda: other.heartbeat(code),
        lambda: other.story(code),
    ):
        with pytest.raises(NotFoundError):
            action()
    assert not Rating.objects.exists()


def test_story_after_the_end_of_its_lease_is_still_submitted(person):
    session = robot(person)
    code = taken(session)["code"]
    Slot.objects.filter(code=code).update(
        state="open", lease_until=timezone.now() - timedelta(hours=1)
    )
    assert session.heartbeat(code)["state"] == "leased"
    Slot.objects.filter(code=code).update(state="open", lease_until=None)
    session.submit(code, {"character": 3, "aesthetics": 3})
    assert Slot.objects.get(code=code).state == "submitted"


def test_skipping_needs_a_reason_and_gives_another_story(person):
    session = robot(person)
    story = taken(session)
    with pytest.raises(InvalidError):
        session.skip(story["code"], "dull")
    if story["skip_needs_comment"]:
        with pytest.raises(InvalidError, match="in a few words"):
            session.skip(story["code"], "unclear")
    assert session.skip(story["code"], "unclear", "Too dark.")["next"] == "story"
    assert session.take()["story"]["code"] != story["code"]


def test_faults_are_reported(person):
    session = robot(person)
    code = taken(session)["code"]
    session.draft(code, faults=[{"side": "only", "shot": 2}])
    assert Fault.objects.get().shot == 2
    with pytest.raises(InvalidError, match="no side"):
        session.draft(code, faults=[{"side": "left", "shot": 2}])


def test_warning_comes_before_the_next_story(person):
    session = robot(person)
    ready(session)
    Flag.objects.create(
        annotator=person, rule="fast", signal="seconds_per_unit", action="warn",
        value=1, n=5, text="fast",
    )  # fmt: skip
    warned = session.take()
    assert (warned["next"], warned["story"]) == ("warning", None)
    assert "very fast" in warned["text"]
    assert session.confirm_warning()["next"] == "story"


def test_session_says_that_work_is_paused_or_closed(study, person):
    session = robot(person)
    ready(session)
    follow_up.pause(person)
    assert session.standing()["reason"] == "held"
    with pytest.raises(ConflictError, match="paused") as refused:
        session.take()
    assert refused.value.next == "stopped"
    follow_up.resume(person)
    lifecycle.close(study)
    assert session.standing()["reason"] == "closed"


@pytest.mark.slow
def test_session_says_how_long_to_wait():
    study = make_planned(
        LIKERT + "assignment: open\nredundancy: 1",
        benchmark=make_benchmark(stories=1, methods=METHODS[:1]),
    )
    link = make_link(study, most=5)
    first, second = visitor(link), visitor(link)
    assert taken(first)["code"]
    waits = ready(second)
    assert waits["next"] == "wait"
    assert waits["minutes"] > 0
    assert waits["may_finish"]
    assert second.finish()["completion"]["outcome"] == "no_work"


def test_joining_twice_with_a_platform_id_needs_the_device():
    study = make_planned(
        LIKERT + "assignment: open\nrecruitment: {platform: prolific}",
        benchmark=make_benchmark(stories=2),
    )
    link = make_link(study, most=5)
    came = {"parameters": {"PROLIFIC_PID": "5f0c"}, "device": "kiosk-1-secret-words"}
    first = visitor(link, **came)
    assert first.standing()["next"] == "consent"
    assert visitor(link, **came).token == first.token
    with pytest.raises(ConflictError, match="another device"):
        visitor(link, parameters={"PROLIFIC_PID": "5f0c"})
    assert study.annotators.count() == 1


def test_full_or_unknown_link_is_refused(study):
    link = make_link(study, most=1)
    link.closed_at = timezone.now()
    link.save()
    with pytest.raises(ConflictError, match="closed"):
        visitor(link)
    with pytest.raises(NotFoundError):
        Session.join(ADDRESS, "nothing", transport=InProcess())


def test_withdrawing_leaves_answers_out_and_ends_the_session(person):
    session = robot(person)
    story = taken(session)
    session.submit(story["code"], good_answers(story))
    ended = session.withdraw(keep_answers=True)
    assert (ended["next"], ended["reason"]) == ("stopped", "withdrawn")
    session.withdraw(keep_answers=False)
    person.refresh_from_db()
    assert person.answers_withdrawn
    with pytest.raises(ConflictError, match="withdrawn"):
        session.take()


def test_unknown_link_is_no_session():
    with pytest.raises(NotAllowedError):
        Session(ADDRESS, "nothing", transport=InProcess()).standing()


def test_submission_refuses_more_answers_than_the_limit(person):
    session = robot(person)
    code = taken(session)["code"]
    with pytest.raises(InvalidError, match=r"at most 200 answers .*, not 201"):
        session.submit(code, ticked={str(n): [] for n in range(1, 202)})
    assert not Rating.objects.exists()


def test_texts_come_in_the_language_of_the_front_end(person):
    session = robot(person, language="zh-hans")
    assert session.standing()["text"] == "您同意参加。"
    assert taken(session)["shots"][0]["texts"]["setting"] == "森林 1"
