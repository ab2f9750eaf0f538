"""Looking at an annotator's answers as they arrive, and acting by the study's rules.

The signals and rules are pure (`annotate.signals`, `annotate.rules`); here they get
their data from the tables, and what they find becomes a flag and an action.
"""

from collections import defaultdict
from collections.abc import Sequence

from django.db import transaction
from django.db.models import Avg, Case, Count, F, Value, When
from django.utils import timezone
from django.utils.translation import gettext_lazy

from annotate import exclusion, inviting, log
from annotate.models import (
    Annotator,
    Choice,
    Event,
    Flag,
    Purpose,
    Rating,
    Skip,
    Slot,
    User,
)
from annotate.rating import locked_annotator
from annotate.rules import Breach, Rule, evaluate, parse_rules
from annotate.signals import Judged, Signal, measure
from evalcore.models import Shot

# What the others say takes the longest to look up; it changes slowly.
OTHERS_EVERY = 5
OTHERS = ("agreement", "majority")
# A finding that a manager has settled counts again with so many times the answers.
AGAIN = 1.5

WARNINGS = {
    "seconds_per_unit": gettext_lazy(
        "You answer very fast. Please look at every shot before you answer."
    ),
    "seconds_per_shot": gettext_lazy(
        "You answer very fast. Please look at every shot before you answer."
    ),
    "straight_line": gettext_lazy(
        "You gave the same answers many times in a row. Please judge each story anew."
    ),
    "same_answer": gettext_lazy(
        "You gave the same answers many times in a row. Please judge each story anew."
    ),
    "side_bias": gettext_lazy(
        "You choose one side far more often than the other. Which story stands left is "
        "drawn at random; please judge the stories alone."
    ),
}
WARNING = gettext_lazy(
    "Some of your answers differ from what was expected. Please read the questions "
    "once more and take your time."
)


def look(annotator: Annotator) -> list[Flag]:
    """Measure the annotator's signals and act on each rule that is broken anew."""
    rules = parse_rules(annotator.study.rules)
    if not rules:
        return []
    breaches = evaluate(rules, signals_of(annotator, rules=rules))
    return [flag for flag in (_act(annotator, breach) for breach in breaches) if flag]


def signals_of(
    annotator: Annotator, *, rules: Sequence[Rule] | None = None
) -> dict[str, Signal]:
    """Return every signal of an annotator.

    With `rules`, what the others say is looked up only when a rule asks for it, and
    every few answers.
    """
    slots = list(
        Slot.objects.filter(annotator=annotator, submitted_at__isnull=False)
        .select_related("unit", "repeat_of")
        .order_by("submitted_at", "pk")
    )
    wanted = rules is None or (
        any(rule.signal in OTHERS for rule in rules) and len(slots) % OTHERS_EVERY == 0
    )
    return measure(
        _judged(annotator, slots, rest=_rest(annotator, slots) if wanted else {}),
        scales=_scales(annotator),
        skipped=Skip.objects.filter(annotator=annotator).count(),
    )


def _scales(annotator: Annotator) -> dict[str, tuple[int, int]]:
    questions = annotator.study.questions.filter(scale_min__isnull=False)
    return {
        key: (low, high)
        for key, low, high in questions.values_list("key", "scale_min", "scale_max")
    }


Rest = dict[int, dict[str, float]]


def _judged(annotator: Annotator, slots: list[Slot], *, rest: Rest) -> list[Judged]:
    answers = _answers(annotator)
    shots = dict(
        Shot.objects.filter(story__in={slot.unit.story_id for slot in slots})
        .values_list("story")
        .annotate(n=Count("pk"))
        .order_by()
    )
    of_unit = {
        slot.unit_id: answers.get(slot.pk, {})
        for slot in slots
        if slot.purpose == Purpose.REAL
    }
    return [
        Judged(
            purpose=slot.purpose,
            answers=answers.get(slot.pk, {}),
            shots=max(shots.get(slot.unit.story_id, 1), 1),
            seconds=slot.seconds,
            a_is_left=slot.a_is_left if annotator.study.is_pairwise else None,
            expected=_expected(slot),
            earlier=_earlier(slot, answers, of_unit),
            rest=rest.get(slot.unit_id) if slot.purpose == Purpose.REAL else None,
        )
        for slot in slots
    ]


