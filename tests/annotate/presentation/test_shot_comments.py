"""Comments on single shots: stored by the output, refused, exported, shown again."""

import csv
import re
from urllib.parse import urlencode

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotate.assignment import choosing
from annotate.audit_log.verifying import problems
from annotate.kinds.errors import BadAnswerError
from annotate.models import ShotComment, Slot
from annotate.presentation import shot_comments
from annotate.reports.downloads import write_export
from evalcore.models import Output
from tests import answering
from tests.factories import make_benchmark, make_study
from tests.one_line import one_line
from tests.people import alice
from tests.working import LIKERT, Browser, end_leases, form, join, make_planned

pytestmark = pytest.mark.django_db
TAKES = {"shot_comments": True}


def begin(kind="likert", shots=3, **kw):
    """A study that takes them, and somebody at the first slot."""
    benchmark = make_benchmark(stories=1, shots=shots)
    kw = {"presentation": TAKES, "annotators": 1} | kw
    study = make_study(kind=kind, benchmark=benchmark, **kw)
    person = join(study, "A01")
    return study, person, choosing.next_for(person).slot


def send(client, person, slot, *written, key="", **answers):
    """Send what a page with scripts sends: a side, a shot and a text each."""
    rows = [
        {"kind": "shot_comment", "id": f"{shot} {side}", "side": side, "shot": shot}
        | {"text": text, "key": key}
        for side, shot, text in written
    ]
    rows += [
        {"kind": "answer", "id": asked, "question": asked, "value": value, "key": key}
        for asked, value in answers.items()
    ]
    address = reverse("rate-save", args=[person.invitation.token, slot.code])
    return client.post(address, {"rows": rows}, content_type="application/json")


def stored(slot):
    rows = ShotComment.objects.filter(slot=slot).order_by("shot", "output")
    return [(row.output, row.shot, row.text) for row in rows]


def exported(study, folder):
    write_export(study, folder)
    with (folder / "shot_comments.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("a_is_left", [True, False])
def test_it_is_stored_by_the_output_that_stood_there(client, a_is_left):
    _study, person, slot = begin("choice")
    Slot.objects.filter(pk=slot.pk).update(a_is_left=a_is_left)
    left, right = slot.unit.outputs if a_is_left else slot.unit.outputs[::-1]
    written = [("left", 3, " Blue hat. "), ("right", 1, "No hat.")]
    assert send(client, person, slot, *written).json()["refused"] == {}
    assert stored(slot) == [(right, 1, "No hat."), (left, 3, "Blue hat.")]


def test_the_newest_text_counts_and_none_takes_it_back(client):
    _study, person, slot = begin()
    send(client, person, slot, ("only", 2, "Dark."))
    first = ShotComment.objects.get()
    send(client, person, slot, ("only", 2, "Dark."))
    assert ShotComment.objects.get().written_at == first.written_at
    send(client, person, slot, ("only", 2, "Too dark."))
    assert [text for *_place, text in stored(slot)] == ["Too dark."]
    send(client, person, slot, ("only", 2, "  "))
    assert stored(slot) == []


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (("only", 1), "no side 'only'; expected one of left, right."),
        (("", 1), "no side ''; expected one of left, right."),
        (("left", 4), "no shot 4; expected one of 1, 2, 3."),
        (("left", -1), "no shot -1; expected one of 1, 2, 3."),
        (("left", 10**30), f"no shot {10**30}; expected one of 1, 2, 3."),
    ],
)
def test_a_place_that_is_not_shown_is_refused_and_the_others_stored(
    client, place, told
):
    _study, person, slot = begin("choice")
    reply = send(client, person, slot, (*place, "Dark."), ("left", 2, "Bright."))
    (refused,) = reply.json()["refused"].values()
    assert refused == {"why": f"This story has {told}", "final": True}
    assert [text for *_place, text in stored(slot)] == ["Bright."]


def test_a_study_that_asks_for_none_takes_none(client, tmp_path):
    study, person, slot = begin(presentation={"comments": True})
    page = client.get(reverse("rate-slot", args=[person.invitation.token, slot.code]))
    assert b"shot-comment" not in page.content
    reply = send(client, person, slot, ("only", 1, "Dark."), character="3")
    (refused,) = reply.json()["refused"].values()
    assert refused["why"] == "This study takes no comments on single shots."
    assert slot.ratings.count() == 1
    assert not ShotComment.objects.exists()
    write_export(study, tmp_path)
    assert not (tmp_path / "shot_comments.csv").exists()


