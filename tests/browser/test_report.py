"""The report's page in Chromium, with the server's content policy."""

import csv
import io
import itertools
import random
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest

from analysis.commands.alignment import align
from analysis.options import AlignOptions
from analysis.report.writing import run_table, write_report
from annotate.pages.reports import page_of_report
from tests.browser.accessibility import violations_of_both_themes
from tests.browser.waiting import wait_until

METHODS = [
    "UNO",
    "GPT-4o",
    "<b>x</b>",
    "a method with a name that goes on and on and on",
]


def tables():
    """Return ratings, choices and scores of four methods on six stories."""
    draw = random.Random(1)
    ratings, choices, scores = [], [], []
    for s in range(6):
        for m, method in enumerate(METHODS):
            for question in ("environment consistency", "aesthetics"):
                for r in range(4):
                    rating = max(0, min(4, m + draw.choice((-1, 0, 0, 1))))
                    ratings.append((f"s{s}", method, question, f"R{r}", rating))
            for other in METHODS[m + 1 :]:
                for r in range(3):
                    choice = draw.choice(("a", "b", "tie"))
                    choices.append((f"s{s}", method, other, "plot", f"R{r}", choice))
            for k, metric in enumerate(("csd", "aesthetic", "a_long_name_of_a_metric")):
                scores.append((f"s{s}", method, metric, m + k * draw.random()))
    return {
        "ratings": pd.DataFrame(
            ratings, columns=["story", "method", "dimension", "annotator", "rating"]
        ),
        "choices": pd.DataFrame(
            choices,
            columns=[
                "story",
                "method_a",
                "method_b",
                "criterion",
                "annotator",
                "choice",
            ],
        ),
        "scores": pd.DataFrame(scores, columns=["story", "method", "metric", "score"]),
    }


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    options = AlignOptions(resamples=40, scale=(0, 4))
    run = run_table(
        options,
        hashes={},
        date="2026-01-01T00:00:00+00:00",
        command="as here",
        resample_default="stories",
    )
    return write_report(
        align(**tables(), options=options),
        title="A report",
        run=run,
        out=tmp_path_factory.mktemp("report"),
        story_link="/opened/{story}#{method}",
    )


@pytest.fixture(scope="module")
def address(report):
    """Serve the page like the web application: strict policy, sandboxed."""
    page = Path(report).read_bytes()
    shown = page_of_report(page.decode("utf-8"))
    policy = shown["Content-Security-Policy"]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            is_report = self.path == "/"
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            if is_report:
                self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(page if is_report else b"<title>A story</title>")

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture
def opened(page, address):
    page.goto(address)
    return page


def draw_all(page):
    """Open all parts, scroll through, and wait for every figure."""
    page.get_by_role("button", name="Open all").click()
    page.evaluate(
        "document.querySelectorAll('.panels').forEach(p => p.scrollIntoView())"
    )
    for box in page.locator(".panels").all():
        box.scroll_into_view_if_needed()
    wait(
        page,
        "[...document.querySelectorAll('.plot')].every(p => p.querySelector('svg'))",
    )


def wait(page, condition):
    """Wait for a condition; the page's policy blocks Playwright's waiting script."""
    wait_until(page, lambda: page.evaluate(condition), True)


@pytest.mark.browser
def test_pages_are_accessible_and_do_not_overflow(opened):
    draw_all(opened)
    for name in ("agreement", "leaderboard"):
        opened.locator(f"#table-{name} summary").click()
    for width in (1440, 768, 390, 320):
        opened.set_viewport_size({"width": width, "height": 800})
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
    # Figures and table rows are repetitive, and axe would take a minute for them. The
    # contrast of figures is measured in their own test.
    opened.evaluate(
        "document.querySelectorAll('.plot').forEach(p => p.replaceChildren());"
        "document.querySelectorAll('tbody').forEach(t => [...t.rows].slice(20)"
        ".forEach(row => row.remove()));"
        "document.querySelectorAll('details:not([open]) tbody').forEach(t =>"
        " [...t.rows].slice(3).forEach(row => row.remove()));"
    )
    assert violations_of_both_themes(opened) == []


