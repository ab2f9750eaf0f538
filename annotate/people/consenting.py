"""Consent and the start of an annotator's work."""

from typing import Any

from django.utils import timezone

from annotate import event_log
from annotate.kinds.registry import kind_of
from annotate.models import Annotator, Event
from annotate.presentation.slot_view import in_order


def note_opening(annotator: Annotator) -> None:
    """Log the first time that a link is opened; joining by a public link is logged."""
    kinds = (Event.Kind.LINK_OPENED, Event.Kind.ANNOTATOR_JOINED)
    if not Event.objects.filter(
        study=annotator.study_id, annotator=annotator, kind__in=kinds
    ).exists():
        event_log.note(kinds[0], annotator.study_id, annotator=annotator)


def agree(annotator: Annotator, language: str) -> bool:
    """Record the consent to the present text; return whether it was new.

    The page's `language` is kept unless the annotator has one already.
    """
    version = annotator.study.consent_version
    undecided = Annotator.objects.filter(pk=annotator.pk, consented_at__isnull=True)
    agreed = undecided.exclude(state__in=Annotator.STOPPED).update(
        consented_at=timezone.now(),
        consent_version=version,
        state=Annotator.State.ACTIVE,
        language=annotator.language or language,
    )
    if agreed:
        event_log.note(
            Event.Kind.CONSENT_GIVEN,
            annotator.study_id,
            annotator=annotator,
            version=version,
            **_order(annotator),
        )
    return bool(agreed)


def _order(annotator: Annotator) -> dict[str, Any]:
    """Return the logged order of questions; empty if it is fixed."""
    study = annotator.study
    if not study.shuffle_questions:
        return {}
    whole = [question for question in study.asked if not kind_of(question).of_shots]
    questions = in_order(whole, study, annotator)
    return {"questions": [question.key for question in questions]}


def begin(annotator: Annotator) -> None:
    """Record that the instructions were read."""
    if annotator.instructed_at is None:
        annotator.instructed_at = timezone.now()
        annotator.save(update_fields=["instructed_at"])
