"""Quality monitoring of answers as they arrive, by the study's rules."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import cast

from django.db import transaction
from django.db.models import Count, F
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate import event_log
from annotate.kinds.registry import KINDS, asks_of_shots, whole_tables
from annotate.models import (
    Annotator,
    Answer,
    Event,
    Exclusion,
    Flag,
    Purpose,
    Slot,
    Study,
    User,
)
from annotate.people import inviting
from annotate.quality import exclusion, met_stories
from annotate.quality.checklist_ticks import SubmittedSlot, tick_signals
from annotate.quality_rules.findings import finding, in_english
from annotate.quality_rules.judged import JudgedUnit, Signal
from annotate.quality_rules.rules import Breach, Rule, evaluate, parse_rules
from annotate.quality_rules.signals import COMPARED, below, measure
from annotate.quality_rules.time_signals import GLANCE
from annotate.responses.leasing import locked_annotator
from annotate.responses.timing import time_problem
from evalcore.models import Shot

# Comparing with others is slow, and the result changes slowly.
OTHERS_EVERY = 5
OTHERS = COMPARED
# Slots for these purposes have no right answers.
UNKNOWN = (Purpose.REAL, Purpose.REPEAT)
# A resolved flag is raised again only with so many times the answers.
AGAIN = 1.5

FAST = gettext_lazy(
    "You are answering very fast. Please look at every shot before you answer."
)
REPEATED = gettext_lazy(
    "You gave the same answers many times in a row. Please judge each story on its own."
)
SKIPS = gettext_lazy(
    "You are skipping many stories. Please skip only stories that you "
    "cannot judge, and say why."
)
WARNINGS = {
    "seconds_per_unit": FAST,
    "seconds_per_shot": FAST,
    "seconds_in_sight": FAST,
    "shots_seen": gettext_lazy(
        "You answered before seeing most of the shots. Please look at every "
        "shot before you answer."
    ),
    "straight_line": REPEATED,
    "same_answer": REPEATED,
    "side_bias": gettext_lazy(
        "You choose one side far more often than the other. The sides are "
        "assigned at random; please judge only the stories."
    ),
    "skips": SKIPS,
    "skips_one_method": SKIPS,
}
WARNING = gettext_lazy(
    "Some of your answers differ from what was expected. Please read the "
    "questions again and take your time."
)

NOTHING_TICKED = gettext_lazy(
    "You ticked nothing in many shots. Please read every text, look at "
    "every shot, and tick everything that applies."
)


def check_rules(annotator: Annotator) -> list[Flag]:
    """Measure the annotator's signals; raise and return a flag for each new breach."""
    rules = parse_rules(annotator.study.rules)
    if not rules:
        return []
    breaches = evaluate(rules, signals_of(annotator, rules=rules))
    return [flag for flag in (_act(annotator, breach) for breach in breaches) if flag]


def signals_of(
    annotator: Annotator, *, rules: Sequence[Rule] | None = None
) -> dict[str, Signal]:
    """Return every signal of an annotator by name."""
    slots = _slots(annotator)
    with_others = rules is None or (
        any(rule.signal in OTHERS for rule in rules) and len(slots) % OTHERS_EVERY == 0
    )
    votes = _votes(annotator, slots) if with_others else {}
    skipped, met = met_stories.met_by(annotator)
    signals = measure(
        _judged(annotator, slots, votes=votes),
        scales=_scales(annotator),
        skipped=skipped,
        met=met,
        of_others=met_stories.met_by_others(annotator) if met else {},
        glance=annotator.study.must_see or GLANCE,
    )
    if asks_of_shots(annotator.study):
        signals |= tick_signals(annotator, slots, with_others=with_others)
    return signals


def _slots(annotator: Annotator) -> list[SubmittedSlot]:
    """Return the submitted slots in order; training only if passed, its last round."""
    slots = Slot.objects.filter(annotator=annotator, submitted_at__isnull=False)
    if annotator.trained_at is None:
        slots = slots.exclude(purpose=Purpose.TRAINING)
    else:
        slots = slots.exclude(
            purpose=Purpose.TRAINING, round__lt=annotator.training_attempts
        )
    rows = slots.order_by("submitted_at", "pk").values_list(
        "pk",
        "unit",
        "unit__story",
        "purpose",
        "round",
        "seconds",
        "claimed_seconds",
        "offered_at",
        "in_sight",
        "a_is_left",
        "unit__expected",
        "unit__original",
        "repeat_of",
    )
    return [SubmittedSlot(*row) for row in rows]


