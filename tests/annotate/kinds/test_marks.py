"""Marks in pictures: stored by picture, exported by mark and by shot, and displayed."""

import csv
import io

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotate.audit_log.verifying import problems
from annotate.kinds.base import BadAnswerError
from annotate.kinds.marks.kind import MarksAnswer
from annotate.kinds.marks.pins import Pin, on_letterbox, on_picture, read, written
from annotate.models import Study
from annotate.reports import study_tables
from annotate.reports.export_folder import write_export
from annotate.schema import DefinitionError
from annotate.setup_form.study import StudyForm
from annotate.setup_form.values import to_values
from annotate.studies import rewording
from annotate.studies.planning import PlanningError
from annotate.studies.study_file import read_definition, write_definition
from evalcore.models import Frame, MediaFile, Output
from tests.factories import make_benchmark
from tests.people import alice
from tests.working import Browser, form, join, make_planned, save, work

FILE = """\
redundancy: 2
session_size: 4
questions:
  - {key: beauty, kind: likert, scale: [0, 4], title: Beauty, text: "How nice?"}
  - key: where
    kind: marks
    title: Faults
    text: "Where is something wrong?"
    labels: {anatomy: {en: Broken anatomy, zh: 肢体错误}, text: Does not fit the text}
"""
PINS = "1 0.5000 0.2500 anatomy\n3 0.1000 1.0000 text"


def planned(text=FILE, *, stories=1, shots=3, methods=("Alder",), people=2):
    benchmark = make_benchmark(stories=stories, shots=shots, methods=list(methods))
    return make_planned(text, benchmark=benchmark, annotators=people)


def begin(client, study, name="A01"):
    browser = Browser(client, study.annotators.get(name=name))
    browser.start()
    return browser


def current():
    return list(
        MarksAnswer.objects.filter(is_current=True).values_list("value", flat=True)
    )


def test_pins_round_trip_as_text():
    pins = (Pin(1, 0.5, 0.25, "anatomy"), Pin(3, 0.1, 1.0, "text"))
    assert written(pins) == PINS
    assert read(PINS) == read(PINS.replace("\n", " ; ")) == pins
    assert (read("nothing"), written(())) == ((), "nothing")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("nothing\n1 0.5 0.5 text", "not both"),
        ("1 0.5 0.5 text\n" * 51, "at most 50 marks; your answer has 51"),
        ("\n".join(["1 1.01 0.5 text"]), "no mark"),
        ("1 -0.1 0.5 text", "no mark"),
        ("1 nan 0.5 text", "no mark"),
        ("1 0.5 text", "no mark"),
        ("one 0.5 0.5 text", "no mark"),
        (" \n ", "or say that nothing is wrong"),
    ],
)
def test_wrong_pins_are_refused(value, told):
    with pytest.raises(BadAnswerError, match=told):
        read(value)


def test_place_is_a_share_of_the_picture_not_of_its_letterbox():
    """A picture of 100 x 100 in a box of 200 x 100 fills its middle half."""
    shown = Pin(1, 0.25, 0.5, "text")
    assert on_picture(shown, (100, 100), (200, 100)) == Pin(1, 0.0, 0.5, "text")
    assert on_picture(Pin(1, 0.625, 0.2, "text"), (100, 100), (200, 100)).x == 0.75
    # On the bars, the nearest edge counts.
    assert on_picture(Pin(1, 0.9, 0.2, "text"), (100, 100), (200, 100)).x == 1.0
    for box in (None, (200, 100), (100, 400)):
        for pin in (Pin(1, 0.123, 0.9, "text"), Pin(1, 0.0, 1.0, "text")):
            there = on_letterbox(pin, (100, 100), box)
            again = on_picture(there, (100, 100), box)
            assert (again.x, again.y) == pytest.approx((pin.x, pin.y))


