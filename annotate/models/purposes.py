"""What a unit and its slots are judged for."""

from django.db import models
from django.utils.translation import pgettext_lazy


class Purpose(models.TextChoices):
    """What a unit is judged for: the study itself, or to see how somebody judges."""

    REAL = "real", pgettext_lazy("purpose", "real")
    TRAINING = "training", pgettext_lazy("purpose", "training")
    GOLD = "gold", pgettext_lazy("purpose", "gold")
    TWIN = "twin", pgettext_lazy("purpose", "twin")
    REPEAT = "repeat", pgettext_lazy("purpose", "repeat")


PURPOSES = ["real", "training", "gold", "twin", "repeat"]


# What is laid among the real slots, so that annotators cannot tell the difference.
CHECKS = (Purpose.GOLD, Purpose.TWIN, Purpose.REPEAT)