@pytest.mark.parametrize(
    "changed", [{"shot": "two"}, {"shot": None}, {"text": "\0"}, {"side": "\ud800"}]
)
def test_what_no_page_sends_is_refused_whole(client, changed):
    _study, person, slot = begin()
    row = {
        "kind": "shot_comment",
        "id": "x",
        "side": "only",
        "shot": 1,
        "key": "",
        "text": "a",
    }
    reply = client.post(
        reverse("rate-save", args=[person.invitation.token, slot.code]),
        {"rows": [row | changed]},
        content_type="application/json",
    )
    assert reply.status_code == 400
    assert "comment on a shot (id, key, side, shot, text)" in reply.json()["error"]


# Without scripts ----------------------------------------------------------------------


def fields(page):
    """The text of each field of a page, by its name."""
    found = re.findall(
        r'<textarea name="shot-comment:([^"]+)"[^>]*>([^<]*)</textarea>', one_line(page)
    )
    return dict(found)


def told_shots(page):
    return re.search(r'<output class="muted">([^<]*)</output>', page)[1]


def test_a_form_has_a_field_for_each_shot_and_side_and_shows_them_again(client):
    _study, person, _slot = begin("choice", shots=2)
    browser = Browser(client, person)
    browser.at = browser.post(browser.address("pause"))
    empty = {"1:left": "", "1:right": "", "2:left": "", "2:right": ""}
    assert fields(browser.text()) == empty
    here, slot = browser.at, browser.slot
    written = {"shot-comment:2:right": "Two <tails>.", "shot-comment:1:left": ""}
    client.post(f"{here}submit/", form(character="left") | written)
    assert fields(browser.text(here)) == empty | {"2:right": "Two &lt;tails&gt;."}
    assert told_shots(browser.text(here)) == "2"
    assert [(shot, text) for _o, shot, text in stored(slot)] == [(2, "Two <tails>.")]
    client.post(f"{here}submit/", form(character="left") | {"shot-comment:2:right": ""})
    assert fields(browser.text(here)) == empty
    assert told_shots(browser.text(here)) == ""


@pytest.mark.parametrize("place", ["9:left", "1:only", "x:left", "9" * 5000, ""])
def test_a_form_that_names_no_place_is_told_so_and_its_answers_are_kept(client, place):
    _study, person, slot = begin("choice")
    address = reverse("rate-submit", args=[person.invitation.token, slot.code])
    sent = form(character="left", aesthetics="tie") | {f"shot-comment:{place}": "Dark."}
    kind = "application/x-www-form-urlencoded"
    answer = client.post(address, urlencode(sent), content_type=kind)
    assert answer.status_code == 422
    assert "; expected one of " in one_line(answer.content.decode())
    assert slot.choices.count() == 2
    assert not ShotComment.objects.exists()


def test_a_closed_slot_shows_them_and_takes_no_more(client):
    _study, person, slot = begin(session_size=1)
    send(client, person, slot, ("only", 2, "Dark."))
    Slot.objects.filter(pk=slot.pk).update(
        state="submitted", submitted_at=slot.started_at
    )
    assert choosing.next_for(person).slot.session == 2
    page = client.get(reverse("rate-slot", args=[person.invitation.token, slot.code]))
    text = one_line(page.content.decode())
    assert fields(text)["2:only"] == "Dark."
    assert len(re.findall(r"<textarea[^>]* disabled", text)) == 3
    reply = send(client, person, slot, ("only", 2, "Bright."))
    assert reply.json()["refused"]
    assert ShotComment.objects.get().text == "Dark."


# Whose they are -----------------------------------------------------------------------

SWITCHED_ON = f"{LIKERT}\nredundancy: 1\npresentation: {{shot_comments: true}}\n"


