"""What a report says, in the language of its readers: English is the template.

A catalogue in ``languages/`` has the templates of another language by the English ones;
what it lacks is said in English. Names and numbers stand in placeholders.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

from markupsafe import Markup

from analysis import sentences
from analysis.options import LANGUAGES
from analysis.sentences import Sentence
from analysis.statistics import coefficients

ENGLISH, CHINESE_NAME = LANGUAGES
# Two letters that stand side by side: both Chinese, or one of them.
CHINESE = re.compile("[\u4e00-\u9fff]{2}")
# Words of an English sentence, which may name what is called in Chinese.
WORDS = re.compile("[A-Za-z]+ [A-Za-z]+")
MIXED = re.compile("[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9%][\u4e00-\u9fff]")

_current: ContextVar[str] = ContextVar("language", default=ENGLISH)
_known: ContextVar[Mapping[str, Sentence]] = ContextVar("sentences")


@contextmanager
def language(
    name: str, sentences: Mapping[str, Sentence] | None = None
) -> Iterator[None]:
    """Say everything inside in a language: ``en``, or one that has a catalogue.

    `sentences` are those that `retold` finds by their text alone.
    """
    before = _current.set(name), _known.set(sentences or {})
    try:
        yield
    finally:
        _current.reset(before[0])
        _known.reset(before[1])


def current() -> str:
    """Return the language of what is said now."""
    return _current.get()


def say(template: str, /, **values: object) -> str:
    """Return a template in the current language, its placeholders filled.

    >>> with language("zh-Hans"):
    ...     say("chance is {share}", share="50 %")
    '随机水平为 50 %'
    """
    text = catalogue(current()).get(template, template)
    if current() == ENGLISH or not values:
        return text.format(**values) if values else text
    return _filled(text, values)


def _filled(template: str, values: Mapping[str, object]) -> str:
    """Fill a Chinese template: a space parts its letters from Latin ones and digits.

    Only where a placeholder begins or ends: values stay as they are.
    """
    text = ""
    for literal, name, _spec, _conversion in Formatter().parse(template):
        text = _beside(text, literal)
        if name is not None:
            text = _beside(text, str(values[name]))
    return text


def _beside(before: str, after: str) -> str:
    left, right = before.rstrip(" "), after.lstrip(" ")
    border = left[-1:] + right[:1]
    if CHINESE.fullmatch(border):
        return left + right
    return f"{left} {right}" if MIXED.fullmatch(border) else before + after


def retold(text: str) -> str:
    """Say a text of the library in the current language; unknown ones stay English."""
    if current() == ENGLISH:
        return text
    known = text if isinstance(text, Sentence) else _known.get({}).get(text)
    if known is not None:
        return _of_sentence(known)
    return say(text) if text in catalogue(current()) else text


def _of_sentence(text: object) -> str:
    """Say a sentence and those that stand in it; names stay as they are."""
    if isinstance(text, list | tuple):
        return listed(map(_of_sentence, text))
    if not isinstance(text, Sentence):
        return str(text)
    values = {name: _of_sentence(value) for name, value in text.values.items()}
    return say(text.template, **values)


def remark(text: str) -> str:
    """Say a remark in the current language; one that is not known is marked English."""
    told = retold(text)
    if current() == ENGLISH or told != text:
        return told
    is_chinese = CHINESE.search(told) and not WORDS.search(told)
    return told if is_chinese else english(told)


def texts(table: Any = None, /, **entries: str) -> Any:
    """Return a table whose texts are templates, to be said where they are used."""
    return entries if table is None else table


def counted(n: float, noun: str) -> str:
    """Return a number with its noun; in Chinese with the measure word."""
    template = f"{{n}} {noun}"
    if template in catalogue(current()):
        return say(template, n=int(n))
    return sentences.counted(n, noun)


def listed(parts: Iterable[str], separator: str = ", ") -> str:
    """Return parts between separators, as the language writes these."""
    known = list(parts)
    # What is marked for a page stays so, and what stands beside it is escaped.
    marked = any(isinstance(part, Markup) for part in known)
    return (Markup(say(separator)) if marked else say(separator)).join(known)


def headed(name: object, text: str) -> str:
    """Return a text after the name that it is about."""
    return say("{name}: {text}", name=name, text=text)


def english(text: str) -> str:
    """Return a text that is there in English only, marked so for other pages."""
    if current() == ENGLISH:
        return text
    return Markup('<span lang="en">{}</span>').format(text)


@cache
def catalogue(name: str) -> Mapping[str, str]:
    """Return the templates of a language by the English ones; none of English."""
    if name == ENGLISH:
        return {}
    path = Path(__file__).parent / "languages" / f"{name}.json"
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    declared = coefficients().values() if name == CHINESE_NAME else ()
    return {**found, **{k: v for one in declared for k, v in one.chinese.items()}}
