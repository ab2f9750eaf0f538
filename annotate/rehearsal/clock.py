"""The clock of a rehearsal; it is imported before Django, whose models copy it."""

from datetime import datetime

from django.utils import timezone


class Clock:
    """The simulated present."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at

    def take_over(self) -> None:
        """Give this time to the whole process, which no real request may share.

        Models copy the function as the default of their times: they come later.
        """
        timezone.now = self