def test_who_loses_a_slot_keeps_the_comments_and_nobody_else_sees_them(client):
    benchmark = make_benchmark(stories=1, methods=["Alder"])
    study = make_planned(f"{SWITCHED_ON}assignment: open\n", benchmark=benchmark)
    ann, bob = join(study), join(study)
    slot = choosing.next_for(ann).slot
    send(client, ann, slot, ("only", 2, "Dark."))
    end_leases()
    assert choosing.next_for(bob).slot == slot
    page = client.get(reverse("rate-slot", args=[bob.invitation.token, slot.code]))
    assert set(fields(page.content.decode()).values()) == {""}
    assert list(shot_comments.rows(study)) == []
    send(client, ann, slot, ("only", 3, "Bright."))
    surplus = Slot.objects.get(annotator=ann)
    told = [(shot, text) for _output, shot, text in stored(surplus)]
    assert told == [(2, "Dark."), (3, "Bright.")]
    assert stored(slot) == []
    assert problems(study) == []


# For whom they are --------------------------------------------------------------------


def test_they_are_exported_with_story_method_side_and_shot(client, tmp_path):
    study, person, slot = begin("choice")
    Slot.objects.filter(pk=slot.pk).update(a_is_left=False)
    written = [("left", 3, "=HYPERLINK(1)"), ("right", 2, "Two\nlines, “quoted”")]
    send(client, person, slot, *written)
    first, second = slot.unit.outputs
    rows = exported(study, tmp_path)
    for row, (output, side, shot, text) in zip(
        rows,
        [
            (first, "right", "2", "Two\nlines, “quoted”"),
            (second, "left", "3", "'=HYPERLINK(1)"),
        ],
        strict=True,
    ):
        at = row.pop("at")
        assert at == ShotComment.objects.get(output=output).written_at.isoformat()
        assert row == {
            "slot": slot.code,
            "story": "01",
            "method": output.method.name,
            "degradation": "",
            "side": side,
            "shot": shot,
            "annotator": "A01",
            "purpose": "real",
            "text": text,
        }
    table = reverse("coverage-csv", args=[study.slug, "shot_comments"])
    answer = alice(study).get(table)
    lines = b"".join(answer.streaming_content).decode()
    assert lines == (tmp_path / "shot_comments.csv").read_text()
    call_command("coverage", study.slug, csv="shot_comments")


def test_a_comment_on_a_twin_names_its_degradation(client, tmp_path):
    study, person, slot = begin("choice")
    original = slot.unit.output_a
    twin = Output.everything.create(
        story=original.story,
        method=original.method,
        twin_of=original,
        degradation="blurred",
    )
    fields = {"output_a": original, "output_b": twin, "original": slot.unit}
    unit = study.units.create(purpose="twin", story=original.story, **fields)
    Slot.objects.filter(pk=slot.pk).update(unit=unit, purpose="twin", ordinal=None)
    send(client, person, slot, ("left", 1, "Sharp."), ("right", 1, "Blurred."))
    told = {row["degradation"]: row for row in exported(study, tmp_path)}
    expected = ("Blurred.", "Sharp.") if slot.a_is_left else ("Sharp.", "Blurred.")
    assert (told["blurred"]["text"], told[""]["text"]) == expected
    assert {row["purpose"] for row in told.values()} == {"twin"}
    assert {row["method"] for row in told.values()} == {original.method.name}


@pytest.mark.parametrize("wrong", [{"shot": 4}, {"output": 2}])
def test_a_comment_on_what_is_not_shown_is_found(client, wrong):
    study, person, slot = begin()
    send(client, person, slot, ("only", 2, "Dark."))
    assert problems(study) == []
    if "output" in wrong:
        others = study.slots.exclude(unit=slot.unit)
        wrong = {"output": others.first().unit.output_a}
    ShotComment.objects.update(**wrong)
    (told,) = problems(study)
    assert told.startswith(f"slot {slot.code}: a comment is about output ")


def test_one_wrong_place_stores_nothing_of_a_form():
    _study, person, slot = begin()
    texts = {("only", 1): "Dark.", ("only", 9): "Bright."}
    with pytest.raises(BadAnswerError):
        answering.record_shot_comments(slot=slot, annotator=person, texts=texts)
    assert not ShotComment.objects.exists()


def test_a_text_that_its_tab_has_overtaken_changes_nothing_of_its_shot(client):
    _study, person, slot = begin()
    for text, second, shot in (
        ("Dark, and wet.", 2, 1),
        ("Dark, and", 1, 1),
        ("Bright.", 1, 2),
    ):
        key = f"{1_700_000_000_000 + second} 0.25"
        send(client, person, slot, ("only", shot, text), key=key)
    texts = dict(ShotComment.objects.values_list("shot", "text"))
    assert texts == {1: "Dark, and wet.", 2: "Bright."}
