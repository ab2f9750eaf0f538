"""Validation of the browser's times."""

import re
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from hypothesis import given, target
from hypothesis import strategies as st
from rest_framework.test import APIClient

from annotate.assignment import choosing
from annotate.audit_log import verifying
from annotate.coverage.slot_counts import tallies
from annotate.models import Annotator, Event, Flag, Invitation, Slot
from annotate.people import session_progress
from annotate.reports.export_folder import write_export
from annotate.reports.study_tables import answer_rows
from annotate.responses import giving_back
from annotate.responses.timing import (
    TOLERANCE,
    fits,
    room,
    time_problem,
)
from tests.factories import make_benchmark, make_study
from tests.people import alice
from tests.working import Browser, form, join, make_planned, save

START = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS = st.floats(0, 3000, allow_nan=False)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


# Limits ------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(SECONDS, SECONDS, st.floats(1e-3, 1e6) | st.none()),
        min_size=1,
        max_size=12,
    )
)
def test_times_never_exceed_the_elapsed_time(told):
    """Claims are arbitrary: stories in any order, with any earlier start."""
    done: list[tuple[datetime, datetime, float]] = []
    rows = sorted(((min(a, b), max(a, b), c) for a, b, c in told), key=lambda r: r[1])
    for since, until, claimed in rows:
        most = room(at(since), at(until), [(s, b) for s, _u, b in done])
        believed = most if claimed is None else min(claimed, most)
        done.append((at(since), at(until), believed))
    for begin, _until, _b in done:
        for _since, end, _b in done:
            within = sum(b for s, u, b in done if begin <= s and u <= end)
            passed = max((end - begin).total_seconds(), 0)
            assert within <= passed + TOLERANCE + 1e-3


@given(
    st.lists(
        st.tuples(SECONDS, st.floats(0, 300), st.floats(1e-3, 1e4) | st.none()),
        min_size=1,
        max_size=12,
    )
)
def test_valid_time_stays_valid(told):
    done: list[tuple[datetime, float]] = []
    last, seen = None, 0
    for since, length, claimed in sorted(told, key=lambda row: row[0] + row[1]):
        now = at(since + length)
        most = room(at(since), now, done)
        if claimed is not None and fits(claimed, at(since), now, last):
            assert claimed <= most
            seen += 1
        done.append((at(since), most if claimed is None else min(claimed, most)))
        last = now
    target(float(seen))  # so that it is not always too long


@st.composite
def honest_work(draw):
    """Draw consecutive stories, each fetched some time before it is shown.

    Each has its start, its seconds, and the arrival of its answers: at once, or all
    together after an offline time.
    """
    rows, clock = [], 0.0
    for _story in range(draw(st.integers(1, 12))):
        clock += draw(st.floats(0, 60))  # a break, or none
        fetched = draw(st.floats(0, clock))
        spent = draw(st.floats(0.2, 900))
        clock += spent
        rows.append([fetched, spent, clock + draw(st.floats(0, 5))])
    if draw(st.booleans()):
        for row in rows[draw(st.integers(0, len(rows) - 1)) :]:
            row[2] = clock + 3600
    return rows


@given(honest_work(), st.randoms(use_true_random=False))
def test_honest_times_are_unchanged(rows, dice):
    """The times include offline hours, with stories arriving in any order."""
    dice.shuffle(rows)
    rows.sort(key=lambda row: row[2])
    done: list[tuple[datetime, float]] = []
    for fetched, spent, arrived in rows:
        assert room(at(fetched), at(arrived), done) >= spent
        done.append((at(fetched), spent))


# Requests -----------------------------------------------------------------------------


def seat(study) -> tuple[Annotator, APIClient]:
    person = join(study, "A01")
    client = APIClient()
    token = Invitation.objects.get(annotator=person).token
    client.credentials(HTTP_AUTHORIZATION=f"Invitation {token}")
    return person, client


def ten_stories(**kw):
    benchmark = make_benchmark(stories=10, methods=("Alder",), pictures=False)
    return make_study(benchmark=benchmark, annotators=1, session_size=10, **kw)


@pytest.fixture
def later(monkeypatch):
    """Advance the frozen time, also for signatures and the log."""
    clock = [time.time()]

    def now() -> datetime:
        return datetime.fromtimestamp(clock[0], UTC)

    monkeypatch.setattr(time, "time", lambda: clock[0])
    monkeypatch.setattr(timezone, "now", now)
    monkeypatch.setattr(Event._meta.get_field("at"), "_get_default", now)

    def pass_(seconds: float) -> None:
        clock[0] += seconds

    return pass_


