"""Pictured examples: shots of an output beside shots of its degraded copy."""

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

# The maximum number of shots in an example.
MOST = 6
Degradation = Output.Degradation

# The fault of a single picture, in words.
MARKS: dict[str, Promise] = {
    Degradation.SHUFFLED: gettext_lazy("out of order"),
    Degradation.FOREIGN_SHOT: gettext_lazy("another story"),
    Degradation.REPEATED_SHOT: gettext_lazy("repeated"),
    Degradation.BLURRED: gettext_lazy("blurred"),
    Degradation.SWAPPED_CHARACTERS: gettext_lazy("exchanged"),
}


class ExampleShot(NamedTuple):
    """A shot of a degraded copy: is it changed, and the source shot of its picture."""

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
        """Return the rows of pictures: original and degraded."""
        made = [ExampleShot(one.number, False, one.number) for one in self.shots]
        return [("good", made), ("bad", self.shots)]

    @property
    def size_attributes(self) -> str:
        """Return width and height of the pictures as HTML attributes, if known."""
        return format_html('width="{}" height="{}"', *self.size) if self.size else ""

    @property
    def mark(self) -> str:
        """Return the fault shown at each changed picture; empty if all are the same."""
        return "" if all(one.is_changed for one in self.shots) else self.fault

    @property
    def fault(self) -> str:
        return str(MARKS[self.question.degradation])

    @property
    def sentence(self) -> str:
        changed = [one.number for one in self.shots if one.is_changed]
        assert self.question.example is not None
        return what_is_wrong(self.question.example, changed)


def example_of(question: Question) -> Example | None:
    if question.example_id is None:
        return None
    shots = [ExampleShot(*one) for one in question.example_shots]
    return Example(question, shots, same_size.box_of(question.study))


def is_shown(question: Question, number: int) -> bool:
    """Return whether a shot is part of the question's example."""
    return any(number == one[0] for one in question.example_shots)


def changed_shots(twin: Output) -> list[ExampleShot]:
    """Return the shots of a degraded copy to show, and whether each is changed."""
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
    """Yield each shot's number and the source shot of its picture; 0: none."""
    left: dict[str, list[int]] = {}
    for number, picture in before.items():
        if after.get(number) != picture:
            left.setdefault(picture, []).append(number)
    for number, picture in after.items():
        places = left.get(picture)
        stayed = before.get(number) == picture
        yield number, number if stayed else places.pop(0) if places else 0


def _example_shot(twin: Output, number: int, shown: int) -> ExampleShot:
    """Return a shot of a degraded copy with the source shot of its picture."""
    is_moved = twin.degradation == Degradation.SHUFFLED
    return ExampleShot(number, shown != number, shown if is_moved else number)


def picked(shots: Sequence[ExampleShot], degradation: str) -> list[ExampleShot]:
    """Return a row of shots, half of them changed if possible."""
    if degradation == Degradation.SHUFFLED:
        return _most_mixed(shots)
    changed = [one for one in shots if one.is_changed]
    few = changed[: MOST // 2]
    rest = [one for one in shots if not one.is_changed] + changed[MOST // 2 :]
    return sorted(few + rest[: MOST - len(few)])


def _most_mixed(shots: Sequence[ExampleShot]) -> list[ExampleShot]:
    """Return the consecutive shots that exchanged most pictures with each other."""
    windows = [
        list(shots[start : start + MOST])
        for start in range(max(1, len(shots) - MOST + 1))
    ]

    def exchanged(window: list[ExampleShot]) -> int:
        numbers = {one.number for one in window}
        return sum(one.is_changed and one.picture_of in numbers for one in window)

    return max(windows, key=exchanged)


def what_is_wrong(twin: Output, shots: Sequence[int]) -> str:
    """Return a sentence that describes the degradation of these shots."""
    of_videos = OF_VIDEOS if twin.video_id is not None else {}
    sentence = of_videos.get(twin.degradation) or SENTENCES[twin.degradation]
    return sentence(len(shots)) % {"shots": listed(map(str, shots))}


def listed(names: Iterable[str]) -> str:
    """Return names as a list in a sentence: 1, 2 and 5."""
    *before, last = names
    if not before:
        return last
    return _("%(first)s and %(last)s") % {"first": ", ".join(before), "last": last}


def quoted(titles: Sequence[str]) -> str:
    """Return quoted titles as a list in a sentence: “Cast”, “Place” and “Order”."""
    *before, last = [_("“%(title)s”") % {"title": title} for title in titles]
    if not before:
        return last
    first = pgettext("between quoted titles", ", ").join(before)
    text = pgettext("quoted titles", "%(first)s and %(last)s")
    return text % {"first": first, "last": last}


SENTENCES: dict[str, Callable[[int], str]] = {
    Degradation.SHUFFLED: lambda _n: _("The pictures are in a different order."),
    Degradation.FOREIGN_SHOT: lambda n: ngettext(
        "Shot %(shots)s comes from another story.",
        "Shots %(shots)s come from another story.",
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
        "The pictures of shots %(shots)s are swapped, so the characters do not match "
        "the script."
    ),
}

OF_VIDEOS: dict[str, Callable[[int], str]] = {
    Degradation.SHUFFLED: lambda _n: _("The parts are in a different order."),
    Degradation.REPEATED_SHOT: lambda n: ngettext(
        "Shot %(shots)s repeats another shot.",
        "Shots %(shots)s repeat another shot.",
        n,
    ),
    Degradation.BLURRED: lambda _n: _("The video is blurred."),
    Degradation.SWAPPED_CHARACTERS: lambda _n: _(
        "Shots %(shots)s are swapped, so the characters do not match the script."
    ),
}
