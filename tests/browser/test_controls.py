"""All controls of annotators' pages, used by mouse and by touch.

Controls are found on pages and in templates (`marking`). The test fails for a control
that is never used or never shown.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.conf import settings as project
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from annotate.assignment import choosing
from annotate.kinds.marks.kind import MarksAnswer
from annotate.kinds.text.kind import TextAnswer
from annotate.models import (
    Annotator,
    Fault,
    Flag,
    Ranking,
    Rating,
    ShotComment,
    Skip,
    Slot,
    StoryComment,
    Study,
)
from annotate.people import joining
from annotate.people.visits import Arrival
from annotate.personal_data import erasing as withdrawal
from annotate.responses import leasing
from evalcore.models import Character
from tests.browser import marking
from tests.browser.hands import MOUSE_OR_FINGER, Finger, Mouse
from tests.browser.reels import make_same_reel
from tests.browser.waiting import wait_until
from tests.cases import named_cases
from tests.clips import write_clip
from tests.factories import make_benchmark, make_study, picture_bytes, store_picture
from tests.working import LIKERT, always, join, make_planned, work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TEMPLATES = project.TEMPLATES[0]["DIRS"]
Seen = Callable[[Page], object]
TRAINING = """
session_size: 2
training:
  pass_mark: 0
  units:
    - {story: "01", method: Alder, expected: {character: 3}}
