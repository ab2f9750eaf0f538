"""Periodic tasks for studies, every minute and every hour."""

import logging
import time
from collections.abc import Callable
from importlib import import_module

from celery import shared_task
from django.conf import settings
from kombu.exceptions import OperationalError

from annotate.access import rate_limits
from annotate.coverage import snapshots
from annotate.models import Study
from annotate.personal_data import erasing
from annotate.presentation import same_size
from annotate.rehearsal import queue as rehearsals
from annotate.reports import building, deleting, exports, publishing
from annotate.responses import giving_back
from annotate.studies import plan_queue
from annotate.uploads import queue
from annotate.webhooks import delivering, messages
from evalcore.models import MetricChunk
from evalcore.serving import log

logger = logging.getLogger(__name__)


def ring(bell: Callable[[], object]) -> bool:
    """Wake workers for a queued job, which otherwise waits up to a minute."""
    try:
        bell()
    except (OperationalError, OSError):
        logger.warning("The broker is unreachable; a job waits")
        return False
    return True


@shared_task
def release_expired() -> None:
    """Release slots whose lease has expired."""
    giving_back.release_expired()


# Time for drawing pictures each minute; other jobs wait meanwhile.
DRAWING_SECONDS = 15


@shared_task
def plan_studies() -> None:
    """Make the next plan, and queue the one after it."""
    plan_queue.tidy_up()
    for plan_id in plan_queue.waiting_plans()[:1]:
        plan_queue.make_plan(plan_id)
        if plan_queue.waiting_plans():
            plan_studies.delay()


@shared_task
def draw_pictures() -> None:
    """Draw the pictures of open studies at their display size."""
    deadline = time.monotonic() + DRAWING_SECONDS
    for study in Study.objects.filter(state=Study.State.OPEN):
        if not study.presentation.get("drawn"):
            same_size.draw(study, deadline - time.monotonic())


@shared_task
def remove_unused_pictures() -> None:
    """Remove renditions that were not used for a long time."""
    same_size.remove_unused()


@shared_task
def refresh_snapshots() -> None:
    """Compute the dashboards' figures again if the log has new events."""
    for pk in snapshots.stale_studies():
        refresh_snapshot(pk)


@shared_task
def refresh_snapshot(pk: int) -> None:
    """Compute one study's figures unless they are up to date."""
    study = Study.objects.filter(pk=pk).first()
    if study is not None and snapshots.is_stale(study):
        log.note(study=study.slug)
        snapshots.refresh(study)


@shared_task
def erase_due() -> None:
    """Erase personal data at the end of their retention, and old logins."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    rate_limits.forget_old()
    delivering.forget_old()
    erasing.erase_due()


@shared_task
def sweep_reports() -> None:
    """Build the next report, and queue the one after it."""
    for report_id in building.waiting_reports()[:1]:
        building.build_report(report_id)
        if building.waiting_reports():
            sweep_reports.delay()


@shared_task
def sweep_exports() -> None:
    """Remove old exports, and wake their worker if some wait."""
    exports.tidy_up()
    if exports.waiting():
        wake_exports()


def wake_exports() -> None:
    """Wake the worker of exports, which is that of uploads for the same reason."""
    work_on_exports.apply_async(queue=MetricChunk.Queue.JUDGE)


@shared_task
def work_on_exports() -> None:
    """Write the next export, and wake for the one after it."""
    from annotate.bundles.exporting import write_bundle  # loads pandas

    for pk in exports.waiting()[:1]:
        exports.write(pk, write_bundle)
        if exports.waiting():
            wake_exports()


@shared_task
def write_public_data() -> None:
    """Write the data of public reports, and again after a withdrawal."""
    publishing.write_waiting()


@shared_task
def delete_studies() -> None:
    """Delete the studies whose deletion was asked for."""
    for pk in deleting.waiting():
        deleting.delete(pk)


@shared_task
def sweep_uploads() -> None:
    """Remove what is left of uploads, and wake their worker if some wait."""
    queue.tidy_up()
    if queue.waiting():
        wake_uploads()


def wake_uploads() -> None:
    """Wake the worker of uploads.

    It is that of judges, which wait for others most of the time: checking thousands of
    pictures would keep the worker of everything else from its periodic tasks.
    """
    work_on_uploads.apply_async(queue=MetricChunk.Queue.JUDGE)


@shared_task
def work_on_uploads() -> None:
    """Inspect or import the next upload, and wake for the one after it."""
    from annotate.uploads import working  # loads pandas, which web servers do without

    for upload_id in queue.waiting()[:1]:
        working.work_on(upload_id)
        if queue.waiting():
            wake_uploads()


@shared_task
def sweep_rehearsals() -> None:
    """Forget old rehearsals, and wake their worker if some wait."""
    rehearsals.tidy_up()
    if rehearsals.waiting():
        wake_rehearsals()


def wake_rehearsals() -> None:
    """Wake the worker of rehearsals, which is that of uploads for the same reason."""
    work_on_rehearsals.apply_async(queue=MetricChunk.Queue.JUDGE)


@shared_task
def work_on_rehearsals() -> None:
    """Carry out the next rehearsal, and wake for the one after it."""
    for pk in rehearsals.waiting()[:1]:
        rehearsals.work_on(pk)
        if rehearsals.waiting():
            wake_rehearsals()


def wake_webhooks() -> None:
    """Wake the worker of webhooks, which is that of judges: it waits for others."""
    work_on_webhooks.apply_async(queue=MetricChunk.Queue.JUDGE)


@shared_task
def work_on_webhooks() -> None:
    """Write messages about new events, send what is due, and wake for the rest."""
    messages.write_messages()
    if delivering.deliver_due():
        wake_webhooks()
