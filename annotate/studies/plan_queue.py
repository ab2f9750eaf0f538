"""Plan large studies in a worker: what waits stands in the database."""

import logging
import time
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.assignment.designs.balanced import ImpossibleDesignError
from annotate.models import Study, StudyPlan, User
from annotate.studies import drafting, planning
from annotate.studies.lifecycle import LifecycleError
from annotate.studies.planning import Setup
from annotate.studies.study_file import read_definition, write_definition
from annotate.studies.units import PlanningError
from evalcore.serving import log
from evalcore.serving.workers import Heartbeat

logger = logging.getLogger(__name__)

State, Action = StudyPlan.State, StudyPlan.Action
# A plan without a sign for this long has lost its worker.
SILENT = timedelta(seconds=90)
# So long a finished plan is kept for whoever looks.
KEPT = timedelta(days=1)
SIGN_SECONDS = 1.0


class CancelledError(Exception):
    """The plan was cancelled while it was made."""


@transaction.atomic
def ask(
    setup: Setup, action: StudyPlan.Action, user: User, study: Study | None = None
) -> StudyPlan:
    """Store a plan that waits for a worker, or return the same one that waits already.

    An account waits for one check, and one study, at a time: another check takes the
    place of the one before.

    Raises
    ------
    PlanningError
        The account has another study that is being planned.
    """
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    people = setup.annotators
    wanted = {
        "benchmark": setup.benchmark,
        "study": study,
        "action": action,
        "definition": write_definition(setup.definition),
        "chosen": {
            "slug": setup.slug,
            "name": setup.definition.name,
            "annotators": people if isinstance(people, int) else dict(people),
            "methods": list(setup.methods),
            "stories": list(setup.stories),
        },
    }
    own = StudyPlan.objects.filter(created_by=user)
    unfinished = own.filter(state__in=StudyPlan.UNFINISHED)
    same = unfinished.filter(**wanted).first()
    if same is not None:
        return same
    if action == Action.CHECK:
        StudyPlan.cancel_all(unfinished.filter(action=Action.CHECK))
    elif unfinished.exclude(action=Action.CHECK).exists():
        raise PlanningError(
            _(
                "Another study of yours is being planned. Wait until it is finished, "
                "or cancel it."
            ),
            field="annotators",
        )
    return StudyPlan.objects.create(created_by=user, **wanted)


def waiting_plans() -> list[int]:
    """Return the plans that wait for a worker, the oldest first."""
    queued = StudyPlan.objects.filter(state=State.QUEUED)
    return list(queued.values_list("pk", flat=True))


def tidy_up() -> None:
    """Give up plans whose worker is gone, and forget those finished long ago.

    A plan may take more memory than the machine has; it is not tried again.
    """
    now = timezone.now()
    StudyPlan.objects.filter(state=State.RUNNING, heartbeat_at__lt=now - SILENT).update(
        state=State.FAILED,
        finished_at=now,
        error=_("The worker ended while it planned this study; try fewer people."),
    )
    StudyPlan.objects.filter(finished_at__lt=now - KEPT).delete()


def make_plan(plan_id: int) -> StudyPlan:
    """Make one plan; return at once if another worker has it."""
    queued = StudyPlan.objects.filter(pk=plan_id, state=State.QUEUED)
    claimed = queued.update(state=State.RUNNING, heartbeat_at=timezone.now())
    plan = StudyPlan.objects.select_related("benchmark", "study", "created_by").get(
        pk=plan_id
    )
    if not claimed:
        return plan
    log.note(study=plan.chosen["slug"])
    balance, error, is_stored = {}, "", False
    try:
        with Heartbeat(f"plan {plan_id}", partial(_sign, plan_id)):
            balance = _made(plan, _Teller(plan_id))
        is_stored = plan.action != Action.CHECK
    except CancelledError:
        logger.info("plan %s was cancelled", plan_id)
    except (PlanningError, ImpossibleDesignError, LifecycleError) as problem:
        error = str(problem)
    except Exception as problem:
        logger.exception("plan %s failed", plan_id)
        error = str(problem) or type(problem).__name__
    ended = StudyPlan.objects.filter(pk=plan_id)
    if not is_stored:  # else it was cancelled too late
        ended = ended.exclude(state=State.CANCELLED)
    ended.update(
        state=State.FAILED if error else State.DONE,
        balance=balance,
        error=error,
        finished_at=timezone.now(),
    )
    plan.refresh_from_db()
    return plan


class _Teller:
    """Puts down what is done now, once a second at most; stops what is cancelled.

    Storing a study is always put down: it is the last step that can be stopped.
    """

    def __init__(self, plan_id: int) -> None:
        self._plan, self._told_at = plan_id, 0.0

    def __call__(self, step: str) -> None:
        is_soon = time.monotonic() - self._told_at < SIGN_SECONDS
        if is_soon and step != drafting.STORING:
            return
        self._told_at = time.monotonic()
        if not _sign(self._plan, step=step[:200]):
            raise CancelledError


def _made(plan: StudyPlan, tell: _Teller) -> dict[str, object]:
    """Plan, store the study unless only a check was asked for; return the balance."""
    setup, user = setup_of(plan), plan.created_by
    if plan.action == Action.CHECK:
        draft = planning.prepare(setup, tell)
        assert draft.plan is not None
        return draft.plan.balance.as_dict()
    if user is None:
        raise PlanningError(_("The account that asked for this study is gone."))
    if plan.action == Action.CREATE:
        made = drafting.create(setup, user, plan.study, tell)
    elif plan.study is None:
        raise PlanningError(_("The study that was to be edited is gone."))
    else:
        made = drafting.replace(plan.study, setup, user, tell)
    return dict(made.balance_report)


def setup_of(plan: StudyPlan) -> Setup:
    """Return what was asked for."""
    chosen = plan.chosen
    definition = read_definition(
        plan.definition, file="study.yaml", name=chosen["name"]
    )
    return Setup(
        chosen["slug"],
        plan.benchmark,
        definition,
        chosen["annotators"],
        tuple(chosen["methods"]),
        tuple(chosen["stories"]),
    )


def _sign(plan_id: int, **also: str) -> bool:
    """Sign that somebody is at work, and on what; say whether it is still wanted."""
    wanted = StudyPlan.objects.filter(pk=plan_id, state=State.RUNNING)
    return bool(wanted.update(heartbeat_at=timezone.now(), **also))
