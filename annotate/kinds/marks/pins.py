"""Pins as text: one line each, with shot, place and kind of fault."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from annotate.kinds.base import BadAnswerError

# The answer of a person who has found no fault.
NOTHING = "nothing"
MOST = 50
LINE = re.compile(
    r"([0-9]{1,6}) +([01]?\.[0-9]{1,9}|[01]) +([01]?\.[0-9]{1,9}|[01]) +([^\s|]+)"
)
# Stored places have four decimals; shown ones have more, so that they convert back.
STORED, SHOWN = 4, 6

# Width and height.
Size = tuple[int, int]


@dataclass(frozen=True)
class Pin:
    """A fault: x and y are shares of a picture from its left and top edge."""

    shot: int
    x: float
    y: float
    label: str


def read(value: str) -> tuple[Pin, ...]:
    """Return the pins of an answer; none if it says that nothing is wrong."""
    lines = [" ".join(line.split()) for line in re.split(r"[\n;]", value)]
    lines = [line for line in lines if line]
    if NOTHING in lines and len(lines) > 1:
        text = _("Mark the faults, or say that nothing is wrong; not both.")
        raise BadAnswerError(text)
    if len(lines) > MOST:
        text = _("Set at most %(most)d marks; your answer has %(n)d.")
        raise BadAnswerError(text % {"most": MOST, "n": len(lines)})
    if not lines:
        raise BadAnswerError(_("Mark a fault, or say that nothing is wrong."))
    return () if lines == [NOTHING] else tuple(map(_pin, lines))


def _pin(line: str) -> Pin:
    match = LINE.fullmatch(line)
    if match is None or max(float(match[2]), float(match[3])) > 1:
        text = _(
            "“%(line)s” is no mark. Write the shot, the place from the left and from "
            "the top (0 to 1), and the kind of fault, such as: %(example)s"
        )
        raise BadAnswerError(text % {"line": line[:40], "example": "3 0.5 0.25 other"})
    return Pin(int(match[1]), float(match[2]), float(match[3]), match[4])


def written(pins: Iterable[Pin], decimals: int = STORED) -> str:
    """Return pins as an answer."""
    lines = [
        f"{pin.shot} {pin.x:.{decimals}f} {pin.y:.{decimals}f} {pin.label}"
        for pin in pins
    ]
    return "\n".join(lines) or NOTHING


def on_picture(pin: Pin, picture: Size, box: Size | None) -> Pin:
    """Return a pin with its place on the picture instead of on its letterbox.

    A place on the bars is moved to the nearest edge of the picture.
    """
    wide, high = _filled(picture, box)
    x, y = (pin.x - (1 - wide) / 2) / wide, (pin.y - (1 - high) / 2) / high
    return replace(pin, x=min(max(x, 0.0), 1.0), y=min(max(y, 0.0), 1.0))


def on_letterbox(pin: Pin, picture: Size, box: Size | None) -> Pin:
    """Return a pin with its place on the letterbox in which the picture is shown."""
    wide, high = _filled(picture, box)
    return replace(
        pin, x=(1 - wide) / 2 + pin.x * wide, y=(1 - high) / 2 + pin.y * high
    )


def _filled(picture: Size, box: Size | None) -> tuple[float, float]:
    """Return the shares of a box that a picture fills across and down."""
    if box is None:
        return 1.0, 1.0
    across, down = picture[0] / box[0], picture[1] / box[1]
    return across / max(across, down), down / max(across, down)
