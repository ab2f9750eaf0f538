"""Rules of templates that the linter does not check."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = sorted(
    str(path.relative_to(ROOT))
    for folder in ("templates", "annotate/kinds")
    for path in (ROOT / folder).rglob("*.html")
)
SEEN = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.S)


def text(name: str) -> str:
    return (ROOT / name).read_text()


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_have_no_inline_style_or_script(name):
    """Browsers would leave it out: no style, no handler and no script in the page."""
    written = SEEN.sub("", text(name))
    assert re.findall(r"<style\b|\sstyle=|\son[a-z]+=|javascript:", written) == []
    assert re.findall(r"<script\b(?![^>]*\bsrc=)[^>]*>", written) == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_form_that_is_posted_has_its_token(name):
    """A platform's server, which takes completion codes, must not get it."""
    forms = re.findall(r"<form\b.*?</form>", text(name), re.S)
    posted = [one for one in forms if 'method="post"' in one.lower()]
    wrong = [
        one for one in posted if ("{% csrf_token %}" in one) == ("worth.address" in one)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_form_that_is_sent_by_get_gives_no_token_away(name):
    forms = re.findall(r"<form\b.*?</form>", text(name), re.S)
    asking = [one for one in forms if "method=" not in one.split(">")[0]]
    assert [one for one in asking if "csrf_token" in one] == []
