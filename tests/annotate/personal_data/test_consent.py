"""Consent withdrawn: no more work, or no use of what was answered either."""

import pytest
from django.test import Client
from django.urls import reverse

from annotate.audit_log import as_of_event
from annotate.audit_log.verifying import problems
from annotate.models import Annotator, Event, Exclusion, Study
from annotate.people import inviting
from annotate.personal_data import erasing
from annotate.quality import exclusion
from annotate.reports import downloads
from annotate.responses import analysis_views
from tests.annotate.personal_data.people_of_studies import known_person
from tests.cases import slow
from tests.people import alice, eve, rob
from tests.working import LIKERT, make_planned

pytestmark = pytest.mark.django_db


def counted(study: Study, view: str) -> int:
    """Return how many answers of A01 a view shows."""
    lines = "".join(downloads.csv_lines(study, "ratings", view=view)).splitlines()
    header, *rows = (line.split(",") for line in lines)
    at, name = header.index("excluded"), header.index("annotator")
    return sum(row[name] == "A01" and row[at] == "false" for row in rows)


def test_withdrawal_from_further_work_keeps_answers():
    ada = known_person()
    shown = {view: counted(ada.study, view) for view in ("main", "everything")}
    assert shown == {"main": 2, "everything": 4}
    done = erasing.withdraw(ada, answers=False)
    assert done == erasing.Withdrawn(freed=2, left_out=0)
    assert {view: counted(ada.study, view) for view in shown} == shown
    assert (ada.state, ada.answers_withdrawn) == ("revoked", False)
    assert problems(ada.study) == []


@pytest.mark.postgresql
def test_withdrawal_of_answers_hides_them_and_reopens_slots():
    ada = known_person()
    study = ada.study
    analysis_views.add_view(study, key="loose", title="Loose", author=None)
    row = Exclusion.objects.get()
    analysis_views.choose_views(study, {row.pk: []}, author=None)
    before = as_of_event.now(study)
    done = erasing.withdraw(ada, answers=True)
    assert done == erasing.Withdrawn(freed=2, left_out=2)
    for view in ("main", "everything", "loose"):
        assert counted(study, view) == 0
        hidden = as_of_event.now(study).hidden_from(view)
        assert hidden == set(ada.slots.values_list("pk", flat=True))
        assert len(as_of_event.moment(study, before.event).hidden_from(view)) == (
            view == "main"
        )
    replaced = Exclusion.objects.values_list("replacement__state", flat=True)
    assert set(replaced) == {"open"}
    assert problems(study) == []


@pytest.mark.slow
def test_withdrawal_cannot_be_undone_by_a_manager():
    ada = known_person()
    study = ada.study
    exclusion.undo(Exclusion.objects.get(), author=None)
    erasing.withdraw(ada, answers=True)
    rows = Exclusion.objects.filter(undone_at=None)
    assert exclusion.excluded_wholesale(study) == {}
    assert exclusion.undo_annotator(ada, author=None) == 0
    with pytest.raises(exclusion.ExclusionError, match="they stay left out"):
        exclusion.undo(rows[0], author=None)
    chosen = dict.fromkeys(rows.values_list("pk", flat=True), ())
    assert analysis_views.choose_views(study, chosen, author=None) == 0
    assert counted(study, "everything") == 0
    assert problems(study) == []


@pytest.mark.slow
def test_withdrawal_of_answers_can_follow_once():
    ada = known_person()
    erasing.withdraw(ada, answers=False)
    erasing.withdraw(ada, answers=False)
    assert erasing.withdraw(ada, answers=True).left_out == 2
    assert erasing.withdraw(ada, answers=True) == erasing.Withdrawn(0, 0)
    erasing.withdraw(ada, answers=False)
    assert ada.answers_withdrawn
    events = Event.objects.filter(kind=Event.Kind.CONSENT_WITHDRAWN)
    told = events.order_by("pk").values_list("details", flat=True)
    assert list(told) == [{"left_out": 0}, {"left_out": 2}]


@pytest.mark.slow
def test_verify_reports_withdrawn_answers_that_count():
    ada = known_person()
    erasing.withdraw(ada, answers=True)
    row = Exclusion.objects.order_by("pk").last()
    row.views.remove(row.views.get(key="everything"))
    assert problems(ada.study) == [
        f"slot {row.slot.code}: consent withdrawn, but not hidden from every view"
    ]
    row.views.set(ada.study.analysis_views.all())
    row.slot.unit.slots.filter(pk=row.slot_id).update(state="submitted")
    found = problems(ada.study)
    assert (
        f"slot {row.slot.code}: still counted, although its annotator withdrew the "
        in (" ".join(found))
    )
    Annotator.objects.filter(pk=ada.pk).update(state="active")
    assert "A01: withdrew consent, but may still work" in " ".join(problems(ada.study))


