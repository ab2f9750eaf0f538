"""A stand-in for Mechanical Turk: workers whose browsers send its documented requests.

Mechanical Turk adds assignmentId, hitId, workerId and turkSubmitTo to the address of an
ExternalQuestion. In a preview, assignmentId is ASSIGNMENT_ID_NOT_AVAILABLE. At the end,
the page posts assignmentId and at least one other field to /mturk/externalSubmit.
(docs.aws.amazon.com: Amazon Mechanical Turk API Reference, ExternalQuestion.)
"""

import re
from dataclasses import dataclass

from django.urls import reverse

from tests.annotate.people.prolific import RECRUITED, Participant

MTURK = RECRUITED.replace("platform: prolific", "platform: mturk")
HIT = "3XCC1ODXDLBYH0EXAMPLE00HIT0001"
SANDBOX = "https://workersandbox.mturk.com"
POSTS = re.compile(
    r'<form method="post" action="https://[a-z.]+\.mturk\.com/mturk/externalSubmit">'
    r"(.*?)</form>",
    re.DOTALL,
)
FIELD = re.compile(r'name="(\w+)" value="([^"]*)"')


@dataclass
class Worker(Participant):
    """Worker of Mechanical Turk with a browser and an assignment."""

    hit: str = HIT
    server: str = SANDBOX

    @property
    def address(self) -> str:
        query = {
            "assignmentId": self.session,
            "hitId": self.hit,
            "workerId": self.pid,
            "turkSubmitTo": self.server,
        }
        return reverse("join", args=[self.link.token], query=query)

    @property
    def preview(self) -> str:
        return self.address.replace(self.session, "ASSIGNMENT_ID_NOT_AVAILABLE")

    @property
    def posted(self) -> dict[str, str]:
        """Return the fields that the button on the page posts to Mechanical Turk."""
        found = POSTS.search(self.page)
        return dict(FIELD.findall(found[1])) if found else {}

    @property
    def handed_in(self) -> str:
        return self.posted.get("code", "")

    @property
    def submitted_session(self) -> str:
        return self.posted["assignmentId"]
