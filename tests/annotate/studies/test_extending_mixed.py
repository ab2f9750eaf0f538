"""A method and stories added to a study of real length that is half done."""

from collections import Counter

import pytest
from django.utils import timezone

from annotate.audit_log.verifying import problems
from annotate.responses.bulk import SlotAnswers, store_judgements
from annotate.studies import lifecycle
from annotate.studies.extending import extend
from annotate.studies.planning import plan_study
from evalcore.models import Frame
from tests.annotate.studies.test_extending import definition
from tests.factories import make_benchmark, picture_bytes, store_picture
from tests.working import always, join, work

pytestmark = [pytest.mark.django_db]

METHODS = [f"M{number:02}" for number in range(1, 14)]
LATE = METHODS[-1]


def planned(kind, stories, more, **changes):
    """Plan a study of the first twelve methods; later stories are not in it yet."""
    keys = [f"{number:02}" for number in range(1, stories + more + 1)]
    benchmark = make_benchmark(
        stories=len(keys), shots=1, methods=METHODS, pictures=False
    )
    Frame.objects.update(media=store_picture(picture_bytes("one for all")))
    people = changes.pop("annotators", 0)
    study = plan_study(
        definition(kind, redundancy=3, session_size=10, **changes),
        benchmark=benchmark,
        slug="long",
        annotators=people,
        methods=METHODS[:-1],
        stories=keys[:stories],
    )
    return lifecycle.launch(study), keys[stories:]


def finish(study, share=1.0):
    """Answer this share of everybody's remaining slots, in order."""
    value = "a" if study.is_side_by_side else 3
    answers = dict.fromkeys(study.questions.all(), value)
    judged = []
    for person in study.annotators.all():
        own = person.slots.filter(state="open").order_by("position")
        left = list(own.select_related("study"))
        judged += left[: round(len(left) * share)]
    now = timezone.now()
    store_judgements(SlotAnswers(slot, answers, now, 20.0) for slot in judged)
    study.annotators.update(state="active", consented_at=now, instructed_at=now)


def late_shares(study, parts):
    """Return the late method's share of each part of everybody's remaining work."""
    shown, late = Counter(), Counter()
    names = study.output_paths("unit__", "__method__name")
    for person in study.annotators.all():
        own = person.slots.filter(state="open").order_by("position")
        rows = list(own.values_list(*names))
        for at, methods in enumerate(rows):
            part = at * parts // len(rows)
            shown[part] += 1
            late[part] += LATE in methods
    return [late[part] / shown[part] for part in range(parts)]


@pytest.mark.slow
@pytest.mark.postgresql
@pytest.mark.parametrize(
    ("kind", "people", "stories", "parts"),
    [
        ("likert", 6, 8, 2),
        ("likert", 24, 40, 5),
        ("choice", 60, 40, 5),
    ],
)
def test_late_items_are_mixed_with_the_rest(kind, people, stories, parts):
    study, more = planned(kind, stories, stories // 8, annotators=people)
    finish(study, share=0.5)
    begun = set(study.slots.filter(state="submitted").values_list("pk", "position"))
    result = extend(study, methods=[LATE], stories=more)
    assert result.older > 0
    assert result.unmixed == ()
    study.refresh_from_db()
    shares = late_shares(study, parts)
    assert max(shares) < 2 * min(shares), shares
    assert begun <= set(study.slots.values_list("pk", "position"))
    finish(study)
    balance = study.balance_report
    assert list(balance["redundancy"]) == [3, 3]
    assert balance["load"][1] - balance["load"][0] <= 1
    assert balance["method_spread"] <= 2
    assert balance["repeated_units"] == balance["stories_twice_in_session"] == 0
    # Of a few dozen ratings of a method, the mean position varies more.
    assert balance["position_spread"] <= (0.05 if stories >= 40 else 0.2)
    assert balance["session_size"][1] <= 10
    if kind == "choice":
        assert balance["left_spread_unit"] <= 1
        assert balance["left_spread_pair"] <= 1
    assert set(study.units.values_list("submitted", flat=True)) == {3}
    assert problems(study) == []


@pytest.mark.slow
@pytest.mark.postgresql
def test_free_late_items_are_mixed_with_the_rest():
    study, stories = planned("likert", 4, 1, assignment="open")
    people = [join(study) for _ in range(4)]
    for person in people:
        work(person, always("3"), most=18)
    result = extend(study, methods=[LATE], stories=stories)
    assert (result.slots, result.older) == (51, 72)
    people.append(join(study))
    shown = {person.pk: [] for person in people}
    busy = True
    while busy:
        busy = False
        for person in people:
            for slot in work(person, always("3"), most=1):
                busy = True
                shown[person.pk].append(slot.unit.output_a.method.name == LATE)
    assert set(study.units.values_list("submitted", flat=True)) == {3}
    for late in shown.values():
        assert sum(late[:6]) <= 3, shown
        assert sum(late) >= 1, shown
    assert problems(study) == []


@pytest.mark.slow
def test_people_without_older_items_are_named():
    study, _stories = planned("likert", 1, 0, annotators=6)
    first = study.annotators.order_by("name").first()
    everyone = set(study.annotators.values_list("name", flat=True))
    own = list(first.slots.all())
    answers = dict.fromkeys(study.questions.all(), 3)
    store_judgements(SlotAnswers(s, answers, timezone.now(), 20.0) for s in own)
    result = extend(study, methods=[LATE], annotators=0, dry_run=True)
    assert set(result.shares) < everyone
    assert set(result.unmixed) == {first.name} & set(result.shares)
    finish(study)
    result = extend(study, methods=[LATE])
    assert result.older == 0
    assert set(result.unmixed) == set(result.shares)
