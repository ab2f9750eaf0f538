"""A stand-in for Prolific: participants whose browsers send its documented requests.

Prolific fills in PROLIFIC_PID, STUDY_ID and SESSION_ID of the study's link, gives each
attempt of a person a new SESSION_ID, and takes codes at /submissions/complete?cc=.
(docs.prolific.com: The study object; Submission object.)
"""

import re
import secrets
from dataclasses import dataclass, field

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.models import Annotator, Invitation, JoinLink, Study
from annotate.people import joining, outcomes
from tests.working import LIKERT, Browser, always, make_planned, work

RECRUITED = f"""{LIKERT}
assignment: open
session_size: 2
cap: 2
recruitment:
  platform: prolific
  require_id: true
  minutes: 12
  pay_per_hour: 9
  currency: GBP
"""
HANDS_IN = re.compile(
    r'href="https://app\.prolific\.com/submissions/complete\?cc=(\w+)"'
)


def recruiting_study(
    most: int, text: str = RECRUITED, **plan
) -> tuple[Study, JoinLink]:
    study = make_planned(text, **plan)
    return study, joining.make_link(study, most=most)


def code_of(study: Study, outcome: str) -> str:
    return outcomes.ending(study, outcomes.Outcome(outcome)).code


def places_of(link: JoinLink) -> tuple[int, int]:
    """Return the counter of a link, and the number of people with a place."""
    link.refresh_from_db()
    return link.joined, link.people.count()


@dataclass
class Participant:
    """Participant of Prolific with a browser and an attempt."""

    link: JoinLink
    pid: str = field(default_factory=lambda: secrets.token_hex(12))
    session: str = field(default_factory=lambda: secrets.token_hex(12))
    client: Client = field(default_factory=Client)
    page: str = ""
    status: int = 0

    @property
    def address(self) -> str:
        query = {
            "PROLIFIC_PID": self.pid,
            "STUDY_ID": "5e9",
            "SESSION_ID": self.session,
        }
        return reverse("join", args=[self.link.token], query=query)

    @property
    def annotator(self) -> Annotator | None:
        return self.link.study.annotators.filter(external_id=self.pid).first()

    @property
    def handed_in(self) -> str:
        """Return the code that the button on the page hands in."""
        found = HANDS_IN.search(self.page)
        return found[1] if found else ""

    @property
    def submitted_session(self) -> str:
        """Return the attempt that the platform pays: the last one."""
        return self.session

    def open(self, address: str = "") -> str:
        return self._see(self.client.get(address or self.address, follow=True))

    def press(self, address: str = "", **form: str) -> str:
        return self._see(self.client.post(address or self.address, form, follow=True))

    def _see(self, response) -> str:
        self.page, self.status = response.content.decode(), response.status_code
        return self.page

    def join(self) -> str:
        self.open()
        if "Take part" in self.page:
            self.press()
            self._now()
        return self.page

    def lose_reply(self) -> None:
        """Take part, but never hear of it: only the first cookie stays."""
        self.open()
        before = self.client.cookies.copy()
        self.client.post(self.address)
        self.client.cookies = before
        self._now()

    def _now(self) -> None:
        """Date an invitation by the clock of the test, which its default ignores."""
        new = Invitation.objects.filter(annotator__external_id=self.pid)
        new.filter(annotator__consented_at=None).update(created_at=timezone.now())

    @property
    def browser(self) -> Browser:
        person = self.annotator
        assert person is not None
        return Browser(self.client, person)

    def agree(self) -> None:
        self.browser.start()

    def decline(self) -> str:
        return self.press(self.browser.address("consent"), decline="1")

    def rate(self, most: int = 2) -> str:
        person = self.annotator
        assert person is not None
        work(
            Annotator.objects.select_related("study").get(pk=person.pk),
            always("3"),
            most,
        )
        return self.open(self.browser.address("entry"))

    def on_another_device(self, *, session: str = "") -> "Participant":
        return type(self)(self.link, self.pid, session or self.session)
