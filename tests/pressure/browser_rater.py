"""One person at a real browser, whose page keeps answers until the server has them."""

import random
from collections.abc import Callable
from contextlib import suppress

from playwright.sync_api import Error, Page, sync_playwright

from tests import chromium_build

Answers = dict[str, int]  # by question

SECONDS = 60  # until all is saved, once the network is well
LOOKING = 4000  # ms, until somebody loads a page again that does not go on
SHOWN = """() => Object.fromEntries(
  [...document.querySelectorAll(".question input:checked")]
    .map(({ name, value }) => [name.replace("q:", ""), Number(value)]))"""
IS_READY = """() => location.pathname.includes("/story/")
  ? document.documentElement.classList.contains("ready")
  : document.querySelector("main button")"""
NOTHING_WAITS = """() => new Promise((resolve) => {
  indexedDB.open("plumbline").onsuccess = ({ target }) => {
    const rows = target.result.transaction("waiting").objectStore("waiting").count();
    rows.onsuccess = () => resolve(!rows.result);
  };
})"""


def rate(
    home: str, stories: int, dice: random.Random, ail: Callable, heal: Callable
) -> dict[str, Answers]:
    """Rate stories over a network that ails; return the answers to each, by code.

    In the end none of them waits in the browser any more.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_build.path(), args=chromium_build.ARGS
        )
        page = browser.new_page()
        page.goto(home)
        page.click("main button")
        page.wait_for_selector("html.ready")
        page.set_default_timeout(LOOKING)
        ail()
        given: dict[str, Answers] = {}
        while len(given) < stories:
            try:
                answer(page, dice, given)
            except Error:  # nothing comes: whoever sits there loads the page again
                with suppress(Error):
                    page.reload()
        heal()
        for _attempt in range(5):
            with suppress(Error):  # the page may be on its way elsewhere
                page.goto(home)
                break
        page.wait_for_function(NOTHING_WAITS, timeout=1000 * SECONDS)
        browser.close()
    return given


def answer(page: Page, dice: random.Random, given: dict[str, Answers]) -> None:
    """Answer the story in sight, think better of it, and go on."""
    page.wait_for_function(IS_READY)
    if "/story/" not in page.url:
        page.click("main button")
        return
    before = page.url
    for _press in range(4):  # more than there are questions: the last is changed
        page.keyboard.press(str(dice.randrange(5)))
        page.wait_for_timeout(dice.uniform(20, 200))
    given[before.rstrip("/").rpartition("/")[2]] = page.evaluate(SHOWN)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != before)
