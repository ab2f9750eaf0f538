"""Delete a study with its answers, people, log and reports."""

import logging
from functools import partial

from django.db import transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.kinds.registry import KINDS
from annotate.models import (
    Fault,
    Look,
    ShotComment,
    Skip,
    Slot,
    StoryComment,
    Study,
    User,
)
from annotate.reports.building import remove_files
from annotate.studies import lifecycle

logger = logging.getLogger(__name__)
# A study with more slots is deleted by a worker: it takes longer than a page may.
SLOTS_AT_ONCE = 2_000


class DeletingError(ValueError):
    """A study that is not deleted; the message says why."""


def ask_to_delete(study: Study, typed: str, *, user: User) -> bool:
    """Delete a study, or leave a large one to a worker; return whether it is gone."""
    if typed.strip() != study.slug:
        text = _("Type the web address name “%(name)s” to delete the study.")
        raise DeletingError(text % {"name": study.slug})
    with transaction.atomic():
        stored = _locked(study.pk)
        if stored is None:
            return True
        now = timezone.now()
        stored.deletion_asked_at = stored.deletion_asked_at or now
        stored.archived_at = stored.archived_at or now
        stored.save(update_fields=["deletion_asked_at", "archived_at"])
        logger.warning(
            "study %s (%s) of benchmark %s: deletion asked for by %s",
            stored.slug,
            stored.title,
            stored.benchmark.slug,
            user.username,
        )
    if study.slots.count() > SLOTS_AT_ONCE:
        return False
    delete(study.pk)
    return True


def _locked(pk: int) -> Study | None:
    """Lock a study that may be deleted; None if it is gone."""
    study = Study.objects.select_for_update().filter(pk=pk).first()
    if study is not None:
        try:
            lifecycle.check_at_rest(study)
        except lifecycle.LifecycleError as error:
            raise DeletingError(str(error)) from error
    return study


def waiting() -> list[int]:
    """Return the studies that a worker has to delete."""
    asked = Study.objects.filter(deletion_asked_at__isnull=False)
    return list(asked.order_by("deletion_asked_at").values_list("pk", flat=True))


@transaction.atomic
def delete(pk: int) -> None:
    """Delete a study whose deletion was asked for: everything, or nothing.

    Outputs and their pictures belong to the benchmark, and stay.
    """
    study = _locked(pk)
    if study is None or study.deletion_asked_at is None:
        return
    numbers = {
        "annotators": study.annotators.count(),
        "ratings": study.slots.filter(submitted_at__isnull=False).count(),
    }
    for report in study.reports.all():
        transaction.on_commit(partial(remove_files, report))
    study.reports.all().delete()
    study.exports.all().delete()  # a sweep removes their files
    study.events.all().delete()
    answers = {kind.model for kind in KINDS.values()}
    about: list[type[Model]] = [Look, StoryComment, ShotComment, Skip, Fault]
    for model in [*sorted(answers, key=lambda one: one.__name__), *about]:
        model._default_manager.filter(slot__study=study).delete()
    # A repeat protects the slot that it repeats.
    Slot.objects.filter(study=study, repeat_of__isnull=False).delete()
    study.slots.all().delete()
    slug = study.slug
    study.delete()
    transaction.on_commit(
        partial(logger.warning, "study %s: deleted with %s", slug, numbers)
    )
