"""What a story of VISTAR asks for, as its metrics read it from a rendering.

`Rendering.extra["vistar"]` holds what the importer took from the structured prompt:
`role`, `angle`, `parameters` (texts by key) and `questionnaire`. The keys of parameters
that the metrics understand are ours; the paper shows only `font`:

========== ============ ===============================================================
key        read by      value
========== ============ ===============================================================
text       TR           what is to be read in the picture
light      LI           where the light comes from, as "light from upper-left front"
subject    CSE          what recurs in the panels, as a detector is told
count      CPA          how many people are to be seen
posture    CPA          standing, sitting or lying for each person, separated by commas
expression CPA          the face of each person, separated by commas
========== ============ ===============================================================
"""

from collections.abc import Mapping
from typing import Any

from evalcore.metrics.base import Rendering


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
