"""Tests of the set-up form, which is equivalent to a study file."""

import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from html import unescape
from threading import Barrier, BrokenBarrierError

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode

from annotate.audit_log.verifying import problems as broken_promises
from annotate.models import Annotator, Event, Slot, Study, StudyMember, User
from annotate.people import inviting
from annotate.setup_form.study import StudyForm
from annotate.setup_form.values import to_data, to_values
from annotate.studies import lifecycle, planning
from annotate.studies.changing import withdraw_units
from annotate.studies.definition import template_names
from annotate.studies.drafting import next_slug, setup_of
from annotate.studies.extending import extend
from annotate.studies.planning import PlanningError, Setup, plan_study
from annotate.studies.study_file import (
    load_definition,
    read_definition,
    write_data,
    write_definition,
)
from evalcore.management.command_line import NAMES
from evalcore.models import Benchmark
from tests.cases import slow
from tests.factories import make_benchmark, make_study
from tests.people import alice, answer_everything, eve, log_in, rob
from tests.working import LIKERT as SMALL

pytestmark = pytest.mark.django_db

LIKERT, PAIRS = "vistorybench-user-study", "storybench-side-by-side"
FULL_PAIRS = """
title: Everything
kind: choice
assignment: open
redundancy: 4
languages: {en: 2, zh: 2}
rounds: 1
session_size: 5
cap: 20
lease_minutes: 12
seed: 7
stories: {number: 2, by: genre}
pairs: {number: 3, by: [role, angle]}
adaptive: {top: 2, confidence: 0.9, least: 10, explore: 0.25, question: b}
consent: {version: "2024-1", en: Please agree, de: Bitte}
instructions: {en: Look, zh: 请看}
questions:
  - {key: a, title: {en: A, zh: 甲, de: Ah}, text: 'Which?', allow_tie: false}
  - {key: b, help: {zh: 帮助}, metric: csd, stories: {angle: [TR, LI]},
     degradation: blurred}
training:
  twins: 2
  units: [{story: '01', methods: [Alder, Birch], expected: {a: Alder, b: tie}}]
checks:
  per_session: 1
  kinds: [gold]
  degradations: [blurred]
  share: 0.5
  gold: [{story: '02', methods: [Alder, Birch], expected: {a: Birch}}]
rules: default
presentation: {same_size: false, must_watch: false, must_see: 1.5, comments: false}
"""
FULL_LIKERT = """
kind: likert
subset: {redundancy: 6, stories: {number: 1, by: style}}
pairs: null
checks: {kinds: [], degradations: []}
rules: [{key: skips, signal: skips, above: 0.3, action: note, message: 'Why?'}]
questions:
  - key: a
    scale: [-1, 2]
    anchors: {-1: bad, 2: {en: good, zh: 好}}
"""


@pytest.fixture
def woods() -> Benchmark:
    return make_benchmark()


@pytest.fixture
def manager() -> Client:
    User.objects.create_user("mary", is_superuser=True)
    return log_in("mary")


def filled(name: str = LIKERT, **changes: object) -> dict[str, object]:
    """Return what a browser sends for the form of a template."""
    form = StudyForm.of(Setup("pilot", make_or_get(), load_definition(name)))
    values = dict(form.values.lists())
    values |= {"checks.sent": ["1"], "redundancy": ["2"], "annotators": ["3"]}
    values |= {"do": ["create"]}
    values |= {key.replace("__", "."): value for key, value in changes.items()}
    return {key: value for key, value in values.items() if value is not None}


def make_or_get() -> Benchmark:
    return Benchmark.objects.filter(slug="woods").first() or make_benchmark()


def post(client: Client, data: dict, address: str = "/setup/woods/", **headers):
    return client.post(address, data, headers=headers)


def problems(response) -> list[str]:
    text = response.content.decode()
    box = re.search(r'id="problems".*?</div>', text, re.S)
    return re.findall(r"<li>(.*?)</li>", box[0], re.S) if box else []


