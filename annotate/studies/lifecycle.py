"""Launching, pausing and closing a study, and until when it may be edited."""

from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate import event_log
from annotate.models import Annotator, Event, Study, User

ALLOWED = {
    Study.State.OPEN: (Study.State.DRAFT, Study.State.PAUSED, Study.State.CLOSED),
    Study.State.PAUSED: (Study.State.OPEN,),
    Study.State.CLOSED: (Study.State.OPEN, Study.State.PAUSED),
}
ACTION_NAMES = {
    Study.State.OPEN: gettext_lazy("Launch"),
    Study.State.PAUSED: gettext_lazy("Pause"),
    Study.State.CLOSED: gettext_lazy("Close"),
}


class LifecycleError(ValueError):
    """The study's state does not allow that; the message says why."""


@transaction.atomic
def _move(
    state: Study.State, kind: Event.Kind, study: Study, user: User | None = None
) -> Study:
    current = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if current.state == state:
        return current
    if current.state not in ALLOWED[state]:
        raise LifecycleError(
            _("%(action)s is not possible: the study is %(state)s.")
            % {"action": ACTION_NAMES[state], "state": current.get_state_display()}
        )
    current.state = study.state = state
    current.save(update_fields=["state"])
    event_log.note(kind, study.pk, user=user)
    return current


# Let invited annotators in; also resumes a paused and reopens a closed study.
launch = partial(_move, Study.State.OPEN, Event.Kind.STUDY_LAUNCHED)
# Take no answers for a while; links stay valid and nothing is lost.
pause = partial(_move, Study.State.PAUSED, Event.Kind.STUDY_PAUSED)
close = partial(_move, Study.State.CLOSED, Event.Kind.STUDY_CLOSED)


@dataclass(frozen=True)
class Reach:
    """Who may come: people with a link, links to join; `waiting` are not invited."""

    people: int
    links: int
    waiting: int

    @property
    def is_empty(self) -> bool:
        return not (self.people or self.links)


def reach(study: Study) -> Reach:
    """Count who can take part as soon as the study is open."""
    state = Annotator.State
    invited = study.annotators.filter(
        invitation__isnull=False, invitation__revoked_at=None
    )
    return Reach(
        people=invited.filter(state__in=(state.INVITED, state.ACTIVE)).count(),
        links=sum(link.is_open for link in study.join_links.all()),
        waiting=study.annotators.filter(state=state.PLANNED).count(),
    )


def waits_for_links(study: Study) -> bool:
    """Say whether the study is open, has no answer, and nobody could give one."""
    if study.state != Study.State.OPEN or not reach(study).is_empty:
        return False
    return not study.slots.filter(submitted_at__isnull=False).exists()


def check_editable(study: Study) -> None:
    """Refuse a change of a study that annotators may have met already.

    Questions, wording and units are what the answers mean: once somebody may have seen
    them, another wording is another study, a new version.

    Raises
    ------
    LifecycleError
        It was launched, somebody has a link to it, or there are answers.
    """
    invited = study.annotators.filter(
        Q(invitation__isnull=False) | Q(consented_at__isnull=False)
    )
    links = study.join_links.exists()
    if study.slots.filter(submitted_at__isnull=False).exists():
        reason = _("It has answers, which belong to the questions as they were asked.")
    elif study.state != Study.State.DRAFT:
        reason = _("It was launched.")
    elif invited.exists() or links:
        reason = _("Somebody has a link to it.")
    else:
        return
    raise LifecycleError(
        _("This study can no longer be edited. %(reason)s Make a new version instead.")
        % {"reason": reason}
    )


def is_editable(study: Study) -> bool:
    try:
        check_editable(study)
    except LifecycleError:
        return False
    return True
