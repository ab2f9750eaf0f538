"""Template tag that explains a term where it stands."""

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from annotate.glossary import terms

register = template.Library()


@register.simple_block_tag
def term(content: str, key: str) -> SafeString:
    """Return the content as a button that shows the meaning of a term.

    Use each term once on a page, since its key is part of an id, and not within a
    label, link or button.
    """
    meaning = terms()[key].meaning
    return format_html(
        '<button type="button" class="term" popovertarget="term-{key}">{content}'
        '</button><span popover class="term-note" id="term-{key}">{meaning} '
        '<a href="{page}#{key}">{more}</a></span>',
        key=key,
        page=reverse("glossary"),
        content=mark_safe(content.strip()),
        meaning=meaning,
        more=_("Glossary"),
    )


@register.simple_tag(name="terms")
def terms_line(*keys: str) -> SafeString:
    """Return a line with the names of terms, each with its meaning."""
    named = ((term(terms()[key].name, key),) for key in keys)
    return format_html(
        '<p class="small muted">{} {}</p>',
        _("Terms:"),
        format_html_join(" · ", "{}", named),
    )
