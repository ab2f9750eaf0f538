"""Pictured examples: some shots of an output, and the same of a copy made worse."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

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


class ExampleShot(NamedTuple):
    """A shot of a twin: whether it differs, and which shot its picture was made for."""

    number: int
    is_changed: bool
    picture_of: int


@dataclass(frozen=True)
class Example:
    """A question's example as pages show it."""

    question: Question
    shots: list[ExampleShot]
    size: Box | None

    @property
    def strips(self) -> list[tuple[str, list[ExampleShot]]]:
        """Return the rows of pictures: as they were made, and made worse."""
        made = [ExampleShot(one.number, False, one.number) for one in self.shots]
        return [("good", made), ("bad", self.shots)]

    @property
    def size_attributes(self) -> str:
        """Return width and height of each picture as HTML, where they are known."""
        return format_html('width="{}" height="{}"', *self.size) if self.size else ""

    @property
    def mark(self) -> str:
        """Return what is wrong with each changed picture; empty: with all the same."""
        return "" if all(one.is_changed for one in self.shots) else self.fault

    @property
    def fault(self) -> str:
        return str(MARKS[self.question.degradation])

    @property
    def told(self) -> str:
        changed = [one.number for one in self.shots if one.is_changed]
        assert self.question.example is not None
        return what_is_wrong(self.question.example, changed)


def example_of(question: Question) -> Example | None:
    if question.example_id is None:
        return None
    shots = [ExampleShot(*one) for one in question.example_shots]
    return Example(question, shots, same_size.box_of(question.study))


def is_shown(question: Question, number: int) -> bool:
    """Say whether a shot is among those of the question's example."""
    return any(number == one[0] for one in question.example_shots)


def changed_shots(twin: Output) -> list[ExampleShot]:
    """Return the shots of a twin that are to be seen, and whether each differs."""
    assert twin.twin_of is not None
    if twin.video_id is not None:
        shown = {part[0]: part[3] for part in twin.parts}
        return [_example_shot(twin, number, of) for number, of in shown.items()]
    before, after = (
        dict(
            output.frames.filter(media__isnull=False)
            .order_by("number")
            .values_list("number", "media")
        )
        for output in (twin.twin_of, twin)
    )
    return [_example_shot(twin, *one) for one in _made_for(before, after)]


def _made_for(
    before: dict[int, str], after: dict[int, str]
) -> Iterable[tuple[int, int]]:
    """Yield each shot's number and which shot its picture was made for; 0: none."""
    left: dict[str, list[int]] = {}
    for number, picture in before.items():
        if after.get(number) != picture:
            left.setdefault(picture, []).append(number)
    for number, picture in after.items():
        places = left.get(picture)
        stayed = before.get(number) == picture
        yield number, number if stayed else places.pop(0) if places else 0


def _example_shot(twin: Output, number: int, shown: int) -> ExampleShot:
    """Return a shot of a twin that shows what was made for another one, or for none."""
    is_moved = twin.degradation == Degradation.SHUFFLED
    return ExampleShot(number, shown != number, shown if is_moved else number)


def picked(shots: Sequence[ExampleShot], degradation: str) -> list[ExampleShot]:
    """Return so many shots that they fit in a row, half of them changed if they can."""
    if degradation == Degradation.SHUFFLED:
        return _most_mixed(shots)
    changed = [one for one in shots if one.is_changed]
    few = changed[: MOST // 2]
    rest = [one for one in shots if not one.is_changed] + changed[MOST // 2 :]
    return sorted(few + rest[: MOST - len(few)])


def _most_mixed(shots: Sequence[ExampleShot]) -> list[ExampleShot]:
    """Return shots that follow each other and show most of each other's pictures."""
    windows = [
        list(shots[start : start + MOST])
        for start in range(max(1, len(shots) - MOST + 1))
    ]

    def exchanged(window: list[ExampleShot]) -> int:
        numbers = {one.number for one in window}
        return sum(one.is_changed and one.picture_of in numbers for one in window)

    return max(windows, key=exchanged)


def what_is_wrong(twin: Output, shots: Sequence[int]) -> str:
    """Say in a sentence what was done to these shots of a twin."""
    of_videos = OF_VIDEOS if twin.video_id is not None else {}
    sentence = of_videos.get(twin.degradation) or SENTENCES[twin.degradation]
    return sentence(len(shots)) % {"shots": listed(map(str, shots))}


def listed(names: Iterable[str]) -> str:
    """Return names as a sentence lists them: 1, 2 and 5."""
    *before, last = names
    if not before:
        return last
    return _("%(first)s and %(last)s") % {"first": ", ".join(before), "last": last}


def quoted(titles: Sequence[str]) -> str:
    """Return titles as a sentence lists them: “Cast”, “Place” and “Order”."""
    *before, last = [_("“%(title)s”") % {"title": title} for title in titles]
    if not before:
        return last
    first = pgettext("between quoted titles", ", ").join(before)
    text = pgettext("quoted titles", "%(first)s and %(last)s")
    return text % {"first": first, "last": last}


SENTENCES: dict[str, Callable[[int], str]] = {
    Degradation.SHUFFLED: lambda _n: _("The pictures stand in another order."),
    Degradation.FOREIGN_SHOT: lambda n: ngettext(
        "Shot %(shots)s shows another story.", "Shots %(shots)s show another story.", n
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

OF_VIDEOS: dict[str, Callable[[int], str]] = {
    Degradation.SHUFFLED: lambda _n: _("The parts stand in another order."),
    Degradation.REPEATED_SHOT: lambda n: ngettext(
        "Shot %(shots)s repeats another shot.",
        "Shots %(shots)s repeat another shot.",
        n,
    ),
    Degradation.BLURRED: lambda _n: _("The video is blurred."),
    Degradation.SWAPPED_CHARACTERS: lambda _n: _(
        "Shots %(shots)s are exchanged, so that others are seen than the script names."
    ),
}
