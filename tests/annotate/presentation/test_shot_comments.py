"""Comments on single shots: storing, refusal, export, display."""

import csv
import re

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotate.assignment import choosing
from annotate.audit_log.verifying import problems
from annotate.models import ShotComment, Slot
from annotate.presentation import shot_comments
from annotate.reports.export_folder import write_export
from tests.factories import make_benchmark, make_study
from tests.one_line import one_line
from tests.people import alice
from tests.working import LIKERT, Browser, end_leases, form, join, make_planned

pytestmark = pytest.mark.django_db
TAKES = {"shot_comments": True}


def begin(kind="likert", shots=3, **kw):
    """Create a study with shot comments, and an annotator at the first slot."""
    benchmark = make_benchmark(stories=1, shots=shots)
    kw = {"presentation": TAKES, "annotators": 1} | kw
    study = make_study(kind=kind, benchmark=benchmark, **kw)
    person = join(study, "A01")
    return study, person, choosing.next_for(person).slot


def send(client, person, slot, *written, key="", **answers):
    """Send comments (side, shot, text) as the page's scripts do."""
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
def test_shot_comment_is_stored_with_its_output(client, a_is_left):
    _study, person, slot = begin("choice")
    Slot.objects.filter(pk=slot.pk).update(a_is_left=a_is_left)
    left, right = slot.unit.outputs if a_is_left else slot.unit.outputs[::-1]
    written = [("left", 3, " Blue hat. "), ("right", 1, "No hat.")]
    assert send(client, person, slot, *written).json()["refused"] == {}
    assert stored(slot) == [(right, 1, "No hat."), (left, 3, "Blue hat.")]


def test_shot_comment_is_replaced_or_removed(client):
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
def test_shot_comment_on_missing_place_is_refused_alone(client, place, told):
    _study, person, slot = begin("choice")
    reply = send(client, person, slot, (*place, "Dark."), ("left", 2, "Bright."))
    (refused,) = reply.json()["refused"].values()
    assert refused == {"why": f"This story has {told}", "final": True}
    assert [text for *_place, text in stored(slot)] == ["Bright."]


def test_shot_comments_are_refused_when_disabled(client, tmp_path):
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


# Without scripts ----------------------------------------------------------------------


def fields(page):
    """Return the text of each comment field of a page by name."""
    found = re.findall(
        r'<textarea name="shot-comment:([^"]+)"[^>]*>([^<]*)</textarea>', one_line(page)
    )
    return dict(found)


def told_shots(page):
    return re.search(r'<output class="muted">([^<]*)</output>', page)[1]


def test_form_has_shot_comment_fields_and_refills_them(client):
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


# Ownership ----------------------------------------------------------------------------

SWITCHED_ON = f"{LIKERT}\nredundancy: 1\npresentation: {{shot_comments: true}}\n"


@pytest.mark.slow
def test_shot_comments_stay_with_their_author_after_losing_a_slot(client):
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


# Export -------------------------------------------------------------------------------


def test_shot_comments_are_exported_with_their_place(client, tmp_path):
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
