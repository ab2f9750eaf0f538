"""Analysis views: creation, hidden answers, counts, page."""

import pytest
from django.urls import reverse

from annotate.audit_log import as_of_event
from annotate.audit_log.verifying import problems
from annotate.models import Event
from annotate.quality import exclusion
from annotate.responses import analysis_views
from annotate.responses.analysis_views import ViewError
from tests.factories import make_study
from tests.people import alice, answer_everything

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    row = make_study()
    answer_everything(row)
    return row


@pytest.fixture
def excluded(study):
    return exclusion.exclude(study.slots.first(), reason="asleep", author=None)


def keys(study):
    return list(study.analysis_views.values_list("key", flat=True))


def counts(study):
    rows = analysis_views.overview(study)
    return {r.view.key: (r.slots, r.excluded, r.annotators) for r in rows}


def test_invalid_view_is_refused(study, subtests):
    for key, title in [
        ("", "x"),
        ("two words", "x"),
        ("k" * 41, "x"),
        ("main", "x"),
        ("MAIN", "x"),
        ("ok", ""),
        ("ok", "x" * 201),
    ]:
        with subtests.test(key):
            with pytest.raises(ViewError):
                analysis_views.add_view(study, key=key, title=title, author=None)
            assert keys(study) == ["main", "everything"]


def test_views_have_counts(study, excluded):
    analysis_views.add_view(study, key="loose", title="Loose", author=None)
    analysis_views.choose_views(study, {excluded.pk: []}, author=None)
    exclusion.exclude_annotator(
        study.annotators.get(name="A02"), reason="a bot", author=None
    )
    assert counts(study) == {
        "main": (5, 7, 1),
        "everything": (12, 0, 2),
        "loose": (6, 6, 1),
    }
    assert [row.answers for row in analysis_views.overview(study)] == [10, 24, 12]


def test_views_do_not_count_surplus_answers(study, excluded):
    replacement = study.slots.get(state="open")
    replacement.annotator = study.annotators.create(name="A03")
    replacement.save()
    answer_everything(study)
    assert counts(study)["main"] == (12, 1, 3)
    exclusion.undo(excluded, author=None)
    assert counts(study)["main"] == counts(study)["everything"] == (12, 0, 2)


def test_chosen_views_are_logged_and_include_main(study, excluded):
    analysis_views.add_view(study, key="loose", title="Loose", author=None)
    before = Event.objects.count()
    chosen = {excluded.pk: ["everything", "nothing"], 0: ["loose"]}
    assert analysis_views.choose_views(study, chosen, author=None) == 1
    assert [view.key for view in excluded.views.all()] == ["main"]
    assert analysis_views.choose_views(study, chosen, author=None) == 0
    assert Event.objects.count() == before + 1
    assert Event.objects.last().details == {"hidden": [[excluded.slot_id, ["main"]]]}
    assert problems(study) == []


def test_views_ignore_exclusions_of_other_studies(study, excluded):
    other = make_study(slug="other", benchmark=study.benchmark)
    analysis_views.add_view(study, key="loose", title="Loose", author=None)
    assert analysis_views.choose_views(other, {excluded.pk: []}, author=None) == 0
    assert excluded.views.count() == 2


@pytest.mark.postgresql
def test_replayed_log_has_hidden_answers(study, excluded):
    then = [as_of_event.now(study)]
    analysis_views.add_view(study, key="loose", title="Loose", author=None)
    then.append(as_of_event.now(study))
    analysis_views.choose_views(study, {excluded.pk: []}, author=None)
    then.append(as_of_event.now(study))
    exclusion.undo(excluded, author=None)
    then.append(as_of_event.now(study))
    again = [as_of_event.moment(study, row.event) for row in then]
    assert again == then
    found = [(row.hidden_from("main"), row.hidden_from("loose")) for row in again]
    slot = {excluded.slot_id}
    assert found == [(slot, set()), (slot, slot), (slot, set()), (set(), set())]


def page(client, study):
    return client.get(reverse("view-list", args=[study.slug])).content.decode()


def test_manager_changes_views_on_the_page(study, excluded):
    client = alice(study)
    client.post(
        reverse("view-add", args=[study.slug]), {"key": "loose", "title": "Loose"}
    )
    text = page(client, study)
    box = f'name="hide" value="{excluded.pk}:loose" checked'
    assert box in text
    assert "ratings.csv?view=loose" in text
    chosen = {"row": [excluded.pk, "x", "9" * 40], "hide": ["7:loose", "x"]}
    client.post(reverse("view-choose", args=[study.slug]), chosen)
    text = page(client, study)
    assert "1 exclusion changed" in text
    assert box not in text
    chosen["hide"] = [f"{excluded.pk}:loose"]
    client.post(reverse("view-choose", args=[study.slug]), chosen)
    assert box in page(client, study)


@pytest.mark.slow
def test_all_exclusions_of_an_annotator_change_on_the_page(study):
    client = alice(study)
    url = reverse("annotator-exclude", args=[study.slug])
    asked = {"annotator": "A01", "reason": ""}
    assert (
        "Please give a reason" in client.post(url, asked, follow=True).content.decode()
    )
    asked["reason"] = "a bot"
    text = client.post(url, asked, follow=True).content.decode()
    assert "6 ratings of A01 were left out" in text
    assert "6 ratings of A01 were left out at once" in text
    assert client.post(url, {"annotator": "Z", "reason": "x"}).status_code == 404
    url = reverse("annotator-restore", args=[study.slug])
    text = client.post(url, {"annotator": "A01"}, follow=True).content.decode()
    assert "6 ratings of A01 were restored" in text
    assert "left out at once" not in text


def test_exclusion_hides_slot_from_chosen_views(study):
    analysis_views.add_view(study, key="loose", title="Loose", author=None)
    analysis_views.add_view(study, key="strict", title="Strict", author=None)
    slot = study.slots.first()
    client = alice(study)
    shown = client.get(reverse("slot-detail", args=[study.slug, slot.code]))
    assert 'name="view" value="loose" checked' in shown.content.decode()
    url = reverse("slot-exclude", args=[study.slug, slot.code])
    client.post(url, {"reason": "asleep", "chosen": "1", "view": ["strict"]})
    row = slot.exclusions.get()
    assert [view.key for view in row.views.all()] == ["main", "strict"]
    shown = client.get(reverse("slot-detail", args=[study.slug, slot.code]))
    assert "main, strict" in shown.content.decode()
