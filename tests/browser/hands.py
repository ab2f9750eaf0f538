"""Input methods for annotators' pages: mouse, touch, keyboard, no scripts.

All answers are real clicks, taps and keys. `press` activates a control; `Digits` uses
the page's own shortcuts instead.
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

THUMB = 22.4  # px, width of a slider's thumb
TARGETS = (
    "a:not(.skip-link), button, summary, textarea, select, input:not([type=hidden])"
)

# Targets under 44 px; for a box, its label counts.
SMALL = """(all) => all.filter((one) => one.checkVisibility()).map((one) => {
  const box = (one.closest("label") ?? one).getBoundingClientRect();
  return [one.outerHTML.slice(0, 90), Math.round(box.width), Math.round(box.height)];
}).filter(([, width, height]) => width && Math.min(width, height) < 44)"""


def too_small(page: Page) -> list[list[object]]:
    """Return visible targets that are too small for a finger, with sizes in px."""
    return page.locator(TARGETS).evaluate_all(SMALL)


class Mouse:
    """Mouse clicks on labels of radio buttons, or on boxes."""

    context: dict[str, object] = DESK

    @contextmanager
    def page(self, chromium: Browser, **options: object) -> Iterator[Page]:
        """Open a new page without cookies."""
        context = chromium.new_context(**self.context | options)
        try:
            yield context.new_page()
        finally:
            context.close()

    def press(self, control: Locator, **where: object) -> None:
        control.click(**where)

    def go_on(self, page: Page) -> None:
        """Continue on a page without questions."""
        self.press(page.locator("main form button.primary"))

    def choose(self, page: Page, question: str, value: str) -> None:
        """Answer the question in view; the next one follows automatically."""
        option = page.locator(f".option:has([name='q:{question}'][value='{value}'])")
        self.press(option)

    def slide(self, page: Page, question: str, value: str) -> None:
        """Drag a slider until it has the value."""
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
        """Go to the next question, unless it follows automatically."""

    def clear(self, page: Page, question: str) -> None:
        """Clear a ranking."""
        self.press(page.locator(f"[data-question='{question}'] .clear"))

    def rank(self, page: Page, question: str, value: str) -> None:
        """Rank the versions; the last one gets the remaining rank."""
        for place in value.split(">")[:-1]:
            self.press(version(page, question, place).get_by_role("button"))

    def write(self, page: Page, question: str, text: str) -> None:
        """Answer a free-text question."""
        self.press(page.locator(f"textarea[name='q:{question}']"))
        page.keyboard.type(text)

    def point(self, page: Page, question: str, value: str) -> None:
        """Mark a fault in the middle of the picture, or press “Nothing is wrong”."""
        own = page.locator(f"[data-question='{question}']")
        if value == "nothing":
            if not own.is_visible():
                self.press(page.locator("[data-turn='1']"))
            self.press(own.locator("[data-do=nothing]"))
            return
        self.press(page.locator(".shot.current a.pane"))
        self.press(own.locator(f"[data-label='{value.split()[-1]}']"))

    def look_at(self, page: Page, shot: int) -> None:
        """Keep a checklist's shot in sight for long enough."""
        expect(page.locator(f"#sheet-{shot}")).to_be_visible()
        done = page.locator("#shot-done")
        expect(done).not_to_have_attribute("aria-disabled", "true")

    def tick(self, page: Page, shot: int, box: str) -> None:
        """Tick a box of a checklist."""
        self.press(page.locator(f"[name='{shot}:{box}']"))

    def finish_shot(self, page: Page, shot: int) -> None:
        """Mark a shot as done."""
        self.press(page.locator("#shot-done"))

    def send(self, page: Page) -> None:
        """Submit the story's answers."""
        expect(page.locator("#submit")).to_be_enabled()
        self.press(page.locator("#submit"))


def version(page: Page, question: str, place: str) -> Locator:
    """Return the row of a version in a ranking question."""
    return page.locator(f"[data-question='{question}'] [data-place='{place}']")


