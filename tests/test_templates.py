"""Rules of templates that the linter does not check."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = {
    path.relative_to(ROOT): path.read_text("utf-8")
    for folder in ("templates", "annotate/kinds")
    for path in (ROOT / folder).rglob("*.html")
}
SEEN = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.S)
FORM = re.compile(r"<form\b.*?</form>", re.S)


def test_templates_have_no_inline_style_or_script():
    """Browsers would leave it out: no style, no handler and no script in the page."""
    assert len(TEMPLATES) > 150
    for name, text in TEMPLATES.items():
        written = SEEN.sub("", text)
        found = re.findall(r"<style\b|\sstyle=|\son[a-z]+=|javascript:", written)
        found += re.findall(r"<script\b(?![^>]*\bsrc=)[^>]*>", written)
        assert found == [], name


def test_form_that_is_posted_has_its_token():
    """A platform's server, which takes completion codes, must not get it."""
    for name, text in TEMPLATES.items():
        for form in FORM.findall(text):
            if 'method="post"' in form.lower():
                has_token = "{% csrf_token %}" in form
                assert has_token != ("worth.address" in form), (name, form)


def test_form_that_is_sent_by_get_gives_no_token_away():
    for name, text in TEMPLATES.items():
        for form in FORM.findall(text):
            asks = "method=" not in form.split(">")[0]
            assert not (asks and "csrf_token" in form), (name, form)
