"""Personal data older than the setting `RETENTION_DAYS`."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from annotate.models import Annotator, Event, Study
from annotate.personal_data import erasing


def due_at(study: Study) -> datetime | None:
    """Return when the personal data of a study's annotators are erased, if ever."""
    if study.is_imported or not settings.RETENTION_DAYS:
        return None
    if study.state != Study.State.CLOSED:
        return None
    ends = study.events.filter(kind=Event.Kind.STUDY_CLOSED).order_by("-id")
    closed = ends.values_list("at", flat=True).first()
    return closed + timedelta(days=settings.RETENTION_DAYS) if closed else None


def kept(study: Study) -> QuerySet[Annotator]:
    """Return those of whom personal data are kept, by name."""
    people = study.annotators.filter(erased_at__isnull=True)
    return people.exclude(state=Annotator.State.PLANNED).order_by("name")


def plans() -> Iterator[tuple[Study, datetime, list[Annotator]]]:
    """Yield each study of which data will be erased, when, and whose."""
    for study in Study.objects.filter(state=Study.State.CLOSED).order_by("slug"):
        at, people = due_at(study), list(kept(study))
        if at is not None and people:
            yield study, at, people


def erase_due() -> int:
    """Erase whoever has been kept for long enough; return how many."""
    now, erased, failed = timezone.now(), 0, []
    for study, at, people in plans():
        for person in people if at <= now else ():
            try:
                erasing.erase(person)
            except Exception as error:  # noqa: BLE001 - raised when the others are gone
                error.add_note(f"{person.name} of {study.slug} is due, and stays.")
                failed.append(error)
            else:
                erased += 1
    if failed:
        raise ExceptionGroup(f"Not erased: {len(failed)}", failed)
    return erased
