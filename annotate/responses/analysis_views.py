"""Analysis views: named filters that decide which exclusions hide answers."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from django.core.validators import slug_re
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate import event_log
from annotate.kinds.registry import tables_of
from annotate.models import (
    EVERYTHING,
    FINAL,
    MAIN,
    AnalysisView,
    Event,
    Exclusion,
    Purpose,
    Study,
    User,
)
from evalcore.models import most_letters

FIXED = {
    MAIN: gettext_lazy("All answers except those left out"),
    EVERYTHING: gettext_lazy(
        "All answers, including those left out, but not extra or withdrawn ones, nor "
        "those to replaced pictures"
    ),
}
LONGEST_KEY = most_letters(AnalysisView, "key")
LONGEST_TITLE = most_letters(AnalysisView, "title")


class ViewError(ValueError):
    """The view cannot be added; the message says why."""


@dataclass(frozen=True)
class ViewCounts:
    """A view with its counts of slots, exclusions, answers and annotators."""

    view: AnalysisView
    slots: int
    excluded: int
    answers: int
    annotators: int

    @property
    def title(self) -> str:
        """Return the view's title; the two fixed views have translated titles."""
        return str(FIXED.get(self.view.key, self.view.title))


def add_views(study: Study) -> None:
    """Create the two fixed views of a study."""
    with translation.override("en"):
        AnalysisView.objects.bulk_create(
            AnalysisView(study=study, key=key, title=str(title))
            for key, title in FIXED.items()
        )


def hiding_views(study_id: int) -> QuerySet[AnalysisView]:
    """Return the views from which an exclusion can hide answers."""
    return AnalysisView.objects.filter(study=study_id).exclude(key=EVERYTHING)


@transaction.atomic
def hide_from_all(study: Study, rows: Collection[Exclusion], rule: str) -> None:
    """Hide excluded answers from every view for good, by one of the `FINAL` rules."""
    views = list(AnalysisView.objects.filter(study=study))
    for row in rows:
        row.rule = rule
        row.save(update_fields=["rule"])
        row.views.set(views)
    if rows:
        hidden = [[row.slot_id, _keys(views)] for row in rows]
        event_log.note(Event.Kind.STUDY_EDITED, study.pk, hidden=hidden)


def named_views(study: Study) -> QuerySet[AnalysisView]:
    """Return the views that managers added; exclusions may leave them unchanged."""
    return hiding_views(study.pk).exclude(key=MAIN)


def in_force(study: Study) -> QuerySet[Exclusion]:
    """Return the exclusions in force, oldest first."""
    rows = Exclusion.objects.filter(slot__study=study, undone_at__isnull=True)
    return rows.order_by("pk")


@transaction.atomic
def add_view(
    study: Study, *, key: str, title: str, author: User | None
) -> AnalysisView:
    """Add a view; every exclusion in force hides its answers from it."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    key, title = key.strip(), title.strip()
    if not slug_re.fullmatch(key) or len(key) > LONGEST_KEY:
        text = _("A key has at most %(n)d characters: letters, digits, - and _.")
        raise ViewError(text % {"n": LONGEST_KEY})
    if not 0 < len(title) <= LONGEST_TITLE:
        text = _("Please enter a title of at most %(n)d characters.")
        raise ViewError(text % {"n": LONGEST_TITLE})
    if study.analysis_views.filter(key__iexact=key).exists():
        raise ViewError(
            _("A filter with the key %(key)s already exists.") % {"key": key}
        )
    view = AnalysisView.objects.create(study=study, key=key, title=title)
    rows = list(in_force(study).prefetch_related("views"))
    view.exclusions.add(*rows)
    hidden = [[row.slot_id, _keys([*row.views.all(), view])] for row in rows]
    event_log.note(
        Event.Kind.STUDY_EDITED,
        study.pk,
        user=author,
        view=key,
        title=title,
        hidden=hidden,
    )
    return view


@transaction.atomic
def choose_views(
    study: Study, chosen: Mapping[int, Collection[str]], *, author: User | None
) -> int:
    """Set the named views from which exclusions hide answers; return the changes."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    views = {view.key: view for view in hiding_views(study.pk)}
    hidden = []
    rows = in_force(study).filter(pk__in=chosen).exclude(rule__in=FINAL)
    for row in rows.prefetch_related("views"):
        selected = [v for k, v in views.items() if k == MAIN or k in chosen[row.pk]]
        if _keys(selected) != _keys(row.views.all()):
            row.views.set(selected)
            hidden.append([row.slot_id, _keys(selected)])
    if hidden:
        event_log.note(Event.Kind.STUDY_EDITED, study.pk, user=author, hidden=hidden)
    return len(hidden)


def _keys(views: Iterable[AnalysisView]) -> list[str]:
    return sorted(view.key for view in views)


def overview(study: Study) -> list[ViewCounts]:
    """Return every view with its counts."""
    return [_counts(study, view) for view in study.analysis_views.all()]


def _counts(study: Study, view: AnalysisView) -> ViewCounts:
    hides = Exclusion.objects.filter(
        slot=OuterRef("pk"), undone_at__isnull=True, views=view
    )
    done = study.slots.filter(
        purpose=Purpose.REAL, submitted_at__isnull=False, ordinal__isnull=False
    ).annotate(is_hidden=Exists(hides))
    shown = Q(is_hidden=False)
    counts = done.aggregate(
        slots=Count("pk", filter=shown),
        excluded=Count("pk", filter=~shown),
        annotators=Count("annotator", filter=shown, distinct=True),
    )
    answers = sum(
        model.objects.filter(
            slot__in=done.filter(shown), is_current=True, annotator=F("slot__annotator")
        ).count()
        for model in tables_of(study)
    )
    return ViewCounts(view, answers=answers, **counts)
