"""Every column has a class, and the page for ethics forms has every personal one."""

import re
from pathlib import Path

import pytest
from django.apps import apps

from annotate.personal_data.places import PLACES, Says, columns

PAGE = Path(__file__).parents[3] / "docs" / "personal-data.md"
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


def test_every_column_of_every_table_has_one_class():
    assert PLACES.keys() == stored().keys()
    for table, held in PLACES.items():
        told = sorted(name for names in held.values() for name in names.split())
        assert not held or told == sorted(stored()[table]), table


def test_who_points_to_people_is_no_column_about_nothing():
    """A new table about annotators or accounts is not taken for one about stories."""
    for table in apps.get_models(include_auto_created=True):
        held = PLACES.get(table._meta.label, {})
        pointing = {
            field.name
            for field in table._meta.get_fields()
            if getattr(field, "concrete", False)
            and field.related_model
            and field.related_model._meta.label
            in ("annotate.Annotator", "annotate.User")
        }
        assert held or not pointing or table._meta.proxy, table
        assert not pointing & set(held.get(Says.NOTHING, "").split()), table


@pytest.mark.parametrize("says", [Says.WHO, Says.COMMENT, Says.WORDS, Says.ACCOUNT])
def test_the_page_names_every_column_about_a_person(says):
    named = {".".join(one) for one in NAMED.findall(PAGE.read_text("utf-8"))}
    whole = set(re.findall(r"`([A-Z]\w*)`", PAGE.read_text("utf-8")))
    left = {
        column
        for column in columns(says) - named
        if not (says is Says.ACCOUNT and column.partition(".")[0] in whole)
    }
    assert left == set()


def test_the_page_names_every_table_of_deeds_and_no_column_about_nothing():
    text = PAGE.read_text("utf-8")
    whole = set(re.findall(r"`([A-Z]\w*)`", text))
    assert {column.partition(".")[0] for column in columns(Says.DEED)} <= whole
    named = {".".join(one) for one in NAMED.findall(text)}
    assert named & columns(Says.NOTHING) == set()
