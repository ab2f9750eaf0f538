"""Alerts: order, merging, advice and actions."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotate.assignment import choosing
from annotate.coverage import alerts
from annotate.coverage.counts import totals
from annotate.coverage.dashboard import standing
from annotate.coverage.slot_counts import tallies
from annotate.models import Annotator, Event, Invitation, Slot, Study, Unit
from annotate.people import inviting
from annotate.quality import exclusion, follow_up
from annotate.responses import giving_back, leasing
from annotate.studies import lifecycle
from tests.factories import make_study
from tests.people import answer_everything
from tests.studies import flag, running_study, set_aside
from tests.working import end_leases

pytestmark = pytest.mark.django_db


def attention(study, now=None):
    return standing(study, now).alerts


@pytest.fixture
def study():
    return make_study(consented=True)


def kinds(study, **kw):
    return [alert.kind for alert in attention(study, **kw)]


def later(**kw):
    return timezone.now() + timedelta(**kw)


def test_alert_reports_running_study_without_answers_for_a_day(study):
    assert kinds(study, now=later(hours=23)) == []
    (alert,) = attention(study, now=later(hours=25))
    assert alert.kind == "stalled"
    assert "No answers yet" in alert.text
    for state, step in (("paused", ["paused"]), ("closed", []), ("draft", ["draft"])):
        study.state = state
        assert kinds(study, now=later(hours=25)) == step


@pytest.mark.slow
def test_stalling_is_measured_from_opening():
    """The studies waited for a week as a draft, and paused for three days."""
    study = make_study(state="draft")
    Study.objects.update(created_at=later(days=-9))
    lifecycle.launch(study)
    assert kinds(study) == []
    (alert,) = attention(study, now=later(hours=25))
    assert "was opened" in alert.text
    quiet = running_study(timezone.now(), slug="quiet", quiet_days=3)
    lifecycle.pause(quiet)
    lifecycle.launch(quiet)
    assert kinds(quiet) == []
    assert "stalled" not in standing(quiet).outlook.text
    (first, *_others) = attention(quiet, now=later(days=5))
    assert first.text.startswith("The study has stalled: no answers since it was re")


def test_study_does_not_stall_while_a_lease_runs(study):
    ann = study.annotators.get(name="A01")
    slot = leasing.take(choosing.next_slot(ann), ann)
    Slot.objects.filter(pk=slot.pk).update(lease_until=later(hours=26))
    assert kinds(study, now=later(hours=25)) == []


def test_stalling_follows_usual_gap_between_answers():
    now = timezone.now()
    hours = [[(now - timedelta(days=d)).isoformat(), 1] for d in (12, 8, 4)]
    gap = alerts.usual_gap({"hours": hours}, now)
    assert gap == timedelta(days=4)
    assert alerts.usual_gap({}, now) == timedelta(0)


@pytest.mark.postgresql
def test_alert_lists_skipped_unit_with_reasons(study):
    unit = study.units.last()
    for slot in unit.slots.all():
        unit.skips.create(
            slot=slot, annotator=slot.annotator, reason="broken", comment="all black"
        )
    unit.set_aside_at = timezone.now()
    unit.save()
    (alert,) = attention(study)
    assert alert.kind == "set aside"
    assert alert.notes == ("A01: all black", "A02: all black")
    assert alert.buttons[0].address.endswith(f"/units/{unit.pk}/hand-out/")
    assert follow_up.hand_out_again(unit)
    assert not follow_up.hand_out_again(unit)
    assert kinds(study) == []
    assert Unit.objects.get(pk=unit.pk).set_aside_at is None


def free_one(study, *, skipped_by):
    """Free one slot of the first unit, which an annotator has skipped."""
    slot = study.slots.filter(annotator__name=skipped_by).first()
    giving_back.skip(slot, slot.annotator, reason="unclear")
    return slot


def test_alert_lists_unit_without_eligible_annotator(study):
    slot = free_one(study, skipped_by="A01")
    (alert,) = attention(study)
    assert alert.kind == "cannot be filled"
    assert slot.unit.story.key in alert.notes[0]
    inviting.invite_new(study)
    assert kinds(study) == []


def test_blocked_unit_depends_on_language(study):
    free_one(study, skipped_by="A01")
    inviting.invite_new(study)
    Slot.objects.filter(annotator=None).update(language="zh")
    assert kinds(study) == ["cannot be filled"]
    Annotator.objects.filter(name="A03").update(language="zh")
    assert kinds(study) == []


@pytest.mark.parametrize("state", ["draft", "open"])
def test_study_is_not_blocked_before_invitations(state):
    study = make_study(state=state)
    Slot.objects.update(annotator=None)
    study.annotators.all().delete()
    assert tallies(study)["blocked"] == []
    assert kinds(study) == {"draft": ["draft"], "open": ["no links"]}[state]


def test_alerts_order_flags_by_action(study):
    first, second = study.annotators.order_by("name")
    flag(first, "warn", "straight lines")
    flag(second, "exclude", "gold below chance")
    found = attention(study)
    assert [(a.annotator, a.level) for a in found] == [
        (second, "error"),
        (first, "warning"),
    ]
    flag(first, "note", "fast")
    assert len(attention(study)) == 2


def test_alerts_of_one_person_are_merged_under_the_gravest(study):
    ann = study.annotators.get(name="A01")
    warning = flag(ann, "warn", "Ten were fast.")
    pause = flag(ann, "pause", "Eighteen were fast.")
    follow_up.pause(ann)
    for _ in range(3):
        Event.objects.create(
            study=study, kind=Event.Kind.SLOT_EXPIRED, annotator=ann, at=later(days=1)
        )
    (alert,) = attention(study)
    assert (alert.level, alert.text) == (
        "error",
        "A01: Eighteen were fast.",
    )
    assert alert.notes == ("Also (warning): Ten were fast.",)
    keep = alert.buttons[-2]
    assert keep.label == "Keep paused"
    flags = [value for name, value in keep.fields if name == "flag"]
    assert flags == [str(pause.pk), str(warning.pk)]
    Annotator.objects.filter(pk=ann.pk).update(state="active")
    (alert,) = attention(study)
    assert alert.notes[1].startswith("A01 has let 3 stories")


@pytest.mark.slow
def test_alert_advice_depends_on_state_and_answers(study):
    ann = study.annotators.get(name="A01")
    flag(ann, "pause", "fast")

    def todo():
        (alert,) = [a for a in attention(study) if a.kind == "annotator"]
        has_answers = "Leave the answers out" in [one.label for one in alert.buttons]
        return alert.todo, has_answers

    assert "then pause them" in todo()[0]
    follow_up.pause(ann)
    assert "none of their answers count. Resume" in todo()[0]
    answer_everything(study)
    assert "resume them, leave the answers out, or remove" in todo()[0]
    assert todo()[1]
    inviting.revoke(ann)
    assert "but their answers count" in todo()[0]
    exclusion.exclude_annotator(ann, reason="a bot", author=None)
    assert todo() == (
        "They were removed and none of their answers count. Mark this as handled.",
        False,
    )


@pytest.mark.postgresql
def test_alert_reports_repeatedly_expired_leases(study):
    ann = study.annotators.get(name="A01")
    for _ in range(3):
        leasing.take(choosing.next_slot(ann), ann)
        assert kinds(study) == []
        end_leases()
    (alert,) = attention(study)
    assert alert.kind == "leases expire"
    assert "A01 has let 3 stories" in alert.text
    inviting.revoke(ann)
    assert "leases expire" not in kinds(study)


def test_alert_reports_people_who_have_not_started():
    study = make_study()
    Invitation.objects.filter(annotator__name="A02").update(created_at=later(days=-4))
    (alert,) = attention(study)
    assert alert.kind == "away"
    assert len(alert.notes) == 1
    assert alert.notes[0].startswith("A02: 6 (invited ")
    # Without slots, people are reminded, and nothing is redistributed.
    giving_back.free_unfinished(study.annotators.get(name="A02"))
    (alert,) = attention(study)
    assert alert.kind == "not begun"
    assert "A02" in alert.text
    assert "A01" not in alert.text


@pytest.mark.slow
def test_command_prints_gravest_alert_first(capsys):
    now = timezone.now()
    study = running_study(now, quiet_days=3)
    set_aside(study, now)
    flag(study.annotators.first(), "warn", "fast")
    assert kinds(study, now=now) == ["stalled", "set aside", "away", "annotator"]
    call_command("coverage", study.slug)
    printed = capsys.readouterr().out
    assert f"{totals(study).submitted} of 240" in printed
    assert "! The study has stalled" in printed


def test_resuming_keeps_slots_and_resolves_flag(study):
    ann = study.annotators.get(name="A01")
    kept = list(ann.slots.values_list("pk", flat=True))
    flag(ann, "pause", "fast")
    flag(ann, "note", "fast too")
    follow_up.pause(ann)
    follow_up.pause(ann)
    assert ann.state == "paused"
    assert choosing.next_slot(ann) is None
    follow_up.resume(ann)
    assert Annotator.objects.get(pk=ann.pk).state == "active"
    assert list(ann.slots.values_list("pk", flat=True)) == kept
    assert [f.action for f in ann.flags.filter(resolved_at=None)] == ["note"]
    logged = Event.objects.filter(annotator=ann).values_list("kind", flat=True)
    assert list(logged) == ["annotator paused", "flag resolved", "annotator resumed"]


def test_resuming_resolves_warning_before_the_pause(study):
    ann = study.annotators.get(name="A01")
    flag(ann, "warn", "fast")
    flag(ann, "pause", "too fast")
    other = flag(ann, "note", "skips")
    other.action, other.signal = "warn", "skips"
    other.save()
    follow_up.pause(ann)
    follow_up.resume(ann)
    assert [f.signal for f in ann.flags.filter(resolved_at=None)] == ["skips"]


@pytest.mark.parametrize("state", ["invited", "finished"])
def test_resuming_restores_previous_state(study, state):
    ann = study.annotators.get(name="A01")
    Annotator.objects.filter(pk=ann.pk).update(state=state)
    follow_up.pause(ann)
    follow_up.resume(ann)
    assert Annotator.objects.get(pk=ann.pk).state == state


def test_resuming_restores_state_after_pause_by_rule(study):
    Annotator.objects.filter(name="A01").update(state="paused")
    ann = study.annotators.get(name="A01")
    follow_up.resume(ann)
    assert ann.state == "active"


def test_revoked_annotator_cannot_be_paused_or_resumed(study):
    ann = study.annotators.get(name="A01")
    inviting.revoke(ann)
    with pytest.raises(follow_up.HoldingError, match="removed"):
        follow_up.pause(ann)
    with pytest.raises(follow_up.HoldingError, match="not paused"):
        follow_up.resume(ann)


@pytest.mark.slow
def test_study_does_not_stall_after_stop_rule():
    study = running_study(timezone.now(), quiet_days=9)
    assert {"stalled", "away"} <= set(kinds(study))
    study.adaptive = {"stopped": timezone.now().isoformat()}
    study.save()
    assert not {"stalled", "away"} & set(kinds(study))
