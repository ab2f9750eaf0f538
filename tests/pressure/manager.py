"""A manager who asks for scores by the page, which rings for the workers."""

import http.client
import uuid
from functools import lru_cache
from urllib.parse import urlencode

from django.conf import settings
from django.test import Client

from tests.factories import make_benchmark, make_study


@lru_cache
def at_work() -> tuple[str, str]:
    """Return the address of a study's scores, and the cookie of who may ask there."""
    from annotate.models import User

    study = make_study(benchmark=make_benchmark(slug="scored"), slug="scored")
    client = Client()
    user = User.objects.create_superuser("manager", password=uuid.uuid4().hex)
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    return f"/studies/{study.slug}/scoring/", f"sessionid={session}"


def ask_for_scores(port: int, address: str, session: str) -> int:
    """Ask for one metric, and look at the page; return the worst status."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    secret = uuid.uuid4().hex
    headers = {
        "Cookie": f"{session}; csrftoken={secret}",
        "X-CSRFToken": secret,
        "Content-Type": "application/x-www-form-urlencoded",
    }
    line.request("POST", f"{address}run/", urlencode({"metric": "sharpness"}), headers)
    posted = line.getresponse()
    posted.read()
    line.request("GET", posted.getheader("Location") or address, headers=headers)
    shown = line.getresponse()
    shown.read()
    return max(shown.status, posted.status if posted.status >= 400 else 0)
