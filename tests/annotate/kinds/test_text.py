"""Free-text answers: written, displayed, exported, erased, never counted."""

import csv
import io
import re

import pytest
from django.core.management import call_command
from django.urls import reverse
from rest_framework.test import APIClient

from annotate.audit_log.verifying import problems
from annotate.coverage import snapshots
from annotate.kinds.base import NotNowError
from annotate.kinds.text.kind import TextAnswer
from annotate.models import Flag, Invitation
from annotate.personal_data import erasing, record
from annotate.quality import monitoring
from annotate.reports import study_tables
from annotate.reports.export_folder import write_export
from annotate.responses import writing
from annotate.schema import DefinitionError
from annotate.setup_form.study import StudyForm
from annotate.setup_form.values import to_values
from annotate.studies.study_file import read_definition, write_definition
from annotate.templatetags import kinds as kept
from tests.factories import make_benchmark
from tests.people import alice
from tests.working import Browser, form, join, make_planned, save

pytestmark = pytest.mark.django_db

ONE = """\
redundancy: 1
session_size: 4
rules: default
questions:
  - {key: why, kind: text, title: Why, text: "What did you notice?", longest: 60}
  - {key: beauty, kind: likert, scale: [0, 4], title: Beauty, text: "How nice?"}
"""
PAIRS = """\
redundancy: 1
questions:
  - {key: better, kind: choice, title: Better, text: "Which?"}
  - {key: why, kind: text, title: Why, text: "Why?", required: true}
"""
WORDS = "Two hats,\nand then none"


def planned(text=ONE, methods=("Alder",), stories=2):
    benchmark = make_benchmark(stories=stories, shots=1, methods=list(methods))
    return make_planned(text, benchmark=benchmark, annotators=1)


def begin(client, study):
    browser = Browser(client, study.annotators.get())
    browser.start()
    return browser


def texts() -> list[str]:
    return list(
        TextAnswer.objects.filter(is_current=True).values_list("value", flat=True)
    )


@pytest.fixture
def written(client):
    """Answer one of two stories with a rating and a text."""
    study = planned()
    browser = begin(client, study)
    browser.fill(beauty=3, why=WORDS)
    return study


# Answering


@pytest.mark.slow
def test_optional_text_can_be_added_later_and_removed(client):
    study = planned()
    browser = begin(client, study)
    story, page = browser.at, browser.text()
    assert 'maxlength="60"' in page
    assert "(optional)" in page
    browser.fill(beauty=3)
    assert texts() == []
    for value, stored in ((WORDS.replace("\n", "\r\n"), [WORDS]), ("", [])):
        browser.post(f"{story}submit/", **form(beauty=3, why=value))
        assert texts() == stored
        assert (WORDS in browser.text(story)) == bool(stored)
    assert problems(study) == []


def test_required_text_is_demanded(client):
    study = planned(PAIRS, ["Alder", "Birch"], stories=1)
    browser = begin(client, study)
    for words in ("", "  \n"):
        response = client.post(f"{browser.at}submit/", form(better="left", why=words))
        assert "Not answered yet: Why." in response.content.decode()
    browser.fill(better="left", why="sharper")
    assert texts() == ["sharper"]
    assert problems(study) == []
    TextAnswer.objects.all().delete()
    assert any("0 current texts for 1 questions" in one for one in problems(study))


def test_text_is_a_draft_until_submission_and_limited_in_length(client):
    browser = begin(client, planned())
    assert save(client, browser.at, why=WORDS).json()["refused"] == {}
    assert WORDS in browser.text()
    refused = save(client, browser.at, why="x" * 61).json()["refused"]["why"]
    assert refused == {
        "why": "Write at most 60 characters; your answer has 61.",
        "final": True,
    }
    assert save(client, browser.at, why="").json()["refused"] == {}
    assert WORDS not in browser.text()


