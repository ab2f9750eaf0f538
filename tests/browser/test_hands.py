"""All kinds and media, answered by every input method.

Each case answers two stories, pairs or checklists and reads the stored answers.
Consecutive questions have different answers, and none is a form's default.
"""

import re
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.urls import reverse
from playwright.sync_api import expect

from annotate.audit_log import verifying
from annotate.kinds.registry import KINDS, kind_of
from annotate.models import CHECKS, Invitation, Purpose, Rating, Slot, Study
from annotate.responses.writing import current_answers
from annotate.studies.definition import TEMPLATES
from annotate.studies.study_file import load_definition
from tests.browser.hands import HANDS, NoScript
from tests.browser.reels import make_same_reel
from tests.cases import named_cases
from tests.clips import write_clip
from tests.factories import make_benchmark, make_study
from tests.working import LIKERT, join, make_planned

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# The part of a page that a kind or medium needs.
ANSWERING = {
    "likert": "question",
    "choice": "question",
    "checklist": "checklist",
    "ranking": "ranking",
    "text": "text",
    "marks": "marks",
}
SHOWING = {"pictures": "shots", "videos": "player"}
CLIP = {"frames": 6, "rate": 12}
# The button that finishes a shot is gone, possibly with its page.
ALL_SHOTS_DONE = """(here) => location.href !== here
  || !document.querySelector("#shot-done").checkVisibility()"""
TRAINING = """
session_size: 2
training:
  pass_mark: 1
  units:
    - {story: "01", method: Alder, expected: {character: 3, beauty: 1}}
    - {story: "02", method: Alder, expected: {character: 0, beauty: 4}}
"""
# A study needs another question besides free text.
WORDS = """
kind: likert
scale: [0, 4]
questions:
  - {key: character, title: Character, text: "Is the fox the same?"}
  - {key: why, kind: text, title: Why, text: "What did you notice?", required: true}
"""
FAULTS = """
kind: likert
scale: [0, 4]
presentation: {same_size: false}
questions:
  - {key: character, title: Character, text: "Is the fox the same?"}
  - {key: where, kind: marks, title: Faults, text: "Where?", labels: {hands: Odd hands}}
"""
# The answers to the first and the second unit.
GIVEN = {
    "likert": [
        {"character": "3", "aesthetics": "1"},
        {"character": "0", "aesthetics": "4"},
    ],
    "choice": [
        {"character": "left", "aesthetics": "right"},
        {"character": "tie", "aesthetics": "left"},
    ],
    "checklist": [
        {1: ["pan|text", "people|video"], 2: ["animals|text"]},
        {1: ["animals|video"], 2: []},
    ],
    "ranking": [
        {"character": "2>3>1", "aesthetics": "3>1>2"},
        {"character": "1>3>2", "aesthetics": "2>1>3"},
    ],
    "text": [
        {"character": "3", "why": "Two hats, 1 fox"},
        {"character": "0", "why": "Too dark."},
    ],
    "marks": [
        {"character": "3", "where": "1 0.5 0.5 hands"},
        {"character": "0", "where": "nothing"},
    ],
    "slider": [
        {"character": "47", "aesthetics": "52"},
        {"character": "55", "aesthetics": "46"},
    ],
    "training": [{"character": "3", "beauty": "1"}, {"character": "0", "beauty": "4"}],
}


@dataclass(frozen=True)
class Row:
    """A protocol with its medium."""

    kind: str
    medium: str
    purpose: str = "real"
    is_slider: bool = False

    @property
    def given(self) -> list:
        if self.is_slider:
            return GIVEN["slider"]
        return GIVEN["training" if self.purpose == "training" else self.kind]


ROWS = {
    "likert pictures": Row("likert", "pictures"),
    "likert video": Row("likert", "videos"),
    "slider pictures": Row("likert", "pictures", is_slider=True),
    "slider video": Row("likert", "videos", is_slider=True),
    "pair of pictures": Row("choice", "pictures"),
    "pair of videos": Row("choice", "videos"),
    "checklist of pictures": Row("checklist", "pictures"),
    "checklist of video": Row("checklist", "videos"),
    "ranking of pictures": Row("ranking", "pictures"),
    "ranking of videos": Row("ranking", "videos"),
    "words on pictures": Row("text", "pictures"),
    "words on videos": Row("text", "videos"),
    "marks on pictures": Row("marks", "pictures"),
    "training round": Row("likert", "pictures", "training"),
}


