"""Launching, pausing and closing a study."""

from django.db import transaction

from annotate.models import Event, Study, User

ALLOWED = {
    Study.State.OPEN: (Study.State.DRAFT, Study.State.PAUSED, Study.State.CLOSED),
    Study.State.PAUSED: (Study.State.OPEN,),
    Study.State.CLOSED: (Study.State.OPEN, Study.State.PAUSED),
}


class LifecycleError(ValueError):
    """The study's state does not allow that; the message says why."""


def launch(study: Study, user: User | None = None) -> Study:
    """Let invited annotators in; also resumes a paused and reopens a closed study."""
    return _move(study, Study.State.OPEN, "study launched", user)


def pause(study: Study, user: User | None = None) -> Study:
    """Take no answers for a while; links stay valid and nothing is lost."""
    return _move(study, Study.State.PAUSED, "study paused", user)


def close(study: Study, user: User | None = None) -> Study:
    """Take no more answers."""
    return _move(study, Study.State.CLOSED, "study closed", user)


@transaction.atomic
def _move(study: Study, state: str, kind: str, user: User | None) -> Study:
    current = Study.objects.select_for_update().get(pk=study.pk)
    if current.state == state:
        return current
    if current.state not in ALLOWED[state]:
        raise LifecycleError(
            f"The study is {current.get_state_display().lower()}; only a study that is "
            f"{' or '.join(ALLOWED[state])} can become {state}."
        )
    current.state = study.state = state
    current.save(update_fields=["state"])
    Event.objects.create(study=study, kind=kind, user=user)
    return current
