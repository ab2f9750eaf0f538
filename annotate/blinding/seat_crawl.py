"""Going to the annotator's seat as somebody who was never invited."""

import logging
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from urllib.parse import urljoin, urlsplit

from django.conf import settings
from django.db import transaction
from django.test import Client, override_settings
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone, translation

from annotate.blinding.findings import LookedAt
from annotate.blinding.page_texts import Piece, read
from annotate.kinds.base import form_field
from annotate.kinds.registry import asks_of_shots, kind_of
from annotate.models import Annotator, Invitation, JoinLink, Purpose, Slot, Study, Unit
from annotate.presentation import slot_view
from annotate.responses.leasing import FIRST_POSITION
from evalcore.models import Output

LANGUAGES = [code for code, _name in settings.LANGUAGES]
FOLLOWED = ("/rate/", "/join/")
PAGES = (
    "entry",
    "consent",
    "instructions",
    "pause",
    "done",
    "warning",
    "second-link",
    "withdraw",
)


@dataclass(frozen=True)
class SeatAnswer:
    """What came back from an address; `language` is that of the page asked for."""

    address: str
    status: int
    headers: Mapping[str, str]
    cookies: tuple[str, ...]
    body: bytes
    language: str = ""

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "")

    @property
    def is_media(self) -> bool:
        return self.content_type.startswith(("image/", "video/"))

    @cached_property
    def pieces(self) -> list[Piece]:
        return read(self.content_type, self.body)


@dataclass
class Visit:
    """What one slot let an annotator fetch."""

    unit: Unit
    shown: dict[str, Output]
    codes: tuple[str, ...]
    pages: list[SeatAnswer] = field(default_factory=list)
    others: list[SeatAnswer] = field(default_factory=list)
    media: list[SeatAnswer] = field(default_factory=list)
    embedded: dict[str, list[str]] = field(default_factory=dict)

    def plain(self, text: str) -> str:
        """Return a text without the link and the slot's code."""
        for code in self.codes:
            text = text.replace(code, "…")
        return text

    def output_at(self, address: str) -> Output | None:
        """Return the output that an address shows, None of a character or a page."""
        return self.shown.get(str(_resolved(address)[1].get("side", "")))


def _resolved(address: str) -> tuple[str, Mapping[str, object]]:
    """Return the name of what an address leads to, and what it is about."""
    try:
        found = resolve(urlsplit(address).path)
    except Resolver404:
        return "media", {}
    return (found.url_name or "media").removeprefix("rate-"), found.kwargs


def group(address: str) -> str:
    """Return what kind of media an address shows: `picture (thumb)`."""
    name, about = _resolved(address)
    rendition = about.get("rendition")
    return f"{name} ({rendition})" if rendition else name


class Seat:
    """A browser without scripts, which counts what it is sent and keeps no cookies."""

    def __init__(self, counts: LookedAt) -> None:
        self.counts = counts
        self.client = Client(
            raise_request_exception=False, SERVER_NAME="localhost", HTTP_ACCEPT="*/*"
        )

    def get(self, address: str, language: str = "en") -> SeatAnswer:
        return self._ask("get", address, language)

    def post(self, address: str, language: str = "en", **data: str) -> SeatAnswer:
        return self._ask("post", address, language, data)

    def send(self, address: str, data: object) -> SeatAnswer:
        """Send JSON, as scripts do."""
        return self._ask("post", address, "en", data, "application/json")

    def _ask(
        self, how: str, address: str, language: str, data: object = None, kind: str = ""
    ) -> SeatAnswer:
        response = getattr(self.client, how)(
            address,
            data or {},
            secure=settings.SECURE_SSL_REDIRECT,
            headers={"accept-language": language},
            **({"content_type": kind} if kind else {}),
        )
        body = b"".join(response) if response.streaming else response.content
        cookies = tuple(
            f"{name}={one.value}"
            for name, one in response.cookies.items()
            if name != settings.CSRF_COOKIE_NAME
        )
        # What a server keeps between requests would make the next answer shorter.
        self.client.cookies.clear()
        answer = SeatAnswer(
            address,
            response.status_code,
            dict(response.headers),
            cookies,
            body,
            language,
        )
        self._count(answer)
        return answer

    def _count(self, answer: SeatAnswer) -> None:
        self.counts.bytes += len(answer.body)
        if answer.content_type.startswith("image/"):
            self.counts.pictures += 1
        elif answer.content_type.startswith("video/"):
            self.counts.videos += 1
        elif answer.content_type.startswith("text/html"):
            self.counts.pages += 1
        else:
            self.counts.others += 1


