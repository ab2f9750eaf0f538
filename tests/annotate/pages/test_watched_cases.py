"""Eight things that go wrong in a study: what Progress says, and what settles it."""

import html
import random
import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.coverage import snapshots
from annotate.models import Flag, Study
from annotate.people import joining
from annotate.quality import follow_up, monitoring
from annotate.responses import giving_back
from annotate.responses.bulk import SlotAnswers, store_judgements
from annotate.studies import deadline
from tests.annotate.studies.test_extending import planned_study
from tests.cases import slow_cases
from tests.factories import make_benchmark, make_study
from tests.people import alice, rob
from tests.studies import QUALITY, running_study, study_with_vanished

pytestmark = pytest.mark.django_db
METHODS = tuple(QUALITY)


def woods(annotators=3, stories=8, kind="likert"):
    """Return a study in which everybody has one slot of every unit."""
    benchmark = make_benchmark(
        slug="woods", stories=stories, shots=1, methods=METHODS, pictures=False
    )
    study = make_study(
        benchmark=benchmark, annotators=annotators, kind=kind, consented=True
    )
    Study.objects.filter(pk=study.pk).update(rules="default")
    study.refresh_from_db()
    return study


def answer(study, name, value, seconds=40.0):
    """Let a person answer everything: `value` takes a slot."""
    questions = list(study.questions.all())
    now = timezone.now()
    slots = study.slots.filter(annotator__name=name, state="open").order_by("position")
    store_judgements(
        SlotAnswers(
            slot,
            {question: value(slot) for question in questions},
            now - timedelta(minutes=100 - at),
            seconds,
        )
        for at, slot in enumerate(slots.select_related("unit__output_a__method"))
    )
    person = study.annotators.get(name=name)
    person.last_seen_at = now
    person.save(update_fields=["last_seen_at"])
    monitoring.check_rules(person)


def fair(slot):
    """Return a value that depends on the method alone."""
    return round(QUALITY[slot.unit.output_a.method.name])


def vanished():
    return study_with_vanished(timezone.now(), others_left=2)


def blocked():
    """A01 is paused and holds all that is left."""
    study = woods()
    answer(study, "A02", fair)
    answer(study, "A03", fair)
    follow_up.pause(study.annotators.get(name="A01"))
    return study


def too_fast():
    study = woods()
    answer(study, "A01", fair, seconds=0.05)
    return study


def always_left():
    study = woods(kind="choice", stories=4)
    answer(study, "A01", lambda slot: "a" if slot.a_is_left else "b")
    return study


def random_answers():
    """A03 answers at normal pace, without looking."""
    study = woods()
    rule = {"key": "random", "signal": "agreement", "action": "warn"}
    Study.objects.update(rules=[rule | {"below": 0.3, "at_least": 20}])
    dice = random.Random(3)
    for name in ("A01", "A02"):
        answer(study, name, fair)
    study.refresh_from_db()
    answer(study, "A03", lambda _slot: dice.randrange(5))
    return study


def skips_a_method():
    """A01 skips all eight stories of one of five methods, and nobody else does."""
    study = woods()
    answer(study, "A02", fair)
    person = study.annotators.get(name="A01")
    for slot in person.slots.filter(unit__output_a__method__name="Elm"):
        giving_back.skip(slot, person, reason="unclear")
    answer(study, "A01", fair)
    return study


def no_agreement():
    study = woods()
    dice = random.Random(5)
    for name in ("A01", "A02", "A03"):
        answer(study, name, lambda _slot: dice.randrange(5))
    Flag.objects.all().delete()
    snapshots.refresh(study)
    return study


def too_slow():
    """Forty ratings are left at the pace of two thirds in a week."""
    study = running_study(timezone.now())
    deadline.move(study, timezone.localdate() + timedelta(days=1))
    return study


def link_full():
    study = planned_study(assignment="open")
    Study.objects.filter(pk=study.pk).update(state="open")
    study.refresh_from_db()
    joining.join(joining.make_link(study, most=1))
    return study


CASES = [
    (too_fast, "A01", "Keep paused"),
    (link_full, "The public link is full", "Add "),
    *slow_cases(
        (skips_a_method, "A01 skips Elm: 8 of their 8 skips", "Mark as handled"),
        (blocked, "blocked: they belong to people who may not", "Release the ratings"),
        (random_answers, "A03", "Leave the answers out"),
        (vanished, "2 people have been away for long", "Give work to others"),
        (too_fast, "A01", "Leave the answers out"),
        (always_left, "share of left choices", "Keep paused"),
        (random_answers, "A03", "Mark as handled"),
        (random_answers, "A03", "Pause"),
        (skips_a_method, "A01 skips Elm: 8 of their 8 skips", "Pause"),
        (no_agreement, "do not agree on “Character”", "Mark as handled"),
        (too_slow, "Too slow: at this pace", "Move the deadline to"),
    ),
]


def lines(page):
    """Return the lines of *Do now* as HTML."""
    return re.findall(r'(?s)<article class="alert.*?</article>', page)


def line_about(page, said):
    (line,) = [one for one in lines(page) if said in html.unescape(one)]
    return line


def press(client, line, label):
    """Press the button of a line, and return the page that follows."""
    for address, form in re.findall(
        r'(?s)<form method="post" action="(.*?)">(.*?)</form>', line
    ):
        button = html.unescape(re.findall(r"(?s)<button[^>]*>(.*?)</button>", form)[-1])
        if button.strip().startswith(label):
            fields = re.findall(r'name="([^"]+)" value="([^"]*)"', form)
            sent = {}
            for name, value in fields:
                sent.setdefault(name, []).append(html.unescape(value))
            sent.pop("csrfmiddlewaretoken", None)
            answer = client.post(html.unescape(address), sent, follow=True)
            assert answer.status_code == 200
            return answer.content.decode()
    raise AssertionError(f"no button {label!r} in {line}")


@pytest.mark.parametrize(("build", "said", "label"), CASES)
def test_watched_case_is_settled_by_one_press(build, said, label):
    study = build()
    client = alice(study)
    address = reverse("study-detail", args=[study.slug])
    page = client.get(address).content.decode()
    first = lines(page.split('id="more-alerts"')[0])
    line = line_about(page, said)
    assert line in first, "it is not folded"
    assert "<form" not in line_about(rob(study).get(address).content.decode(), said)
    after = press(client, line, label)
    assert not [one for one in lines(after) if said in html.unescape(one)], after
    assert 'class="notice success"' in after