@pytest.mark.django_db
def test_marks_are_demanded_stored_and_shown_again(client):
    study = planned()
    browser = begin(client, study)
    story = browser.at
    response = client.post(f"{story}submit/", form(beauty=3, where=""))
    assert "Not answered yet: Faults." in response.content.decode()
    for value, told in (
        ("9 0.5 0.5 text", "no picture of shot 9"),
        ("1 0.5 0.5 hair", "is no kind of fault here; write one of anatomy, text"),
        ("nothing\n1 0.5 0.5 text", "not both"),
    ):
        refused = save(client, story, where=value).json()["refused"]["where"]
        assert told in refused["why"]
        assert refused["final"]
    assert current() == []
    assert save(client, story, where="nothing").json()["refused"] == {}
    assert save(client, story, where=PINS).json()["refused"] == {}
    assert current() == [PINS]
    assert "1 0.500000 0.250000 anatomy" in browser.text()
    browser.fill(beauty=3, where=PINS)
    assert current() == [PINS]
    assert MarksAnswer.objects.get(is_current=True).shots == [1, 2, 3]
    # A required answer cannot be taken back after submission.
    refused = save(client, story, where="").json()["refused"]["where"]
    assert "cannot be changed" in refused["why"]
    assert problems(study) == []


@pytest.mark.django_db
def test_letterboxed_picture_stores_and_shows_the_same_place(client):
    study = planned()
    frame = Frame.objects.get(number=1)
    MediaFile.objects.filter(pk=frame.media_id).update(width=64, height=64)
    browser = begin(client, study)
    browser.text()  # pictures of 96 x 64 and 64 x 64 are shown as 96 x 64
    save(client, browser.at, where="1 0.333333 0.5 text\n2 0.333333 0.5 text")
    assert current() == ["1 0.2500 0.5000 text\n2 0.3333 0.5000 text"]
    assert "1 0.333333 0.500000 text\n2 0.333300" in browser.text()


@pytest.mark.django_db
def test_optional_marks_can_be_left_open_and_taken_back(client):
    text = FILE.replace("    labels", "    required: false\n    labels")
    study = planned(text)
    browser = begin(client, study)
    story = browser.at
    browser.fill(beauty=3, where="")
    save(client, story, where=PINS)
    assert current() == [PINS]
    assert save(client, story, where="").json()["refused"] == {}
    assert current() == []
    assert problems(study) == []


@pytest.fixture
def marked(client):
    """Let A01 mark two shots of one story, and A02 say that nothing is wrong."""
    study = planned()
    given = {"A01": PINS, "A02": "nothing"}
    for name, value in given.items():
        person = join(study, name)
        work(person, lambda _slot, key, v=value: v if key == "where" else "3")
    return study


def table(out, name):
    return list(csv.DictReader(io.StringIO((out / f"{name}.csv").read_text())))


@pytest.mark.django_db
def test_export_has_a_row_for_each_pin_and_a_rating_for_each_shot(marked, tmp_path):
    write_export(marked, tmp_path)
    pins = table(tmp_path, "marks")
    columns = ("story", "method", "dimension", "annotator", "shot", "x", "y", "label")
    assert [tuple(row[name] for name in columns) for row in pins] == [
        ("01", "Alder", "where", "A01", "1", "0.5", "0.25", "anatomy"),
        ("01", "Alder", "where", "A01", "3", "0.1", "1.0", "text"),
    ]
    rated = table(tmp_path, "marked_shots")
    assert len(rated) == 2 * 3 * 3
    ones = {
        (row["annotator"], row["shot"], row["dimension"])
        for row in rated
        if row["rating"] == "1"
    }
    assert ones == {
        ("A01", "1", "where"),
        ("A01", "1", "where|anatomy"),
        ("A01", "3", "where"),
        ("A01", "3", "where|text"),
    }
    assert {row["dimension"] for row in table(tmp_path, "ratings")} == {"beauty"}
    frame = study_tables.answers_frame(marked, "marked_shots")
    assert frame["rating"].sum() == 4
    assert problems(marked) == []


@pytest.mark.django_db
def test_verify_names_a_mark_of_unknown_kind(marked):
    answer = MarksAnswer.objects.get(value=PINS)
    MarksAnswer.objects.filter(pk=answer.pk).update(value="1 0.5 0.5 hair")
    (problem,) = problems(marked)
    assert problem.startswith(f"marks {answer.pk}: unknown shot or kind")


