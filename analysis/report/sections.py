"""What stands below the first screen: questions that people ask, folded, in order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from analysis.report.figure_parts import Figure
from analysis.report.language import counted, listed, say, texts
from analysis.report.wording import ClaimText

# Key and heading; figures and sentences name the key.
SECTIONS = texts(
    {
        "people": "Do people agree among themselves?",
        "metrics": "How do the metrics compare?",
        "disagreement": "Where do metrics and people disagree?",
        "methods": "Which method is best?",
        "planning": "Is it enough data?",
    }
)
# What a section asks where there is no metric.
OF_PEOPLE = texts({"disagreement": "Do groups of stories differ?"})
# Figures of methods, those first that say most at a glance.
OPENING = ("labels", "wins", "means", "ranking-ladder", "ladder")
# Of more sentences on metrics the first screen has one a question.
MOST_VERDICTS = 6


@dataclass(frozen=True)
class Section:
    """A question, what is said of it, and what is drawn."""

    key: str
    heading: str
    sentences: tuple[ClaimText, ...]
    figures: tuple[Figure, ...]

    @property
    def answer(self) -> str:
        """The sentence that is read while the section is closed: one that is shown."""
        shown = [text for is_shown, text in self.sentences if is_shown]
        return next(iter([*shown, *(text for _, text in self.sentences)]), "")

    @property
    def holds(self) -> str:
        """What more there is when it is opened."""
        counts = (
            (len(self.sentences) - 1, "more sentence"),
            (len(self.figures), "figure"),
        )
        return listed(counted(n, noun) for n, noun in counts if n > 0)


def sections_of(
    sentences: Mapping[str, tuple[ClaimText, ...]],
    drawn: Iterable[Figure],
    *,
    has_metrics: bool = True,
) -> list[Section]:
    """Return the sections of which anything is said or drawn."""
    figures = tuple(drawn)
    headings = SECTIONS if has_metrics else SECTIONS | OF_PEOPLE
    found = [
        Section(
            key,
            say(heading),
            tuple(sentences.get(key, ())),
            tuple(figure for figure in figures if figure.section == key),
        )
        for key, heading in headings.items()
    ]
    return [one for one in found if one.sentences or one.figures]


def opening_figure(drawn: Sequence[Figure]) -> Figure | None:
    """Return the figure that opens a report of people alone: what they say of methods.

    Nothing where none of them is drawn.
    """
    found = {figure.key: figure for figure in drawn}
    return next((found[key] for key in OPENING if key in found), None)


def first_of_each(
    questions: Sequence[Sequence[ClaimText]],
) -> tuple[list[ClaimText], list[ClaimText]]:
    """Return the sentences that open a page, and those that are folded below.

    Of few sentences none is folded, of many all but the first of each question.
    """
    told = list(chain.from_iterable(questions))
    if len(told) <= MOST_VERDICTS:
        return told, []
    return (
        [own[0] for own in questions],
        [one for own in questions for one in own[1:]],
    )
