"""Attacks on blinding by an annotator who reads whatever the server sends.

`check_blinding` checks pages; these tests check replies to scripts and programs, and
to requests that no page sends.
"""

import json
import re

import pytest
from django.test import Client
from django.urls import reverse

from evalcore.models import MediaFile, Output
from tests.factories import make_benchmark, make_study

pytestmark = pytest.mark.django_db

METHODS = ("Quibbleberry", "Zanzivar", "Moxentwig")
HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32,}(?![0-9a-f])")


@pytest.fixture
def study():
    benchmark = make_benchmark(methods=METHODS, slug="hollow-oak")
    study = make_study(kind="choice", benchmark=benchmark, consented=True)
    for output in Output.objects.select_related("method"):
        Output.objects.filter(pk=output.pk).update(
            mode=f"mode-{output.method.name}", source=f"/data/{output.method.name}/x"
        )
    return study


class Reader:
    """Asks as the page's scripts and as a program, and keeps all that comes back."""

    def __init__(self, person):
        self.token = person.invitation.token
        self.program = Client(headers={"Authorization": f"Invitation {self.token}"})
        self.browser = Client()
        self.kept: list[tuple[str, bytes, dict[str, str]]] = []

    def ask(self, client, method, url, body="", kind="application/json"):
        answer = client.generic(method, url, body, kind)
        content = answer.getvalue()
        self.kept.append((f"{method} {url}", content, dict(answer.headers)))
        return answer


def look_at_everything(reader):
    """Judge every slot, with mistakes before; return how many there were."""
    judged = 0
    while True:
        taken = reader.ask(reader.program, "POST", reverse("api-slot"))
        slot = taken.json()["story"]
        if slot is None:
            return judged
        code, key = slot["code"], slot["questions"][0]["key"]
        page = reverse("rate-slot", args=[reader.token, code])
        reader.ask(reader.browser, "GET", page)
        reader.ask(reader.browser, "GET", f"{page}?ahead=2")
        reader.ask(reader.browser, "GET", f"{page}ahead/")
        for shot in slot["shots"]:
            for address in shot["pictures"].values():
                reader.ask(reader.browser, "GET", address)
                reader.ask(reader.browser, "GET", address.replace("display", "thumb"))
            reader.ask(reader.browser, "GET", f"{page}left/99/display/")
        for rows in (
            "",
            "[]",
            '{"rows": 1}',
            '{"rows": [{"kind": "answer", "id": "1", "key": "k", "question": "x", '
            '"value": "y"}, {"kind": "fault", "id": "2", "side": "left", "shot": 7},'
            '{"kind": "shot_comment", "id": "3", "key": "", "side": "b", "shot": 1,'
            '"text": ""}]}',
            '{"rows": [{"kind": "submit"}]}',
        ):
            reader.ask(reader.browser, "POST", f"{page}save/", rows)
        submit = reverse("api-submit", args=[code])
        for answers in ("{}", '{"x": "left"}', f'{{"{key}": "Zanziba"}}'):
            reader.ask(reader.program, "POST", submit, f'{{"answers": {answers}}}')
        draft = reverse("api-answers", args=[code])
        for body in (
            '{"faults": [{"side": "b", "shot": 1}]}',
            '{"shot_comments": [{"side": "left", "shot": 7, "text": ""}]}',
            f'{{"answers": {{"{key}": "left"}}, "comment": "x"}}',
        ):
            reader.ask(reader.program, "POST", draft, body)
        for name in ("api-story", "api-heartbeat", "api-skip"):
            method = "GET" if name == "api-story" else "POST"
            reader.ask(reader.program, method, reverse(name, args=[code]))
        for name in ("api-session", "api-instructions"):
            reader.ask(reader.program, "GET", reverse(name))
        reader.ask(reader.browser, "POST", f"{page}submit/")
        reader.ask(reader.browser, "POST", f"{page}skip/")
        answers = {asked["key"]: "left" for asked in slot["questions"]}
        given = json.dumps({"answers": answers})
        assert reader.ask(reader.program, "POST", submit, given).status_code == 200
        judged += 1


@pytest.mark.slow
def test_responses_do_not_name_a_method(study):
    reader = Reader(study.annotators.first())
    assert look_at_everything(reader) > 3
    hashes = {
        value.encode() for value in MediaFile.objects.values_list("pk", flat=True)
    }
    for address, content, headers in reader.kept:
        everything = content + repr(headers).encode()
        for name in METHODS:
            assert name.encode().lower() not in everything.lower(), address
        assert not hashes & set(HASH.findall(everything)), address
        assert b"hollow" not in everything, address
        assert b"/data/" not in everything, address
        assert b"Traceback" not in everything, address


@pytest.mark.slow
def test_pictures_of_all_methods_come_with_the_same_headers(study):
    reader = Reader(study.annotators.first())
    look_at_everything(reader)
    seen = set()
    for _address, _content, headers in reader.kept:
        if headers.get("Content-Type") == "image/webp":
            own = dict(headers)
            assert {"ETag", "Last-Modified", "Content-Disposition"}.isdisjoint(own)
            own.pop("Content-Length", None)
            seen.add(tuple(sorted(own.items())))
    assert len(seen) == 1
