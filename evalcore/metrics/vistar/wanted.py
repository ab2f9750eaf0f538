"""What a story of VISTAR asks for, as its metrics read it from a rendering.

`Rendering.extra["vistar"]` holds what the importer took from the structured prompt:
`role`, `angle`, `parameters` (texts by key) and `questionnaire`. The keys of parameters
that the metrics understand are ours; the paper shows only `font`:

========== ============ ===============================================================
key        read by      value
========== ============ ===============================================================
text       TR           what is to be read in the picture
subject    CSE          what recurs in the panels, as a detector is told
count      CPA          how many people are to be seen
posture    CPA          standing, sitting or lying for each person, separated by commas
expression CPA          the face of each person, separated by commas
========== ============ ===============================================================
"""

from collections.abc import Mapping
from typing import Any

from evalcore.metrics.base import Rendering, Shot

# Where a shot says what to draw, the field most like a prompt first.
PROMPT_FIELDS = ("prompt", "caption", "static", "plot", "setting")


def vistar_of(rendering: Rendering) -> Mapping[str, Any]:
    """Return what the importer took from the structured prompt; empty if nothing."""
    found = rendering.extra.get("vistar")
    return found if isinstance(found, Mapping) else {}


def parameter(rendering: Rendering, key: str) -> str:
    """Return a parameter of the prompt, without white space around it; or ''."""
    parameters = vistar_of(rendering).get("parameters")
    if not isinstance(parameters, Mapping):
        return ""
    return str(parameters.get(key, "")).strip()


def shot_text(shot: Shot) -> str:
    """Return what a shot was to show: the first of its texts that is not empty.

    Examples
    --------
    >>> shot_text(Shot(1, text={"plot": "They meet.", "caption": "Two friends"}))
    'Two friends'
    """
    texts = (shot.text.get(field, "").strip() for field in PROMPT_FIELDS)
    return next(filter(None, texts), "")
