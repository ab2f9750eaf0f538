"""Launching, pausing and closing a study."""

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate import log
from annotate.models import Event, Study, User

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


def launch(study: Study, user: User | None = None) -> Study:
    """Let invited annotators in; also resumes a paused and reopens a closed study."""
    return _move(study, Study.State.OPEN, Event.Kind.STUDY_LAUNCHED, user)


def pause(study: Study, user: User | None = None) -> Study:
    """Take no answers for a while; links stay valid and nothing is lost."""
    return _move(study, Study.State.PAUSED, Event.Kind.STUDY_PAUSED, user)


def close(study: Study, user: User | None = None) -> Study:
    """Take no more answers."""
    return _move(study, Study.State.CLOSED, Event.Kind.STUDY_CLOSED, user)


@transaction.atomic
def _move(study: Study, state: str, kind: str, user: User | None) -> Study:
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
    log.note(kind, study.pk, user=user)
    return current
