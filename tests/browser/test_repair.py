"""A manager corrects a text while an annotator works, and deletes a study."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate.coverage import snapshots
from annotate.models import Annotator, Study, User
from annotate.people import inviting
from annotate.studies import lifecycle
from annotate.studies.planning import plan_study
from evalcore.models import BenchmarkMember
from tests.browser.accessibility import violations_of_both_themes
from tests.browser.test_dashboard import address, log_in
from tests.factories import make_benchmark, picture_bytes
from tests.people import answer_everything
from tests.untrained import untrained

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study():
    study = plan_study(
        untrained("vistorybench-user-study"),
        benchmark=make_benchmark(stories=2, shots=2),
        slug="pilot",
        annotators=2,
        redundancy=2,
    )
    return lifecycle.launch(study)


def owns_benchmark(study):
    BenchmarkMember.objects.create(
        benchmark=study.benchmark, user=User.objects.get(), role="owner"
    )


def invited(study) -> str:
    (invitation,) = inviting.invite(study, count=1)
    now = timezone.now()
    Annotator.objects.filter(pk=invitation.annotator.pk).update(
        state="active", consented_at=now, instructed_at=now
    )
    return reverse("rate-entry", args=[invitation.token])


@pytest.mark.slow
def test_corrected_text_reaches_the_annotator(page, live_server, study):
    link = live_server.url + invited(study)
    wrong, right = "recognisable people", "recognizable people"
    page.goto(link)
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("main")).to_contain_text(wrong)
    story = page.url
    snapshots.refresh(study)
    log_in(page, live_server, study)
    page.goto(address(live_server, study, "study-settings"))
    page.get_by_role("link", name="Correct texts").click()
    field = page.locator("[name='questions.character_identification.text.en']")
    field.fill(field.input_value().replace(wrong, right))
    page.get_by_role("button", name="Save the corrections").click()
    expect(page.get_by_text("1 text was corrected")).to_be_visible()
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert violations_of_both_themes(page) == []
    page.goto(story)
    expect(page.locator("main")).to_contain_text(right)


@pytest.mark.slow
@pytest.mark.page_errors("422")
def test_study_is_renamed_archived_and_deleted(page, live_server, study):
    answer_everything(study)
    lifecycle.close(study)
    log_in(page, live_server, study)
    owns_benchmark(study)
    page.goto(address(live_server, study, "study-settings"))
    page.get_by_label("Title").fill("Second pilot")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_text("called “Second pilot” now")).to_be_visible()
    page.get_by_role("button", name="Archive", exact=True).click()
    expect(page.get_by_role("button", name="Take out of the archive")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert violations_of_both_themes(page) == []
    page.get_by_role("link", name="Delete").click()
    page.get_by_label("Type “pilot” to confirm").fill("pilo")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Type the web address name “pilot”")).to_be_visible()
    assert violations_of_both_themes(page) == []
    page.get_by_label("Type “pilot” to confirm").fill("pilot")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The study pilot was deleted.")).to_be_visible()
    assert not Study.objects.exists()


@pytest.mark.slow
@pytest.mark.page_errors("404")
def test_replaced_picture_reaches_the_annotator(page, live_server, study, tmp_path):
    """A manager replaces a picture while an annotator rates the story."""
    link = live_server.url + invited(study)
    page.goto(link)
    page.get_by_role("button", name="Continue").click()
    page.wait_for_selector("html.ready")
    story = page.url
    page.keyboard.press("3")
    expect(page.locator("#save-state")).to_contain_text("Saved")
    (slot,) = study.slots.filter(state="leased")
    output = slot.unit.output_a
    manager = page.context.new_page()
    log_in(manager, live_server, study)
    owns_benchmark(study)
    detail = reverse("slot-detail", args=[study.slug, slot.code])
    manager.goto(live_server.url + detail)
    manager.get_by_role("link", name=output.method.name, exact=True).click()
    manager.get_by_role("link", name="Replace a picture").click()
    right = tmp_path / "right.png"
    right.write_bytes(picture_bytes("right", (120, 80)))
    manager.get_by_label("Shot 2").check()
    field = manager.get_by_label("New file")
    large = {"name": "large.png", "mimeType": "image/png", "buffer": bytes(20 * 2**20)}
    field.set_input_files(large)
    message = "one => one.validationMessage"
    assert field.evaluate(message) == "This file is too large."
    field.set_input_files(right)
    assert field.evaluate(message) == ""
    assert violations_of_both_themes(manager) == []
    manager.get_by_role("button", name="Compare").click()
    expect(manager.get_by_text("1 rating that was begun starts again")).to_be_visible()
    for width in (1440, 390):
        manager.set_viewport_size({"width": width, "height": 900})
        assert violations_of_both_themes(manager) == []
        assert manager.evaluate("document.documentElement.scrollWidth") <= width
    manager.get_by_role("button", name="Replace the picture").click()
    expect(manager.locator("main")).to_contain_text("Replaced.")
    page.bring_to_front()
    page.keyboard.press("2")
    expect(page.locator("#problem")).to_contain_text(
        "picture of this story was replaced"
    )
    page.reload()
    page.get_by_role("link", name="Continue").click()
    page.get_by_role("button", name="Continue").click()
    page.wait_for_selector("html.ready")
    assert page.url != story
    assert study.slots.get(state="leased").unit == slot.unit