"""


@pytest.fixture(autouse=True)
def marked(settings):
    """Mark the controls in the templates."""
    (engine,) = settings.TEMPLATES
    options = engine["OPTIONS"] | {"loaders": marking.LOADERS}
    settings.TEMPLATES = [engine | {"APP_DIRS": False, "OPTIONS": options}]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """Return a clip of two seconds, long enough for a button press."""
    return write_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", frames=24, rate=12)


# Controls and their effects


def press(hand: Mouse, control: Locator) -> None:
    hand.press(control)


@dataclass
class Use:
    """A control, the check of its effect, and the way to use it."""

    control: str
    seen: Seen
    how: Callable[[Mouse, Locator], object] = press


def leads(address: str) -> Seen:
    return lambda page: page.wait_for_url(address)


def shows(*selectors: str) -> Seen:
    def seen(page):
        for selector in selectors:
            expect(page.locator(selector).first).to_be_visible()

    return seen


def has(selector: str, name: str, value: str) -> Seen:
    return lambda page: expect(page.locator(selector)).to_have_attribute(name, value)


def reads(selector: str, text: str) -> Seen:
    return lambda page: expect(page.locator(selector)).to_have_text(re.compile(text))


def checked(selector: str) -> Seen:
    return lambda page: expect(page.locator(selector)).to_be_checked()


def opened(selector: str) -> Use:
    """Open closed details."""
    return Use(f"{selector} > summary", has(selector, "open", ""))


def stored(rows, **fields) -> Seen:
    return lambda page: wait_until(page, rows.filter(**fields).exists, True)


def taken_back(rows, **fields) -> Seen:
    return lambda page: wait_until(page, rows.filter(**fields).exists, False)


def types(text: str) -> Callable[[Mouse, Locator], None]:
    """Focus a field, type, and leave it."""

    def how(hand, control):
        hand.press(control)
        control.page.keyboard.type(text)
        control.page.keyboard.press("Tab")

    return how


def replaces(text: str) -> Callable[[Mouse, Locator], None]:
    """Replace the content of a field."""

    def how(hand, control):
        hand.press(control)
        control.page.keyboard.press("Control+A")
        control.page.keyboard.type(text)
        control.page.keyboard.press("Tab")

    return how


def chooses(value: str) -> Callable[[Mouse, Locator], object]:
    return lambda _hand, control: control.select_option(value)


def at(across: float) -> Callable[[Mouse, Locator], None]:
    """Press a slider at a share of its length."""

    def how(hand, control):
        box = control.bounding_box()
        place = {"x": across * box["width"], "y": box["height"] / 2}
        hand.press(control, position=place)

    return how


def after(before: Callable[[Page], object]) -> Callable[[Mouse, Locator], None]:
    """Press after another action."""

    def how(hand, control):
        before(control.page)
        hand.press(control)

    return how


def grows_old(page: Page) -> None:
    page.evaluate("document.documentElement.classList.add('old')")


def comes_anew(page: Page) -> None:
    expect(page.locator("html.old")).to_have_count(0)


def if_shown(hand: Mouse, control: Locator) -> None:
    """Press a control if it is visible, as in narrow windows."""
    if control.is_visible():
        hand.press(control)


def turns_back(page: Page) -> None:
    """Show the previous question in a narrow window."""
    if page.locator("[data-turn='-1']").is_visible():
        page.click("[data-turn='-1']")


def closes(page: Page) -> None:
    page.keyboard.press("Escape")


MORE = Use(".more", shows("#more"), if_shown)
SKIP_LINK = Use(
    ".skip-link >> nth=0",
    leads("**/#main"),
    after(lambda page: page.keyboard.press("Tab")),
)
TO_QUESTIONS = Use(
    ".skip-link >> nth=1",
    leads("**/#answers"),
    after(lambda page: page.locator(".skip-link").nth(1).focus()),
)
TO_CHINESE = Use(".language [value=zh-hans]", has("html", "lang", "zh-hans"))
TO_ENGLISH = Use(".language [value=en]", has("html", "lang", "en"))


GIVEN = re.compile("given")


# Pages


@dataclass
class Seat:
    """A test site: browser page, server, clip, and unique name."""

    page: Page
    site: str
    clip: object
    name: str

    def open(self, person: Annotator, where: str = "entry", *args: str) -> None:
        link = reverse(f"rate-{where}", args=[person.invitation.token, *args])
        self.page.goto(self.site + link)

    def open_next(self, person: Annotator) -> Slot:
        """Open the next story."""
        slot = choosing.next_for(person).slot
        self.open(person, "slot", slot.code)
        return slot

    def study(self, kind="likert", *, videos=False, people=2, **kw) -> Study:
        """Create two stories by two methods, with every optional element."""
        methods = ["Alder", "Birch"]
        if videos:
            benchmark = make_same_reel(self.clip, 2, methods, slug=self.name)
        else:
            benchmark = make_benchmark(slug=self.name, methods=methods)
            for story in benchmark.stories.all():
                fox = Character.objects.create(story=story, key="c", names={"en": "F"})
                for n in (1, 2):
                    picture = store_picture(picture_bytes(f"fox {n}"))
                    fox.images.create(ordinal=n, media=picture)
        study = make_study(
            kind=kind,
            benchmark=benchmark,
            annotators=people,
            slug=self.name,
            presentation={
                "comments": True,
                "shot_comments": True,
                "must_watch": False,
            },
            **kw,
        )
        study.questions.update(help_texts={"en": "Look at the hat."})
        return study

    def open_study(self, redundancy=2) -> Study:
        """Create an open study with sessions of one story."""
        benchmark = make_benchmark(slug=self.name, methods=["Alder"])
        text = f"{LIKERT}\nassignment: open\nsession_size: 1\nredundancy: {redundancy}"
        return make_planned(text, benchmark=benchmark, slug=self.name)


def consent(seat: Seat) -> list[Use]:
    person = seat.study().annotators.first()
    seat.open(person)
    return [
        TO_CHINESE,
        TO_ENGLISH,
        Use("button[name=decline]", shows(".completion-code")),
        # The page of the consent text is that of people who declined now.
        Use("text=Read the consent text again", shows("text=I agree and continue")),
        Use("text=I agree and continue", leads("**/instructions/")),
    ]


def instructions(seat: Seat) -> list[Use]:
    person = seat.study().annotators.first()
    Annotator.objects.filter(pk=person.pk).update(consented_at=person.created_at)
    seat.open(person, "instructions")
    return [Use("main form button", leads("**/story/**"))]


def joining_by_a_link(seat: Seat) -> list[Use]:
    study = seat.open_study()
    Study.objects.filter(pk=study.pk).update(languages={"en": 1, "zh": 1})
    link = joining.make_link(study, most=5)
    seat.page.goto(seat.site + reverse("join", args=[link.token]))
    select = "main select"

    def choose(_hand, control):
        control.select_option("en")

    def choose_and_press(hand, control):
        control.page.select_option(select, "en")
        hand.press(control)

    return [
        Use(
            select,
            lambda page: expect(page.locator(select)).to_have_value("en"),
            choose,
        ),
        Use("main form button", leads("**/consent/"), choose_and_press),
        Use("main a.button", leads("**/consent/")),
    ]


def a_link_that_is_closed(seat: Seat) -> list[Use]:
    study = seat.open_study()
    link = joining.make_link(study, most=5)
    seat.page.goto(seat.site + reverse("join", args=[link.token]))
    seat.page.click("main form button")
    seat.page.wait_for_url("**/consent/")
    joining.close_link(link)
    seat.page.goto(seat.site + reverse("join", args=[link.token]))
    return [Use("main a.button", leads("**/consent/"))]


def asking_to_continue(seat: Seat) -> list[Use]:
    link = joining.make_link(seat.open_study(), most=5)
    joining.join(link, Arrival("5f3a"))
    address = reverse("join", args=[link.token], query={"PROLIFIC_PID": "5f3a"})
    seat.page.goto(seat.site + address)
    return [
        Use("button[name=ask]", shows(".completion-code")),
        Use("main a.button", shows(".completion-code")),
    ]


def handing_in_a_code(seat: Seat) -> list[Use]:
    study = seat.open_study()
    recruitment = {"platform": "prolific", "outcomes": {"completed": {"code": "C1"}}}
    Study.objects.filter(pk=study.pk).update(recruitment=recruitment)
    person = join(study)
    work(person, always("3"), most=1)
    Annotator.objects.filter(pk=person.pk).update(state="finished")
    seat.open(person, "done")
    button = "text=Return to Prolific"
    where = "https://app.prolific.com/submissions/complete?cc=C1"
    return [
        Use(button, has(button, "href", where), lambda _hand, control: control.focus())
    ]


def pause(seat: Seat) -> list[Use]:
    study = seat.open_study()
    person = join(study)
    work(person, always("3"), most=1)
    seat.open(person, "pause")
    return [
        Use("text=Back to the last story", leads("**/story/**")),
        Use("text=Continue", leads("**/story/**")),
        Use("text=Finish here", leads("**/done/")),
        Use("text=Your completion code", leads("**/done/")),
        Use("text=Withdraw from the study", leads("**/withdraw/")),
    ]


def withdrawing(seat: Seat) -> list[Use]:
    person = join(seat.study(), "A01")
    seat.open(person, "withdraw")
    work, answers, sure = "[value=work]", "[value=answers]", "[name=sure]"

    def both(page):
        page.check(work)
        page.check(sure)

    return [
        Use(work, checked(work)),
        Use(answers, checked(answers)),
        Use(sure, checked(sure)),
        Use("main .row a", leads("**/pause/")),
        Use("main .row button", reads("h1", "You have withdrawn"), after(both)),
    ]


def withdrawn(seat: Seat) -> list[Use]:
    person = join(seat.study(), "A01")
    withdrawal.withdraw(person, answers=False)
    seat.open(person)
    return [Use("main a", leads("**/withdraw/"))]


def copied(person: Annotator) -> Seen:
    """Paste the clipboard into a field and return it."""

    def seen(page: Page) -> None:
        person.refresh_from_db()
        expect(page.locator("[data-copied] + output")).to_have_text("Copied")
        page.evaluate("document.body.append(document.createElement('textarea'))")
        page.focus("textarea")
        page.keyboard.press("Control+V")
        expect(page.locator("textarea")).to_have_value(person.completion_code)
        page.evaluate("document.querySelector('textarea').remove()")

    return seen


def done(seat: Seat) -> list[Use]:
    study = seat.open_study()
    person = join(study)
    work(person, always("3"), most=1)
    Annotator.objects.filter(pk=person.pk).update(state="finished")
    seat.open(person, "done")
    return [
        Use("[data-copied]", copied(person)),
        Use("text=Back to the last story", leads("**/story/**")),
        Use("main form button", leads("**/story/**")),
    ]


def nothing_just_now(seat: Seat) -> list[Use]:
    study = seat.open_study(redundancy=1)
    ann, bob = join(study), join(study)
    work(ann, always("3"), most=1)
    for slot in study.slots.filter(annotator=None):
        leasing.take(slot, bob)
    seat.open(ann, "done")
    return [
        Use("main form button.primary", comes_anew, after(grows_old)),
        Use("button:has-text('Finish here')", shows(".completion-code")),
    ]


def training(seat: Seat) -> list[Use]:
    benchmark = make_benchmark(slug=seat.name)
    study = make_planned(
        LIKERT + TRAINING,
        benchmark=benchmark,
        slug=seat.name,
        annotators=1,
        redundancy=1,
    )
    person = join(study, "A01")
    (slot,) = work(person, always("3"), most=1)
    seat.open(person, "feedback", slot.code)
    return [
        Use("text=Look at the story again", leads(f"**/story/{slot.code}/")),
        Use("main form button", leads("**/story/**")),
    ]


def training_story_again(seat: Seat) -> list[Use]:
    training(seat)
    seat.page.click("text=Look at the story again")
    seat.page.wait_for_url("**/story/*/")
    return [Use("#submit", leads("**/pause/"))]


def warning(seat: Seat) -> list[Use]:
    person = join(seat.study(), "A01")
    Flag.objects.create(
        annotator=person,
        rule="x",
        n=3,
        text="x",
        signal="seconds_per_shot",
        action="warn",
    )
    seat.open(person, "warning")
    return [Use("main form button", leads("**/story/**"))]


def somebody_elses_story(seat: Seat) -> list[Use]:
    person = join(seat.study(), "A01")
    seat.open(person, "slot", "nobody")
    return [Use("main a.button", leads("**/pause/"))]


def story(seat: Seat) -> list[Use]:
    study = seat.study()
    person = join(study, "A01")
    work(person, always("2"), most=1)
    slot = seat.open_next(person)
    answers = Rating.objects.filter(slot=slot, is_current=True)
    comments = StoryComment.objects.filter(slot=slot)
    pressed = "aria-pressed"

    def is_silent(page):
        expect(page.locator("[data-setting=keysOff]")).to_be_checked()
        closes(page)
        page.keyboard.press("a")
        has("[data-look=all]", pressed, "false")(page)

    def talks_again(page):
        expect(page.locator("[data-setting=keysOff]")).not_to_be_checked()
        closes(page)
        page.keyboard.press("a")
        has("[data-look=all]", pressed, "true")(page)

    def goes_on(page):
        if not is_narrow:  # the question is answered, and the other one is shown
            page.click("[name='q:character'][value='3']")
        page.click("[name='q:aesthetics'][value='1']")
        stored(Slot.objects, annotator=person, position=3, state="leased")(page)

    is_narrow = seat.page.viewport_size["width"] < 700
    # On a phone, buttons turn the questions and open strip and characters.
    beside = [
        Use("[data-turn='1']", shows("[data-question=aesthetics]")),
        Use("[data-turn='-1']", shows("[data-question=character]")),
        Use("[data-key=ArrowRight]", shows("#shot-2")),
    ]
    if not is_narrow:
        beside = [Use("#strip li:nth-child(2) a", shows("#shot-2"))]
    return [
        SKIP_LINK,
        TO_QUESTIONS,
        TO_CHINESE,
        TO_ENGLISH,
        *beside,
        Use("[data-key=ArrowRight]", shows("#shot-3")),
        Use("[data-key=ArrowLeft]", shows("#shot-2")),
        Use("[data-key=a]", shows("#shot-1", "#shot-3")),
        Use("#shot-3 a.pane", has("[data-look=all]", pressed, "false")),
        Use("[data-key=t]", has("[data-look=text]", pressed, "false")),
        Use(".viewer-bar [data-key=c]", has("[data-look=large]", pressed, "true")),
        Use(".cast a >> nth=0", has("[data-look=large]", pressed, "false")),
        opened(".tools"),
        Use("[data-key='+']", reads("#zoom", "1.3×")),
        Use("[data-key='-']", reads("#zoom", "1×")),
        Use("[data-key=z]", reads("#zoom", "2×")),
        Use(
            ".question.current details > summary",
            has(".question.current details", "open", ""),
        ),
        Use("[name='q:character'][value='3']", stored(answers, value=3)),
        opened("details:has(textarea[name=comment])"),
        Use(
            "textarea[name=comment]",
            stored(comments, text="Dark."),
            types("Dark."),
        ),
        opened(".shot-comments"),
        Use(".shot-comments select", shows("#shot-2"), chooses("2")),
        Use(
            ".shot-comments .current textarea",
            stored(ShotComment.objects, slot=slot, shot=2, text="Dim."),
            types("Dim."),
        ),
        MORE,
        opened(".keys-help"),
        Use("[data-setting=keysOff]", is_silent),
        MORE,
        Use("[data-setting=keysOff]", talks_again),
        Use("#back", leads(re.compile(rf"(?<!{slot.code}/)$")), after(closes)),
        MORE,
        Use("#break", leads("**/pause/")),
        MORE,
        opened(".keys-help"),
        Use("[data-setting=auto]", goes_on),
    ]


def sending(seat: Seat) -> list[Use]:
    person = join(seat.study(), "A01")
    slot = seat.open_next(person)

    def answered(page):
        page.click("[name='q:character'][value='3']")
        page.click("[name='q:aesthetics'][value='1']")

    sent = stored(Slot.objects, pk=slot.pk, state="submitted")
    return [Use("#submit", sent, after(answered))]


def skipping(seat: Seat) -> list[Use]:
    person = join(seat.study(), "A01")
    slot = seat.open_next(person)
    skips = Skip.objects.filter(slot=slot, reason="unclear", comment="Why")
    field = ".skip [name=comment]"
    return [
        MORE,
        opened(".skip"),
        Use(".skip [value=unclear]", checked(".skip [value=unclear]")),
        Use(
            field,
            lambda page: expect(page.locator(field)).to_have_value("Why"),
            types("Why"),
        ),
        Use(".skip button", stored(skips)),
    ]


def pair(seat: Seat) -> list[Use]:
    seat.open_next(join(seat.study("choice"), "A01"))
    place = "() => Number(document.querySelector('#divider').value) < 40"
    pressed = "aria-pressed"
    return [
        Use("[data-key=b]", shows(".story[data-side=right] [data-shot='2']")),
        Use("[data-key=o]", has("[data-look=alone]", pressed, "true")),
        Use("[data-key=o]", has("[data-look=alone]", pressed, "false")),
        opened(".tools"),
        Use("#flicker", has("#flicker", "aria-pressed", "true")),
        Use("#flicker", has("#flicker", "aria-pressed", "false")),
        Use("[data-key=s]", has("[data-look=swipe]", "aria-pressed", "true")),
        Use("#divider", lambda page: page.wait_for_function(place), at(0.25)),
        Use(
            "[name='q:character'][value=left]",
            checked("[name='q:character'][value=left]"),
        ),
    ]


def broken_picture(seat: Seat) -> list[Use]:
    person = join(seat.study(), "A01")
    broken = re.compile(r"/only/1/display/")
    seat.page.route(broken, lambda route: route.fulfill(body="no picture"))
    slot = seat.open_next(person)
    faults = Fault.objects.filter(slot=slot, side="only", shot=1)
    return [
        Use("#shots .report-fault", stored(faults)),
        Use(
            "#shots .retry",
            lambda page: expect(page.locator(".shot .fault")).to_have_count(0),
            after(lambda page: page.unroute(broken)),
        ),
    ]


def broken_video(seat: Seat) -> list[Use]:
    person = join(seat.study(videos=True), "A01")
    broken = "**/only/video/"
    seat.page.route(broken, lambda route: route.fulfill(body="no video"))
    slot = seat.open_next(person)
    return [
        Use(".player .report-fault", stored(Fault.objects, slot=slot, side="only")),
        Use(
            "[data-again=yes]", shows("video"), after(lambda page: page.unroute(broken))
        ),
    ]


def video(seat: Seat) -> list[Use]:
    seat.page.emulate_media(reduced_motion="reduce")  # no automatic playback
    seat.open_next(join(seat.study(videos=True), "A01"))

    def frame(number):
        return reads(".place", rf"frame {number}$")

    def playing(page):
        page.wait_for_selector(".player.playing")

    def stands(page):
        page.wait_for_selector(".player:not(.playing)")

    return [
        Use("[data-press='.']", frame(2)),
        Use("[data-press=',']", frame(1)),
        Use("[data-press=ArrowRight]", frame(13)),
        Use("[data-press=ArrowLeft]", frame(1)),
        Use(".captions li:nth-child(2) button", frame(13)),
        Use("[data-press=Home]", frame(1)),
        Use(".scrub", frame("1[0-5]"), at(0.5)),
        Use("[data-press='<']", reads(".speed", "0.75×")),
        Use("[data-press='>']", reads(".speed", "1×")),
        Use("[data-press=l]", has("[data-press=l]", "aria-pressed", "true")),
        Use("[data-press=' ']", playing),
        Use("video", stands),
    ]


def checklist(seat: Seat) -> list[Use]:
    slot = seat.open_next(join(seat.study("checklist"), "A01"))
    ticks = Rating.objects.filter(slot=slot, value=1, question__key="pan|text")

    def looked(page):
        done = page.locator("#shot-done")
        expect(done).not_to_have_attribute("aria-disabled", "true")

    return [
        Use("[name='1:pan|text']", stored(ticks, shot=1), after(looked)),
        Use("#sheet-1 .none >> nth=0", has("#sheet-1 .none >> nth=0", "class", GIVEN)),
        opened("details:has(.meanings)"),
        Use("#shot-done", shows("#sheet-2")),
    ]


def checklist_without_scripts(seat: Seat) -> list[Use]:
    seat.open_next(join(seat.study("checklist"), "A01"))
    return [Use("[name='looked:1']", checked("[name='looked:1']"))]


def ranking(seat: Seat) -> list[Use]:
    benchmark = make_benchmark(slug=seat.name, methods=["Alder", "Birch", "Cedar"])
    study = make_study(kind="ranking", benchmark=benchmark, slug=seat.name)
    study.questions.update(help_texts={"en": "Look at the hat."})
    slot = seat.open_next(join(study, "A01"))
    orders = Ranking.objects.filter(slot=slot, is_current=True)
    first = "[data-question=character]"
    # A phone has no room for single ranks.
    is_narrow = seat.page.viewport_size["width"] < 700
    rank = "[name='q:character:1'][value='3']"
    return [
        opened(f"{first} details"),
        Use(
            f"{first} [data-place='2'] button",
            checked("[name='q:character:2'][value='1']"),
        ),
        Use(
            f"{first} [data-place='1'] button" if is_narrow else rank,
            stored(orders, question__key="character"),
        ),
        Use(
            f"{first} .clear",
            taken_back(orders, question__key="character"),
            after(turns_back),
        ),
    ]


def slider(seat: Seat) -> list[Use]:
    study = seat.study()
    study.questions.update(scale_max=100)
    slot = seat.open_next(join(study, "A01"))
    answers = Rating.objects.filter(slot=slot, is_current=True)
    first = "[data-question=character]"
    return [
        Use(f"{first} [type=range]", stored(answers, value__range=(20, 30)), at(0.25)),
        Use(f"{first} [type=number]", stored(answers, value=100), replaces("100")),
    ]


def words(seat: Seat) -> list[Use]:
    text = LIKERT + '  - {key: why, kind: text, title: Why, text: "Why?"}\n'
    benchmark = make_benchmark(slug=seat.name)
    study = make_planned(
        text, benchmark=benchmark, slug=seat.name, annotators=1, redundancy=1
    )
    slot = seat.open_next(join(study, "A01"))
    texts = TextAnswer.objects.filter(slot=slot, is_current=True)
    return [Use("[name='q:why']", stored(texts, value="Dark."), types("Dark."))]


FAULTS = (
    LIKERT
    + """\
  - {key: where, kind: marks, text: "Where?", labels: {hands: Hands, feet: Feet}}