def withdraw_page(person: Annotator) -> str:
    return reverse("rate-withdraw", args=[person.invitation.token])


@pytest.mark.postgresql
@pytest.mark.parametrize("state", ["open", *slow("closed", "paused")])
def test_annotator_can_withdraw_in_any_study_state(state):
    ada = known_person()
    Study.objects.update(state=state)
    seat = Client()
    if state != "open":
        entry = seat.get(reverse("rate-entry", args=[ada.invitation.token]))
        assert withdraw_page(ada) in entry.content.decode()
    assert seat.get(withdraw_page(ada)).status_code == 200
    unsure = seat.post(withdraw_page(ada), {"wish": "work"})
    assert unsure.status_code == 422
    assert "and confirm below" in unsure.content.decode()
    assert 'value="work" required aria-describedby="wish-work" checked' in (
        unsure.content.decode()
    )
    assert seat.post(withdraw_page(ada), {"sure": "1", "wish": "x"}).status_code == 422
    ada.refresh_from_db()
    assert ada.withdrawn_at is None
    form = {"wish": "work", "sure": "1"}
    done = seat.post(withdraw_page(ada), form, follow=True)
    assert done.status_code == 410
    page = done.content.decode()
    assert "Your submitted answers are kept and count" in page
    assert withdraw_page(ada) in page
    more = seat.post(
        withdraw_page(ada), {"wish": "answers", "sure": "1"}, follow=True
    ).content.decode()
    assert "None of your answers will count" in more
    assert withdraw_page(ada) not in more
    assert seat.get(withdraw_page(ada)).status_code == 410
    assert counted(ada.study, "everything") == 0


def test_invalid_links_withdraw_nothing():
    ada = known_person()
    form = {"wish": "answers", "sure": "1"}
    unknown = reverse("rate-withdraw", args=["x" * 24])
    assert Client().post(unknown, form).status_code == 404
    inviting.revoke(ada)
    assert Client().post(withdraw_page(ada), form).status_code == 410
    address = withdraw_page(ada)
    grace = ada.study.annotators.get(name="A02")
    erasing.withdraw(grace, answers=False)
    gone = withdraw_page(grace)
    erasing.erase(grace)
    page = Client().post(gone, form)
    assert page.status_code == 410
    assert "This link is no longer valid" in page.content.decode()
    assert Client().post(address, form).status_code == 410
    assert not Annotator.objects.filter(answers_withdrawn=True).exists()


def test_manager_can_withdraw_for_an_annotator():
    ada = known_person()
    study = ada.study
    button = reverse("annotator-withdraw", args=[study.slug, ada.pk])
    form = {"wish": "answers", "sure": "1"}
    assert eve().post(button, form).status_code == 404
    assert rob(study).post(button, form).status_code == 403
    client = alice(study)
    for wrong, told in (
        ({"sure": "1"}, "what should happen to the answers"),
        ({"wish": "answers"}, "Nothing was changed"),
    ):
        assert told in client.post(button, wrong, follow=True).content.decode()
    done = client.post(button, form, follow=True).content.decode()
    assert "2 answered stories are left out" in done
    assert Event.objects.filter(kind=Event.Kind.CONSENT_WITHDRAWN).get().user.username
    page = client.get(reverse("annotator-data", args=[study.slug, ada.pk]))
    assert "no analysis uses the answers" in page.content.decode()
    views = client.get(reverse("view-list", args=[study.slug])).content.decode()
    assert "consent withdrawn" in views
    assert "hides only answers that annotators withdrew" in views
    slot = ada.slots.filter(state="excluded").last()
    address = reverse("slot-detail", args=[study.slug, slot.code])
    shown = client.get(address).content.decode()
    assert "they stay left out" in shown
    assert ">Restore<" not in shown
    chinese = client.get(address, headers={"Accept-Language": "zh-hans"})
    assert "the annotator does not want" not in chinese.content.decode()


def test_withdraw_requires_consent():
    study = make_planned(LIKERT, redundancy=1, annotators=1)
    study.annotators.update(state="planned")
    with pytest.raises(erasing.ConsentError, match="no consent to withdraw"):
        erasing.withdraw(study.annotators.get(), answers=True)
