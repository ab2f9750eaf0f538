"""Everything that is stored about one annotator."""

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.access.server_address import server_address
from annotate.kinds.registry import kind_of, tables_of
from annotate.models import (
    Annotator,
    Answer,
    Event,
    Exclusion,
    Invitation,
    Payment,
    Slot,
    Study,
)
from annotate.presentation.slot_view import sides
from annotate.spreadsheet import csv_text

# Chinese, Japanese and Korean: a name stands right beside other words.
UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
LETTER = rf"[^\W{UNSPACED}]"
# Shorter ones are no names, but words of a reason.
SHORTEST, SHORTEST_UNSPACED = 3, 2


def is_telling(name: str) -> bool:
    """Say whether a name is long enough not to be a usual word."""
    unspaced = re.search(f"[{UNSPACED}]", name)
    return len(name) >= (SHORTEST_UNSPACED if unspaced else SHORTEST)


def replaced(text: str, names: Iterable[str], by: str) -> str:
    """Return a text with `by` in the place of each name, the longest first."""
    longest = sorted(filter(None, names), key=len, reverse=True)
    either = "|".join(map(re.escape, longest))
    if not either:
        return text
    pattern = rf"(?<!{LETTER})(?:{either})(?!{LETTER})"
    return re.sub(pattern, lambda _found: by, text, flags=re.IGNORECASE)


Row = tuple[object, ...]
# What happens to checks alone, or to slots that count no more.
TELLING = (Event.Kind.SLOT_OPENED, Event.Kind.SLOT_WITHDRAWN, Event.Kind.SLOT_SURPLUS)


