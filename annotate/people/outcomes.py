"""Outcomes of annotators, their completion codes, and the end of their work."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from django.db import transaction
from django.db.models import Count, Max, Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.assignment import choosing
from annotate.models import Annotator, Event, Flag, Purpose, Skip, Slot, Study, Visit
from annotate.models.people import CODE_LETTERS
from annotate.people.platforms import Platform, platform_named
from annotate.responses import giving_back, leasing
from annotate.responses.leasing import locked_annotator


class Outcome(StrEnum):
    """Outcome of a person's part in a study, as a study file names it."""

    COMPLETED = "completed"
    NO_CONSENT = "no_consent"
    FAILED = "failed"
    NO_WORK = "no_work"
    STOPPED = "stopped"

    @property
    def label(self) -> str:
        return {
            Outcome.COMPLETED: _("completed"),
            Outcome.NO_CONSENT: _("did not agree"),
            Outcome.FAILED: _("did not pass training or checks"),
            Outcome.NO_WORK: _("no work left"),
            Outcome.STOPPED: _("stopped half-way"),
        }[self]


# The first letter of a person's own code, and what it is derived from.
DERIVED = {
    Outcome.STOPPED: ("E", "code ended early"),
    Outcome.FAILED: ("S", "code screened out"),
    Outcome.NO_CONSENT: ("N", "code no consent"),
    Outcome.NO_WORK: ("W", "code no work"),
}


@dataclass(frozen=True)
class CompletionCode:
    """A completion code and the work it stands for; `judged` includes checks.

    The address hands the code in on the platform, which has the title: a page to open,
    or with an assignment, the place to post the code to.
    """

    outcome: Outcome
    judged: int
    code: str
    address: str = ""
    platform: str = ""
    assignment: str = ""

    def submitted(self, platform: Platform, server: str, assignment: str) -> Self:
        """Return the code as it is posted to a platform's server, if that takes it."""
        if not (server and assignment):
            return self
        address = server + platform.submission
        return replace(self, address=address, assignment=assignment)


@dataclass(frozen=True)
class _Done:
    """Counts of an annotator's submitted slots, sittings and skips."""

    judged: int = 0
    real: int = 0
    planned: int = 0
    sittings: int | None = 0
    skipped: int = 0


def current_code(annotator: Annotator) -> CompletionCode | None:
    """Return the code for an annotator who leaves now; None before a decision."""
    is_known = annotator.consented_at or annotator.declined_at or annotator.left_at
    if not is_known or not annotator.completion_code:
        return None
    done = _done([annotator.pk]).get(annotator.pk, _Done())
    code = _code(annotator, done, _stories(annotator.study))
    platform = platform_of(annotator.study)
    attempt = last_attempt(annotator) if platform.submission else None
    if attempt is None:
        return code
    return code.submitted(platform, attempt.submit_to, attempt.session)


def last_attempt(person: Annotator) -> Visit | None:
    """Return the attempt whose code counts and which is paid.

    It is the last one. A person who has completed the work gets nothing for another
    task of the platform.
    """
    ended, last = person.completed_at, None
    for visit in person.visits.all():
        if not visit.session or visit.admitted_at is None:
            continue
        is_late = ended is not None and visit.admitted_at > ended
        if last and is_late and visit.platform_study != last.platform_study:
            continue
        last = visit
    return last


def given_codes(study: Study) -> dict[int, CompletionCode]:
    """Return by annotator the codes that people of a study have been shown."""
    is_over = study.state in (Study.State.PAUSED, Study.State.CLOSED)
    decided = Q(consented_at__isnull=False) | Q(declined_at__isnull=False)
    people = study.annotators.filter(decided, erased_at=None)
    if not is_over:
        stopped = Q(state__in=Annotator.STOPPED) | Q(finished_at__isnull=False)
        people = people.filter(stopped)
    done, stories = _done([person.pk for person in people]), _stories(study)
    codes = {}
    for person in people:
        person.study = study
        codes[person.pk] = _code(person, done.get(person.pk, _Done()), stories)
    return codes


def has_judged_enough(annotator: Annotator) -> bool:
    """Say whether somebody without a plan has finished a sitting."""
    done = _done([annotator.pk]).get(annotator.pk, _Done())
    return done.real >= _needed(annotator, _stories(annotator.study))


def settle(person: Annotator) -> None:
    """Record that the annotator has earned the completion code, if so."""
    if person.completed_at is not None:
        return
    code = current_code(person)
    if code is not None and code.outcome == Outcome.COMPLETED:
        person.completed_at = timezone.now()
        person.save(update_fields=["completed_at"])


