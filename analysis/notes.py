"""Remarks beside the tables: what was left out, dropped, or undefined."""

from collections.abc import Iterable

from analysis.sentences import sentence


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
