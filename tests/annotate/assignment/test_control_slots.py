"""Checks: positions, contents, and concealment."""

import re
from collections import Counter

import pytest
from django.urls import reverse

from annotate.assignment import choosing
from annotate.audit_log.verifying import problems
from annotate.coverage.counts import totals
from annotate.models import Annotator, Purpose, Slot, Unit
from annotate.reports import study_tables
from annotate.responses import giving_back
from tests.cases import slow
from tests.factories import make_benchmark
from tests.working import (
    LIKERT,
    PAIRWISE,
    Browser,
    always,
    answer,
    join,
    make_planned,
    sessions_of,
    work,
)

pytestmark = pytest.mark.django_db

REPEATS = "session_size: 3\nchecks: {per_session: 1, kinds: [repeat]}\n"
GOLD = """
session_size: 4
checks:
  per_session: 1
  kinds: [gold]
  gold:
    - {story: "06", method: Alder, expected: {character: [3, 4]}}
    - {story: "07", method: Birch, expected: {character: [0, 1]}}
    - {story: "08", method: Cedar, expected: {character: 2}}
"""
PAIRWISE_GOLD = """
session_size: 3
checks:
  per_session: 1
  kinds: [gold]
  gold:
    - {story: "07", methods: [Alder, Birch], expected: {quality: Alder}}
    - {story: "08", methods: [Alder, Cedar], expected: {quality: Cedar}}
"""
TWINS = """
session_size: 3
checks: {per_session: 1, kinds: [twin], degradations: [blurred, repeated_shot],
         share: 1}
"""
OPEN = "assignment: open\n"


@pytest.fixture
def woods():
    return make_benchmark(stories=8, shots=2)


def purposes(person):
    return {
        session: [slot.purpose for slot in slots]
        for session, slots in sessions_of(person).items()
    }


def has_no_doubles(person):
    for slots in sessions_of(person).values():
        stories = [slot.unit.story_id for slot in slots]
        if len(set(stories)) < len(stories):
            return False
    return True


# Positions ----------------------------------------------------------------------------


@pytest.mark.parametrize("assignment", ["", *slow(OPEN)])
def test_sessions_after_the_first_have_a_repeat(woods, assignment):
    plan = {} if assignment else {"annotators": 2}
    study = make_planned(
        LIKERT + REPEATS + assignment, benchmark=woods, redundancy=2, **plan
    )
    person = join(study, "" if assignment else "A01")
    work(person, always("3"), most=11)
    found = purposes(person)
    assert found.pop(1) == ["real"] * 3
    for session in (2, 3):
        kinds = found[session]
        assert Counter(kinds) == {"real": 3, "repeat": 1}, session
        assert kinds[0] == "real"
    assert has_no_doubles(person)
    assert problems(study) == []


@pytest.mark.slow
@pytest.mark.parametrize("assignment", ["planned", "open"])
def test_checks_are_shown_at_their_positions(woods, assignment):
    text = LIKERT + GOLD + f"assignment: {assignment}\n"
    plan = {"annotators": 8} if assignment == "planned" else {}
    study = make_planned(
        text,
        benchmark=woods,
        redundancy=8,
        stories=["01", "02", "03", "04", "05"],
        **plan,
    )
    met = Counter()
    for i in range(8):
        person = join(study, f"A{i + 1:02}" if plan else "")
        done = [slot for slot in work(person, always("2"), most=5) if slot.session == 1]
        assert Counter(s.purpose for s in done)["gold"] == 1
        assert len(done) == len(sessions_of(person)[1])
        met[[slot.purpose for slot in done].index("gold")] += 1
    assert 0 not in met
    assert len(met) > 1


# Contents ----------------------------------------------------------------------------


