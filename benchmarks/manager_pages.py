"""Measure the manager's pages of a study of many people and of a large one.

    python -m benchmarks.manager_pages [--only people|large]

*people*: 500 people, 8 methods, 60 stories, 8 ratings per item; *large*: 20 methods,
300 stories, 10 ratings per item, 120 people. Prints queries, seconds and kilobytes of
each page, requested again after a first visit, and the seconds of the worker's figures.
The results are in `benchmarks/results/speed.md`.
"""

import argparse
from datetime import timedelta
from itertools import islice
from typing import Any

from benchmarks.figures import head, row, timed
from benchmarks.temporary_site import temporary_site

SIZES = {
    "people": {"stories": 60, "methods": 8, "redundancy": 8, "people": 500},
    "large": {"stories": 300, "methods": 20, "redundancy": 10, "people": 120},
}
PARTS = 20  # one part of the slots is still to come
PAGES = {
    "Progress": "",
    "Progress, all people": "?people=all",
    "People and pay": "annotators/",
    "Ratings": "slots/",
    "Ratings, one method": "slots/?method=m003",
    "Reports": "reports/",
    "Settings": "settings/",
    "Log": "events/",
    "ratings.csv": "ratings.csv",
    "people.csv": "annotators/people.csv",
    "Prolific's list": "annotators/prolific-approve.csv",
}


def filled_study(slug: str, people: int, **size: int) -> Any:
    """Store a study that people have worked on for two weeks, nearly to the end."""
    from django.db.models import F
    from django.utils import timezone

    from annotate.models import Question, Rating, Slot, Unit
    from annotate.responses.bulk import count_units
    from evalcore.database.postgresql import analyze
    from tests.pressure.grids import add_people, make_grid

    recruitment = {"platform": "prolific", "minutes": 20, "pay_per_hour": 9}
    study = make_grid(
        slug,
        recruitment=recruitment | {"currency": "GBP"},
        goals={"mean": 0.4, "top": 3},
        **size,
    )
    first = add_people(study, people)[0].pk
    low = study.slots.order_by("pk").values_list("pk", flat=True)[0]
    dealt = study.slots.annotate(place=(F("pk") - low) / people)
    dealt.update(
        annotator=first + (F("pk") - low) % people,
        session=1 + F("place") / study.session_size,
        position=100 + 10 * F("place"),
    )
    start = timezone.now() - timedelta(days=13)
    done = {"state": "submitted", "claimed": True, "seconds": 30}
    for part in range(1, PARTS):
        at = start + timedelta(days=13) * part / PARTS
        slots = study.slots.annotate(part=F("pk") % PARTS).filter(part=part)
        slots.update(**done, started_at=at, submitted_at=at + timedelta(seconds=30))
    question, scale = study.questions.get(), {"scale_min": 0, "scale_max": 4}
    common = {"study": study, "kind": "likert", "titles": question.titles} | scale
    more = [Question(key=f"q{n}", ordinal=n, **common) for n in (2, 3)]
    questions = [question, *Question.objects.bulk_create(more)]
    rows = study.slots.filter(state="submitted").values_list("pk", "annotator")
    ratings = (
        Rating(
            slot_id=pk,
            annotator_id=who,
            question=one,
            value=(pk * 7 + who + 3 * one.ordinal) % 5,
            **scale,
        )
        for pk, who in rows.iterator()
        for one in questions
    )
    while chunk := list(islice(ratings, 5000)):
        Rating.objects.bulk_create(chunk)
    count_units(study)
    analyze(Unit, Slot, Rating)
    return study


def main() -> None:
    """Ask for each page twice, through all of Django."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=SIZES)
    given = parser.parse_args()
    with temporary_site():
        from django.conf import settings
        from django.db import connection
        from django.test import Client
        from django.test.utils import CaptureQueriesContext

        from annotate.coverage import snapshots
        from annotate.models import User

        settings.ALLOWED_HOSTS = ["*"]
        client = Client()
        client.force_login(User.objects.create(username="ann", is_superuser=True))

        def visit(url: str) -> int:
            answer = client.get(url)
            assert answer.status_code == 200, (url, answer.status_code)
            content = answer if answer.streaming else [answer.content]
            return sum(map(len, content))

        head("study", "page", "queries", "first, s", "again, s", "kB")
        for name, size in SIZES.items():
            if given.only not in (None, name):
                continue
            study = filled_study(name, **size)
            (work,) = timed(lambda one=study: snapshots.refresh(one))
            row([name, "worker's figures", "", f"{work:.1f}", "", ""])
            base = f"/studies/{study.slug}/"
            pages = {title: base + rest for title, rest in PAGES.items()}
            for title, url in {**pages, "Studies": "/studies/"}.items():
                (cold,) = timed(lambda at=url: visit(at))
                with CaptureQueriesContext(connection) as asked:
                    (warm,) = timed(lambda at=url: visit(at))
                row(
                    [
                        name,
                        title,
                        len(asked),
                        f"{cold:.2f}",
                        f"{warm:.2f}",
                        f"{visit(url) / 1000:.0f}",
                    ]
                )


if __name__ == "__main__":
    main()
