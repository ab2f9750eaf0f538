"""Celery rings the bell; the work and its state are in `annotate.reports.building`."""

from celery import shared_task

from annotate.reports import building


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def sweep_reports() -> None:
    """Build the report whose turn it is, and ring for the next one."""
    for report_id in building.waiting_reports()[:1]:
        building.build_report(report_id)
        if building.waiting_reports():
            sweep_reports.delay()