def _scales(annotator: Annotator) -> dict[str, tuple[int, int]]:
    questions = annotator.study.questions.filter(scale_min__isnull=False)
    rows = questions.values_list("key", "scale_min", "scale_max")
    return {
        key: (low, high)
        for key, low, high in cast("Iterable[tuple[str, int, int]]", rows)
    }


Votes = dict[int, dict[str, dict[int, float]]]
Given = dict[int, dict[str, int | str]]
Expected = dict[str, list[int] | str]


def _judged(
    annotator: Annotator, slots: list[SubmittedSlot], *, votes: Votes
) -> list[JudgedUnit]:
    answers = _answers(annotator)
    shots = dict(
        Shot.objects.filter(story__in={slot.story for slot in slots})
        .values_list("story")
        .annotate(n=Count("pk"))
        .order_by()
    )
    of_unit = {
        slot.unit: answers.get(slot.pk, {})
        for slot in slots
        if slot.purpose == Purpose.REAL
    }
    originals = {
        slot.unit: answers.get(slot.pk, {})
        for slot in slots
        if slot.purpose == Purpose.TRAINING
    }
    others = {
        slot.pk: votes.get(slot.unit) for slot in slots if slot.purpose == Purpose.REAL
    }
    return [
        JudgedUnit(
            purpose=slot.purpose,
            answers=answers.get(slot.pk, {}),
            shots=max(shots.get(slot.story, 1), 1),
            seconds=slot.seconds,
            time_problem=time_problem(slot.offered, slot.claimed, slot.seconds),
            in_sight=tuple((slot.in_sight or {}).values()) or None,
            a_is_left=slot.a_is_left if annotator.study.outputs_at_once == 2 else None,
            expected=_expected(slot, originals),
            earlier=_earlier(slot, answers, of_unit),
            others=others.get(slot.pk),
        )
        for slot in slots
    ]


def _expected(slot: SubmittedSlot, originals: Given) -> Expected | None:
    """Return the right answers; for a degraded copy in training, below its original."""
    if slot.purpose in UNKNOWN:
        return None
    given = originals.get(slot.original, {}) if slot.original is not None else {}
    expected = {
        key: below(value, int(given[key]))
        if key in given and isinstance(value, list)
        else value
        for key, value in slot.expected.items()
    }
    return {key: value for key, value in expected.items() if value is not None}


def _whole(study: Study) -> list[tuple[type[Answer], list[str]]]:
    """Return the tables of whole units' answers, with their kinds."""
    return [
        (model, names)
        for model, names in whole_tables(study).items()
        if any(KINDS[name].is_counted for name in names)
    ]


def _answers(annotator: Annotator) -> Given:
    """Return the annotator's current answers by slot and question."""
    answers: Given = defaultdict(dict)
    for model, names in _whole(annotator.study):
        rows = model.objects.filter(
            annotator=annotator, is_current=True, question__kind__in=names
        )
        fields = "slot", "question__key", "question__kind", "value"
        for slot, key, name, value in rows.values_list(*fields):
            answers[slot] |= KINDS[name].judgements(key, value)
    return answers


def _earlier(
    slot: SubmittedSlot, answers: Given, of_unit: Given
) -> dict[str, int | str] | None:
    if slot.purpose == Purpose.REPEAT and slot.repeat_of is not None:
        return answers.get(slot.repeat_of)
    if slot.purpose == Purpose.TWIN and slot.original is not None:
        return of_unit.get(slot.original)
    return None


def _votes(annotator: Annotator, slots: list[SubmittedSlot]) -> Votes:
    """Return the others' answers as numbers, by unit, question and person."""
    votes: Votes = defaultdict(lambda: defaultdict(dict))
    fields = "slot__unit", "annotator", "question__key", "question__kind", "value"
    for model, names in _whole(annotator.study):
        rows = model.objects.filter(
            slot__unit__in={slot.unit for slot in slots},
            slot__purpose=Purpose.REAL,
            slot__state=Slot.State.SUBMITTED,
            is_current=True,
            annotator=F("slot__annotator"),
            question__kind__in=names,
        ).exclude(annotator=annotator)
        for unit, who, key, name, value in rows.order_by("pk").values_list(*fields):
            kind = KINDS[name]
            for part, judgement in kind.judgements(key, value).items():
                votes[unit][part][who] = kind.numeric_value(judgement)
    return votes


