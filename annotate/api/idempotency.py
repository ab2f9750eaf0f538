"""Repeated requests with one `Idempotency-Key`, carried out once."""

from datetime import timedelta
from hashlib import sha256
from typing import Any

from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.refusals import Conflict, Kept, KeyOfAnother
from annotate.models import Annotator, KeptAnswer

HEADER = "Idempotency-Key"
KEPT = timedelta(hours=24)
LONGEST_KEY = 200
KEPT_HEADERS = ("Location", "Link")


def reserve(request: Request) -> KeptAnswer | None:
    """Note a request that has a key; raise its answer if it was answered before."""
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not key or len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable():
        text = f"Write 1 to {LONGEST_KEY} printable ASCII characters."
        raise ValidationError({HEADER: text})
    KeptAnswer.objects.filter(created_at__lt=timezone.now() - KEPT).delete()
    asked = _hash(request)
    row, is_new = KeptAnswer.objects.get_or_create(
        caller=_caller(request), key=key, defaults={"request_hash": asked}
    )
    if is_new:
        return row
    if row.request_hash != asked:
        raise KeyOfAnother(
            "This key came with another address or body. Use a new key for a new "
            "request."
        )
    if row.status is None:
        raise Conflict(
            "The first request with this key is not answered yet. Try again; if this "
            "stays so, look whether it was carried out and use a new key."
        )
    raise Kept(row.status, row.body, {**row.headers, "Idempotency-Replayed": "true"})


def keep(row: KeptAnswer, response: Response) -> None:
    """Keep an answer for repetitions; a refusal changed nothing and is not kept."""
    body = getattr(response, "rendered_content", b"")
    if response.status_code >= 400:
        row.delete()
        return
    row.status = response.status_code
    row.body = body.decode() if response.data is not None else ""
    row.headers = {
        name: response[name] for name in KEPT_HEADERS if response.has_header(name)
    }
    row.save(update_fields=["status", "body", "headers"])


def _caller(request: Request) -> str:
    who: Any = request.auth if isinstance(request.auth, Annotator) else request.user
    return f"{type(who).__name__} {who.pk}"


def _hash(request: Request) -> str:
    asked = sha256(f"{request.method} {request.get_full_path()}\n".encode())
    sent: Any = request._request
    if not hasattr(sent, "_body"):
        sent._body = sent.read()  # `body` itself refuses what is larger than forms are
    asked.update(sent._body)
    return asked.hexdigest()
