"""What a manager is told before launch of methods whose pictures have an odd shape."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.models import Study
from annotate.presentation.aspect_ratios import (
    LEAST_GAIN,
    OddShape,
    Size,
    Sized,
    filled,
    is_same_shape,
    odd_shapes,
)
from annotate.presentation.same_size import outputs_of
from evalcore.models import Frame, Output

# Of a drawing, in pixels: all boxes are equally large unless they are very long.
AREA, LONGEST = 80**2, 160
# More methods are counted.
MOST_NAMED = 4


@dataclass(frozen=True)
class Rectangle:
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Drawing:
    """A picture as it stands in a box, itself where it is shown in its own size."""

    whose: str
    caption: tuple[str, ...]
    width: float
    height: float
    picture: Rectangle


@dataclass(frozen=True)
class ShapeNote:
    """A finding in words: what is so, what follows, what would be right."""

    methods: str
    what: str
    effect: str
    right: str
    drawings: tuple[Drawing, ...]

    @property
    def text(self) -> str:
        return f"{self.what} {self.effect} {self.right}"


def of_study(study: Study) -> list[ShapeNote]:
    """Return what is to be told of the outputs that a study shows."""
    return of_outputs(outputs_of(study), same_size=study.same_size)


def of_outputs(outputs: QuerySet[Output], *, same_size: bool) -> list[ShapeNote]:
    """Return what is to be told of outputs; degraded twins are like their originals."""
    found = odd_shapes(_stored_sizes(outputs.filter(twin_of=None)), same_size=same_size)
    return [_note(one) for one in found]


def _stored_sizes(outputs: QuerySet[Output]) -> Iterable[Sized]:
    """Yield the sizes of all pictures and videos that are there."""
    frames = Frame.objects.filter(output__in=outputs.order_by().values("pk"))
    for rows, above, file in ((frames, "output__", "media"), (outputs, "", "video")):
        columns = (f"{above}story", f"{above}method__name")
        sides = (f"{file}__width", f"{file}__height")
        there = rows.filter(**{f"{file}__isnull": False}).order_by()
        counted = there.values_list(*columns, *sides).annotate(n=Count("pk"))
        for story, method, width, height, number in counted:
            yield Sized(story, method, (width, height), number, file == "video")


def _note(found: OddShape) -> ShapeNote:
    methods = _listed(found.methods)
    effect = [_fills(found)] if found.box else []
    effect += [_tells(found, methods)] if found.tells else []
    what, right = _what(found, methods), _right(found, methods)
    return ShapeNote(methods, what, " ".join(effect), right, _drawings(found, methods))


def _listed(names: Sequence[str]) -> str:
    named = ", ".join(names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    if more <= 0:
        return named
    return _("%(names)s and %(n)d more") % {"names": named, "n": more}


def _what(found: OddShape, methods: str) -> str:
    said = {
        "kind": _kind(found),
        "methods": methods,
        "size": _in_words(found.size),
        "usual": _in_words(found.usual),
        "n": found.others,
    }
    if not found.odd:
        text = _(
            "The %(kind)s of %(methods)s are up to %(size)s, those of others only up "
            "to %(usual)s."
        )
    elif found.is_uniform:
        text = ngettext(
            "The %(kind)s of %(methods)s are %(size)s, those of the other method "
            "%(usual)s.",
            "The %(kind)s of %(methods)s are %(size)s, those of the other %(n)d "
            "methods %(usual)s.",
            found.others,
        )
    elif found.odd == found.every:
        said["n"] = found.odd
        text = ngettext(
            "The %(kind)s of %(methods)s is unlike most of the same story: %(size)s "
            "instead of %(usual)s.",
            "All %(n)d %(kind)s of %(methods)s are unlike most of the same story, most "
            "often %(size)s instead of %(usual)s.",
            found.odd,
        )
    else:
        said |= {"n": found.odd, "every": found.every}
        text = ngettext(
            "%(n)d of the %(every)d %(kind)s of %(methods)s is unlike most of the same "
            "story: %(size)s instead of %(usual)s.",
            "%(n)d of the %(every)d %(kind)s of %(methods)s are unlike most of the "
            "same story, most often %(size)s instead of %(usual)s.",
            found.odd,
        )
    return text % said


def _in_words(size: Size) -> str:
    width, height = size
    if is_same_shape(size, (1, 1)):
        shape = _("square")
    else:
        shape = _("landscape") if width > height else _("portrait")
    return f"{width} x {height} ({shape})"


def _fills(found: OddShape) -> str:
    said = {
        "fill": round(100 * found.fill),
        "others": round(100 * found.others_fill),
        "without": round(100 * found.fill_without),
        "times": f"{found.gain:.1f}",
        "methods": _listed(found.left_out),
    }
    if found.gain < LEAST_GAIN:
        text = _(
            "In one box they fill %(fill)d %% of it, the usual ones %(others)d %%."
        )
    else:
        text = _(
            "In one box they fill %(fill)d %% of it, the usual ones %(others)d %%; "
            "without %(methods)s these would fill %(without)d %%, %(times)s times as "
            "much."
        )
    return text % said


def _tells(found: OddShape, methods: str) -> str:
    if found.box:
        text = _("The bars tell %(methods)s from the others.")
    else:
        text = _(
            "Each method is shown in its own size (same_size is false), which tells "
            "%(methods)s from the others."
        )
    return text % {"methods": methods}


def _right(found: OddShape, methods: str) -> str:
    if found.box is None and is_same_shape(found.size, found.usual):
        return _("Show all methods in one size.")
    if found.odd:
        text = _(
            "Crop or pad these %(kind)s to the usual shape, or leave %(methods)s out."
        )
    else:
        text = _(
            "Bring these %(kind)s to the size of the others, or leave %(methods)s out."
        )
    return text % {"kind": _kind(found), "methods": methods}


def _kind(found: OddShape) -> str:
    return _("videos") if found.is_video else _("pictures")


def _drawings(found: OddShape, methods: str) -> tuple[Drawing, ...]:
    """Draw an odd picture, a usual one, and that as it would be without the odd."""
    if found.box is None:
        scale = LONGEST / max(*found.size, *found.usual)
        return (
            _drawn(methods, found.size, found.size, scale),
            _drawn(_("usual"), found.usual, found.usual, scale),
        )
    boxed = [(methods, found.size, found.box), (_("usual"), found.usual, found.box)]
    if found.without and found.gain >= LEAST_GAIN:
        left_out = {"methods": _listed(found.left_out)}
        alone = _("usual, without %(methods)s") % left_out
        boxed.append((alone, found.usual, found.without))
    return tuple(
        _drawn(whose, size, box, _scale(box), _filling(size, box))
        for whose, size, box in boxed
    )


def _filling(size: Size, box: Size) -> str:
    return _("fills %(share)d %%") % {"share": round(100 * filled(size, box))}


def _scale(box: Size) -> float:
    return min(sqrt(AREA / (box[0] * box[1])), LONGEST / max(box))


def _drawn(whose: str, size: Size, box: Size, scale: float, *more: str) -> Drawing:
    across, down = scale * box[0], scale * box[1]
    fitted = min(across / size[0], down / size[1])
    width, height = fitted * size[0], fitted * size[1]
    corner = (across - width) / 2, (down - height) / 2
    return Drawing(
        whose,
        ("{} x {}".format(*size), *more),
        round(across, 1),
        round(down, 1),
        Rectangle(*(round(side, 1) for side in (*corner, width, height))),
    )
