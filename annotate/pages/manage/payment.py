"""The table of people: filters, decisions about pay, and files for platforms."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache

from annotate.access.server_address import links_begin_with
from annotate.models import Study
from annotate.pages.study_views import (
    UserRequest,
    attachment,
    row_numbers,
    study_button,
    study_page,
)
from annotate.payment import deciding
from annotate.payment.costs import costs
from annotate.payment.deciding import Decided
from annotate.payment.exports import FILES, PLATFORM_FILES
from annotate.payment.rules import BonusRule, PayError, bonus_signals, read_amount
from annotate.payment.table import PersonRow, people_rows
from annotate.people.status import Status

PEOPLE_PER_PAGE = 50
NAMES_SHOWN = 10
# Filters beside those by status.
FILTERS: dict[str, tuple[Any, Callable[[PersonRow], bool]]] = {
    "look": (gettext_lazy("need a look"), lambda row: row.needs_a_look),
    "undecided": (gettext_lazy("pay not decided"), lambda row: row.is_undecided),
    "due": (gettext_lazy("to be paid"), lambda row: row.is_due),
}


def people_context(request: UserRequest, study: Study) -> dict[str, Any]:
    """Return what the table of people shows, and the numbers of its filters."""
    rows = people_rows(study)
    show = request.GET.get("show", "")
    page = Paginator(shown(rows, show), PEOPLE_PER_PAGE).get_page(
        request.GET.get("page")
    )
    counts = Counter(row.status for row in rows)
    filters: list[tuple[str, Any, int]] = [("", _("everybody"), len(rows))]
    filters += [(one.value, one.label, counts[one]) for one in Status if counts[one]]
    filters += [
        (key, label, n)
        for key, (label, is_shown) in FILTERS.items()
        if (n := sum(map(is_shown, rows))) or key == show
    ]
    platform = study.recruitment.get("platform", "")
    named = [
        name
        for key, names in PLATFORM_FILES.items()
        if platform not in PLATFORM_FILES or key == platform
        for name in names
    ]
    return {
        "rows": page.object_list,
        "page": page,
        "show": show,
        "filters": filters,
        "here": request.GET.urlencode(),
        "costs": costs(study, rows),
        "currency": study.recruitment.get("currency", ""),
        "bonus_rules": BonusRule.choices,
        "longest_reason": deciding.LONGEST_REASON,
        "has_platform": platform in PLATFORM_FILES,
        "files": [(name, FILES[name][0]) for name in named],
        "links_to": links_begin_with(request),
    }


def shown(rows: Sequence[PersonRow], show: str) -> list[PersonRow]:
    """Return the people of a filter: a status, or one of `FILTERS`."""
    if show in FILTERS:
        return [row for row in rows if FILTERS[show][1](row)]
    return [row for row in rows if show in ("", row.status.value)]


@never_cache
@study_page(role="manager")
def annotator_file(request: UserRequest, study: Study, name: str) -> HttpResponse:
    """Send the table of people, or what a platform takes of it, as a file."""
    if name not in FILES:
        raise Http404
    _label, contents = FILES[name]
    base = links_begin_with(request)
    text = contents(
        people_rows(study),
        lambda token: base + reverse("rate-entry", args=[token]),
    )
    return HttpResponse(text, headers=attachment(f"{study.slug}-{name}.csv"))


@study_button("annotator-list", PayError)
def annotator_pay(request: UserRequest, study: Study) -> str:
    """Approve, reject, set a bonus, mark as paid, or take back."""
    rows = _chosen(request, study)
    action, user = request.POST.get("action", ""), request.user
    if action == "approve":
        decided = deciding.approve(rows, user=user)
        text = ngettext("%(n)d person approved.", "%(n)d people approved.", _n(decided))
    elif action == "reject":
        decided = deciding.reject(rows, request.POST.get("reason", ""), user=user)
        text = ngettext("%(n)d person rejected.", "%(n)d people rejected.", _n(decided))
    elif action == "bonus":
        amount = read_amount(request.POST.get("amount", ""))
        rule = request.POST.get("rule", "")
        rows = bonus_signals(rows) if rule == BonusRule.CHECK else rows
        decided = deciding.give_bonus(rows, rule, amount, user=user)
        text = ngettext(
            "Bonus of %(n)d person set.", "Bonus of %(n)d people set.", _n(decided)
        )
    elif action == "paid":
        decided = deciding.mark_paid(rows, user=user)
        text = ngettext(
            "%(n)d person marked as paid.", "%(n)d people marked as paid.", _n(decided)
        )
    elif action == "take-back":
        decided = deciding.take_back(rows, user=user)
        text = ngettext(
            "Pay of %(n)d person is undecided again.",
            "Pay of %(n)d people is undecided again.",
            _n(decided),
        )
    else:
        raise Http404
    if decided.unchanged:
        messages.info(request, _unchanged(decided))
    return text % {"n": decided.changed} if decided.changed else ""


def _n(decided: Decided) -> int:
    return decided.changed


def _chosen(request: UserRequest, study: Study) -> list[PersonRow]:
    """Return the ticked people, or everybody of the filter."""
    rows = people_rows(study)
    if request.POST.get("everybody"):
        chosen = shown(rows, request.GET.get("show", ""))
    else:
        ticked = set(row_numbers(request.POST.getlist("person")))
        chosen = [row for row in rows if row.annotator.pk in ticked]
    if not chosen:
        raise PayError(_("Nothing was changed. Please tick the people first."))
    return chosen


def _unchanged(decided: Decided) -> str:
    """Return who was left unchanged, and why."""
    parts = [f"{name} ({reason})" for name, reason in decided.unchanged[:NAMES_SHOWN]]
    if len(decided.unchanged) > NAMES_SHOWN:
        more = len(decided.unchanged) - NAMES_SHOWN
        parts.append(_("and %(n)d more") % {"n": more})
    return _("Left unchanged: %(names)s.") % {"names": ", ".join(parts)}