# Form and file are equivalent


# Versions and texts that look like numbers, which the form leaves unchanged.
POINTS_AT_THE_END = """
title: Pilot v2.0
kind: choice
consent: {version: "1.0", text: We use tool 3.0}
instructions: Compare with version 1.0
questions: [{key: a, title: Is it as good as 1.0}]
"""


@pytest.mark.parametrize(
    "text", [FULL_PAIRS, FULL_LIKERT, POINTS_AT_THE_END, *template_names()]
)
def test_definition_survives_form(text):
    definition = (
        load_definition(text)
        if text in template_names()
        else read_definition(text, file="full.yaml", name="full")
    )
    again = write_data(to_data(to_values(definition), []))
    assert read_definition(again, file="form.yaml", name=definition.name) == definition


@pytest.mark.parametrize(
    "name",
    [
        name if name == LIKERT else pytest.param(name, marks=pytest.mark.slow)
        for name in template_names()
    ],
)
def test_template_makes_same_study_in_form_and_by_command(
    manager, woods, name, tmp_path
):
    response = post(manager, filled(name, annotators=["2"]))
    assert response.status_code == 302, problems(response)
    study = Study.objects.get(slug="pilot")
    assert study.state == "draft"
    assert study.template == name
    assert study.members.get().role == "manager"
    path = tmp_path / f"{name}.yaml"
    path.write_text(study.definition)
    call_command("plan_study", "same", benchmark="woods", file=path, annotators=2)
    same = Study.objects.get(slug="same")
    assert same.definition == study.definition
    rows = (
        "unit__output_a",
        "unit__output_b",
        "annotator__name",
        "session",
        "position",
        "round",
        "a_is_left",
    )
    assert list(study.slots.order_by("pk").values_list(*rows)) == list(
        same.slots.order_by("pk").values_list(*rows)
    )
    assert not broken_promises(study)


def test_file_can_be_uploaded_or_pasted_and_errors_name_the_line(manager, woods):
    good = SimpleUploadedFile("mine.yaml", FULL_PAIRS.encode())
    page = manager.post("/setup/", {"benchmark": "woods", "upload": good})
    assert 'value="Everything"' in page.content.decode()
    page = manager.post("/setup/", {"benchmark": "woods", "text": FULL_LIKERT})
    assert page.status_code == 200
    for bad, message in (
        (b"title: x\nkind: stars", "bad.yaml:2"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"a: " + b"x" * 300_000, "too large"),
    ):
        upload = SimpleUploadedFile("bad.yaml", bad)
        page = manager.post("/setup/", {"benchmark": "woods", "upload": upload})
        assert page.status_code == 422
        assert message in page.content.decode()
    assert not Study.objects.exists()


@pytest.mark.parametrize("name", template_names())
def test_values_of_several_lines_have_fields_of_several_lines(woods, name):
    """Browsers drop line breaks in the value of an `input`."""
    form = StudyForm.of(Setup("pilot", woods, load_definition(name)))
    plain = [field for field in form.fields.values() if field.kind == "text"]
    assert [field.name for field in plain if "\n" in field.value] == []


def test_template_opens_form(manager, woods):
    assert "ViStoryBench user study" in manager.get("/setup/").content.decode()
    page = manager.post(
        "/setup/", {"benchmark": "woods", "template": LIKERT}, follow=True
    )
    text = page.content.decode()
    assert 'name="questions.2.anchors.4.zh"' in text
    assert manager.get("/setup/woods/").status_code == 302
    wrong = manager.post("/setup/", {"benchmark": "woods", "template": "../x"})
    assert wrong.status_code == 422


# Problems appear at their fields


