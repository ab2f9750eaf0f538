"""The ways in which people reach what stands on a page of the seat.

Nothing here answers but by what a person does: a click, a tap, a key. A hand goes about
a page by `press`; one that knows the seat's keys answers without looking for anything.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Locator, Page, expect

DESK = {"viewport": {"width": 1440, "height": 900}}
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}

THUMB = 22.4  # px: how wide the thumb of a slider is
TARGETS = (
    "a:not(.skip-link), button, summary, textarea, select, input:not([type=hidden])"
)

# What is less than 44 px wide or high, of a box the words that belong to it.
SMALL = """(all) => all.filter((one) => one.checkVisibility()).map((one) => {
  const box = (one.closest("label") ?? one).getBoundingClientRect();
  return [one.outerHTML.slice(0, 90), Math.round(box.width), Math.round(box.height)];
}).filter(([, width, height]) => width && Math.min(width, height) < 44)"""


def too_small(page: Page) -> list[list[object]]:
    """Return the targets in sight that a finger may miss, with their sizes in px."""
    return page.locator(TARGETS).evaluate_all(SMALL)


class Mouse:
    """A click on the words beside a radio button, or on the box itself."""

    context: dict[str, object] = DESK

    @contextmanager
    def page(self, chromium: Browser, **options: object) -> Iterator[Page]:
        """Open a page of this hand's own, without cookies."""
        context = chromium.new_context(**self.context | options)
        try:
            yield context.new_page()
        finally:
            context.close()

    def press(self, control: Locator, **where: object) -> None:
        control.click(**where)

    def go_on(self, page: Page) -> None:
        """Follow a page that has no questions."""
        self.press(page.locator("main form button.primary"))

    def choose(self, page: Page, question: str, value: str) -> None:
        """Answer a question."""
        option = page.locator(f".option:has([name='q:{question}'][value='{value}'])")
        self.press(option.locator("kbd, b"))

    def slide(self, page: Page, question: str, value: str) -> None:
        """Drag along a slider's line until it says the value."""
        field = page.locator(f"[name='q:{question}']")
        line = page.locator(".slider:visible", has=field).get_by_role("slider")
        line.scroll_into_view_if_needed()
        box = line.bounding_box()
        x, y = box["x"], box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        while field.input_value() != value:
            assert x < box["x"] + box["width"], f"the line does not lead to {value}"
            x += 1
            page.mouse.move(x, y)
        page.mouse.up()

    def turn_to_next(self, page: Page) -> None:
        """Go to the next question, where it does not come by itself."""

    def clear(self, page: Page, question: str) -> None:
        """Begin an order anew."""
        self.press(page.locator(f"[data-question='{question}'] .clear"))

    def rank(self, page: Page, question: str, value: str) -> None:
        """Put the versions in order; the last one goes without saying."""
        for place in value.split(">")[:-1]:
            self.press(version(page, question, place).get_by_role("button"))

    def write(self, page: Page, question: str, text: str) -> None:
        """Answer a question in words."""
        self.press(page.locator(f"textarea[name='q:{question}']"))
        page.keyboard.type(text)

    def look_at(self, page: Page, shot: int) -> None:
        """Have a shot of a checklist before one's eyes for long enough."""
        expect(page.locator(f"#sheet-{shot}")).to_be_visible()
        done = page.locator("#shot-done")
        expect(done).not_to_have_attribute("aria-disabled", "true")

    def tick(self, page: Page, shot: int, box: str) -> None:
        """Tick a box of a checklist."""
        self.press(page.locator(f"[name='{shot}:{box}']"))

    def finish_shot(self, page: Page, shot: int) -> None:
        """Say that the boxes of a shot are as they should be."""
        self.press(page.locator("#shot-done"))

    def send(self, page: Page) -> None:
        """Submit the story's answers."""
        expect(page.locator("#submit")).to_be_enabled()
        self.press(page.locator("#submit"))


def version(page: Page, question: str, place: str) -> Locator:
    """Return the row of a version in a question that asks for an order."""
    return page.locator(f"[data-question='{question}'] [data-place='{place}']")


class Finger(Mouse):
    """A tap on a telephone."""

    context = PHONE

    def press(self, control: Locator, **where: object) -> None:
        control.tap(**where)

    def choose(self, page: Page, question: str, value: str) -> None:
        """Answer the question that is shown; the next one comes by itself."""
        option = page.locator(f".option:has([name='q:{question}'][value='{value}'])")
        self.press(option)

    def slide(self, page: Page, question: str, value: str) -> None:
        """Tap a slider's line, at its end and then where the value lies."""
        field = page.locator(f"[name='q:{question}']")
        line = page.locator(".slider:visible", has=field).get_by_role("slider")
        box = line.bounding_box()
        low, high = (int(line.get_attribute(name)) for name in ("min", "max"))
        step = (box["width"] - THUMB) / (high - low)
        place = {"x": THUMB / 2, "y": box["height"] / 2}
        for _ in range(5):
            self.press(line, position=place | {"x": 1})
            place["x"] += step * (int(value) - low)
            self.press(line, position=place)
            if field.input_value() == value:
                return
            low = int(field.input_value())
        raise AssertionError(f"no tap on the line answers {value}")

    def turn_to_next(self, page: Page) -> None:
        self.press(page.locator("[data-turn='1']"))


