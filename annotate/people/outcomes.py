"""What an annotator's work is worth on the way out, and the code that says so."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from django.db import transaction
from django.db.models import Count, Max, Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotate import event_log
from annotate.assignment import choosing
from annotate.models import Annotator, Event, Purpose, Skip, Slot, Study
from annotate.models.people import CODE_LETTERS
from annotate.responses import giving_back, leasing
from annotate.responses.leasing import locked_annotator


class Outcome(StrEnum):
    """Which kind of code somebody gets."""

    COMPLETED = "completed"
    ENDED = "ended early"
    SCREENED_OUT = "screened out"


PREFIXES = {Outcome.ENDED: "E", Outcome.SCREENED_OUT: "S"}


@dataclass(frozen=True)
class Worth:
    """What somebody has done, and the code for it; `judged` counts checks, too."""

    outcome: Outcome
    judged: int
    code: str


@dataclass(frozen=True)
class _Done:
    """An annotator's submitted slots, some of a plan, sittings and skips."""

    judged: int = 0
    real: int = 0
    planned: int = 0
    sittings: int | None = 0
    skipped: int = 0


def worth(annotator: Annotator) -> Worth | None:
    """Return what somebody's work is worth if they leave now, if that is settled."""
    if annotator.consented_at is None or not annotator.completion_code:
        return None
    done = _done([annotator.pk]).get(annotator.pk, _Done())
    return _worth(annotator, done, _stories(annotator.study))


def given_codes(study: Study) -> dict[int, Worth]:
    """Return, by annotator, the codes that people of a study have been shown."""
    is_over = study.state in (Study.State.PAUSED, Study.State.CLOSED)
    people = study.annotators.filter(consented_at__isnull=False, erased_at=None)
    if not is_over:
        stopped = Q(state__in=Annotator.STOPPED) | Q(finished_at__isnull=False)
        people = people.filter(stopped)
    done, stories = _done([person.pk for person in people]), _stories(study)
    found = {}
    for person in people:
        person.study = study
        found[person.pk] = _worth(person, done.get(person.pk, _Done()), stories)
    return found


def has_judged_enough(annotator: Annotator) -> bool:
    """Say whether somebody without a plan has judged the stories of a sitting."""
    done = _done([annotator.pk]).get(annotator.pk, _Done())
    return done.real >= _needed(annotator, _stories(annotator.study))


def settle(person: Annotator) -> None:
    """Note that the completion code is earned, if it is; it stays so."""
    if person.completed_at is not None:
        return
    found = worth(person)
    if found is not None and found.outcome == Outcome.COMPLETED:
        person.completed_at = timezone.now()
        person.save(update_fields=["completed_at"])


def _worth(person: Annotator, done: _Done, stories: int) -> Worth:
    if person.state == Annotator.State.FAILED:
        outcome = Outcome.SCREENED_OUT
    elif person.completed_at is not None or _is_complete(person, done, stories):
        outcome = Outcome.COMPLETED
    else:
        outcome = Outcome.ENDED
    return Worth(outcome, done.judged, code_of(person, outcome))


def _is_complete(person: Annotator, done: _Done, stories: int) -> bool:
    """Say whether the own plan is done, or as many stories as a sitting has."""
    allowed = giving_back.allowed(person.study, done.sittings)
    if done.planned and not person.study.is_open:
        return person.finished_at is not None and done.skipped <= allowed
    return done.real + min(done.skipped, allowed) >= _needed(person, stories)


def _needed(person: Annotator, stories: int) -> int:
    """Return how many stories make a sitting: in a small study, all that it has."""
    study = person.study
    most = person.most_slots or study.session_size
    return max(1, min(study.session_size, stories, most))


def _stories(study: Study) -> int:
    units = study.units.filter(purpose=Purpose.REAL)
    return units.order_by().values("story").distinct().count()


def _done(people: Iterable[int]) -> dict[int, _Done]:
    real = Q(purpose=Purpose.REAL)
    slots = (
        Slot.objects.filter(annotator__in=people, submitted_at__isnull=False)
        .exclude(purpose=Purpose.TRAINING)
        .order_by()
        .values_list("annotator")
        .annotate(
            judged=Count("pk"),
            real=Count("pk", filter=real),
            planned=Count("pk", filter=real & Q(claimed=False)),
            sittings=Max("session"),
        )
    )
    skips = Skip.objects.filter(annotator__in=people).order_by()
    skipped = dict(skips.values_list("annotator").annotate(n=Count("pk")))
    found = {pk: _Done(skipped=n) for pk, n in skipped.items()}
    for pk, judged, number, planned, sittings in slots:
        found[pk] = _Done(judged, number, planned, sittings, skipped.get(pk, 0))
    return found


def code_of(person: Annotator, outcome: Outcome) -> str:
    """Return the code of a kind; the others cannot be told from it."""
    if outcome == Outcome.COMPLETED or not person.completion_code:
        return person.completion_code
    kind = f"code {outcome}"
    found = salted_hmac(kind, person.completion_code, algorithm="sha256").digest()
    letters = (CODE_LETTERS[byte % len(CODE_LETTERS)] for byte in found[:8])
    return f"{PREFIXES[outcome]}-{''.join(letters)}"


@transaction.atomic
def finish_if_done(annotator: Annotator, *, wanted: bool = False) -> bool:
    """Mark an annotator as finished who has submitted the whole plan."""
    person = locked_annotator(annotator)
    wanted = wanted and person.state == Annotator.State.ACTIVE and may_stop(person)
    if wanted:
        giving_back.free_unfinished(person)
    finished = finish(person, wanted=wanted)
    if person.state == Annotator.State.FINISHED:
        settle(person)
        annotator.completed_at = person.completed_at
    if finished:
        annotator.state, annotator.finished_at = person.state, person.finished_at
    return finished


def finish(person: Annotator, *, wanted: bool = False) -> bool:
    """Mark a locked annotator as finished if that is so."""
    if (
        person.state != Annotator.State.ACTIVE
        or leasing.waiting(person).exclude(purpose=Purpose.TRAINING).exists()
        or not (wanted or _is_through(person))
    ):
        return False
    person.state, person.finished_at = Annotator.State.FINISHED, timezone.now()
    person.save(update_fields=["state", "finished_at"])
    settle(person)
    event_log.note(Event.Kind.ANNOTATOR_FINISHED, person.study_id, annotator=person)
    return True


def _is_through(person: Annotator) -> bool:
    """Say whether the plan is done, or whether there can be nothing more to do."""
    real = leasing.own_slots(person).filter(purpose=Purpose.REAL)
    if not person.study.is_open and real.filter(claimed=False).exists():
        return True
    if leasing.has_room(person) and choosing.may_get_more(person):
        return False
    return real.exists()


def may_stop(annotator: Annotator) -> bool:
    """Say whether an annotator has judged enough to stop, or can get nothing now."""
    if annotator.study.is_open and has_judged_enough(annotator):
        return True
    return choosing.next_step(annotator).kind in (
        choosing.Next.TAKEN,
        choosing.Next.DONE,
    )