def test_problem_appears_at_its_field(manager, woods, subtests):
    for changes, field, message in [
        ({"annotators": ["1"]}, "id_annotators", "Nearest possible"),
        (
            {"redundancy": ["999999999"], "assignment": ["open"]},
            "id_redundancy",
            "at most 1,000,000",
        ),
        ({"questions__1__key": ["aesthetics"]}, "id_questions-2-key", "used twice"),
        ({"training__units": ["3"]}, "id_training-units", "write a list"),
        (
            {"rules__kind": ["own"], "rules__own": ["- {key: a}"]},
            "id_rules-own",
            "signal",
        ),
        ({"all_method": None, "method": ["Nobody"]}, "id_method", "No output"),
        (
            {"languages__en": ["2"]},
            "id_annotators-en",
            "Enter the number of annotators",
        ),
        ({"assignment": ["open"], "rounds": ["2"]}, "id_rounds", "planned assignment"),
    ]:
        with subtests.test(field):
            names = [q.key for q in load_definition(LIKERT).questions]
            if changes.get("questions__1__key") == ["aesthetics"]:
                changes = {"questions__1__key": [names[2]]}
            page = post(manager, filled(**changes))
            assert page.status_code == 422
            assert any(
                f"#{field}" in one and message in one for one in problems(page)
            ), problems(page)
            text = page.content.decode()
            at_field = re.search(rf'id="{field}-error">([^<]*)', text)
            assert message in at_field[1]
            assert not Study.objects.exists()


@pytest.mark.slow
def test_empty_web_address_name_is_made_from_the_title(manager, woods):
    titles = ["Faces & hands"], ["Faces & hands"], ["故事"]
    for title in titles:
        assert post(manager, filled(slug=[""], title=title)).status_code == 302
    slugs = Study.objects.order_by("pk").values_list("slug", flat=True)
    assert list(slugs) == ["faces-hands", "faces-hands-2", "study"]


def test_preview_ignores_goals_that_one_story_cannot_reach(manager, woods):
    """The preview plans one story of one method."""
    page = post(manager, filled(do=["preview"], goals__top=["1"]))
    assert page.status_code == 200
    assert "annotator" in page.text


def test_worker_draws_many_degraded_copies(manager, woods, monkeypatch):
    monkeypatch.setattr(planning, "MOST_DRAWN_AT_ONCE", 0)
    assert "/setup/plans/" in post(manager, filled()).url


def test_form_reports_all_problems_at_their_fields(manager, woods):
    wrong = {
        "slug": "a b",
        "annotators": "",
        "redundancy": "many",
        "session_size": "0",
        "questions.0.key": "a b",
        "questions.1.scale.1": "x",
        "training.units": "[unclosed",
        "checks.share": "7",
        "checks.per_session": "x",
    }
    page = post(manager, filled(all_method=None) | wrong)
    text = page.content.decode()
    named = re.findall(r'"#id_([^"]*)"', " ".join(problems(page)))
    expected = {name.replace(".", "-") for name in wrong} - {"questions-1-scale-1"}
    assert sorted(named) == sorted(expected | {"questions-1-scale-0", "method"})
    for name in named:
        assert re.search(rf'id="id_{name}-error">([^<]+)', text), name
    assert 'id="problems" tabindex="-1" autofocus' in text


def test_form_has_no_training_without_copies_and_units(manager, woods):
    sent = filled(training__twins=[""], training__pass_mark=["0.9"])
    assert post(manager, sent).status_code == 302
    study = Study.objects.get()
    assert study.training == {}
    assert not study.units.filter(purpose="training").exists()


def as_file(text: str, **more: str) -> dict[str, str]:
    """Return what a browser sends for a study that is edited as a file."""
    chosen = {"all_method": "1", "all_story": "1", "annotators": "3", "do": "create"}
    return {"slug": "pilot", "mode": "file", "file": text} | chosen | more