@transaction.atomic
def _act(annotator: Annotator, breach: Breach) -> Flag | None:
    """Raise a flag and apply the rule's action, unless a flag exists."""
    person = locked_annotator(annotator)
    flags = list(Flag.objects.filter(annotator=person, rule=breach.rule.key))
    if any(flag.resolved_at is None for flag in flags):
        return None
    # The counts of shots and of units cannot be compared.
    same = (f for f in flags if f.finding.get("of_ticks", False) == breach.of_ticks)
    before = next(same, None)
    if before is not None and breach.n < AGAIN * before.n:
        return None
    data = finding(breach)
    flag = Flag.objects.create(
        annotator=person,
        rule=breach.rule.key,
        signal=breach.rule.signal,
        action=breach.rule.action,
        value=breach.value,
        n=breach.n,
        finding=data,
        text=in_english(data)[:300],
    )
    event_log.note(
        Event.Kind.FLAG_RAISED,
        person.study_id,
        annotator=person,
        rule=flag.rule,
        action=flag.action,
        finding=data,
    )
    _stop(person, flag)
    annotator.state = person.state
    return flag


def _stop(person: Annotator, flag: Flag) -> None:
    """Pause or exclude an annotator who can still work, if the flag says so."""
    is_paused = person.state == Annotator.State.PAUSED
    if person.state in Annotator.STOPPED and not is_paused:
        return
    if flag.action == Flag.Action.PAUSE and not is_paused:
        before, person.state = person.state, Annotator.State.PAUSED
        person.save(update_fields=["state"])
        event_log.note(
            Event.Kind.ANNOTATOR_PAUSED,
            person.study_id,
            annotator=person,
            rule=flag.rule,
            before=before,
        )
    elif flag.action == Flag.Action.EXCLUDE:
        # Units must be locked before slots, and revoking locks slots only.
        exclusion.exclude_annotator(
            person, reason=flag.text, author=None, rule=flag.rule
        )
        inviting.revoke(person)


def unread_warning(annotator: Annotator) -> Flag | None:
    """Return the first warning that the annotator has not read."""
    return Flag.unread_warnings(annotator.pk).order_by("pk").first()


def confirm_warning(flag: Flag) -> None:
    """Record that the annotator has read a warning."""
    flag.shown_at = timezone.now()
    flag.save(update_fields=["shown_at"])


def warning_text(flag: Flag) -> str:
    """Return the warning for the annotator: the rule's message, or a default."""
    rules = parse_rules(flag.annotator.study.rules)
    own = next((rule.message for rule in rules if rule.key == flag.rule), "")
    default = WARNINGS.get(flag.signal, WARNING)
    if flag.signal == "flat" and flag.finding.get("of_ticks"):
        default = NOTHING_TICKED
    return own or str(default)


def pause_text(annotator: Annotator) -> str:
    """Return the warning of the rule that paused the annotator; empty without one."""
    paused = annotator.flags.filter(
        action=Flag.Action.PAUSE, resolved_at__isnull=True
    ).first()
    return warning_text(paused) if paused else ""


def reasons(exclusions: Iterable[Exclusion]) -> dict[int, str]:
    """Return the reasons of exclusions; those of rules in the reader's language."""
    rows = list(exclusions)
    people = {row.slot.annotator_id for row in rows if row.rule}
    of_rules: dict[tuple[int | None, str, str], str] = {
        (flag.annotator_id, flag.rule, flag.text): flag.sentence
        for flag in Flag.objects.filter(annotator__in=people)
    }
    fixed = {text: _(text) for text in (exclusion.WITHDRAWAL, exclusion.REPLACEMENT)}
    return {
        row.pk: of_rules.get(
            (row.slot.annotator_id, row.rule, row.reason),
            fixed.get(row.reason, row.reason),
        )
        for row in rows
    }


def resolve(flag: Flag, *, user: User | None) -> Flag:
    """Resolve a flag; the rule raises it again only on more evidence."""
    if flag.resolved_at is None:
        flag.resolved_at = timezone.now()
        flag.resolved_by = user
        flag.save(update_fields=["resolved_at", "resolved_by"])
        event_log.note(
            Event.Kind.FLAG_RESOLVED,
            flag.annotator.study_id,
            annotator=flag.annotator,
            user=user,
            rule=flag.rule,
        )
    return flag