"""
)


def with_faults(seat: Seat) -> Slot:
    benchmark = make_benchmark(slug=seat.name)
    study = make_planned(
        FAULTS, benchmark=benchmark, slug=seat.name, annotators=1, redundancy=1
    )
    return seat.open_next(join(study, "A01"))


def faults(seat: Seat) -> list[Use]:
    answers = MarksAnswer.objects.filter(slot=with_faults(seat), is_current=True)
    is_narrow = seat.page.viewport_size["width"] < 700

    def points(page):
        for _question in range(2 if is_narrow else 0):
            page.locator("[data-turn='1']").tap()

    def aims(page):
        page.locator(".shot.current a.pane").click()

    def aims_at_nothing(page):
        expect(page.locator(".cross")).to_have_count(0)

    uses = [
        Use("[data-do=nothing]", stored(answers, value="nothing"), after(points)),
        Use("[data-do=cancel]", aims_at_nothing, after(aims)),
        Use("[data-label=hands]", stored(answers, value__contains="hand"), after(aims)),
        Use("[data-do=show]", shows("#shot-1")),
        Use("[data-do=move]", shows(".cross")),
        Use("[data-do=place]", aims_at_nothing),
        Use(
            ".pin-list select", stored(answers, value__contains="feet"), chooses("feet")
        ),
        Use("[data-do=delete]", taken_back(answers)),
    ]
    return uses if is_narrow else [*uses, Use("[data-do=aim]", shows(".cross"))]


def faults_without_scripts(seat: Seat) -> list[Use]:
    with_faults(seat)
    field = "[name='q:where']"
    return [
        Use(
            field,
            lambda page: expect(page.locator(field)).to_have_value("nothing"),
            types("nothing"),
        )
    ]


STATES = [
    consent,
    instructions,
    joining_by_a_link,
    a_link_that_is_closed,
    asking_to_continue,
    handing_in_a_code,
    pause,
    withdrawing,
    withdrawn,
    done,
    nothing_just_now,
    training,
    training_story_again,
    warning,
    somebody_elses_story,
    story,
    sending,
    skipping,
    pair,
    broken_picture,
    video,
    broken_video,
    checklist,
    checklist_without_scripts,
    ranking,
    slider,
    words,
    faults,
    faults_without_scripts,
]
WITHOUT_SCRIPTS = (checklist_without_scripts, faults_without_scripts)


# Pages of closed links, other annotators' stories and withdrawn annotators have error
# statuses.
@pytest.mark.slow
@pytest.mark.page_errors("403 .*/join/", "404 .*/story/nobody/", "410 .*/rate/")
@pytest.mark.parametrize("hand", named_cases(MOUSE_OR_FINGER, {"finger"}))
def test_controls_have_effects(chromium, live_server, clip, subtests, hand):
    there: set[str] = set()
    shown: set[str] = set()
    used: set[str] = set()
    for state in STATES:
        name = state.__name__.replace("_", "-")
        has_scripts = state not in WITHOUT_SCRIPTS
        with (
            subtests.test(name),
            hand.page(chromium, java_script_enabled=has_scripts) as page,
        ):
            uses = state(Seat(page, live_server.url, clip, name))
            here = page.url
            for use in uses:
                if page.url != here:
                    page.goto(here)
                if has_scripts and page.locator("#annotator").count():
                    page.wait_for_selector("html.ready")
                there |= controls_of(page)
                shown |= controls_of(page, ELSEWHERE[type(hand)])
                used |= places_of(page.locator(use.control))
                use.how(hand, page.locator(use.control))
                use.seen(page)
    unused, unseen = shown - used, marking.all_places(TEMPLATES) - there - OF_MTURK
    assert not unused, f"shown, and used by nothing here: {unused}"
    assert not unseen, f"shown by no page here: {unseen}"


# Controls that only the other input's window shows.
# `test_mturk` presses it inside the platform's frame.
OF_MTURK = {"rate/_worth.html: button 2"}
ELSEWHERE = {Mouse: ".turn, .more", Finger: "#strip a, .ranks input, .with-keys"}
PLACES = """(all, elsewhere) => all
  .filter((one) => !one.matches(elsewhere) || one.checkVisibility())
  .map((one) => one.dataset.place ?? one.outerHTML)"""


def controls_of(page: Page, elsewhere: str = "none") -> set[str]:
    """Return the place of every control of a page; without one, the element."""
    return set(page.locator(marking.CONTROLS).evaluate_all(PLACES, elsewhere))


def places_of(control: Locator) -> set[str]:
    """Return the places of a control in templates; several mean an ambiguous use."""
    control.wait_for(state="attached")
    places = {one.get_attribute("data-place") for one in control.all()}
    assert len(places) == 1, places
    return places