def test_file_reports_all_errors_with_lines(manager, woods):
    file = "kind: likert\nredundancy: 0\nscale: [4, 0]\nquestions: [{key: a}]\nx: 1"
    text = " ".join(problems(post(manager, as_file(file))))
    assert [f"Line {n}:" in text for n in range(1, 6)] == [0, 1, 1, 0, 1]
    page = manager.post("/setup/", {"benchmark": "woods", "text": file})
    for line in (2, 3, 5):
        assert f"Pasted text:{line}:" in page.content.decode()


def test_file_with_other_languages_needs_numbers_of_their_annotators(manager, woods):
    file = "kind: likert\nscale: [0, 4]\nquestions: [{key: a}]\n"
    file += "languages: {de: 1, fr: 1}\n"
    page = post(manager, as_file(file))
    for code in ("de", "fr"):
        assert f'name="annotators.{code}"' in page.content.decode()
    assert len(problems(page)) == 2
    people = {"annotators.de": "2", "annotators.fr": "2"}
    assert post(manager, as_file(file, **people)).status_code == 302


@pytest.mark.slow
def test_taken_name_is_refused(manager, woods):
    post(manager, filled())
    page = post(manager, filled())
    assert "already" in problems(page)[0]


@pytest.mark.slow
def test_wrong_pairs_are_reported(manager, woods, subtests):
    for changes, field, message in [
        (
            {"pairs__kind": ["chosen"], "pairs__chosen": ["Alder"]},
            "id_pairs-chosen",
            "2 methods",
        ),
        (
            {"pairs__kind": ["chosen"], "pairs__chosen": ["Alder | Nobody"]},
            "id_pairs-kind",
            "Nobody",
        ),
        (
            {"pairs__kind": ["cells"], "pairs__number": ["2"], "pairs__by": ["role"]},
            "id_pairs-by",
            "no tag",
        ),
        ({"adaptive__on": ["1"]}, "id_adaptive-on", "assignment: open"),
    ]:
        with subtests.test(field):
            page = post(manager, filled(PAIRS, **changes))
            assert any(message in one for one in problems(page)), problems(page)


# The summary of the plan


def test_check_shows_cost_and_balance_without_storing(manager, woods):
    data = filled(do=["check"], slug=[""])
    page = post(manager, data, HX_Request="true")
    text = page.content.decode()
    assert "<form" not in text
    assert "annotator hours" in text
    assert "per question, 7 s (ratings). They include checks" in " ".join(text.split())
    assert "ratings per annotator" in text
    whole = post(manager, data).content.decode()
    assert "annotator hours" in whole
    assert "<form" in whole
    assert not Study.objects.exists()
    impossible = post(manager, data | {"redundancy": ["9"]}, HX_Request="true")
    assert 'data-field="id_annotators"' in impossible.content.decode()


# Questions without a script


def test_questions_can_be_added_moved_and_removed(manager, woods):
    def keys(page):
        return re.findall(
            r'id="id_questions-\d+-key"[^>]*value="(\w*)"', page.content.decode()
        )

    first = [q.key for q in load_definition(LIKERT).questions]
    assert keys(post(manager, filled(do=["add"]))) == [*first, ""]
    assert keys(post(manager, filled(do=["remove:0"]))) == first[1:]
    assert keys(post(manager, filled(do=["up:2"]))) == [first[0], first[2], first[1]]
    assert keys(post(manager, filled(do=["down:0"]))) == [first[1], first[0], first[2]]
    for odd in ("up:0", "down:9", "remove:x", "nonsense:1"):
        assert post(manager, filled(do=[odd])).status_code == 200


