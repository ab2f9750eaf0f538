"""Personal data handed out to a person: all of them, and no method's name."""

import csv
import io
import zipfile

import pytest
from django.urls import reverse

from annotate.models import Exclusion, Flag, Invitation, Slot
from annotate.personal_data import record
from tests.annotate.personal_data.people_of_studies import (
    ADA,
    COMMENTED,
    NOTE,
    WORDS,
    known_person,
)
from tests.cases import slow_cases
from tests.factories import METHODS
from tests.people import alice, eve, rob
from tests.working import PAIRWISE

pytestmark = pytest.mark.django_db
RANKING = """
kind: ranking
questions:
  - {key: best, title: Best, text: "Which order?"}
"""
ASKED = "presentation: {comments: true, shot_comments: true}\n"


def rows(files: dict[str, str], name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files[name])))


def test_record_contains_all_personal_data():
    ada = known_person()
    files = record.files(ada)
    whole = "\n".join(files.values())
    for told in (ADA, NOTE, ada.completion_code, ada.invitation.token, WORDS):
        assert told in whole
    assert len(rows(files, "stories.csv")) == ada.slots.count() == 4
    answers = rows(files, "answers.csv")
    assert [row["answer"] for row in answers] == ["3"] * 4
    assert {row["question"] for row in answers} == {"Character", "Beauty"}
    comments = rows(files, "comments.csv")
    assert [row["about"] for row in comments] == ["story", "shot", "skipped", "broken"]
    assert "rating skipped" in {row["event"] for row in rows(files, "log.csv")}
    (left_out,) = (row for row in rows(files, "stories.csv") if row["left_out"])
    assert left_out["reason"] == f"{ADA.title()} was asleep"


@pytest.mark.parametrize(
    ("protocol", "value"),
    [
        (COMMENTED, "3"),
        *slow_cases((PAIRWISE + ASKED, "left"), (RANKING + ASKED, "2>1>3")),
    ],
    ids=["likert", "choice", "ranking"],
)
def test_record_names_no_method_and_shows_answers_as_seen(protocol, value):
    ada = known_person(protocol, value)
    Flag.objects.create(
        annotator=ada, rule="r", signal="x", action="note", n=1, text="likes Alder"
    )
    Invitation.objects.filter(annotator=ada).update(note="knows the makers of BIRCH")
    Exclusion.objects.update(reason="clicked cedar, always")
    files = record.files(ada)
    assert {row["answer"] for row in rows(files, "answers.csv")} == {value}
    whole = "\n".join(files.values()).casefold()
    assert [name for name in METHODS if name.casefold() in whole] == []
    for told in ("likes …", "makers of …", "clicked …, always"):
        assert told in whole


def test_record_does_not_reveal_checks():
    ada = known_person()
    gold = ada.slots.filter(submitted_at__isnull=False).first()
    before = record.files(ada)
    Slot.objects.filter(pk=gold.pk).update(purpose="gold", ordinal=None)
    ada.study.events.create(kind="slot opened", annotator=ada, slot=gold, details={})
    ada.study.events.create(kind="slot withdrawn", annotator=ada, slot=gold, details={})
    after = record.files(ada)
    same = [name for name in before if name != "read-me.txt"]
    assert [after[name] for name in same] == [before[name] for name in same]


def test_record_names_the_shot_of_checklist_boxes():
    from tests.factories import make_study
    from tests.people import answer_everything

    study = make_study(kind="checklist", annotators=1)
    answer_everything(study, 1)
    ada = study.annotators.get()
    ada.looks.filter(shot=2).delete()
    answers = rows(record.files(ada), "answers.csv")
    boxes = {row["shot"] for row in answers if row["answer"] == "1"}
    assert boxes == {"1", "2", "3"}
    looked = {row["shot"] for row in answers if row["answer"] == "looked at"}
    assert looked == {"1", "3"}


def test_record_requires_a_manager():
    ada = known_person()
    study = ada.study
    address = reverse("annotator-data-zip", args=[study.slug, ada.pk])
    assert eve().get(address).status_code == 404
    assert rob(study).get(address).status_code == 403
    answer = alice(study).get(address)
    assert answer["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist()[0] == "read-me.txt"
        assert ADA in archive.read("person.csv").decode()
    other = reverse("annotator-data-zip", args=[study.slug, ada.pk + 1000])
    assert alice(study).get(other).status_code == 404
