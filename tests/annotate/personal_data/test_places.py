"""Every column has a class, and the page for ethics forms has every personal one."""

import re
from pathlib import Path

import pytest
from django.apps import apps

from annotate.personal_data.places import PLACES, Says, columns

PAGE = Path(__file__).parents[3] / "docs/how-to/erase-personal-data.md"
NAMED = re.compile(r"`([A-Z]\w*)\.([a-z_]+)`")


def stored() -> dict[str, set[str]]:
    """Return the columns of each table that Django knows."""
    return {
        table._meta.label: {
            field.name
            for field in table._meta.get_fields()
            if getattr(field, "concrete", False)
        }
        for table in apps.get_models(include_auto_created=True)
        if not table._meta.proxy
    }


def pointing(table, *to: str) -> set[str]:
    """Return the columns of a table that point to one of these."""
    return {
        field.name
        for field in table._meta.get_fields()
        if getattr(field, "concrete", False)
        and field.related_model
        and field.related_model._meta.label in to
    }


def test_every_column_about_people_has_one_category():
    """A new column of a table about annotators, or one that points to an account."""
    columns_of = stored()
    for table in apps.get_models(include_auto_created=True):
        if table._meta.proxy:
            continue
        name = table._meta.label
        told = " ".join(PLACES.get(name, {}).values()).split()
        assert len(set(told)) == len(told), name
        assert set(told) <= columns_of[name], name
        assert pointing(table, "annotate.User") <= set(told), name
        if pointing(table, "annotate.Annotator") or name == "annotate.Annotator":
            assert set(told) == columns_of[name], name
            nothing = set(PLACES[name].get(Says.NOTHING, "").split())
            assert not pointing(table, "annotate.Annotator") & nothing, name


@pytest.mark.parametrize("says", [Says.WHO, Says.COMMENT, Says.WORDS, Says.ACCOUNT])
def test_page_names_every_column_about_a_person(says):
    named = {".".join(one) for one in NAMED.findall(PAGE.read_text("utf-8"))}
    whole = set(re.findall(r"`([A-Z]\w*)`", PAGE.read_text("utf-8")))
    left = {
        column
        for column in columns(says) - named
        if not (says is Says.ACCOUNT and column.partition(".")[0] in whole)
    }
    assert left == set()


def test_page_names_tables_of_actions_but_no_neutral_columns():
    text = PAGE.read_text("utf-8")
    whole = set(re.findall(r"`([A-Z]\w*)`", text))
    assert {column.partition(".")[0] for column in columns(Says.DEED)} <= whole
    named = {".".join(one) for one in NAMED.findall(text)}
    assert named & columns(Says.NOTHING) == set()
