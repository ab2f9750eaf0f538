"""Annotators' pages of every protocol in all states, sizes, languages and themes.

With STATES=folder, the screenshots are written there.
"""

import os
from itertools import product
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import reverse

from annotate.models import Invitation, Slot
from tests.browser.hands import HANDS
from tests.browser.test_hands import (
    CLIP,
    PROTOCOLS,
    Row,
    answer_unit,
    begin,
    invented,
    plan_protocol,
    see_all_shots,
)
from tests.clips import write_clip
from tests.working import join

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]

SIZES = [(360, 640), (390, 844), (768, 1024), (1280, 720), (1440, 900)]
FAULTS = """() => {
  const width = document.documentElement.scrollWidth;
  const found = width > innerWidth ? [`the page is ${width} px wide`] : [];
  const words = (one) => one.textContent.trim().replace(/\\s+/g, " ").slice(0, 40);
  for (const one of document.querySelectorAll(".option, .current")) {
    if (!one.checkVisibility() || one.closest(".visually-hidden")) continue;
    const box = one.getBoundingClientRect();
    const isCut = one.scrollWidth > one.clientWidth + 1;
    if (isCut || box.left < -1 || box.right > innerWidth + 1)
      found.push(`cut off: ${words(one)}`);
    if (one.matches(".question.current") && (box.top < 0 || box.bottom > innerHeight))
      found.push(`out of view: ${words(one)}`);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return write_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", **CLIP)


def take(page, url: str, name: str) -> list[str]:
    """Return the faults of the open page in all sizes, languages and themes."""
    found = []
    folder = os.environ.get("STATES")
    for language, (width, height) in product(("zh-hans", "en"), SIZES):
        cookie = {"name": settings.LANGUAGE_COOKIE_NAME, "value": language, "url": url}
        page.context.add_cookies([cookie])
        page.set_viewport_size({"width": width, "height": height})
        page.reload()
        page.wait_for_load_state("networkidle")
        if page.locator("#annotator").count():
            page.wait_for_selector("html.ready")
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            state = f"{name}-{width}-{language[:2]}-{theme}"
            if folder:
                page.screenshot(path=Path(folder) / f"{state}.png")
            found += [f"{state}: {fault}" for fault in page.evaluate(FAULTS)]
    return found


@pytest.mark.parametrize("name", [*PROTOCOLS, "ranking", "marks"])
def test_states_have_no_fault_of_layout(chromium, live_server, clip, name):
    if name in PROTOCOLS:
        row, study = Row(*PROTOCOLS[name][:2]), plan_protocol(name, clip)
    else:
        row = Row(name, "pictures")
        study, _link = begin(row, clip)
    person = join(study, "" if study.is_open else "A01")
    study.annotators.update(consented_at=None, instructed_at=None)
    token = Invitation.objects.get(annotator=person).token
    with HANDS["mouse"].page(chromium) as page:
        page.goto(live_server.url + reverse("rate-pause", args=[token]))
        found = []
        for state in ("consent", "instructions"):
            if state in page.url:
                found += take(page, live_server.url, f"{name}-{state}")
                page.set_viewport_size({"width": 1440, "height": 900})
                HANDS["mouse"].go_on(page)
        if page.url.endswith("/pause/"):
            HANDS["mouse"].go_on(page)
        page.wait_for_url("**/story/**")
        found += take(page, live_server.url, f"{name}-question")
        page.set_viewport_size({"width": 1440, "height": 900})
        for number in (1, 2):
            page.wait_for_url("**/story/**")
            page.wait_for_selector("html.ready")
            code = page.locator("#annotator").get_attribute("data-code")
            see_all_shots(page)
            if name in PROTOCOLS:
                given = invented(Slot.objects.get(code=code), number)
            else:
                given = row.given[number - 1]
            answer_unit(page, HANDS["mouse"], row, given)
        page.wait_for_url("**/done/")
        found += take(page, live_server.url, f"{name}-end")
    assert not found, "\n".join(found)
