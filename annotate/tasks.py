"""What the worker does for studies every minute."""

from celery import shared_task

from annotate import leasing


@shared_task
def release_expired() -> None:
    """Put slots back whose lease has run out."""
    leasing.release_expired()