def work_by_api(client: APIClient, later, **told) -> None:
    """Answer all stories, each in a fifth of a second."""
    while (taken := client.post(reverse("api-slot")).json())["next"] != "done":
        if taken["next"] == "warning":
            client.post(reverse("api-warning"))
            continue
        slot = taken["story"]
        n = len(Slot.objects.filter(state="submitted"))
        answers = {q["key"]: str((n + i) % 5) for i, q in enumerate(slot["questions"])}
        url = reverse("api-submit", args=[slot["code"]])
        given = {"answers": answers, **told}
        later(0.2)
        assert client.post(url, given, format="json").status_code == 200


@pytest.mark.slow
@pytest.mark.django_db
def test_claimed_minutes_are_refused_after_two_seconds(later):
    """The real times are stored, and rules and managers see them."""
    study = ten_stories(rules="default")
    person, client = seat(study)
    work_by_api(client, later, seconds=31)
    rows = person.slots.values_list("seconds", "claimed_seconds")
    assert len(rows) == 10
    taken = sum(seconds for seconds, _claimed in rows)
    assert taken == pytest.approx(2 + TOLERANCE)
    assert {claimed for _seconds, claimed in rows} == {31}
    raised = dict(person.flags.values_list("rule", "action"))
    assert raised["impossible-time"] == "note"
    assert raised["fast"] == "warn"
    texts = " ".join(Flag.objects.values_list("text", flat=True))
    assert "had shots on screen for less than 1 s" in texts
    assert "have an impossible time" in texts
    slot = person.slots.last()
    page = alice(study).get(reverse("slot-detail", args=[study.slug, slot.code]))
    assert "the browser reported 31 s" in page.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("seconds", [0, 1e9])
def test_impossible_time_is_stored_but_not_used(later, seconds):
    person, client = seat(ten_stories())
    code = client.post(reverse("api-slot")).json()["story"]["code"]
    answers = {"character": "3", "aesthetics": "2"}
    url = reverse("api-submit", args=[code])
    given = {"answers": answers, "seconds": seconds}
    later(1)
    assert client.post(url, given, format="json").status_code == 200
    slot = person.slots.get(code=code)
    assert slot.seconds == 1 + TOLERANCE
    assert slot.claimed_seconds == seconds
    told = time_problem(slot.offered_at, slot.claimed_seconds, slot.seconds)
    assert told == "impossible"


@pytest.mark.django_db
@pytest.mark.parametrize("told", [{}, {"seconds": None}, {"seconds": -5}])
def test_answer_with_invalid_time_is_stored(client, later, told):
    """JSON encodes NaN as null."""
    person = join(ten_stories(), "A01")
    browser = Browser(client, person)
    browser.at = browser.post(browser.address("pause"))
    rows = [
        {"kind": "answer", "id": key, "key": key, "question": key, "value": "2"}
        for key in ("character", "aesthetics")
    ]
    rows.append({"kind": "submit", "id": "submit", **told})
    at = f"{browser.at}save/"
    later(1)
    reply = client.post(at, {"rows": rows}, content_type="application/json").json()
    assert reply["submitted"], reply
    slot = person.slots.get(state="submitted")
    assert slot.seconds == 1 + TOLERANCE
    found = time_problem(slot.offered_at, slot.claimed_seconds, slot.seconds)
    assert found == ("impossible" if told.get("seconds") else "missing")


def fetched_ahead(client, browser: Browser) -> list[tuple[str, str]]:
    """Prefetch the next pages like the page's scripts; return addresses and proofs."""
    told = client.get(f"{browser.at}ahead/").json()["pages"]
    found = []
    for address in told:
        page = client.get(address).content.decode()
        proof = page.partition("?proof=")[2].partition('"')[0]
        found.append((address.partition("?")[0], proof.replace("%3A", ":")))
    return found


@pytest.mark.django_db
def test_offline_hour_is_a_valid_time(client, later):
    """Nine stories, eight of them prefetched, arrive together."""
    person = join(ten_stories(), "A01")
    browser = Browser(client, person)
    browser.at = browser.post(browser.address("pause"))
    ahead = fetched_ahead(client, browser)
    assert len(ahead) == 8
    later(3600)
    for address, proof in [(browser.at, ""), *ahead]:
        response = save(
            client,
            address,
            proof=proof,
            submit=True,
            seconds=390,
            character=3,
            aesthetics=1,
        )
        assert response.json()["submitted"], response.content
    done = person.slots.filter(state="submitted")
    assert set(done.values_list("seconds", flat=True)) == {390}