def _code(person: Annotator, done: _Done, stories: int) -> CompletionCode:
    outcome = _outcome(person, done, stories)
    own = "" if platform_of(person.study).has_shared_codes else code_of(person, outcome)
    person_id = person.external_id
    return ending(person.study, outcome, judged=done.judged, own=own, person=person_id)


def ending(
    study: Study,
    outcome: Outcome,
    *,
    judged: int = 0,
    own: str = "",
    person: str | None = None,
) -> CompletionCode:
    """Return the code of an outcome: one's own, else the study's, with its address.

    With the id of a person, the address is theirs.
    """
    platform = platform_of(study)
    stored = study.recruitment.get("outcomes", {}).get(outcome, {})
    code = own or stored.get("code", "")
    address = stored.get("url") or platform.address(code)
    if person is not None:
        address = platform.personal(address, person)
    # A platform that credits people by address takes no codes.
    title = platform.title if address or not platform.credits_ids else ""
    return CompletionCode(outcome, judged, code, address, title)


def platform_of(study: Study) -> Platform:
    return platform_named(study.recruitment.get("platform", ""))


def invitation_page(study: Study) -> str:
    """Return the page that makes links: public ones, if people come by a platform."""
    return "study-recruitment" if platform_of(study).key else "annotator-list"


def _outcome(person: Annotator, done: _Done, stories: int) -> Outcome:
    if person.declined_at is not None:
        return Outcome.NO_CONSENT
    if person.state == Annotator.State.FAILED:
        return Outcome.FAILED
    if person.completed_at is not None or _is_complete(person, done, stories):
        return Outcome.COMPLETED
    if person.state == Annotator.State.PAUSED and _is_paused_by_rule(person):
        return Outcome.FAILED
    through = done.real + done.skipped >= _needed(person, stories)
    if person.state == Annotator.State.FINISHED and not through:
        return Outcome.NO_WORK
    is_shut_out = person.left_at or person.study.state != Study.State.OPEN
    if is_shut_out and not done.judged:
        return Outcome.NO_WORK
    return Outcome.STOPPED


def _is_paused_by_rule(person: Annotator) -> bool:
    paused = person.flags.filter(action=Flag.Action.PAUSE, resolved_at=None)
    return paused.exists()


def _is_complete(person: Annotator, done: _Done, stories: int) -> bool:
    """Say whether the plan, or without one a sitting, is done."""
    allowed = giving_back.allowed(person.study, done.sittings)
    if done.planned and not person.study.is_open:
        return person.finished_at is not None and done.skipped <= allowed
    return done.real + min(done.skipped, allowed) >= _needed(person, stories)


def _needed(person: Annotator, stories: int) -> int:
    """Return the number of stories in a sitting, at most those of the study."""
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
    counts = {pk: _Done(skipped=n) for pk, n in skipped.items()}
    for pk, judged, number, planned, sittings in slots:
        counts[pk] = _Done(judged, number, planned, sittings, skipped.get(pk, 0))
    return counts


def code_of(person: Annotator, outcome: Outcome) -> str:
    """Return the code for an outcome; the other codes cannot be derived from it."""
    if outcome == Outcome.COMPLETED or not person.completion_code:
        return person.completion_code
    letter, kind = DERIVED[outcome]
    digest = salted_hmac(kind, person.completion_code, algorithm="sha256").digest()
    letters = (CODE_LETTERS[byte % len(CODE_LETTERS)] for byte in digest[:8])
    return f"{letter}-{''.join(letters)}"


@transaction.atomic
def finish_if_done(annotator: Annotator, *, wanted: bool = False) -> bool:
    """Mark an annotator as finished if they are done, or may and want to stop."""
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
    """Mark a locked annotator as finished if they are; return whether it changed."""
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
    """Say whether the plan is done, or nothing is left to do."""
    real = leasing.own_slots(person).filter(purpose=Purpose.REAL)
    if not person.study.is_open and real.filter(claimed=False).exists():
        return True
    if leasing.has_room(person) and choosing.may_get_more(person):
        return False
    return real.exists()


def may_stop(annotator: Annotator) -> bool:
    """Say whether an annotator has done enough to stop, or can get no work now."""
    if annotator.study.is_open and has_judged_enough(annotator):
        return True
    return choosing.next_step(annotator).kind in (
        choosing.Next.TAKEN,
        choosing.Next.DONE,
    )