@pytest.mark.slow
@pytest.mark.django_db
def test_managers_see_the_pins_of_all_people_on_the_pictures(marked):
    client = alice(marked)
    slot = marked.slots.get(annotator__name="A01")
    page = client.get(reverse("slot-detail", args=["trial", slot.code]))
    assert "Shot 1: Broken anatomy; Shot 3: Does not fit" in page.content.decode()
    address = reverse("output-detail", args=["trial"])
    shown = client.get(f"{address}?story=01&method=Alder").content.decode()
    assert shown.count("<circle") == 2
    assert "Broken anatomy (1)" in shown
    assert "1 of 2 people" in shown
    # Browsers keep pictures for a day; a replaced one has another address.
    old = Frame.objects.get(output__method__name="Alder", number=1)
    picture = reverse("frame-display", args=["trial", old.pk])
    assert f'src="{picture}?v={old.media_id[:8]}"' in shown


@pytest.mark.slow
@pytest.mark.django_db
def test_report_holds_marks_against_scores_of_shots(marked, tmp_path):
    out = tmp_path / "report"
    call_command("report", "trial", out=out, images="none")
    with (out / "tables/marked_shots.csv").open() as stream:
        rows = {(row["question"], row["method"]): row for row in csv.DictReader(stream)}
    assert float(rows["where", "Alder"]["value"]) == pytest.approx(2 / 6)
    with (out / "tables/agreement.csv").open() as stream:
        asked = {row["question"] for row in csv.DictReader(stream)}
    assert {"where", "where|anatomy", "where|text"} <= asked


# Set-up


@pytest.mark.django_db
def test_marks_question_round_trips_through_file_and_form():
    read_once = read_definition(FILE, file="study.yaml", name="trial")
    again = read_definition(write_definition(read_once), file="a.yaml", name="trial")
    assert again == read_once
    values = to_values(read_once)
    assert values["questions.1.required"] == "1"
    values |= {"slug": "trial", "all_method": "1", "all_story": "1"}
    study_form = StudyForm(values, make_benchmark())
    setup = study_form.setup(with_people=False)
    assert setup.definition.questions == read_once.questions
    card = study_form.rearrange("remove", 1).rearrange("add", -1, "marks").cards[-1]
    fields = {field.name: field.value for field in card.fields}
    assert fields["questions.1.labels"].startswith("character: Wrong character")
    assert fields["questions.1.required"] == "1"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("labels: {", "labels: {} # ", "write 1 to 9 kinds of fault"),
        ("anatomy: {", "'a b': {", "write 1 to 9 kinds of fault"),
        ("kind: marks", "kind: marks\n    metric: cids", "leave it out"),
        ("redundancy: 2", "outputs: 2", "write 1 for likert, marks"),
        (
            "  - key: where",
            "  - {key: x, kind: marks, labels: {a: A}}\n  - key: where",
            "ask only one of kind marks",
        ),
        ("kind: likert, scale: [0, 4]", "kind: text", "kind other than text"),
    ],
)
def test_marks_question_refuses_invalid_fields(before, after, told):
    with pytest.raises(DefinitionError, match=told):
        read_definition(FILE.replace(before, after), file="study.yaml", name="trial")


@pytest.mark.django_db
def test_marks_question_needs_pictures():
    benchmark = make_benchmark(stories=1, methods=["Alder"])
    film = MediaFile.objects.first()
    Output.objects.update(video=film)
    with pytest.raises(PlanningError, match="need pictures, but story 01 is a video"):
        make_planned(FILE, benchmark=benchmark, annotators=2)


@pytest.mark.django_db
def test_typing_error_in_a_kind_of_fault_is_corrected(marked):
    name = "questions.where.labels.anatomy.en"
    assert name in [one.name for one in rewording.wordings(marked)]
    rewording.reword(marked, {name: "Odd anatomy"}, version=marked.text_version)
    question = Study.objects.get().questions.get(key="where")
    assert question.anchors["labels"]["anatomy"]["en"] == "Odd anatomy"