@pytest.mark.slow
def test_repeats_and_degraded_copies_are_of_earlier_sessions(woods):
    text = (
        LIKERT
        + """
session_size: 4
checks: {per_session: 2, kinds: [repeat, twin], degradations: [blurred], share: 1}
"""
    )
    study = make_planned(text, benchmark=woods, annotators=2, redundancy=2)
    for name in ("A01", "A02"):
        work(join(study, name), always("3"))
    repeats = list(study.slots.filter(purpose="repeat").select_related("repeat_of"))
    twins = list(study.slots.filter(purpose="twin").select_related("unit__original"))
    assert repeats
    assert twins
    assert len(repeats) + len(twins) > 6
    for slot in repeats:
        assert slot.repeat_of.session < slot.session
        assert slot.repeat_of.unit_id == slot.unit_id
        assert slot.repeat_of.annotator_id == slot.annotator_id
    assert len({slot.repeat_of_id for slot in repeats}) == len(repeats)
    for slot in twins:
        judged = slot.annotator.slots.get(unit=slot.unit.original, purpose="real")
        assert judged.session < slot.session
    met = {(slot.annotator_id, slot.unit.original_id) for slot in twins}
    assert len(met) == len(twins)


@pytest.mark.slow
def test_repeated_pairs_have_swapped_sides(woods):
    study = make_planned(
        PAIRWISE + REPEATS, benchmark=woods, annotators=2, redundancy=2
    )
    person = join(study, "A01")
    work(person, always("left"), most=16)
    repeats = person.slots.filter(purpose="repeat").select_related("repeat_of")
    assert len(repeats) >= 2
    for slot in repeats:
        assert slot.a_is_left != slot.repeat_of.a_is_left


@pytest.mark.slow
def test_gold_pairs_balance_a_persons_sides(woods):
    study = make_planned(
        PAIRWISE + PAIRWISE_GOLD,
        benchmark=woods,
        annotators=2,
        redundancy=2,
        stories=["01", "02", "03", "04", "05", "06"],
    )
    shown = set()
    for person, left in zip(study.annotators.all(), (True, False), strict=True):
        person.slots.update(a_is_left=left)
        joined = join(study, person.name)
        work(joined, always("left"), most=12)
        gold = joined.slots.filter(purpose="gold", state="submitted")
        shown |= {(left, slot.a_is_left) for slot in gold}
    assert shown == {(True, False), (False, True)}


@pytest.mark.slow
def test_pairwise_degraded_copy_is_beside_its_original(woods):
    study = make_planned(PAIRWISE + TWINS, benchmark=woods, annotators=2, redundancy=2)
    units = study.units.filter(purpose="twin").select_related("output_a", "output_b")
    assert {unit.output_b.twin_of_id for unit in units} == {
        unit.output_a_id for unit in units
    }
    assert {unit.output_a.method.name for unit in units} == {"Alder", "Birch", "Cedar"}
    assert units[0].expected == {"quality": "a", "text": "a"}
    person = join(study, "A01")
    work(person, always("left"), most=10)
    assert Counter(purposes(person)[1]) == {"real": 3, "twin": 1}
    assert problems(study) == []


@pytest.mark.slow
def test_gold_units_exclude_the_annotators_outputs(woods):
    """Older studies can have gold among their units; the annotator's are excluded."""
    study = make_planned(
        LIKERT + GOLD,
        benchmark=woods,
        annotators=2,
        redundancy=2,
        stories=["01", "02", "03", "04"],
    )
    real = study.units.filter(purpose="real").values_list("output_a", "story")
    for unit, (output, story) in zip(
        study.units.filter(purpose="gold"), real, strict=False
    ):
        Unit.objects.filter(pk=unit.pk).update(output_a=output, story=story)
    for name in ("A01", "A02"):
        person = join(study, name)
        work(person, always("3"))
        assert not person.slots.filter(purpose="gold").exists()


# Concealment -------------------------------------------------------------------------


def structure(page: str, slot: Slot) -> str:
    """Return a page without the parts that differ between stories."""
    page = page.replace(slot.code, "CODE")
    page = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", page)
    page = re.sub(r"/story/[\w-]{12}/", "/story/BEFORE/", page)
    left = r"(about \d+ minutes?, *)?\d+ stor(y|ies) until your code"
    after = r"\d+ more stor(y|ies)(, *about \d+ minutes?)?"
    differs = rf"A wood, part \d|Fox walks \d|Story \d of|{left}|{after}"
    return re.sub(differs, "", page)


