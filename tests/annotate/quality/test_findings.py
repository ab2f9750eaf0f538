"""What a flag says: stored as data, told when it is shown, older flags as they were."""

import pytest
from django.urls import reverse
from django.utils import translation

from annotate.models import Event, Flag
from annotate.quality import monitoring
from annotate.quality_rules import findings
from annotate.responses.analysis_views import in_force
from tests.factories import make_study
from tests.people import alice, answer_everything
from tests.working import LIKERT, always, join, make_planned, work

pytestmark = pytest.mark.django_db
FAST = (
    "100 % of 3 units took less than 5 s; at most 50 % is expected (by accident in at "
    "most 1 of 3)."
)


@pytest.fixture
def translated(monkeypatch):
    """A catalogue in which every sentence ends otherwise."""

    def other(text):
        return text if translation.get_language() == "en" else f"{text} Übrigens."

    monkeypatch.setattr(findings, "_", other)


def raised(action, **how):
    fields = {
        "key": "quick",
        "signal": "seconds_per_unit",
        "limit": 5,
        "above": 0.5,
        "at_least": 3,
        "action": action,
        **how,
    }
    study = make_planned(
        f"{LIKERT}session_size: 4\nrules:\n  - {fields}\n", annotators=2, redundancy=2
    )
    person = join(study, "A01")
    with translation.override("zh-hans"):
        work(person, always("3"), most=3, seconds=2)
    return study, Flag.objects.get()


def test_flag_keeps_what_its_sentence_is_made_of(translated):
    study, flag = raised("warn", chance=0.4)
    stored = {k: flag.finding[k] for k in ("signal", "value", "n", "above", "limit")}
    assert stored == {
        "signal": "seconds_per_unit",
        "value": 1.0,
        "n": 3,
        "above": 0.5,
        "limit": 5.0,
    }
    assert 0 < flag.finding["p"] < 0.4
    assert "below" not in flag.finding
    assert flag.text == FAST, "the record is in English, whoever was at work"
    event = study.events.get(kind=Event.Kind.FLAG_RAISED)
    assert event.details["finding"] == flag.finding
    with translation.override("zh-hans"):
        assert flag.sentence.endswith("Übrigens.")
    with translation.override("en"):
        assert flag.sentence == FAST
        assert flag.brief == FAST.split(";")[0]


def test_pages_tell_it_in_the_readers_language(translated):
    study, _flag = raised("warn", chance=0.4)
    client = alice(study)
    client.cookies["django_language"] = "zh-hans"
    for name in ("study-coverage", "event-list", "study-detail"):
        shown = client.get(reverse(name, args=[study.slug])).content.decode()
        assert "Übrigens." in shown, name


def test_flag_of_an_older_version_says_what_it_said():
    study = make_study(consented=True)
    ann = study.annotators.first()
    flag = ann.flags.create(
        rule="old", signal="gold", action="warn", value=0.4, n=20, text="Said before."
    )
    assert flag.sentence == flag.brief == "Said before."
    Event.objects.create(
        study=study,
        kind=Event.Kind.FLAG_RAISED,
        annotator=ann,
        details={"rule": "old", "action": "warn", "text": "Said before."},
    )
    client = alice(study)
    for name in ("study-coverage", "event-list"):
        shown = client.get(reverse(name, args=[study.slug])).content.decode()
        assert "Said before." in shown


def test_reason_of_a_rules_exclusion_is_told_too(translated):
    study, flag = raised("exclude")
    row = in_force(study).first()
    assert row.reason == flag.text
    with translation.override("zh-hans"):
        assert monitoring.reasons([row]) == {row.pk: flag.sentence}
    client = alice(study)
    client.cookies["django_language"] = "zh-hans"
    for name, args in (("view-list", []), ("slot-detail", [row.slot.code])):
        shown = client.get(reverse(name, args=[study.slug, *args])).content.decode()
        assert "Übrigens." in shown, name


def test_managers_reason_stays_as_it_was_written():
    from annotate.quality import exclusion

    study = make_study(consented=True)
    answer_everything(study)
    row = exclusion.exclude(study.slots.first(), reason="asleep", author=None)
    assert monitoring.reasons([row]) == {row.pk: "asleep"}
