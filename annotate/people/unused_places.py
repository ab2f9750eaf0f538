"""Places of a public link that were taken and not used."""

from datetime import timedelta

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotate.models import Annotator, Event, JoinLink, Slot, Study
from annotate.people import inviting
from annotate.responses.leasing import locked_annotator

# A class that begins at once behind one address, and a few who come late.
MOST_OF_AN_ADDRESS = 40
COUNTED = timedelta(days=1)
# Somebody who has joined may read and think for so long before the place is given on.
KEPT = timedelta(minutes=30)

JOINED = Event.Kind.ANNOTATOR_JOINED
WAITING = (Annotator.State.INVITED, Annotator.State.ACTIVE)


def network(study_id: int, address: str) -> str:
    """Return what the log keeps of an address: it tells only that two are equal."""
    if not address:
        return ""
    return salted_hmac(f"join {study_id}", address, algorithm="sha256").hexdigest()[:32]


def has_too_many(study: Study, address: str) -> bool:
    """Say whether too many joined from an address who have submitted nothing."""
    if not address:
        return False
    begun = Slot.objects.filter(
        annotator=OuterRef("annotator"), submitted_at__isnull=False
    )
    joined = Event.objects.filter(
        ~Exists(begun),
        study=study,
        kind=JOINED,
        at__gt=timezone.now() - COUNTED,
        details__network=network(study.pk, address),
    )
    return joined.count() >= MOST_OF_AN_ADDRESS


def is_any(link: JoinLink, quiet: timedelta = KEPT) -> bool:
    """Say whether a place of a link was not used for so long."""
    return _unused(link.study, link, quiet).exists()


def free(study: Study, link: JoinLink | None = None) -> bool:
    """Free the place that was unused for longest, and say whether there is one."""
    unused = _unused(study, link)
    for event in unused.order_by("pk"):
        person = event.annotator
        if person is None:
            continue
        locked_annotator(person)
        # Whoever began while this waited for the lock keeps the place.
        if unused.filter(pk=event.pk).exists():
            _give_on(person, event)
            return True
    return False


def _give_on(person: Annotator, event: Event) -> None:
    inviting.revoke(person)
    # Who comes again under the id of a platform joins anew.
    Annotator.objects.filter(pk=person.pk).update(external_id="")
    JoinLink.objects.filter(pk=event.details["link"], joined__gt=0).update(
        joined=F("joined") - 1
    )


def _unused(
    study: Study, link: JoinLink | None, quiet: timedelta = KEPT
) -> QuerySet[Event]:
    """Return how those joined who have no story, and gave no sign of life since."""
    before = timezone.now() - quiet
    signs = ("last_seen_at", "instructed_at", "consented_at")
    is_quiet = Q()
    for sign in signs:
        name = f"annotator__{sign}"
        is_quiet &= Q(**{f"{name}__isnull": True}) | Q(**{f"{name}__lt": before})
    at_work = Slot.objects.filter(
        Q(submitted_at__isnull=False) | Q(state=Slot.State.LEASED),
        annotator=OuterRef("annotator"),
    )
    joined = Event.objects.filter(
        is_quiet,
        ~Exists(at_work),
        study=study,
        kind=JOINED,
        at__lt=before,
        annotator__state__in=WAITING,
    ).select_related("annotator")
    return joined if link is None else joined.filter(details__link=link.pk)
