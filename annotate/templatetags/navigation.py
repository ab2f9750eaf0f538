"""Template tags for the tabs of a study and the names of its pages."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.models import Slot, Study

register = template.Library()


@dataclass(frozen=True)
class Page:
    """A page with a link of its own, and the addresses that belong to it."""

    address: str
    title: Any
    inside: tuple[str, ...] = ()
    is_managers: bool = False


# Each tab is its first page; the others lie below it.
TABS = (
    (
        Page("study-detail", gettext_lazy("Progress"), ("study-redistribute",)),
        Page(
            "annotator-list",
            gettext_lazy("People and pay"),
            ("annotator-data", "study-recruitment"),
            is_managers=True,
        ),
    ),
    (
        Page("slot-list", gettext_lazy("Ratings"), ("slot-detail",)),
        Page("view-list", gettext_lazy("Filters")),
    ),
    (
        Page(
            "report-list",
            gettext_lazy("Reports"),
            ("report-comparison", "report-publish", "output-detail", "output-replace"),
        ),
        Page(
            "study-scoring",
            gettext_lazy("Metric scores"),
            ("metric-values", "run-detail"),
        ),
    ),
    (
        Page(
            "study-settings",
            gettext_lazy("Settings"),
            (
                "study-extend",
                "study-texts",
                "study-rehearsal",
                "study-delete",
                "export-list",
                "export-create",
                "webhook-list",
                "webhook-detail",
            ),
        ),
        Page("event-list", gettext_lazy("Log")),
    ),
)


@register.filter
def ratings_name(study: Study) -> str:
    """Return what the study collects: Ratings or Comparisons."""
    return _("Comparisons") if study.is_side_by_side else _("Ratings")


@register.filter
def slot_name(slot: Slot) -> str:
    """Return the name of a slot's page."""
    if slot.study.is_side_by_side:
        text = _("Comparison of story %(story)s")
    else:
        text = _("Rating of story %(story)s")
    return text % {"story": slot.unit.story.key}


@register.inclusion_tag("manage/_tabs.html", takes_context=True)
def study_tabs(context: Context) -> dict[str, Any]:
    """Return the tabs of a study, and the pages below the one that is open."""
    study, match = context["study"], context["request"].resolver_match
    current = match.url_name if match else ""
    can_manage = context.get("can_manage", False)

    def links(pages: Iterable[Page]) -> list[tuple[str, str, str]]:
        """Return address, title and `aria-current` of pages."""
        return [
            (
                reverse(page.address, args=[study.slug]),
                ratings_name(study) if page.address == "slot-list" else page.title,
                _state(page, current),
            )
            for page in pages
            if can_manage or not page.is_managers
        ]

    tabs: list[tuple[str, str, str]] = []
    below: list[tuple[str, str, str]] = []
    for first, *others in TABS:
        ((address, title, state),) = links([first])
        if any(_state(page, current) for page in others):
            state = "true"
        if state:
            below = links(others)
        tabs.append((address, title, state))
    return {"tabs": tabs, "below": below}


def _state(page: Page, current: str) -> str:
    """Return the value of `aria-current` of a link to a page."""
    if current == page.address:
        return "page"
    return "true" if current in page.inside else ""
