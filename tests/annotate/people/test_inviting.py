"""Invitations by list and by link, caps, and the annotators' page."""

import csv
import re
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotate.audit_log.verifying import problems
from annotate.models import Annotator, Study
from annotate.people import inviting, joining
from annotate.people.invitation_list import ListError, invite_list
from annotate.people.inviting import name_people
from annotate.responses import leasing
from annotate.studies import lifecycle
from tests.annotate.studies.test_extending import planned_study
from tests.factories import make_study
from tests.people import alice, eve, rob

pytestmark = pytest.mark.django_db


@pytest.mark.postgresql
def test_list_fills_planned_places():
    study = planned_study()
    result = invite_list(study, "ada@example.org,,3,night shift\n\nGrace;;;\n")
    assert [i.annotator.name for i in result.made] == ["A01", "A02"]
    ada, grace = Annotator.objects.filter(study=study)[:2]
    assert (ada.external_id, ada.cap, ada.state) == ("ada@example.org", 3, "invited")
    assert ada.invitation.note == "night shift"
    assert grace.external_id == "Grace"
    assert problems(study) == []


def test_list_fills_places_of_each_language():
    study = planned_study(languages={"en": 1, "zh": 1}, annotators={"en": 2, "zh": 2})
    invite_list(study, "person\tlanguage\nLi\tzh\nAda\ten\n")
    found = study.annotators.exclude(external_id="").values_list(
        "external_id", "language"
    )
    assert set(found) == {("Li", "zh"), ("Ada", "en")}
    with pytest.raises(ListError, match="Line 3: everybody planned is already"):
        invite_list(study, "Bo,zh\nCy,en\nDi,zh\n")
    assert not study.annotators.filter(external_id="Bo").exists()


def test_invalid_list_invites_nobody_and_names_line(subtests):
    csv.field_size_limit(131072)  # other packages raise it for the whole process
    study = planned_study()
    for text, words in [
        ("", "The list is empty"),
        ("Ada\nada\n", "Line 2: ada is already on line 1"),
        ("Ada,fr\n", "Line 1: this study has no languages"),
        ("Ada,,many\n", "Line 1: 'many' is not a valid limit"),
        ("Ada,,0\n", "Line 1: '0' is not a valid limit"),
        (",en\n", "Line 1: a person.s name or ID needs 1 to 100"),
        ("x" * 101, "Line 1: a person.s name or ID needs 1 to 100"),
        ("Ada,,,x,y\n", "Line 1: the line has 5 columns"),
        ("name,shoe\nAda,42\n", "Line 1: unknown column shoe"),
        ("Ada,,," + "x" * 201, "Line 1: a note can have at most 200"),
        ("Ada,,,a\0b\n", "Line 1: a note cannot contain control characters"),
        ("Ada\n" + "x" * 131_073, "Line 2: a cell has more than 131072 characters"),
        ("a\n" * 2001, "at most 2000 lines"),
        ("A\nB\nC\nD\nE\n", "Line 5: everybody planned is already"),
    ]:
        with subtests.test(words):
            with pytest.raises(ListError, match=words):
                invite_list(study, text)
            assert not study.annotators.exclude(state="planned").exists()


def test_long_list_repeats_each_problem_three_times():
    lines = [f"P{n},fr" for n in range(400)] + ["Bo,,x"] + ["P7"] * 5
    with pytest.raises(ListError) as error:
        invite_list(planned_study(), "\n".join(lines))
    said = error.value.problems
    assert [text.partition(":")[0] for text in said] == [
        "Line 1",
        "Line 2",
        "Line 3",
        "... and 397 more",
        "Line 401",
        "Line 403",
        "Line 404",
        "Line 405",
        "... and 1 more",
    ]


def test_new_person_requires_language():
    study = planned_study(assignment="open", languages={"en": 1, "zh": 1})
    with pytest.raises(inviting.InvitingError, match="choose a language"):
        inviting.invite_new(study)
    assert inviting.invite_new(study, language="zh").annotator.language == "zh"


def test_pseudonyms_continue_after_highest():
    study = planned_study()
    study.annotators.filter(name="A03").update(name="A99")
    added = name_people(study, {"": 2})
    assert [person.name for person in added] == ["A100", "A101"]


