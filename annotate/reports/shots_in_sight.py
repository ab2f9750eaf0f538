"""For how long each shot of each judged slot was in sight, as a table."""

from collections.abc import Iterator

from annotate.models import MAIN, Purpose, Study
from annotate.quality_rules.time_signals import GLANCE
from annotate.reports.answer_marks import check_marks, hidden_slots, is_surplus
from annotate.reports.downloads import WORDS

HEADER = (
    "slot",
    "story",
    "annotator",
    "shot",
    "seconds",
    "seen",
    "share_seen",
    "is_gold",
    "is_repeat",
    "excluded",
)
SLOT = ("pk", "purpose", "ordinal", "in_sight")
NAMES = ("code", "unit__story__key", "annotator__name")


def rows(study: Study) -> Iterator[tuple[str | int | float, ...]]:
    """Yield a row for each shot of a submitted slot whose page told it."""
    told = study.slots.filter(submitted_at__isnull=False, in_sight__isnull=False)
    told = told.exclude(purpose=Purpose.TRAINING).order_by("unit", "round", "pk")
    hidden = hidden_slots(study, MAIN)
    enough = study.must_see or GLANCE
    for slot in told.values_list(*SLOT, *NAMES).iterator(2000):
        pk, purpose, ordinal, in_sight, *named = slot
        excluded = pk in hidden or is_surplus(purpose, ordinal)
        marks = [WORDS[mark] for mark in (*check_marks(purpose).values(), excluded)]
        seen = {shot: seconds >= enough for shot, seconds in in_sight.items()}
        for shot, seconds in in_sight.items():
            share = round(sum(seen.values()) / len(seen), 4)
            yield *named, int(shot), seconds, WORDS[seen[shot]], share, *marks
