"""A warning on pages that hand out links."""

from typing import Any

from django import template

from annotate.access import server_address

register = template.Library()


@register.inclusion_tag("manage/_address_warning.html", takes_context=True)
def address_warning(context: dict[str, Any]) -> dict[str, Any]:
    """Warn that links work on this machine only, until an address is entered."""
    request = context["request"]
    base = server_address.links_begin_with(request)
    warning = server_address.warning(base) if server_address.is_local(base) else ""
    return {"warning": warning, "request": request}
