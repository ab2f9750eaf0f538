"""Pictured examples: some shots of an output, and the same of a copy made worse."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotate.models import Question
from annotate.presentation import same_size
from evalcore.media import Box
from evalcore.models import Output

# How many shots are shown of a story that has more.
MOST = 6
Degradation = Output.Degradation

# What is wrong with a single picture, in words beside its sign.
MARKS: dict[str, Promise] = {
    Degradation.SHUFFLED: gettext_lazy("out of order"),
    Degradation.FOREIGN_SHOT: gettext_lazy("another story"),
    Degradation.REPEATED_SHOT: gettext_lazy("repeated"),
    Degradation.BLURRED: gettext_lazy("blurred"),
    Degradation.SWAPPED_CHARACTERS: gettext_lazy("exchanged"),
}


@dataclass(frozen=True)
class Example:
    """A question's example as pages show it.

    `shots` are numbers, each with whether the worse copy differs there; `size` is that
    of every picture, where there is one.
    """

    question: Question
    shots: list[tuple[int, bool]]
    size: Box | None

    @property
    def strips(self) -> list[tuple[str, list[tuple[int, bool]]]]:
        """Return the rows of pictures: as they were made, and made worse."""
        return [("good", [(n, False) for n, _c in self.shots]), ("bad", self.shots)]

    @property
    def size_attributes(self) -> str:
        """Return width and height of each picture as HTML, where they are known."""
        return format_html('width="{}" height="{}"', *self.size) if self.size else ""

    @property
    def mark(self) -> str:
        """Return what is wrong with each changed picture; empty: with all the same."""
        if all(is_changed for _number, is_changed in self.shots):
            return ""
        return str(MARKS[self.question.degradation])

    @property
    def told(self) -> str:
        changed = [number for number, is_changed in self.shots if is_changed]
        return what_is_wrong(self.question.degradation, changed)


def example_of(question: Question) -> Example | None:
    """Return the example of a question, if it has one."""
    if question.example_id is None:
        return None
    shots = [(number, changed) for number, changed in question.example_shots]
    return Example(question, shots, same_size.box_of(question.study))


def changed_shots(twin: Output) -> list[tuple[int, bool]]:
    """Return the shots of a twin that are to be seen, and whether each differs."""
    assert twin.twin_of is not None
    if twin.video_id is not None:
        return [(number, differs) for number, _start, _stop, differs in twin.parts]
    before, after = (
        dict(
            output.frames.filter(media__isnull=False)
            .order_by("number")
            .values_list("number", "media")
        )
        for output in (twin.twin_of, twin)
    )
    return [(number, before.get(number) != after[number]) for number in after]


def picked(shots: Sequence[tuple[int, bool]]) -> list[tuple[int, bool]]:
    """Return so many shots that they fit in a row, half of them changed if they can.

    Those that stay are the first ones, so that it is seen what should go on.
    """
    changed = [one for one in shots if one[1]]
    few = changed[: MOST // 2]
    rest = [one for one in shots if not one[1]] + changed[MOST // 2 :]
    return sorted(few + rest[: MOST - len(few)])


def what_is_wrong(degradation: str, shots: Sequence[int]) -> str:
    """Say in a sentence what was done to these shots."""
    return SENTENCES[degradation](len(shots)) % {"shots": listed(map(str, shots))}


def listed(names: Iterable[str]) -> str:
    """Return names as a sentence lists them: 1, 2 and 5."""
    *before, last = names
    if not before:
        return last
    return _("%(first)s and %(last)s") % {"first": ", ".join(before), "last": last}


SENTENCES: dict[str, Callable[[int], str]] = {
    Degradation.SHUFFLED: lambda _n: _("The pictures stand in another order."),
    Degradation.FOREIGN_SHOT: lambda n: ngettext(
        "Shot %(shots)s shows another story.",
        "Shots %(shots)s show another story.",
        n,
    ),
    Degradation.REPEATED_SHOT: lambda n: ngettext(
        "Shot %(shots)s repeats the picture of another shot.",
        "Shots %(shots)s repeat the picture of another shot.",
        n,
    ),
    Degradation.BLURRED: lambda n: ngettext(
        "The picture is blurred.", "All pictures are blurred.", n
    ),
    Degradation.SWAPPED_CHARACTERS: lambda _n: _(
        "The pictures of shots %(shots)s are exchanged, so that others are seen than "
        "the script names."
    ),
}