@pytest.fixture(scope="module")
def clip(tmp_path_factory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", **CLIP)


@pytest.fixture(scope="module")
def page_of(chromium):
    """Return a page per input method, opened once because opening is slow."""
    with ExitStack() as opened:

        @cache
        def page(hand):
            found = opened.enter_context(hand.page(chromium))
            found.on("dialog", lambda dialog: dialog.accept())
            return found

        yield page


@pytest.fixture
def page(page_of, hand):
    """Return an input method's page, which sends no requests after the test."""
    yield page_of(hand)
    page_of(hand).goto("about:blank")


def begin(row: Row, clip: Path) -> tuple[Study, str]:
    """Plan two units for somebody who has read the instructions; return their link."""
    methods = ["Alder", "Birch", "Cedar"][: KINDS[row.kind].least]
    if row.medium == "videos":
        benchmark = make_same_reel(clip, CLIP["frames"] / CLIP["rate"], methods)
    else:
        benchmark = make_benchmark(stories=2, shots=2, methods=methods)
    if row.purpose == "training" or row.kind in ("text", "marks"):
        own = {"text": WORDS, "marks": FAULTS}
        text = own.get(row.kind, LIKERT + TRAINING)
        study = make_planned(text, benchmark=benchmark, annotators=1, redundancy=1)
    else:
        study = make_study(kind=row.kind, benchmark=benchmark, annotators=1)
    if row.is_slider:
        study.questions.update(scale_max=100)
    person = join(study, "A01")
    token = Invitation.objects.get(annotator=person).token
    return study, reverse("rate-pause", args=[token])


# Each kind of question runs with one input method; `make test-all` runs all.
QUICK = {
    "likert pictures by finger",
    "likert pictures by no script",
    "slider video by digits",
    "pair of pictures by tab",
    "pair of videos by mouse",
    "checklist of pictures by digits",
    "ranking of videos by finger",
    "words on pictures by no script",
    "marks on pictures by digits",
    "training round by tab",
}


@pytest.mark.parametrize(
    ("row", "hand"),
    named_cases(
        {
            f"{row} by {hand}": (ROWS[row], HANDS[hand])
            for row, hand in product(ROWS, HANDS)
        },
        QUICK,
    ),
)
def test_stories_are_answered_by_every_input(page, live_server, clip, row, hand):
    study, link = begin(row, clip)
    page.goto(live_server.url + link)
    hand.go_on(page)
    for given in row.given:
        page.wait_for_url("**/story/**")
        answer_unit(page, hand, row, given)
    page.wait_for_url("**/story/**" if row.purpose == "training" else "**/done/")
    assert answers(study, row) == row.given
    assert verifying.problems(study) == []
    if row.purpose == "training":
        assert study.annotators.get().trained_at is not None


@pytest.mark.page_errors("422 .*/submit/")
def test_problem_is_in_view_without_scripts(chromium, live_server):
    study = make_study(benchmark=make_benchmark(shots=7), annotators=1)
    token = Invitation.objects.get(annotator=join(study, "A01")).token
    size = {"width": 390, "height": 844}
    with NoScript().page(chromium, viewport=size) as page:
        page.goto(live_server.url + reverse("rate-pause", args=[token]))
        page.locator("main form button.primary").click()
        page.locator("#submit").click()
        expect(page.locator("#problem")).to_be_in_viewport()


def answer_unit(page, hand, row: Row, given: dict) -> None:
    """Answer all questions of a unit and submit it."""
    has_scripts = hand.context.get("java_script_enabled", True)
    if has_scripts:
        page.wait_for_selector("html.ready")
    expect(page.locator(f".{SHOWING[row.medium]}")).to_be_visible()
    if row.medium == "videos" and has_scripts:
        expect(page.locator(".to-watch")).to_have_text(re.compile("^You have watched"))
    here = page.url
    if row.kind == "checklist":
        for shot, boxes in given.items():
            hand.look_at(page, shot)
            for box in boxes:
                hand.tick(page, shot, box)
            hand.finish_shot(page, shot)
        if has_scripts:
            page.wait_for_function(ALL_SHOTS_DONE, arg=here)
    else:
        for question, value in given.items():
            if row.is_slider:
                hand.slide(page, question, value)
                if question != [*given][-1]:
                    hand.turn_to_next(page)
                continue
            answer = hand.rank if row.kind == "ranking" else hand.choose
            if page.locator(f"textarea[name='q:{question}']").count():
                is_marked = row.kind == "marks" and has_scripts
                answer = hand.point if is_marked else hand.write
            answer(page, question, value)
    if page.url == here:
        hand.send(page)
    page.wait_for_url(lambda url: url != here)
    if row.purpose == "training":
        page.wait_for_url("**/feedback/")
        hand.go_on(page)
        page.wait_for_url(lambda url: not url.endswith("/feedback/"))


def answers(study: Study, row: Row) -> list[dict]:
    """Return the stored answers of each submitted slot in the words of the page."""
    slots = study.slots.filter(state=Slot.State.SUBMITTED, purpose=row.purpose)
    return [of_slot(slot) for slot in slots.order_by("position")]


def of_slot(slot: Slot) -> dict:
    if slot.study.questions.filter(kind="checklist").exists():
        rows = Rating.objects.filter(slot=slot, is_current=True)
        shots = slot.unit.story.shots.values_list("number", flat=True)
        assert rows.count() == len(shots) * slot.study.questions.count()
        ticked = rows.filter(value=1).order_by("question__ordinal")
        return {
            shot: list(ticked.filter(shot=shot).values_list("question__key", flat=True))
            for shot in shots
        }
    current = current_answers(slot, slot.annotator)
    shown = {
        question.key: kind_of(question).as_displayed(slot, current[question.pk].value)
        for question in slot.questions
    }
    # The middle of a picture is between two pixels.
    return {key: re.sub(r"0\.\d+", _rounded, value) for key, value in shown.items()}


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}"