@pytest.mark.parametrize(
    "text", [LIKERT + TWINS, *slow(PAIRWISE + TWINS, LIKERT + REPEATS)]
)
@pytest.mark.parametrize("assignment", ["planned", *slow("open")])
def test_check_pages_look_like_real_ones(client, woods, text, assignment):
    plan = {"annotators": 2} if assignment == "planned" else {}
    study = make_planned(
        f"{text}assignment: {assignment}\n", benchmark=woods, redundancy=2, **plan
    )
    value = "left" if study.is_side_by_side else "3"
    person = join(study, "A01" if plan else "")
    browser = Browser(client, person)
    browser.post(browser.address("pause"))
    answers = {question.key: value for question in study.questions.all()}
    sizes: dict[int, set] = {}
    numbers: dict[int, list] = {}
    pages: dict[str, set] = {}
    while len(numbers.get(3, ())) < 2:
        slot = browser.slot
        page = browser.get()
        shown = page.context["progress"]
        sizes.setdefault(slot.session, set()).add(shown["size"])
        numbers.setdefault(slot.session, []).append(shown["number"])
        if shown["number"] > 1 and slot.session == 2:
            text = re.sub(
                r'value="\d"( aria-label="Progress)',
                r"\1",
                structure(page.content.decode(), slot),
            )
            pages.setdefault(slot.purpose, set()).add(text)
        told = {"Content-Length", "Expires", "Last-Modified"}
        headers = {key: v for key, v in page.headers.items() if key not in told}
        pages.setdefault("headers", set()).add(str(headers))
        browser.fill(**answers)
        if browser.at.endswith("/pause/"):
            browser.post(browser.at)
    check = "twin" if "twin" in pages else "repeat"
    assert pages["real"] == pages[check], "one structure for all"
    assert len(pages["headers"]) == 1
    assert {session: len(found) for session, found in sizes.items()} == {
        1: 1,
        2: 1,
        3: 1,
    }
    assert sizes[2] == {4}
    assert numbers[2] == [1, 2, 3, 4]


@pytest.mark.slow
def test_api_does_not_reveal_checks(client, woods):
    study = make_planned(
        LIKERT + GOLD,
        benchmark=woods,
        annotators=2,
        redundancy=2,
        stories=["01", "02", "03", "04", "05"],
    )
    person = join(study, "A01")
    headers = {"Authorization": f"Invitation {person.invitation.token}"}
    keys = {}
    for _ in range(5):
        shown = client.post(reverse("api-slot"), headers=headers).json()["story"]
        slot = Slot.objects.get(code=shown["code"])
        plain = {key: type(value).__name__ for key, value in shown.items()}
        assert len(slot.code) == 12
        keys[slot.purpose] = (plain, shown["session"])
        answer(slot, person, always("2"))
    assert keys["real"] == keys["gold"]


# Counting ----------------------------------------------------------------------------


def test_checks_do_not_count_as_answers(woods):
    study = make_planned(LIKERT + REPEATS, benchmark=woods, annotators=2, redundancy=1)
    wanted = totals(study).wanted
    for name in ("A01", "A02"):
        work(join(study, name), always("3"))
    assert study.slots.filter(purpose="repeat").exists()
    found = totals(study)
    assert (found.wanted, found.submitted) == (wanted, wanted)
    assert set(study.units.values_list("submitted", flat=True)) == {1}
    rows = list(study_tables.answer_rows(study, "ratings"))
    marked = sum(row["is_repeat"] for row in rows)
    assert marked == 2 * study.slots.filter(purpose="repeat").count()
    assert len(rows) - marked == 2 * wanted
    assert problems(study) == []


@pytest.mark.slow
def test_skipped_check_is_not_repeated(woods):
    gold = "".join(GOLD.splitlines(keepends=True)[:7])
    study = make_planned(
        LIKERT + gold,
        benchmark=woods,
        annotators=1,
        redundancy=1,
        stories=["01", "02", "03", "04", "05"],
    )
    person = join(study, "A01")
    while (slot := choosing.next_for(person).slot).purpose == Purpose.REAL:
        answer(slot, person, always("3"))
    giving_back.skip(slot, person, reason="unclear")
    rest = work(person, always("3"))
    assert rest
    assert {slot.purpose for slot in rest} == {"real"}
    assert study.annotators.get().state == Annotator.State.FINISHED
    assert problems(study) == []
