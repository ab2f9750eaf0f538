"""The queue of reports: how many an account may have in it, and whose turn it is."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.models import Report, Study, User

UNFINISHED = (Report.State.QUEUED, Report.State.RUNNING)
# Reports of one account that wait or are being built.
MOST_UNFINISHED = 3


class TooManyReportsError(ValueError):
    """The account has as many unfinished reports as it may have."""


@transaction.atomic
def ask(study: Study, user: User | None, **wanted: Any) -> Report:
    """Store a report that waits to be built."""
    if user is not None:
        # Requests at once count one after the other.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        unfinished = Report.objects.filter(created_by=user, state__in=UNFINISHED)
        if unfinished.count() >= MOST_UNFINISHED:
            raise TooManyReportsError(
                _(
                    "You have %(most)d reports that are not finished, and cannot have "
                    "more at once. Wait until one is finished, or cancel one."
                )
                % {"most": MOST_UNFINISHED}
            )
    return Report.objects.create(study=study, created_by=user, **wanted)


def in_turn(waiting: QuerySet[Report], silent: timedelta) -> QuerySet[Report]:
    of_account = Report.objects.filter(created_by=OuterRef("created_by")).order_by()
    by_account = of_account.values("created_by")
    at_work = by_account.filter(
        state=Report.State.RUNNING, heartbeat_at__gte=timezone.now() - silent
    )
    return waiting.order_by(
        Coalesce(Subquery(at_work.values(n=Count("pk"))), 0),
        Subquery(by_account.values(at=Max("heartbeat_at"))).asc(nulls_first=True),
        "created_at",
        "pk",
    )


def cancel(report: Report) -> bool:
    """Cancel a report that is not finished; say whether it was not."""
    unfinished = Report.objects.filter(pk=report.pk, state__in=UNFINISHED)
    return bool(
        unfinished.update(state=Report.State.CANCELLED, finished_at=timezone.now())
    )