def test_file_and_form_contain_same_study(manager, woods):
    page = post(manager, filled(PAIRS, do=["file"], all_story=None, story=["01"]))
    text = page.content.decode()
    assert 'name="mode" value="file"' in text
    file = re.search(r'name="file".*?>\n(.*?)</textarea>', text, re.S)[1]
    sent = as_file(unescape(file), template=PAIRS, story="01")
    del sent["all_story"]
    back = post(manager, sent | {"do": "fields"}).content.decode()
    assert 'name="questions.4.text.zh"' in back
    assert re.search(r'name="story" value="01" checked', back)
    made = post(manager, sent | {"do": "create"})
    assert made.status_code == 302
    judged = Study.objects.get().units.filter(purpose="real")
    assert set(judged.values_list("story__key", flat=True)) == {"01"}
    wrong = post(manager, sent | {"file": "kind: x", "do": "fields", "slug": "b"})
    assert "Line 1" in problems(wrong)[0]


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 1])
def test_odd_values_cause_no_server_error(manager, woods, first):
    """Every field with two values of four, one in each run; actions take turns."""
    begun, actions = filled(), ("check", "file", "create")
    names = (
        "questions.0",
        "questions.0.scale",
        "questions.x.key",
        "pairs",
        "checks",
        "rules",
        "questions.0.anchors.x.en",
        "consent",
        "languages.",
        "questions.0.title",
        "questions.99999999999999999999.key",
        "questions.0.scale.0",
        "questions.0.scale.0.x",
        "questions.0.kind.x",
        "kind.x",
        "rules.kind.x",
        "pairs.kind.x",
        "title" + ".a" * 400,
    )
    for i, name in enumerate(names):
        values = ("", "x", "0", "9" * 5000)
        value, action = values[i % 2 :: 2][first], actions[(i + first) % 3]
        sent = begun | {"do": [action], "slug": [f"odd-{action}"], name: [value]}
        assert post(manager, sent).status_code in (200, 302, 422)


def test_yaml_fields_share_one_size_limit(manager, woods):
    rows = "[" + "a," * 50_000 + "]"
    long = {f"questions.{n}.stories": [rows] for n in range(4)}
    (problem,) = problems(post(manager, filled() | long | {"do": ["check"]}))[:1]
    assert "at most 256,000 characters in all YAML fields together" in problem


def test_question_with_huge_index_is_ignored(manager, woods):
    sent = filled() | {"do": ["check"], f"questions.{'9' * 5000}.key": ["x"]}
    coded = urlencode(sent, doseq=True)
    coding = "application/x-www-form-urlencoded"
    response = manager.post("/setup/woods/", coded, content_type=coding)
    assert response.status_code == 200


# The preview of the annotator's page


@pytest.mark.parametrize("name", [LIKERT, *slow(PAIRS)])
def test_preview_shows_annotator_page_without_storing(manager, woods, name, settings):
    originals = sorted((settings.MEDIA_ROOT / "original").rglob("*.png"))
    data = filled(name, do=["preview"], annotators=[""], slug=[""])
    text = post(manager, data).content.decode()
    assert 'id="annotator"' in text
    assert "Preview: nothing is stored" in text
    assert load_definition(name).questions[0].text["en"].replace("'", "&#x27;") in text
    for method in ("Alder", "Birch", "Cedar"):
        assert method not in text.split('id="annotator"')[1]
    pictures = re.findall(r'src="(/preview/[^"]+)"', text)
    assert pictures
    for address in pictures:
        assert manager.get(address)["Content-Type"] == "image/webp"
        assert eve().get(address).status_code == 404
        assert Client().get(address).status_code == 404
    chinese = post(manager, data | {"shown_in": "zh"}).content.decode()
    assert load_definition(name).questions[0].text["zh"] in chinese
    answer = re.search(r'data-save-url="([^"]+)"', text)[1]
    row = {"kind": "answer", "id": "a", "question": "a", "value": "1", "key": "k"}
    sent = {"rows": [row]}
    saved = manager.post(answer, sent, content_type="application/json")
    assert saved.json()["refused"] == {}
    submit = re.search(r'action="([^"]+submit/)"', text)[1]
    assert manager.post(submit).status_code == 204
    for model in (Study, Slot, Annotator, Event):
        assert not model.objects.exists()
    # Training material is not drawn either.
    assert sorted((settings.MEDIA_ROOT / "original").rglob("*.png")) == originals


