"""Alerts for the manager of a study, the most important first."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.access import server_address
from annotate.coverage.absence_alerts import absent, not_begun
from annotate.coverage.alert_lines import (
    Alert,
    Button,
    first,
    handled,
    link,
    press,
    ratings,
    set_address,
    settle,
    unit_name,
    when,
)
from annotate.coverage.completion import Waiting
from annotate.coverage.counts import leases
from annotate.coverage.forecast import WINDOW
from annotate.coverage.people_alerts import of_people
from annotate.models import Annotator, JoinLink, Purpose, Slot, Study
from annotate.people import places, visits
from annotate.people.inviting import free_slots
from annotate.people.outcomes import invitation_page
from annotate.people.presence import openings
from annotate.presentation import broken_media
from annotate.studies import lifecycle

# A study is stalled after a day, or after three of its usual gaps between answers.
QUIET, QUIET_GAPS = timedelta(hours=24), 3
SHOWN = 5  # units and pictures with an alert of their own
# Agreement is near zero if alpha and its upper limit are below these.
ALPHA, ALPHA_HIGH, ALPHA_UNITS = 0.1, 0.3, 10


def alerts(
    study: Study,
    counted: Mapping[str, Any],
    *,
    waits: Waiting,
    left: int,
    alphas: Mapping[str, Mapping[str, Any]] | None = None,
    now: datetime | None = None,
    base: str = "",
) -> list[Alert]:
    """Return the alerts of a study, the most important first.

    Links in them begin with `base`; without it, there are none.
    """
    now = now or timezone.now()
    done = handled(study)
    unsorted = [
        *_next_step(study, left),
        *_set_aside(study),
        *_broken(study),
        *of_people(study, counted.get("people", {}), done),
        *_disagreeing(study, alphas or {}, done),
        *_switched_off(study),
    ]
    if study.state == Study.State.OPEN and not study.adaptive.get("stopped"):
        if left > 0:
            unsorted += _stalled(study, counted, now)
            unsorted += _full(study, counted)
            unsorted += _asking(study)
        unsorted += absent(study, waits, left, base)
        unsorted += not_begun(study, waits, now, base)
        unsorted += _local(study, base, done)
    if study.state != Study.State.CLOSED:
        unsorted += _blocked(study, counted.get("blocked", []))
    return sorted(unsorted, key=lambda alert: -alert.weight)


def _next_step(study: Study, left: int) -> Iterator[Alert]:
    """Yield what a study needs that takes no answers, or needs no more."""
    launch = "study-action", "launch"
    if study.state == Study.State.DRAFT:
        yield Alert(
            "draft",
            110,
            _("The study is a draft: nobody can answer yet."),
            _("Check it in the preview, rehearse it, then launch it."),
            buttons=(
                press(_("Launch"), study, *launch),
                link(_("Preview"), study, "study-preview"),
                link(_("Rehearse"), study, "study-rehearsal"),
                link(_("Settings"), study, "study-settings"),
            ),
            is_step=True,
        )
    elif study.state == Study.State.PAUSED:
        yield Alert(
            "paused",
            110,
            _("The study is paused: nobody can answer."),
            _("Links stay valid."),
            buttons=(press(_("Reopen"), study, *launch),),
            is_step=True,
        )
    elif left <= 0 and not study.is_imported:
        buttons: tuple[Button, ...] = (link(_("Make a report"), study, "report-list"),)
        if study.state == Study.State.OPEN:
            buttons += (press(_("Close the study"), study, "study-action", "close"),)
        yield Alert(
            "complete",
            30,
            _("All ratings are collected."),
            _("Make a report. Once everybody has their code, close the study."),
            buttons=buttons,
            is_step=True,
        )
    elif lifecycle.waits_for_links(study):
        yield Alert(
            "no links",
            105,
            _("The study is running, but nobody can take part: nobody has a link yet."),
            "",
            buttons=(link(_("Invite people"), study, invitation_page(study)),),
        )


def _switched_off(study: Study) -> Iterator[Alert]:
    """Yield an alert about each webhook that was switched off."""
    for webhook in study.webhooks.filter(switched_off_at__isnull=False):
        text = _("The webhook %(address)s is switched off: no message arrived.")
        show = "webhook-detail", webhook.pk
        yield Alert(
            "webhook off",
            60,
            text % {"address": webhook.address},
            _("Mend the program at this address, then switch the webhook on."),
            since=webhook.switched_off_at,
            buttons=(link(_("Show deliveries"), study, *show),),
        )


def _stalled(
    study: Study, counted: Mapping[str, Any], now: datetime
) -> Iterator[Alert]:
    """Yield an alert when a running study has had no answers for long."""

    def is_long(since: datetime) -> bool:
        return now - since > max(QUIET, QUIET_GAPS * usual_gap(counted, since))

    answered = study.slots.filter(submitted_at__isnull=False).order_by("-submitted_at")
    last = answered.values_list("submitted_at", flat=True).first()
    since = last or study.created_at
    if is_long(since):
        since = max(since, openings(study)[0] or since)
    if not is_long(since) or leases(study).filter(lease_until__gt=now).exists():
        return
    if last is None:
        text = _("No answers yet: the study was opened on %(since)s.")
    elif since == last:
        text = _("The study has stalled: no answers since %(since)s.")
    else:
        text = _(
            "The study has stalled: no answers since it was reopened on %(since)s."
        )
    todo = _(
        "Send the links again, or invite more people. If you are not collecting "
        "answers now, pause the study."
    )
    yield Alert(
        "stalled",
        100,
        text % {"since": when(since)},
        todo,
        since=since,
        buttons=(
            link(_("People and pay"), study, "annotator-list"),
            press(_("Pause the study"), study, "study-action", "pause"),
        ),
    )


def usual_gap(counted: Mapping[str, Any], until: datetime) -> timedelta:
    """Return the mean time between answers in the two weeks before the last one."""
    hours = [(datetime.fromisoformat(at), n) for at, n in counted.get("hours", [])]
    hours = [(at, n) for at, n in hours if until - WINDOW <= at <= until]
    answers = sum(n for _at, n in hours)
    return (until - hours[0][0]) / answers if answers > 1 else timedelta(0)


def _set_aside(study: Study) -> Iterator[Alert]:
    """Yield an alert for each unit on hold because several people skipped it."""
    real = study.units.filter(purpose=Purpose.REAL, set_aside_at__isnull=False)
    real = real.select_related("story", *study.output_paths(below="__method"))
    for unit in real.prefetch_related("skips__annotator")[:SHOWN]:
        cell = {"method": unit.methods, "story": unit.story.key}
        text = _("On hold: %(unit)s. Several people skipped it.")
        yield Alert(
            "set aside",
            90,
            text % {"unit": unit_name(unit)},
            _("Check its pictures. Once they are right, offer it to others again."),
            since=unit.set_aside_at,
            buttons=(
                press(_("Offer to others"), study, "unit-hand-out", unit.pk),
                ratings(study, cell),
            ),
            notes=tuple(
                f"{skip.annotator.name}: {skip.comment or skip.get_reason_display()}"
                for skip in unit.skips.all()
            ),
        )


def _broken(study: Study) -> Iterator[Alert]:
    """Yield an alert for each picture and video reported as broken."""
    for report in broken_media.reported(study)[:SHOWN]:
        where = _("story %(story)s") % {"story": report.story}
        query = {"story": report.story}
        if report.output is not None:
            query["method"] = report.output.method.name
            where = f"{report.output.method.name} / {report.story}"
        if report.shot:
            where += ", " + _("shot %(shot)s") % {"shot": report.shot}
        text = ngettext(
            "%(n)s person reported a broken picture or video: %(where)s.",
            "%(n)s people reported a broken picture or video: %(where)s.",
            report.people,
        )
        yield Alert(
            "broken",
            85,
            text % {"n": report.people, "where": where},
            _("Check it. If it is broken, replace it."),
            since=report.since,
            buttons=(
                settle(study, "fault", *report.faults),
                *_replace(study, report),
                ratings(study, query),
            ),
        )


def _replace(study: Study, report: broken_media.Reported) -> Iterator[Button]:
    """Yield the link that replaces a reported picture; reference pictures have none."""
    if report.output is not None and report.output.twin_of_id is None:
        key, shot = report.output.pk, str(report.shot or "")
        yield link(_("Replace"), study, "output-replace", key, shot=shot)


def _blocked(study: Study, blocked: list[int]) -> Iterator[Alert]:
    """Yield an alert about the units that need another annotator."""
    if not blocked:
        return
    units = study.units.filter(pk__in=blocked).select_related(
        "story", *study.output_paths(below="__method")
    )
    text = ngettext(
        "%(n)d item needs somebody new: everybody still working has rated or "
        "skipped it.",
        "%(n)d items need somebody new: everybody still working has rated or "
        "skipped them.",
        len(blocked),
    )
    yield Alert(
        "cannot be filled",
        80,
        text % {"n": len(blocked)},
        _("Add a person and send them the link, or resume a paused person."),
        notes=first(unit_name(unit) for unit in units),
        buttons=(
            press(
                _("Add a person"),
                study,
                "annotator-invite",
                fields=[("new", 1), ("count", 1)],
            ),
            ratings(study, {"state": Slot.State.OPEN, "part": "wanted"}),
        ),
    )


def _disagreeing(
    study: Study, alphas: Mapping[str, Mapping[str, Any]], done: set[str]
) -> Iterator[Alert]:
    """Yield the questions whose answers agree no better than by chance."""
    low = {
        key
        for key, row in alphas.items()
        if row.get("alpha", 1) < ALPHA
        and row.get("high", 1) < ALPHA_HIGH
        and row["n_units"] >= ALPHA_UNITS
        and f"alpha:{key}" not in done
    }
    titles = {question.key: question.title for question in study.asked if low}
    for key in sorted(low):
        text = _("People do not agree on “%(question)s”: alpha is %(alpha).2f.")
        values = {
            "question": titles.get(key, key.strip("|")),
            "alpha": alphas[key]["alpha"],
        }
        show = (ratings(study, {"disputed": key}),) if key in titles else ()
        yield Alert(
            "no agreement",
            72,
            text % values,
            _(
                "Look at the items with the most different answers. Is the question "
                "clear, and can people see what it asks about?"
            ),
            buttons=(*show, settle(study, "key", f"alpha:{key}")),
        )


def _full(study: Study, counted: Mapping[str, Any]) -> Iterator[Alert]:
    """Yield a full public link while ratings wait for somebody new."""
    links = list(study.join_links.filter(closed_at__isnull=True))
    if not links or not all(one.is_full for one in links):
        return
    free = free_slots(study).count()
    full = links[-1]
    if not free or places.has_unused_place(full):
        return
    n = -(-free // _stories_each(study, full, counted))
    text = ngettext(
        "The public link is full, but %(n)d rating is free.",
        "The public link is full, but %(n)d ratings are free.",
        free,
    )
    label = ngettext("Add %(n)d place", "Add %(n)d places", n) % {"n": n}
    yield Alert(
        "link full",
        78,
        text % {"n": free},
        _("Add places: the address stays the same."),
        buttons=(
            press(
                label,
                study,
                "join-link-places",
                full.pk,
                fields=[("most", full.most + n)],
            ),
            press(_("Close the link"), study, "join-link-close", full.pk),
        ),
    )


def _asking(study: Study) -> Iterator[Alert]:
    """Yield an alert if people wait to be let in from another browser."""
    if n := len(visits.requests(study)):
        text = ngettext(
            "%(n)s person asks to continue", "%(n)s people ask to continue", n
        )
        yield Alert(
            "requests",
            60,
            text % {"n": n},
            _(
                "Let somebody in only if they sent you the code of their request. "
                "Anybody who knows an ID can ask."
            ),
            buttons=(
                link(_("Public links and crowd platforms"), study, "study-recruitment"),
            ),
        )


def _stories_each(study: Study, full: JoinLink, counted: Mapping[str, Any]) -> int:
    """Return how many stories another person is likely to rate."""
    done = [p["submitted"] for p in counted.get("people", {}).values()]
    begun = sorted(n for n in done if n)
    usual: int = begun[len(begun) // 2] if begun else study.session_size
    return min(filter(None, (full.cap, study.cap, usual)))


def _local(study: Study, base: str, done: set[str]) -> Iterator[Alert]:
    """Yield an alert if links work on the server's own computer only."""
    if not server_address.is_local(base) or "links" in done:
        return
    invited = study.annotators.filter(
        state__in=(Annotator.State.INVITED, Annotator.State.ACTIVE),
        is_simulated=False,
        invitation__revoked_at=None,
        invitation__isnull=False,
    )
    if invited.exists() or any(one.is_open for one in study.join_links.all()):
        yield Alert(
            "local links",
            45,
            server_address.warning(base),
            "",
            buttons=(set_address(study), settle(study, "key", "links")),
        )
