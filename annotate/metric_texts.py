"""The metrics' own texts, listed where `make messages` finds them.

A metric knows nothing of translation; pages translate what it says of itself.
"""

from django.utils.translation import gettext_noop

METRIC_TEXTS = (
    gettext_noop("Colourfulness"),
    gettext_noop("How colourful a shot is. It knows nothing of the story."),
    gettext_noop("Hasler and Suesstrunk 2003, equation 10; baseline"),
    gettext_noop("Palette consistency"),
    gettext_noop(
        "Whether the shots share their colours. Copying one picture scores 1; a"
        " story that moves from day to night scores low."
    ),
    gettext_noop("histogram intersection (Swain and Ballard 1991) of shots; baseline"),
    gettext_noop("Sharpness"),
    gettext_noop("Fine detail in a shot. Noise counts as detail."),
    gettext_noop("variance of the Laplacian at 256 x 256; baseline"),
    gettext_noop("Shots present"),
    gettext_noop("The share of the story's shots that have a picture at all."),
    gettext_noop("baseline of this project"),
)
