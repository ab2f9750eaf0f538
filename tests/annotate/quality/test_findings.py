"""Findings: stored as data, shown in the reader's language."""

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
    "3 of 3 stories took less than 5 s. At most 50 % is expected. The probability of "
    "this by chance is at most 1 in 3."
)


@pytest.fixture
def translated(monkeypatch):
    """Patch a catalogue in which every sentence has another ending."""

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


def test_flag_stores_data_of_its_sentence(translated):
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
    assert flag.text == FAST, "the record is in English, for any annotator"
    event = study.events.get(kind=Event.Kind.FLAG_RAISED)
    assert event.details["finding"] == flag.finding
    with translation.override("zh-hans"):
        assert flag.sentence.endswith("Übrigens.")
    with translation.override("en"):
        assert flag.sentence == FAST
        assert flag.brief == FAST.split(".")[0]


@pytest.mark.slow
def test_pages_show_finding_in_readers_language(translated):
    study, _flag = raised("warn", chance=0.4)
    client = alice(study)
    client.cookies["django_language"] = "zh-hans"
    for name in ("study-detail", "event-list"):
        shown = client.get(reverse(name, args=[study.slug])).content.decode()
        assert "Übrigens." in shown, name


def test_flag_of_older_version_keeps_its_text():
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
    for name in ("study-detail", "event-list"):
        shown = client.get(reverse(name, args=[study.slug])).content.decode()
        assert "Said before." in shown


@pytest.mark.slow
def test_reason_of_exclusion_by_rule_is_translated(translated):
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


def test_managers_reason_is_not_translated():
    from annotate.quality import exclusion

    study = make_study(consented=True)
    answer_everything(study)
    row = exclusion.exclude(study.slots.first(), reason="asleep", author=None)
    assert monitoring.reasons([row]) == {row.pk: "asleep"}
