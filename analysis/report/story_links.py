"""Where a click on an output leads: an address with the names of story and method."""

import re
from urllib.parse import quote

from analysis.options import OptionError

# Addresses of pages, and of those on the host that the report comes from.
BEGINNINGS = ("https://", "http://", "/")
NAMED = re.compile(r"\{([^{}]*)\}")
PLACEHOLDERS = {"story", "method"}


def check_story_link(template: str) -> None:
    """Refuse what is no address of a page, or names no story; an empty one is none."""
    if not template:
        return
    problem = f"--story-link: {template!r}: expected"
    if not template.startswith(BEGINNINGS):
        raise OptionError(
            f"{problem} an address that begins with https://, http:// or /"
        )
    named = set(NAMED.findall(template))
    if "story" not in named:
        raise OptionError(f"{problem} {{story}} in it, where the story's name goes")
    for name in sorted(named - PLACEHOLDERS):
        raise OptionError(f"{problem} {{story}} or {{method}}, not {{{name}}}")


def address(template: str, story: str, method: str) -> str:
    """Return the address of an output; its names stand in it by percent signs.

    Examples
    --------
    >>> address("/stories/{story}#{method}", "a/b", "GPT 4&o")
    '/stories/a%2Fb#GPT%204%26o'
    """
    known = {"story": story, "method": method}
    return NAMED.sub(lambda found: quote(known[found[1]], safe=""), template)
