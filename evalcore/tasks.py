"""Celery rings the bell; the work and its state are in `evalcore.scoring`."""

from celery import shared_task

from evalcore import scoring


@shared_task
def score_run(run_id: int) -> None:
    """Compute what one run lacks."""
    scoring.run(run_id)


@shared_task
def sweep() -> None:
    """Take up every run that nobody works on."""
    for run_id in scoring.waiting_runs():
        scoring.run(run_id)
