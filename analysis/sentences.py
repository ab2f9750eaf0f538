"""English texts that keep their template and values, for translation.

`analysis.report.language.retold` translates them by the templates in the catalogue of a
report. ``+``, ``join``, f-strings and methods of texts return plain text without a
template: use `chained` to join.
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
    """Return a text with a template that it does not follow, such as a plural."""
    found = Sentence(text)
    found.template, found.values = template, dict(values)
    return found


def _written(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def counted(n: float, noun: str, plural: str = "") -> str:
    """Return a number with its noun; an irregular plural may be given.

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
    """Sentences in the order of arrival, each once with all of its questions.

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
        """Add a sentence on one question, or on the whole analysis."""
        about = self._questions.setdefault(text, {})
        if question:
            about[question] = None

    def extend(self, texts: Iterable[str], question: str = "") -> None:
        """Add several sentences."""
        for text in texts:
            self.add(text, question)

    def sentences(self) -> tuple[str, ...]:
        """Return each sentence once, after the names of its questions."""
        return tuple(
            sentence("{name}: {text}", name=[*about], text=text) if about else text
            for text, about in self._questions.items()
        )
