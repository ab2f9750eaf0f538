"""Crawl of annotators' pages as a synthetic user."""

import html
import json
import logging
import re
import secrets
from collections import Counter
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

from annotate.kinds.base import form_field
from annotate.kinds.registry import asks_of_shots, kind_of
from annotate.models import Annotator, Invitation, JoinLink, Purpose, Slot, Study, Unit
from annotate.presentation import slot_view
from annotate.responses.leasing import FIRST_POSITION
from evalcore.models import Output

LANGUAGES = [code for code, _name in settings.LANGUAGES]
FOLLOWED = ("/rate/", "/join/")
# An attribute of HTML, or a value of JSON, that is an address below the server's own.
ADDRESS = re.compile(r"""([\w-]{0,60})=?\s*"(/[^"\s]+)""")
PAGES = ("entry", "consent", "instructions", "pause", "done", "warning", "withdraw")
# What an address may contain: its link, and the position of a picture.
PLACED = {"token", "code", "side", "number"}
# Labels for counting responses, by the first word of their type.
COUNTED = {"image": "pictures", "video": "videos", "text": "pages"}


@dataclass(frozen=True)
class SeatAnswer:
    """An answer of the server to one address."""

    address: str
    status: int
    headers: Mapping[str, str]
    cookies: tuple[str, ...]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "")

    @property
    def is_media(self) -> bool:
        return self.content_type.startswith(("image/", "video/"))

    @cached_property
    def text(self) -> str:
        """Return the response as text; empty for pictures and videos."""
        kind = self.content_type.partition(";")[0]
        if kind == "application/json":
            return json.dumps(json.loads(self.body), ensure_ascii=False)
        is_text = kind.startswith("text/")
        return html.unescape(self.body.decode("utf-8", "replace")) if is_text else ""

    def named(self, *, embedded: bool = False) -> dict[str, None]:
        """Return the annotator's addresses that a page names, or loads by itself."""
        found = (
            _inside(self.address, address)
            for attribute, address in ADDRESS.findall(self.text)
            if not embedded or attribute.endswith(("src", "poster"))
        )
        return dict.fromkeys(filter(None, found))


def _inside(page: str, address: str) -> str:
    """Return the path and query of an address; "" for other sites."""
    parts = urlsplit(urljoin(page, address))
    if not parts.path.startswith(FOLLOWED):
        return ""
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


@dataclass
class Visit:
    """Responses that an annotator can fetch for one slot."""

    unit: Unit
    shown: dict[str, Output]
    codes: tuple[str, ...]
    answers: list[SeatAnswer] = field(default_factory=list)
    # The addresses that the page of each of the unit's slots loads by itself.
    loaded: dict[str, list[str]] = field(default_factory=dict)

    @property
    def pages(self) -> list[SeatAnswer]:
        """Return the slot's page in each language."""
        return self.answers[: len(LANGUAGES)]

    def plain(self, text: str) -> str:
        """Return a text without the link and the slot's code."""
        for code in self.codes:
            text = text.replace(code, "…")
        return text

    def output_at(self, address: str) -> Output | None:
        """Return the output that an address shows; None for characters and pages."""
        return self.shown.get(str(_resolved(address)[1].get("side", "")))

    def parts(self, address: str) -> tuple[str, ...]:
        """Return the parts of an address beside the link, slot, side and shot."""
        about = _resolved(address)[1].items()
        asked = filter(None, re.split("[&=]", urlsplit(address).query))
        return (*(str(value) for key, value in about if key not in PLACED), *asked)


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
    """A client without scripts and cookies that counts its responses."""

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts
        self.client = Client(
            raise_request_exception=False, SERVER_NAME="localhost", HTTP_ACCEPT="*/*"
        )

    def get(self, address: str, language: str = "en") -> SeatAnswer:
        return self._ask("get", address, language)

    def post(self, address: str, data: object, **how: str) -> SeatAnswer:
        return self._ask("post", address, "en", data=data, **how)

    def _ask(self, how: str, address: str, language: str, **more: object) -> SeatAnswer:
        response = getattr(self.client, how)(
            address,
            secure=settings.SECURE_SSL_REDIRECT,
            headers={"accept-language": language},
            **more,
        )
        body = b"".join(response) if response.streaming else response.content
        cookies = tuple(
            f"{name}={one.value}"
            for name, one in response.cookies.items()
            if name != settings.CSRF_COOKIE_NAME
        )
        # State kept between requests would shorten the next response.
        self.client.cookies.clear()
        headers = dict(response.headers)
        kind = headers.get("Content-Type", "").partition("/")[0]
        self.counts[COUNTED.get(kind, "others")] += 1
        self.counts["bytes"] += len(body)
        return SeatAnswer(address, response.status_code, headers, cookies, body)


