"""Template tags for heads of tables, fields and buttons."""

import re

import pytest
from django.template import Context, Template

HOSTILE = '"><script>'


def rendered(tag: str, **values: object) -> str:
    return Template("{% load markup %}" + tag).render(Context(values))


@pytest.mark.parametrize(
    "tag",
    [
        "{% columns text text hidden='2' %}",
        "{% field text text value=text css=text placeholder=text %}",
        "{% tick text text %}",
        "{% post_button text text 'logout' name=text query=text field=text %}",
    ],
)
def test_tags_escape_texts(tag):
    html = rendered(tag, text=HOSTILE)
    assert "&lt;script&gt;" in html
    assert HOSTILE not in html


def test_columns_mark_numbers_and_hide_titles():
    html = rendered("{% columns 'Name' 'Stories' 'Actions' numbers='2' hidden='3' %}")
    assert '<th scope="col">Name</th>' in html
    assert '<th scope="col" class="number">Stories</th>' in html
    assert '<span class="visually-hidden">Actions</span></th>' in html


@pytest.mark.parametrize(("value", "is_checked"), [("1", True), ("", False)])
def test_tick_is_checked_only_with_a_value(value, is_checked):
    html = rendered("{% tick 'New' 'new' checked=given %}", given=value)
    assert ("checked" in html) == is_checked
    assert "checked" not in rendered("{% tick 'New' 'new' checked=unknown.part %}")


def test_field_has_attributes_with_hyphens():
    html = rendered("{% field 'Name' 'name' aria_describedby='help' required=True %}")
    assert 'aria-describedby="help"' in html
    assert html.count("required") == 1


def test_buttons_have_ids_of_their_own():
    button = "{% post_button 'Restore' 'button' 'logout' annotator=name %}"
    ids = {
        re.search(r'id="(.+?)"', rendered(button, name=name))[1]
        for name in ("A01", "A02", "张三", "李四")
    }
    assert len(ids) == 4
