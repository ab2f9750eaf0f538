"""What a judge of four successive pictures is told, in this project's own words.

Dimensions, anchors and the form of the reply are Envision's (section 3.3, appendix E).
"""

from collections.abc import Mapping
from types import MappingProxyType

# How each sub-score is called in the reply, and what it is about.
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "semantic": "Semantic Consistency",
        "factual": "Factual Consistency",
        "spatial_temporal": "Spatial-Temporal Consistency",
        "basic_properties": "Basic Properties",
        "dynamics": "Dynamics and Interactivity",
        "physical_reliability": "Physical Reliability",
        "expressiveness": "Expressiveness",
        "artistic_quality": "Aesthetic Quality",
        "authenticity": "Authenticity",
    }
)
ABOUT: Mapping[str, str] = MappingProxyType(
    {
        "semantic": "do the pictures mean what the four texts mean, said and unsaid?",
        "factual": "is what they show true: to nature, history and common knowledge?",
        "spatial_temporal": (
            "does one picture follow from the last: same place and things, and changes "
            "in the right order?"
        ),
        "basic_properties": (
            "are number, shape, size and proportion of things right, and do they stay "
            "so?"
        ),
        "dynamics": (
            "do things move, push, flow, break and touch as they would in the world?"
        ),
        "physical_reliability": (
            "does everything obey the laws of physics: weight, heat, conservation, "
            "cause before effect?"
        ),
        "expressiveness": (
            "do composition, light and gesture tell the event and its mood?"
        ),
        "artistic_quality": (
            "is the style fitting, of one kind throughout, and well carried out?"
        ),
        "authenticity": (
            "would one take the pictures for real, or for careful work by hand, free "
            "of a machine's traces?"
        ),
    }
)

TASK = """\
You judge four pictures that are to show one event in four steps. First comes what the \
event is, then each step with its text and its picture.
Judge the four pictures together, severely: when in doubt between two scores give the \
lower one, and give 5 only where nothing at all can be found fault with."""

ANCHORS = """\
5: without fault
4: small deviations that change nothing
3: clear errors, but the course of the event and its aim stand
2: grave errors that break the event or the unity of the pictures
1: wrong at the root; little of what was asked for is left
0: beside the point, senseless, or not what was asked for at all"""


def rubric() -> str:
    """Return the task, the nine questions, the anchors and the form of the reply."""
    questions = "\n".join(f"- {NAMES[name]}: {ABOUT[name]}" for name in NAMES)
    form = "\n".join(f"{name}: <whole number from 0 to 5>" for name in NAMES.values())
    return (
        f"{TASK}\n\nNine questions:\n{questions}\n\nScores:\n{ANCHORS}\n\n"
        "First explain your scores in a few sentences. Then end your reply with these "
        f"nine lines, as they stand here:\n{form}"
    )