@pytest.mark.slow
def test_preview_works_for_stored_study(manager, woods):
    post(manager, filled())
    page = manager.get("/studies/pilot/preview/?shown_in=zh").content.decode()
    assert 'lang="zh-hans"' in page
    assert Study.objects.count() == 1


# Editing, versions and the file


def test_draft_is_edited_under_same_name(manager, woods):
    post(manager, filled())
    study = Study.objects.get()
    researcher = User.objects.create_user("rob")
    StudyMember.objects.create(study=study, user=researcher, role="researcher")
    page = manager.get("/studies/pilot/edit/").content.decode()
    assert re.search(r'name="annotators" value="3"', page)
    sent = filled(redundancy=["3"], title=["Better"], slug=["other"])
    response = post(manager, sent, "/studies/pilot/edit/")
    assert response.url == reverse("study-detail", args=["pilot"])
    study = Study.objects.get()
    assert (study.slug, study.title, study.redundancy) == ("pilot", "Better", 3)
    assert {m.user.username for m in study.members.all()} == {"mary", "rob"}
    assert study.events.filter(kind="study edited").count() == 1
    assert not broken_promises(study)


@pytest.mark.slow
def test_presentation_is_stored_and_edited(manager, woods):
    chosen = {"must_watch": None, "must_see": ["0.5"]}
    switched = ["overview", "comments", "shot_comments", "shuffle_questions"]
    chosen |= {key: ["1"] for key in switched}
    post(manager, filled(**{f"presentation__{k}": v for k, v in chosen.items()}))
    study = Study.objects.get()
    assert study.presentation == {
        "same_size": True,
        "overview": True,
        "must_watch": False,
        "must_see": 0.5,
        "comments": True,
        "shot_comments": True,
        "shuffle_questions": True,
        "skip_share": 0.25,
    }
    page = manager.get("/studies/pilot/settings/").content.decode()
    assert "Each picture must be on screen for 0.5 s before answers count" in page
    form = manager.get("/studies/pilot/edit/").content.decode()
    ticked = re.findall(r'name="presentation\.(\w+)" value="1"[^>]* checked', form)
    assert ticked == ["same_size", *switched]
    assert re.search(r'name="presentation\.must_see" value="0\.5"', form)
    nothing = {f"presentation__{key}": None for key in study.presentation}
    post(manager, filled(**nothing), "/studies/pilot/edit/")
    left = Study.objects.get().presentation
    assert left.pop("skip_share") == 0.25, "empty: as usual"
    assert not any(left.values())


@pytest.mark.slow
def test_failed_edit_keeps_draft(manager, woods):
    post(manager, filled())
    before = Study.objects.get()
    page = post(manager, filled(annotators=["1"]), "/studies/pilot/edit/")
    assert page.status_code == 422
    assert Study.objects.get().pk == before.pk
    assert Slot.objects.count() == before.slots.count() > 0


@pytest.mark.slow
def test_draft_is_not_overwritten_when_saved_during_drawing(
    manager, woods, monkeypatch
):
    """Drawing takes minutes, during which another manager may save the draft."""
    post(manager, filled())
    draw = planning.with_twins

    def meanwhile(draft):
        monkeypatch.setattr(planning, "with_twins", draw)
        post(manager, filled(title=["First"]), "/studies/pilot/edit/")
        return draw(draft)

    monkeypatch.setattr(planning, "with_twins", meanwhile)
    page = post(manager, filled(title=["Second"]), "/studies/pilot/edit/")
    assert page.status_code == 422
    assert "saved this draft" in problems(page)[0]
    assert Study.objects.get().title == "First"


