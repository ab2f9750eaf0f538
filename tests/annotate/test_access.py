"""Who opens which address is what docs/access.md says."""

import pytest

from tests.annotate.access import OPENS, PAGE, World, observed, page

# What strangers open: nothing of any study.
OPEN_TO_ALL = {
    "/", "/login/", "/logout/", "/i18n/setlang/", "/api/v1/schema/", "/api/v1/token/",
}  # fmt: skip
STRANGERS = {"nobody", "no link", "revoked link"}
# What says whose they are: the same for everybody, with their own things in it.
ONES_OWN = {
    "/benchmarks/",
    "/studies/",
    "/setup/",
    "/metrics/",
    "/api/v1/studies/",
    "/api/v1/slot/",
}
OTHERS = {"other lab's manager", "other study's link", "other annotator's link"}


@pytest.mark.once
@pytest.mark.django_db
def test_everybody_opens_what_the_documentation_says(tmp_path):
    tables = observed(World(tmp_path))
    for rows in tables.values():
        for row in rows:
            address = row["address"].strip("`")
            openers = {title for title, word in row.items() if word == OPENS}
            if address not in OPEN_TO_ALL:
                assert not openers & STRANGERS, row
                is_ones_own = address in ONES_OWN or (
                    # The link's own annotator or study, whoever holds the link.
                    address.startswith(("/rate/", "/join/")) and "<code>" not in address
                )
                assert not openers & OTHERS or is_ones_own, row
            if "researcher" in openers:
                assert {"manager", "manager of everything"} <= openers, row
            if "manager" in openers:
                assert "and owner of the benchmark" in openers, row
    assert page(tables) == PAGE.read_text(encoding="utf-8"), (
        "if that is meant: python -m tests.annotate.access"
    )
