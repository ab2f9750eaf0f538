"""Script injection through texts, in a real browser.

The content policy would block scripts; these tests show that none get that far.
"""

import pytest
from django.conf import settings as live
from django.test import Client
from django.urls import reverse

from analysis.__main__ import main
from annotate.reports import building
from tests.annotate.address_table import World, addresses, query_of
from tests.browser.test_report import draw_all
from tests.hostile_texts import MARKUP, fill
from tests.people import answer_everything, log_in

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(600),
]


@pytest.fixture
def listened(page, live_server):
    """Return a manager's page that records injected scripts.

    A script blocked by the policy is a console error, which fails the test.
    """
    said: list[str] = []
    ours = (live_server.url, "data:", "blob:", "file:")

    def answer(dialog):
        said.append(f"{dialog.message} at {page.url}")
        dialog.dismiss()

    def note(request):
        if not request.url.startswith(ours):
            said.append(request.url)

    page.on("dialog", answer)
    page.on("request", note)
    yield page
    assert said == []


def enter(page, live_server, client: Client) -> None:
    name = live.SESSION_COOKIE_NAME
    session = {"name": name, "value": client.cookies[name].value}
    page.context.add_cookies([session | {"url": live_server.url}])


@pytest.mark.slow
def test_pages_show_markup_as_text(listened, live_server, tmp_path):
    """Attack: scripts in all texts, on all pages."""
    world = World(tmp_path)
    answer_everything(world.trial)
    link = world.ann.invitation.token
    client = log_in("sue")
    asked = [(one, one.url(world.words(one, link))) for one in addresses()]
    fill()
    enter(listened, live_server, client)
    opened = shown = 0
    for address, url in asked:
        answer = client.get(url + query_of(address))
        is_page = answer.get("Content-Type", "").startswith("text/html")
        if answer.status_code != 200 or not is_page or address.name == "report-page":
            continue
        listened.goto(live_server.url + answer.wsgi_request.get_full_path())
        opened += 1
        shown += "alert(1)" in listened.inner_text("body")
    assert opened > 30
    assert shown > 15


def test_story_shows_markup_as_text(listened, live_server, tmp_path):
    """Attack: texts written by scripts when a story is opened and answered."""
    world = World(tmp_path)
    world.trial.presentation |= {"comments": True}
    world.trial.save()
    slot = world.ann.slots.filter(purpose="real").first()
    link = world.ann.invitation.token
    fill()
    listened.goto(live_server.url + reverse("rate-slot", args=[link, slot.code]))
    listened.wait_for_selector("html.ready")
    assert "alert(1)" in listened.inner_text("body")
    listened.locator("input[type=radio]").first.check(force=True)
    listened.evaluate(
        "document.querySelectorAll('details').forEach(d => d.open = true)"
    )
    listened.locator("textarea[name=comment]").fill(MARKUP)
    listened.wait_for_timeout(500)
    listened.reload()
    listened.wait_for_selector("html.ready")


def test_report_shows_markup_as_text(listened, live_server, tmp_path):
    """Attack: names of methods, metrics, questions and people close a script tag."""
    name = MARKUP.replace('"', "'")
    people = [f"R{number} {name}" for number in range(4)]
    methods = [f"{letter} {name}" for letter in "ABCD"]
    stories = [f"s{number} {name}" for number in range(5)]
    ratings = ["story,method,dimension,annotator,rating"]
    scores = ["story,method,metric,score"]
    for s, story in enumerate(stories):
        for m, method in enumerate(methods):
            scores.append(f'"{story}","{method}","{name}",{m + s / 10}')
            ratings += [
                f'"{story}","{method}","q {name}","{who}",{(m + s + k) % 5 + 1}'
                for k, who in enumerate(people)
            ]
    (tmp_path / "r.csv").write_text("\n".join(ratings))
    (tmp_path / "s.csv").write_text("\n".join(scores))
    world = World(tmp_path)
    out = building.folder(world.report)
    command = f"align --ratings {tmp_path}/r.csv --scores {tmp_path}/s.csv"
    options = ["--scale", "1:5", "--out", str(out), "--title", name]
    options += ["--resamples", "50", "--images", "none"]
    assert main([*command.split(), *options]) == 0
    enter(listened, live_server, log_in("sue"))
    url = reverse("report-page", args=[world.trial.slug, world.report.pk])
    listened.goto(live_server.url + url)
    draw_all(listened)
    assert "alert(1)" in listened.inner_text("body")
    listened.goto((out / "report.html").as_uri())
    draw_all(listened)