@pytest.mark.slow
def test_draft_of_text_overwrites_its_row_and_submitted_text_keeps_its_revisions(
    client, monkeypatch
):
    monkeypatch.setattr(writing, "MOST_REVISIONS", 3)
    study = planned()
    browser = begin(client, study)
    story = browser.at
    for n in range(5):
        assert save(client, story, why=f"draft {n}").json()["refused"] == {}
    assert save(client, story, why="").json()["refused"] == {}
    browser.fill(beauty=3, why="sent")
    assert list(TextAnswer.objects.values_list("value", "revision")) == [("sent", 1)]
    for n in range(2):
        assert save(client, story, why=f"later {n}").json()["refused"] == {}
    refused = save(client, story, why="too late").json()["refused"]
    assert "changed 3 times" in refused["why"]["why"]
    assert list(
        TextAnswer.objects.order_by("revision").values_list("value", "is_current")
    ) == [("sent", False), ("later 0", False), ("later 1", True)]
    assert problems(study) == []


def test_refused_text_stays_in_its_field_with_its_error(client):
    browser = begin(client, planned())
    browser.client.post(f"{browser.at}submit/", form(why="before"))
    response = client.post(f"{browser.at}submit/", form(beauty=3, why="x" * 61))
    assert response.status_code == 422
    page = response.content.decode()
    field = re.search("<textarea([^>]*)>([^<]*)</textarea>", page)
    error = re.search('<p class="error small" id="([^"]+)">([^<]*)</p>', page)
    assert field[2] == "x" * 61
    assert error[2] == "Write at most 60 characters; your answer has 61."
    assert error[1] in re.search('aria-describedby="([^"]+)"', field[1])[1].split()
    assert 'aria-invalid="true"' in field[1]
    assert texts() == ["before"]
    assert "before</textarea>" in browser.text()


def test_text_stays_in_its_field_when_study_is_paused(client, monkeypatch):
    def submit(*_args, **_named):
        raise NotNowError("Changed elsewhere.")

    browser = begin(client, planned())
    monkeypatch.setattr("annotate.responses.submission.submit", submit)
    response = client.post(f"{browser.at}submit/", form(beauty=3, why="sharper"))
    assert response.status_code == 422
    assert ">sharper</textarea>" in response.content.decode()


def test_text_is_never_cached(client, monkeypatch):
    made, make = [], kept.KeptNode._made
    monkeypatch.setattr(
        kept.KeptNode,
        "_made",
        lambda *given: made.append(make(*given)) or made[-1],
    )
    kept.PARTS.clear()
    browser = begin(client, planned())
    for words in ("first words", "second words"):
        save(client, browser.at, why=words)
        assert f">{words}</textarea>" in browser.text()
    parts = len(made)
    client.post(f"{browser.at}submit/", form(why="third words" * 9))
    # The page's errors below its questions.
    assert len(made) == parts + 1
    assert not any("words" in part and "</textarea>" in part for part in made)
    browser.text()
    assert len(made) == parts + 1


def test_text_fields_have_labels_and_descriptions(client):
    more = '  - {key: how, kind: text, title: How, text: "How?", required: true}\n'
    page = begin(client, planned(ONE + more)).text()
    label = r"""visually-hidden">(\w+): </span>[^<]*</span>\s*<textarea([^>]*)>"""
    found = dict(re.findall(label, page))
    assert set(found) == {"Why", "How"}
    told = {
        title: re.search('aria-describedby="([^"]+)"', field)[1]
        for title, field in found.items()
    }
    for title, text in (("Why", "What did you notice?"), ("How", "How?")):
        assert f'id="{told[title]}">{text}</p>' in page
    assert 'aria-required="true"' in found["How"]
    assert "aria-required" not in found["Why"]


def test_verify_names_text_over_the_maximum_length(written):
    TextAnswer.objects.update(value="x" * 61)
    text = TextAnswer.objects.get()
    assert problems(written) == [f"text {text.pk}: it is longer than 60 characters"]


