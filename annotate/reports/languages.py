"""In which language a report speaks to whom."""

from django.utils.translation import get_language

from analysis.options import LANGUAGES


def report_language() -> str:
    """Return the language of reports that is that of the page, or else English."""
    here = str(get_language()).lower()
    return next((name for name in LANGUAGES if name.lower() == here), LANGUAGES[0])
