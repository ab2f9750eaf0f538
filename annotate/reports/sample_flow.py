"""The way from invited people to answers, at a moment of a study."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from annotate.audit_log.as_of_event import Moment
from annotate.models import Exclusion, Study

SOURCE = "people"
BY_HAND = "decision of a manager"


def people_rows(study: Study, view: str, moment: Moment) -> Iterator[dict[str, Any]]:
    """Yield how many people were invited, agreed, answered, and were left out, and why.

    Answers are submitted ratings, training and checks too. People count by what they
    had done at the moment; those with a public link count as invited once they open it.
    """
    people = study.annotators.filter(created_at__lte=moment.at)
    invited = people.filter(invitation__created_at__lte=moment.at)
    yield _row("invited", "", invited.count())
    for reason, field in (
        ("consent refused", "declined_at"),
        ("place given to others", "left_at"),
    ):
        if n := people.filter(**{f"{field}__lte": moment.at}).count():
            yield _row("left out", reason, n)
    agreed = set(
        people.filter(consented_at__lte=moment.at).values_list("pk", flat=True)
    )
    yield _row("consented", "", len(agreed))
    holders = {slot.annotator for slot in moment.submitted.values()}
    if silent := len(agreed - holders):
        yield _row("left out", "no rating submitted", silent)
    yield _row("answered", "", len(holders), len(moment.submitted))
    yield from _left_out(study, view, moment)


def _left_out(study: Study, view: str, moment: Moment) -> Iterator[dict[str, Any]]:
    """Yield the ratings that a view hides by rule, and how many people gave them."""
    hidden = moment.hidden_from(view) & moment.submitted.keys()
    made = Exclusion.objects.filter(slot__study=study, created_at__lte=moment.at)
    rules = dict(made.order_by("created_at", "pk").values_list("slot", "rule"))
    by_rule: dict[str, list[int]] = defaultdict(list)
    for slot in sorted(hidden):
        by_rule[rules.get(slot, "") or BY_HAND].append(slot)
    for rule, slots in sorted(by_rule.items()):
        people = {moment.submitted[slot].annotator for slot in slots}
        yield _row("left out", rule.replace("_", " "), len(people), len(slots))


def _row(
    step: str, reason: str, people: int, ratings: int | None = None
) -> dict[str, Any]:
    return {
        "source": SOURCE,
        "step": step,
        "reason": reason,
        "n_annotators": people,
        "n_answers": ratings,
    }
