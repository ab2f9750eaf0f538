"""The person goes and the answers stay; nothing else changes, and nothing undoes it."""

import pytest
from django.db import transaction
from django.urls import reverse

from annotate.audit_log.verifying import problems
from annotate.imported_judgements.importing import import_answers
from annotate.models import Annotator, Event, Exclusion, Export, Invitation, Slot
from annotate.people import joining
from annotate.people.visits import Arrival
from annotate.personal_data import accounts, erasing
from annotate.studies.changing import redistribute
from tests.annotate.personal_data.people_of_studies import (
    ADA,
    NOTE,
    WORDS,
    known_person,
    tables,
    whole_database,
)
from tests.factories import make_benchmark
from tests.people import alice, eve, rob
from tests.working import LIKERT, make_planned

pytestmark = pytest.mark.django_db


def told(person: Annotator) -> list[str]:
    """Return everything that identifies a person."""
    link = person.invitation.token
    return [w.casefold() for w in (ADA, NOTE, link, person.completion_code)]


@pytest.mark.postgresql
def test_erasure_leaves_no_personal_data_in_any_table():
    ada = known_person()
    secrets = told(ada)
    before = whole_database()
    assert all(secret in before for secret in secrets)
    erasing.erase(ada)
    after = whole_database()
    assert [secret for secret in secrets if secret in after] == []
    assert WORDS.casefold() in after
    assert problems(ada.study) == []


@pytest.mark.slow
def test_erasure_removes_comments_when_requested():
    ada = known_person()
    done = erasing.erase(ada, comments=True)
    assert done.comments == 3
    assert WORDS.casefold() not in whole_database()
    assert ada.skips.count() == 1  # that they skipped it stays
    event = Event.objects.get(kind=Event.Kind.PERSON_ERASED)
    assert (event.annotator, event.details) == (ada, {"comments": 3})
    assert problems(ada.study) == []


def test_erasure_keeps_exported_tables():
    ada = known_person()
    before = tables(ada.study)
    assert "A01" in before["ratings main"]
    erasing.erase(ada, comments=True)
    assert tables(ada.study) == before


def test_erasure_frees_open_slots_and_logs_it():
    ada = known_person()
    study = ada.study
    assert ada.slots.filter(state=Slot.State.LEASED).count() == 1
    done = erasing.erase(ada)
    assert done.freed == 2  # of five, two are answered and one was skipped
    assert not ada.slots.filter(state__in=("open", "leased")).exists()
    redistribute(study, annotators=[])
    assert study.annotators.get(name="A02").slots.count() > 0
    assert not study.slots.filter(annotator=None, ordinal__isnull=False).exists()
    assert problems(study) == []


def test_comments_can_be_erased_later():
    ada = known_person()
    erasing.erase(ada)
    assert erasing.erase(ada, comments=True).comments == 3
    assert WORDS.casefold() not in whole_database()


@pytest.mark.postgresql
def test_erasure_replaces_names_in_reasons():
    ada = known_person()
    erasing.erase(ada)
    assert Exclusion.objects.get().reason == "A01 was asleep"
    event = Event.objects.get(kind=Event.Kind.SLOT_EXCLUDED)
    assert event.details["reason"] == "A01 was asleep"
    assert event.details["views"] == ["main"]


def test_erasure_replaces_names_without_spaces(subtests):
    ada = known_person()
    for name, reason, left in [
        ("王小明", "王小明睡着了", "A01睡着了"),
        ("王伟", "不要王伟的", "不要A01的"),
        (ADA, f"标注者{ADA}睡着了", "标注者A01睡着了"),
        ("Ada", "Adam was asleep", "Adam was asleep"),
    ]:
        with subtests.test(name), transaction.atomic():
            Annotator.objects.filter(pk=ada.pk).update(external_id=name)
            Exclusion.objects.update(reason=reason)
            erasing.erase(Annotator.objects.get(pk=ada.pk))
            assert Exclusion.objects.get().reason == left
            transaction.set_rollback(True)


def test_erased_person_can_join_again_as_new():
    study = make_planned(f"{LIKERT}\nassignment: open\n", redundancy=3)
    link = joining.make_link(study, most=5)
    person = joining.join(link, Arrival("5f1b0c"))
    erasing.erase(person)
    again = joining.join(link, Arrival("5f1b0c"))
    assert again != person
    assert problems(study) == []


@pytest.mark.slow
def test_erasure_renames_imported_annotators():
    import pandas as pd

    people = ("Ada Lovelace", "A07", "Grace")
    rows = [("01", "Alder", "quality", who, 3) for who in people]
    columns = ["story", "method", "dimension", "annotator", "rating"]
    benchmark = make_benchmark(stories=1)
    import_answers(
        pd.DataFrame(rows, columns=columns).astype(object),
        "ratings",
        study="old",
        benchmark=benchmark,
        file="old.csv",
        scale=(0, 4),
    )
    assert list(accounts.find("lovelace")) == ["old Ada Lovelace"]
    ada = Annotator.objects.get(name="Ada Lovelace")
    Event.objects.create(
        study=ada.study, kind="slots assigned", details={"shares": {ada.name: 2}}
    )
    exclusion_before = tables(ada.study)
    view = ada.study.analysis_views.first()
    Export.objects.create(study=ada.study, view=view, form="csv", layout="long")
    erasing.erase(ada)
    assert not Export.objects.exists()  # its file has the name
    assert ada.name == "A08"
    assert "ada lovelace" not in whole_database()
    renamed = {k: t.replace("Ada Lovelace", "A08") for k, t in exclusion_before.items()}
    assert tables(ada.study) == renamed
    kept = Annotator.objects.get(name="A07")
    erasing.erase(kept)
    assert kept.name == "A07"
    assert problems(ada.study) == []


def test_erase_requires_an_invited_annotator():
    study = make_planned(LIKERT, redundancy=1, annotators=1)
    study.annotators.update(state="planned")
    with pytest.raises(erasing.ErasingError, match="A01 was never invited"):
        erasing.erase(study.annotators.get())


@pytest.mark.postgresql
def test_verify_reports_remaining_personal_data():
    ada = known_person()
    erasing.erase(ada)
    Invitation.objects.filter(annotator=ada).update(note="it was Ada")
    assert problems(ada.study) == [
        "annotator A01: erased, but the link or a note remains"
    ]


def test_erasure_requires_a_manager_and_a_tick():
    ada = known_person()
    study = ada.study
    page = reverse("annotator-data", args=[study.slug, ada.pk])
    button = reverse("annotator-erase", args=[study.slug, ada.pk])
    assert eve().post(button, {"sure": "1"}).status_code == 404
    assert rob(study).post(button, {"sure": "1"}).status_code == 403
    client = alice(study)
    assert ADA in client.get(page).content.decode()
    unsure = client.post(button, follow=True).content.decode()
    assert "Nothing was changed" in unsure
    ada.refresh_from_db()
    assert ada.external_id == ADA
    done = client.post(button, {"sure": "1", "comments": "1"}, follow=True)
    assert "and 3 comments were erased" in done.content.decode()
    shown = client.get(page).content.decode()
    assert ADA not in shown
    assert "no longer identifies anybody" in shown
    assert 'id="erase"' not in shown
    listed = client.get(reverse("annotator-list", args=[study.slug])).content.decode()
    assert ADA not in listed
    assert NOTE not in listed
