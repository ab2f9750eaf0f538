"""A manager without a shell: from a zip to a report and a payment file."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate import tasks
from annotate.models import JoinLink, Report, Study, Upload
from annotate.pages.manage import uploads
from annotate.reports import building
from evalcore.models import MetricRun
from evalcore.scoring import metric_runs
from evalcore.serving import first_start
from tests.annotate.people.prolific import Participant
from tests.annotate.uploads.conftest import pictures, zipped
from tests.browser.hands import DESK, PHONE
from tests.browser.waiting import wait_until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]

METHODS = ("Alder", "Birch", "Cedar")
FILES = [f"{m}/{s}/shot_0{n}.png" for m in METHODS for s in "abcdef" for n in (1, 2)]
SITTING = 8  # 7 stories and a check
# The way took 29 presses and 9 fields when this was written.
MOST_PRESSES, MOST_FIELDS = 36, 14


class Manager:
    """Presses and types as a person does, and counts."""

    def __init__(self, page, has_touch: bool) -> None:
        self.page, self.has_touch = page, has_touch
        self.presses = self.fields = self.pages = 0
        page.on("framenavigated", self._count_page)

    def _count_page(self, frame) -> None:
        self.pages += frame == self.page.main_frame

    def press(self, what: str) -> None:
        control = self.page.locator(f"main {what}").locator("visible=true").first
        control.scroll_into_view_if_needed()
        control.tap() if self.has_touch else control.click()
        self.presses += 1

    def type(self, name: str, text: str) -> None:
        self.page.fill(f"[name='{name}']", text)
        self.fields += 1

    def sees(self, text: str) -> None:
        expect(self.page.locator("main")).to_contain_text(text)
        width = self.page.evaluate("document.documentElement.scrollWidth")
        assert width <= self.page.viewport_size["width"], f"{text}: {width} px wide"


@pytest.fixture
def workers(monkeypatch):
    """Let this process do at once what workers do of uploads."""
    monkeypatch.setattr(uploads, "wake_uploads", tasks.work_on_uploads)


@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["1440 px", "390 px"])
def test_manager_goes_from_zip_to_report_and_payment_file(
    chromium, live_server, tmp_path, workers, screen
):
    context = chromium.new_context(**screen)
    page = context.new_page()
    alice = Manager(page, has_touch=screen is PHONE)

    # The account, and the address of links.
    token = first_start.new_token()
    page.goto(live_server.url + reverse("first-start", args=[token]))
    alice.type("username", "alice")
    alice.type("password1", "walnut-lamp-9")
    alice.type("password2", "walnut-lamp-9")
    alice.type("address", "study.example.org")
    alice.press("button:has-text('Create account')")
    alice.sees("Your first study")

    # The pictures.
    (tmp_path / "letter.pdf").write_bytes(b"no picture")
    (tmp_path / "outputs.zip").write_bytes(zipped(pictures(*FILES)))
    alice.press("a:has-text('Add pictures')")
    _choose(alice, tmp_path / "letter.pdf")
    alice.sees("neither a zip nor a table")
    alice.press("button:has-text('Choose other files')")
    _choose(alice, tmp_path / "outputs.zip")
    expect(page.locator(".previews img").first).to_be_visible()
    page.reload()
    alice.press("button:has-text('Import')")
    alice.sees("Everything is imported")
    assert Upload.objects.get(name="outputs.zip").is_imported
    alice.press("a:has-text('Set up a study')")

    # The study: no web address name needs to be invented.
    alice.press("label:has-text('ViStoryBench with a crowd')")
    alice.press("button:has-text('Continue')")
    expect(page.locator("#summary")).to_contain_text("annotator hours")
    alice.type("redundancy", "2")
    alice.press("summary:has-text('Goals')")
    alice.type("goals.top", "1")
    alice.press("summary:has-text('Recruitment')")
    page.select_option("[name='recruitment.platform']", "prolific")
    alice.type("recruitment.minutes", "12")
    alice.type("recruitment.pay_per_hour", "9")
    alice.type("recruitment.currency", "GBP")
    with context.expect_page() as opened:
        alice.press("button:has-text('Preview the annotator')")
    opened.value.wait_for_selector("html.ready")
    opened.value.close()
    alice.press(".setup-buttons button:has-text('Create draft')")
    page.wait_for_url("**/studies/vistorybench-with-a-crowd/")
    alice.sees("nobody can answer yet")

    # Launch, and the link for Prolific.
    alice.press(".alert button:has-text('Launch')")
    alice.sees("nobody has a link yet")
    alice.press(".alert a:has-text('Invite people')")
    alice.sees("Order")
    alice.press("button:has-text('Create link')")
    alice.press("#join-links [data-copy]")
    address = page.locator("#join-links .link-field").input_value()
    assert address.startswith("https://study.example.org/join/")
    assert "PROLIFIC_PID" in address

    # Six people come; two of them vanish.
    link = JoinLink.objects.get()
    people = [_taking_part(link, most) for most in (SITTING,) * 4 + (3, 1)]
    study = Study.objects.get()
    finished = {one.pid for one in people if one.handed_in}
    alice.press("a:has-text('Progress')")
    alice.sees("6 people")
    alice.sees("Do now")

    # Pay: the file names those who are approved, and nobody else.
    alice.press("a:has-text('People and pay')")
    alice.press(".people-filters a:has-text('finished')")
    alice.press("#pay label:has-text('All')")
    alice.press("button:has-text('Approve')")
    alice.sees("approved")
    with page.expect_download() as download:
        alice.press("a:has-text('IDs to approve')")
    paid = set(download.value.path().read_text().split())
    assert paid == finished

    # The end: closed, a report, the ratings.
    alice.press("a:has-text('Settings')")
    alice.press("summary:has-text('Close')")
    alice.press("button:has-text('Close the study')")
    alice.sees("The study is closed")
    for run in MetricRun.objects.filter(finished_at=None):
        metric_runs.run(run.pk)
    alice.press("a:has-text('Reports')")
    alice.press("button:has-text('Build report')")
    wait_until(page, Report.objects.exists, True)
    building.build_report(Report.objects.get().pk)
    page.reload()
    alice.press(f"a[href$='/reports/{Report.objects.get().pk}/']")
    expect(page.locator("body")).to_contain_text(re.compile("Does|agree"))
    csv = page.request.get(live_server.url + f"/studies/{study.slug}/ratings.csv")
    assert csv.text().count("\n") > 80
    print(
        f"{alice.presses} presses, {alice.fields} fields, {alice.pages} pages "
        f"at {page.viewport_size['width']} px"
    )
    assert alice.presses <= MOST_PRESSES
    assert alice.fields <= MOST_FIELDS
    context.close()


def _choose(alice: Manager, path) -> None:
    with alice.page.expect_file_chooser() as opened:
        alice.press("button:has-text('Choose a zip or table')")
    opened.value.set_files(path)
    alice.page.wait_for_url("**/uploads/*/")


def _taking_part(link: JoinLink, most: int) -> Participant:
    """Return somebody who rates so many stories and, after a sitting, has the code."""
    person = Participant(link)
    person.join()
    # Training is left out: it has tests of its own.
    link.study.annotators.filter(external_id=person.pid).update(
        trained_at=timezone.now()
    )
    person.agree()
    person.rate(most)
    if most == SITTING:
        person.press(person.browser.address("stop"))
        assert person.handed_in
    return person
