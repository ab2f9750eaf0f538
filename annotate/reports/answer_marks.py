"""How a table marks answers: what checks an annotator, and what no analysis counts."""

from annotate.models import Exclusion, Purpose, Study


def check_marks(purpose: str) -> dict[str, bool]:
    """Say whether a slot checks its annotator, and whether by asking again."""
    return {
        "is_gold": purpose not in (Purpose.REAL, Purpose.REPEAT),
        "is_repeat": purpose == Purpose.REPEAT,
    }


def is_surplus(purpose: str, ordinal: int | None) -> bool:
    """Say whether a slot stands outside the redundancy of its unit."""
    return purpose == Purpose.REAL and ordinal is None


def hidden_slots(study: Study, view: str) -> set[int]:
    """Return the slots whose answers a view hides now."""
    hiding = Exclusion.objects.filter(
        slot__study=study, undone_at__isnull=True, views__key=view
    )
    return set(hiding.values_list("slot", flat=True))