@pytest.mark.browser
def test_questions_are_answered_on_the_first_screen(opened):
    heads = opened.locator(".uses section:has(li) h2").all_inner_texts()
    assert heads[0] == "Do the scores agree with people?"
    assert len(heads) == 4
    bottom = "document.querySelector('.uses').getBoundingClientRect().bottom"
    for width, height, screens in ((1440, 900, 1), (1280, 720, 1), (390, 844, 2)):
        opened.set_viewport_size({"width": width, "height": height})
        assert opened.evaluate(bottom) <= screens * height


@pytest.mark.browser
def test_plotly_waits_for_the_first_figure(opened):
    assert opened.evaluate("typeof Plotly") == "undefined"
    opened.locator("#metrics > summary").click()
    wait(opened, "typeof Plotly === 'object'")


FIRST_TICK = "document.querySelector('#coefficients-0 .xtick text')"


def contrast(one, other):
    """Return the ratio of two colours as WCAG 2 defines it."""
    light, dark = sorted(map(luminance, (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    parts = [c / 255 for c in colour]
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
    ]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.slow
@pytest.mark.browser
def test_figure_colours_follow_the_scheme(opened):
    draw_all(opened)
    text = opened.locator("#coefficients-0 .xtick text").first
    light = text.evaluate("e => getComputedStyle(e).fill")
    opened.emulate_media(color_scheme="dark")
    wait(opened, f"getComputedStyle({FIRST_TICK}).fill !== '{light}'")
    dark = text.evaluate("e => getComputedStyle(e).fill")
    for ink, paper in ((light, (0xFB, 0xFA, 0xF7)), (dark, (0x13, 0x17, 0x16))):
        assert contrast(tuple(map(int, re.findall(r"\d+", ink)[:3])), paper) > 7


@pytest.mark.slow
@pytest.mark.browser
def test_figure_is_saved_as_svg_from_the_sandboxed_page(opened):
    opened.locator("#metrics > summary").click()
    with opened.expect_download() as waiting:
        opened.get_by_role("button", name="Save as SVG: Agreement with people").click()
    assert waiting.value.suggested_filename == "coefficients.svg"
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "&lt;b&gt;" not in text
    assert "csd" in text


@pytest.mark.browser
def test_table_is_filtered_and_copied_as_shown(opened):
    """Copy with the clipboard, or with a selection where no clipboard is available."""
    opened.locator("#tables > summary").click()
    box = opened.locator("#table-correlations")
    box.locator("summary").click()
    box.get_by_label("Filter").fill("csd pooled kendall")
    rows = box.locator("tbody tr:visible")
    assert rows.count() == 2
    opened.evaluate(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined,"
        " configurable: true});"
        "document.addEventListener('copy', () => {"
        "const a = document.activeElement; window.copied = a.value; });"
    )
    box.get_by_role("button", name="Copy", exact=True).click()
    wait(opened, "Boolean(window.copied)")
    read = list(
        csv.reader(io.StringIO(opened.evaluate("window.copied")), delimiter="\t")
    )
    assert read[0][:4] == ["dimension", "metric", "level", "coefficient"]
    assert [row[1:4] for row in read[1:]] == [["csd", "pooled", "kendall"]] * 2
    opened.evaluate(
        "window.copied = ''; Object.defineProperty(navigator, 'clipboard',"
        " {value: {writeText: async (text) => { window.copied = text; }}});"
    )
    box.get_by_role("button", name="Copy as LaTeX").click()
    wait(opened, "Boolean(window.copied)")
    assert opened.evaluate("window.copied").startswith(r"\begin{tabular}{llllrrr")


@pytest.mark.browser
def test_questions_open_by_mouse_and_keys_and_draw_figures(opened):
    """Closed questions show their first sentence, and hidden figures are not drawn."""
    heads = opened.locator("details.section > summary")
    titles = opened.locator("details.section h2").all_inner_texts()
    assert titles[:3] == [
        "Do people agree with each other?",
        "How do the metrics compare?",
        "Where do metrics and people disagree?",
    ]
    assert opened.locator("details.section[open]").count() == 0
    assert "people agree beyond chance" in heads.first.inner_text()
    assert opened.locator(".plot svg").count() == 0
    heads.nth(0).click()
    wait(opened, "document.querySelectorAll('#people .plot svg').length > 0")
    heads.nth(1).press("Enter")
    wait(opened, "document.querySelectorAll('#metrics .plot svg').length > 0")
    assert opened.locator("#planning .plot svg").count() == 0
    levels = opened.evaluate(
        "[...document.querySelectorAll('h1,h2,h3')].map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


# The screen position of each output in the first plot, with story, method, and the
# distance of the nearest other mark, since a click selects the nearest.
STANDING = """() => {
  const plot = document.querySelector('#outputs-0');
  const marks = [...plot.querySelectorAll('.scatterlayer .trace')].flatMap((trace, i) =>
    [...trace.querySelectorAll('.points path')].map((mark, j) => {
      const { x, y, width, height } = mark.getBoundingClientRect();
      const { name, text, meta } = plot.data[i];
      return { x: x + width / 2, y: y + height / 2, name, story: text[j], meta };
    }));
  const far = (a, b) => (a === b ? Infinity : Math.hypot(a.x - b.x, a.y - b.y));
  for (const mark of marks) mark.alone = Math.min(...marks.map((m) => far(m, mark)));
  return marks.filter((mark) => mark.meta === 'output');
}"""


@pytest.mark.slow
@pytest.mark.browser
def test_click_on_an_output_opens_its_story_in_a_new_tab(opened):
    draw_all(opened)
    opened.locator("#figure-outputs").scroll_into_view_if_needed()
    marks = opened.evaluate(STANDING)
    assert len(marks) == 6 * len(METHODS)
    hostile = [mark for mark in marks if mark["name"] == "&lt;b&gt;x&lt;/b&gt;"]
    loneliest = max(hostile, key=lambda mark: mark["alone"])
    with opened.context.expect_page() as waiting:
        opened.mouse.click(loneliest["x"], loneliest["y"])
    page = waiting.value
    page.wait_for_load_state()
    assert page.title() == "A story"
    assert page.evaluate("location.pathname") == f"/opened/{loneliest['story']}"
    assert page.evaluate("location.hash") == "#%3Cb%3Ex%3C%2Fb%3E"
    # The sandbox applies to the report only, so other pages run their scripts.
    assert page.evaluate("location.origin") == page.evaluate("self.origin")
    assert page.evaluate("window.opener") is None


@pytest.mark.slow
@pytest.mark.browser
def test_printed_page_fits_every_open_figure(opened):
    opened.get_by_role("button", name="Open all").click()
    opened.set_viewport_size({"width": 690, "height": 1000})
    opened.emulate_media(media="print")
    wait(
        opened,
        "[...document.querySelectorAll('.plot')].every(p => p.querySelector('svg') &&"
        " p.querySelector('svg').getBoundingClientRect().width <="
        " p.getBoundingClientRect().width + 1)",
    )
    for plot in opened.locator(".plot").all():
        drawn = plot.locator("svg").first.bounding_box()
        room = plot.bounding_box()
        assert drawn["width"] <= room["width"] + 1


@pytest.mark.slow
@pytest.mark.browser
def test_heading_sorts_the_metrics_by_mouse_and_by_keys(opened):
    grid = opened.locator("table.grid").first
    heads = grid.locator("thead th")
    assert heads.nth(2).get_attribute("aria-sort") == "descending"
    titles = [head.inner_text().split("\n")[0] for head in heads.all()]
    for title, press in (("acc_eq", False), ("method τ", True)):
        place = titles.index(title)
        button = heads.nth(place).get_by_role("button")
        for order in ("descending", "ascending"):
            if press:
                button.press("Enter")
            else:
                button.click()
            assert heads.nth(place).get_attribute("aria-sort") == order
            assert grid.locator("thead th[aria-sort]").count() == 1
            cells = grid.locator(f"tbody tr td:nth-child({place + 1})").all()
            values = [float(cell.get_attribute("data-value")) for cell in cells]
            assert len(values) == 3
            assert values == sorted(values, reverse=order == "descending")
    assert opened.locator("#status").inner_text() == "Sorted by method τ, ascending"
    grid.get_by_role("button", name="Metric").click()
    names = grid.locator("tbody th").all_inner_texts()
    assert names == ["a_long_name_of_a_metric", "aesthetic", "csd"]
    assert heads.nth(0).get_attribute("aria-sort") == "ascending"
