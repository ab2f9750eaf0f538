"""What a screen reader has to go by: the accessibility tree of a page of the seat.

    python -m tests.browser.accessibility_tree [--kind likert] [--phone]

Opens the first story of 16 shots in Chromium, in a site made for it, and prints role,
name, value and states of all that is not ignored, in the order in which it is read, and
how often Tab is pressed until the first answer and until the story can be sent.
"""

import argparse
import sys
from collections.abc import Iterator

from playwright.sync_api import sync_playwright

from benchmarks.temporary_site import serve, temporary_site
from tests import chromium_build
from tests.browser.hands import DESK, PHONE, Mouse

KINDS = {
    "likert": "vistorybench-user-study",
    "choice": "vistar-pairwise",
    "checklist": "storybench-diagnostics",
}
# Said of a node beside its role and name, and what is said where it is false.
STATES = {
    "checked": "",
    "pressed": "not pressed",
    "expanded": "collapsed",
    "disabled": "",
    "live": "",
    "level": "",
}
# Only boxes: their words are the name of what stands around or beside them.
SILENT = ("generic", "none", "InlineTextBox", "StaticText", "LabelText", "Legend")
SILENT += ("DescriptionList", "Figcaption", "strong", "paragraph", "definition")
# What they hold is said by their name.
WHOLE = ("StaticText", "button")
LABELLED = ("radio", "checkbox")
PLOT = "The fox walks on through the wood and looks for its hat."
MOST = 200
FOCUSED = """() => {
  const one = document.activeElement;
  if (one.matches("#answers :is(.question, .labels) input")) return "answer";
  return one.matches("#submit, .sheet-bar button") ? "send" : "";
}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=KINDS, default="likert")
    parser.add_argument("--phone", action="store_true", help="at 390 x 844 px")
    options = parser.parse_args()
    with temporary_site():
        link = plan(KINDS[options.kind])
        tell_a_story()
        with serve() as base, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium_build.path(), args=chromium_build.ARGS
            )
            context = browser.new_context(**(PHONE if options.phone else DESK))
            page = context.new_page()
            page.goto(base + link)
            while "/story/" not in page.url:
                Mouse().go_on(page)
                page.wait_for_load_state()
            page.wait_for_selector("html.ready")
            page.wait_for_timeout(500)
            for line in tree(page):
                print(line)
            print(f"\nTab: {stops(page, False)}")
            print(f"past the story: {stops(page, True)}")
    return 0


def plan(template: str) -> str:
    """Plan and open a study of two stories; return a link to it."""
    from django.urls import reverse

    from annotate.models import Invitation
    from annotate.studies import lifecycle
    from annotate.studies.planning import plan_study
    from annotate.studies.study_file import load_definition
    from tests.factories import make_benchmark
    from tests.working import join

    definition = load_definition(template)
    methods = ["Alder", "Birch"][: definition.outputs]
    shots = 4 if definition.is_of_shots else 16
    benchmark = make_benchmark(stories=4, shots=shots, methods=methods, pictures=True)
    definition = definition.with_changes(
        redundancy=3, session_size=4, rounds=1, rules=(), training=None
    )
    study = plan_study(definition, benchmark=benchmark, slug="tree", annotators=3)
    lifecycle.launch(study)
    person = join(study, study.annotators.first().name)
    new = {"state": "invited", "consented_at": None, "instructed_at": None}
    type(person).objects.filter(pk=person.pk).update(**new)
    link, _made = Invitation.objects.get_or_create(annotator=person)
    return reverse("rate-entry", args=[link.token])


def tell_a_story() -> None:
    """Write what happens in every shot, and who is on stage in the odd ones."""
    from evalcore.models import Character, CharacterImage, Shot, Story
    from tests.factories import store_labelled

    Shot.objects.update(text={"en": {"plot": PLOT, "camera": "A wide shot."}})
    for story in Story.objects.all():
        fox = Character.objects.create(story=story, key="fox", names={"en": "Fox"})
        CharacterImage.objects.create(
            character=fox, ordinal=1, media=store_labelled("Fox")
        )
        for shot in story.shots.filter(number__in=range(1, 17, 2)):
            shot.characters.add(fox)


def tree(page) -> Iterator[str]:
    """Yield a line for everything that is read, indented by what it stands in."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    by_id = {node["nodeId"]: node for node in nodes}
    yield from lines(nodes[0], by_id, 0, "")


def lines(node, by_id, depth: int, above: str) -> Iterator[str]:
    """Yield the lines of a node and of what it holds, but for words said `above`."""
    role, name = node["role"]["value"], node.get("name", {}).get("value", "").strip()
    if role == "StaticText" and name not in above:
        yield "  " * depth + f'"{name}"'
    is_read = not node["ignored"] and role not in SILENT
    if is_read:
        said = [role, f'"{name}"' if name else "", *states(node)]
        yield "  " * depth + " ".join(word for word in said if word)
    below = [by_id[child] for child in node.get("childIds", []) if child in by_id]
    if role == "LabelText":  # its words are the name of what it labels
        labelled = [one for one in below if one["role"]["value"] in LABELLED]
        above += " ".join(one["name"]["value"] for one in labelled)
    for child in [] if role in WHOLE else below:
        yield from lines(child, by_id, depth + is_read, name if is_read else above)


def states(node) -> Iterator[str]:
    if "value" in node:
        yield f"= {node['value']['value']}"
    if "description" in node and node["description"].get("value"):
        yield f"({node['description']['value']})"
    for state in node.get("properties", []):
        name, value = state["name"], state["value"].get("value")
        if name not in STATES:
            continue
        if value is False or value in ("false", "off"):
            said = STATES[name]
        else:
            said = name if value is True or value == "true" else f"{name} {value}"
        if said:
            yield f"[{said}]"


def stops(page, skipping: bool) -> str:
    """Return at which press of a key the first answer and the way on are reached.

    With `skipping` the second link of the page leads past the story.
    """
    page.reload()
    page.wait_for_selector("html.ready")
    found: dict[str, int] = {}
    for press in range(1, MOST):
        page.keyboard.press("Enter" if skipping and press == 3 else "Tab")
        found.setdefault(page.evaluate(FOCUSED), press)
        if "send" in found:
            break
    return ", ".join(f"{what} after {found.get(what)}" for what in ("answer", "send"))


if __name__ == "__main__":
    sys.exit(main())
