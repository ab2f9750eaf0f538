"""LI: whether the light comes from where the prompt wants it.

Only the formulas: the network that finds cast shadows, and how a direction in space is
inferred from an object and its shadow, are not published.
"""

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Floats,
    MetricInfo,
    RenderedShot,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.unobtainable import Unobtainable
from evalcore.metrics.vistar.story_request import parameter
from evalcore.metrics.weights import Lack, Lacks

# Where the light stands, seen from the scene, in degrees around it; front is where the
# viewer is.
AZIMUTHS = {
    "front": 0,
    "right front": 45,
    "right": 90,
    "right back": 135,
    "back": 180,
    "left back": 225,
    "left": 270,
    "left front": 315,
}
ELEVATIONS = {"": 0, "upper ": 45}
FLAT = 1e-12  # a vector so short has no direction
WHY = (
    "the network that segments cast shadows and the rule that pairs them with objects "
    "are not published, so no light direction can be estimated; only the formula is "
    "here"
)
LACKING = Lacks([Lack("VISTAR's shadow network", WHY)])


def _direction(azimuth: float, elevation: float) -> Floats:
    around, up = np.radians(azimuth), np.radians(elevation)
    return np.array(
        [np.sin(around) * np.cos(up), np.sin(up), np.cos(around) * np.cos(up)]
    )


# Unit vectors towards the light, by phrase: x to the viewer's right, y up, z to the
# viewer. The paper has 16 phrases and prints one, "light from upper-left front"; the
# other phrases and all vectors are ours.
DIRECTIONS: dict[str, Floats] = {
    f"light from {height}{side}".replace("upper ", "upper-"): _direction(around, up)
    for height, up in ELEVATIONS.items()
    for side, around in AZIMUTHS.items()
}


def light_integrity(found: Floats, wanted: Floats) -> float:
    """Return how near two light directions are.

    `found`, `wanted`: three numbers each; their length does not matter. Result: 1 -
    angle / 90 degrees: 1 for the same direction, 0 from a right angle on. As written in
    the paper it would fall to -1, which it also says it does not; so it ends at 0.

    Source: VISTAR, section 3.3.2, LI-Score.

    >>> round(light_integrity(np.array([1.0, 0, 1]), np.array([0.0, 0, 2])), 9)
    0.5
    """
    cosine = float(_unit(found) @ _unit(wanted))
    angle = float(np.arccos(np.clip(cosine, -1, 1)))
    return max(0.0, 1 - angle / (np.pi / 2))


def scene_light(directions: Floats) -> Floats:
    """Return the direction of a scene's light from those of its objects.

    `directions`: objects x 3, at least one; their lengths do not matter. Result: a unit
    vector: the median of each coordinate of the unit vectors, brought to length 1. The
    paper says "median"; of coordinates is ours.

    Source: VISTAR, section 3.3.2.

    >>> scene_light(np.array([[0.0, 1, 0], [0, 2, 0], [1, 0, 0]]))
    array([0., 1., 0.])
    """
    if not len(directions):
        raise ValueError("no object has a light direction")
    return _unit(np.median([_unit(one) for one in directions], axis=0))


def _unit(vector: Floats) -> Floats:
    length = float(np.linalg.norm(vector))
    if not FLAT < length < np.inf:
        raise ValueError(f"{vector.tolist()} has no direction")
    unit: Floats = vector / length
    return unit


class LightIntegrity:
    """Light integrity of each shot; never ready, see the module.

    What is wanted is the prompt's parameter `light`, for every shot of the story.
    """

    info = MetricInfo(
        name="light_integrity",
        title="Light integrity (LI)",
        family="VISTAR",
        scores="shot",
        source="VISTAR, section 3.3.2",
        measures="Whether the light comes from the direction the prompt names.",
        backend="none: the shadow network is unpublished",
    )

    def __init__(self) -> None:
        # From a picture to the direction of the light for each object: objects x 3.
        self.shadows: Encoder = Unobtainable(LACKING)

    missing = staticmethod(lambda: LACKING)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot that is there.

        Undefined where the prompt names none of the 16 directions, and where no object
        tells one.
        """
        phrase = parameter(rendering, "light")
        wanted = DIRECTIONS.get(phrase.casefold())
        if wanted is None:
            known = ", ".join(DIRECTIONS)
            reason = f"parameter light: expected one of {known}, found {phrase!r}"
            return [Value(None, shot.number, reason) for shot in rendering.rendered]
        found = yield Ask(self.shadows, rendering.images)
        return [
            _value(shot, directions, wanted)
            for shot, directions in zip(rendering.rendered, found, strict=True)
        ]


def _value(shot: RenderedShot, directions: Floats, wanted: Floats) -> Value:
    try:
        light = scene_light(directions)
    except ValueError as error:
        return Value(None, shot.number, str(error))
    value = light_integrity(light, wanted)
    return Value(value, shot.number, trace={"light": light.tolist()})
