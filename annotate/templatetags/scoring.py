"""Template filter for runs that compute scores."""

from django import template

from evalcore.models import MetricRun
from evalcore.scoring.time_left import in_words, seconds_left

register = template.Library()


@register.filter
def time_left(run: MetricRun) -> str:
    """Return how long a run is expected to take from now, in words."""
    return in_words(seconds_left(run))