@contextmanager
def borrowed(study: Study) -> Iterator[None]:
    """Open a study to invented people for a moment; nothing of it stays stored."""
    log = logging.getLogger("django.request")
    level, language = log.level, translation.get_language()
    log.setLevel(logging.CRITICAL)  # refusals are looked at, too
    try:
        # Files themselves are looked at, not what nginx would be told of them.
        with transaction.atomic(), override_settings(MEDIA_ACCEL=""):
            Study.objects.filter(pk=study.pk).update(
                state=Study.State.OPEN, presentation=study.presentation
            )
            yield
            transaction.set_rollback(True)
    finally:
        log.setLevel(level)
        translation.activate(language or settings.LANGUAGE_CODE)


def invent(study: Study) -> Invitation:
    """Return the invitation of somebody who has agreed and may work."""
    now = timezone.now()
    person = Annotator.objects.create(
        study=study,
        name=secrets.token_hex(8),
        state=Annotator.State.ACTIVE,
        consented_at=now,
        instructed_at=now,
        trained_at=now,
    )
    return Invitation.objects.create(annotator=person)


def assign(unit: Unit, person: Annotator, repeat_of: Slot | None = None) -> Slot:
    now = timezone.now()
    is_check = repeat_of is not None or unit.purpose != Purpose.REAL
    return Slot.objects.create(
        study_id=unit.study_id,
        unit=unit,
        purpose=Purpose.REPEAT if repeat_of else unit.purpose,
        repeat_of=repeat_of,
        annotator=person,
        session=0 if unit.purpose == Purpose.TRAINING else 1,
        position=FIRST_POSITION + is_check,
        state=Slot.State.LEASED,
        lease=1,
        lease_until=now + timedelta(hours=1),
        started_at=now,
    )


def visit(study: Study, unit: Unit, seat: Seat) -> Visit:
    """Fetch everything that two assignments and a repeat of one unit lead to."""
    with borrowed(study):
        first, second = invent(study), invent(study)
        slot = assign(unit, first.annotator)
        found = Visit(unit, slot_view.sides(slot), (first.token, slot.code))
        _look(seat, found, slot, first.token)
        _embedded(seat, found, assign(unit, second.annotator), second.token)
        if unit.purpose == Purpose.REAL:
            again = assign(unit, first.annotator, repeat_of=slot)
            _embedded(seat, found, again, first.token)
        _act(seat, found, slot, first.token)
        seat.counts.slots += 1
    return found


def _look(seat: Seat, found: Visit, slot: Slot, token: str) -> None:
    """Fetch the slot's page in each language, and all that it names."""
    address = reverse("rate-slot", args=[token, slot.code])
    asked: dict[str, None] = {}
    for language in LANGUAGES:
        page = seat.get(address, language)
        found.pages.append(page)
        asked.update(dict.fromkeys(followed(page)))
    found.embedded[slot.code] = embedded(found.pages[0])
    around = [reverse(f"rate-{name}", args=[token]) for name in PAGES]
    for named in asked:
        if named == address or named in around:
            continue
        answer = seat.get(named)
        if answer.status == 405:
            answer = seat.send(named, {})
        (found.media if answer.is_media else found.others).append(answer)


