"""The way from invited people to answers, at a moment of a study."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

from analysis.sentences import sentence
from annotate.audit_log.as_of_event import Moment
from annotate.models import Annotator, Event, Exclusion, Purpose, Slot, Study

if TYPE_CHECKING:
    import pandas as pd

SOURCE = "people"
BY_HAND = sentence("decision of a manager")
EXTRA = sentence("more ratings of an item than were asked for")
# Why somebody went, by the last of these events.
REASONS: dict[str, str] = {
    Event.Kind.CONSENT_REFUSED: sentence("consent refused"),
    Event.Kind.CONSENT_WITHDRAWN: sentence("consent withdrawn"),
    Event.Kind.ANNOTATOR_FAILED: sentence("training not passed"),
    Event.Kind.ANNOTATOR_REVOKED: sentence("removed from the study"),
    Event.Kind.ANNOTATOR_RESUMED: "",
}
PLACE_GIVEN = sentence("place given to others")
UNDECIDED = sentence("consent page left without an answer")
NOT_OPENED = sentence("no opening of the link recorded")
TRAINING_ONLY = sentence("training not completed")
SILENT = sentence("no rating submitted")


def people_rows(study: Study, moment: Moment) -> Iterator[dict[str, Any]]:
    """Yield how many people were invited, agreed and answered, and why others did not.

    Each person left out counts under one reason. Checks are answers, training is
    not. People count by what they had done at the moment; those with a public link
    count as invited once they join. Imported studies begin with answers.
    """
    own = study.annotators.filter(created_at__lte=moment.at)
    training = study.slots.filter(purpose=Purpose.TRAINING).values_list("pk", flat=True)
    trained = {*training} & moment.submitted.keys()
    in_training = {moment.submitted[slot].annotator for slot in trained}
    others = moment.submitted.keys() - trained
    holders = (moment.submitted[slot].annotator for slot in others)
    answered = {person for person in holders if person is not None}
    agreed = {*own.filter(consented_at__lte=moment.at).values_list("pk", flat=True)}
    if agreed:
        agreed |= answered
        gone, opened = _gone(study, moment)
        invited = agreed | opened | _invited(study, own, moment)
        yield _row("invited", "", len(invited))
        yield from _left_out(
            gone.get(pk) or (UNDECIDED if pk in opened else NOT_OPENED)
            for pk in invited - agreed
        )
        yield _row("consented", "", len(agreed))
        yield from _left_out(
            gone.get(pk) or (TRAINING_ONLY if pk in in_training else SILENT)
            for pk in agreed - answered
        )
    yield _row("answered", "", len(answered))


def _invited(study: Study, people: QuerySet[Annotator], moment: Moment) -> set[int]:
    """Return who had been invited, by the log; old logs do not say it of everybody."""
    kinds = (Event.Kind.ANNOTATOR_INVITED, Event.Kind.ANNOTATOR_JOINED)
    events = study.events.filter(kind__in=kinds, annotator__isnull=False)
    first = dict(events.order_by("-pk").values_list("annotator", "pk"))
    never = (Annotator.State.PLANNED, Annotator.State.REVOKED)
    return {
        pk
        for pk, state in people.values_list("pk", "state")
        if (first[pk] <= moment.event if pk in first else state not in never)
    }


def _gone(study: Study, moment: Moment) -> tuple[dict[int, str], set[int]]:
    """Return why people went, and who had opened a link, according to the log."""
    opening = (Event.Kind.LINK_OPENED, Event.Kind.ANNOTATOR_JOINED)
    events = study.events.filter(
        kind__in=(*REASONS, *opening), annotator__isnull=False
    ).order_by("pk")
    rows: list[Any] = [*events.values_list("pk", "annotator", "kind")]
    gave_place = _gave_place(study, rows)
    gone, opened = dict[int, str](), set[int]()
    for pk, person, kind in rows:
        if pk > moment.event:
            break
        if kind in opening:
            opened.add(person)
        else:
            gone[person] = PLACE_GIVEN if pk in gave_place else REASONS[kind]
    return gone, opened


def _gave_place(study: Study, events: list[Any]) -> set[int]:
    """Return the removals of people who came back, or still may, by the whole log."""
    removed, back = Event.Kind.ANNOTATOR_REVOKED, Event.Kind.ANNOTATOR_RESUMED
    left = study.annotators.filter(left_at__isnull=False)
    following = dict.fromkeys(left.values_list("pk", flat=True), back)
    found = set()
    for pk, person, kind in reversed(events):
        if kind == removed and following.get(person) == back:
            found.add(pk)
        if kind in (removed, back):
            following[person] = kind
    return found


def _left_out(reasons: Iterator[str]) -> Iterator[dict[str, Any]]:
    for reason, n in sorted(Counter(reasons).items()):
        yield _row("left out", reason, n)


def exclusion_reasons(
    study: Study, view: str, moment: Moment, slots: "pd.Series[str]"
) -> "pd.Series[str]":
    """Return why each of these slots is excluded, if it is: the last rule."""
    made = Exclusion.objects.filter(
        slot__in=Slot.objects.filter(study=study), created_at__lte=moment.at
    )
    hidden = moment.hidden_from(view)
    rows = made.order_by("created_at", "pk").values_list("slot", "slot__code", "rule")
    rules = {
        code: rule.replace("_", " ") or BY_HAND
        for pk, code, rule in rows
        if pk in hidden
    }
    return slots.map(lambda code: rules.get(code, EXTRA)).astype(object)


def _row(step: str, reason: str, people: int) -> dict[str, Any]:
    return {
        "source": SOURCE,
        "step": step,
        "reason": reason,
        "n_annotators": people,
        "n_answers": None,
    }
