"""Uploads in the browser: a folder by keyboard, an interruption, a broken zip."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate import tasks
from annotate.models import Upload, User
from annotate.pages.manage import uploads
from annotate.uploads import working
from evalcore.models import Benchmark, Frame
from tests.annotate.uploads.conftest import pictures, zipped
from tests.browser.accessibility import violations_of_both_themes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FILES = pictures(*(f"{m}/fox/shot_0{n}.png" for m in "AB" for n in (1, 2, 3)))


@pytest.fixture
def folder(tmp_path):
    """Return a folder of two methods."""
    for name, data in FILES.items():
        path = tmp_path / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "mine"


@pytest.fixture
def benchmarks(page, live_server):
    """Return the page of benchmarks, which has none yet."""
    User.objects.create_user("alice", password="not-a-secret", is_superuser=True)
    page.goto(live_server.url + reverse("login"))
    page.fill("input[name=username]", "alice")
    page.fill("input[name=password]", "not-a-secret")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/login/" not in url)
    page.goto(live_server.url + reverse("benchmark-list"))
    return page


def press(page, text: str) -> None:
    page.focus(f"main :is(a, button, summary):has-text('{text}')")
    page.keyboard.press("Enter")


def choose(page, button: str, *files) -> None:
    with page.expect_file_chooser() as opened:
        press(page, button)
    opened.value.set_files(files[0] if len(files) == 1 else list(files))


def test_folder_becomes_a_study_by_keyboard(benchmarks, folder):
    page = benchmarks
    press(page, "Add pictures and stories")
    page.wait_for_url("**/uploads/")
    assert violations_of_both_themes(page) == []
    choose(page, "Choose a folder", folder)
    page.wait_for_url("**/uploads/*/")
    expect(page.locator("main")).to_contain_text("Waiting for a worker")
    working.work_on(Upload.objects.get().pk)
    expect(page.locator(".previews img")).to_have_count(6)  # by itself
    page.wait_for_function(
        "() => [...document.querySelectorAll('.previews img')]"
        ".every((one) => one.naturalWidth)"
    )
    assert violations_of_both_themes(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert violations_of_both_themes(page) == []
    press(page, "Import")
    expect(page.locator("main")).to_contain_text("Waiting for a worker")
    working.work_on(Upload.objects.get().pk)
    press(page, "Set up a study")
    page.wait_for_url("**/setup/?benchmark=mine")
    expect(page.locator("input[value=mine]")).to_be_checked()
    assert Frame.objects.filter(media__isnull=False).count() == 6


@pytest.mark.slow
@pytest.mark.page_errors("Failed to load resource")
def test_interrupted_upload_goes_on(benchmarks, folder, monkeypatch):
    page = benchmarks
    monkeypatch.setattr(uploads, "wake_uploads", tasks.work_on_uploads)
    page.goto(page.url.replace("benchmarks", "uploads"))
    # The first part of 1,000 bytes arrives; then the network is gone.
    page.route("**/upload.js", small_parts)
    page.reload()
    arrived = []

    def one_part_only(route):
        arrived.append(route.request.url)
        route.continue_() if len(arrived) == 1 else route.abort()

    page.route("**/part/**", one_part_only)
    choose(page, "Choose a folder", folder)
    expect(page.locator("#upload-status")).to_contain_text("No connection")
    assert Upload.objects.get().received == 1000
    page.once("dialog", lambda dialog: dialog.accept())
    page.goto(page.url)
    page.unroute("**/part/**")
    expect(page.locator("main")).to_contain_text("Choose the same files again")
    choose(page, "Choose a folder", folder)
    expect(page.locator(".previews img")).to_have_count(6)
    assert Upload.objects.get().is_previewed


def small_parts(route) -> None:
    script = route.fetch().text().replace("2 ** 19", "1000").replace("2 ** 17", "1000")
    route.fulfill(body=script, content_type="text/javascript")


@pytest.mark.slow
def test_unreadable_file_can_be_left_out(benchmarks, tmp_path, monkeypatch):
    page = benchmarks
    monkeypatch.setattr(uploads, "wake_uploads", tasks.work_on_uploads)
    path = tmp_path / "mine.zip"
    path.write_bytes(zipped(FILES | {"A/fox/shot_02.png": b"<script>"}))
    page.set_viewport_size({"width": 390, "height": 844})
    press(page, "Add pictures and stories")
    page.wait_for_url("**/uploads/")
    choose(page, "Choose a zip or table", path)
    expect(page.locator("main")).to_contain_text("1 problem stands in the way")
    assert violations_of_both_themes(page) == []
    page.focus("[name=skip]")
    page.keyboard.press("Space")
    press(page, "Check again")
    expect(page.locator("main")).to_contain_text("Left out, because")
    page.fill("[name=title]", "Foxes <b>")
    press(page, "Import")
    expect(page.locator("main")).to_contain_text("imported into “Foxes <b>”")
    assert Benchmark.objects.get().slug == "foxes-b"