def one_story_for_all():
    """Return an open study with one slot and a lease of ten minutes."""
    return make_planned(
        "kind: likert\nscale: [0, 4]\nassignment: open\nredundancy: 1\n"
        "lease_minutes: 10\nquestions: [{key: beauty, title: B, text: t}]\n",
        benchmark=make_benchmark(stories=1, methods=("Alder",)),
    )


@pytest.mark.django_db
@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.parametrize("told", [1200, None])
def test_expired_lease_keeps_its_time(client, later, taken, told):
    """The answers take the slot again, or go into a surplus slot.

    If no time is sent, the full time since the first lease is used.
    """
    study = one_story_for_all()
    person = join(study)
    browser = Browser(client, person)
    browser.at = browser.post(browser.address("pause"))
    later(1500)
    assert giving_back.release_expired() == 1
    if taken:
        assert choosing.next_for(join(study)).taken
    save(client, browser.at, beauty=3, submit=True, seconds=told)
    slot = person.slots.get(state="submitted")
    assert slot.seconds == (told or 1500 + TOLERANCE)
    assert (slot.ordinal is None) == taken


def minutes_for(person, stories):
    seconds = session_progress.own_latest(person.pk).values_list("measured", flat=True)
    return session_progress.minutes_for(person, stories, list(seconds))


@pytest.mark.django_db
def test_measured_time_is_exported_and_counted(client, later):
    study = ten_stories()
    person = join(study, "A01")
    browser = Browser(client, person)
    browser.at = browser.post(browser.address("pause"))
    for _story in range(3):
        later(60)
        browser.post(
            f"{browser.at}submit/", seconds="40", **form(character=3, aesthetics=1)
        )
    assert {row["seconds"] for row in answer_rows(study, "ratings")} == {40.0}
    assert tallies(study)["people"][str(person.pk)]["seconds"] == 40.0
    assert minutes_for(person, 7) == 5


# Time in sight ------------------------------------------------------------------------


def sent(client, later, **told):
    """Answer an annotator's first story after a minute; return reply and slot."""
    person = join(make_study(benchmark=make_benchmark(stories=1, shots=3)), "A01")
    browser = Browser(client, person)
    browser.at = browser.post(browser.address("pause"))
    answers = {"character": "3", "aesthetics": "1"}
    later(60)
    reply = save(client, browser.at, submit=True, **told, **answers)
    return reply, person.slots.order_by("position").first()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({"1": 2.004, "2": 0, "3": 1e9}, {"1": 2.0, "2": 0.0, "3": 20.0}),
        ({"1": 1, "2": -5, "99": 4}, {"1": 1.0, "2": 0.0, "3": 0.0}),
        ({"3": 7}, {"1": 0.0, "2": 0.0, "3": 7.0}),
        (
            {"1": float("nan"), "2": float("inf"), "3": "7"},
            {"1": 0.0, "2": 0.0, "3": 7.0},
        ),
        ({}, {"1": 0.0, "2": 0.0, "3": 0.0}),
        (None, None),
    ],
)
def test_time_in_sight_is_limited_by_time_on_page(client, later, told, kept):
    reply, slot = sent(client, later, in_sight=told)
    assert reply.json()["submitted"]
    assert slot.seconds == 20
    assert slot.in_sight == kept
    assert verifying.problems(slot.study) == []


@pytest.mark.django_db
def test_time_in_sight_is_exported_and_shown(client, later, tmp_path):
    _reply, slot = sent(client, later, in_sight={"1": 0.2, "2": 9.5, "3": 0.6})
    write_export(slot.study, tmp_path)
    text = (tmp_path / "in_sight.csv").read_text()
    assert text == (
        "slot,story,annotator,shot,seconds,seen,share_seen,is_gold,is_repeat,excluded\n"
        f"{slot.code},01,A01,1,0.2,false,0.6667,false,false,false\n"
        f"{slot.code},01,A01,2,9.5,true,0.6667,false,false,false\n"
        f"{slot.code},01,A01,3,0.6,true,0.6667,false,false,false\n"
    )
    url = reverse("slot-detail", args=[slot.study.slug, slot.code])
    page = alice(slot.study).get(url).content.decode()
    shots = re.findall(r'<li><span class="badge ?(\w*)">(.*?) ?</span>', page)
    assert shots == [
        ("warn", "Shot 1: 0.2 s (not seen)"),
        ("", "Shot 2: 9.5 s"),
        ("", "Shot 3: 0.6 s"),
    ]