def _embedded(seat: Seat, found: Visit, slot: Slot, token: str) -> None:
    page = seat.get(reverse("rate-slot", args=[token, slot.code]))
    found.embedded[slot.code] = embedded(page)


def _act(seat: Seat, found: Visit, slot: Slot, token: str) -> None:
    """Answer, submit, and look again at what was submitted."""
    at = [token, slot.code]
    rows, form = _answers(slot)
    found.others.append(seat.send(reverse("rate-save", args=at), {"rows": rows}))
    submit = reverse("rate-submit", args=at)
    found.others.append(seat.post(submit, **form, seconds="60"))
    found.others.append(seat.get(reverse("rate-slot", args=at)))
    if slot.purpose == Purpose.TRAINING:
        feedback = reverse("rate-feedback", args=at)
        found.others += [seat.get(feedback, language) for language in LANGUAGES]


def _answers(slot: Slot) -> tuple[list[dict[str, object]], dict[str, str]]:
    """Return an answer to everything, as scripts send it and as a form holds it."""
    shots = [shot.number for shot in slot.unit.story.shots.all()]
    if not asks_of_shots(slot.study):
        shots = []
    asked = [
        (question, kind_of(question).example(slot, question))
        for question in slot.questions
        if not kind_of(question).of_shots
    ]
    sent: list[dict[str, object]] = [
        {"kind": "answer", "id": q.key, "key": q.key, "question": q.key, "value": value}
        for q, value in asked
    ]
    sent += [
        {"kind": "answer", "id": n, "key": n, "shot": n, "ticked": [], "looked": True}
        for n in shots
    ]
    form = {form_field(question): value for question, value in asked}
    return sent, form | {f"looked:{n}": "on" for n in shots}


def visit_pages(study: Study, seat: Seat) -> list[tuple[SeatAnswer, str]]:
    """Return the pages around the slots, each with the link it was reached by."""
    with borrowed(study):
        invitation = invent(study)
        link = JoinLink.objects.create(study=study, most=2)
        token, person = invitation.token, invitation.annotator
        named = [reverse(f"rate-{name}", args=[token]) for name in PAGES]
        named += [reverse("rate-slot", args=[token, "gone"])]
        found = [(seat.get(a, code), token) for a in named for code in LANGUAGES]
        shown = dict.fromkeys(a for page, _token in found for a in embedded(page))
        found += [(seat.get(address), token) for address in shown]
        join = reverse("join", args=[link.token])
        found += [(seat.get(join, code), link.token) for code in LANGUAGES]
        for state in (Annotator.State.PAUSED, Annotator.State.FAILED):
            Annotator.objects.filter(pk=person.pk).update(state=state)
            found.append((seat.get(named[0]), token))
        Annotator.objects.filter(pk=person.pk).update(state=Annotator.State.ACTIVE)
        Study.objects.filter(pk=study.pk).update(state=Study.State.CLOSED)
        found.append((seat.get(named[0]), token))
        Invitation.objects.filter(pk=invitation.pk).update(revoked_at=timezone.now())
        found.append((seat.get(named[0]), token))
        found.append((seat.get(reverse("rate-entry", args=["unknown"])), "unknown"))
    return found


def followed(page: SeatAnswer) -> Iterator[str]:
    """Yield the annotator's addresses that a page names."""
    for piece in page.pieces:
        if piece.address and (address := inside(page.address, piece.text)):
            yield address


def embedded(page: SeatAnswer) -> list[str]:
    """Return the annotator's addresses that a page loads by itself."""
    loaded = (piece for piece in page.pieces if piece.embedded)
    found = (inside(page.address, piece.text) for piece in loaded)
    return [address for address in found if address]


def inside(page: str, address: str) -> str:
    """Return an address as the server knows it; "" of pages of others."""
    parts = urlsplit(urljoin(page, address))
    if not parts.path.startswith(FOLLOWED):
        return ""
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
