"""A line of *Do now* with its buttons, and the words that several lines share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.text import slugify
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.models import Annotator, Event, Study, Unit, User

LONGEST_KEY = 200
SHOWN = 5  # names or units that an alert lists
GRAVE = 70  # alerts of this weight are errors


@dataclass(frozen=True)
class Button:
    """A button that settles an alert, or a link to what it is about."""

    label: str
    address: str
    fields: tuple[tuple[str, str], ...] = ()
    posts: bool = False
    warning: str = ""  # shown before a change that cannot be undone at once
    for_all: bool = False  # researchers can use it, too
    for_superusers: bool = False

    @property
    def id(self) -> str:
        """Return an id that stays the same when the page is refreshed."""
        values = " ".join(value for _name, value in self.fields)
        return slugify(f"do {self.address} {values}".replace("/", " "))[:120]


@dataclass(frozen=True)
class Alert:
    """A line of *Do now*; `weight` orders them, `evidence` is what a reader unfolds."""

    kind: str
    weight: int
    text: str
    todo: str
    since: datetime | None = None
    buttons: tuple[Button, ...] = ()
    notes: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    annotator: Annotator | None = None
    copy: str = ""  # a text to send
    is_step: bool = False  # the next step of a study, not a fault

    @property
    def level(self) -> str:
        if self.is_step:
            return "step"
        return "error" if self.weight >= GRAVE else "warning"

    @property
    def id(self) -> str:
        """Return an id for what the line unfolds."""
        return self.buttons[0].id.replace("do-", "why-", 1) if self.buttons else ""


def link(label: str, study: Study, page: str, *args: object, **query: str) -> Button:
    """Return a link to a page of the study for managers."""
    asked = f"?{urlencode(query)}" if query else ""
    return Button(label, reverse(page, args=[study.slug, *args]) + asked)


def press(
    label: str,
    study: Study,
    page: str,
    *args: object,
    fields: Iterable[tuple[str, object]] = (),
    warning: str = "",
) -> Button:
    """Return a button that changes the study."""
    address = reverse(page, args=[study.slug, *args])
    texts = tuple((name, str(value)) for name, value in fields)
    return Button(label, address, texts, posts=True, warning=warning)


def ratings(study: Study, query: Mapping[str, object]) -> Button:
    """Return a link to the ratings that an alert is about."""
    label = _("Show comparisons") if study.is_side_by_side else _("Show ratings")
    address = reverse("slot-list", args=[study.slug])
    asked = urlencode(query, doseq=True)
    return Button(label, f"{address}?{asked}", for_all=True)


def settle(study: Study, name: str, *values: object) -> Button:
    """Return the button that marks findings, reports or a line as handled."""
    fields = [(name, value) for value in values]
    return press(_("Mark as handled"), study, "alert-settle", fields=fields)


def set_address(study: Study) -> Button:
    """Return a link to the page of the server's address, which leads back."""
    asked = urlencode({"next": reverse("study-detail", args=[study.slug])})
    label = _("Set the server’s address")
    return Button(label, f"{reverse('server-address')}?{asked}", for_superusers=True)


def handled(study: Study) -> set[str]:
    """Return the keys of the lines that a manager has marked as handled."""
    events = study.events.filter(
        kind=Event.Kind.STUDY_EDITED, details__has_key="handled"
    )
    return set(events.values_list("details__handled", flat=True))


def mark_handled(
    study: Study, key: str, *, person: Annotator | None = None, user: User | None
) -> None:
    """Mark a line by its key, which the log keeps."""
    event_log.note(
        Event.Kind.STUDY_EDITED,
        study.pk,
        annotator=person,
        user=user,
        handled=key[:LONGEST_KEY],
    )


def first(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the first lines, with an ellipsis if there are more."""
    listed = tuple(lines)
    return listed if len(listed) <= SHOWN else (*listed[:SHOWN], "…")


def unit_name(unit: Unit) -> str:
    return _("story %(story)s, %(methods)s") % {
        "story": unit.story.key,
        "methods": " / ".join(unit.methods),
    }


def when(at: datetime) -> str:
    return date_format(localtime(at), "Y-m-d H:i T")


def day(at: datetime) -> str:
    return date_format(localtime(at), "Y-m-d")
