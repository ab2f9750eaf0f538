"""Alerts about annotators: findings, time-outs, and skips of one method."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.coverage.alert_lines import GRAVE, Alert, Button, press, ratings
from annotate.models import Annotator, Flag, Purpose, Skip, Slot, Study
from annotate.quality import met_stories
from annotate.quality.exclusion import LONGEST_REASON
from annotate.quality_rules import findings
from annotate.quality_rules.relative_signals import skips_one_method
from annotate.quality_rules.rules import DEFAULT_RULES, evaluate

State = Annotator.State
EXPIRIES = 3
# The first of these of a person's flags is the headline.
GRAVEST = (Flag.Action.EXCLUDE, Flag.Action.PAUSE, Flag.Action.WARN)
LEAST_SKIPS = 3
SKIPS_ONE = next(rule for rule in DEFAULT_RULES if rule.key == "skips-one")


@dataclass(frozen=True)
class Concern:
    """One reason for an alert about a person; `brief` if it is not the first."""

    person: Annotator
    kind: str
    weight: int
    text: str
    brief: str
    since: datetime | None = None
    evidence: str = ""
    flag: int | None = None
    key: str = ""
    todo: str = ""


def of_people(
    study: Study, people: Mapping[str, Any], handled: set[str]
) -> Iterator[Alert]:
    """Yield one alert for each person with concerns, under the gravest of them."""
    concerns = [
        *_flagged(study),
        *_expiring(study, people),
        *(one for one in _skipping(study) if one.key not in handled),
    ]
    by_person: dict[int, list[Concern]] = defaultdict(list)
    for concern in sorted(concerns, key=lambda one: -one.weight):
        by_person[concern.person.pk].append(concern)
    # An exclusion can still leave out these slots of theirs.
    slots = study.slots.filter(
        annotator__in=list(by_person),
        purpose=Purpose.REAL,
        state=Slot.State.SUBMITTED,
    )
    answers = Counter(slots.values_list("annotator", flat=True) if by_person else ())
    for pk, own in by_person.items():
        gravest = own[0]
        yield Alert(
            gravest.kind,
            gravest.weight,
            gravest.text,
            gravest.todo or _what_next(gravest.person, answers[pk]),
            since=gravest.since,
            buttons=_buttons(study, own, answers[pk]),
            notes=tuple(one.brief for one in own[1:]),
            evidence=tuple(one.evidence for one in own if one.evidence),
            annotator=gravest.person,
        )


def _flagged(study: Study) -> Iterator[Concern]:
    """Yield every flag that is more than a note, the gravest first."""
    flags = Flag.objects.filter(annotator__study=study, resolved_at__isnull=True)
    flags = flags.exclude(action=Flag.Action.NOTE).select_related("annotator")
    for flag in sorted(flags, key=lambda flag: GRAVEST.index(flag.action)):
        person, finding = flag.annotator, flag.finding
        action = flag.get_action_display()
        brief = _("Also (%(action)s): %(text)s")
        evidence = _("Rule %(rule)s (%(action)s). %(evidence)s") % {
            "rule": flag.rule,
            "action": action,
            "evidence": findings.evidence(finding) if finding else "",
        }
        yield Concern(
            person,
            "annotator",
            60 if flag.action == Flag.Action.WARN else GRAVE,
            findings.headline(person.name, finding)
            if finding
            else f"{person.name}: {flag.text}",
            brief % {"action": action, "text": flag.brief},
            since=flag.created_at,
            evidence=evidence if finding else "",
            flag=flag.pk,
        )


def _expiring(study: Study, people: Mapping[str, Any]) -> Iterator[Concern]:
    """Yield people who keep letting leases expire."""
    often = {int(k): n for k, p in people.items() if (n := p["expired"]) >= EXPIRIES}
    working = study.annotators.exclude(state__in=Annotator.STOPPED)
    for person in working.filter(pk__in=often):
        text = _("%(name)s has let %(n)d stories time out since their last answer.")
        text %= {"name": person.name, "n": often[person.pk]}
        todo = _(
            "Ask whether the page works for them. If you remove them, others can "
            "take over."
        )
        yield Concern(person, "leases expire", 50, text, text, todo=todo)


def _skipping(study: Study) -> Iterator[Concern]:
    """Yield people who skip one method far more than is usual, by the default rule."""
    skips = Skip.objects.filter(unit__study=study, unit__purpose=Purpose.REAL)
    often = Counter(skips.order_by().values_list("annotator", flat=True))
    people = [pk for pk, n in often.items() if n >= LEAST_SKIPS]
    for person in study.annotators.filter(pk__in=people).exclude(state=State.REVOKED):
        _n, met = met_stories.met_by(person)
        signal = skips_one_method(met, met_stories.met_by_others(person))
        if not evaluate([SKIPS_ONE], {signal.name: signal}):
            continue
        values: dict[str, Any] = {"name": person.name, "method": signal.about}
        values["n"] = round(sum(signal.observations))
        values["of"] = sum(skipped for _methods, skipped in met)
        text = _("%(name)s skips %(method)s: %(n)d of their %(of)d skips.") % values
        yield Concern(
            person,
            "skips a method",
            55,
            text,
            text,
            key=f"skips:{person.pk}:{signal.about}",
            todo=_(
                "Check whether its pictures load, and read their reasons (comments as "
                "CSV). Skipping the worst stories makes a method look better."
            ),
        )


def _what_next(person: Annotator, answers: int) -> str:
    """Return what a manager can do about a flagged annotator."""
    if person.state == State.PAUSED and not answers:
        return _(
            "They are paused and none of their answers count. Resume them, or "
            "remove them so that others can take over."
        )
    if person.state == State.PAUSED:
        return _(
            "They are paused until you decide. Read some answers, then resume them, "
            "leave the answers out, or remove them from the study."
        )
    if person.state != State.REVOKED:
        return _("Read some answers, then pause them or mark this as handled.")
    if answers:
        return _(
            "They were removed, but their answers count. Leave the answers out, or "
            "mark this as handled to keep them."
        )
    return _("They were removed and none of their answers count. Mark this as handled.")


def _buttons(study: Study, concerns: list[Concern], answers: int) -> tuple[Button, ...]:
    """Return what a manager can do about a person; each of them settles the line."""
    person = concerns[0].person
    found: list[tuple[str, object]] = [
        ("flag", one.flag) for one in concerns if one.flag
    ]
    found += [("key", one.key) for one in concerns if one.key]
    is_paused = person.state == State.PAUSED
    why = " ".join(one.text for one in concerns)[:LONGEST_REASON]

    def decide(label: str, then: str, warning: str = "") -> Button:
        fields: list[tuple[str, object]] = [("person", person.pk), *found]
        fields.append(("then", then))
        fields += [("reason", why)] if then == "leave out" else []
        return press(label, study, "alert-settle", fields=fields, warning=warning)

    buttons = []
    if is_paused:
        action = "annotator-action", person.pk, "resume"
        buttons.append(press(_("Resume"), study, *action))
    elif person.state not in Annotator.STOPPED:
        buttons.append(decide(_("Pause"), "pause"))
    if answers:
        text = ngettext(
            "%(n)d rating of %(name)s will not count, and others are asked again. You "
            "can undo this under Filters.",
            "%(n)d ratings of %(name)s will not count, and others are asked again. You "
            "can undo this under Filters.",
            answers,
        )
        text %= {"n": answers, "name": person.name}
        buttons.append(decide(_("Leave the answers out"), "leave out", text))
    if is_paused or concerns[0].kind == "leases expire":
        text = _(
            "The link stops working permanently. Submitted answers stay; others can "
            "take over the rest."
        )
        buttons.append(decide(_("Remove from the study"), "remove", text))
    if found:
        label = _("Keep paused") if is_paused else _("Mark as handled")
        buttons.append(decide(label, ""))
    return (*buttons, ratings(study, {"annotator": person.name}))
