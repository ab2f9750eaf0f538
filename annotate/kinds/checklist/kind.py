"""Labels with two boxes for every shot."""

from typing import Any

from django.utils.translation import gettext_lazy, ngettext_lazy

from annotate.kinds.base import Fields, FileReader, Path, Row, Scale
from annotate.kinds.likert.kind import LikertKind

# What a box is about; each is a question of its own, `label|box`.
BOXES = ("text", "video")
TICKED = (0, 1)


class ChecklistKind(LikertKind):
    """A box that is ticked (1) or not (0) in every shot."""

    name = "checklist"
    title = gettext_lazy("checklist")
    phrase = gettext_lazy("a checklist for each shot")
    heading = gettext_lazy("Say what occurs in the story")
    asks = ngettext_lazy(
        "A checklist for each shot, %(n)s label:",
        "A checklist for each shot, %(n)s labels:",
        "n",
    )
    template = "rate/_checklist.html"
    script = "checklist"
    keys_template = "rate/_keys_checklist.html"
    of_shots = True
    is_nominal = True
    has_known_answers = False
    seconds = 1
    controls = ("repeat",)
    # What can be told of an annotator by ticks alone.
    signals = (
        "seconds_per_unit",
        "seconds_per_shot",
        "seconds_in_sight",
        "shots_seen",
        "flat",
        "repeat",
        "agreement",
        "skips",
        "no_time",
        "impossible_time",
    )
    keys = frozenset({"category"})
    form_parts = ("category",)

    def read(self, reader: FileReader, data: Row, path: Path, usual: Any) -> Fields:
        """Return the category that a label belongs to."""
        at = [*path, "category"]
        return {"categories": reader.texts(data.get("category"), at)}

    def stored_keys(self, key: str, scale: Scale | None) -> dict[str, Scale | None]:
        """Return the two boxes of a label."""
        return {f"{key}|{box}": TICKED for box in BOXES}