# The protocols with their medium and number of shots.
PROTOCOLS = {
    "vistorybench-user-study": ("likert", "pictures", 3),
    "vistorybench-crowd": ("likert", "pictures", 3),
    "envision-expert": ("likert", "pictures", 4),
    "oneig-ratings": ("likert", "pictures", 1),
    "vistar-pairwise": ("choice", "pictures", 1),
    "storybench-side-by-side": ("choice", "videos", 2),
    "storybench-diagnostics": ("checklist", "videos", 2),
}


def plan_protocol(name: str, clip: Path) -> Study:
    """Plan two units of a protocol as it is, but without training and checks."""
    kind, medium, shots = PROTOCOLS[name]
    methods = ["Alder", "Birch"][: KINDS[kind].least]
    if medium == "videos":
        benchmark = make_same_reel(clip, CLIP["frames"] / CLIP["rate"], methods)
    else:
        benchmark = make_benchmark(stories=2, shots=shots, methods=methods)
    benchmark.stories.update(tags={"angle": "LI"})
    text = yaml.safe_load((TEMPLATES / f"{name}.yaml").read_text("utf-8"))
    for key in ("training", "checks", "rules"):
        text.pop(key, None)
    text |= {"redundancy": 1, "rounds": 1, "session_size": 2}
    return make_planned(yaml.safe_dump(text), benchmark=benchmark, annotators=1)


def invented(slot: Slot, number: int) -> dict:
    """Return answers to all questions of a slot; neighbours have different ones."""
    questions = list(slot.questions)
    if kind_of(questions[0]).of_shots:
        first, last = questions[0].key, questions[-1].key
        return {1: [first, last], 2: [first] if number > 1 else [last]}
    answers = {}
    for place, question in enumerate(questions, start=number):
        if question.kind == "choice":
            answers[question.key] = ("left", "tie", "right")[place % 3]
        else:
            span = question.scale_max - question.scale_min + 1
            answers[question.key] = str(question.scale_min + place % span)
    return answers


def see_all_shots(page) -> None:
    """Turn through the shots that have to be seen before answers are taken."""
    for _ in range(10):
        if not page.locator(".unseen").count():
            return
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(600)


@pytest.mark.slow
@pytest.mark.parametrize("hand", ["mouse", "finger", "digits", "tab"])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_protocols_are_answered_by_every_hand(chromium, live_server, clip, name, hand):
    study = plan_protocol(name, clip)
    kind, medium, _shots = PROTOCOLS[name]
    row, hand = Row(kind, medium), HANDS[hand]
    person = join(study, "" if study.is_open else "A01")
    given = []
    with hand.page(chromium) as page:
        link = reverse("rate-pause", args=[person.invitation.token])
        page.goto(live_server.url + link)
        hand.go_on(page)
        for number in (1, 2):
            page.wait_for_url("**/story/**")
            page.wait_for_selector("html.ready")
            code = page.locator("#annotator").get_attribute("data-code")
            given.append(invented(Slot.objects.get(code=code), number))
            see_all_shots(page)
            answer_unit(page, hand, row, given[-1])
        page.wait_for_url("**/done/")
    assert answers(study, row) == given
    assert verifying.problems(study) == []


def test_protocols_and_media_have_a_row():
    """New protocols and media need a row, too."""
    rows = ROWS.values()
    plain = {(row.kind, row.medium) for row in rows if row.purpose == "real"}
    assert plain == set(product(KINDS, SHOWING)) - {("marks", "videos")}
    assert {row.purpose for row in rows} == set(Purpose.values) - set(CHECKS)
    templates = [path.stem for path in TEMPLATES.glob("*.yaml")]
    assert set(templates) == set(PROTOCOLS)
    kinds = {kind.name for name in templates for kind in load_definition(name).kinds}
    assert kinds <= set(ANSWERING)
    folders = settings.TEMPLATES[0]["DIRS"]
    paths = [path for folder in folders for path in folder.glob("rate/*.html")]
    pages = [path.read_text("utf-8") for path in paths]
    named = set(re.findall(r'data-part="(\w+)"', "".join(pages)))
    said = {"looking", "comments"}  # which hold no answers
    assert named == {*ANSWERING.values(), *SHOWING.values()} | said
