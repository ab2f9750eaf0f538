import re

from django.utils import translation

from annotate import translation as catalogue


def test_every_text_of_the_pages_is_in_the_chinese_catalogue():
    stored = catalogue.read()
    found = [message for message in catalogue.find_messages() if message.id]
    absent = [m.id for m in found if stored.get(m.id, m.context) is None]
    assert not absent, "run `make messages` and translate these"


def test_every_text_is_translated():
    assert catalogue.missing(catalogue.read()) == []


def placeholders(text: str) -> list[str]:
    """Return the `%(name)s` and `%s` of a text."""
    return re.findall(r"%(?:\(\w+\))?[sd]", text)


def placeholders_kept(message) -> bool:
    sources = message.id if isinstance(message.id, tuple) else (message.id,)
    forms = message.string if isinstance(message.string, tuple) else (message.string,)
    wanted = set(placeholders(sources[-1]))
    return all(set(placeholders(form)) == wanted for form in forms)


def test_a_translation_keeps_its_placeholders():
    wrong = [m.id for m in catalogue.read() if m.id and not placeholders_kept(m)]
    assert not wrong, f"other placeholders than the English: {wrong}"


def test_pages_speak_chinese():
    with translation.override("zh-hans"):
        assert translation.gettext("Log in") == "登录"
