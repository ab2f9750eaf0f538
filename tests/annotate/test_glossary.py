"""Tests of the glossary: its terms, its page and the tag that explains terms."""

import re
from pathlib import Path

import pytest
from django.template import Context, Template
from django.utils import translation

from annotate.glossary import groups, terms
from tests.people import eve

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


def test_terms_have_one_sentence_in_both_languages():
    for term in terms().values():
        assert set(term.names) == set(term.meanings) == {"en", "zh"}
        english, chinese = term.meanings["en"], term.meanings["zh"]
        assert re.fullmatch(r"[A-Z0-9].*[^.]\.", english), term.key
        assert ". " not in english, term.key
        assert len(english.split()) <= 25, term.key
        assert chinese.count("。") == 1, term.key
        assert chinese.endswith("。"), term.key


def test_terms_in_templates_exist():
    used = {
        key: path.name
        for path in TEMPLATES.rglob("*.html")
        for tag in re.findall(r"{% terms? (.*?) %}", path.read_text("utf-8"))
        for key in re.findall(r"[\"'](\w+)[\"']", tag)
    }
    assert used
    assert used.keys() <= terms().keys()


@pytest.mark.django_db
@pytest.mark.parametrize(("code", "heading"), [("en", "Glossary"), ("zh-hans", "术语")])
def test_page_lists_all_terms(code, heading):
    page = eve().get("/glossary/", headers={"accept-language": code})
    text = page.content.decode()
    assert f"<h1>{heading}" in text
    with translation.override(code):
        for group in groups():
            assert group.title in text
        for key, term in terms().items():
            assert f'id="{key}"' in text
            assert term.meaning in text.replace("&#x27;", "'")


@pytest.mark.parametrize(("code", "name"), [("en", "Rating"), ("zh-hans", "评分")])
def test_tag_shows_meaning_and_link(code, name):
    template = Template(
        '{% load glossary %}{% term "rating" %}<b>{{ n }}</b>{% endterm %}'
    )
    with translation.override(code):
        html = template.render(Context({"n": "<3"}))
        assert terms()["rating"].name == name
        assert terms()["rating"].meaning.replace("'", "&#x27;") in html
    assert '<button type="button" class="term" popovertarget="term-rating">' in html
    assert "<b>&lt;3</b></button>" in html
    assert 'popover class="term-note" id="term-rating"' in html
    assert 'href="/glossary/#rating"' in html


def test_tag_refuses_unknown_term():
    template = Template('{% load glossary %}{% term "x" %}x{% endterm %}')
    with pytest.raises(KeyError):
        template.render(Context())