def zipped(annotator: Annotator) -> bytes:
    """Return the files about somebody as one archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files(annotator).items():
            archive.writestr(name, text)
    return buffer.getvalue()


def files(annotator: Annotator) -> dict[str, str]:
    """Return the text of each file about somebody, by its name."""
    tables: dict[str, tuple[str, Iterable[Row]]] = {
        "person.csv": ("what value", known(annotator)),
        "stories.csv": (
            "slot story session round first_shown begun submitted seconds "
            "seconds_by_browser seconds_in_sight left_out reason",
            _stories(annotator),
        ),
        "answers.csv": (
            "slot question shot answer version is_newest at",
            _answers(annotator),
        ),
        "comments.csv": ("about slot side shot text at", _comments(annotator)),
        "findings.csv": ("at finding action settled_at", _findings(annotator)),
        "log.csv": ("at event slot", _log(annotator)),
    }
    found = {
        name: csv_text(header.split(), rows) for name, (header, rows) in tables.items()
    }
    return {"read-me.txt": _read_me(annotator)} | found


def _read_me(annotator: Annotator) -> str:
    told = {
        "name": annotator.name,
        "study": annotator.study.title,
        "at": _stamp(timezone.now()),
    }
    lines = [
        _("All data stored about %(name)s in the study “%(study)s”, as of %(at)s.")
        % told,
        "",
        _("person.csv: your details, notes about you, and your consent"),
        _("stories.csv: the stories that you were given, with dates and durations"),
        _("answers.csv: your answers as you saw them, including earlier versions"),
        _("comments.csv: what you wrote, skipped or reported as broken"),
        _("findings.csv: results of quality checks on your answers"),
        _("log.csv: events and their times"),
        "",
        _("The methods are not named, because a known method biases ratings."),
    ]
    return "\n".join(lines) + "\n"


def known(annotator: Annotator) -> Iterator[tuple[str, str]]:
    """Yield what is known of a person: what it is, and the value; not what is empty."""
    invitation = Invitation.objects.filter(annotator=annotator).first()
    rows = [
        (_("name in the tables"), annotator.name),
        (_("state"), str(annotator.get_state_display())),
        (_("name, e-mail or ID elsewhere"), annotator.external_id),
        (_("language"), annotator.language),
        (_("completion code"), annotator.completion_code),
        (_("most stories"), str(annotator.cap or "")),
        (_("trained"), _stamp(annotator.trained_at)),
        (_("consent given"), _stamp(annotator.consented_at)),
        (_("consent refused"), _stamp(annotator.declined_at)),
        (_("left"), _stamp(annotator.left_at)),
        (_("version of the consent text"), annotator.consent_version),
        (_("consent withdrawn"), _stamp(annotator.withdrawn_at)),
        (_("instructions read"), _stamp(annotator.instructed_at)),
        (_("last seen"), _stamp(annotator.last_seen_at)),
        (_("finished"), _stamp(annotator.finished_at)),
        (_("completion code earned"), _stamp(annotator.completed_at)),
        *_pay(annotator),
        (_("personal data erased"), _stamp(annotator.erased_at)),
        (_("recorded"), _stamp(annotator.created_at)),
    ]
    for visit in annotator.visits.all():
        what = (_stamp(visit.created_at), visit.session, visit.platform_study)
        rows.append((_("visit"), " · ".join(filter(None, what))))
    if invitation is not None:
        rows += [
            (_("note of managers"), _blind(annotator.study)(invitation.note)),
            (_("invited"), _stamp(invitation.created_at)),
            (_("link revoked"), _stamp(invitation.revoked_at)),
        ]
        if not annotator.erased_at:
            address = reverse("rate-entry", args=[invitation.token])
            rows.append((_("link"), server_address() + address))
    yield from (row for row in rows if row[1])


def _pay(annotator: Annotator) -> list[tuple[str, str]]:
    payment = Payment.objects.filter(annotator=annotator).first()
    if payment is None:
        return []
    decision = str(payment.get_decision_display())
    reason = _blind(annotator.study)(payment.reason)
    return [
        (_("pay"), f"{decision}: {reason}" if reason else decision),
        (_("bonus"), str(payment.bonus or "")),
        (_("pay decided"), _stamp(payment.decided_at)),
        (_("paid"), _stamp(payment.paid_at)),
    ]


def _stories(annotator: Annotator) -> Iterator[Row]:
    hiding = Exclusion.objects.filter(undone_at__isnull=True, slot__annotator=annotator)
    reasons = dict(hiding.values_list("slot", "reason"))
    blinded = _blind(annotator.study)
    own = annotator.slots.select_related("unit__story").order_by("position", "pk")
    for slot in own.iterator(2000):
        yield (
            slot.code,
            slot.unit.story.key,
            slot.session,
            slot.round,
            _stamp(slot.offered_at),
            _stamp(slot.started_at),
            _stamp(slot.submitted_at),
            slot.seconds,
            slot.claimed_seconds,
            json.dumps(slot.in_sight) if slot.in_sight else "",
            "yes" if slot.pk in reasons else "",
            blinded(reasons.get(slot.pk, "")),
        )


def _answers(annotator: Annotator) -> Iterator[Row]:
    study = annotator.study
    related = ("question", "slot__unit", *study.output_paths("slot__unit__"))
    for model in tables_of(study):
        answers = model.objects.filter(annotator=annotator).select_related(*related)
        for answer in answers.order_by("slot", "question", "pk").iterator(2000):
            yield (
                answer.slot.code,
                answer.question.full_title,
                getattr(answer, "shot", 0) or "",
                _as_seen(study, answer),
                answer.revision,
                "yes" if answer.is_current else "",
                _stamp(answer.created_at),
            )

    for look in annotator.looks.select_related("slot").order_by("slot", "shot"):
        at = _stamp(look.created_at)
        yield look.slot.code, "", look.shot, _("looked at"), 1, "yes", at


def _as_seen(study: Study, answer: Answer) -> str:
    """Return an answer as displayed, or as stored if nobody knows what stood where."""
    is_ranking = study.outputs_at_once > 2
    if answer.slot.a_is_left is None or (study.is_imported and is_ranking):
        return str(answer.value)
    return kind_of(answer.question).as_displayed(answer.slot, answer.value)


def _comments(annotator: Annotator) -> Iterator[Row]:
    for row in annotator.story_comments.select_related("slot"):
        yield "story", row.slot.code, "", "", row.text, _stamp(row.written_at)
    outputs = annotator.study.output_paths("slot__unit__")
    for shot in annotator.shot_comments.select_related("slot__unit", *outputs):
        side = _side(shot.slot, shot.output_id)
        at = _stamp(shot.written_at)
        yield "shot", shot.slot.code, side, shot.shot, shot.text, at
    for skip in annotator.skips.select_related("slot").order_by("pk"):
        told = f"{skip.get_reason_display()}. {skip.comment}".strip()
        yield "skipped", skip.slot.code, "", "", told, _stamp(skip.created_at)
    for fault in annotator.faults.select_related("slot").order_by("pk"):
        at = _stamp(fault.created_at)
        yield "broken", fault.slot.code, fault.side, fault.shot or "", "", at


def _side(slot: Slot, output: int) -> str:
    return next((side for side, one in sides(slot).items() if one.pk == output), "")


def _findings(annotator: Annotator) -> Iterator[Row]:
    blinded = _blind(annotator.study)
    for flag in annotator.flags.order_by("pk"):
        yield (
            _stamp(flag.created_at),
            blinded(flag.sentence),
            flag.get_action_display(),
            _stamp(flag.resolved_at),
        )


def _log(annotator: Annotator) -> Iterator[Row]:
    events = Event.objects.filter(annotator=annotator).exclude(kind__in=TELLING)
    for event in events.select_related("slot").order_by("pk").iterator(2000):
        code = event.slot.code if event.slot else ""
        yield _stamp(event.at), event.get_kind_display(), code


def _blind(study: Study) -> Callable[[str], str]:
    """Return what takes methods' names out of what a manager or a rule wrote."""
    names = study.method_names
    return lambda text: replaced(text, names, "…")


def _stamp(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if at else ""
