"""Access to every address matches addresses.md."""

import re
from collections import defaultdict

import pytest
from django.urls import resolve, reverse

from annotate.models import User
from evalcore.models import BenchmarkMember
from tests.annotate.address_table import (
    HIDDEN,
    NEVER,
    OPENS,
    PAGE,
    World,
    addresses,
    ask,
    documented,
    observed,
    page,
    query_of,
)
from tests.people import log_in

# Strangers open these; nothing of a study is among them.
OPEN_TO_ALL = {
    "/",
    "/login/",
    "/first-start/<token>/",
    "/password/<token>/",
    "/docs/",
    "/docs/<name>",
    "/healthz",
    "/logout/",
    "/readyz",
    "/i18n/setlang/",
    "/rate/worker.js",
    "/public/<name>/",  # of published reports alone
    "/public/<name>/data.zip",
    "/api/docs/",
    "/api/v1/schema/",
    "/api/v1/token/",
    "/api/v1/session/join/",
    "/api/v1/session/",  # says to a revoked link that it is revoked
}
STRANGERS = {"nobody", "no link", "revoked link"}
# These pages are open to every user and show the user's own things.
ONES_OWN = {
    "/account/",
    "/account/token/create/",
    "/benchmarks/",
    "/studies/",
    "/setup/",
    "/uploads/",
    "/uploads/begin/",
    "/uploads/server/",
    "/metrics/",
    "/glossary/",
    "/api/v1/benchmarks/",
    "/api/v1/metrics/",
    "/api/v1/studies/",
    "/api/v1/tokens/",
    "/api/v1/uploads/",
}
# These words in an address name a row of a study, a benchmark or an annotator.
OF_ANOTHER = {"pk", "code", "run"}
OTHERS = {"other lab's manager", "other study's link", "other annotator's link"}
# These come nearest to what is not theirs.
OUTSIDERS = {"nobody", "other lab's manager", "researcher", "other annotator's link"}

FORM = re.compile(r'(?s)(<form[^>]*\bmethod="post"[^>]*>)(.*?)</form>')


@pytest.mark.django_db
def test_outsiders_open_what_the_documentation_says(tmp_path):
    known = documented()
    for title, rows in observed(World(tmp_path), OUTSIDERS, known).items():
        for row in rows:
            address, method, *_ = row.values()
            told = known.get((title, method, address), {})
            for visitor in OUTSIDERS & row.keys():
                if told:
                    assert row[visitor] == told[visitor], row
                else:
                    assert row[visitor] != OPENS, row


@pytest.mark.django_db
def test_researchers_see_no_button_that_is_refused(tmp_path):
    world, client, known = World(tmp_path), log_in("rob"), documented()
    table, who = "Pages for accounts", "researcher"
    shown = {address.name: address.shown for address in addresses()}
    pages = buttons = 0
    for address in addresses():
        told = known.get((table, "GET", address.shown), {})
        if "slug" not in address.words or told.get(who) != OPENS:
            continue
        url = address.url(world.words(address, "")) + query_of(address)
        answer = client.get(url)
        if answer.get("Content-Type", "").partition(";")[0] != "text/html":
            continue
        pages += 1
        for form, inside in FORM.findall(answer.text):
            action = re.search('action="([^"?]+)', form)
            name = resolve(action[1] if action else url.partition("?")[0]).url_name
            told = known.get((table, "POST", shown[name]), {})
            if told and "<button" in inside:
                assert told[who] == OPENS, (url, form)
                buttons += 1
    assert pages > 10
    assert buttons > pages


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.timeout(900)
def test_access_matches_documentation(tmp_path):
    tables = observed(World(tmp_path))
    for rows in tables.values():
        for row in rows:
            address = row["address"].strip("`")
            openers = {title for title, word in row.items() if word == OPENS}
            if address not in OPEN_TO_ALL:
                assert not openers & STRANGERS, row
                is_ones_own = address in ONES_OWN or (
                    # The link's own annotator or study, for any holder of the link.
                    address.startswith(("/rate/", "/join/", "/api/v1/session/"))
                    and "<code>" not in address
                )
                assert not openers & OTHERS or is_ones_own, row
            if "researcher" in openers:
                assert {"manager", "manager of everything"} <= openers, row
            if "manager" in openers:
                assert "and owner of the benchmark" in openers, row
    assert page(tables) == PAGE.read_text(encoding="utf-8"), (
        "if that is meant: python -m tests.annotate.address_table"
    )


@pytest.mark.django_db
def test_rows_of_other_studies_are_not_found(tmp_path):
    """Attack: Eve manages a study, has a link, and guesses ids of Alice's."""
    world = World(tmp_path)
    hills = world.hills
    BenchmarkMember.objects.create(
        benchmark=hills.benchmark,
        user=User.objects.get(username="eve"),
        role=BenchmarkMember.Role.OWNER,
    )
    used = defaultdict(set)
    for _title, method, address in documented():
        used[address].add(method)
    client = log_in("eve")
    link = hills.annotators.get(name="A01").invitation.token
    asked = 0
    for address in addresses():
        words = world.words(address, link)
        if not OF_ANOTHER & words.keys() or not {"slug", "token"} & words.keys():
            continue
        if "slug" in words:
            words["slug"] = hills.slug  # its benchmark's, too
        elif address.name.startswith("preview-"):
            words["token"] = hills.benchmark.slug
        answers = {
            ask(client, method, reverse(address.name, kwargs=words))
            for method in used[address.shown] or ("GET", "POST")
        }
        assert answers <= {HIDDEN, NEVER}, address
        asked += 1
    assert asked > 35
