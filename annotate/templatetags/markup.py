"""Template tags for heads of tables, fields and buttons."""

from typing import Any

from django import template
from django.forms.utils import flatatt
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify

register = template.Library()


@register.simple_tag
def columns(*titles: str, numbers: str = "", hidden: str = "") -> SafeString:
    """Return the head of a table.

    Columns are counted from 1, as in `numbers="2 3"`; titles that are hidden are for
    screen readers.
    """
    cells = (
        (
            mark_safe(' class="number"') if str(place) in numbers.split() else "",
            _unseen(title) if str(place) in hidden.split() else title,
        )
        for place, title in enumerate(titles, start=1)
    )
    return format_html(
        "<thead><tr>{}</tr></thead>",
        format_html_join("", '<th scope="col"{}>{}</th>', cells),
    )


def _unseen(title: str) -> SafeString:
    return format_html('<span class="visually-hidden">{}</span>', title)


@register.simple_tag
def field(label: str, name: str, *, css: str = "", **attributes: Any) -> SafeString:
    """Return a labelled input; `aria_label` stands for the attribute `aria-label`."""
    return format_html(
        '<label class="{}"><span>{}</span> <input{}></label>',
        f"field {css}".strip(),
        label,
        _as_attributes(name=name, **attributes),
    )


@register.simple_tag
def tick(
    label: str, name: str, *, checked: object = False, **attributes: Any
) -> SafeString:
    """Return a labelled checkbox."""
    return format_html(
        '<label class="tick"><input{}> <span>{}</span></label>',
        _as_attributes(
            type="checkbox", name=name, value=1, checked=bool(checked), **attributes
        ),
        label,
    )


def _as_attributes(**attributes: Any) -> SafeString:
    return flatatt({key.replace("_", "-"): value for key, value in attributes.items()})


@register.inclusion_tag("_post_button.html", takes_context=True)
def post_button(
    context: Context,
    label: str,
    css: str,
    address: str,
    *args: object,
    name: str = "",
    query: str = "",
    **fields: object,
) -> dict[str, object]:
    """Return a form of a single button and hidden fields; `name` is for screen readers.

    A refreshed part of a page finds the button that has the focus by its id.
    """
    action = reverse(address, args=args)
    return {
        "label": label,
        "css": css,
        "name": name,
        "key": slugify(
            " ".join(map(str, (address, *args, *fields.values()))), allow_unicode=True
        ),
        "action": f"{action}?{query}" if query else action,
        "fields": fields,
    }
