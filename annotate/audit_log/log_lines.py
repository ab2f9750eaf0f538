"""Log events as readable text."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.models import (
    Annotator,
    Event,
    Flag,
    Payment,
    Purpose,
    Skip,
    Study,
    StudyMember,
    User,
)
from annotate.quality_rules import findings

# Frequent events of little interest: a slot was leased, a check was added.
ROUTINE = Q(kind=Event.Kind.SLOT_TAKEN) | Q(
    kind=Event.Kind.SLOT_OPENED, details__has_key="purpose"
)
EVERYTHING = "everything"
# The state of a slot after an event is for replaying, the page for joined annotators;
# the others have no label.
ELSEWHERE = {
    "lease",
    "holder",
    "ordinal",
    "finding",
    "text",
    "action",
    "wholesale",
    "page",
    "network",
    "visit",
    "closed",
}
# In the order of display; not every database keeps the order of keys.
LABELS = {
    "account": gettext_lazy("account"),
    "role": gettext_lazy("role"),
    "rule": gettext_lazy("rule"),
    "before": gettext_lazy("state before"),
    "pay": gettext_lazy("pay"),
    "reason": gettext_lazy("reason"),
    "bonus": gettext_lazy("bonus"),
    "paid": gettext_lazy("paid"),
    "purpose": gettext_lazy("purpose"),
    "instead_of": gettext_lazy("instead of rating"),
    "views": gettext_lazy("hidden from the filters"),
    "view": gettext_lazy("filter"),
    "title": gettext_lazy("title"),
    "hidden": gettext_lazy("exclusions set again"),
    "on_the_device_of": gettext_lazy("on the device of"),
    "went_on_as": gettext_lazy("continued as"),
    "link": gettext_lazy("public link"),
    "most": gettext_lazy("places"),
    "language": gettext_lazy("language"),
    "cap": gettext_lazy("most stories"),
    "places": gettext_lazy("places"),
    "platform": gettext_lazy("crowd platform"),
    "codes": gettext_lazy("codes"),
    "goals": gettext_lazy("goals"),
    "trained_on": gettext_lazy("metrics that shaped a method"),
    "any_device": gettext_lazy("people may switch device"),
    "version": gettext_lazy("version"),
    "text_version": gettext_lazy("version of the texts"),
    "corrected": gettext_lazy("corrected"),
    "questions": gettext_lazy("order of questions"),
    "right": gettext_lazy("right answers"),
    "of": gettext_lazy("answers checked"),
    "address": gettext_lazy("address"),
    "report": gettext_lazy("report"),
    "with_data": gettext_lazy("with its data"),
    "file": gettext_lazy("file"),
    "story": gettext_lazy("story"),
    "method": gettext_lazy("method"),
    "shot": gettext_lazy("shot"),
    "old": gettext_lazy("checksum before"),
    "new": gettext_lazy("checksum now"),
    "set_aside": gettext_lazy("ratings set aside"),
    "renewed": gettext_lazy("ratings that begin again"),
    "answers": gettext_lazy("answers"),
    "methods": gettext_lazy("methods"),
    "stories": gettext_lazy("stories"),
    "drawn": gettext_lazy("stories drawn"),
    "drawn_from": gettext_lazy("drawn from"),
    "spread_of": gettext_lazy("preferred where methods differ by"),
    "strata": gettext_lazy("stratified by tag"),
    "seed": gettext_lazy("seed"),
    "probabilities": gettext_lazy("probabilities"),
    "earlier": gettext_lazy("before the draft was edited"),
    "probability_unknown": gettext_lazy("drawing probability now unknown"),
    "withdrawn_methods": gettext_lazy("methods withdrawn"),
    "withdrawn_stories": gettext_lazy("stories withdrawn"),
    "units": gettext_lazy("items"),
    "slots": gettext_lazy("ratings"),
    "annotators": gettext_lazy("annotators"),
    "redundancy": gettext_lazy("ratings per item"),
    "deadline": gettext_lazy("deadline"),
    "handled": gettext_lazy("marked as handled"),
    "given_up": gettext_lazy("ratings given up"),
    "shares": gettext_lazy("ratings received"),
    "moved": gettext_lazy("ratings moved"),
    "kept": gettext_lazy("ratings kept"),
    "free": gettext_lazy("free ratings"),
    "freed_slots": gettext_lazy("ratings freed"),
    "left_out": gettext_lazy("answers left out"),
    "comments": gettext_lazy("comments erased"),
    "asked_again": gettext_lazy("computed again"),
    "deleted": gettext_lazy("deleted"),
    "values": gettext_lazy("values"),
    "undefined": gettext_lazy("undefined values"),
    "run": gettext_lazy("run"),
    "handed_out": gettext_lazy("item offered to others"),
    "probability": gettext_lazy("probability"),
    "alternatives": gettext_lazy("free ratings to choose from"),
}
# Stored values that pages show as labels.
NAMES = {
    "action": Flag.Action,
    "before": Annotator.State,
    "purpose": Purpose,
    "reason": Skip.Reason,
    "pay": Payment.Decision,
    "role": StudyMember.Role,
}
COUNTED = ("slots", "hidden")  # lists of rows, shown by their number


def details(event: Event) -> list[str]:
    """Return the details of an event as text."""
    told = dict(event.details)
    if told.get("rule"):
        told.pop("reason", None)  # In English; the flag's own line says the same.
    known = [key for key in LABELS if key in told]
    unknown = sorted(told.keys() - LABELS.keys() - ELSEWHERE)
    said = [
        _("%(key)s: %(value)s") % {"key": LABELS.get(key, key), "value": shown}
        for key in (*known, *unknown)
        if (shown := _value(key, told[key]))
    ]
    if told.get("wholesale"):
        said.append(_("with all ratings of the annotator"))
    if "action" in told:
        said.append(_value("action", told["action"]))
    if told.get("finding"):
        said.append(findings.sentence(told["finding"]))
    elif told.get("text"):
        said.append(str(told["text"]))
    return said


def _value(key: str, value: Any) -> str:
    """Return a stored value as text; empty for empty values."""
    if value is None or value == "" or value == [] or value == {}:
        return ""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if key == "account":
        return str(User.objects.filter(pk=value).first() or value)
    if key in NAMES and value in NAMES[key].values:
        return str(NAMES[key](value).label)
    if key == "corrected":
        return "; ".join(" → ".join(map(str, one)) for one in value)
    if key in COUNTED and isinstance(value, list):
        return str(len(value))
    if key in ("cap", "places", "goals") and isinstance(value, Mapping):
        ends = (value.get(end) or "–" for end in ("before", "after"))
        return " → ".join(_value("", end) for end in ends)
    if key == "trained_on":
        return "; ".join(f"{name}: {', '.join(own)}" for name, own in value.items())
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {n}" for name, n in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def listed(
    study: Study,
    *,
    kind: str = "",
    annotator: str = "",
    before: int | None = None,
    with_pay: bool,
) -> QuerySet[Event]:
    """Return events, the newest first; by default without routine ones."""
    events = study.events.select_related(
        "annotator",
        "user",
        "slot__unit__story",
        *study.output_paths("slot__unit__", "__method"),
    ).order_by("-id")
    if not with_pay:
        events = events.exclude(kind=Event.Kind.PAYMENT_DECIDED)
    if not kind:
        events = events.exclude(ROUTINE)
    elif kind != EVERYTHING:
        events = events.filter(kind=kind)
    if annotator:
        events = events.filter(annotator__name=annotator)
    return events if before is None else events.filter(pk__lt=before)
