"""Accessibility and layout of all pages of the demo, found by following links.

Languages and themes are independent, so each is checked once.
"""

from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone

from annotate.access import permissions
from annotate.assignment import choosing
from annotate.models import Annotator, Invitation, JoinLink
from fixtures import demo
from tests.browser.accessibility import violations
from tests.browser.page_layout import faults

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(1200),
]

# The demo's manager follows links from these pages.
STARTS = ("/studies/", f"/studies/{demo.CROWD}/", f"/studies/{demo.LIKERT}/reports/")
# Training and warnings are checked in test_quality, and reports in test_report, because
# axe takes minutes for their figures.
PAGES = {
    "annotator-list",
    "event-list",
    "glossary",
    "home",
    "join",
    "login",
    "metric-list",
    "metric-values",
    "output-detail",
    "rate-consent",
    "rate-done",
    "rate-instructions",
    "rate-pause",
    "report-list",
    "run-detail",
    "setup-form",
    "setup-start",
    "slot-detail",
    "slot-list",
    "study-detail",
    "study-extend",
    "study-list",
    "study-preview",
    "study-recruitment",
    "study-redistribute",
    "study-scoring",
    "study-settings",
    "study-version",
    "view-list",
}
SEATS = (demo.LIKERT, demo.PAIRWISE, demo.VIDEO)
NOWHERE = "/nothing-here/"
LOOKS = {"zh-hans": "light", "en": "dark"}
# The documentation is in English only, once it is built.
NOT_FOLLOWED = ("logout", "report-page", "documentation", "documentation-file")


def name_of(address: str) -> str:
    try:
        return resolve(urlsplit(address).path).url_name or ""
    except Resolver404:
        return ""


def links(page) -> list[str]:
    found = page.eval_on_selector_all(
        "a[href]:not([download])", "(links) => links.map((link) => link.href)"
    )
    here = urlsplit(page.url).netloc
    return [link for link in found if urlsplit(link).netloc == here]


def is_page(response) -> bool:
    is_file = "attachment" in response.headers.get("content-disposition", "")
    kind = response.headers.get("content-type", "")
    is_meant = response.status == 200 or urlsplit(response.url).path == NOWHERE
    return kind.startswith("text/html") and is_meant and not is_file


class Looker:
    """Checker of pages in both languages and themes, and at several widths."""

    def __init__(self, page, live_server) -> None:
        self.page = page
        self.home = live_server.url
        self.seen: dict[str, str] = {}
        self.wrong: list[tuple[str, str, str, str]] = []

    def look(self, address: str, kind: str = "") -> bool:
        """Check one page; return False if it is missing or known already."""
        parts = urlsplit(address)
        response = self.page.context.request.get(
            f"{self.home}{parts.path}?{parts.query}"
        )
        path = response.url  # after redirects
        name = kind or name_of(path) or address
        if name in self.seen or not is_page(response):
            return False
        for language, theme in LOOKS.items():
            self.page.context.add_cookies(
                [{"name": "django_language", "value": language, "url": self.home}]
            )
            self.page.goto(path)
            if self.page.locator("#annotator").count():
                self.page.wait_for_selector("html.ready")
            shown = self.page.get_attribute("html", "lang")
            assert shown.lower() == language, (address, shown)
            self.page.emulate_media(color_scheme=theme)
            found = violations(self.page)
            if not self.page.locator("#annotator").count():
                found += faults(self.page)  # test_layout measures annotators' pages
            self.wrong += [(address, f"{language} {theme}", *one) for one in found]
        self.seen[name] = address
        return True


def log_in(page, live_server, name):
    page.goto(live_server.url + reverse("login"))
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", permissions.PASSWORD)
    page.click("main button")
    page.wait_for_url(lambda url: "/login/" not in url)


def free_seat(slug) -> Annotator:
    """Return the free annotator, ready to begin."""
    seats = Annotator.objects.filter(study__slug=slug, is_simulated=False)
    now = timezone.now()
    seats.update(state=Annotator.State.ACTIVE, consented_at=now, instructed_at=now)
    return seats.select_related("study").get()


def address(annotator, page: str, *args: str) -> str:
    token = Invitation.objects.get(annotator=annotator).token
    return reverse(f"rate-{page}", args=[token, *args])


def visit(looker, annotator, *pages):
    for page in pages:
        looker.look(address(annotator, page))


def follow_links(looker, addresses: list[str]) -> None:
    """Check one page per route reached by links."""
    done = set()
    while addresses:
        address = addresses.pop(0)
        name = name_of(address)
        if not name or name in done or name in NOT_FOLLOWED:
            continue
        done.add(name)
        if looker.look(address):
            addresses += links(looker.page)


@pytest.mark.slow
@pytest.mark.page_errors(f"404 .*{NOWHERE}")
def test_pages_are_accessible_and_fit_in_both_languages_and_themes(
    page, live_server, monkeypatch
):
    monkeypatch.setattr(demo, "LANGUAGES", ())  # published scores have no page
    demo.build()
    looker = Looker(page, live_server)
    looker.look("/login/")
    with monkeypatch.context() as only_here:
        only_here.setattr(settings, "DEMO", True)  # its password opens nothing else
        log_in(page, live_server, "manager")
    follow_links(looker, [live_server.url + start for start in STARTS])
    page.goto(live_server.url + reverse("setup-start"))
    page.click(".actions button")
    looker.look(page.url)
    page.context.clear_cookies()
    looker.look("/")
    seats = Annotator.objects.filter(study__slug=demo.LIKERT)
    free = seats.get(is_simulated=False)
    visit(looker, free, "entry")
    free.consented_at = free.instructed_at = timezone.now()
    free.save()
    visit(looker, free, "instructions")
    visit(looker, seats.filter(is_simulated=True).first(), "done")
    looker.look(reverse("join", args=[JoinLink.objects.first().token]))
    looker.look(NOWHERE)
    for slug in SEATS:
        seat = free_seat(slug)
        code = choosing.next_for(seat).slot.code
        looker.look(address(seat, "slot", code), slug)
    visit(looker, seat, "pause")
    assert not looker.wrong
    assert set(looker.seen) >= {*PAGES, *SEATS, NOWHERE}
