"""Translation of reports by gettext.

A message is the English text, with placeholders for names and numbers; ``locale/`` has
a catalogue of every other language.
"""

import gettext as catalogues
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from string import Formatter

from markupsafe import Markup

from analysis import sentences
from analysis.options import LANGUAGES
from analysis.sentences import Sentence

ENGLISH = LANGUAGES[0]
LOCALE = Path(__file__).parent / "locale"
# Two adjacent letters: both Chinese, or one of them.
CHINESE = re.compile("[\u4e00-\u9fff]{2}")
MIXED = re.compile("[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9%][\u4e00-\u9fff]")
# Words of an English sentence, which may contain Chinese names.
WORDS = re.compile("[A-Za-z]+ [A-Za-z]+")

_current: ContextVar[str] = ContextVar("language", default=ENGLISH)
_known: ContextVar[Mapping[str, Sentence]] = ContextVar("sentences")


@contextmanager
def language(
    name: str, sentences: Mapping[str, Sentence] | None = None
) -> Iterator[None]:
    """Set the language of everything inside: ``en``, or one with a catalogue.

    `sentences` are those that `retold` looks up by their text.
    """
    before = _current.set(name), _known.set(sentences or {})
    try:
        yield
    finally:
        _current.reset(before[0])
        _known.reset(before[1])


def current() -> str:
    """Return the current language."""
    return _current.get()


@cache
def _catalogue(name: str) -> catalogues.NullTranslations:
    names = [name.replace("-", "_")]
    return catalogues.translation("report", LOCALE, names, fallback=True)


def gettext(message: str, /, **values: object) -> str:
    """Return a message in the current language, its placeholders filled.

    >>> with language("zh-Hans"):
    ...     gettext("chance is {share}", share="50 %")
    '随机水平为 50 %'
    """
    # The translation of an empty message is the header of the catalogue.
    return _filled(_catalogue(current()).gettext(message) if message else "", values)


def _filled(text: str, values: Mapping[str, object]) -> str:
    """Fill placeholders; in Chinese, a space separates its letters from Latin ones.

    Spaces are added at the ends of placeholders only: values stay as they are.
    """
    if not values:
        return text
    if current() == ENGLISH:
        return text.format(**values)
    filled = ""
    for literal, name, _spec, _conversion in Formatter().parse(text):
        filled = _beside(filled, literal)
        if name is not None:
            filled = _beside(filled, str(values[name]))
    return filled


def _beside(before: str, after: str) -> str:
    left, right = before.rstrip(" "), after.lstrip(" ")
    border = left[-1:] + right[:1]
    if CHINESE.fullmatch(border):
        return left + right
    return f"{left} {right}" if MIXED.fullmatch(border) else before + after


def retold(text: str) -> str:
    """Translate a text of the library; unknown ones stay English."""
    if current() == ENGLISH:
        return text
    known = text if isinstance(text, Sentence) else _known.get({}).get(text)
    return gettext(text) if known is None else _of_sentence(known)


def _of_sentence(text: object) -> str:
    """Translate a sentence and the sentences in it; names stay as they are."""
    if isinstance(text, list | tuple):
        return listed(map(_of_sentence, text))
    if not isinstance(text, Sentence):
        return str(text)
    values = {name: _of_sentence(value) for name, value in text.values.items()}
    return gettext(text.template, **values)


def remark(text: str) -> str:
    """Translate a remark; mark it for the page if it stays English."""
    translated = retold(text)
    is_chinese = CHINESE.search(translated) and not WORDS.search(translated)
    if current() == ENGLISH or translated != text or is_chinese:
        return translated
    return Markup('<span lang="en">{}</span>').format(translated)


def counted(n: float, noun: str) -> str:
    """Return a number with its noun; in Chinese with the measure word."""
    return retold(sentences.counted(n, noun))


def gettext_noop(message: str) -> str:
    """Mark a message that is translated where it is used."""
    return message


# Two parts of a list, two clauses, and two sentences.
COMMA, AND = gettext_noop("{a}, {b}"), gettext_noop("{a} and {b}")
SEMICOLON, SPACE = gettext_noop("{a}; {b}"), gettext_noop("{a} {b}")


def listed(parts: Iterable[str], between: str = COMMA) -> str:
    """Join parts by the separator of the language."""
    known = list(parts)
    separator = gettext(between).removeprefix("{a}").removesuffix("{b}")
    # Markup stays markup, and the texts around it are escaped.
    marked = any(isinstance(part, Markup) for part in known)
    return (Markup(separator) if marked else separator).join(known)


def headed(name: object, text: str) -> str:
    """Return a text after the name of its subject."""
    return gettext("{name}: {text}", name=name, text=text)
