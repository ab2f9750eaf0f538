"""Texts in several languages."""

from django.utils.translation import get_language


def localised(texts: dict[str, str]) -> str:
    """Return the text in the reader's language, else in English, else any."""
    language = (get_language() or "en").split("-")[0]
    return texts.get(language) or texts.get("en") or next(iter(texts.values()), "")
