"""How much may be planned: people, slots, and the work of planning them."""

from django.utils.translation import gettext as _

from annotate.studies.units import PlanningError

# More is a slip of the pen, and would take the server's memory.
MOST_ANNOTATORS, MOST_SLOTS = 100_000, 1_000_000
# People times slots: what it costs to plan who judges what. A web process plans what
# takes less than about a second, a worker up to the limit.
MOST_WORK, MOST_WORK_AT_ONCE = 50_000_000, 4_000_000


def refuse_too_much_work(people: int, slots: int, most: int = MOST_WORK) -> None:
    """Raise where so many people and slots are more than is planned."""
    if people * slots > most:
        text = _(
            "%(people)s annotators times %(slots)s ratings are %(work)s; at most "
            "%(most)s can be planned. Ask for fewer people or fewer ratings per item, "
            "or set the assignment to open, which needs no plan."
        )
        told = {"people": people, "slots": slots, "work": people * slots, "most": most}
        raise PlanningError(
            text % {name: f"{number:,}" for name, number in told.items()},
            field="annotators",
        )