def test_text_is_escaped_on_every_page(client):
    study = planned()
    browser = begin(client, study)
    story, slot = browser.at, browser.slot
    browser.fill(beauty=3, why="</textarea><b>bold</b>")
    own = browser.get(story)
    manager = alice(study)
    told = manager.get(reverse("slot-detail", args=["trial", slot.code]))
    for page in (own, told):
        assert "&lt;b&gt;bold&lt;/b&gt;" in page.content.decode()
        assert "<b>bold</b>" not in page.content.decode()


def test_api_accepts_text_answers():
    study = planned(stories=1)
    person = join(study, "A01")
    client = APIClient()
    token = Invitation.objects.get(annotator=person).token
    client.credentials(HTTP_AUTHORIZATION=f"Invitation {token}")
    slot = client.post(reverse("api-slot")).json()["story"]
    first = slot["questions"][0]
    assert (first["key"], first["options"], first["answer"]) == ("why", [], "")
    address = reverse("api-submit", args=[slot["code"]])
    answers = {"answers": {"beauty": "2", "why": WORDS}}
    assert client.post(address, answers, format="json").status_code == 200
    assert texts() == [WORDS]


# Display, statistics, erasure


def test_exported_text_has_no_formulas(client, tmp_path):
    study = planned(PAIRS, ["Alder", "Birch"], stories=1)
    browser = begin(client, study)
    slot = browser.slot
    browser.fill(better="left", why='=HYPERLINK("http://evil")')
    write_export(study, tmp_path)
    (row,) = csv.DictReader(io.StringIO((tmp_path / "texts.csv").read_text()))
    assert row["text"] == '\'=HYPERLINK("http://evil")'
    assert row["methods"] == "Alder / Birch"
    assert row["left_method"] == ("Alder" if slot.a_is_left else "Birch")
    assert (row["question"], row["slot"]) == ("why", slot.code)


@pytest.mark.slow
def test_statistics_checks_and_reports_ignore_text(written, tmp_path):
    person = written.annotators.get()
    assert monitoring.signals_of(person)["flat"].n == 0
    assert not Flag.objects.exists()
    assert set(snapshots.alphas(written)) == {"beauty"}
    assert set(study_tables.answers_frame(written, "ratings")["dimension"]) == {
        "beauty"
    }
    out = tmp_path / "report"
    call_command("report", "trial", out=out, images="none")
    pages = [path.read_bytes().decode("utf-8", "ignore") for path in out.rglob("*.*")]
    assert not any("Two hats" in page for page in pages)


@pytest.mark.slow
def test_text_is_personal_data_and_erased_with_comments(written):
    person = written.annotators.get()
    assert "Two hats" in record.files(person)["answers.csv"]
    assert erasing.comments_of(person) == 1
    erasing.erase(person)
    assert texts() == [WORDS]
    assert erasing.erase(person, comments=True).comments == 1
    assert texts() == [""]
    assert problems(written) == []


# Set-up


def test_text_question_round_trips_through_file_and_form():
    read = read_definition(ONE, file="study.yaml", name="trial")
    again = read_definition(write_definition(read), file="again.yaml", name="trial")
    assert again == read
    pairs = read_definition(PAIRS, file="study.yaml", name="trial")
    assert (pairs.outputs, [kind.name for kind in pairs.kinds]) == (
        2,
        ["choice", "text"],
    )
    values = to_values(pairs)
    assert values["questions.1.required"] == "1"
    study_form = StudyForm(values, make_benchmark())
    assert "text" in [kind.name for kind in study_form.addable]
    added = study_form.rearrange("add", -1, "text").cards[-1]
    assert {"questions.2.required", "questions.2.longest"} <= {
        field.name for field in added.fields
    }


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("longest: 60", "longest: 0", "5:79: .*write a whole number from 1 to 10000"),
        ("longest: 60", "metric: cids_self", "no metric measures a text"),
        ("longest: 60", "scale: [0, 4]", "unknown key"),
        ("kind: likert, scale: [0, 4]", "kind: text", "kind other than text"),
    ],
)
def test_text_question_refuses_invalid_fields(before, after, told):
    with pytest.raises(DefinitionError, match=told):
        read_definition(ONE.replace(before, after), file="study.yaml", name="trial")
