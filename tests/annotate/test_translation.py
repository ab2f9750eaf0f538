import re

import pytest
from django.utils import translation

from annotate import translation as catalogue


@pytest.mark.parametrize("path", catalogue.CATALOGUES, ids=lambda path: path.stem)
def test_catalogue_has_every_text_translated_and_no_other(path):
    stored = catalogue.read(path)
    found = [message for message in catalogue.CATALOGUES[path]() if message.id]
    absent = [m.id for m in found if stored.get(m.id, m.context) is None]
    assert not absent, "run `make messages` and translate these"
    assert len(found) == len(stored)
    assert catalogue.missing(stored) == []


# Of pages `%(name)s` and `%s`; of reports names in braces, digits and marks.
KEPT = {
    "django": [r"%(?:\(\w+\))?[sd]"],
    "report": [r"\{\w+\}", r"\d", r"<[^>]*>"],
}


@pytest.mark.parametrize("path", catalogue.CATALOGUES, ids=lambda path: path.stem)
def test_translation_keeps_its_placeholders(path):
    wrong = []
    for message in catalogue.read(path):
        source = message.id[-1] if isinstance(message.id, tuple) else message.id
        forms = (
            message.string if isinstance(message.string, tuple) else [message.string]
        )
        for pattern in KEPT[path.stem] if source else ():
            wanted = sorted(re.findall(pattern, source))
            if any(sorted(re.findall(pattern, form)) != wanted for form in forms):
                wrong.append(source)
    assert not wrong, f"other placeholders than the English: {wrong}"


def test_pages_speak_chinese():
    with translation.override("zh-hans"):
        assert translation.gettext("Log in") == "登录"