class Finger(Mouse):
    """Taps on a phone."""

    context = PHONE

    def press(self, control: Locator, **where: object) -> None:
        control.tap(**where)

    def slide(self, page: Page, question: str, value: str) -> None:
        """Tap a slider at its end, then at the value."""
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
    """The browser's keys: Tab to a control, then Space, or Enter on a link."""

    def press(self, control: Locator, **_where: object) -> None:
        tab_to(control)
        is_link = control.evaluate("(one) => one.tagName === 'A'")
        control.page.keyboard.press("Enter" if is_link else "Space")

    def choose(self, page: Page, question: str, value: str) -> None:
        """Tab to a group of radio buttons, then use arrows."""
        group = page.locator(f"[name='q:{question}']")
        self.press(group.first)
        for button in group.all():
            if button.get_attribute("value") == value:
                expect(button).to_be_checked()
                return
            page.keyboard.press("ArrowDown")

    def slide(self, page: Page, question: str, value: str) -> None:
        """Tab to the slider, then use arrows."""
        field = page.locator(f"[name='q:{question}']")
        line = page.locator(".slider:visible", has=field).get_by_role("slider")
        tab_to(line)
        middle = int(line.input_value())
        key = "ArrowRight" if int(value) > middle else "ArrowLeft"
        for _ in range(abs(int(value) - middle)):
            page.keyboard.press(key)

    def write(self, page: Page, question: str, text: str) -> None:
        """Tab into the field and type."""
        tab_to(page.locator(f"textarea[name='q:{question}']"))
        page.keyboard.type(text)

    def point(self, page: Page, question: str, value: str) -> None:
        """Press the question's own buttons; the cross-hair begins in the middle."""
        own = page.locator(f"[data-question='{question}']")
        if value == "nothing":
            self.press(own.locator("[data-do=nothing]"))
            return
        self.press(own.locator("[data-do=aim]"))
        self.press(own.locator(f"[data-label='{value.split()[-1]}']"))

    def rank(self, page: Page, question: str, value: str) -> None:
        """Rank each version like a group of radio buttons."""
        for rank, place in enumerate(value.split(">")[:-1], start=1):
            self.choose(page, f"{question}:{place}", str(rank))


# The focus is drawn around a control, or around the label of a hidden one.
RING = """(one) => {
  const shown = getComputedStyle(one).opacity === "0" ? one.parentElement : one;
  return getComputedStyle(shown).outlineStyle;
}"""


def tab_to(control: Locator) -> None:
    """Press Tab until the control has visible focus."""
    has_focus = "(one) => one === document.activeElement"
    for _ in range(150):
        if control.evaluate(has_focus):
            assert control.evaluate(RING) != "none", f"no focus is seen at {control}"
            return
        control.page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {control}")


class Digits(Mouse):
    """The page's shortcuts: digits answer the highlighted question, Enter submits."""

    keys = {"left": "1", "tie": "2", "right": "3"}

    def go_on(self, page: Page) -> None:
        expect(page.locator("main form button.primary")).to_be_focused()
        page.keyboard.press("Enter")

    def choose(self, page: Page, question: str, value: str) -> None:
        aside = ":not([data-part=text], [data-part=marks])"
        marked = page.locator(f".question.current{aside}")
        expect(marked).to_have_attribute("data-question", question)
        page.keyboard.press(self.keys.get(value, value))

    def write(self, page: Page, question: str, text: str) -> None:
        """Tab into the field; Escape returns to the page's shortcuts."""
        tab_to(page.locator(f"textarea[name='q:{question}']"))
        page.keyboard.type(text)
        page.keyboard.press("Escape")

    def point(self, page: Page, question: str, value: str) -> None:
        for key in "n" if value == "nothing" else "m1":
            page.keyboard.press(key)

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
        """Fill the number field, the only control without scripts."""
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
