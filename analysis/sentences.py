"""Texts that know their template and values, so that they can be said in any language.

They are English text wherever they go; `analysis.report.language.retold` says them in
the language of a report, whose catalogue has the templates. What is made of one by
``+``, ``join``, an f-string or a method of texts is plain text again: `chained` joins.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce


class Sentence(str):
    """A text in English, made by `sentence` or `counted`, with its template."""

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


def counted(n: float, noun: str, plural: str = "") -> str:
    """Return a number with its noun, whose plural may be an own one.

    >>> counted(1, "method"), counted(2, "pair of methods"), counted(0, "story")
    ('1 method', '2 pairs of methods', '0 stories')
    """
    text = f"{int(n)} {noun if n == 1 else plural or _plural(noun)}"
    return with_template(text, f"{{n}} {noun}", {"n": int(n)})


def _plural(noun: str) -> str:
    head, of, rest = noun.partition(" of ")
    is_story = head.endswith("y") and head[-2] not in "aeiou"
    return f"{head[:-1]}ies{of}{rest}" if is_story else f"{head}s{of}{rest}"


class Notes:
    """Sentences in the order they came; what holds for several questions stands once.

    Examples
    --------
    >>> notes = Notes()
    >>> for question in ("p", "r"):
    ...     notes.add("no unit has two answers.", question)
    >>> notes.add("Left out as asked: UNO.")
    >>> notes.sentences()
    ('p, r: no unit has two answers.', 'Left out as asked: UNO.')
    """

    def __init__(self) -> None:
        self._questions: dict[str, dict[str, None]] = {}

    def add(self, text: str, question: str = "") -> None:
        """Note a sentence, of one question or of the whole analysis."""
        about = self._questions.setdefault(text, {})
        if question:
            about[question] = None

    def extend(self, texts: Iterable[str], question: str = "") -> None:
        """Note several sentences."""
        for text in texts:
            self.add(text, question)

    def sentences(self) -> tuple[str, ...]:
        """Return each sentence once, after the questions it is about."""
        return tuple(
            sentence("{name}: {text}", name=[*about], text=text) if about else text
            for text, about in self._questions.items()
        )
