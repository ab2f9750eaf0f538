"""Celery rings the bell; the work and its state are in `annotate.reports.building`."""

from celery import shared_task

from annotate.reports import building


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def build_report(report_id: int) -> None:
    building.build_report(report_id)


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def sweep_reports() -> None:
    """Take up every report that nobody works on."""
    for report_id in building.waiting_reports():
        building.build_report(report_id)