class Keyboard(Mouse):
    """The browser's own keys: Tab to what is wanted, then Space, Enter on a link."""

    def press(self, control: Locator, **_where: object) -> None:
        tab_to(control)
        is_link = control.evaluate("(one) => one.tagName === 'A'")
        control.page.keyboard.press("Enter" if is_link else "Space")

    def choose(self, page: Page, question: str, value: str) -> None:
        """Tab leads to a group of radio buttons, arrows to the others of it."""
        group = page.locator(f"[name='q:{question}']")
        self.press(group.first)
        for button in group.all():
            if button.get_attribute("value") == value:
                expect(button).to_be_checked()
                return
            page.keyboard.press("ArrowDown")

    def slide(self, page: Page, question: str, value: str) -> None:
        """Tab leads to the line, arrows along it."""
        field = page.locator(f"[name='q:{question}']")
        line = page.locator(".slider:visible", has=field).get_by_role("slider")
        tab_to(line)
        middle = int(line.input_value())
        key = "ArrowRight" if int(value) > middle else "ArrowLeft"
        for _ in range(abs(int(value) - middle)):
            page.keyboard.press(key)

    def write(self, page: Page, question: str, text: str) -> None:
        """Tab leads into the field; a space would be part of the text."""
        tab_to(page.locator(f"textarea[name='q:{question}']"))
        page.keyboard.type(text)

    def rank(self, page: Page, question: str, value: str) -> None:
        """Give each version its rank, as in any group of radio buttons."""
        for rank, place in enumerate(value.split(">")[:-1], start=1):
            self.choose(page, f"{question}:{place}", str(rank))


# How the focus is drawn: around a control, or around the words beside a hidden one.
RING = """(one) => {
  const shown = getComputedStyle(one).opacity === "0" ? one.parentElement : one;
  return getComputedStyle(shown).outlineStyle;
}"""


def tab_to(control: Locator) -> None:
    """Press Tab until the focus is there, and is seen there."""
    has_focus = "(one) => one === document.activeElement"
    for _ in range(150):
        if control.evaluate(has_focus):
            assert control.evaluate(RING) != "none", f"no focus is seen at {control}"
            return
        control.page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {control}")


class Digits(Mouse):
    """The seat's own keys: a digit answers what is marked, Enter goes on."""

    keys = {"left": "1", "tie": "2", "right": "3"}

    def go_on(self, page: Page) -> None:
        expect(page.locator("main form button.primary")).to_be_focused()
        page.keyboard.press("Enter")

    def choose(self, page: Page, question: str, value: str) -> None:
        marked = page.locator(".question.current:not([data-part=text])")
        expect(marked).to_have_attribute("data-question", question)
        page.keyboard.press(self.keys.get(value, value))

    def write(self, page: Page, question: str, text: str) -> None:
        """Tab leads into the field, Escape back to the seat's own keys."""
        tab_to(page.locator(f"textarea[name='q:{question}']"))
        page.keyboard.type(text)
        page.keyboard.press("Escape")

    def slide(self, page: Page, question: str, value: str) -> None:
        marked = page.locator(".question.current")
        expect(marked).to_have_attribute("data-question", question)
        for key in (*value, "Enter"):
            page.keyboard.press(key)

    def clear(self, page: Page, question: str) -> None:
        page.keyboard.press("x")

    def rank(self, page: Page, question: str, value: str) -> None:
        marked = page.locator(".question.current")
        expect(marked).to_have_attribute("data-question", question)
        for place in value.split(">")[:-1]:
            page.keyboard.press(place)

    def tick(self, page: Page, shot: int, box: str) -> None:
        row = f".sheet.current .labels .current [name='{shot}:{box}']"
        for _ in page.locator(".sheet.current .labels div").all():
            if page.locator(row).count():
                break
            page.keyboard.press("ArrowDown")
        page.keyboard.press("1" if box.endswith("|text") else "2")

    def finish_shot(self, page: Page, shot: int) -> None:
        page.keyboard.press("Enter")

    def send(self, page: Page) -> None:
        expect(page.locator("#submit")).to_be_enabled()
        page.keyboard.press("Enter")


class NoScript(Mouse):
    """A mouse in a browser that runs no scripts."""

    context = DESK | {"java_script_enabled": False}

    def slide(self, page: Page, question: str, value: str) -> None:
        """Without scripts there is the number field alone."""
        self.press(page.locator(f"[name='q:{question}']"))
        page.keyboard.type(value)

    def rank(self, page: Page, question: str, value: str) -> None:
        for rank, place in enumerate(value.split(">"), start=1):
            row = version(page, question, place)
            self.press(row.locator("label").nth(rank - 1))

    def look_at(self, page: Page, shot: int) -> None:
        expect(page.locator(f"#sheet-{shot}")).to_be_visible()

    def finish_shot(self, page: Page, shot: int) -> None:
        self.press(page.locator(f"[name='looked:{shot}']"))


HANDS = {
    "mouse": Mouse(),
    "finger": Finger(),
    "digits": Digits(),
    "tab": Keyboard(),
    "no script": NoScript(),
}
EACH_HAND = {name: (hand,) for name, hand in HANDS.items()}
MOUSE_OR_FINGER = {name: EACH_HAND[name] for name in ("mouse", "finger")}
