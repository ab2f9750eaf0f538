"""States of a study: launch, pause, close, the archive, and the end of editing."""

from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate import event_log
from annotate.models import Annotator, Event, Rehearsal, Study, User

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


AT_REST = (Study.State.DRAFT, Study.State.CLOSED)
ARCHIVED = gettext_lazy(
    "This study is archived, so it is read-only. To change it, take it out of the "
    "archive under Settings."
)


class LifecycleError(ValueError):
    """A change that the state of the study does not allow; the message says why."""


@transaction.atomic
def _move(
    state: Study.State, kind: Event.Kind, study: Study, user: User | None = None
) -> Study:
    current = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if current.state == state:
        return current
    if current.archived_at is not None:
        raise LifecycleError(ARCHIVED)
    if current.state not in ALLOWED[state]:
        raise LifecycleError(
            _("%(action)s is not possible: the study is %(state)s.")
            % {"action": ACTION_NAMES[state], "state": current.get_state_display()}
        )
    if current.state == Study.State.DRAFT:
        Rehearsal.objects.filter(study=current).delete()  # a worker deletes its files
    current.state = study.state = state
    current.save(update_fields=["state"])
    event_log.note(kind, study.pk, user=user)
    return current


# Opens a draft, resumes a paused study and reopens a closed one.
launch = partial(_move, Study.State.OPEN, Event.Kind.STUDY_LAUNCHED)
# Stops answers for a while; links and drafts stay valid.
pause = partial(_move, Study.State.PAUSED, Event.Kind.STUDY_PAUSED)
close = partial(_move, Study.State.CLOSED, Event.Kind.STUDY_CLOSED)


@transaction.atomic
def archive(study: Study, user: User | None = None) -> Study:
    """Hide a draft or closed study from the list, and make it read-only."""
    current = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    check_at_rest(current)
    if current.archived_at is None:
        current.archived_at = timezone.now()
        current.save(update_fields=["archived_at"])
        event_log.note(Event.Kind.STUDY_ARCHIVED, current.pk, user=user)
    return current


@transaction.atomic
def restore(study: Study, user: User | None = None) -> Study:
    """Take a study out of the archive."""
    current = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if current.deletion_asked_at is not None:
        raise LifecycleError(_("This study is being deleted."))
    if current.archived_at is not None:
        current.archived_at = None
        current.save(update_fields=["archived_at"])
        event_log.note(Event.Kind.STUDY_RESTORED, current.pk, user=user)
    return current


def check_at_rest(study: Study) -> None:
    """Refuse to archive or delete a study that takes answers."""
    if study.state not in AT_REST:
        raise LifecycleError(
            _("The study is %(state)s. Close it first.")
            % {"state": study.get_state_display()}
        )


@dataclass(frozen=True)
class Reach:
    """Numbers of people with a link, open public links, and people without a link."""

    people: int
    links: int
    waiting: int

    @property
    def is_empty(self) -> bool:
        return not (self.people or self.links)


def reach(study: Study) -> Reach:
    """Count the people who can take part while the study is open."""
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
    """Return whether the study is open, but nobody has answered or has a link."""
    if study.state != Study.State.OPEN or not reach(study).is_empty:
        return False
    return not study.slots.filter(submitted_at__isnull=False).exists()


def check_editable(study: Study) -> None:
    """Refuse to edit a study that annotators may have seen.

    Questions, wording and units give the answers their meaning. Once somebody may have
    seen them, a change needs a copy of the study.

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
        reason = _("It has answers to these questions.")
    elif study.state != Study.State.DRAFT:
        reason = _("It was launched.")
    elif invited.exists() or links:
        reason = _("Somebody has a link to it.")
    else:
        return
    raise LifecycleError(
        _("You can no longer edit this study. %(reason)s Use “Copy and edit” instead.")
        % {"reason": reason}
    )


def is_editable(study: Study) -> bool:
    try:
        check_editable(study)
    except LifecycleError:
        return False
    return True
