"""For how long each shot of each judged slot was in sight, as a table."""

from collections.abc import Iterator

from annotate.models import Purpose, Study
from annotate.quality_rules.time_signals import GLANCE
from annotate.reports.downloads import WORDS

HEADER = ("slot", "story", "annotator", "shot", "seconds", "seen", "share_seen")


def rows(study: Study) -> Iterator[tuple[str | int | float, ...]]:
    """Yield a row for each shot of a submitted slot whose page told it.

    A shot is `seen` after the time that the study asks for, or half a second where it
    asks for none; `share_seen` is the share of these among the slot's shots.
    """
    told = study.slots.filter(submitted_at__isnull=False, in_sight__isnull=False)
    told = told.exclude(purpose=Purpose.TRAINING).order_by("unit", "round", "pk")
    enough = study.must_see or GLANCE
    names = "code", "unit__story__key", "annotator__name", "in_sight"
    for *named, in_sight in told.values_list(*names).iterator(2000):
        seen = {shot: seconds >= enough for shot, seconds in in_sight.items()}
        for shot, seconds in in_sight.items():
            share = round(sum(seen.values()) / len(seen), 4)
            yield *named, int(shot), seconds, WORDS[seen[shot]], share