def test_page_hides_links_and_ids_from_researcher():
    study = planned_study()
    invite_list(study, "ada@example.org")
    link = joining.make_link(study, most=5, note="Prolific")
    public = reverse("study-recruitment", args=[study.slug])
    page = alice(study).get(public).content.decode()
    assert f"/join/{link.token}/" in page
    assert "0 of 5 places taken" in " ".join(page.split())
    assert rob(study).get(public).status_code == 403
    assert eve().get(public).status_code == 404
    address = reverse("annotator-list", args=[study.slug])
    assert "ada@example.org" in alice(study).get(address).content.decode()
    other = rob(study).get(address).content.decode()
    assert "ada@example.org" not in other
    assert link.token not in other
    assert eve().get(address).status_code == 404


def test_public_links_are_created_and_closed_on_page():
    study = planned_study()
    client = alice(study)
    make = reverse("join-link-make", args=[study.slug])
    client.post(make, {"most": "3", "cap": "2", "note": "x"})
    link = study.join_links.get()
    assert (link.most, link.cap, link.note) == (3, 2, "x")
    close = reverse("join-link-close", args=[study.slug, link.pk])
    client.post(close)
    client.post(close)
    link.refresh_from_db()
    assert link.closed_at is not None
    assert study.events.filter(kind="join link closed").count() == 1
    for wrong in ({"most": "0"}, {"most": "x"}, {"most": "2", "cap": "0"}):
        client.post(make, wrong)
    client.post(make, {"most": "2", "language": "fr"})
    assert study.join_links.count() == 1


@pytest.mark.slow
def test_cap_is_changed_on_page():
    study = planned_study(annotators=2)
    person = study.annotators.first()
    address = reverse("annotator-cap", args=[study.slug, person.pk])
    answer = alice(study).post(address, {"cap": "3"}, follow=True)
    assert "1 rating is available to others" in answer.content.decode()
    assert leasing.own_slots(person).count() == 3
    alice(study).post(address, {"cap": "nonsense"})
    person.refresh_from_db()
    assert person.cap == 3
    assert rob(study).post(address, {"cap": "1"}).status_code == 403
    assert problems(study) == []


@pytest.mark.slow
def test_extension_is_previewed_and_made_on_page():
    study = planned_study()
    client, address = alice(study), reverse("study-extend", args=[study.slug])
    page = client.get(address).content.decode()
    assert 'value="Cedar"' in page
    form = {"method": "Cedar", "redundancy": "2", "annotators": "1"}
    part = client.post(
        address, form | {"check": "1"}, headers={"hx-request": "true"}
    ).content.decode()
    assert "<html" not in part
    assert "new items" in part
    assert study.units.count() == 4
    whole = client.post(address, form | {"check": "1"}).content.decode()
    assert "new items" in whole
    assert 'value="Cedar" checked' in whole
    done = client.post(address, form, follow=True)
    assert "Items: 2; ratings: 4; annotators: 1." in done.content.decode()
    assert study.units.count() == 6
    assert study.annotators.count() == 5
    wrong = client.post(address, {"redundancy": "1"})
    assert wrong.status_code == 422
    assert "can only grow" in wrong.content.decode()
    assert rob(study).get(address).status_code == 403
    assert eve().get(address).status_code == 404


def test_withdrawal_is_previewed_and_made_on_page():
    study = planned_study()
    client, address = alice(study), reverse("study-withdraw", args=[study.slug])
    part = client.post(address, {"method": "Birch", "check": "1"}).content.decode()
    assert "4 ratings would be withdrawn" in part
    assert study.slots.filter(state="withdrawn").count() == 0
    client.post(address, {"method": "Birch"})
    assert study.slots.filter(state="withdrawn").count() == 4
    page = client.get(reverse("study-extend", args=[study.slug])).content.decode()
    assert 'value="Birch"> Birch <span class="badge">withdrawn' in page
    assert 'value="Cedar"> Cedar </label>' in page
    assert client.post(address, {"method": "Oak"}).status_code == 422


@pytest.mark.slow
def test_extension_page_has_numbers_by_language():
    study = planned_study(languages={"en": 1, "zh": 1}, annotators={"en": 2, "zh": 2})
    address = reverse("study-extend", args=[study.slug])
    form = {"redundancy-en": "2", "redundancy-zh": "1", "annotators-en": "1"}
    alice(study).post(address, form)
    study.refresh_from_db()
    assert study.languages == {"en": 2, "zh": 1}
    assert study.annotators.filter(language="en").count() == 3