@pytest.mark.django_db(transaction=True)
def test_name_goes_to_one_of_two_concurrent_studies(monkeypatch):
    benchmark = make_benchmark()
    definition = read_definition(SMALL, file="small.yaml", name="small")
    check, both = planning.check_slug, Barrier(2)

    def together(slug):
        check(slug)
        with suppress(BrokenBarrierError):
            both.wait(timeout=1)

    def plan(_number):
        try:
            return plan_study(
                definition, benchmark=benchmark, slug="pilot", annotators=4
            ).slug
        except PlanningError as error:
            return error.field
        finally:
            connection.close()

    monkeypatch.setattr(planning, "check_slug", together)
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(plan, range(2))) == ["pilot", "slug"]


@pytest.mark.parametrize("met", ["answered", *slow("link", "launched", "invited")])
def test_study_cannot_be_edited_when_annotators_may_have_seen_it(manager, woods, met):
    post(manager, filled())
    study = Study.objects.get()
    if met == "launched":
        lifecycle.launch(study)
    elif met == "invited":
        inviting.invite(study, count=1)
    elif met == "link":
        study.join_links.create(most=1)
    else:
        lifecycle.launch(study)
        inviting.invite(study)
        answer_everything(study)
    for send in (manager.get, lambda a, **k: post(manager, filled(), a)):
        response = send("/studies/pilot/edit/")
        assert response.url == "/studies/pilot/"
    assert Study.objects.get().pk == study.pk
    text = manager.get("/studies/pilot/settings/").content.decode()
    assert "Use “Copy and edit” instead" in text
    assert "/studies/pilot/edit/" not in text.split('class="notice')[0]
    page = manager.get("/studies/pilot/new-version/").content.decode()
    assert 'value="pilot-2"' in page
    made = post(manager, filled(slug=["pilot-2"]), "/studies/pilot/new-version/")
    assert made.url == "/studies/pilot-2/"
    assert Study.objects.get(slug="pilot-2").previous_version == study


def test_version_names_are_numbered(woods):
    make_study(slug="pilot", benchmark=woods)
    make_study(slug="pilot-2", benchmark=woods)
    assert next_slug("pilot") == "pilot-3"
    assert next_slug("x" * 80) == "x" * 78 + "-2"


@pytest.mark.slow
def test_languages_return_to_form(manager, woods):
    sent = filled(
        languages__en=["1"],
        languages__zh=["1"],
        annotators__en=["2"],
        annotators__zh=["2"],
    )
    response = post(manager, sent)
    assert response.status_code == 302, problems(response)
    assert setup_of(Study.objects.get()).annotators == {"en": 2, "zh": 2}


@pytest.mark.slow
def test_study_file_can_be_downloaded(manager, woods):
    post(manager, filled())
    response = manager.get("/studies/pilot/study.yaml")
    assert "attachment" in response["Content-Disposition"]
    study = Study.objects.get()
    read = read_definition(response.content.decode(), file="x", name=study.template)
    assert write_definition(read) == study.definition


def test_imported_study_has_no_file_or_version(woods):
    study = make_study(benchmark=woods)
    client = alice(study)
    for name in ("study-file", "study-version", "study-preview"):
        assert client.get(reverse(name, args=[study.slug])).status_code == 404


# Permissions


def test_versions_link_to_each_other_when_visible(manager, woods):
    first = make_study(slug="pilot", benchmark=woods)
    second = make_study(slug="pilot-2", benchmark=woods)
    Study.objects.filter(pk=second.pk).update(previous_version=first)
    assert (
        '<a href="/studies/pilot-2/">'
        in manager.get("/studies/pilot/settings/").content.decode()
    )
    assert (
        '<a href="/studies/pilot/">'
        in manager.get("/studies/pilot-2/settings/").content.decode()
    )
    assert "pilot-2" not in rob(first).get("/studies/pilot/settings/").content.decode()


