"""Measure the pages of large studies.

    python benchmarks/pages.py [--answers 10000,100000,1000000]
    python -m tests.with_postgres python benchmarks/pages.py

Prints milliseconds (median / p95) of the progress page, of its poll without news, of
the server page and of what Prometheus reads; and seconds of the worker's part, the
first time and again.
"""

import argparse
import math
import os
import sys
from datetime import timedelta
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figures import head, median_p95, row, timed
from benchmarks.temporary_site import temporary_site

REQUESTS, QUESTIONS, REDUNDANCY, METHODS = 20, 3, 10, 34
PARTS = 20  # moments of answers; one part of the slots is still to come


def large_study(answers: int):
    """Store a study of so many answers, over two weeks, and of some still to come."""
    from django.db.models import F
    from django.utils import timezone

    from annotate.models import Question, Rating, Slot, Unit
    from annotate.responses.bulk import count_units
    from evalcore.database.postgresql import analyze
    from tests.pressure.grids import add_people, deal_out, make_grid

    stories = math.ceil(answers / QUESTIONS / REDUNDANCY / METHODS)
    size = {"stories": stories, "methods": METHODS, "redundancy": REDUNDANCY}
    study = make_grid(f"large-{answers}", **size)
    deal_out(study, add_people(study, max(2 * REDUNDANCY, answers // 1000)))
    start = timezone.now() - timedelta(days=13)
    done = {"state": "submitted", "claimed": True, "seconds": 30}
    parts = study.slots.annotate(part=F("pk") % PARTS)
    for part in range(1, PARTS):
        at = start + timedelta(days=13) * part / PARTS
        parts.filter(part=part).update(**done, started_at=at, submitted_at=at)
    first, scale = study.questions.get(), {"scale_min": 0, "scale_max": 4}
    common = {"study": study, "kind": first.kind, "titles": first.titles} | scale
    others = [
        Question(key=f"q{n}", ordinal=n, **common) for n in range(2, 1 + QUESTIONS)
    ]
    questions = [first, *Question.objects.bulk_create(others)]
    slots = study.slots.filter(state="submitted").values_list("pk", "annotator")
    ratings = (
        Rating(slot_id=pk, annotator_id=who, question=one, value=pk % 5, **scale)
        for pk, who in slots.iterator()
        for one in questions
    )
    while chunk := list(islice(ratings, 5000)):
        Rating.objects.bulk_create(chunk)
    count_units(study)
    analyze(Unit, Slot, Rating)
    return study


def main() -> None:
    """Ask for the pages of studies of several sizes, through all of Django."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", default="10000,100000,1000000")
    given = parser.parse_args()
    os.environ["METRICS"] = "1"
    with temporary_site():
        from django.conf import settings
        from django.test import Client

        from annotate.coverage import snapshots
        from annotate.coverage.dashboard import version
        from annotate.models import User

        settings.ALLOWED_HOSTS = ["*"]
        client = Client()
        client.force_login(User.objects.create(username="ann", is_superuser=True))

        def asked(url: str, **options: object) -> str:
            assert client.get(url, **options).status_code < 400
            spent = timed(lambda: client.get(url, **options), REQUESTS)
            return median_p95([1000 * one for one in spent])

        pages = ("progress", "poll", "server", "metrics")
        head("answers", *(f"{name}, ms" for name in pages), "worker, s", "again")
        for answers in map(int, given.answers.split(",")):
            study = large_study(answers)
            work = timed(lambda one=study: snapshots.refresh(one), 2)
            url = f"/studies/{study.slug}/"
            poll = f"{url}?since={version(study)}"
            cells = [asked(url), asked(poll, headers={"hx-request": "true"})]
            cells += [asked("/server/"), asked("/metrics")]
            row([f"{answers:,}", *cells, *(f"{one:.1f}" for one in work)])


if __name__ == "__main__":
    main()
