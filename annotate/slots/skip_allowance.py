"""How many stories a person may skip without words, and whose skips count."""

from math import floor

from django.db.models import Count, Max

from annotate.models import Annotator, Skip, Slot, Study, Unit


def allowed(study: Study, sittings: int | None) -> int:
    """Return how many stories may be skipped without words in so many sittings.

    At least one a sitting, unless the study's share is 0.
    """
    share = study.skip_share
    easy = max(1, floor(share * study.session_size)) if share else 0
    return easy * max(1, sittings or 1)


def needs_words(slot: Slot, annotator: Annotator) -> bool:
    """Say whether skipping this slot needs a reason in words."""
    skipped = Skip.objects.filter(annotator=annotator).count()
    return skipped >= allowed(annotator.study, slot.session)


def with_reason(unit: Unit) -> int:
    """Return how many people within their allowance said in words why they skip a unit.

    A reason that is only chosen from the list costs nothing, as the skip itself.
    """
    skips = unit.skips.exclude(comment="")
    people = set(skips.values_list("annotator", flat=True))
    begun = Slot.objects.filter(annotator__in=people, started_at__isnull=False)
    sittings = dict(
        begun.order_by().values_list("annotator").annotate(n=Max("session"))
    )
    every = Skip.objects.filter(annotator__in=people).order_by()
    skipped = every.values_list("annotator").annotate(n=Count("pk"))
    return sum(n <= allowed(unit.study, sittings.get(pk)) for pk, n in skipped)
