"""The checklist kind: labels with two boxes for every shot."""

from typing import Literal

from django.utils.translation import gettext_lazy, ngettext_lazy

from annotate.kinds.base import Fields, Kind
from annotate.kinds.likert.kind import LikertKind
from annotate.kinds.question import QuestionDefinition
from annotate.quality_rules.signals import EFFORT, HASTE
from annotate.schema import Texts

# The two boxes of a label; each is stored as its own question, `label|box`.
BOXES = ("text", "video")
TICKED = (0, 1)


class Label(QuestionDefinition):
    """A label for something in a shot, under the heading `category`."""

    kind: Literal["checklist"]
    category: Texts = {}

    def rows(self) -> list[Fields]:
        """Return the two boxes of a label."""
        (row,) = super().rows()
        ticked = dict(zip(("scale_min", "scale_max"), TICKED, strict=True))
        return [row | ticked | {"key": f"{self.key}|{box}"} for box in BOXES]


class ChecklistKind(LikertKind):
    """A box that is ticked (1) or not (0) in every shot."""

    name = "checklist"
    place = 3
    title = gettext_lazy("checklist")
    phrase = gettext_lazy("a checklist for each shot")
    heading = gettext_lazy("Tick what occurs in the story")
    asks = ngettext_lazy(
        "A checklist for each shot, %(n)s label:",
        "A checklist for each shot, %(n)s labels:",
        "n",
    )
    template = "rate/_checklist.html"
    scripts = ("checklist",)
    keys_template = "rate/_keys_checklist.html"
    wanted = ""  # boxes are sent per shot
    of_shots = True
    is_nominal = True
    has_known_answers = False
    seconds = 1
    controls = ("repeat",)
    # The quality signals that ticks alone provide.
    signals = (*HASTE, "flat", "repeat", "agreement", *EFFORT)
    definition = Label
    brief = Kind.brief


KIND = ChecklistKind()
