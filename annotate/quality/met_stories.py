"""Stories that people answered or skipped, by method."""

from collections import Counter

from django.db.models import Count

from annotate.models import Annotator, Purpose, Skip


def met_by(annotator: Annotator) -> tuple[int, list[tuple[list[str], bool]]]:
    """Return the number of skips, and the methods of each story met, in order.

    Each story says whether it was skipped; there are none without a skip. Stories with
    a broken picture are not counted as skipped.
    """
    paths = annotator.study.output_paths(above="unit__", below="__method__name")
    skips = list(annotator.skips.values_list("reason", "created_at", *paths))
    stories = [
        (at, methods, True)
        for reason, at, *methods in skips
        if reason != Skip.Reason.BROKEN
    ]
    if not stories:
        return len(skips), []
    done = annotator.slots.filter(submitted_at__isnull=False, purpose=Purpose.REAL)
    for at, *methods in done.values_list("submitted_at", *paths):
        stories.append((at, methods, False))
    stories.sort(key=lambda story: story[0])
    return len(skips), [(methods, skipped) for _at, methods, skipped in stories]


def met_by_others(annotator: Annotator) -> dict[str, tuple[int, int]]:
    """Return how many stories of each method the others skipped, and met."""
    study = annotator.study
    skips = Skip.objects.filter(unit__study=study, unit__purpose=Purpose.REAL)
    skips = skips.exclude(annotator=annotator).exclude(reason=Skip.Reason.BROKEN)
    done = study.slots.filter(submitted_at__isnull=False, purpose=Purpose.REAL)
    done = done.exclude(annotator=annotator)
    skipped: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for path in study.output_paths(above="unit__", below="__method__name"):
        for counts, rows in ((skipped, skips), (answered, done)):
            for method, n in rows.order_by().values_list(path).annotate(n=Count("pk")):
                counts[method] += n
    methods = {*skipped, *answered}
    return {name: (skipped[name], skipped[name] + answered[name]) for name in methods}
