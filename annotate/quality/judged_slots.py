"""What the signals need to know of the slots that an annotator submitted."""

from datetime import datetime
from typing import NamedTuple


class SubmittedSlot(NamedTuple):
    """What the signals need to know of a submitted slot."""

    pk: int
    unit: int
    story: int
    purpose: str
    round: int
    seconds: float | None
    claimed: float | None
    offered: datetime | None
    a_is_left: bool | None
    expected: dict[str, list[int] | str]
    original: int | None
    repeat_of: int | None
