"""How much work the seat is for each hand: from the link to the tenth story.

Plans every protocol over stories of 16 drawn shots (checklists: 4; videos of a second)
and works through it in Chromium by mouse at 1440 x 900, by finger at 390 x 844 and by
keys, as `tests.browser.hands` does it in tests:

    python benchmarks/hands.py [--stories 10] [--only vistar-pairwise]

Without training and warnings; where a study asks that each shot be seen, all shots are
looked at together. Prints for each protocol and hand, up to the tenth story sent:
presses (clicks, taps, keys); scrolls (whatever is pressed has to be in sight first: one
for each four fifths of the window's height); in how many of the answers a picture was
in sight when it was given; and the seconds of a practised person who does not have to
think, by the keystroke-level model (Card, Moran and Newell 1980: a key .28 s, a click
or tap 1.3 s, a scroll .8 s).
"""

import argparse
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.temporary_site import chromium, serve, temporary_site

SECONDS = {"key": 0.28, "press": 1.3, "scroll": 0.8}
CASES = {
    "vistorybench-user-study": "pictures",
    "vistorybench-crowd": "pictures",
    "envision-expert": "pictures",
    "vistar-pairwise": "pictures",
    "storybench-side-by-side": "videos",
    "storybench-diagnostics": "pictures",
}
# Whether a control can be pressed where it is, and else how far it is to it, in px.
AWAY = """(one) => {
  const box = one.getBoundingClientRect();
  const [x, y] = [box.x + box.width / 2, box.y + Math.min(box.height / 2, 20)];
  const hit = document.elementFromPoint(x, y);
  if (hit && (one.contains(hit) || hit.contains(one))) return 0;
  return Math.max(1, Math.abs(y - innerHeight / 2));
}"""
# Half of a picture or video that nothing covers.
SEES = """() => [...document.querySelectorAll(".pane, video")].some((one) => {
  const box = one.getBoundingClientRect();
  if (!box.width) return false;
  const hits = [0.25, 0.75].map((share) => document.elementFromPoint(
    box.x + box.width / 2, box.y + box.height * share));
  return hits.every((hit) => hit && (one.contains(hit) || hit.contains(one)) &&
    hit.closest(".viewer"));
})"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stories", type=int, default=10)
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    with temporary_site() as folder:
        links = {
            name: build(name, medium, options.stories, folder)
            for name, medium in CASES.items()
            if options.only in (None, name)
        }
        work(links, options.stories)
    return 0


def build(name: str, medium: str, stories: int, folder: Path) -> list[str]:
    """Plan and open a study; return a link for each hand."""
    from django.urls import reverse

    from annotate.models import Invitation
    from annotate.people import joining
    from annotate.studies import lifecycle
    from annotate.studies.planning import plan_study
    from annotate.studies.study_file import load_definition
    from evalcore.models import Output, Shot, Story
    from tests.clips import stored_clip, write_clip
    from tests.factories import make_benchmark
    from tests.working import join

    definition = load_definition(name)
    methods = ["Alder", "Birch"][: definition.outputs]
    shots = 4 if definition.is_of_shots else 16
    benchmark = make_benchmark(
        slug=name,
        # Who leaves a crowd leaves a story that others wait for.
        stories=stories * 4 if definition.assignment == "open" else stories + 2,
        shots=shots,
        methods=methods,
        pictures=medium == "pictures",
    )
    Story.objects.filter(benchmark=benchmark).update(conditioning_seconds=None)
    if medium == "videos":
        clip = write_clip(folder / f"{name}.mp4", frames=16, rate=16, size=(480, 320))
        Output.objects.filter(story__benchmark=benchmark).update(
            video=stored_clip(clip)
        )
    definition = definition.with_changes(
        redundancy=3,
        session_size=stories + 2,
        rounds=1,
        rules=[],  # nobody here takes the time to look
        training=None,
    )
    size = {} if definition.assignment == "open" else {"annotators": 3}
    study = plan_study(definition, benchmark=benchmark, slug=name, **size)
    lifecycle.launch(study)
    if study.is_open:
        return [reverse("join", args=[joining.make_link(study, most=9).token])] * 3
    people = [join(study, person.name) for person in study.annotators.all()[:3]]
    for person in people:
        type(person).objects.filter(pk=person.pk).update(
            state="invited", consented_at=None, instructed_at=None
        )
        Invitation.objects.get_or_create(annotator=person)
    assert Shot.objects.filter(story__benchmark=benchmark).count()
    tokens = [Invitation.objects.get(annotator=person).token for person in people]
    return [reverse("rate-entry", args=[token]) for token in tokens]


def work(links: dict[str, list[str]], stories: int) -> None:
    """Work through each study by each hand, and print a table."""
    from tests.browser.hands import Digits, Finger, Mouse

    print("| protocol | hand | presses | scrolls | in sight | seconds |")
    print("|---|---|---|---|---|---|")
    with serve() as base, chromium() as browser:
        hands = {"mouse": Mouse(), "finger": Finger(), "keys": Digits()}
        for name, addresses in links.items():
            for (title, hand), address in zip(hands.items(), addresses, strict=True):
                with hand.page(browser) as page, counting(page, hand) as counts:
                    page.set_default_timeout(20_000)
                    page.goto(base + address)
                    until(page, hand, counts, stories)
                seconds = sum(SECONDS[kind] * counts[kind] for kind in SECONDS)
                print(
                    f"| {name} | {title} | {counts['press'] + counts['key']} "
                    f"| {counts['scroll']} | {counts['seen']} of {counts['answers']} "
                    f"| {seconds:.0f} |",
                    flush=True,
                )


@contextmanager
def counting(page, hand):
    """Count what the hand does on the page."""
    counts: Counter[str] = Counter()
    press, key = hand.press, page.keyboard.press
    choose, tick = hand.choose, hand.tick

    def counted_press(control, **where):
        control.wait_for(state="visible")
        away = control.evaluate(AWAY)
        if away:
            height = page.viewport_size["height"]
            counts["scroll"] += max(1, round(away / (0.8 * height)))
            control.scroll_into_view_if_needed()
        counts["press"] += 1
        press(control, **where)

    def counted_key(name, **how):
        counts["key"] += 1
        key(name, **how)

    def watched(answer):
        def answered(page, *what):
            before = counts["answers"]
            page.wait_for_timeout(30)
            if before == counts["answers"]:
                counts["answers"] += 1
            answer(page, *what)
            counts["seen"] += bool(page.evaluate(SEES))

        return answered

    hand.press, page.keyboard.press = counted_press, counted_key
    hand.choose, hand.tick = watched(choose), watched(tick)
    try:
        yield counts
    finally:
        for name in ("press", "choose", "tick"):
            del hand.__dict__[name]


def until(page, hand, counts, stories: int) -> None:
    """Go from the link to the page after the last story."""
    sent = 0
    while sent < stories:
        if "/story/" not in page.url or page.url.endswith("/feedback/"):
            here = page.url
            hand.go_on(page)
            page.wait_for_url(lambda url, here=here: url != here)
            continue
        here = page.url
        page.wait_for_selector("html.ready")
        answer(page, hand, counts)
        page.wait_for_url(lambda url, here=here: url != here)
        sent += "/feedback/" not in page.url


def look(page, hand, counts) -> None:
    """Have each shot in sight where that is asked for."""
    line = page.locator(".to-see[data-seconds]")
    if not line.count():
        return
    if page.locator("[data-look=all]").get_attribute("aria-pressed") != "true":
        if counts["key"]:
            page.keyboard.press("a")
        else:
            hand.press(page.locator("[data-key=a]"))
    page.wait_for_timeout(800)
    while "All shots" not in line.inner_text():
        counts["scroll"] += 1
        page.locator("#shots").evaluate(
            "(one) => one.scrollBy(0, 0.8 * one.clientHeight)"
        )
        page.wait_for_timeout(800)


def answer(page, hand, counts) -> None:
    """Answer whatever is asked, and send it."""
    import re

    from playwright.sync_api import expect

    watched = page.locator(".to-watch")
    if watched.count():
        expect(watched).to_have_text(re.compile("^Watched"))
    look(page, hand, counts)
    if page.locator(".checklist").count():
        here = page.url
        for shot in range(1, 5):
            hand.look_at(page, shot)
            hand.tick(page, shot, "people|text")
            hand.finish_shot(page, shot)
        if page.url == here:
            hand.send(page)
        return
    for question in page.locator("[data-question]").all():
        key = question.get_attribute("data-question")
        value = question.locator("input").first.get_attribute("value")
        hand.choose(page, key, value)
    hand.send(page)


if __name__ == "__main__":
    sys.exit(main())
