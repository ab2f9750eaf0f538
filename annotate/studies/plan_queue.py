"""Queue of large plans, stored in the database and processed by workers."""

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
# Finished plans stay visible for this long.
RETENTION = timedelta(days=1)
SIGN_SECONDS = 1.0


class CancelledError(Exception):
    """The plan was cancelled while it was made."""


@transaction.atomic
def ask(
    setup: Setup, action: StudyPlan.Action, user: User, study: Study | None = None
) -> StudyPlan:
    """Queue a plan, or return an identical one that is already queued.

    An account can queue one check and one study at a time. A new check replaces the
    previous one.

    Raises
    ------
    PlanningError
        The account has another study that is being planned.
    """
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    wanted = {
        "benchmark": setup.benchmark,
        "study": study,
        "action": action,
        "definition": write_definition(setup.definition),
        "chosen": chosen_of(setup),
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


def chosen_of(setup: Setup) -> dict[str, object]:
    """Return what a setup adds to its definition, as it is stored."""
    people = setup.annotators
    return {
        "slug": setup.slug,
        "name": setup.definition.name,
        "annotators": people if isinstance(people, int) else dict(people),
        "methods": list(setup.methods),
        "stories": list(setup.stories),
        "continues": setup.continues and setup.continues.pk,
    }


def waiting_plans() -> list[int]:
    """Return the queued plans, the oldest first."""
    queued = StudyPlan.objects.filter(state=State.QUEUED)
    return list(queued.values_list("pk", flat=True))


def tidy_up() -> None:
    """Fail plans that lost their worker, and delete old finished plans.

    A failed plan is not tried again, as it may need more memory than the machine has.
    """
    now = timezone.now()
    silent = StudyPlan.objects.filter(heartbeat_at__lt=now - StudyPlan.SILENT)
    silent.filter(state=State.RUNNING).update(
        state=State.FAILED,
        finished_at=now,
        error=_("The worker stopped while planning this study. Try fewer people."),
    )
    StudyPlan.objects.filter(finished_at__lt=now - RETENTION).delete()


def make_plan(plan_id: int) -> StudyPlan:
    """Carry out one queued plan; return at once if another worker has it."""
    queued = StudyPlan.objects.filter(pk=plan_id, state=State.QUEUED)
    is_claimed = StudyPlan.claim(queued)
    plan = StudyPlan.objects.select_related("benchmark", "study", "created_by").get(
        pk=plan_id
    )
    if not is_claimed:
        return plan
    log.note(study=plan.chosen["slug"])
    balance, error, is_stored = {}, "", False
    try:
        with Heartbeat(f"plan {plan_id}", partial(StudyPlan.sign, plan_id)):
            balance = _carry_out(plan, _Progress(plan_id))
        is_stored = plan.action != Action.CHECK
    except CancelledError:
        logger.info("plan %s was cancelled", plan_id)
    except (PlanningError, ImpossibleDesignError, LifecycleError) as problem:
        error = str(problem)
    except Exception as problem:
        logger.exception("plan %s failed", plan_id)
        error = str(problem) or type(problem).__name__
    ended = StudyPlan.objects.filter(pk=plan_id)
    if not is_stored:  # a stored study was cancelled too late
        ended = ended.exclude(state=State.CANCELLED)
    ended.update(
        state=State.FAILED if error else State.DONE,
        balance=balance,
        error=error,
        finished_at=timezone.now(),
    )
    plan.refresh_from_db()
    return plan


class _Progress:
    """Records the current step, at most once a second, and stops cancelled plans.

    Storing a study is always recorded, as it is the last step that can be stopped.
    """

    def __init__(self, plan_id: int) -> None:
        self._plan, self._recorded_at = plan_id, 0.0

    def __call__(self, step: str) -> None:
        is_soon = time.monotonic() - self._recorded_at < SIGN_SECONDS
        if is_soon and step != drafting.STORING:
            return
        self._recorded_at = time.monotonic()
        if not StudyPlan.sign(self._plan, step=step[:200]):
            raise CancelledError


def _carry_out(plan: StudyPlan, progress: _Progress) -> dict[str, object]:
    """Plan a study, store it unless the action is a check, and return the balance."""
    setup, user = setup_of(plan), plan.created_by
    if plan.action == Action.CHECK:
        draft = planning.prepare(setup, progress)
        assert draft.plan is not None
        return draft.plan.balance.as_dict()
    if user is None:
        raise PlanningError(_("The account that requested this study is gone."))
    if plan.action == Action.CREATE:
        stored = drafting.create(setup, user, plan.study, progress)
    elif plan.study is None:
        raise PlanningError(_("The study to edit no longer exists."))
    else:
        stored = drafting.replace(plan.study, setup, user, progress)
    return dict(stored.balance_report)


def setup_of(plan: StudyPlan) -> Setup:
    """Return the requested setup."""
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
        Study.objects.filter(pk=chosen.get("continues")).first(),
    )
