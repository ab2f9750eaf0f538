"""The sentence above a study's progress, and the alert about its deadline."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.coverage.alert_lines import Alert, day, first, link, press
from annotate.coverage.completion import Outlook
from annotate.coverage.counts import Totals
from annotate.models import Study
from annotate.people.outcomes import invitation_page


def sentence(study: Study, total: Totals, until: Outlook) -> str:
    """Return state, share, expected end against the deadline, and what is in the way.

    Without an expected end, the reason takes its place.
    """
    texts = [
        _("%(state)s, %(percent)d %% done (%(done)d of %(wanted)d ratings).")
        % {
            "state": study.get_state_display().capitalize(),
            "percent": total.percent,
            "done": total.submitted,
            "wanted": total.wanted,
        }
    ]
    if not until.has_date:
        texts.append(until.text)
        if study.deadline and total.left:
            texts.append(_("Deadline: %(day)s.") % {"day": day(study.deadline)})
        return " ".join(texts)
    texts.append(_expected(study, until))
    if n := until.waiting.slots:
        text = ngettext(
            "In the way: nobody at work can do %(n)d other rating.",
            "In the way: nobody at work can do %(n)d other ratings.",
            n,
        )
        texts.append(text % {"n": n})
    return " ".join(texts)


def _expected(study: Study, until: Outlook) -> str:
    """Return the expected end, and how far from the deadline it is."""
    end, deadline = until.forecast.median, study.deadline
    if deadline is None or end is None:
        return _("Expected end: %(day)s.") % {"day": until.date}
    days = (localtime(end).date() - localtime(deadline).date()).days
    values = {"day": until.date, "n": abs(days), "deadline": day(deadline)}
    if days > 0:
        text = ngettext(
            "Expected end: %(day)s, %(n)d day after the deadline (%(deadline)s).",
            "Expected end: %(day)s, %(n)d days after the deadline (%(deadline)s).",
            days,
        )
    elif days < 0:
        text = ngettext(
            "Expected end: %(day)s, %(n)d day before the deadline (%(deadline)s).",
            "Expected end: %(day)s, %(n)d days before the deadline (%(deadline)s).",
            -days,
        )
    else:
        text = _("Expected end: %(day)s, the day of the deadline.")
    return text % values


def late(
    study: Study,
    counted: Mapping[str, Any],
    until: Outlook,
    total: Totals,
    now: datetime,
) -> Iterator[Alert]:
    """Yield an alert if the deadline has passed or is too early at this pace."""
    deadline = study.deadline
    if deadline is None or total.left <= 0 or study.state != Study.State.OPEN:
        return
    end = until.forecast.median if until.has_date else None
    if deadline < now:
        text = ngettext(
            "The deadline (%(day)s) has passed and %(n)d rating is missing.",
            "The deadline (%(day)s) has passed and %(n)d ratings are missing.",
            total.left,
        )
        text %= {"day": day(deadline), "n": total.left}
    elif end is not None and localtime(end).date() > localtime(deadline).date():
        text = _("Too slow: at this pace the study ends on %(end)s, after %(day)s.")
        text %= {"end": day(end), "day": day(deadline)}
    else:
        return
    # The upper limit, unless it is far away.
    likely = until.forecast.late or end
    if likely is None or (end and likely - now > 3 * (end - now)):
        likely = end or now + timedelta(days=7)
    new = localtime(max(likely, now) + timedelta(days=1)).date()
    held = counted.get("left", {}).get("held", {})
    names = dict(study.annotators.filter(pk__in=held).values_list("pk", "name"))
    by_work = sorted(held.items(), key=lambda row: -row[1])
    more = link(_("Add people"), study, "study-extend")
    if study.is_open:  # nobody holds work before they come
        more = link(_("Add people"), study, invitation_page(study))
    buttons = [more]
    if held:
        buttons.append(link(_("Give work to others"), study, "study-redistribute"))
    yield Alert(
        "late",
        76,
        text,
        _("Add people or give work to others, or move the deadline.")
        if held
        else _("Add people, or move the deadline."),
        since=deadline,
        buttons=(
            press(
                _("Move the deadline to %(day)s") % {"day": new},
                study,
                "study-deadline",
                fields=[("deadline", new)],
            ),
            *buttons,
        ),
        notes=first(
            _("%(name)s: %(n)d to do") % {"name": names[int(pk)], "n": n}
            for pk, n in by_work
            if int(pk) in names
        ),
    )
