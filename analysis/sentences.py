"""Texts that know their template and values, so that they can be said in any language.

They are English text wherever they go; `analysis.report.language.retold` says them in
the language of a report, whose catalogue has the templates. What is made of one by
``+``, ``join``, an f-string or a method of texts is plain text again: `chained` joins.
"""

from collections.abc import Mapping, Sequence
from functools import reduce


class Sentence(str):
    """A text in English, made by `sentence` or `analysis.printing.counted`.

    Attributes
    ----------
    template
        What the catalogue of a language has.
    values
        What stands in its placeholders: numbers, names, lists of names, sentences.
    """

    template: str
    values: Mapping[str, object]


def sentence(template: str, /, **values: object) -> str:
    """Return a template with its values, lists with commas: a `Sentence`.

    >>> text = sentence("Left out as asked: {methods}.", methods=["UNO", "Wan"])
    >>> text
    'Left out as asked: UNO, Wan.'
    >>> isinstance(text, Sentence) and text.template
    'Left out as asked: {methods}.'
    """
    filled = {name: _written(value) for name, value in values.items()}
    return with_template(template.format(**filled), template, values)


def chained(template: str, parts: Sequence[str]) -> str:
    """Join one part or several by a template of the first and the second.

    >>> chained("{first} and {second}", ["one story", "one method"])
    'one story and one method'
    """
    return reduce(lambda a, b: sentence(template, first=a, second=b), parts)


def with_template(text: str, template: str, values: Mapping[str, object]) -> str:
    """Return a text that is no template with its values filled in, such as a plural."""
    found = Sentence(text)
    found.template, found.values = template, dict(values)
    return found


def _written(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