def test_launched_study_offers_extension_instead_of_edit(manager, woods):
    study = plan_study(
        read_definition(SMALL, file="s.yaml", name="s"),
        benchmark=woods,
        slug="small",
        annotators=2,
        redundancy=2,
    )
    button, edit = 'href="/studies/small/extend/"', 'href="/studies/small/edit/"'
    page = alice(study).get("/studies/small/settings/").content.decode()
    assert edit in page
    assert button not in page
    lifecycle.launch(study)
    page = alice(study).get("/studies/small/settings/").content.decode()
    assert edit not in page
    assert button in page
    assert button not in rob(study).get("/studies/small/settings/").content.decode()


def test_questions_use_language_of_page(manager, woods):
    page = manager.get(
        f"/setup/{woods.slug}/?template=vistorybench-user-study",
        headers={"accept-language": "zh-hans"},
    ).content.decode()
    assert "<strong>1. 角色识别一致性</strong>" in page


def test_new_version_contains_additions_without_withdrawals():
    definition = read_definition(
        SMALL + "stories: {number: 2}\n", file="s.yaml", name="s"
    )
    study = plan_study(
        definition,
        benchmark=make_benchmark(stories=4),
        slug="small",
        annotators=2,
        methods=["Alder", "Birch"],
        redundancy=2,
    )
    drawn = set(study.units.values_list("story__key", flat=True))
    assert setup_of(study).methods == ("Alder", "Birch")
    assert setup_of(study).definition.stories.number == 2
    more = min({"01", "02", "03", "04"} - drawn)
    extend(study, methods=["Cedar"], stories=[more])
    withdraw_units(study, methods=["Birch"])
    setup = setup_of(study)
    assert setup.methods == ("Alder", "Cedar")
    assert setup.stories == tuple(sorted({*drawn, more}))
    assert setup.definition.stories is None
    study.refresh_from_db()
    stored = read_definition(study.definition, file="s.yaml", name="s")
    assert stored.stories is None, "three stories are no sample of two"


@pytest.mark.slow
def test_file_of_changed_study_plans_current_state(manager, woods, tmp_path):
    """A comment in the file names methods and stories, which the file lacks."""
    text = SMALL + "subset: {redundancy: 3, stories: {number: 1}}\n"
    study = plan_study(
        read_definition(text, file="s.yaml", name="s"),
        benchmark=woods,
        slug="small",
        annotators=4,
        methods=["Alder", "Birch"],
        stories=["01"],
        redundancy=2,
    )
    extend(study, methods=["Cedar"], stories=["02"], redundancy=3, annotators=1)
    withdraw_units(study, methods=["Birch"])
    sent = manager.get("/studies/small/study.yaml").content.decode()
    first, _line, rest = sent.partition("\n")
    assert "subset" not in rest, "all units are judged three times now"
    path = tmp_path / "small.yaml"
    path.write_text(sent)
    command = first.split("plumbline ")[1].replace("NAME", "again")
    words = shlex.split(command.replace("small.yaml", str(path)))
    call_command(NAMES[words[0]], *words[1:])

    def judged(row):
        units = row.units.filter(purpose="real").exclude(redundancy=0)
        shown = ("output_a", "output_b", "redundancy")
        return sorted(map(str, units.values_list(*shown)))

    again = Study.objects.get(slug="again")
    assert judged(again) == judged(study)
    assert again.annotators.count() == 5


@pytest.mark.slow
def test_long_scale_shows_some_values_and_accepts_another(manager, woods):
    ends = {"questions__0__scale__0": ["0"], "questions__0__scale__1": ["100"]}
    sent = filled(**ends, questions__0__anchor=["30"], do=["show:0"])
    page = post(manager, sent).content.decode()
    shown = re.findall(r'name="questions\.0\.anchors\.(\d+)\.en"', page)
    assert shown == ["0", "1", "2", "3", "4", "30", "50", "100"], "those with words"
    assert 'name="questions.0.anchor"' in page
    words = {"questions__0__anchors__30__en": ["poor"]}
    assert post(manager, filled(**ends, **words)).status_code == 302
    question = Study.objects.get().questions.first()
    assert question.anchors["30"] == {"en": "poor"}
