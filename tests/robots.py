"""Sessions of annotators by the client, without a network between."""

import httpx2
from django.test import Client as Requests

from annotate.models import Annotator
from plumbline.client import Session

ADDRESS = "http://testserver"


class InProcess(httpx2.BaseTransport):
    """Sends requests by Django's test client, inside the test's transaction."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = dict(request.headers)
        answer = Requests(raise_request_exception=True).generic(
            request.method,
            request.url.raw_path.decode(),
            request.read(),
            headers.pop("content-type", ""),
            headers=headers,
        )
        return httpx2.Response(
            answer.status_code, headers=dict(answer.headers), content=answer.getvalue()
        )


def robot(person: Annotator, **how) -> Session:
    token = person.invitation.token
    return Session(ADDRESS, token, transport=InProcess(), **how)


def visitor(link, **about) -> Session:
    """Return the session of somebody who joins by a public link."""
    return Session.join(ADDRESS, link.token, transport=InProcess(), **about)


def ready(session: Session) -> dict:
    """Agree and read the instructions; return what is next."""
    session.consent(session.standing()["consent_version"])
    return session.confirm_instructions()


def good_answers(story: dict) -> dict:
    """Answer every question of a story with its last option."""
    numbers = [str(shot["number"]) for shot in story["shots"]]
    if any(question["of_shots"] for question in story["questions"]):
        return {"ticked": {number: [] for number in numbers}}
    return {
        question["key"]: question["options"][-1]["value"]
        for question in story["questions"]
    }