@contextmanager
def borrowed(study: Study) -> Iterator[None]:
    """Open a study to synthetic users; everything is rolled back."""
    log = logging.getLogger("django.request")
    level, language = log.level, translation.get_language()
    log.setLevel(logging.CRITICAL)  # refusals are checked, too
    try:
        # Files themselves are checked, not the headers for nginx.
        with transaction.atomic(), override_settings(MEDIA_ACCEL=""):
            Study.objects.filter(pk=study.pk).update(
                state=Study.State.OPEN, presentation=study.presentation
            )
            yield
            transaction.set_rollback(True)
    finally:
        log.setLevel(level)
        translation.activate(language or settings.LANGUAGE_CODE)


def _invent(study: Study) -> Invitation:
    """Return the invitation of a synthetic annotator who may work."""
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


def _assign(unit: Unit, person: Annotator, repeat_of: Slot | None = None) -> Slot:
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
    """Fetch everything that a unit's page links to, answer, and fetch again.

    Of another annotator's slot and of a repeat only the page is fetched.
    """
    with borrowed(study):
        invitation = _invent(study)
        slot = _assign(unit, invitation.annotator)
        at = [invitation.token, slot.code]
        found = Visit(unit, slot_view.sides(slot), (*at,))
        page = reverse("rate-slot", args=at)
        found.answers = [seat.get(page, language) for language in LANGUAGES]
        asked = {address: None for one in found.answers for address in one.named()}
        for address in asked:
            is_around = _resolved(address)[0] in PAGES
            if address != page and not is_around:
                answer = seat.get(address)
                if answer.status == 405:
                    answer = seat.post(address, {}, content_type="application/json")
                found.answers.append(answer)
        found.loaded[slot.code] = list(found.answers[0].named(embedded=True))
        other = _invent(study)
        further = [(other.token, _assign(unit, other.annotator))]
        if unit.purpose == Purpose.REAL:
            again = _assign(unit, invitation.annotator, repeat_of=slot)
            further.append((invitation.token, again))
        for token, one in further:
            shown = seat.get(reverse("rate-slot", args=[token, one.code]))
            found.loaded[one.code] = list(shown.named(embedded=True))
        submit = reverse("rate-submit", args=at)
        found.answers += [seat.post(submit, _form(slot)), seat.get(page)]
        if slot.purpose == Purpose.TRAINING:
            feedback = reverse("rate-feedback", args=at)
            found.answers += [seat.get(feedback, language) for language in LANGUAGES]
    seat.counts["slots"] += 1
    return found


def _form(slot: Slot) -> dict[str, str]:
    """Return form data that answer every question."""
    form = {"seconds": "60"}
    for question in slot.questions:
        kind = kind_of(question)
        if not kind.of_shots:
            form[form_field(question)] = kind.example(slot, question)
    if asks_of_shots(slot.study):
        numbers = slot.unit.story.shots.values_list("number", flat=True)
        form |= {f"looked:{n}": "on" for n in numbers}
    return form


def visit_pages(study: Study, seat: Seat) -> list[tuple[SeatAnswer, str]]:
    """Return the pages outside slots, each with its link."""
    with borrowed(study):
        invitation = _invent(study)
        link = JoinLink.objects.create(study=study, most=2)
        token, person = invitation.token, invitation.annotator
        named = [reverse(f"rate-{name}", args=[token]) for name in PAGES]
        named += [reverse("rate-slot", args=[token, "gone"])]
        found = [(seat.get(a, code), token) for a in named for code in LANGUAGES]
        shown = {a: None for page, _token in found for a in page.named(embedded=True)}
        found += [(seat.get(address), token) for address in shown]
        join = reverse("join", args=[link.token])
        found += [(seat.get(join, code), link.token) for code in LANGUAGES]
        for rows, change in (
            (Annotator.objects.filter(pk=person.pk), {"state": "paused"}),
            (Annotator.objects.filter(pk=person.pk), {"state": "failed"}),
            (Annotator.objects.filter(pk=person.pk), {"state": "active"}),
            (Study.objects.filter(pk=study.pk), {"state": "closed"}),
            (
                Invitation.objects.filter(pk=invitation.pk),
                {"revoked_at": timezone.now()},
            ),
        ):
            rows.update(**change)
            found.append((seat.get(named[0]), token))
        found.append((seat.get(reverse("rate-entry", args=["unknown"])), "unknown"))
    return found