@pytest.mark.slow
def test_unfinished_work_is_redistributed_on_page():
    study = planned_study()
    inviting.invite(study)
    client, address = alice(study), reverse("study-redistribute", args=[study.slug])
    page = client.get(address, {"annotator": "A02"}).content.decode()
    assert page.count(" checked>") == 1
    check = client.post(address, {"annotator": "A02", "check": "1"}).content.decode()
    assert "A02 <strong>−2</strong>" in check
    client.post(address, {"annotator": "A02"})
    assert not study.slots.filter(annotator__name="A02").exists()
    assert client.post(address, {"annotator": "A02"}).status_code == 422
    assert rob(study).get(address).status_code == 403


def run(*arguments):
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_command_prints_personal_and_public_links():
    study = planned_study()
    header, first = run("invite", "small", "--count", "1").splitlines()
    assert header == "annotator,link"
    assert first.startswith("A01,http")
    assert "/join/" in run("invite", "small", "--join", "5")
    assert problems(Study.objects.get(pk=study.pk)) == []
    with pytest.raises(CommandError):
        run("invite", "small", "--join", "0")


@pytest.mark.parametrize("options", [["--count", "1"], ["--join", "3"], ["--list"]])
def test_command_reports_links_without_effect(options):
    study = planned_study()

    def told():
        err = StringIO()
        call_command("invite", "small", *options, stdout=StringIO(), stderr=err)
        return err.getvalue()

    assert "launch" not in told()
    for move, state in ((lifecycle.pause, "paused"), (lifecycle.close, "closed")):
        move(study)
        assert (
            f"the study is {state}. Nobody can answer or join until you run "
            "`launch small`"
        ) in told()


def test_typed_list_and_file_are_joined():
    study = make_study()
    study.annotators.update(state="planned")
    study.annotators.first().invitation.delete()
    study.annotators.last().invitation.delete()
    file = SimpleUploadedFile("people.csv", b"berta\n")
    url = reverse("annotator-list-invite", args=[study.slug])
    alice(study).post(url, {"people": "anna", "file": file})
    known = study.annotators.values_list("external_id", flat=True)
    assert sorted(known) == ["anna", "berta"]


def test_heading_applies_from_its_line():
    """Lists are pasted one below the other, each with its own columns."""
    study = planned_study()
    text = "anna, , 4\nperson,note,cap\nberta,later,2\n\nName;Cap\ncleo;3\n"
    invite_list(study, text)
    rows = study.annotators.exclude(external_id="").order_by("external_id")
    assert list(rows.values_list("external_id", "cap", "invitation__note")) == [
        ("anna", 4, ""),
        ("berta", 2, "later"),
        ("cleo", 3, ""),
    ]
    with pytest.raises(ListError, match="Line 2: unknown column phone"):
        invite_list(study, "dora\nperson,phone\nedda,7\n")
    assert not study.annotators.filter(external_id="dora").exists()


def people_page(study) -> str:
    address = reverse("annotator-list", args=[study.slug])
    return alice(study).get(address).content.decode()


def test_page_offers_links_for_all_planned_people():
    study = planned_study(annotators=3)
    page = people_page(study)
    assert re.findall(r'name="count"[^>]* value="(\d+)"', page) == ["3"]
    assert page.count("Create links") == 1
    inviting.revoke(inviting.invite(study, count=1)[0].annotator)
    page = people_page(study)
    numbers = re.findall(r'name="count"[^>]* value="(\d+)"', page)
    assert numbers == ["2", "1"], "of planned people, and of new ones"


@pytest.mark.slow
def test_open_enrolment_offers_links_for_free_slots():
    study = planned_study(assignment="open")
    page = people_page(study)
    assert "Create links" in page
    assert "0 people planned" not in page
    address = reverse("annotator-invite", args=[study.slug])
    alice(study).post(address, {"new": "1", "count": "3"})
    assert study.annotators.filter(state="invited").count() == 3
    for wrong in ("0", "501", "x", ""):
        alice(study).post(address, {"new": "1", "count": wrong})
    assert study.annotators.count() == 3


@pytest.mark.slow
def test_full_and_closed_links_are_not_open():
    study = planned_study()
    joining.join(joining.make_link(study, most=1))
    joining.close_link(joining.make_link(study, most=1))
    assert "0 open" in people_page(study)
    address = reverse("study-recruitment", args=[study.slug])
    assert ">full<" in alice(study).get(address).content.decode()
    joining.make_link(study, most=1)
    assert "1 open" in people_page(study)
    assert "Nobody can join" not in alice(study).get(address).content.decode()
    lifecycle.pause(study)
    page = alice(study).get(address).content.decode()
    assert "Nobody can join while the study is not running" in page