def _answers(annotator: Annotator) -> dict[int, dict[str, int | str]]:
    """Return the annotator's current answers by slot and question."""
    model = Choice if annotator.study.is_pairwise else Rating
    rows = model.objects.filter(annotator=annotator, is_current=True)
    answers: dict[int, dict[str, int | str]] = defaultdict(dict)
    for slot, question, value in rows.values_list("slot", "question__key", "value"):
        answers[slot][question] = value
    return answers


def _expected(slot: Slot) -> dict[str, tuple[int, int] | str] | None:
    if slot.purpose not in (Purpose.GOLD, Purpose.TRAINING, Purpose.TWIN):
        return None
    return {
        key: value if isinstance(value, str) else (value[0], value[1])
        for key, value in slot.unit.expected.items()
    }


def _earlier(
    slot: Slot,
    answers: dict[int, dict[str, int | str]],
    of_unit: dict[int, dict[str, int | str]],
) -> dict[str, int | str] | None:
    if slot.purpose == Purpose.REPEAT and slot.repeat_of_id is not None:
        return answers.get(slot.repeat_of_id)
    if slot.purpose == Purpose.TWIN and slot.unit.original_id is not None:
        return of_unit.get(slot.unit.original_id)
    return None


def _rest(annotator: Annotator, slots: list[Slot]) -> Rest:
    """Return what the others say of each unit: mean rating, or share of votes for a."""
    model = Choice if annotator.study.is_pairwise else Rating
    votes = Case(
        When(value="a", then=Value(1.0)), When(value="b", then=Value(0.0)),
        default=Value(0.5),
    )  # fmt: skip
    rows = (
        model.objects.filter(
            slot__unit__in={slot.unit_id for slot in slots},
            slot__purpose=Purpose.REAL,
            slot__state=Slot.State.SUBMITTED,
            is_current=True,
            annotator=F("slot__annotator"),
        )
        .exclude(annotator=annotator)
        .values_list("slot__unit", "question__key")
        .annotate(mean=Avg(votes if model is Choice else "value"))
        .order_by()
    )
    rest: Rest = defaultdict(dict)
    for unit, question, mean in rows:
        rest[unit][question] = float(mean)
    return rest


@transaction.atomic
def _act(annotator: Annotator, breach: Breach) -> Flag | None:
    """Raise a flag and do what the rule says, unless that was done before."""
    person = locked_annotator(annotator)
    before = Flag.objects.filter(annotator=person, rule=breach.rule.key).first()
    if before is not None and (
        before.resolved_at is None or breach.n < AGAIN * before.n
    ):
        return None
    flag = Flag.objects.create(
        annotator=person,
        rule=breach.rule.key,
        signal=breach.rule.signal,
        action=breach.rule.action,
        value=breach.value,
        n=breach.n,
        text=breach.text[:300],
    )
    log.note(
        Event.Kind.FLAG_RAISED, person.study_id, annotator=person,
        rule=flag.rule, action=flag.action, text=flag.text,
    )  # fmt: skip
    if flag.action == Flag.Action.PAUSE:
        person.state = annotator.state = Annotator.State.PAUSED
        person.save(update_fields=["state"])
        log.note(Event.Kind.ANNOTATOR_PAUSED, person.study_id, annotator=person)
    elif flag.action == Flag.Action.EXCLUDE:
        inviting.revoke(person)
        exclusion.exclude_annotator(
            person, reason=flag.text, author=None, rule=flag.rule
        )
        annotator.state = Annotator.State.REVOKED
    return flag


def unread_warning(annotator: Annotator) -> Flag | None:
    """Return the warning that the annotator has to read next."""
    flags = annotator.flags.filter(action=Flag.Action.WARN, shown_at__isnull=True)
    return flags.order_by("pk").first()


def warning_text(flag: Flag) -> str:
    """Return what the annotator is told: the rule's message, or a usual one."""
    rules = parse_rules(flag.annotator.study.rules)
    own = next((rule.message for rule in rules if rule.key == flag.rule), "")
    return own or str(WARNINGS.get(flag.signal, WARNING))


def resolve(flag: Flag, *, user: User | None) -> Flag:
    """Settle a flag; the rule raises it again only on much more evidence."""
    if flag.resolved_at is None:
        flag.resolved_at = timezone.now()
        flag.resolved_by = user
        flag.save(update_fields=["resolved_at", "resolved_by"])
        log.note(
            Event.Kind.FLAG_RESOLVED, flag.annotator.study_id,
            annotator=flag.annotator, user=user, rule=flag.rule,
        )  # fmt: skip
    return flag
