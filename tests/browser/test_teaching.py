"""Instructions and examples, by keyboard and touch."""

import pytest
from django.urls import reverse

from annotate.models import Invitation
from annotate.people import inviting
from annotate.studies import lifecycle
from annotate.studies.planning import plan_study
from annotate.studies.study_file import load_definition
from tests.browser.accessibility import violations
from tests.browser.reels import make_drawn_reels
from tests.factories import make_benchmark
from tests.working import join

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study():
    crowd = load_definition("vistorybench-crowd")
    benchmark = make_benchmark(stories=4, shots=4)
    made = plan_study(crowd, benchmark=benchmark, slug="crowd")
    return lifecycle.launch(made)


@pytest.fixture
def examples(page):
    """Return the pictures of examples that the page requested."""
    asked = []
    page.on("request", lambda r: asked.append(r.url) if "/example/" in r.url else None)
    return asked


def sit_down(page, live_server, study):
    """Open the first story of an annotator who has read the instructions."""
    person = join(study, trained_at="2025-01-01T00:00Z")
    token = Invitation.objects.get(annotator=person).token
    page.goto(live_server.url + reverse("rate-pause", args=[token]))
    page.click("main button.primary")
    page.wait_for_selector("html.ready")


def test_instructions_show_good_and_bad_examples(page, live_server, study, examples):
    token = inviting.invite_new(study).token
    page.goto(live_server.url + reverse("rate-consent", args=[token]))
    page.click("main button.primary")
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.locator(".example").last.scroll_into_view_if_needed()
        page.wait_for_function(
            "() => [...document.querySelectorAll('.example img')]"
            ".every((image) => image.complete && image.naturalWidth)"
        )
        assert page.evaluate(
            "() => document.documentElement.scrollWidth <= window.innerWidth"
        )
        assert violations(page) == []
    assert len(set(examples)) == 3 * 2 * 4
    assert page.locator(".example").first.inner_text().count("another story") == 2


@pytest.mark.slow
def test_examples_on_story_pages_load_when_opened(page, live_server, study, examples):
    sit_down(page, live_server, study)
    page.wait_for_function("() => Number(document.body.dataset.ahead) >= 2")
    here = page.url
    page.keyboard.press("a")
    page.wait_for_selector("text=You have seen all shots")
    for key in ("3", "3", "3", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(lambda url: url != here)
    page.wait_for_load_state("networkidle")
    assert examples == []
    page.focus("fieldset details summary")
    page.keyboard.press("Space")
    page.wait_for_function(
        "() => [...document.querySelectorAll('[open] .example img')]"
        ".every((image) => image.complete && image.naturalWidth)"
    )
    assert len(examples) == 8
    assert violations(page) == []
    page.keyboard.press("Space")
    assert not page.is_visible(".example >> nth=0")


@pytest.fixture
def films(tmp_path):
    pairs = load_definition("storybench-side-by-side")
    benchmark = make_drawn_reels(tmp_path, ["Alder", "Birch"], shots=3, seconds=0.5)
    study = plan_study(pairs, benchmark=benchmark, slug="films", annotators=3)
    return lifecycle.launch(study)
